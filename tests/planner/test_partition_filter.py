"""Which conditions of a statement prune the partitions of which table, and that no row is lost by
it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acidsql.catalog.model import Partition
from acidsql.expressions.pruning import Wanted
from acidsql.expressions.reader import read_condition
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.parser.parse import parse
from acidsql.parser.tokens import tokenize
from acidsql.planner.bind import Surroundings, bind
from acidsql.planner.bind.analysis import Read, filter_partitions
from acidsql.planner.bind.bound import BoundDelete, BoundInsert, BoundQuery, BoundRead, BoundUpdate
from acidsql.planner.bind.bound_catalog import BoundCreateTable
from acidsql.planner.bind.columns import Visible
from tests.planner.conftest import Bind

_ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
_TABLES = (
    f"CREATE TABLE p (id INT, x INT, info STRUCT<ds:STRING>) PARTITIONED BY (ds STRING, hr INT) {_ACID}",
    f"CREATE TABLE q (id INT, y INT) PARTITIONED BY (ds STRING, day DATE) {_ACID}",
    f"CREATE TABLE t (id INT, z INT) {_ACID}",
    f"CREATE TABLE a (id INT) PARTITIONED BY (k INT) {_ACID}",
    f"CREATE TABLE b (id INT) PARTITIONED BY (l INT) {_ACID}",
    f"CREATE TABLE c (id INT) PARTITIONED BY (m INT) {_ACID}",
)


@pytest.fixture(scope="module")
def bound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bind]:
    """Binds against the tables above; Spark's session is said to have a view ``v``."""
    store = EmbeddedMetastore(str(tmp_path_factory.mktemp("partition_filter") / "warehouse"))
    around = Surroundings(catalog=store, database="default", has_view=lambda name: name == "v")
    for ddl in _TABLES:
        made = bind(parse(ddl), ddl, around)
        assert isinstance(made, BoundCreateTable)
        store.create_table(made.table)
    yield lambda sql: bind(parse(sql), sql, around)
    store.close()


def reads(bound: Bind, sql: str) -> tuple[BoundRead, ...]:
    match bound(sql):
        case BoundQuery() as query:
            return query.reads
        case (
            BoundInsert(source=BoundQuery() as query)
            | BoundUpdate(query=query)
            | BoundDelete(query=query)
        ):
            return query.reads
        case other:
            raise AssertionError(other)


def filters(bound: Bind, sql: str) -> dict[str, list[str]]:
    """The conditions on each table that has some."""
    return {
        r.table.name.table: [str(c) for c in r.partition_filter]
        for r in reads(bound, sql)
        if r.partition_filter
    }


