"""Which tables a query reads, when ROW__ID shows, what a scan may skip by."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

from acidsql.catalog.model import ForeignTable
from acidsql.errors import BindError, ColumnNotFoundError, ParseError, TableNotFoundError
from acidsql.expressions.pruning import Comparison, Predicate
from acidsql.planner.bind import analysis
from acidsql.planner.bind.bound import BoundDelete, BoundQuery, BoundUpdate
from tests.planner.conftest import Bind

COLUMNS_OF_T = ", ".join(f"`t`.`{name}`" for name in "id name price day flag big".split())


def query(bound: Bind, sql: str) -> BoundQuery:
    made = bound(sql)
    assert isinstance(made, BoundQuery)
    return made


def pushed(bound: Bind, where: str) -> list[tuple[str, str, tuple[object, ...]]]:
    (read,) = query(bound, f"SELECT * FROM t WHERE {where}").reads
    return [(p.column, p.op.value, p.values) for p in read.predicates]


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("SELECT 1", []),
        ("SELECT * FROM t, b AS x", ["b", "t"]),
        ("SELECT * FROM default.t", ["t"]),
        ("SELECT * FROM (SELECT * FROM t) q JOIN (t JOIN b ON t.id = b.id)", ["b", "t", "t"]),
        ("WITH t AS (SELECT * FROM t) SELECT * FROM t", ["t"]),
        ("WITH q AS (SELECT 1 a), t AS (SELECT * FROM q) SELECT * FROM t JOIN b", ["b"]),
        (
            "SELECT (SELECT max(id) FROM t) FROM b WHERE id IN (SELECT id FROM plain)",
            ["b", "plain", "t"],
        ),
        (
            "SELECT * FROM t UNION SELECT * FROM (VALUES (1)) v2(a) EXCEPT SELECT * FROM b",
            ["b", "t"],
        ),
        ("SELECT * FROM v JOIN parquet.`/x/y` p LATERAL VIEW explode(p.a) t AS b", []),
        ("SELECT * FROM range(10) r JOIN t", ["t"]),
        (
            "SELECT trim(BOTH 'x' FROM name), extract(year FROM day), id IS DISTINCT FROM 3 FROM t",
            ["t"],
        ),
        ("FROM t SELECT id", ["t"]),
        ("SELECT /*+ BROADCAST(b) */ t.id FROM t", ["t"]),
    ],
)
def test_tables_of_a_query(bound: Bind, sql: str, tables: list[str]) -> None:
    """Exactly the references to catalog tables are found: no common table expressions, views,
    files, functions or hints.
    """
    assert sorted(r.table.name.table for r in query(bound, sql).reads) == tables


def test_a_missing_table_is_named_at_its_place(bound: Bind) -> None:
    """An unknown name is Hive's 10001 with the nearest name as a hint."""
    sql = "SELECT 1 FROM t JOIN plane p ON 1 = 1"
    with pytest.raises(TableNotFoundError) as caught:
        bound(sql)
    assert caught.value.code == 10001
    assert caught.value.span is not None
    assert caught.value.span.cut(sql) == "plane"
    assert "plain" in str(caught.value)


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT * FROM t", "SELECT * FROM V0 AS `t`"),
        ("SELECT ROW__ID, * FROM t", "SELECT ROW__ID, * EXCEPT (`t`.ROW__ID) FROM V0 AS `t`"),
        (
            "SELECT x.*, y.* FROM t x, t y WHERE x.row__id.rowid = 1",
            "SELECT x.* EXCEPT (ROW__ID), y.* EXCEPT (ROW__ID) FROM V0 x, V1 y WHERE x.row__id.rowid = 1",
        ),
        (
            "SELECT count(*), ROW__ID.writeid FROM t GROUP BY 2",
            "SELECT count(*), ROW__ID.writeid FROM V0 AS `t` GROUP BY 2",
        ),
        (
            "SELECT * FROM (SELECT ROW__ID r FROM t) q",
            "SELECT * FROM (SELECT ROW__ID r FROM V0 AS `t`) q",
        ),
        (
            "SELECT * FROM b WHERE EXISTS (SELECT 1 FROM t WHERE b.ROW__ID = t.ROW__ID)",
            "SELECT * EXCEPT (`b`.ROW__ID) FROM V0 AS `b` WHERE EXISTS (SELECT 1 FROM V1 AS `t` WHERE b.ROW__ID = t.ROW__ID)",
        ),
        ("SELECT default.t.id, default.t.* FROM default.t", "SELECT t.id, t.* FROM V0 AS `t`"),
        (
            "SELECT ROW__ID, t.*, p.* FROM t, plain p",
            "SELECT ROW__ID, t.* EXCEPT (ROW__ID), p.* FROM V0 AS `t`, V1 p",
        ),
    ],
)
def test_row_id_is_hidden_from_the_star(bound: Bind, sql: str, text: str) -> None:
    """A view has ROW__ID only where the query asks for it, and then the stars of that query leave
    it out.
    """
    made = query(bound, sql)
    assert made.text.render([f"V{i}" for i in range(len(made.reads))]) == text


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        (
            "SELECT default.t.id FROM t WHERE EXISTS (SELECT 1 FROM other.t WHERE other.t.id = default.t.id)",
            "SELECT `default.t`.id FROM V0 AS `default.t` WHERE EXISTS"
            " (SELECT 1 FROM V1 AS `other.t` WHERE `other.t`.id = `default.t`.id)",
        ),
        (
            "SELECT default.t.id, u.id FROM t JOIN other.t u ON t.id = u.id",
            "SELECT t.id, u.id FROM V0 AS `t` JOIN V1 u ON t.id = u.id",
        ),
        (
            "SELECT default.t.*, other.t.id FROM default.t JOIN other.t",
            "SELECT `default.t`.*, `other.t`.id FROM V0 AS `default.t` JOIN V1 AS `other.t`",
        ),
        (
            "SELECT t.id FROM t WHERE id IN (SELECT t.id FROM other.t)",
            "SELECT t.id FROM V0 AS `t` WHERE id IN (SELECT t.id FROM V1 AS `t`)",
        ),
        (
            "SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM other.t WHERE t.id = default.t.id)",
            "SELECT 1 FROM V0 AS `default.t` WHERE EXISTS"
            " (SELECT 1 FROM V1 AS `other.t` WHERE `other.t`.id = `default.t`.id)",
        ),
        (
            "SELECT 1 FROM t, (SELECT 1 id) q WHERE EXISTS (SELECT 1 FROM (SELECT 2 id) t WHERE t.id = default.t.id)",
            "SELECT 1 FROM V0 AS `default.t`, (SELECT 1 id) q WHERE EXISTS"
            " (SELECT 1 FROM (SELECT 2 id) t WHERE t.id = `default.t`.id)",
        ),
        (
            "SELECT ROW__ID, * FROM t WHERE default.t.id IN (SELECT id FROM other.t)",
            "SELECT ROW__ID, * EXCEPT (`default.t`.ROW__ID) FROM V0 AS `default.t`"
            " WHERE `default.t`.id IN (SELECT id FROM V1 AS `other.t`)",
        ),
    ],
)
def test_tables_of_two_databases_that_are_called_the_same(bound: Bind, sql: str, text: str) -> None:
    """A column that is named by its database, too, is that table's in Spark's text, where views have
    no database; a name alone is the nearest table's.
    """
    made = query(bound, sql)
    assert made.text.render([f"V{i}" for i in range(len(made.reads))]) == text


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT * FROM t", "SELECT * FROM V0 AS `t`"),
        (
            "SELECT ROW__ID, t.*, p.* FROM t, plain p",
            f"SELECT ROW__ID, t.{COLUMNS_OF_T.removeprefix('`t`.')}, p.* FROM V0 AS `t`, V1 p",
        ),
        (
            "SELECT t.ROW__ID, * FROM t JOIN plain p ON t.id = p.id",
            f"SELECT t.ROW__ID, {COLUMNS_OF_T}, `p`.`id`, `p`.`name` FROM V0 AS `t` JOIN V1 p ON t.id = p.id",
        ),
    ],
)
def test_a_spark_without_except(
    bound: Bind, monkeypatch: pytest.MonkeyPatch, sql: str, text: str
) -> None:
    """The columns of a star are spelled out where ROW__ID would be among them."""
    monkeypatch.setattr(analysis, "has_star_except", lambda: False)
    made = query(bound, sql)
    assert made.text.render([f"V{i}" for i in range(len(made.reads))]) == text


