"""Which queries are understood in all their parts, what their trees are, and where the others are
not.
"""

from __future__ import annotations

import pytest

from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import ColumnRef
from acidsql.planner.bind.bound import BoundQuery
from acidsql.planner.bind.local.query_trees import Function, LocalQuery
from tests.planner.conftest import Bind

UNDERSTOOD = {
    "SELECT * FROM t": "id name price day flag big",
    "SELECT x.*, x.ID, `Name` FROM t AS x": "id name price day flag big ID Name",
    "SELECT default.t.id FROM default.t": "id",
    "SELECT id i, name AS `N n`, (big) FROM t": "i N n big",
    "SELECT 1, 'a', true, id = 1, NOT flag, name IS NULL FROM t": (
        "1 a true (id = 1) (NOT flag) (name IS NULL)"
    ),
    "SELECT count(*), COUNT(1), count(id), max(name) FROM t": "count(1) count(1) count(id) max(name)",
    "SELECT ROW__ID, row__id.writeId, t.ROW__ID.rowid FROM t": "ROW__ID writeId rowid",
    "SELECT 7 AS n": "n",
    "SELECT day + 1 AS d, ROW__ID.rowid + 1 AS r FROM t": "d r",
    "SELECT day + 1, day - 3, max(day) + 1, NULL FROM t GROUP BY day": (
        "date_add(day, 1) date_sub(day, 3) date_add(max(day), 1) NULL"
    ),
    "SELECT id IS NOT NULL, NOT id IS NULL FROM t": "(id IS NOT NULL) (NOT (id IS NULL))",
    "SELECT substr(name, 2), ceil(big), round(big) FROM t": (
        "substr(name, 2, 2147483647) CEIL(big) round(big, 0)"
    ),
    "SELECT cast(id AS BIGINT) FROM t": "id",
    "SELECT id FROM t WHERE id = 1 AND (name = 'a' OR flag)": "id",
    "SELECT DISTINCT name FROM t ORDER BY name DESC NULLS FIRST LIMIT 3 OFFSET 2": "name",
    "SELECT name, max(id) AS m FROM t GROUP BY 1 HAVING m > 1 ORDER BY m, count(*)": "name m",
    "SELECT id AS name FROM plain ORDER BY name": "name",
    "SELECT info, tags FROM n": "info tags",
    "SELECT a.id, b.name FROM t a JOIN b ON a.id = b.id": "id name",
    "SELECT t.id FROM t, b": "id",
    "SELECT * FROM (SELECT id AS Id FROM t) q": "Id",
    "SELECT id, b.name FROM t LEFT JOIN b USING (id)": "id name",
    "WITH q AS (SELECT 1 AS n), r (k) AS (SELECT n FROM q) SELECT * FROM r, q": "k n",
    "SELECT id FROM t UNION SELECT id FROM b ORDER BY id": "id",
    "(SELECT id FROM t) EXCEPT (SELECT id FROM b INTERSECT SELECT id FROM plain)": "id",
    "SELECT id FROM t WHERE id IN (SELECT 1) OR NOT EXISTS (SELECT * FROM b WHERE b.id = t.id)": "id",
    "SELECT * FROM t FULL JOIN b USING (id)": "id name price day flag big name",
    "SELECT b.*, t.* FROM t RIGHT JOIN b USING (name)": "name id name id price day flag big",
    "SELECT * FROM t NATURAL JOIN b": "id name price day flag big",
    "SELECT id FROM t INTERSECT ALL SELECT id FROM b MINUS ALL SELECT 1": "id",
    "SELECT year(day), count(*) FROM t GROUP BY year(day) HAVING year(day) > 1 ORDER BY 1": (
        "year(day) count(1)"
    ),
    "SELECT id % 2 AS odd, rank() OVER (ORDER BY sum(big)) AS n FROM t GROUP BY odd ORDER BY odd": (
        "odd n"
    ),
    "SELECT count(DISTINCT name), avg(price) FROM t": "count(DISTINCT name) avg(price)",
    "SELECT lag(id, 2) OVER (PARTITION BY name ORDER BY id) + 1 AS p FROM t ORDER BY p": "p",
    "SELECT a.id, (SELECT max(id) FROM b) + 1 AS m FROM t a JOIN b ON a.id = b.id ORDER BY m, id": "id m",
    "SELECT (SELECT max(id) FROM b WHERE b.name = t.name) AS m FROM t": "m",
}
"""A query and the names of its columns."""


