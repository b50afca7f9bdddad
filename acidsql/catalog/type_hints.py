"""What is meant by a type that Hive has not: one of another system, or a misspelt one."""

from __future__ import annotations

import difflib

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
