"""What a store cast can take from a value, by the types alone, and the SQL that tells of one value
whether it did.

The same of literals: ``expressions.stores``, which knows the value. A loss is counted where rows
are written: each row carries its marks there, bit ``n`` of ``lost_columns`` for counter ``n``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import zip_longest
from typing import TYPE_CHECKING

from acidsql.catalog.model import Column
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
from acidsql.expressions.spark_words import GIVEN, identifier, spark_type
from acidsql.expressions.tree import VOID
from acidsql.expressions.values import STRING, bits_of
from acidsql.lazy import dataclass

if TYPE_CHECKING:
    pass


BINARY = PrimitiveType("binary")
LOST = "acidsql_lost_"
"""Begins the name of a column of marks."""


def given_name(ordinal: int, clause: int = 0) -> str:
    """What a query calls a value of the table's column ``ordinal`` before it is stored, of a MERGE
    by a ``clause``.
    """
    return f"{GIVEN}{clause}_{ordinal}"


MARKS = 62
"""The counters of one column of marks, which is a BIGINT."""

_FLOATING = ("float", "double")
_WHOLE_DIGITS = {"tinyint": 2, "smallint": 4, "int": 9, "bigint": 18}
"""The digits of which every number fits."""
_MOST_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
_TEXT_LENGTHS = {"boolean": 5, "tinyint": 4, "smallint": 6, "int": 11, "bigint": 20}
"""The longest text that a value can have."""
_INFINITE = "CAST('Infinity' AS DOUBLE)"


class Loss(StrEnum):
    """What became of a value that its column cannot hold: in words behind one and several."""

    NULL = "became NULL"
    CUT = "cut"
    CHANGED = "changed"
    INSIDE = "inside"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """One loss of the values of one column."""

    column: str
    type: HiveType
    loss: Loss


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """How many rows that a statement has stored have lost something so; None where that could not
    be counted. ``table``: named where the statement writes to several.
    """

    counter: Counter
    values: int | None
    table: str = ""

    def __str__(self) -> str:
        of = f"{self.table}." if self.table else ""
        column = f'column "{of}{self.counter.column}" of type {self.counter.type}'
        if self.values is None:
            return f"{column}: values that do not fit could not be counted"
        one = self.values == 1
        number = "1 value" if one else f"{self.values:,} values"
        was = "was" if one else "were"
        match self.counter.loss:
            case Loss.NULL:
                what = "became NULL"
            case Loss.CUT:
                what = f"{was} cut"
            case Loss.CHANGED:
                what = f"did not fit and {was} changed"
            case Loss.INSIDE:
                what = f"lost parts of what {'it holds' if one else 'they hold'}"
        return f"{column}: {number} {what}"


def possible_losses(given: HiveType, wanted: HiveType) -> tuple[Loss, ...]:
    """What a value of type ``given`` can lose in a column of type ``wanted``; () where every value
    is kept, or only rounded.
    """
    if given == wanted or VOID in (given, wanted):
        return ()
    match wanted:
        case VarcharType(length) | CharType(length):
            return () if _text_length(given) <= length else (Loss.CUT,)
        case ArrayType() | MapType() | StructType():
            inside = any(possible_losses(*pair) for pair in _parts(given, wanted))
            return (Loss.INSIDE,) if inside else ()
        case DecimalType():
            return () if _fits_decimal(given, wanted) else (Loss.NULL,)
        case PrimitiveType("string" | "binary"):
            return ()
    return _of_primitive(given, str(wanted))


def may_lose(given: HiveType | None, wanted: HiveType) -> bool:
    """Whether a value of a type, None for one that only Spark knows, can lose something."""
    if given is None:
        return wanted not in (STRING, BINARY)
    return bool(possible_losses(given, wanted))


def counters_of(column: Column, given: HiveType) -> tuple[Counter, ...]:
    """A counter for each of ``possible_losses`` of a column's values."""
    return tuple(
        Counter(column=column.name, type=column.type, loss=loss)
        for loss in possible_losses(given, column.type)
    )


