"""Decimals of every size through Arrow's kernels, held against Python's exact ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Any

import pyarrow as pa
import pytest

from acidsql.catalog.types import DecimalType, HiveType, arrow_type
from acidsql.expressions.decimals import EXACT, rescaled
from acidsql.expressions.reader import read_expression
from acidsql.expressions.values import UNKNOWN
from acidsql.expressions.vectors import vectorized
from acidsql.expressions.vectors.arithmetic import decimal_operation
from acidsql.parser.tokens import tokenize
from tests.expressions.vectors.extremes import decimals_of
from tests.expressions.vectors.spark_answers import UNCERTAIN, local_values

TYPES = [
    DecimalType(*pair)
    for pair in (
        (1, 0), (3, 1), (5, 5), (9, 2), (10, 0), (18, 6), (19, 0), (20, 0), (20, 19), (28, 10), (31, 3),
        (37, 36), (38, 0), (38, 1), (38, 6), (38, 18), (38, 37), (38, 38),
    )
]  # fmt: skip
ROWS = 200


def values_of(sql: str, types: dict[str, DecimalType], rows: dict[str, list[Any]]) -> list[Any]:
    """The shown values of an expression, and its type."""
    tree = read_expression(sql, tokenize(sql))
    assert tree is not None
    vector = vectorized(tree, types, ansi=False, zone="UTC")
    arrays = {name: pa.array(values, arrow_type(types[name])) for name, values in rows.items()}
    return [vector.type, *local_values(vector, pa.record_batch(arrays))]


def pairs() -> Iterator[tuple[DecimalType, DecimalType]]:
    for left in TYPES:
        for right in TYPES:
            yield left, right


@pytest.mark.parametrize("sign", "+-*/%")
def test_arithmetic_is_exact(sign: str) -> None:
    """Sums, products, quotients and remainders of values at the ends of all types are those of
    exact numbers, rounded once, and none is given up.
    """
    chance = random.Random(sign)
    for left, right in pairs():
        ones, others = decimals_of(left, ROWS, chance), decimals_of(right, ROWS, chance)
        types = {"a": left, "b": right}
        target, *given = values_of(f"a {sign} b", types, {"a": ones, "b": others})
        exact = decimal_operation(sign, left, right, ansi=False)
        wanted = [_applied(exact, a, b) for a, b in zip(ones, others, strict=True)]
        assert isinstance(target, DecimalType)
        _compare(f"{left} {sign} {right}", list(zip(ones, others, strict=True)), given, wanted)


@pytest.mark.parametrize(
    ("sql", "mode", "digits"),
    [
        ("ceil(a)", ROUND_CEILING, 0),
        ("floor(a)", ROUND_FLOOR, 0),
        ("CAST(a AS BIGINT)", ROUND_DOWN, 0),
        *((f"round(a, {digits})", ROUND_HALF_UP, digits) for digits in (-38, -19, -10, -1, 0, 1, 2, 9, 17, 18, 20, 37)),
    ],
)  # fmt: skip
def test_rounding_is_exact(sql: str, mode: str, digits: int) -> None:
    """CEIL, FLOOR, ROUND and casts to whole numbers look at every digit."""
    chance = random.Random(sql)
    for kind in TYPES:
        given = decimals_of(kind, ROWS, chance)
        hive_type, *answers = values_of(sql, {"a": kind}, {"a": given})
        run = _rounding(mode, digits, hive_type)
        _compare(f"{sql} of {kind}", given, answers, [_applied(run, v) for v in given])


def test_casts_are_exact() -> None:
    """A cast to fewer digits is rounded half up, and NULL for what does not fit."""
    chance = random.Random(1)
    for source, target in pairs():
        given = decimals_of(source, ROWS, chance)
        _, *answers = values_of(f"CAST(a AS {target})", {"a": source}, {"a": given})
        wanted = [_applied(lambda v, to=target: rescaled(v, to), v) for v in given]
        _compare(f"{source} as {target}", given, answers, wanted)


def test_a_constant_is_like_a_column() -> None:
    """Rounding, and dividing by a constant or a constant by a column, is exact, too."""
    chance = random.Random(2)
    by = "0.49999999999999999999999999999999999999"
    for kind in TYPES:
        given = decimals_of(kind, ROWS, chance)
        constant = DecimalType(38, 38)
        for sql, one, two in ((f"a / {by}", kind, constant), (f"{by} / a", constant, kind)):
            exact = decimal_operation("/", one, two, ansi=False)
            _, *answers = values_of(sql, {"a": kind}, {"a": given})
            sides = [(v, Decimal(by)) if one is kind else (Decimal(by), v) for v in given]
            _compare(sql, given, answers, [_applied(exact, *both) for both in sides])
    types, rows = {"a": DecimalType(1, 0)}, {"a": [Decimal(1)]}
    ends = "18446744073709551615.999999999999999999"
    shown = values_of(f"round({ends}, 2)", types, rows)[1]
    assert shown == repr(Decimal("18446744073709551616.00"))
    assert values_of(f"ceil({ends})", types, rows)[1] == repr(Decimal(18446744073709551616))
    assert values_of(f"round({ends}, -19)", types, rows)[1] == repr(Decimal(20000000000000000000))


def _rounding(mode: str, digits: int, hive_type: HiveType) -> Callable[[Decimal], Any]:
    def run(value: Decimal) -> Any:
        unit = Decimal(1).scaleb(-digits, EXACT)
        exact = value.quantize(unit, rounding=mode, context=EXACT)
        if isinstance(hive_type, DecimalType):
            fits = rescaled(exact, hive_type)
            return UNKNOWN if fits is None else fits
        return int(exact) if -(1 << 63) <= exact < 1 << 63 else UNKNOWN

    return run


def _applied(function: Callable[..., Any], *values: Decimal | None) -> Any:
    return None if None in values else function(*values)


def _compare(what: str, rows: list[Any], given: list[Any], wanted: list[Any]) -> None:
    shown = [UNCERTAIN if value is UNKNOWN else repr(value) for value in wanted]
    different = [
        (what, row, one, two)
        for row, one, two in zip(rows, given, shown, strict=True)
        if one != two
    ]
    assert different == []
