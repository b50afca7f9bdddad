"""Which names databases, tables and columns may have, and the errors of a catalog about them."""

from __future__ import annotations

import difflib
import string

from acidsql.catalog.model import DEFAULT_DATABASE, TableName
from acidsql.catalog.partitions import MAX_NAME_BYTES
from acidsql.errors import (
    AlreadyExistsError,
    BindError,
    DatabaseNotFoundError,
    TableNotFoundError,
    WriteConflictError,
)

# ---- names
#
# Which names databases, tables and columns may have, and what a table's directory is called.
#
# Hive 4.0.1: MetaStoreUtils.validateName and encodeTableName, the parser's rule for columns, and
# the lengths of the metastore's columns. Names that Hive takes and then cannot use are refused,
# too.


_WORD = frozenset(string.ascii_letters + string.digits + "_")
_IN_TABLES = _WORD | frozenset(" !\"#%&'()*+,-/;<=>?@[]^`{|}~")
"""Hive allows ``$``, too, and fails over it; and ``:``, likewise."""
_IN_DATABASES = _IN_TABLES - frozenset("/")
"""Their directories have the name as it is, and that may not lead into another one."""
MAX_DATABASE_NAME = 128
MAX_COLUMN_NAME = 767
MAX_PARTITION_COLUMN_NAME = 128


def database_problem(name: str) -> str | None:
    """Hive's words for a database's name that cannot be; None if it can."""
    if "." in name:
        return _dotted(name)
    if not _consists_of(name, _IN_DATABASES):
        return f"{name} is not a valid database name"
    return _too_long("database", name, MAX_DATABASE_NAME)


def table_problem(name: str) -> str | None:
    """Hive's words for a table's or a view's name that cannot be; None if it can."""
    if "." in name:
        return _dotted(name)
    if not _consists_of(name, _IN_TABLES):
        return f"[{name}]: is not a valid table name"
    size = len(encoded(name))
    if size > MAX_NAME_BYTES:
        return (
            f"table name makes a directory's name of {size} bytes, of which {MAX_NAME_BYTES} are"
            " allowed"
        )
    return None


def column_problem(name: str) -> str | None:
    """Hive's words for a name that no new column may be given; None if one may. (A query's columns
    and CHANGE COLUMN may have a dot, as in Hive.)
    """
    if "." in name or ":" in name:
        return "[., :] can not be used in column name in create table statement."
    return column_length_problem(name)


def column_length_problem(name: str) -> str | None:
    """What is wrong with a column's name however it came by it; None if nothing."""
    return _too_long("column", name, MAX_COLUMN_NAME)


def partition_column_problem(name: str) -> str | None:
    """What ``column_problem`` says, with the length of a partition column's name."""
    return column_problem(name) or _too_long("partition column", name, MAX_PARTITION_COLUMN_NAME)


def encoded(table: str) -> str:
    """The name of a table's directory: whatever is no letter, digit or underscore stands there as
    its number. Hive: MetaStoreUtils.encodeTableName.
    """
    return "".join(c if c in _WORD else f"-{ord(c)}-" for c in table)


def table_location(database_location: str, table: str) -> str:
    """The location of a table for which no LOCATION is said."""
    return f"{database_location.rstrip('/')}/{encoded(table)}"


def _consists_of(name: str, characters: frozenset[str]) -> bool:
    return bool(name) and name == name.strip() and characters.issuperset(name)


def _dotted(name: str) -> str:
    return f"Table or database name may not contain dot(.) character '{name}'"


def _too_long(kind: str, name: str, most: int) -> str | None:
    if len(name) <= most:
        return None
    return f"{kind} name has {len(name)} characters, of which {most} are allowed"


# ---- refusals
#
# The errors of a catalog, whichever store keeps it.


INVALID_TABLE = 10001
DATABASE_DOES_NOT_EXIST = 10072


def no_database(name: str) -> DatabaseNotFoundError:
    return DatabaseNotFoundError(f'database "{name}" does not exist', code=DATABASE_DOES_NOT_EXIST)


