"""How the rows of a text table are written: Hive's LazySimpleSerDe, whose settings are serde
properties and table properties.

fields   \\001     elements of an array, entries of a map, fields of a struct   \\002     key and
value   \\003     deeper   \\004 ..
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from acidsql.catalog.model import Table, storage_of
from acidsql.catalog.types import ArrayType, HiveType, MapType, StructType
from acidsql.lazy_dataclass import dataclass

LEVELS = 8
"""The number of separators, unless a table asks for more."""

_DEFAULTS = "".join(map(chr, range(1, 1 + LEVELS)))
_NAMED = (("field.delim", "serialization.format"), ("collection.delim",), ("mapkey.delim",))
_HEADER, _ESCAPE = "skip.header.line.count", "escape.delim"
_HARMLESS = {
    "serialization.last.column.takes.rest": ("false",),
    "serialization.escape.crlf": ("false",),
    "hive.serialization.extend.nesting.levels": ("false",),
    "hive.serialization.extend.additional.nesting.levels": ("false",),
    "serialization.encoding": ("utf-8", "utf8"),
    "timestamp.formats": ("",),
    "skip.footer.line.count": ("0", ""),
    "textinputformat.record.delimiter": ("", "\n"),
}
"""Properties that change how text is read, with the values that do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFormat:
    """How the lines of a text table are written. ``separators``: by depth, a character each.
    ``escape``: None if nothing is escaped. ``null``: what stands for NULL.

    ``header_lines``: so many lines at the beginning of each file are no rows.
    """

    separators: str
    escape: str | None
    null: str
    header_lines: int


def text_format(table: Table) -> TextFormat:
    """The format of a text table's lines; only for one of which ``text_problem`` says nothing."""
    given = _properties(table)
    separators = [
        _separator(given, names) or _DEFAULTS[level] for level, names in enumerate(_NAMED)
    ]
    return TextFormat(
        separators="".join(separators) + _DEFAULTS[len(_NAMED) :],
        escape=(_separator(given, (_ESCAPE,)) or "\\") if _ESCAPE in given else None,
        null=given.get("serialization.null.format", "\\N"),
        header_lines=int(given.get(_HEADER, "0")),
    )


def text_problem(table: Table) -> str | None:
    """The property or type of a text table that cannot be read or written, in words; None if
    nothing.
    """
    given = _properties(table)
    for name, harmless in _HARMLESS.items():
        if name in given and given[name].lower() not in harmless:
            return _words(given, name)
    if not re.fullmatch("[0-9]+", given.get(_HEADER, "0")):
        return _words(given, _HEADER)
    for names in (*_NAMED, (_ESCAPE,)):
        character = _separator(given, names)
        if character is not None and (not "\0" < character < "\x80" or character in "\r\n"):
            return _words(given, next(name for name in names if name in given))
    lines = text_format(table)
    if lines.escape is not None and lines.escape in lines.separators:
        return _words(given, _ESCAPE)
    return next(
        (
            problem
            for column in table.columns
            for problem in _type_problems(column.name, column.type, 1)
        ),
        None,
    )


def _properties(table: Table) -> Mapping[str, str]:
    """A table's properties over those of its serde. Hive: MetaStoreUtils.getSchema."""
    return {**storage_of(table).serde_properties, **table.properties}


def _words(given: Mapping[str, str], name: str) -> str:
    return f'text with "{name}"="{given[name]}"'


def _separator(given: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    """The first of the properties as the number of a byte, or as a character: of several the first.
    Hive: LazyUtils.getByte.
    """
    value = next((given[name] for name in names if name in given), "")
    if re.fullmatch(r"[+-]?[0-9]+", value) and -128 <= int(value) < 128:
        return chr(int(value) % 256)
    return value[:1] or None


def _type_problems(column: str, hive_type: HiveType, level: int) -> Iterator[str]:
    """The types of a column that text cannot hold. ``level``: the first separator of a value's own
    parts.
    """
    match hive_type:
        case ArrayType(element):
            last, parts = level, [(element, level + 1)]
        case MapType(key, value):
            last, parts = level + 1, [(value, level + 2)]
            if isinstance(key, ArrayType | MapType | StructType):
                yield f'column "{column}" in text, whose keys are {key},'
        case StructType(fields):
            last, parts = level, [(field.type, level + 1) for field in fields]
        case _:
            return
    if last >= LEVELS:
        yield f'column "{column}" in text, which is nested too deeply,'
    for part, next_level in parts:
        yield from _type_problems(column, part, next_level)