@pytest.mark.parametrize(
    ("sql", "views", "text"),
    [
        ("SELECT * FROM ice.a.t", ["ice.a.t"], "SELECT * FROM `ice.a.t` AS `t`"),
        (
            "SELECT ice.a.b.t.id, a.t2.id FROM ice.a.b.t x JOIN ice.a.t2 ON ice.a.t2.id = x.id",
            ["ice.a.b.t", "ice.a.t2"],
            "SELECT ice.a.b.t.id, t2.id FROM `ice.a.b.t` x JOIN `ice.a.t2` AS `t2` ON t2.id = x.id",
        ),
        (
            "SELECT * FROM ice.a.t VERSION AS OF 3 WHERE id > 1",
            ["ice.a.t version as of 3"],
            "SELECT * FROM `ice.a.t version as of 3` AS `t` WHERE id > 1",
        ),
        (
            "SELECT x.id FROM ice.a.t FOR VERSION AS OF 3 AS x",
            ["ice.a.t version as of 3"],
            "SELECT x.id FROM `ice.a.t version as of 3` AS x",
        ),
        (
            "SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM ice.default.t WHERE ice.default.t.id = default.t.id)",
            ["ice.default.t"],
            "SELECT 1 FROM V0 AS `default.t` WHERE EXISTS (SELECT 1 FROM `ice.default.t`"
            " AS `ice.default.t` WHERE `ice.default.t`.id = `default.t`.id)",
        ),
        (
            "SELECT 1 FROM ice.a.T JOIN ice.a.t x",
            ["ice.a.T 6963652e612e54", "ice.a.t"],
            "SELECT 1 FROM `ice.a.T 6963652e612e54` AS `T` JOIN `ice.a.t` x",
        ),
    ],
)
def test_tables_of_other_catalogs(bound: Bind, sql: str, views: list[str], text: str) -> None:
    """A name of three parts or more is a view of its rows in Spark's text, of two tables two views."""
    made = query(bound, sql)
    assert [one.view for one in made.views if isinstance(one, ForeignTable)] == views
    assert made.text.render([f"V{i}" for i in range(len(made.reads))]) == text


