"""The ranges of names in which a partition lies whose values are known, however they are spelled."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.catalog.model import Column, Partition
from acidsql.catalog.partitions import NameRanges, chosen, name_ranges, partition_name, text_ranges
from acidsql.catalog.types import HiveType, PrimitiveType
from acidsql.expressions.pruning import Wanted, ranges_needed
from acidsql.expressions.reader import read_condition
from acidsql.expressions.stores import typed
from acidsql.expressions.tree import Condition, PartitionCondition
from acidsql.parser.tokens import tokenize

INT, DATE, STRING, DOUBLE = (PrimitiveType(name) for name in ("int", "date", "string", "double"))
SPELLED = [
    *(
        "7",
        "07",
        "+7",
        " 7",
        "7 ",
        "7.9",
        "70",
        "007",
        "-7",
        "-07",
        "-0",
        "0",
        "+0",
        "00",
        ".5",
        "-.5",
    ),
    *("7\t", "\t7", "abc", "2024-01-01", "2024-1-1", "2024", "2024-01", "2024-1", "2024-01-01T00"),
    *("2024-01-01 x", "2024-01-02", "2024-1-2", " 2024-01-02 ", "+2024-01-01", "02024-01-01"),
    *("2024-01-1", "2024-01-01 12:00:00", "7/8", "a b", "a=b", "7L", "7e0", "-0.5", "2024-01-01t1"),
    *("0999-12-31", "999-12-31", "12024-05-06", "2024-12-31", "2024-12-31T"),
]
numbers = st.integers(-(2**31), 2**31 - 1)
days = st.dates()
texts = st.text(min_size=1, max_size=5)


def columns(*types: HiveType) -> tuple[Column, ...]:
    return tuple(Column(name=name, type=kind) for name, kind in zip("abc", types, strict=False))


def holds(ranges: NameRanges, name: str) -> bool:
    return chosen(ranges, [name]) == [name]


def spelled(value: Any) -> list[str]:
    """Texts that may mean a value."""
    if isinstance(value, datetime.date):
        year, month, day = f"{value.year:04d}", value.month, value.day
        return [
            *(f"{year}-{m}-{d}" for m in (month, f"{month:02d}") for d in (day, f"{day:02d}")),
            *(f"{year}-{month:02d}-{day:02d}{end}" for end in ("T1", " 5", " ")),
        ]
    if isinstance(value, int):
        return [str(value), f" {value}", f"{value} ", f"{value}.25", f"{value:05d}", f"{value:+d}"]
    return [value]


@pytest.mark.parametrize("kind", [INT, DATE, STRING])
@pytest.mark.parametrize("text", SPELLED)
def test_a_value_is_in_the_ranges_however_it_is_spelled(kind: HiveType, text: str) -> None:
    """What Hive makes of a text is a value in whose ranges the partition of that text is, alone and
    with columns behind it.
    """
    value = typed(text, kind)
    if value is None:
        return
    for more in ("x", "~", " ", "/"):
        for wanted in ({"a": [value]}, {"a": [value], "b": [more]}):
            ranges = name_ranges(columns(kind, STRING), wanted)
            assert ranges is not None
            assert holds(ranges, partition_name(["a", "b"], [text, more]))
    alone = name_ranges(columns(kind), {"a": [value]})
    assert alone is not None
    assert holds(alone, partition_name(["a"], [text]))


@given(st.one_of(numbers, days, texts), st.one_of(numbers, days, texts))
def test_the_ranges_of_a_value_are_narrow(one: Any, other: Any) -> None:
    """They hold each spelling of it, and no other number, day or text as Hive writes it."""
    kind = DATE if isinstance(one, datetime.date) else INT if isinstance(one, int) else STRING
    ranges = name_ranges(columns(kind), {"a": [one]})
    assert ranges is not None
    for text in spelled(one):
        assert holds(ranges, partition_name(["a"], [text])) or typed(text, kind) != one
    if type(other) is type(one) and other != one and str(other)[:1] not in ("0", ""):
        assert holds(ranges, partition_name(["a"], [str(other)])) == (
            # the lax starts of numbers
            kind != STRING and str(other).startswith(("0", "+", "-0", " ", "."))
        )


def tree_of(text: str) -> Condition:
    tree = read_condition(text, tokenize(text))
    assert tree is not None
    return tree


BOUNDS = st.text(st.sampled_from("-.09aZé~ü&"), max_size=6)
VALUES = st.text(st.sampled_from("-./0%:=9aZé~ü&#{\x01"), min_size=1, max_size=7)


@given(
    low=st.none() | BOUNDS,
    high=st.none() | BOUNDS,
    values=st.lists(st.one_of(VALUES, BOUNDS.filter(bool)), max_size=30),
)
def test_what_lies_between_two_texts_is_in_their_ranges(
    low: str | None, high: str | None, values: list[str]
) -> None:
    """However the name of a value is escaped, and whether a column stands behind it; of other names
    without escapes none is in them.
    """
    ranges = text_ranges(columns(STRING)[0], low, high)
    assert ranges is not None
    for value in (*values, *filter(None, (low, high))):
        is_between = (low is None or low <= value) and (high is None or value <= high)
        alone = partition_name(["a"], [value])
        if is_between:
            assert holds(ranges, alone)
            assert holds(ranges, partition_name(["a", "b"], [value, "-"]))
        elif value.isalnum():
            assert not holds(ranges, alone) or value.startswith(high or "?"), value
    assert holds(ranges, partition_name(["a"], [""]))


@pytest.mark.parametrize("bound", ["a%b", "a/b", "a:b", "a b", "x\x01", "x" * 40])
def test_bounds_with_escapes_have_no_ranges(bound: str) -> None:
    """Names are in another order there; and long ones would have many."""
    assert text_ranges(columns(STRING)[0], bound, None) is None


@given(
    sql=st.sampled_from(
        (
            "a > '{0}'", "a <= '{0}' AND b = 1", "a BETWEEN '{0}' AND '{1}'", "'{0}' < a AND a < '{1}'",
            "a > '{0}' OR a < '{1}'", "(a = '{0}' OR a = '{1}') AND a <> 'x'", "a >= '{0}' AND length(a) > 1",
            "NOT (a > '{0}')", "a > '{0}' OR b = 1",
        )
    ),
    bounds=st.tuples(BOUNDS.filter(bool), BOUNDS.filter(bool)),
    values=st.lists(VALUES, min_size=1, max_size=20, unique=True),
)  # fmt: skip
def test_a_condition_keeps_what_its_ranges_hold(
    sql: str, bounds: tuple[str, str], values: list[str]
) -> None:
    """Whatever a condition keeps of all partitions lies in its ranges."""
    text = sql.format(*bounds)
    types = STRING, INT
    wanted = Wanted(
        columns=columns(*types),
        conditions=(PartitionCondition(sql=text, tree=tree_of(text)),),
    )
    every = [
        Partition(values=(value, number), location=f"/{value}/{number}")
        for value in values
        for number in ("1", "2")
    ]
    names = [partition_name(["a", "b"], one.values) for one in every]
    kept = {partition_name(["a", "b"], one.values) for one in wanted.prune(every).kept}
    assert kept <= set(wanted.chosen(names))
    if wanted.ranges is not None:
        assert kept <= set(chosen(wanted.ranges, names))


def needed(text: str, *types: HiveType) -> NameRanges | None:
    condition = PartitionCondition(sql=text, tree=tree_of(text))
    return ranges_needed(columns(*types), [condition])


@pytest.mark.parametrize(
    "text",
    [
        "a = 5",
        "5 = a",
        "a IN (5, 6)",
        "a = 5 OR a = 6",
        "a = 5 AND b > 2",
        "a = 5 AND b = 7",
        "(a = 5 OR a = 6) AND b IN (7, 8) AND a <> 6",
        "a = 0",
        "a IN (5) AND a IN (6)",
    ],
)
def test_what_pruning_would_keep_is_in_the_ranges(text: str) -> None:
    """Whatever a condition keeps of all partitions it keeps of those in the ranges."""
    types = INT, INT
    ranges = needed(text, *types)
    assert ranges is not None
    every = [
        Partition(values=(a, b), location=f"/{a}/{b}")
        for a in ("0", "00", "-0", "5", "05", "6", "50", "500")
        for b in ("1", "7", "07", "8", "70")
    ]
    names = chosen(ranges, [partition_name(["a", "b"], p.values) for p in every])
    listed = [p for p in every if partition_name(["a", "b"], p.values) in names]
    wanted = Wanted(
        columns=columns(*types),
        conditions=(PartitionCondition(sql=text, tree=tree_of(text)),),
    )
    assert wanted.prune(listed).kept == wanted.prune(every).kept
    assert len(listed) < len(every)


@pytest.mark.parametrize(
    "text",
    [
        "a > 5",
        "b = 5",
        "a = 5 OR b = 5",
        "a = '5'",
        "NOT a = 5",
        "a + 1 = 5",
        "a = 5.0",
        "a IN (5, '6')",
        "a = NULL",
        f"a IN ({', '.join(map(str, range(100)))})",
    ],
)
def test_other_conditions_have_no_ranges(text: str) -> None:
    """All partitions are looked at then."""
    assert needed(text, INT, INT) is None


def test_types_that_have_no_ranges() -> None:
    """Nor have values of types that are spelled in ways nobody knows."""
    assert needed("a = 5.0", DOUBLE) is None
    assert needed("a = ''", STRING) is None
