"""CREATE TABLE with columns, LIKE another table, or AS a query: the definition is checked and made
into the catalog's object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from acidsql.catalog.attached import check_no_overlay, check_not_attached
from acidsql.catalog.model import (
    STORAGES,
    Bucketing,
    Column,
    Database,
    FileFormat,
    Storage,
    Table,
    TableKind,
    TableName,
    recognized,
)
from acidsql.catalog.names import table_location
from acidsql.errors import AlreadyExistsError, BindError, DatabaseNotFoundError, Span
from acidsql.parser import statements as ast
from acidsql.parser.parse import TEMPORARY_TABLE
from acidsql.planner.bind.bound import BoundQuery
from acidsql.planner.bind.bound_catalog import (
    BoundCreateTable,
    BoundCreateTableAs,
    BoundReplaceTable,
    BoundUnbuilt,
)
from acidsql.planner.bind.ddl.columns import (
    after_word,
    bind_bucketing,
    bind_columns,
    bind_partition_columns,
    bind_skew,
)
from acidsql.planner.bind.ddl.constraints import bind_constraints
from acidsql.planner.bind.ddl.table_properties import (
    BUCKETING_VERSION,
    EXTERNAL,
    Given,
    check_new_table,
    of_new_table,
    transactions_of,
)
from acidsql.planner.bind.names import Names
from acidsql.planner.bind.tables import check_table_name, did_you_mean

# ---- storage
#
# STORED AS, STORED BY and ROW FORMAT: the file format and Hive's classes behind it.


_FORMATS = tuple(f for f in FileFormat if f is not FileFormat.OTHER)
_LAZY_SIMPLE = STORAGES[FileFormat.TEXTFILE].serde
_DELIMITERS = {
    "FIELDS": ("field.delim", "serialization.format"),
    "ESCAPED": ("escape.delim",),
    "COLLECTION": ("collection.delim",),
    "MAP": ("mapkey.delim",),
    "LINES": ("line.delim",),
    "NULL": ("serialization.null.format",),
}
"""Words of ROW FORMAT DELIMITED and the serde properties they set. Hive: serdeConstants."""
DELIMITER_WORDS = {
    "FIELDS": "FIELDS TERMINATED BY",
    "ESCAPED": "ESCAPED BY",
    "COLLECTION": "COLLECTION ITEMS TERMINATED BY",
    "MAP": "MAP KEYS TERMINATED BY",
    "LINES": "LINES TERMINATED BY",
    "NULL": "NULL DEFINED AS",
}
_NEWLINES = ("\n", "10")


def bind_storage(
    statement: ast.CreateTable | ast.CreateTableLike, default: tuple[FileFormat, Storage | None]
) -> tuple[FileFormat, Storage | None]:
    """The format the clauses ask for, ``default`` where there are none."""
    if (
        statement.stored_as is None
        and statement.storage_classes is None
        and statement.row_format is None
    ):
        return default
    storage = _named(statement, default)
    row_format = statement.row_format
    if row_format is None:
        return recognized(storage)
    properties = (
        dict(storage.serde_properties)
        | {p.key: p.value for p in row_format.properties}
        | _delimiters(row_format)
    )
    return recognized(
        replace(storage, serde=row_format.serde or storage.serde, serde_properties=properties)
    )


def format_span(statement: ast.CreateTable | ast.CreateTableLike) -> Span | None:
    if statement.stored_as is not None:
        return statement.stored_as.span
    return statement.storage_classes.span if statement.storage_classes else None


def _named(
    statement: ast.CreateTable | ast.CreateTableLike, default: tuple[FileFormat, Storage | None]
) -> Storage:
    classes = statement.storage_classes
    if (
        classes is not None
        and classes.input_format is not None
        and classes.output_format is not None
    ):
        return Storage(
            input_format=classes.input_format,
            output_format=classes.output_format,
            serde=_LAZY_SIMPLE,
        )
    if statement.stored_as is None:
        return default[1] or STORAGES[default[0]]
    word = statement.stored_as.text.upper()
    if word not in _FORMATS:
        known = ", ".join(_FORMATS)
        hint = did_you_mean(word, _FORMATS) or f"Use one of {known}."
        message = f"Unrecognized file format in STORED AS clause: '{statement.stored_as.text}'"
        raise BindError(message, hint=hint, span=statement.stored_as.span)
    return STORAGES[FileFormat(word)]


def _delimiters(row_format: ast.RowFormat) -> dict[str, str]:
    delimiters: dict[str, str] = {}
    for one in row_format.delimiters:
        if one.key == "LINES" and one.value not in _NEWLINES:
            raise BindError(
                "LINES TERMINATED BY only supports newline '\\n' right now",
                code=10064,
                span=one.span,
            )
        delimiters |= dict.fromkeys(_DELIMITERS[one.key], one.value)
    return delimiters


# ---- create


AnyCreate = ast.CreateTable | ast.CreateTableLike


def bind_create_table(
    names: Names, statement: ast.CreateTable
) -> BoundCreateTable | BoundCreateTableAs | BoundUnbuilt:
    name, database, existing = new_name(
        names, statement.name, statement.if_not_exists, or_replace=statement.or_replace
    )
    if statement.query is not None:
        return bind_create_table_as(names, statement, name, database, existing)
    if statement.partitioned_by_names:
        first = statement.partitioned_by_names[0]
        raise BindError(
            f'partition column "{first.text}" has no type',
            hint="Only CREATE TABLE .. AS may leave it out.",
            span=first.span,
        )
    properties, given = of_new_table(statement, name)
    columns = bind_columns(statement.columns)
    if not columns:
        raise BindError(
            "Either list of columns or a custom serializer should be specified",
            code=10043,
            span=statement.name.span,
        )
    file_format, storage = bind_storage(statement, _default_format(statement))
    table = Table(
        name=name,
        columns=columns,
        location=_location(names, statement, database, name),
        partition_columns=bind_partition_columns(statement.partitioned_by, columns),
        bucketing=bind_bucketing(
            statement.clustered_by, columns, int(properties[BUCKETING_VERSION])
        ),
        skew=bind_skew(statement.skewed_by, columns),
        file_format=file_format,
        storage=storage,
        comment=statement.comment,
        owner=names.around.user,
        created_at=names.around.now,
    )
    table = _of_kind(table, statement, properties, given)
    table = replace(table, constraints=bind_constraints(names, statement, table))
    return _created(names, statement, table, existing)


def bind_create_table_like(
    names: Names, statement: ast.CreateTableLike
) -> BoundCreateTable | BoundUnbuilt:
    """Columns, partition columns, buckets, sorting, skew and format are the other table's;
    properties, comment and constraints not.
    """
    name, database, existing = new_name(
        names, statement.name, statement.if_not_exists, or_replace=statement.or_replace
    )
    like = names.table(statement.like)
    if statement.temporary and like.partition_columns:
        message = (
            "Partition columns are not supported on temporary tables and source table in CREATE"
            " TABLE LIKE is partitioned."
        )
        raise BindError(message, span=statement.like.span)
    properties, given = of_new_table(statement, name)
    default = (
        _default_format(statement)
        if like.kind is TableKind.VIEW
        else (like.file_format, like.storage)
    )
    file_format, storage = bind_storage(statement, default)
    table = Table(
        name=name,
        columns=like.columns,
        location=_location(names, statement, database, name),
        partition_columns=like.partition_columns,
        bucketing=like.bucketing,
        skew=like.skew,
        file_format=file_format,
        storage=storage,
        owner=names.around.user,
        created_at=names.around.now,
    )
    if like.bucketing is not None and BUCKETING_VERSION not in given.values:
        properties[BUCKETING_VERSION] = str(like.bucketing.version)
    elif like.bucketing is not None:
        table = replace(
            table, bucketing=replace(like.bucketing, version=int(properties[BUCKETING_VERSION]))
        )
    return _created(names, statement, _of_kind(table, statement, properties, given), existing)


def bind_create_table_as(
    names: Names,
    statement: ast.CreateTable,
    name: TableName,
    database: Database,
    existing: Table | None,
) -> BoundCreateTable | BoundCreateTableAs | BoundUnbuilt:
    """The columns are the query's, which the engine knows; everything else is checked as for a
    table with columns.
    """
    assert statement.query is not None
    _check_without_columns(statement)
    query, outputs = names.query_and_outputs(statement.query)
    properties, given = of_new_table(statement, name)
    file_format, storage = bind_storage(statement, _default_format(statement))
    table = Table(
        name=name,
        columns=(),
        location=_location(names, statement, database, name),
        skew=bind_skew(statement.skewed_by, None),
        file_format=file_format,
        storage=storage,
        comment=statement.comment,
        owner=names.around.user,
        created_at=names.around.now,
    )
    table = _of_kind(table, statement, properties, given)
    if existing is not None:
        return BoundCreateTable(table=existing, exists=True)
    partitioned_by = _partition_names(statement)
    facts = (*_facts(table), *_facts_of_query(names, query, partitioned_by))
    unbuilt = _unbuilt(statement, table, facts)
    return unbuilt or BoundCreateTableAs(
        table=table,
        query=query,
        outputs=outputs,
        partitioned_by=partitioned_by,
        if_not_exists=statement.if_not_exists,
        span=statement.query.span,
        location_span=(
            after_word(names.source, statement.span, "LOCATION")
            if statement.location is not None
            else None
        ),
        facts=facts,
    )


def _facts_of_query(
    names: Names, query: BoundQuery, partitioned_by: Sequence[tuple[str, Span]]
) -> Iterator[tuple[str, str]]:
    if partitioned_by:
        yield "partitioned by", ", ".join(name for name, _ in partitioned_by)
    read = [str(one.table.name) for one in query.reads]
    read += [span.cut(names.source) for span in names.files]
    yield "reads", ", ".join(dict.fromkeys(read)) or "nothing"


def _check_without_columns(statement: ast.CreateTable) -> None:
    if statement.columns or statement.constraints:
        span = (
            statement.columns[0].name.span if statement.columns else statement.constraints[0].span
        )
        message = (
            "CREATE TABLE AS SELECT command cannot specify the list of columns for the target table"
        )
        raise BindError(message, code=10065, span=span)
    if statement.partitioned_by or statement.clustered_by is not None:
        named = "Name the column without its type: it is one of the query's."
        hint = named if statement.partitioned_by else "Create the table first, then INSERT."
        span = (
            statement.partitioned_by[0].name.span
            if statement.partitioned_by or statement.clustered_by is None
            else statement.clustered_by.span
        )
        raise BindError(
            "CREATE-TABLE-AS-SELECT does not support partitioning in the target table",
            code=10068,
            hint=hint,
            span=span,
        )


def _partition_names(statement: ast.CreateTable) -> tuple[tuple[str, Span], ...]:
    spans: dict[str, Span] = {}
    for name in statement.partitioned_by_names:
        if name.text.lower() in spans:
            raise BindError("Column repeated in partitioning columns", code=10035, span=name.span)
        spans[name.text.lower()] = name.span
    return tuple(spans.items())


def bind_replacing(
    names: Names, statement: AnyCreate, new: BoundCreateTable | BoundCreateTableAs | BoundUnbuilt
) -> BoundCreateTable | BoundCreateTableAs | BoundReplaceTable | BoundUnbuilt:
    """CREATE OR REPLACE TABLE: what was made of the statement, and the table that it replaces, if
    there is one.
    """
    span = statement.name.span
    if statement.if_not_exists:
        raise BindError("Can't combine IF NOT EXISTS and OR REPLACE.", span=span)
    existing = names.catalog.find_table(names.table_name(statement.name))
    if existing is None or isinstance(new, BoundUnbuilt):
        return new
    if existing.kind is TableKind.VIEW:
        raise BindError(
            f"{existing.name} is a view",
            hint="Write CREATE OR REPLACE VIEW, or DROP VIEW first.",
            span=span,
        )
    check_not_attached(existing, span)
    check_no_overlay(existing, "it is let go by DETACH TABLE", span)
    return BoundReplaceTable(before=existing, new=new, span=span)


def new_name(
    names: Names, written: ast.QualifiedName, if_not_exists: bool, *, or_replace: bool = False
) -> tuple[TableName, Database, Table | None]:
    """The name of a table or view to be, its database, and what has that name already, if that is
    no error.
    """
    name = names.table_name(written)
    check_table_name(name.table, written.span)
    database = names.catalog.find_database(name.database)
    if database is None:
        raise DatabaseNotFoundError(
            f"Database does not exist: {name.database}", code=10072, span=written.span
        )
    existing = None if or_replace else names.catalog.find_table(name)
    if existing is not None and not if_not_exists:
        raise AlreadyExistsError(f"Table {name} already exists", span=written.span)
    return name, database, existing


def absolute(location: str, span: Span) -> str:
    """Without a trailing slash. BindError for a relative path, and for one that no file
    system has.
    """
    if "\0" in location:
        raise BindError("the location holds the character NUL", span=span)
    if not location.startswith("/") and ":/" not in location:
        raise BindError(
            f"{location}  is not absolute.  Please specify a complete absolute uri.",
            code=10244,
            span=span,
        )
    return location.rstrip("/") or "/"


def _location(names: Names, statement: AnyCreate, database: Database, name: TableName) -> str:
    if statement.location is None:
        return table_location(database.location, name.table)
    return absolute(statement.location, after_word(names.source, statement.span, "LOCATION"))


def _default_format(statement: AnyCreate) -> tuple[FileFormat, Storage | None]:
    return (FileFormat.ORC if statement.transactional_word else FileFormat.TEXTFILE), None


def _of_kind(
    table: Table, statement: AnyCreate, properties: Mapping[str, str], given: Given
) -> Table:
    """Managed or external, with its properties. BindError where the two do not go together."""
    if statement.managed and statement.external:
        raise BindError("a table is either managed or external", span=statement.name.span)
    external = statement.external or (not statement.managed and given.flag(EXTERNAL) is True)
    stored = {k: v for k, v in properties.items() if k not in (EXTERNAL, "comment")}
    comment = table.comment if table.comment is not None else properties.get("comment")
    kind = TableKind.EXTERNAL if external else TableKind.MANAGED
    new_table = replace(
        table,
        kind=kind,
        properties=stored | ({EXTERNAL: "TRUE"} if external else {}),
        comment=comment,
    )
    check_new_table(new_table, given, format_span(statement))
    return new_table


def _created(
    names: Names, statement: AnyCreate, table: Table, existing: Table | None
) -> BoundCreateTable | BoundUnbuilt:
    if existing is not None:
        return BoundCreateTable(table=existing, exists=True)
    unbuilt = _unbuilt(statement, table, _facts(table))
    if unbuilt is not None:
        return unbuilt
    span = (
        after_word(names.source, statement.span, "LOCATION")
        if statement.location is not None
        else None
    )
    return BoundCreateTable(
        table=table, exists=False, if_not_exists=statement.if_not_exists, span=span
    )


def _unbuilt(
    statement: AnyCreate, table: Table, facts: tuple[tuple[str, str], ...]
) -> BoundUnbuilt | None:
    """What cannot be carried out of a table that may be created."""
    classes = statement.storage_classes
    if classes is not None and classes.handler is not None:
        rest = tuple(fact for fact in facts if fact[0] != "stored as")
        return BoundUnbuilt(
            words="CREATE TABLE .. STORED BY",
            span=classes.span,
            facts=(*rest, ("stored by", classes.handler)),
        )
    return (
        BoundUnbuilt(
            words="CREATE TEMPORARY TABLE",
            span=statement.span,
            facts=facts,
            hint=TEMPORARY_TABLE,
        )
        if statement.temporary
        else None
    )


def _facts(table: Table) -> tuple[tuple[str, str], ...]:
    columns = [("columns", _columns(table.columns))] if table.columns else []
    keys = (
        [("partitioned by", _columns(table.partition_columns))] if table.partition_columns else []
    )
    buckets = [("clustered by", _buckets(table.bucketing))] if table.bucketing else []
    skew = [("skewed by", ", ".join(table.skew.columns))] if table.skew else []
    last = (("stored as", str(table.file_format)), ("transactions", transactions_of(table)))
    return (("table", str(table.name)), *columns, *keys, *buckets, *skew, *last)


def _columns(columns: tuple[Column, ...]) -> str:
    return ", ".join(f"{c.name} {c.type}" for c in columns)


def _buckets(bucketing: Bucketing) -> str:
    return f"{', '.join(bucketing.columns)} into {bucketing.count} buckets"
