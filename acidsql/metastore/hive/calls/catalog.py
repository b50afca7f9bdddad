"""The calls that change a catalog, as data.

A field that is not given is not sent, so that what a version does not know it is not told, and no
default of ours stands for what the server would take. Structs that are read, changed and written
back are named whole: what was left out would be lost there.
"""

from __future__ import annotations

from acidsql.metastore.hive.calls.reading import (
    ALREADY_EXISTS,
    CONTEXT,
    FIELD_SCHEMA,
    INVALID_OBJECT,
    INVALID_OPERATION,
    META_EXCEPTION,
    NO_SUCH_OBJECT,
    TEXT_MAP,
    TEXTS,
    Method,
    method,
    struct_of,
)
from acidsql.metastore.hive.protocol import (
    BINARY,
    BOOL,
    DOUBLE,
    I16,
    I32,
    I64,
    TEXT,
    Kind,
    ListOf,
    MapOf,
    Struct,
)

# ---- databases

DATABASE = struct_of(
    name=(1, TEXT),
    description=(2, TEXT),
    locationUri=(3, TEXT),
    parameters=(4, TEXT_MAP),
    ownerName=(6, TEXT),
    ownerType=(7, I32),
    catalogName=(8, TEXT),
    managedLocationUri=(10, TEXT),
)
GET_DATABASE = method("get_database", DATABASE, NO_SUCH_OBJECT, META_EXCEPTION, name=(1, TEXT))
GET_ALL_DATABASES = method("get_all_databases", TEXTS, META_EXCEPTION)
CREATE_DATABASE = method(
    "create_database",
    None,
    ALREADY_EXISTS,
    INVALID_OBJECT,
    META_EXCEPTION,
    database=(1, DATABASE),
)
ALTER_DATABASE = method(
    "alter_database",
    None,
    META_EXCEPTION,
    NO_SUCH_OBJECT,
    dbname=(1, TEXT),
    db=(2, DATABASE),
)
DROP_DATABASE = method(
    "drop_database",
    None,
    NO_SUCH_OBJECT,
    INVALID_OPERATION,
    META_EXCEPTION,
    name=(1, TEXT),
    deleteData=(2, BOOL),
    cascade=(3, BOOL),
)

# ---- tables

SERDE = struct_of(
    name=(1, TEXT),
    serializationLib=(2, TEXT),
    parameters=(3, TEXT_MAP),
    description=(4, TEXT),
    serializerClass=(5, TEXT),
    deserializerClass=(6, TEXT),
    serdeType=(7, I32),
)
WHOLE_STORAGE = struct_of(
    cols=(1, ListOf(item=FIELD_SCHEMA)),
    location=(2, TEXT),
    inputFormat=(3, TEXT),
    outputFormat=(4, TEXT),
    compressed=(5, BOOL),
    numBuckets=(6, I32),
    serdeInfo=(7, SERDE),
    bucketCols=(8, TEXTS),
    sortCols=(9, ListOf(item=struct_of(col=(1, TEXT), order=(2, I32)))),
    parameters=(10, TEXT_MAP),
    skewedInfo=(
        11,
        struct_of(
            skewedColNames=(1, TEXTS),
            skewedColValues=(2, ListOf(item=TEXTS)),
        ),
    ),
    storedAsSubDirectories=(12, BOOL),
)
WHOLE_TABLE = struct_of(
    tableName=(1, TEXT),
    dbName=(2, TEXT),
    owner=(3, TEXT),
    createTime=(4, I32),
    lastAccessTime=(5, I32),
    retention=(6, I32),
    sd=(7, WHOLE_STORAGE),
    partitionKeys=(8, ListOf(item=FIELD_SCHEMA)),
    parameters=(9, TEXT_MAP),
    viewOriginalText=(10, TEXT),
    viewExpandedText=(11, TEXT),
    tableType=(12, TEXT),
    temporary=(14, BOOL),
    rewriteEnabled=(15, BOOL),
    catName=(17, TEXT),
    ownerType=(18, I32),
    writeId=(19, I64),
    id=(25, I64),
)
GET_WHOLE_TABLE = method(
    "get_table_req",
    struct_of(table=(1, WHOLE_TABLE)),
    META_EXCEPTION,
    NO_SUCH_OBJECT,
    req=(
        1,
        struct_of(
            dbName=(1, TEXT),
            tblName=(2, TEXT),
            capabilities=(3, struct_of(values=(1, ListOf(item=I32)))),
            catName=(4, TEXT),
        ),
    ),
)
GET_TABLES_WITH_LOCATION = method(
    "get_table_objects_by_name_req",
    struct_of(
        tables=(
            1,
            ListOf(
                item=struct_of(
                    tableName=(1, TEXT),
                    dbName=(2, TEXT),
                    sd=(7, struct_of(location=(2, TEXT))),
                    tableType=(12, TEXT),
                )
            ),
        )
    ),
    META_EXCEPTION,
    INVALID_OPERATION,
    "UnknownDBException",
    req=(
        1,
        struct_of(
            dbName=(1, TEXT),
            tblNames=(2, TEXTS),
            capabilities=(3, struct_of(values=(1, ListOf(item=I32)))),
            catName=(4, TEXT),
            projectionSpec=(7, struct_of(fieldList=(1, TEXTS))),
        ),
    ),
)
"""Hive 3 knows no ``projectionSpec``, and sends tables whole."""
GET_ALL_TABLES = method("get_all_tables", TEXTS, META_EXCEPTION, db_name=(1, TEXT))
GET_TABLES_BY_TYPE = method(
    "get_tables_by_type",
    TEXTS,
    META_EXCEPTION,
    db_name=(1, TEXT),
    pattern=(2, TEXT),
    tableType=(3, TEXT),
)
_OF_COLUMN = {
    "catName": (1, TEXT),
    "table_db": (2, TEXT),
    "table_name": (3, TEXT),
    "column_name": (4, TEXT),
}


