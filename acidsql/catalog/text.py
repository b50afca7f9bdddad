"""Values as Hive prints them: the text of one cell, top level and nested.

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
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, assert_never

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