@pytest.mark.parametrize("sql", UNDERSTOOD)
def test_what_is_understood(bound: Bind, sql: str) -> None:
    """Columns are called as Spark calls them."""
    local = _local(bound, sql)
    assert isinstance(local, LocalQuery), local
    assert " ".join(output.name for output in local.outputs) == UNDERSTOOD[sql]


@pytest.mark.parametrize(
    ("sql", "reason", "words"),
    [
        ("SELECT a.id FROM t a NATURAL SEMI JOIN b", "this join", "NATURAL SEMI JOIN"),
        ("SELECT a.id FROM t a LEFT JOIN b", "a join without ON", "LEFT JOIN b"),
        ("SELECT id FROM t FULL JOIN b USING (nothing)", '"nothing"', None),
        ("SELECT b.* FROM t LEFT SEMI JOIN b USING (id)", "* here", "b.*"),
        (
            "SELECT year(day) AS day FROM t GROUP BY year(day) ORDER BY year(day)",
            'which "day" is meant',
            "day",
        ),
        (
            "SELECT max(id) OVER (ORDER BY id ROWS 1 PRECEDING) AS s FROM t",
            "max of some rows of a window",
            "max(id)",
        ),
        (
            "SELECT upper(name) AS u FROM t GROUP BY 1 HAVING count(*) > 0 ORDER BY upper(name)",
            "an order by this group behind HAVING",
            "name",
        ),
        (
            "SELECT b.id FROM t FULL JOIN (SELECT id, 1 AS b FROM b) b USING (id)",
            '"b.id"',
            "b.id",
        ),
        ("SELECT rank() OVER (ORDER BY id ROWS 1 PRECEDING) AS s FROM t", "this window", None),
        ("SELECT 1, count(*) FROM t GROUP BY 1", "groups of a constant", "1"),
        ("SELECT max(id) AS m FROM t GROUP BY m", "groups of such values", "max(id)"),
        ("SELECT id FROM t GROUP BY id + 1", "a column that is no group", "id"),
        (
            "SELECT count(*) FROM t GROUP BY id HAVING rank() OVER (ORDER BY id) > 1",
            "these words",
            None,
        ),
        ("SELECT 1 FROM t JOIN t ON true", "tables of the same name", None),
        (
            "SELECT t.id FROM t JOIN b ON t.id IN (SELECT id FROM b)",
            "a sub-query",
            "t.id IN (SELECT id FROM b)",
        ),
        (
            "SELECT t.name, max(b.id) AS id FROM t JOIN b ON t.id = b.id GROUP BY t.name HAVING id > 1",
            'which "id" is meant',
            "id",
        ),
        (
            "SELECT t.name, max(t.big) AS big FROM t JOIN b ON t.id = b.id GROUP BY t.name HAVING big > 1",
            'which "big" is meant',
            "big",
        ),
        (
            "SELECT id FROM t LIMIT 1 UNION ALL SELECT id FROM b",
            "an order or a limit before a set operator",
            None,
        ),
        ("SELECT id, id FROM t UNION SELECT id, id FROM b", "columns of these names", None),
        ("SELECT id FROM t UNION SELECT name FROM b", "a column of int and string", "UNION"),
        ("SELECT info FROM n UNION SELECT info FROM n", "UNION of such values", "UNION"),
        (
            "SELECT id FROM t WHERE id IN (SELECT max(id) FROM b WHERE b.name = t.name)",
            "this correlated sub-query",
            None,
        ),
        (
            "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM b WHERE b.id > t.id)",
            "this correlated sub-query",
            "b.id > t.id",
        ),
        (
            "SELECT id FROM t WHERE id IN (SELECT id FROM b WHERE b.id = t.id LIMIT 1)",
            "this correlated sub-query",
            None,
        ),
        ("SELECT id FROM t WHERE (id, name) IN (SELECT id, name FROM b)", "these words", None),
        (
            "SELECT name FROM t GROUP BY name HAVING EXISTS (SELECT 1 FROM b)",
            "a sub-query over groups",
            "EXISTS (SELECT 1 FROM b)",
        ),
        (
            "SELECT row_number() OVER (PARTITION BY id) AS n FROM t",
            "a window without an order",
            None,
        ),
        ("SELECT row_number() OVER (ORDER BY id) FROM t", "what Spark calls this column", None),
        (
            "SELECT sum(id) OVER (ORDER BY id RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM t",
            "this window",
            None,
        ),
        ("SELECT ntile(2) OVER (ORDER BY id) AS s FROM t", "this window function", "ntile(2)"),
        ("SELECT id FROM t TABLESAMPLE (10 ROWS)", "what stands behind FROM", None),
        ("SELECT id FROM t LATERAL VIEW explode(array(1)) x AS y", None, None),
        ("SELECT count(DISTINCT id, name) FROM t", "what Spark calls this column", None),
        ("SELECT name, id FROM t GROUP BY name", "a column that is no group", "id"),
        ("SELECT info FROM n GROUP BY info", "groups of such values", "info"),
        ("SELECT info.a FROM n", '"info.a"', "info.a"),
        ("SELECT max(ROW__ID.rowid) FROM t", "what Spark calls this column", "max(ROW__ID.rowid)"),
        ("SELECT +id FROM t", "these words", "+id"),
        ("SELECT tags FROM n ORDER BY tags", "an order of such values", "tags"),
        ("SELECT id FROM t LIMIT 1 + 1", "anything but a number here", "1 + 1"),
        ("SELECT id FROM t ORDER BY 2", "an order by this value", "2"),
        ("SELECT name AS x, id AS x FROM t ORDER BY x", 'which "x" is meant', "x"),
        ("SELECT DISTINCT id FROM t ORDER BY name", "an order by what is not put out", "name"),
        ("SELECT id FROM t WHERE id", "a condition that is not true or false", "id"),
        ("SELECT * FROM v", "a view of Spark's session", None),
        ("SELECT id FROM t CLUSTER BY id", "what stands behind FROM", "CLUSTER BY id"),
    ],
)
def test_what_is_left_to_spark(
    bound: Bind, sql: str, reason: str | None, words: str | None
) -> None:
    """With the reason, and the place of the words that are not understood."""
    local = _local(bound, sql)
    assert isinstance(local, NotHere), local
    assert reason is None or local.reason == reason
    assert words is None or (local.span is not None and local.span.cut(sql) == words)


