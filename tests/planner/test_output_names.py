"""Hive's names for the columns of a query."""

from __future__ import annotations

import pytest
import sqlglot

from acidsql.errors import BindError, Span
from acidsql.planner.bind.analysis import hive_names, outputs

HERE = Span(0, 1)


def names(query: str, *given: str) -> list[str]:
    return hive_names(given, outputs(sqlglot.parse_one(query, dialect="spark")), HERE)


@pytest.mark.parametrize(
    ("query", "given", "expected"),
    [
        ("SELECT id, upper(name), 1, s.st.x, s.name, CAST(id AS STRING), (id), p * 2 AS PP FROM s",
         ("id", "upper(name)", "1", "x", "name", "id", "id", "PP"), ["id", "_c1", "_c2", "x", "name", "_c5", "id", "pp"]),
        ("SELECT *, upper(name), id + 1 FROM s", ("id", "name", "upper(name)", "(id + 1)"), ["id", "name", "_c1", "_c2"]),
        ("SELECT count(*), t.*, count(*) FROM t", ("count(1)", "a", "b", "count(1)"), ["_c0", "a", "b", "_c2"]),
        ("SELECT a + 1 FROM t UNION ALL SELECT b FROM t", ("(a + 1)",), ["_c0"]),
        ("WITH q AS (SELECT 1 AS x) SELECT x, x + 1 FROM q", ("x", "(x + 1)"), ["x", "_c1"]),
        ("SELECT posexplode(a), 1 FROM t", ("pos", "col", "1"), ["pos", "col", "_c1"]),
        ("SELECT arr[0], m.k FROM t", ("arr[0]", "k"), ["_c0", "k"]),
    ],
)  # fmt: skip
def test_an_expression_is_named_by_its_place(
    query: str, given: tuple[str, ...], expected: list[str]
) -> None:
    """A star counts as one item of the list, as in Hive; columns, fields and aliases keep their
    names.
    """
    assert names(query, *given) == expected


def test_an_expression_between_two_stars_needs_a_name() -> None:
    """Nobody can tell which column it is."""
    with pytest.raises(BindError, match="column 2 of the SELECT list has no name"):
        names("SELECT a.*, a.id + 1, b.* FROM a JOIN b", "x", "y", "z")