def _constraint(name: str, expression: str | None) -> Struct:
    """The struct of a constraint of one column; ``expression``: what its text is called."""
    texts = [one for one in (expression, name) if one is not None]
    fields: dict[str, tuple[int, Kind]] = {one: (5 + i, TEXT) for i, one in enumerate(texts)}
    flags = ("enable_cstr", "validate_cstr", "rely_cstr")
    first = 5 + len(texts)
    fields |= {flag: (first + i, BOOL) for i, flag in enumerate(flags)}
    return struct_of(**_OF_COLUMN, **fields)


NOT_NULL = ListOf(item=_constraint("nn_name", None))
DEFAULT = ListOf(item=_constraint("dc_name", "default_value"))
CHECK = ListOf(item=_constraint("dc_name", "check_expression"))
_FLAGS = ("enable_cstr", "validate_cstr", "rely_cstr")


def _numbered(names: str, **odd: Kind) -> Struct:
    """The struct of a part of a key: texts by their order, but for those that are ``odd``."""
    kinds: dict[str, Kind] = dict.fromkeys(_FLAGS, BOOL) | odd
    return struct_of(
        **{
            name: (number, kinds.get(name, TEXT))
            for number, name in enumerate(names.split(), start=1)
        }
    )


PRIMARY_KEY = ListOf(
    item=_numbered(
        "table_db table_name column_name key_seq pk_name enable_cstr validate_cstr rely_cstr"
        " catName",
        key_seq=I32,
    )
)
FOREIGN_KEY = ListOf(
    item=_numbered(
        "pktable_db pktable_name pkcolumn_name fktable_db fktable_name fkcolumn_name key_seq"
        " update_rule delete_rule fk_name pk_name enable_cstr validate_cstr rely_cstr catName",
        key_seq=I32,
        update_rule=I32,
        delete_rule=I32,
    )
)
UNIQUE = ListOf(
    item=_numbered(
        "catName table_db table_name column_name key_seq uk_name enable_cstr validate_cstr"
        " rely_cstr",
        key_seq=I32,
    )
)
_CREATE_ERRORS = (ALREADY_EXISTS, INVALID_OBJECT, META_EXCEPTION, NO_SUCH_OBJECT)
CREATE_TABLE = method(
    "create_table_with_environment_context",
    None,
    *_CREATE_ERRORS,
    tbl=(1, WHOLE_TABLE),
    environment_context=(2, CONTEXT),
)
"""Hive 3 has it."""
CREATE_CONSTRAINED = method(
    "create_table_with_constraints",
    None,
    *_CREATE_ERRORS,
    tbl=(1, WHOLE_TABLE),
    primaryKeys=(2, PRIMARY_KEY),
    foreignKeys=(3, FOREIGN_KEY),
    uniqueConstraints=(4, UNIQUE),
    notNullConstraints=(5, NOT_NULL),
    defaultConstraints=(6, DEFAULT),
    checkConstraints=(7, CHECK),
)
"""Hive 3 has it."""
_CREATE_REQUEST = struct_of(
    table=(1, WHOLE_TABLE),
    envContext=(2, CONTEXT),
    primaryKeys=(3, PRIMARY_KEY),
    foreignKeys=(4, FOREIGN_KEY),
    uniqueConstraints=(5, UNIQUE),
    notNullConstraints=(6, NOT_NULL),
    defaultConstraints=(7, DEFAULT),
    checkConstraints=(8, CHECK),
    processorCapabilities=(9, TEXTS),
    processorIdentifier=(10, TEXT),
)
CREATE_TABLE_REQ = method("create_table_req", None, *_CREATE_ERRORS, request=(1, _CREATE_REQUEST))
"""Hive 4 has it."""
TRANSLATE_TABLE = method(
    "translate_table_dryrun", WHOLE_TABLE, *_CREATE_ERRORS, request=(1, _CREATE_REQUEST)
)
"""Hive 4 has it: the table that CREATE would make."""
DROP_TABLE = method(
    "drop_table_with_environment_context",
    None,
    NO_SUCH_OBJECT,
    META_EXCEPTION,
    dbname=(1, TEXT),
    name=(2, TEXT),
    deleteData=(3, BOOL),
    environment_context=(4, CONTEXT),
)
ALTER_TABLE = method(
    "alter_table_with_environment_context",
    None,
    INVALID_OPERATION,
    META_EXCEPTION,
    dbname=(1, TEXT),
    tbl_name=(2, TEXT),
    new_tbl=(3, WHOLE_TABLE),
    environment_context=(4, CONTEXT),
)
"""Hive 3 has it."""
ALTER_TABLE_REQ = method(
    "alter_table_req",
    struct_of(),
    INVALID_OPERATION,
    META_EXCEPTION,
    req=(
        1,
        struct_of(
            catName=(1, TEXT),
            dbName=(2, TEXT),
            tableName=(3, TEXT),
            table=(4, WHOLE_TABLE),
            environmentContext=(5, CONTEXT),
            writeId=(6, I64),
            validWriteIdList=(7, TEXT),
            processorCapabilities=(8, TEXTS),
            processorIdentifier=(9, TEXT),
        ),
    ),
)
"""Hive 4 has it."""

