"""Values at the ends of their types, and rows of them."""

from __future__ import annotations

import datetime
import math
import random
import struct
from decimal import Decimal
from typing import Any

from acidsql.catalog.types import CharType, DecimalType, HiveType, VarcharType, parse_type

TYPES = {
    "x": "boolean", "x2": "boolean",
    "y": "tinyint", "y2": "tinyint", "h": "smallint", "h2": "smallint", "i": "int", "i2": "int", "b": "bigint", "b2": "bigint",
    "r": "float", "r2": "float", "f": "double", "f2": "double",
    "n": "decimal(18,6)", "n2": "decimal(38,18)", "n3": "decimal(38,0)", "n4": "decimal(38,38)", "n5": "decimal(20,19)",
    "n6": "decimal(5,2)", "n7": "decimal(28,10)", "n8": "decimal(38,6)", "n9": "decimal(19,0)",
    "s": "string", "s2": "string", "u": "string", "c": "char(4)", "v": "varchar(4)",
    "d": "date", "d2": "date", "t": "timestamp", "t2": "timestamp",
    "z": "binary", "z2": "binary",
}  # fmt: skip
COLUMNS = {name: parse_type(text) for name, text in TYPES.items()}

_FLOATS = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.5, 1e-5, 1e15, 1e16, 2.0**31, 2.0**53, 2.0**63, 1e38, 1e300, math.inf, math.nan)  # fmt: skip
_LAST_SINGLE, _LEAST_SINGLE = 3.4028234663852886e38, 1.401298464324817e-45
_LAST_DOUBLE, _LEAST_DOUBLE = 1.7976931348623157e308, 5e-324
_YEARS = (1, 2, 1000, 1581, 1582, 1583, 1899, 1900, 1969, 1970, 1999, 2000, 2024, 2038, 9998, 9999)
_CLOCKS = (datetime.time(), datetime.time(23, 59, 59, 999_999), datetime.time(12, 0, 0, 500_000))
_TEXTS = (
    "", " ", "a", "A", "ab ", "  ab", "abcabc", "%_", "\\", "'", "日本語", "😀", "a😀b", "👩‍👩‍👧", "e\u0301", "\ufeff", "\ud7ff\ue000",
    "ß", "İ", "0", "-0", "1", "-1", "00", "1.5", "1e2", "NaN", "true", "2024-02-29", "9999-12-31", "2147483647", "-2147483648", "2147483648",
    "9223372036854775807", "-9223372036854775808", "9223372036854775808", "0.49999999999999999999999999999999999999", "a" * 300,
)  # fmt: skip


def rows_of(count: int, chance: random.Random) -> list[dict[str, Any]]:
    return [
        {name: value_of(hive_type, chance) for name, hive_type in COLUMNS.items()}
        for _ in range(count)
    ]


def value_of(hive_type: HiveType, chance: random.Random) -> Any:
    """NULL now and then, else mostly a value at one end or the other, or in the middle."""
    if chance.randrange(20) == 0:
        return None
    match hive_type:
        case DecimalType():
            return _decimal(hive_type, chance)
        case CharType(length):
            return chance.choice(_TEXTS)[:length].rstrip(" ")
        case VarcharType(length):
            return chance.choice(_TEXTS)[:length]
    match str(hive_type):
        case "boolean":
            return chance.random() < 0.5
        case "tinyint":
            return _whole(8, chance)
        case "smallint":
            return _whole(16, chance)
        case "int":
            return _whole(32, chance)
        case "bigint":
            return _whole(64, chance)
        case "float":
            return _floating(chance, "f", _LAST_SINGLE, _LEAST_SINGLE)
        case "double":
            return _floating(chance, "d", _LAST_DOUBLE, _LEAST_DOUBLE)
        case "string":
            return _text(chance)
        case "date":
            return _moment(chance).date()
        case "timestamp":
            return _moment(chance)
    return _text(chance).encode()


def decimals_of(kind: DecimalType, count: int, chance: random.Random) -> list[Decimal | None]:
    """NULL, the ends, halves, whole numbers, few digits and many, one unit beside all these."""
    return [value_of(kind, chance) for _ in range(count)]


def _whole(bits: int, chance: random.Random) -> int:
    half = 1 << bits - 1
    match chance.randrange(4):
        case 0:
            return chance.choice((-half, -half + 1, half - 1, half - 2))
        case 1:
            return chance.randint(-3, 3)
        case 2:
            near = (1 << chance.randrange(bits)) + chance.randint(-1, 1)
            return max(min(chance.choice((near, -near)), half - 1), -half)
    return chance.randrange(-half, half)


def _floating(chance: random.Random, code: str, last: float, least: float) -> float:
    match chance.randrange(4):
        case 0:
            value = chance.choice((last, least, least * 3, 1 / last))
        case 1:
            value = chance.choice(_FLOATS)
        case 2:
            value = chance.randrange(-10_000, 10_000) / 8
        case _:
            [value] = struct.unpack(code, chance.randbytes(struct.calcsize(code)))
    signed = -value if chance.random() < 0.5 else value
    number: float = struct.unpack(code, struct.pack(code, signed))[0]
    return number


def _text(chance: random.Random) -> str:
    text = chance.choice(_TEXTS)
    return text + chance.choice(_TEXTS) if chance.randrange(3) == 0 else text


def _moment(chance: random.Random) -> datetime.datetime:
    day = datetime.date(chance.choice(_YEARS), *chance.choice(((1, 1), (2, 28), (3, 1), (12, 31))))
    return datetime.datetime.combine(day, chance.choice(_CLOCKS))


def _decimal(kind: DecimalType, chance: random.Random) -> Decimal:
    top = 10**kind.precision - 1
    digits = chance.randint(1, kind.precision)
    match chance.randrange(10):
        case 0 | 9:
            unscaled = top
        case 1:
            unscaled = top // 2 + chance.randint(0, 1)
        case 2:
            unscaled = 10 ** (digits - 1)
        case 3:
            unscaled = 10**digits - 1
        case 4:
            unscaled = 5 * 10 ** (digits - 1)
        case 5:
            unscaled = chance.randrange(10**digits)
        case 6:
            unscaled = chance.randrange(100) * 10**kind.scale
        case 7:
            unscaled = 1 << chance.randrange(126)
        case _:
            unscaled = chance.randrange(top + 1)
    unscaled = min(max(unscaled + chance.choice((0, 0, 0, 1, -1)), 0), top)
    sign = int(unscaled > 0 and chance.random() < 0.5)
    return Decimal((sign, tuple(map(int, str(unscaled))), -kind.scale))