@pytest.mark.parametrize(
    ("where", "conditions"),
    [
        ("ds = 'a' AND x > 1", ["`ds` = 'a'"]),
        ("(ds = 'a') AND ((hr = 1 AND x = 1))", ["`ds` = 'a'", "`hr` = 1"]),
        (
            "p.ds = 'a' AND default.p.hr = 1 AND `P`.`DS` = 'b'",
            ["`ds` = 'a'", "`hr` = 1", "`ds` = 'b'"],
        ),
        ("(ds = 'a' AND x > 1) OR ds = 'b'", ["(`ds` = 'a' AND TRUE) OR `ds` = 'b'"]),
        ("NOT (ds = 'a' OR x > 1)", ["NOT (`ds` = 'a' OR FALSE)"]),
        ("NOT (NOT (ds = 'a') OR x = 1)", ["NOT (NOT (`ds` = 'a') OR FALSE)"]),
        ("x > 1 OR ds = 'b'", []),
        ("NOT (ds = 'a' AND x > 1)", []),
        ("ds = x OR info.ds = 'a'", []),
        (
            "hr IN (1, 2) AND hr BETWEEN 1 AND 2 AND hr IS NOT NULL",
            ["`hr` IN (1, 2)", "`hr` BETWEEN 1 AND 2", "`hr` IS NOT NULL"],
        ),
        (
            "CASE WHEN ds = 'a' THEN true ELSE hr = 1 END",
            ["CASE WHEN `ds` = 'a' THEN true ELSE `hr` = 1 END"],
        ),
        ("CASE WHEN x = 1 THEN ds = 'a' ELSE hr = 1 END", []),
        ("ds = 'a' -- why\n AND /* AND */ hr = 1", ["`ds` = 'a'", "`hr` = 1"]),
        (
            "ds = 'a' OR ds LIKE 'b%' OR substr(ds, 1, 1) = 'c'",
            ["`ds` = 'a' OR `ds` LIKE 'b%' OR substr(`ds`, 1, 1) = 'c'"],
        ),
        ("split(ds, '-')[0] = '2024'", ["split(`ds`, '-')[0] = '2024'"]),
        # words that are not understood stand for anything
        ("(ds, hr) IN (('a', 1)) AND hr = 1", ["`hr` = 1"]),
        ("ds LIKE 'a' ESCAPE '/' OR hr = 1", []),
        ("exists(array(1, 2), hr -> hr > 1) AND hr = 1", ["`hr` = 1"]),
        ("ds IN (SELECT ds FROM t) AND hr = 1", ["`hr` = 1"]),
        ("datediff(DAY, ds, ds) = 1 AND ds COLLATE UTF8_LCASE = 'a' AND hr = 1", ["`hr` = 1"]),
        ("x BETWEEN 1 AND 2 COLLATE UTF8_LCASE AND hr = 1", ["`hr` = 1"]),
        # what is another thing each time, or only some function's business
        ("rand() < 0.5 AND ds < now() AND ds < 'today' AND hr = 1", ["`hr` = 1"]),
        (
            "ds >= date_sub(current_date, 7) AND hr = day(current_date())",
            ["`ds` >= date_sub(current_date, 7)", "`hr` = day(current_date())"],
        ),
        ("my_function(ds) AND hr = 1", ["`hr` = 1"]),
        ("1 = 1", []),
    ],
)
def test_conditions_of_where(bound: Bind, where: str, conditions: list[str]) -> None:
    """What a WHERE asks of the partition columns alone is taken from it, in the user's words, for
    queries and DML alike.
    """
    assert filters(bound, f"SELECT * FROM p WHERE {where}").get("p", []) == conditions
    assert filters(bound, f"DELETE FROM p WHERE {where}").get("p", []) == conditions
    assert (
        filters(bound, f"INSERT INTO t SELECT id, x FROM p WHERE {where} ORDER BY id LIMIT 3").get(
            "p", []
        )
        == conditions
    )


def test_today_is_tomorrow_too(bound: Bind) -> None:
    """A statement that begins before midnight may read its rows behind it."""
    [read] = reads(
        bound,
        "SELECT * FROM p WHERE NOT (ds <> date_sub(current_date, 7) OR hr = day(current_date()))",
    )
    [condition] = read.partition_filter
    assert condition.whenever == (
        "(NOT (`ds` <> date_sub(current_date, 7) OR `hr` = day(current_date()))) OR "
        "(NOT (`ds` <> date_sub(date_add(current_date(), 1), 7) OR `hr` = day(date_add(current_date(), 1))))"
    )
    wanted = Wanted(columns=read.table.partition_columns, conditions=(condition,))
    pruning = wanted.prune([Partition(values=("2024-01-01", "1"), location="")])
    assert pruning.undecided == (condition.whenever,)