# ---- constraints

_TABLE_OF = struct_of(catName=(1, TEXT), db_name=(2, TEXT), tbl_name=(3, TEXT))
_KEYS_OF = struct_of(db_name=(1, TEXT), tbl_name=(2, TEXT), catName=(3, TEXT))
_CHILD_OF = struct_of(foreign_db_name=(3, TEXT), foreign_tbl_name=(4, TEXT), catName=(5, TEXT))


def _constraints(name: str, kind: ListOf, of: Struct = _TABLE_OF) -> Method:
    return method(name, struct_of(all=(1, kind)), META_EXCEPTION, NO_SUCH_OBJECT, request=(1, of))


def _add_constraint(name: str, columns: str, kind: ListOf) -> Method:
    request = struct_of(**{columns: (1, kind)})
    return method(name, None, NO_SUCH_OBJECT, META_EXCEPTION, req=(1, request))


GET_PRIMARY_KEYS = _constraints("get_primary_keys", PRIMARY_KEY, _KEYS_OF)
GET_FOREIGN_KEYS = _constraints("get_foreign_keys", FOREIGN_KEY, _CHILD_OF)
GET_UNIQUE = _constraints("get_unique_constraints", UNIQUE)
GET_NOT_NULL = _constraints("get_not_null_constraints", NOT_NULL)
GET_DEFAULT = _constraints("get_default_constraints", DEFAULT)
GET_CHECK = _constraints("get_check_constraints", CHECK)
ADD_PRIMARY_KEY = _add_constraint("add_primary_key", "primaryKeyCols", PRIMARY_KEY)
ADD_FOREIGN_KEY = _add_constraint("add_foreign_key", "foreignKeyCols", FOREIGN_KEY)
ADD_UNIQUE = _add_constraint("add_unique_constraint", "uniqueConstraintCols", UNIQUE)
ADD_CHECK = _add_constraint("add_check_constraint", "checkConstraintCols", CHECK)
DROP_CONSTRAINT = method(
    "drop_constraint",
    None,
    NO_SUCH_OBJECT,
    META_EXCEPTION,
    req=(
        1,
        struct_of(
            dbname=(1, TEXT), tablename=(2, TEXT), constraintname=(3, TEXT), catName=(4, TEXT)
        ),
    ),
)
GET_ALL_CONSTRAINTS = method(
    "get_all_table_constraints",
    struct_of(
        allTableConstraints=(
            1,
            struct_of(
                primaryKeys=(1, PRIMARY_KEY),
                foreignKeys=(2, FOREIGN_KEY),
                uniqueConstraints=(3, UNIQUE),
                notNullConstraints=(4, NOT_NULL),
                defaultConstraints=(5, DEFAULT),
                checkConstraints=(6, CHECK),
            ),
        )
    ),
    META_EXCEPTION,
    NO_SUCH_OBJECT,
    request=(1, struct_of(dbName=(1, TEXT), tblName=(2, TEXT), catName=(3, TEXT))),
)
"""Hive 4 has it: one call in place of six."""

