"""STORED AS, STORED BY and ROW FORMAT: the file format and Hive's classes behind it."""

from __future__ import annotations

from dataclasses import replace

from acidsql.catalog.model import STORAGES, FileFormat, Storage, recognized
from acidsql.errors import BindError, Span
from acidsql.parser import statements as ast
from acidsql.planner.bind.tables import did_you_mean

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
