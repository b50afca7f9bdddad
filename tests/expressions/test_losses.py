"""What a store cast can take from values, by the types alone."""

from __future__ import annotations

import pytest

from acidsql.catalog.types import parse_type
from acidsql.expressions.losses import (
    MARKS,
    Counter,
    Loss,
    Lost,
    counted,
    lost_columns,
    marks_sql,
    possible_losses,
    uncounted,
)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("int", "bigint"), ("int", "int"), ("tinyint", "decimal(3,0)"), ("int", "double"), ("bigint", "string"),
        ("varchar(3)", "varchar(5)"), ("char(3)", "varchar(3)"), ("int", "varchar(11)"), ("boolean", "char(5)"),
        ("decimal(9,0)", "int"), ("decimal(10,2)", "decimal(10,2)"), ("decimal(10,2)", "decimal(11,3)"),
        ("decimal(10,2)", "decimal(10,1)"), ("decimal(38,4)", "float"), ("float", "double"), ("double", "boolean"),
        ("timestamp", "date"), ("date", "timestamp"), ("string", "binary"), ("array<int>", "array<bigint>"),
        ("struct<a:int>", "struct<b:string>"), ("boolean", "decimal(1,0)"),
    ],
)  # fmt: skip
def test_every_value_is_kept(given: str, wanted: str) -> None:
    """Such columns have no counter, and statements pay nothing."""
    assert possible_losses(parse_type(given), parse_type(wanted)) == ()


@pytest.mark.parametrize(
    ("given", "wanted", "losses"),
    [
        ("string", "int", (Loss.NULL, Loss.CHANGED)), ("varchar(3)", "float", (Loss.NULL, Loss.CHANGED)),
        ("string", "decimal(38,2)", (Loss.NULL,)), ("string", "date", (Loss.NULL,)), ("string", "boolean", (Loss.NULL,)),
        ("int", "smallint", (Loss.CHANGED,)), ("bigint", "varchar(19)", (Loss.CUT,)), ("string", "char(255)", (Loss.CUT,)),
        ("varchar(4)", "varchar(3)", (Loss.CUT,)), ("decimal(10,0)", "int", (Loss.CHANGED,)),
        ("decimal(9,1)", "int", (Loss.CHANGED,)), ("decimal(10,2)", "decimal(9,1)", (Loss.NULL,)),
        ("bigint", "decimal(18,0)", (Loss.NULL,)), ("double", "float", (Loss.CHANGED,)), ("float", "bigint", (Loss.CHANGED,)),
        ("double", "decimal(38,0)", (Loss.NULL,)), ("boolean", "decimal(1,1)", (Loss.NULL,)), ("timestamp", "int", (Loss.CHANGED,)),
        ("date", "int", (Loss.NULL,)), ("array<string>", "array<int>", (Loss.INSIDE,)),
        ("map<int,string>", "map<tinyint,string>", (Loss.INSIDE,)),
        ("struct<a:array<string>>", "struct<a:array<varchar(2)>>", (Loss.INSIDE,)),
    ],
)  # fmt: skip
def test_some_values_are_not(given: str, wanted: str, losses: tuple[Loss, ...]) -> None:
    """Each way of losing something has a counter of its own."""
    assert possible_losses(parse_type(given), parse_type(wanted)) == losses


def test_more_counters_than_a_column_of_marks_has_bits() -> None:
    """The marks go on in another column."""
    counters = [
        Counter(column=f"c{n}", type=parse_type("int"), loss=Loss.NULL) for n in range(MARKS + 1)
    ]
    assert lost_columns(counters) == ["acidsql_lost_0", "acidsql_lost_1"]
    first, second = marks_sql({0: "a", MARKS - 1: "b", MARKS: "c"})
    assert first == f"IF(a, 1L, 0L) | IF(b, {1 << MARKS - 1}L, 0L)"
    assert second == "IF(c, 1L, 0L)"
    assert marks_sql({MARKS: "c"}) == ["0L", "IF(c, 1L, 0L)"]


def test_words() -> None:
    """One value and several, of one table and of one among others; what was not counted is said."""
    counters = [
        Counter(column="a", type=parse_type("int"), loss=loss) for loss in (Loss.NULL, Loss.CHANGED)
    ]
    assert [str(lost) for lost in counted(counters, [1, 2000])] == [
        'column "a" of type int: 1 value became NULL',
        'column "a" of type int: 2,000 values did not fit and were changed',
    ]
    assert counted(counters, [0, 0]) == ()
    assert [str(lost) for lost in uncounted(counters)] == [
        'column "a" of type int: values that do not fit could not be counted'
    ]
    text = Counter(column="v", type=parse_type("varchar(3)"), loss=Loss.CUT)
    assert str(Lost(counter=text, values=1, table="d.t")) == (
        'column "d.t.v" of type varchar(3): 1 value was cut'
    )