def test_a_state_that_is_computed(bound: Bind) -> None:
    """A state of a table is asked for by a literal, which Spark's own session is given."""
    with pytest.raises(BindError, match=r"a state of ice\.a\.t is asked for by a number or a text"):
        bound("SELECT * FROM ice.a.t TIMESTAMP AS OF current_date() - 1")


def test_a_star_that_cannot_be_spelled_out(bound: Bind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns of joins by USING come together, and nobody knows those of sub-queries."""
    monkeypatch.setattr(analysis, "has_star_except", lambda: False)
    for joined in ("JOIN plain p USING (id)", ", (SELECT 1) q"):
        with pytest.raises(BindError, match="needs Spark 4") as caught:
            bound(f"SELECT t.ROW__ID, * FROM t {joined}")
        assert "Name the columns" in str(caught.value)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (
            "d = -9999999999999999999999999999.9999999999",
            "-9999999999999999999999999999.9999999999",
        ),
        ("d = 9999999999999999999999999999.9999999999", "9999999999999999999999999999.9999999999"),
    ],
)
def test_pushed_decimals_keep_their_digits(bound: Bind, where: str, value: str) -> None:
    """No digit is rounded away, which would rule out the very rows that are asked for."""
    (predicate,) = query(bound, f"SELECT * FROM wide WHERE {where}").reads[0].predicates
    assert predicate.values == (Decimal(value),)


@pytest.mark.parametrize(
    ("where", "predicates"),
    [
        ("id = 5", [("id", "=", (5,))]),
        ("5 < id AND (id <= 9)", [("id", ">", (5,)), ("id", "<=", (9,))]),
        ("id = -5 AND t.name = 'x'", [("id", "=", (-5,)), ("name", "=", ("x",))]),
        ("id BETWEEN 1 AND 3", [("id", ">=", (1,)), ("id", "<=", (3,))]),
        ("price >= 1.5", [("price", ">=", (Decimal("1.5"),))]),
        ("day < DATE '2024-01-02'", [("day", "<", (datetime.date(2024, 1, 2),))]),
        ("flag = TRUE", [("flag", "=", (True,))]),
        (
            "id IN (1, 2) AND name IS NULL AND NOT big IS NULL",
            [("id", "IN", (1, 2)), ("name", "IS NULL", ()), ("big", "IS NOT NULL", ())],
        ),
        ("id = 5 OR (6 = t.id OR id IN (7, 8))", [("id", "IN", (5, 6, 7, 8))]),
        ("id = 5 OR big = 6", []),
        ("id = 5 OR id = NULL", []),
        ("id = 5 OR id > 6", []),
        ("NOT id = 5", []),
        ("id = '5'", []),
        ("name = 5", []),
        ("id = 3000000000", []),
        ("price = 1.234", []),
        ("id + 1 = 5", []),
        ("id IN (1, NULL)", []),
        ("id NOT IN (1, 2)", []),
        ("id = (SELECT max(id) FROM b)", []),
    ],
)
def test_pushed_predicates(
    bound: Bind, where: str, predicates: list[tuple[str, str, tuple[object, ...]]]
) -> None:
    """A conjunct is pushed down only if it compares a bare column with a literal of the column's
    own type.
    """
    if "SELECT" in where:
        read = query(bound, f"SELECT * FROM t WHERE {where}").reads[0]
        assert not read.predicates
    else:
        assert pushed(bound, where) == predicates


def test_nothing_is_pushed_through_a_join(bound: Bind) -> None:
    """With a second table beside it a condition stays above the join: an outer join would change
    its meaning.
    """
    assert all(
        not r.predicates
        for r in query(bound, "SELECT * FROM t LEFT JOIN b ON t.id = b.id WHERE t.id = 1").reads
    )


def test_predicates_of_dml(bound: Bind) -> None:
    """UPDATE and DELETE push down their conditions like a query."""
    update, delete = (
        bound("UPDATE t SET name = 'x' WHERE id = 1"),
        bound("DELETE FROM t x WHERE x.id = 1 AND name = upper('a')"),
    )
    assert isinstance(update, BoundUpdate)
    assert isinstance(delete, BoundDelete)
    expected = (Predicate(column="id", op=Comparison.EQUAL, values=(1,)),)
    assert update.query.reads[0].predicates == expected
    assert delete.query.reads[0].predicates == expected


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("DELETE FROM t WHERE nope = 1", "nope"),
        ("DELETE FROM t x WHERE t.id = 1", "t"),
        ("UPDATE t SET name = nam WHERE id = 1", "nam"),
        ("UPDATE t SET name = 'x' WHERE abs(ids) > 1", "ids"),
    ],
)
def test_unknown_columns_of_dml(bound: Bind, sql: str, place: str) -> None:
    """A column the target has not is refused at its place, before Spark is asked."""
    with pytest.raises(ColumnNotFoundError) as caught:
        bound(sql)
    assert caught.value.span is not None
    assert caught.value.span.cut(sql) == place


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM t WHERE exists(array(1, 2), x -> x > id)",
        "DELETE FROM t WHERE timestampdiff(MINUTE, day, day) > 1 OR extract(YEAR FROM day) = 2024",
        "DELETE FROM t WHERE id IN (SELECT b.id FROM b WHERE b.name = t.name)",
        "DELETE FROM t WHERE default.t.id = 1 AND t.ROW__ID.writeid = 1 AND ROW__ID.rowid = 0",
        "UPDATE t x SET name = CASE WHEN x.flag THEN upper(x.name) ELSE NULL END WHERE x.id IS NOT NULL",
        "DELETE FROM t WHERE day > current_date - INTERVAL 1 DAY",
    ],
)
def test_known_columns_of_dml(bound: Bind, sql: str) -> None:
    """Lambda parameters, units, outer columns, qualified names and ROW__ID are no
    unknown columns.
    """
    bound(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT FROM WHERE",
        "SELECT * FROM t WHERE id = = 3",
        "SELECT (1 FROM t",
        "SELECT * FROM t LIMIT 5 SAMPLE x",
    ],
)
def test_broken_queries(bound: Bind, sql: str) -> None:
    """What is no query is a ParseError with a place inside the text."""
    with pytest.raises(ParseError) as caught:
        bound(sql)
    assert caught.value.span is not None
    assert 0 <= caught.value.span.start <= len(sql)