@pytest.mark.parametrize(
    ("sql", "conditions"),
    [
        (
            "SELECT * FROM p, q WHERE p.ds = 'a' AND q.ds = 'b' AND day = '2024-01-01'",
            {"p": 1, "q": 2},
        ),
        ("SELECT * FROM p s JOIN q ON s.ds = 'a' AND q.ds = 'b' AND s.id = q.id", {"p": 1, "q": 1}),
        ("SELECT * FROM p s, p u WHERE s.ds = 'a'", {"p": 1}),
        (
            "SELECT * FROM p LEFT JOIN q ON p.hr = 1 AND q.ds = 'b' WHERE p.ds = 'a' AND q.day IS NULL",
            {"p": 1, "q": 1},
        ),
        ("SELECT * FROM p LEFT JOIN q ON p.id = q.id WHERE q.ds = 'b'", {"q": 1}),
        (
            "SELECT * FROM p RIGHT JOIN q ON p.hr = 1 AND q.ds = 'b' WHERE p.ds IS NULL AND day IS NULL",
            {"p": 1, "q": 1},
        ),
        (
            "SELECT * FROM p FULL JOIN q ON p.hr = 1 AND q.ds = 'b' WHERE p.ds = 'a' AND day IS NULL",
            {"p": 1},
        ),
        (
            "SELECT * FROM p LEFT JOIN q ON p.id = q.id JOIN t ON q.ds IS NULL AND p.hr = 1",
            {"p": 1},
        ),
        (
            "SELECT * FROM p LEFT SEMI JOIN q ON p.id = q.id AND q.ds = 'b' AND p.ds = 'a' WHERE ds = 'c'",
            {"p": 2, "q": 1},
        ),
        (
            "SELECT * FROM p LEFT ANTI JOIN q ON p.id = q.id AND q.ds = 'b' AND p.ds = 'a' WHERE ds = 'c'",
            {"p": 1, "q": 1},
        ),
        ("SELECT * FROM p JOIN q USING (ds) WHERE ds = 'a' AND p.ds = 'b' AND hr = 1", {"p": 2}),
        ("SELECT * FROM p NATURAL JOIN q WHERE hr = 1 AND p.ds = 'b'", {"p": 1}),
        (
            "SELECT * FROM p JOIN t ON left(p.ds, 1) = 'a' LEFT JOIN q ON q.ds = 'b' WHERE t.z = 1",
            {"p": 1, "q": 1},
        ),
        ("SELECT * FROM (p JOIN t ON p.id = t.id) WHERE p.ds = 'a'", {}),
        ("SELECT * FROM v JOIN p ON v.id = p.id WHERE ds = 'a' AND v.ds = 'b'", {"p": 1}),
        (
            "SELECT * FROM p LATERAL VIEW explode(array(1)) e AS k WHERE ds = 'a' AND k = 1",
            {"p": 1},
        ),
        ("SELECT * FROM p TABLESAMPLE (5 ROWS) WHERE ds = 'a'", {}),
        ("SELECT * FROM p AS s(ds, x, i, d, h) WHERE ds = 'a'", {}),
        (
            "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM p WHERE p.id = t.id AND ds = 'a') AND id IN (SELECT id FROM q WHERE ds = 'b')",
            {"p": 1, "q": 1},
        ),
        (
            "SELECT * FROM p WHERE EXISTS (SELECT 1 FROM t LEFT SEMI JOIN q ON t.id = q.id WHERE ds = 'x')",
            {},
        ),
        ("SELECT * FROM p WHERE hr IN (SELECT id FROM t WHERE ds = 'a')", {}),
        ("WITH c AS (SELECT * FROM p WHERE ds = 'a') SELECT * FROM c WHERE ds = 'b'", {"p": 1}),
        ("SELECT * FROM (SELECT * FROM p WHERE ds = 'a' LIMIT 3) s WHERE s.ds = 'b'", {"p": 1}),
        (
            "SELECT id FROM p WHERE ds = 'a' UNION ALL SELECT id FROM q WHERE ds = 'b'",
            {"p": 1, "q": 1},
        ),
        ("SELECT ds, count(*) FROM p WHERE ds = 'a' GROUP BY ds HAVING ds = 'b'", {"p": 1}),
        ("FROM p SELECT id WHERE ds = 'a'", {"p": 1}),
    ],
)
def test_conditions_of_references(bound: Bind, sql: str, conditions: dict[str, int]) -> None:
    """A condition prunes the reference it is about, inside the query it stands in, and not the side
    an outer join keeps.
    """
    assert {name: len(found) for name, found in filters(bound, sql).items()} == conditions


def test_partition_columns_are_columns(bound: Bind) -> None:
    """They can be named with and without qualifiers; ROW__ID stays hidden beside them."""
    made = bound("SELECT ROW__ID, *, s.ds FROM p s WHERE hr = 1 ORDER BY s.hr")
    assert isinstance(made, BoundQuery)
    assert (
        made.text.render(["V"])
        == "SELECT ROW__ID, * EXCEPT (`s`.ROW__ID), s.ds FROM V s WHERE hr = 1 ORDER BY s.hr"
    )


