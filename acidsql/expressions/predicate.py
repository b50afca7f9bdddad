"""The conjuncts of a condition that a scan may use to skip data: ``column op literal`` where no
cast would stand on the column.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from decimal import Decimal
from enum import StrEnum

from acidsql.catalog.model import Column, Table
from acidsql.catalog.types import DecimalType, PrimitiveType
from acidsql.expressions.tree import Call, Cast, ColumnRef, Condition, Constant, conjuncts
from acidsql.lazy_dataclass import dataclass

Scalar = bool | int | float | str | bytes | Decimal | datetime.date | datetime.datetime


class Comparison(StrEnum):
    EQUAL = "="
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    IN = "IN"
    IS_NULL = "IS NULL"
    IS_NOT_NULL = "IS NOT NULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """A conjunct ``column op value`` that a scan may use to skip data; the whole condition is still
    evaluated after it.

    ``values`` has one entry, several for IN, none for IS [NOT] NULL.
    """

    column: str
    op: Comparison
    values: tuple[Scalar, ...] = ()

    def __str__(self) -> str:
        shown = [f"'{v}'" if isinstance(v, str | datetime.date) else str(v) for v in self.values]
        match self.op:
            case Comparison.IS_NULL | Comparison.IS_NOT_NULL:
                return f"{self.column} {self.op}"
            case Comparison.IN:
                return f"{self.column} IN ({', '.join(shown)})"
            case _:
                return f"{self.column} {self.op} {shown[0]}"


_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_HALVES = {"tinyint": 1 << 7, "smallint": 1 << 15, "int": 1 << 31, "bigint": 1 << 63}
_DATE = PrimitiveType("date")


def predicates(condition: Condition, table: Table, alias: str) -> tuple[Predicate, ...]:
    """The predicates that a condition's conjuncts over ``table`` alone come to."""
    return tuple(p for part in conjuncts(condition) for p in _predicates(part, table, alias))


def _predicates(part: Condition, table: Table, alias: str) -> Iterator[Predicate]:
    match part:
        case Call("=" | "<" | "<=" | ">" | ">=" as sign, (left, right)):
            yield from _comparison(sign, left, right, table, alias)
        case Call("BETWEEN", (value, low, high)):
            yield from _comparison(">=", value, low, table, alias)
            yield from _comparison("<=", value, high, table, alias)
        case Call("IN" | "OR"):
            if (membership := one_of(part, table, alias)) is not None:
                yield Predicate(column=membership[0].name, op=Comparison.IN, values=membership[1])
        case Call("IS NULL", (ref,)):
            yield from _null_test(ref, Comparison.IS_NULL, table, alias)
        case Call("NOT", (Call("IS NULL", (ref,)),)):
            yield from _null_test(ref, Comparison.IS_NOT_NULL, table, alias)


def _null_test(ref: Condition, op: Comparison, table: Table, alias: str) -> Iterator[Predicate]:
    column = column_of(ref, table, alias)
    if column is not None:
        yield Predicate(column=column.name, op=op)


_MIRROR = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _comparison(
    sign: str, left: Condition, right: Condition, table: Table, alias: str
) -> Iterator[Predicate]:
    if column_of(left, table, alias) is None:
        left, right, sign = right, left, _MIRROR[sign]
    column = column_of(left, table, alias)
    value = None if column is None else scalar(right, column)
    if column is not None and value is not None:
        yield Predicate(column=column.name, op=Comparison(sign), values=(value,))


def one_of(
    condition: Condition, table: Table, alias: str
) -> tuple[Column, tuple[Scalar, ...]] | None:
    """The column that is one of these values where the condition is true, and not where it is
    false: of ``c IN (1, 2)``, ``c = 1`` and any OR of such on one column. None for anything else.
    """
    column: Column | None = None
    values: list[Scalar] = []
    for ref, literals in _alternatives(condition):
        own = column_of(ref, table, alias)
        known = [] if own is None else [scalar(literal, own) for literal in literals]
        if own is None or (column is not None and own is not column) or None in known:
            return None
        column = own
        values += [value for value in known if value is not None]
    return None if column is None else (column, tuple(values))


def _alternatives(condition: Condition) -> Iterator[tuple[Condition, tuple[Condition, ...]]]:
    match condition:
        case Call("OR", parts):
            for part in parts:
                yield from _alternatives(part)
        case Call("=", (ColumnRef() as ref, literal)) | Call("=", (literal, ColumnRef() as ref)):
            yield ref, (literal,)
        case Call("IN", (ref, *literals)):
            yield ref, tuple(literals)
        case _:
            yield condition, ()


def column_of(node: Condition, table: Table, alias: str) -> Column | None:
    """The column of ``table`` that a name means which cannot be another's."""
    match node:
        case ColumnRef((name,)):
            return table.column(name)
        case ColumnRef((qualifier, name)) if qualifier == alias:
            return table.column(name)
    return None


def scalar(node: Condition, column: Column) -> Scalar | None:
    """The literal as a value of the column's own type; None where Spark's comparison would cast the
    column.
    """
    match column.type, node:
        case PrimitiveType("tinyint" | "smallint" | "int" | "bigint" as name), Constant(int(value)):
            half = _HALVES[name]
            return value if not isinstance(value, bool) and -half <= value < half else None
        case PrimitiveType("string"), Constant(str(value)):
            return value
        case PrimitiveType("date"), Constant(value, hive_type) if hive_type == _DATE:
            return value if isinstance(value, datetime.date) else None
        case PrimitiveType("date"), Cast(Constant(str(text)), target) if target == _DATE:
            return _day(text)
        case PrimitiveType("boolean"), Constant(bool(value)):
            return value
        case DecimalType(), Constant(value):
            return _decimal(value, column.type)
    return None


def _day(text: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        return None


def _decimal(value: object, hive_type: DecimalType) -> Decimal | None:
    """None where the type does not hold the number with all its digits."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    number = Decimal(value)
    _, digits, exponent = number.as_tuple()
    fits = (
        isinstance(exponent, int)
        and -exponent <= hive_type.scale
        and len(digits) + hive_type.scale + exponent <= hive_type.precision
    )
    return number if fits else None