# ---- partitions

WHOLE_PARTITION = struct_of(
    values=(1, TEXTS),
    dbName=(2, TEXT),
    tableName=(3, TEXT),
    createTime=(4, I32),
    lastAccessTime=(5, I32),
    sd=(6, WHOLE_STORAGE),
    parameters=(7, TEXT_MAP),
    catName=(9, TEXT),
    writeId=(10, I64),
)
_PARTITION_FACTS = struct_of(
    values=(1, TEXTS),
    createTime=(4, I32),
    sd=(6, struct_of(location=(2, TEXT))),
    parameters=(7, TEXT_MAP),
)
_OF_NAMES: dict[str, tuple[int, Kind]] = {
    "db_name": (1, TEXT),
    "tbl_name": (2, TEXT),
    "names": (3, TEXTS),
}
GET_PARTITION_FACTS = method(
    "get_partitions_by_names",
    ListOf(item=_PARTITION_FACTS),
    META_EXCEPTION,
    NO_SUCH_OBJECT,
    INVALID_OBJECT,
    **_OF_NAMES,
)
GET_WHOLE_PARTITIONS = method(
    "get_partitions_by_names",
    ListOf(item=WHOLE_PARTITION),
    META_EXCEPTION,
    NO_SUCH_OBJECT,
    INVALID_OBJECT,
    **_OF_NAMES,
)
ADD_PARTITIONS = method(
    "add_partitions_req",
    struct_of(partitions=(1, ListOf(item=struct_of(values=(1, TEXTS))))),
    INVALID_OBJECT,
    ALREADY_EXISTS,
    META_EXCEPTION,
    request=(
        1,
        struct_of(
            dbName=(1, TEXT),
            tblName=(2, TEXT),
            parts=(3, ListOf(item=WHOLE_PARTITION)),
            ifNotExists=(4, BOOL),
            needResult=(5, BOOL),
            catName=(6, TEXT),
        ),
    ),
)
DROP_PARTITION = method(
    "drop_partition_with_environment_context",
    BOOL,
    NO_SUCH_OBJECT,
    META_EXCEPTION,
    db_name=(1, TEXT),
    tbl_name=(2, TEXT),
    part_vals=(3, TEXTS),
    deleteData=(4, BOOL),
    environment_context=(5, CONTEXT),
)
ALTER_PARTITIONS = method(
    "alter_partitions_with_environment_context",
    None,
    INVALID_OPERATION,
    META_EXCEPTION,
    db_name=(1, TEXT),
    tbl_name=(2, TEXT),
    new_parts=(3, ListOf(item=WHOLE_PARTITION)),
    environment_context=(4, CONTEXT),
)
"""Hive 3 has it."""
ALTER_PARTITIONS_REQ = method(
    "alter_partitions_req",
    struct_of(),
    INVALID_OPERATION,
    META_EXCEPTION,
    req=(
        1,
        struct_of(
            catName=(1, TEXT),
            dbName=(2, TEXT),
            tableName=(3, TEXT),
            partitions=(4, ListOf(item=WHOLE_PARTITION)),
            environmentContext=(5, CONTEXT),
            writeId=(6, I64),
            validWriteIdList=(7, TEXT),
        ),
    ),
)
"""Hive 4 has it."""