def test_a_tree_has_the_columns_it_needs(bound: Bind) -> None:
    """In the order of the table, each by one name."""
    local = _local(bound, "SELECT x.name FROM t x WHERE x.flag ORDER BY x.day")
    assert isinstance(local, LocalQuery)
    assert local.names == ("name", "day", "flag")
    assert local.where is not None
    assert isinstance(local.where, ColumnRef)
    assert local.where.parts == ("flag",)
    assert not local.row_id


def test_rows_without_columns_are_counted_by_one(bound: Bind) -> None:
    """A scan of no column could not tell how many rows there are."""
    local = _local(bound, "SELECT 1 FROM t")
    assert isinstance(local, LocalQuery)
    assert local.names == ("id",)


def test_an_aggregate_that_is_asked_for_twice_is_made_once(bound: Bind) -> None:
    """Also in HAVING and ORDER BY."""
    local = _local(
        bound, "SELECT name, max(id) FROM t GROUP BY name HAVING max(id) = 1 ORDER BY max(t.id)"
    )
    assert isinstance(local, LocalQuery)
    assert [one.function for one in local.aggregates] == [Function.MAX]
    assert local.order[0].value == local.outputs[1].value


def test_nulls_come_first_ascending(bound: Bind) -> None:
    """And last descending, unless told."""
    local = _local(
        bound,
        "SELECT id FROM t ORDER BY id, name DESC, day NULLS LAST, big DESC NULLS FIRST",
    )
    assert isinstance(local, LocalQuery)
    assert [(one.descending, one.nulls_first) for one in local.order] == [
        (False, True),
        (True, False),
        (False, False),
        (True, True),
    ]


def _local(bound: Bind, sql: str) -> LocalQuery | NotHere:
    query = bound(sql)
    assert isinstance(query, BoundQuery)
    return query.local