def test_a_condition_over_two_relations(bound: Bind) -> None:
    """The condition of a MERGE is asked about its target beside the columns of its source, known or
    not.
    """
    (read,) = reads(bound, "DELETE FROM p")
    sql = "m.id = s.id AND m.ds = 'a' AND hr = 1 AND m.ds = s.key AND (m.hr = 2 OR s.id = 1)"
    for columns in (None, {"id": None, "key": None}):
        target = Read(table=read.table, span=read.span, alias="m")
        condition = read_condition(sql, tokenize(sql))
        filter_partitions(sql, condition, target, [Visible(alias="s", name="s", columns=columns)])
        assert [str(c) for c in target.partition_filter] == ["`ds` = 'a'", "`hr` = 1"]


# ---- no row is lost: the same query over all rows and over those of the partitions that are kept

_NUMBERS = (None, 0, 1, 2)
_PARTITIONED = {"a": "k", "b": "l", "c": "m"}
_ROWS = {table: [(id_, key) for id_, key in product((0, 1), _NUMBERS)] for table in _PARTITIONED}


def columns_of(tables: str) -> list[str]:
    return [f"{table}.{column}" for table in tables for column in ("id", _PARTITIONED[table])]


def conditions(tables: str) -> st.SearchStrategy[str]:
    """Over the columns of some of the tables; half of them over partition columns and numbers."""
    columns = st.sampled_from(columns_of(tables))
    keys = st.sampled_from([f"{table}.{_PARTITIONED[table]}" for table in tables])
    signs = st.sampled_from(["=", "<>", "<", ">="])
    numbers = st.sampled_from(["0", "1", "2", "NULL"])
    leaves = st.one_of(
        st.tuples(keys, signs, numbers).map(" ".join),
        st.tuples(columns, signs, columns).map(" ".join),
        st.tuples(
            keys,
            st.sampled_from(
                ["IS NULL", "IS NOT NULL", "IN (0, 2)", "NOT IN (1, NULL)", "BETWEEN 1 AND 2"]
            ),
        ).map(" ".join),
        keys.map("coalesce({}, 1) = 1".format),
        keys.map("CASE WHEN {} = 1 THEN NULL ELSE 2 END = 2".format),
    )

    def pairs(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        joined = st.tuples(inner, st.sampled_from(["AND", "AND", "OR"]), inner)
        return joined.map(lambda parts: f"({' '.join(parts)})")

    return st.recursive(
        leaves, lambda inner: st.one_of(pairs(inner), inner.map("NOT ({})".format)), max_leaves=5
    )


joins = st.sampled_from(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
keys_are_null = st.sampled_from([f"{table}.{key} IS NULL" for table, key in _PARTITIONED.items()])
queries = st.builds(
    "SELECT * FROM a {} b ON {} {} c ON {} WHERE {}".format,
    joins,
    st.just("a.id = b.id") | conditions("ab"),
    joins,
    st.just("a.id = c.id") | conditions("abc"),
    keys_are_null | conditions("abc"),
)


def selected(sql: str, rows: dict[str, list[Any]]) -> list[Any]:
    """By another engine."""
    with sqlite3.connect(":memory:") as database:
        for table, key in _PARTITIONED.items():
            database.execute(f"CREATE TABLE {table} (id INT, {key} INT)")
            database.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows[table])
        found = sorted(database.execute(sql).fetchall(), key=repr)
    database.close()
    return found


def kept(read: BoundRead) -> list[Any]:
    """The rows of the partitions that may be needed."""
    texts = {"__HIVE_DEFAULT_PARTITION__" if n is None else str(n): n for n in _NUMBERS}
    partitions = [Partition(values=(text,), location="") for text in texts]
    wanted = Wanted(columns=read.table.partition_columns, conditions=read.partition_filter)
    left = {texts[p.values[0]] for p in wanted.prune(partitions).kept}
    return [row for row in _ROWS[read.table.name.table] if row[1] in left]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(sql=queries)
def test_pruning_loses_no_row(bound: Bind, sql: str) -> None:
    """Whatever is joined how and asked for, the partitions left out change no result."""
    rows = {read.table.name.table: kept(read) for read in reads(bound, sql)}
    assert selected(sql, rows) == selected(sql, _ROWS)
