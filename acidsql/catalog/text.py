"""Values as Hive prints them: the text of one cell, top level and nested; and how the rows of a
text table are written.

Hive's fetch task prints a primitive plainly and everything nested as its own near-JSON
(DelimitedJSONSerDe, SerDeUtils): map keys that are not text stay unquoted, binary stays as it is,
and a decimal loses its trailing zeros there, but keeps its declared scale at the top level.
``strict_json`` is real JSON for programs. A printer takes no NULL at the top level (each output
format has its own word for it).
"""

from __future__ import annotations

import base64
import datetime
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, assert_never

from acidsql.catalog.model import Table, storage_of
from acidsql.catalog.types import (
    ArrayType,
    CharType,
    DecimalType,
    HiveType,
    MapType,
    PrimitiveType,
    StructType,
    VarcharType,
)
from acidsql.lazy import dataclass

Printer = Callable[[Any], str]

_PLAIN_FROM = 1e-3
_PLAIN_BELOW = 1e7


def plain_text(hive_type: HiveType) -> Printer:
    """The printer of one column's cells, NULL left out."""
    match hive_type:
        case PrimitiveType(name):
            return _PRIMITIVES.get(name, str)
        case DecimalType(_, scale):
            return lambda value: f"{value:.{scale}f}"
        case CharType(length):
            return lambda value: str(value).ljust(length)
        case VarcharType():
            return str
        case ArrayType() | MapType() | StructType():
            return hive_json(hive_type)
        case _:
            assert_never(hive_type)


def hive_json(hive_type: HiveType) -> Printer:
    """Hive's text of a nested value; inside it NULL is ``null``."""
    return _nested(hive_type, _hive_leaf, str)


def strict_json(hive_type: HiveType) -> Printer:
    """JSON that every parser takes: quoted keys, binary in base64, NaN and the infinities as text.
    NULL is ``null``.
    """
    return _nested(hive_type, _strict_leaf, _quoted_key)


def java_double(value: float) -> str:
    """A double as Java's ``Double.toString`` prints it: the fewest digits that read back as the
    same double, at least one behind the point.
    """
    if _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        return repr(value)  # there the two languages agree
    return _java_number(value, repr(abs(value)), float)


def java_float(value: float) -> str:
    """A float as Java's ``Float.toString`` prints it, of a value that a 32 bit float holds
    exactly.
    """
    import numpy

    shortest = str(numpy.float32(value))
    if _PLAIN_FROM <= abs(value) < _PLAIN_BELOW and "e" not in shortest:
        return shortest
    return _java_number(value, shortest.lstrip("-"), lambda text: float(numpy.float32(text)))


def timestamp_text(value: datetime.datetime) -> str:
    """A timestamp, ``2024-01-01 10:00:00.5``: as many digits behind the second as there are, none
    for a whole one.
    """
    text = value.isoformat(sep=" ")
    return text.rstrip("0") if value.microsecond else text


def _java_number(value: float, shortest: str, read: Callable[[str], float]) -> str:
    if math.isnan(value):
        return "NaN"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if math.isinf(value):
        return f"{sign}Infinity"
    if value == 0:
        return f"{sign}0.0"
    digits, exponent = _digits(shortest)
    if len(digits) == 1:
        digits, exponent = _second_digit(abs(value), digits, exponent, read)
    if _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        return sign + _plain(digits, exponent)
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _digits(text: str) -> tuple[str, int]:
    """The significant digits, and the exponent of the first: ``("125", 0)`` for 1.25."""
    number = Decimal(text).normalize().as_tuple()
    digits = "".join(map(str, number.digits))
    return digits, int(number.exponent) + len(digits) - 1


def _second_digit(
    value: float, digits: str, exponent: int, read: Callable[[str], float]
) -> tuple[str, int]:
    """The second of the digits. Java always prints two, and among the two-digit texts takes the
    nearest: 4.9E-324, where one digit would say 5E-324.
    """
    nearest = f"{value:.1e}"
    return _digits(nearest) if read(nearest) == value else (digits, exponent)


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    return f"{whole}.{digits[exponent + 1 :] or '0'}"


def _truth(value: object) -> str:
    return "true" if value else "false"


def _binary_text(value: bytes) -> str:
    return bytes(value).decode("utf-8", "replace")


def _isoformat(value: datetime.date) -> str:
    return value.isoformat()


_PRIMITIVES: dict[str, Printer] = {
    "boolean": _truth,
    "float": java_float,
    "double": java_double,
    "binary": _binary_text,
    "date": _isoformat,
    "timestamp": timestamp_text,
}
_UNQUOTED = frozenset(("boolean", "tinyint", "smallint", "int", "bigint", "float", "double"))


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _quoted(printer: Printer) -> Printer:
    return lambda value: _quote(printer(value))


def _trimmed(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _hive_leaf(hive_type: HiveType) -> Printer:
    printer = plain_text(hive_type)
    match hive_type:
        case DecimalType():
            return _trimmed
        case PrimitiveType(name) if name in _UNQUOTED or name == "binary":
            return printer
        case _:
            return _quoted(printer)


def _strict_leaf(hive_type: HiveType) -> Printer:
    printer = plain_text(hive_type)
    match hive_type:
        case DecimalType():
            return printer
        case PrimitiveType("binary"):
            return lambda value: _quote(base64.b64encode(value).decode("ascii"))
        case PrimitiveType("float" | "double"):
            return lambda value: printer(value) if math.isfinite(value) else _quote(printer(value))
        case PrimitiveType(name) if name in _UNQUOTED:
            return printer
        case _:
            return _quoted(printer)


def _quoted_key(text: str) -> str:
    return text if text.startswith('"') else _quote(text)


def _nested(
    hive_type: HiveType, leaf: Callable[[HiveType], Printer], key_text: Callable[[str], str]
) -> Printer:
    match hive_type:
        case ArrayType(element):
            return _or_null(_array(_nested(element, leaf, key_text)))
        case MapType(key, value):
            return _or_null(
                _map(_nested(key, leaf, key_text), _nested(value, leaf, key_text), key_text)
            )
        case StructType(fields):
            return _or_null(
                _struct([f.name for f in fields], [_nested(f.type, leaf, key_text) for f in fields])
            )
        case _:
            return _or_null(leaf(hive_type))


def _or_null(printer: Printer) -> Printer:
    return lambda value: "null" if value is None else printer(value)


def _array(element: Printer) -> Printer:
    return lambda values: "[" + ",".join(map(element, values)) + "]"


def _map(key: Printer, value: Printer, key_text: Callable[[str], str]) -> Printer:
    def text(entries: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> str:
        pairs = entries.items() if isinstance(entries, Mapping) else entries
        return "{" + ",".join(f"{key_text(key(k))}:{value(v)}" for k, v in pairs) + "}"

    return text


def _struct(names: Sequence[str], printers: Sequence[Printer]) -> Printer:
    heads = [_quote(name) + ":" for name in names]

    def text(value: Mapping[str, Any] | Sequence[Any]) -> str:
        values = list(value.values()) if isinstance(value, Mapping) else value
        return (
            "{"
            + ",".join(
                head + printer(v) for head, printer, v in zip(heads, printers, values, strict=True)
            )
            + "}"
        )

    return text


# ---- text tables
#
# How the rows of a text table are written: Hive's LazySimpleSerDe, whose settings are serde
# properties and table properties.
#
# fields   \001     elements of an array, entries of a map, fields of a struct   \002     key and
# value   \003     deeper   \004 ..


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
