"""What a scan need not look at: stripes and row groups that ORC's readers skip by predicates, in
the words they want them; the files of other buckets; columns where only rows count.

Spark's own push-down does nothing on an ACID file, where the data columns are children of ``row``.
What is pushed here is a hint: the whole condition is still evaluated on the rows that are left. So
a predicate may only be pushed where ORC, comparing it with a row group's minimum and maximum, never
rules out a row that Spark would keep. Left out for that reason: timestamps (calendars and zones),
char and varchar (blanks), NaN and zero in floating point (ORC orders -0.0 below 0.0), old dates
(two calendars).

Only for files of insert events: in delete events ``row`` is null.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from acidsql.acid.bucketing import bucket_numbers
from acidsql.catalog.model import Column, Table
from acidsql.catalog.types import (
    CharType,
    DecimalType,
    HiveType,
    PrimitiveType,
    VarcharType,
    arrow_type,
)
from acidsql.expressions.pruning import Comparison, Predicate, Scalar
from acidsql.expressions.spark_words import identifier, spark_type
from acidsql.lazy import dataclass
from acidsql.spark import jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


MAX_IN_VALUES = 200
"""More values than this tell ORC little and make a long argument."""

_LONG = 1 << 63
_EXACT_IN_DOUBLE = 1 << 53
_FIRST_PLAIN_DATE = datetime.date(1900, 1, 1)
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_SAFE_TEXT = re.compile(r"[\x00-\ud7ff]*")

_SOURCES = {
    Comparison.EQUAL: "EqualTo",
    Comparison.LESS: "LessThan",
    Comparison.LESS_EQUAL: "LessThanOrEqual",
    Comparison.GREATER: "GreaterThan",
    Comparison.GREATER_EQUAL: "GreaterThanOrEqual",
    Comparison.IN: "In",
    Comparison.IS_NULL: "IsNull",
    Comparison.IS_NOT_NULL: "IsNotNull",
}


Accept = Callable[[Scalar], Scalar | None]
# From the cheapest to decode upwards.
_CHEAP_TYPES = ("boolean", "tinyint", "date", "int", "smallint", "bigint", "float", "double")


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """A predicate that may be pushed; ``values`` are what ORC compares with: int, str, bool, float,
    Decimal or date.
    """

    column: str
    type: HiveType
    op: Comparison
    values: tuple[Scalar, ...]


def pushable(predicates: Iterable[Predicate], columns: Sequence[Column]) -> tuple[Test, ...]:
    """The predicates that may be pushed on a table of these columns, in order and each once."""
    types = {column.name: column.type for column in columns}
    tests = (_test(predicate, types) for predicate in predicates)
    return tuple(dict.fromkeys(test for test in tests if test is not None))


def read_options(
    spark: SparkSession, tests: Sequence[Test], columns: Sequence[Column], names: Sequence[str]
) -> dict[str, str]:
    """Options of ``spark.read`` that push ``tests``; ``names`` are the columns' names inside the
    files. {} without tests or a JVM.
    """
    if not tests or jvm.jvm(spark) is None:
        return {}
    inner = {column.name: name for column, name in zip(columns, names, strict=True)}
    arguments = [
        (_SOURCES[test.op], inner[test.column], _java_values(spark, test)) for test in tests
    ]
    ddl = ", ".join(
        f"{identifier(inner[test.column])} {spark_type(test.type)}"
        for test in {t.column: t for t in tests}.values()
    )
    return jvm.search_argument_options(spark, ddl, names, arguments)


def _test(predicate: Predicate, types: Mapping[str, HiveType]) -> Test | None:
    column = predicate.column.lower()
    hive_type = types.get(column)
    accept = _accept(hive_type) if hive_type is not None else None
    if hive_type is None or accept is None or len(predicate.values) > MAX_IN_VALUES:
        return None
    values = tuple(accept(value) for value in predicate.values)
    if any(value is None for value in values):
        return None
    return Test(
        column=column,
        type=hive_type,
        op=predicate.op,
        values=tuple(v for v in values if v is not None),
    )


def _accept(hive_type: HiveType) -> Accept | None:
    """What turns a literal into a value to compare columns of this type with; None if the type is
    not pushed at all.
    """
    match hive_type:
        case PrimitiveType("tinyint" | "smallint" | "int" | "bigint"):
            return _integer
        case PrimitiveType("float" | "double"):
            return _floating
        case PrimitiveType("string"):
            return _text
        case PrimitiveType("date"):
            return _date
        case PrimitiveType("boolean"):
            return _boolean
        case DecimalType():
            return _decimal
        case _:
            return None


def _integer(value: Scalar) -> int | None:
    if isinstance(value, bool):
        return None
    if (
        isinstance(value, Decimal)
        and value.is_finite()
        and value == value.to_integral_value()
        and abs(value) < _LONG
    ):
        return int(value)
    return value if isinstance(value, int) and -_LONG <= value < _LONG else None


def _floating(value: Scalar) -> float | None:
    if isinstance(value, int) and (isinstance(value, bool) or abs(value) > _EXACT_IN_DOUBLE):
        return None
    if not isinstance(value, int | float | Decimal):
        return None
    number = float(value)
    return number if number == number and number not in (0.0, float("inf"), float("-inf")) else None


def _text(value: Scalar) -> str | None:
    # ORC compares UTF-16 units and Spark UTF-8 bytes: they agree on characters below the
    # surrogates.
    return value if isinstance(value, str) and _SAFE_TEXT.fullmatch(value) else None


def _date(value: Scalar) -> datetime.date | None:
    if isinstance(value, datetime.datetime):
        return None
    if isinstance(value, str) and _ISO_DATE.fullmatch(value):
        try:
            value = datetime.date.fromisoformat(value)
        except ValueError:
            return None
    return value if isinstance(value, datetime.date) and value >= _FIRST_PLAIN_DATE else None


def _boolean(value: Scalar) -> bool | None:
    return value if isinstance(value, bool) else None


def _decimal(value: Scalar) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    number = Decimal(value)
    if not number.is_finite():
        return None
    # HiveDecimal rounds what has more digits, and a rounded bound could rule out a row.
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)  # of a finite number
    return number if len(digits) + max(exponent, 0) <= 38 and -exponent <= 38 else None


def _java_values(spark: SparkSession, test: Test) -> tuple[Any, ...]:
    values = [
        jvm.java_date(spark, v.isoformat()) if isinstance(v, datetime.date) else v
        for v in test.values
    ]
    return (jvm.java_objects(spark, values),) if test.op is Comparison.IN else tuple(values)


def buckets_of(table: Table, predicates: Sequence[Predicate]) -> frozenset[int] | None:
    """The buckets that rows meeting the predicates lie in; None if they may lie in any. Hive:
    bucket pruning.
    """
    bucketing = table.bucketing
    if bucketing is None:
        return None
    keys: list[tuple[pa.Array, str]] = []
    for name in bucketing.columns:
        column = table.column(name)
        equal = next(
            (
                p
                for p in predicates
                if p.column == name and p.op in (Comparison.EQUAL, Comparison.IN)
            ),
            None,
        )
        if column is None or equal is None or (keys and len(equal.values) > 1):
            return None  # of several columns only one value each is looked at
        keys.append((pa.array(list(equal.values), arrow_type(column.type)), str(column.type)))
    if len({len(values) for values, _ in keys}) > 1:
        return None
    return frozenset(
        int(n) for n in bucket_numbers(keys, bucketing.count, 1 if bucketing.version == 1 else 2)
    )


def cheapest_column(columns: Sequence[Column]) -> int | None:
    """The ordinal of a column that is cheap to decode; None if all are dear."""

    def cost(column: Column) -> int:
        match column.type:
            case PrimitiveType(name) if name in _CHEAP_TYPES:
                return _CHEAP_TYPES.index(name)
            case PrimitiveType("string") | CharType() | VarcharType() | DecimalType():
                return len(_CHEAP_TYPES)
            case _:
                return len(_CHEAP_TYPES) + 1

    cheapest = min(range(len(columns)), key=lambda i: cost(columns[i]))
    return cheapest if cost(columns[cheapest]) <= len(_CHEAP_TYPES) else None