def _of_primitive(  # noqa: C901  (one arm for each kind of type)
    given: HiveType, wanted: str
) -> tuple[Loss, ...]:
    whole, floating = wanted in _WHOLE_DIGITS, wanted in _FLOATING
    match given:
        case PrimitiveType("string") | CharType() | VarcharType():
            return (Loss.NULL, Loss.CHANGED) if whole or floating else (Loss.NULL,)
        case DecimalType(precision, scale):
            fits = whole and not scale and precision <= _WHOLE_DIGITS[wanted]
            if fits or floating or wanted == "boolean":
                return ()
            return (Loss.CHANGED,) if whole else (Loss.NULL,)
        case PrimitiveType(name) if name in _MOST_DIGITS:
            if whole:
                return () if _MOST_DIGITS[name] <= _MOST_DIGITS[wanted] else (Loss.CHANGED,)
            return () if floating or wanted in ("boolean", "timestamp") else (Loss.NULL,)
        case PrimitiveType("float" | "double" as name):
            if whole or (name, wanted) == ("double", "float"):
                return (Loss.CHANGED,)
            return () if floating or wanted == "boolean" else (Loss.NULL,)
        case PrimitiveType("boolean"):
            return ()
        case PrimitiveType("timestamp" | "timestamp_ntz"):
            if whole and wanted != "bigint":
                return (Loss.CHANGED,)
            return () if whole or floating or wanted in ("date", "timestamp") else (Loss.NULL,)
        case PrimitiveType("date") if wanted == "timestamp":
            return ()
    return (Loss.NULL,)


def _text_length(hive_type: HiveType) -> float:
    match hive_type:
        case CharType(length) | VarcharType(length):
            return length
        case PrimitiveType(name) if name in _TEXT_LENGTHS:
            return _TEXT_LENGTHS[name]
    return float("inf")


def _fits_decimal(given: HiveType, wanted: DecimalType) -> bool:
    room = wanted.precision - wanted.scale
    match given:
        case DecimalType(precision, scale):
            # what is rounded may carry
            return precision - scale + (scale > wanted.scale) <= room
        case PrimitiveType("boolean"):
            return room > 0
        case PrimitiveType(name):
            return _MOST_DIGITS.get(name, room + 1) <= room
    return False


def _parts(given: HiveType, wanted: HiveType) -> list[tuple[HiveType, HiveType]]:
    """The types of what is inside of both; none where they are not of one shape, which no cast
    leads to.
    """
    match given, wanted:
        case ArrayType(one), ArrayType(other):
            return [(one, other)]
        case MapType(key, value), MapType(other_key, other_value):
            return [(key, other_key), (value, other_value)]
        case StructType(), StructType() if len(given.fields) == len(wanted.fields):
            pairs = zip(given.fields, wanted.fields, strict=True)
            return [(one.type, other.type) for one, other in pairs]
        case _:
            return []


# ---- in Spark SQL


def lost_sql(loss: Loss, given: str, stored: str, types: tuple[HiveType, HiveType]) -> str:
    """Whether a value has lost something so; NULL is no. ``given``, ``stored``: SQL that is cheap
    to repeat; ``types``: of both.
    """
    _, wanted = types
    match loss:
        case Loss.NULL:
            return f"{given} IS NOT NULL AND {stored} IS NULL"
        case Loss.CUT:
            assert isinstance(wanted, VarcharType | CharType)
            return f"char_length(rtrim(CAST({given} AS STRING))) > {wanted.length}"
        case Loss.CHANGED:
            return _changed_sql(given, stored, types)
        case Loss.INSIDE:
            return _inside_sql(given, stored, types, 0)


def _changed_sql(given: str, stored: str, types: tuple[HiveType, HiveType]) -> str:
    given_type, wanted = types
    whole = bool(bits_of(wanted))
    match given_type:
        case PrimitiveType("string") | CharType() | VarcharType():
            if whole:
                return f"{stored} IS NOT NULL AND contains({given}, '.')"
            return f"abs({stored}) = {_INFINITE} AND NOT contains(lower({given}), 'inf')"
        case PrimitiveType(name) if name in _FLOATING:
            if not whole:
                return f"abs({stored}) = {_INFINITE} AND abs({given}) < {_INFINITE}"
            other = f"CAST({stored} AS DOUBLE) <> CAST({given} AS DOUBLE)"
            # the largest BIGINT is this number as a DOUBLE
            beyond = f" OR {given} >= {2**63}D" if wanted == PrimitiveType("bigint") else ""
            return other + beyond
        case PrimitiveType("timestamp" | "timestamp_ntz"):
            return f"CAST(CAST({given} AS TIMESTAMP) AS BIGINT) <> {stored}"
    return f"NOT ({given} <=> TRY_CAST({stored} AS {spark_type(given_type)}))"


