"""Literals of a condition as constants with Spark's types."""

from __future__ import annotations

from decimal import Decimal

from acidsql.catalog.types import MAX_DECIMAL_PRECISION, DecimalType, PrimitiveType
from acidsql.errors import Span
from acidsql.expressions.literals import parse_literal
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import Constant


def literal_constant(source: str, span: Span) -> Constant:
    """The constant that a word, a text, a day or a moment stands for. NotHere."""
    value = parse_literal(span.cut(source))
    name = {
        "NoneType": "void",
        "bool": "boolean",
        "str": "string",
        "date": "date",
        "datetime": "timestamp",
    }[type(value).__name__]
    return Constant(value, PrimitiveType(name), span)


_SMALL = {"Y": "tinyint", "S": "smallint"}
"""What a letter behind a number makes of it."""


def number_constant(source: str, span: Span) -> Constant:
    """Spark's type of a number: INT, BIGINT or DECIMAL by its size, DECIMAL with a point,
    DOUBLE with an exponent. NotHere.
    """
    text = span.cut(source)
    value = parse_literal(text)
    match value:
        case float():
            return Constant(value, PrimitiveType("double"), span)
        case int() if (small := _SMALL.get(text[-1].upper())) is not None:
            return Constant(value, PrimitiveType(small), span)
        case int():
            fits = -(1 << 31) <= value < 1 << 31 and text[-1] not in "lL"
            return Constant(value, PrimitiveType("int" if fits else "bigint"), span)
        case Decimal():
            _, digits, exponent = value.as_tuple()
            if (
                isinstance(exponent, int)
                and exponent <= 0
                and max(len(digits), -exponent) <= MAX_DECIMAL_PRECISION
            ):
                return Constant(value, DecimalType(max(len(digits), -exponent), -exponent), span)
    raise NotHere(text)