_RENAME_ERRORS = (INVALID_OPERATION, META_EXCEPTION)
RENAME_PARTITION = method(
    "rename_partition",
    None,
    *_RENAME_ERRORS,
    db_name=(1, TEXT),
    tbl_name=(2, TEXT),
    part_vals=(3, TEXTS),
    new_part=(4, WHOLE_PARTITION),
)
"""Hive 3 has it."""
RENAME_PARTITION_REQ = method(
    "rename_partition_req",
    struct_of(),
    *_RENAME_ERRORS,
    req=(
        1,
        struct_of(
            catName=(1, TEXT),
            dbName=(2, TEXT),
            tableName=(3, TEXT),
            partVals=(4, TEXTS),
            newPart=(5, WHOLE_PARTITION),
            validWriteIdList=(6, TEXT),
        ),
    ),
)
"""Hive 4 has it."""

# ---- statistics of columns


def _measured(*first: tuple[str, Kind], distinct: bool = True) -> Struct:
    """The numbers of a column of some types: these, how many NULLs, how many different values."""
    counts = ("numNulls", "numDVs") if distinct else ("numNulls",)
    fields = [*first, *((name, I64) for name in counts)]
    return struct_of(**{name: (number, kind) for number, (name, kind) in enumerate(fields, 1)})


def _ends(kind: Kind) -> Struct:
    return _measured(("lowValue", kind), ("highValue", kind))


_LENGTHS: tuple[tuple[str, Kind], ...] = (("maxColLen", I64), ("avgColLen", DOUBLE))
COLUMN_DATA = struct_of(
    booleanStats=(1, _measured(("numTrues", I64), ("numFalses", I64), distinct=False)),
    longStats=(2, _ends(I64)),
    doubleStats=(3, _ends(DOUBLE)),
    stringStats=(4, _measured(*_LENGTHS)),
    binaryStats=(5, _measured(*_LENGTHS, distinct=False)),
    decimalStats=(6, _ends(struct_of(unscaled=(1, BINARY), scale=(3, I16)))),
    dateStats=(7, _ends(struct_of(daysSinceEpoch=(1, I64)))),
    timestampStats=(8, _ends(struct_of(secondsSinceEpoch=(1, I64)))),
)
"""One of these is there. Hive 3 has no ``timestampStats``: there it is ``longStats``."""
COLUMN_OBJECT = struct_of(colName=(1, TEXT), colType=(2, TEXT), statsData=(3, COLUMN_DATA))
SET_COLUMN_STATISTICS = method(
    "set_aggr_stats_for",
    BOOL,
    NO_SUCH_OBJECT,
    INVALID_OBJECT,
    META_EXCEPTION,
    "InvalidInputException",
    request=(
        1,
        struct_of(
            colStats=(
                1,
                ListOf(
                    item=struct_of(
                        statsDesc=(
                            1,
                            struct_of(
                                isTblLevel=(1, BOOL),
                                dbName=(2, TEXT),
                                tableName=(3, TEXT),
                                partName=(4, TEXT),
                                lastAnalyzed=(5, I64),
                                catName=(6, TEXT),
                            ),
                        ),
                        statsObj=(2, ListOf(item=COLUMN_OBJECT)),
                        engine=(4, TEXT),
                    )
                ),
            ),
            needMerge=(2, BOOL),
            writeId=(3, I64),
            validWriteIdList=(4, TEXT),
            engine=(5, TEXT),
        ),
    ),
)
_OF_TABLE_STATISTICS: dict[str, tuple[int, Kind]] = {
    "dbName": (1, TEXT),
    "tblName": (2, TEXT),
    "colNames": (3, TEXTS),
}
_COLUMN_OBJECTS = ListOf(item=COLUMN_OBJECT)
GET_TABLE_STATISTICS = method(
    "get_table_statistics_req",
    struct_of(tableStats=(1, _COLUMN_OBJECTS)),
    NO_SUCH_OBJECT,
    META_EXCEPTION,
    request=(1, struct_of(**_OF_TABLE_STATISTICS, catName=(4, TEXT), engine=(6, TEXT))),
)
GET_PARTITION_STATISTICS = method(
    "get_partitions_statistics_req",
    struct_of(partStats=(1, MapOf(key=TEXT, value=_COLUMN_OBJECTS))),
    NO_SUCH_OBJECT,
    META_EXCEPTION,
    request=(
        1,
        struct_of(
            **_OF_TABLE_STATISTICS, partNames=(4, TEXTS), catName=(5, TEXT), engine=(7, TEXT)
        ),
    ),
)