def _inside_sql(given: str, stored: str, types: tuple[HiveType, HiveType], depth: int) -> str:
    x, y, z = (f"{name}{depth}" for name in "xyz")

    def any_of(ones: str, others: str, pair: tuple[HiveType, HiveType]) -> str:
        lost = any_loss_sql(x, y, pair, depth + 1)
        if lost is None:
            return "FALSE"
        return f"exists(zip_with({ones}, {others}, ({x}, {y}) -> {lost}), {z} -> {z})"

    parts = _parts(*types)
    match types:
        case ArrayType(), _:
            return any_of(given, stored, parts[0])
        case MapType(), _:
            keys = any_of(f"map_keys({given})", f"map_keys({stored})", parts[0])
            values = any_of(f"map_values({given})", f"map_values({stored})", parts[1])
            return f"({keys} OR {values})"
        case StructType() as one, StructType() as other:
            lost = [
                any_loss_sql(
                    f"{given}.{identifier(a.name)}", f"{stored}.{identifier(b.name)}", pair, depth
                )
                for a, b, pair in zip(one.fields, other.fields, parts, strict=True)
            ]
            return f"({' OR '.join(filter(None, lost)) or 'FALSE'})"
        case _:
            raise AssertionError(types)


def any_loss_sql(
    given: str, stored: str, types: tuple[HiveType, HiveType], depth: int = 0
) -> str | None:
    """Whether a value has lost anything, never NULL; None where it cannot."""
    lost = [
        _inside_sql(given, stored, types, depth)
        if loss is Loss.INSIDE
        else lost_sql(loss, given, stored, types)
        for loss in possible_losses(*types)
    ]
    return f"coalesce({' OR '.join(f'({one})' for one in lost)}, FALSE)" if lost else None


# ---- marks


def lost_columns(counters: Sequence[Counter]) -> list[str]:
    """The names of the columns of marks."""
    return [f"{LOST}{number}" for number in range(-(-len(counters) // MARKS))]


def lost_names(names: Iterable[str]) -> list[str]:
    """The names that are columns of marks."""
    return [name for name in names if name.startswith(LOST)]


def mark(number: int) -> int:
    """The bit of a counter in its column."""
    return 1 << number % MARKS


def marks_sql(conditions: Mapping[int, str]) -> list[str]:
    """For each column of marks the BIGINT of a row. ``conditions``: by the numbers of counters."""
    columns: list[list[str]] = [[] for _ in range(max(conditions, default=-1) // MARKS + 1)]
    for number, condition in conditions.items():
        columns[number // MARKS].append(f"IF({condition}, {mark(number)}L, 0L)")
    return [" | ".join(of_column) or "0L" for of_column in columns]


def counts_sql(counters: Sequence[Counter]) -> list[str]:
    """For each counter the aggregate that counts its marks in rows."""
    return [
        f"count_if((`{LOST}{number // MARKS}` & {mark(number)}L) <> 0L)"
        for number in range(len(counters))
    ]


def counted(counters: Sequence[Counter], values: Iterable[int]) -> tuple[Lost, ...]:
    """What was lost, of which there is some. ``values``: for each counter."""
    pairs = zip(counters, values, strict=True)
    return tuple(Lost(counter=counter, values=int(one)) for counter, one in pairs if one)


def uncounted(counters: Sequence[Counter]) -> tuple[Lost, ...]:
    """For each column what is said if nobody knows the counts."""
    of_columns = {counter.column: counter for counter in reversed(counters)}
    return tuple(Lost(counter=counter, values=None) for counter in of_columns.values())


def added(ones: Sequence[int], others: Sequence[int]) -> list[int]:
    """Counts of the same counters together; either may be empty."""
    return [one + other for one, other in zip_longest(ones, others, fillvalue=0)]
