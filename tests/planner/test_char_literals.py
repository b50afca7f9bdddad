"""Blanks at the end of a literal beside a CHAR column are cut, in place; no other literal changes."""

from __future__ import annotations

import pytest

from acidsql.catalog.model import Column, Table, TableName
from acidsql.catalog.types import parse_type
from acidsql.planner.bind.char_literals import without_blank_ends


def _table(name: str, columns: str, partition: str = "") -> Table:
    def parsed(text: str) -> tuple[Column, ...]:
        pairs = (pair.split() for pair in text.split(", ") if pair)
        return tuple(Column(name=name, type=parse_type(kind)) for name, kind in pairs)

    return Table(
        name=TableName("default", name),
        columns=parsed(columns),
        partition_columns=parsed(partition),
        location="/t",
    )


TABLES = {
    ("t",): _table("t", "id int, c char(4), s string", "p char(3)"),
    ("u",): _table("u", "c string, d char(2)"),
    ("db", "w"): _table("w", "e char(4)"),
}


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("SELECT * FROM t WHERE c = 'ab  '", "SELECT * FROM t WHERE c = 'ab'  "),
        ("DELETE FROM t WHERE t.c<>'ab ' AND id = 1", "DELETE FROM t WHERE t.c<>'ab'  AND id = 1"),
        ("SELECT 'é ' <=> `C` FROM t", "SELECT 'é'  <=> `C` FROM t"),
        ('SELECT c >= "  " FROM t', 'SELECT c >= ""   FROM t'),
        (
            "SELECT 1 FROM t WHERE (p NOT IN ('a', 'b ', 3, 'c ')) OR c IN ('d ')",
            "SELECT 1 FROM t WHERE (p NOT IN ('a', 'b' , 3, 'c' )) OR c IN ('d' )",
        ),
        (
            "SELECT 1 FROM t WHERE c NOT BETWEEN 'a ' AND 'b  '",
            "SELECT 1 FROM t WHERE c NOT BETWEEN 'a'  AND 'b'  ",
        ),
        ("SELECT 1 FROM db.w WHERE e = 'a '", "SELECT 1 FROM db.w WHERE e = 'a' "),
        (
            "MERGE INTO t USING u AS x ON t.c = 'a ' AND x.c = 'a ' WHEN MATCHED THEN DELETE",
            "MERGE INTO t USING u AS x ON t.c = 'a'  AND x.c = 'a ' WHEN MATCHED THEN DELETE",
        ),
        ("SELECT 1 FROM t a JOIN u ON a.c = 'a '", "SELECT 1 FROM t a JOIN u ON a.c = 'a' "),
    ],
)
def test_a_literal_beside_char_loses_its_blanks_and_everything_keeps_its_place(
    text: str, cut: str
) -> None:
    """Signs, IN and BETWEEN, on both sides, NOT, qualifiers and aliases, partition columns."""
    assert without_blank_ends(text, TABLES.get) == cut
    assert len(text) == len(cut)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM t WHERE s = 'ab '",
        "SELECT * FROM u WHERE c = 'ab '",
        "SELECT * FROM t JOIN u ON c = 'ab '",
        "SELECT c LIKE 'ab ', concat(c, 'x '), c || 'x ' = 'abx ' FROM t",
        "SELECT s || c = 'ab ', c = 'ab ' || s, c = 'a ' 'b ', c = 'a\\ ' FROM t",
        "SELECT c, 'a ' FROM t",
        "SET x = it's ",
        "SELECT id = 1 AND 'a ' = s FROM t",
        "SELECT id IN (c, 'a ') FROM t",
        "SELECT id BETWEEN 1 AND 'a ' FROM t",
        "SELECT * FROM (SELECT concat(c, ' ') AS c FROM t) q WHERE q.c = 'ab '",
        "SELECT * FROM (SELECT concat(c, ' ') AS c FROM t) WHERE c = 'ab '",
        "WITH q AS (SELECT concat(c, ' ') c FROM t) SELECT * FROM q WHERE c = 'ab '",
        "SELECT concat(c, ' ') AS c FROM t HAVING c = 'ab '",
    ],
)
def test_other_literals_keep_their_blanks(text: str) -> None:
    """Text columns, one that may be text, values that the statement makes, patterns, operands of more
    than a comparison.
    """
    assert without_blank_ends(text, TABLES.get) == text