def default_database_stays() -> BindError:
    return BindError(f'database "{DEFAULT_DATABASE}" cannot be dropped')


def not_empty(name: str, tables: int) -> BindError:
    return BindError(
        f'database "{name}" is not empty',
        detail=f"it has {tables} table(s)",
        hint="DROP DATABASE .. CASCADE drops them too.",
    )


def no_table(name: TableName) -> TableNotFoundError:
    return TableNotFoundError(f'table "{name}" does not exist', code=INVALID_TABLE)


def table_exists(name: TableName) -> AlreadyExistsError:
    return AlreadyExistsError(f'table "{name}" already exists')


def changed_meanwhile(name: TableName) -> WriteConflictError:
    return WriteConflictError(
        f'table "{name}" was changed by another session meanwhile',
        hint="Run the statement again: it will see the other session's change.",
    )


def other_partition_columns(name: TableName) -> WriteConflictError:
    return WriteConflictError(
        f'table "{name}" has other partition columns', hint="Run the statement again."
    )


# ---- hints
#
# What is meant by a type that Hive has not: one of another system, or a misspelt one.


_NUMBERED = "INT or BIGINT; rows are not numbered by themselves"
_INSTEAD = {
    **dict.fromkeys(
        ("text", "clob", "nclob", "longtext", "mediumtext", "tinytext", "ntext"), "STRING"
    ),
    **dict.fromkeys(("varchar2", "nvarchar", "nvarchar2"), "VARCHAR(n) or STRING"),
    **dict.fromkeys(("nchar", "character", "bpchar"), "CHAR(n) or STRING"),
    **dict.fromkeys(
        ("serial", "bigserial", "smallserial", "identity", "serial4", "serial8"), _NUMBERED
    ),
    **dict.fromkeys(("number", "money", "smallmoney", "bignumeric"), "DECIMAL(p,s)"),
    **dict.fromkeys(("datetime", "datetime2", "smalldatetime", "timestamp_ntz"), "TIMESTAMP"),
    **dict.fromkeys(
        ("timestamptz", "timestamp_ltz", "timestamp_tz", "timestamplocaltz", "datetimeoffset"),
        "TIMESTAMP, which is a wall clock without a zone",
    ),
    **dict.fromkeys(("time", "timetz"), "STRING, or TIMESTAMP with a day"),
    **dict.fromkeys(("bytea", "blob", "longblob", "varbinary", "bytes", "raw", "image"), "BINARY"),
    **dict.fromkeys(
        ("uuid", "uniqueidentifier", "json", "jsonb", "xml", "enum", "variant"), "STRING"
    ),
    **dict.fromkeys(("bool", "bit"), "BOOLEAN"),
    **dict.fromkeys(("int1", "byte", "uint8"), "TINYINT"),
    **dict.fromkeys(("int2", "int16", "short"), "SMALLINT"),
    **dict.fromkeys(("int4", "int32", "mediumint"), "INT"),
    **dict.fromkeys(("int8", "int64", "long"), "BIGINT"),
    **dict.fromkeys(("float4", "float32"), "FLOAT"),
    **dict.fromkeys(("float8", "float64", "binary_double"), "DOUBLE"),
    **dict.fromkeys(("list",), "ARRAY<..>"),
    **dict.fromkeys(("object", "record", "row"), "STRUCT<..>"),
    **dict.fromkeys(("interval",), "INT for a number of days, or two columns of TIMESTAMP"),
}
_KNOWN = (
    "boolean", "tinyint", "smallint", "int", "integer", "bigint", "float", "double", "string",
    "binary", "date", "timestamp", "decimal", "numeric", "real", "char", "varchar", "array", "map",
    "struct",
)  # fmt: skip


def instead_of_type(name: str) -> str | None:
    """A hint for a type of that name, which Hive has not; None where nothing is like it."""
    word = name.strip().lower().partition("(")[0].strip()
    if (instead := _INSTEAD.get(word)) is not None:
        return f"Write {instead}."
    near = difflib.get_close_matches(word, _KNOWN, n=1)
    return f"did you mean {near[0].upper()}?" if near else None
