"""The conjuncts of a condition that a scan may use to skip data: ``column op literal`` where no cast would stand on the column."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

from acidsql.catalog.model import Column, Table
from acidsql.catalog.types import DecimalType, PrimitiveType
from acidsql.planner.plan import Comparison, Predicate, Scalar

if TYPE_CHECKING:
    from sqlglot import exp

_INTEGERS = {"tinyint": 1 << 7, "smallint": 1 << 15, "int": 1 << 31, "bigint": 1 << 63}


def conjuncts(condition: exp.Expr, table: Table, alias: str) -> Iterator[Predicate]:
    from sqlglot import exp

    match condition:
        case exp.And():
            yield from conjuncts(condition.left, table, alias)
            yield from conjuncts(condition.right, table, alias)
        case exp.Paren():
            yield from conjuncts(condition.this, table, alias)
        case exp.EQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            yield from _comparison(condition, table, alias)
        case exp.Between():
            low = exp.GTE(this=condition.this, expression=condition.args["low"])
            high = exp.LTE(this=condition.this, expression=condition.args["high"])
            yield from [*_comparison(low, table, alias), *_comparison(high, table, alias)]
        case exp.In() if condition.expressions:
            column = _column(condition.this, table, alias)
            values = [_scalar(e, column) for e in condition.expressions] if column else []
            if column and all(v is not None for v in values):
                yield Predicate(column=column.name, op=Comparison.IN, values=tuple(v for v in values if v is not None))
        case exp.Is() if isinstance(condition.expression, exp.Null):
            if column := _column(condition.this, table, alias):
                yield Predicate(column=column.name, op=Comparison.IS_NULL)
        case exp.Not(this=exp.Is() as inner) if isinstance(inner.expression, exp.Null):
            if column := _column(inner.this, table, alias):
                yield Predicate(column=column.name, op=Comparison.IS_NOT_NULL)


_MIRROR = {"EQ": "=", "LT": ">", "LTE": ">=", "GT": "<", "GTE": "<="}
_PLAIN = {"EQ": "=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}


def _comparison(node: exp.Expr, table: Table, alias: str) -> Iterator[Predicate]:
    left, right, names = node.this, node.expression, _PLAIN
    if _column(left, table, alias) is None:
        left, right, names = right, left, _MIRROR
    column = _column(left, table, alias)
    value = _scalar(right, column) if column else None
    if column is not None and value is not None:
        yield Predicate(column=column.name, op=Comparison(names[type(node).__name__]), values=(value,))


def _column(node: exp.Expr | None, table: Table, alias: str) -> Column | None:
    from sqlglot import exp

    if not isinstance(node, exp.Column) or node.args.get("db") or (node.table and node.table.lower() != alias):
        return None
    return table.column(node.name)


def _scalar(node: exp.Expr, column: Column | None) -> Scalar | None:
    """The literal as a value of the column's own type; None where Spark's comparison would cast the column."""
    from sqlglot import exp

    if column is None:
        return None
    if isinstance(node, exp.Neg):
        value = _scalar(node.this, column)
        return -value if isinstance(value, int | float | Decimal) and not isinstance(value, bool) else None
    match column.type:
        case PrimitiveType("tinyint" | "smallint" | "int" | "bigint" as name):
            number = int(node.this) if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit() else None
            return number if number is not None and number < _INTEGERS[name] else None
        case PrimitiveType("string"):
            plain = isinstance(node, exp.Literal) and node.is_string and "\\" not in node.this
            return str(node.this) if plain else None
        case PrimitiveType("date"):
            return _date(node)
        case DecimalType(precision, scale) if isinstance(node, exp.Literal) and not node.is_string:
            return _decimal(node.this, precision, scale)
        case PrimitiveType("boolean") if isinstance(node, exp.Boolean):
            return bool(node.this)
    return None


def _date(node: exp.Expr) -> datetime.date | None:
    from sqlglot import exp

    if isinstance(node, exp.Cast) and node.is_type("date") and isinstance(node.this, exp.Literal) and node.this.is_string:
        try:
            return datetime.date.fromisoformat(node.this.this)
        except ValueError:
            return None
    return None


def _decimal(text: str, precision: int, scale: int) -> Decimal | None:
    if not text.replace(".", "", 1).isdigit():
        return None
    value = Decimal(text)
    exponent = value.as_tuple().exponent
    fits = isinstance(exponent, int) and -exponent <= scale and len(value.as_tuple().digits) + scale + exponent <= precision
    return value if fits else None
