"""Which queries count the rows of one table and do nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from acidsql.catalog.model import Column, Table, TableKind, TableName, View
from acidsql.catalog.types import parse_type
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.parser.parse import parse
from acidsql.plan.operators import RowCount, row_count
from acidsql.planner.bind import Surroundings, bind
from acidsql.planner.bind.bound import BoundQuery
from tests.planner.conftest import Bind


@pytest.fixture(scope="module")
def bound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bind]:
    """Binds against plain tables, ``p`` with partitions and the view ``seen``; Spark's session is
    said to have a view ``v``.
    """
    store = EmbeddedMetastore(str(tmp_path_factory.mktemp("warehouse")))
    columns = tuple(
        Column(name=name, type=parse_type(kind))
        for name, kind in (("id", "int"), ("name", "string"))
    )
    keys = tuple(
        Column(name=name, type=parse_type(kind)) for name, kind in (("ds", "string"), ("hr", "int"))
    )
    for name in ("t", "plain", "b", "n"):
        store.create_table(
            Table(name=TableName("default", name), columns=columns, location=f"/data/{name}")
        )
    acid = {"transactional": "true"}
    store.create_table(
        Table(
            name=TableName("default", "p"),
            columns=columns,
            partition_columns=keys,
            location="/data/p",
            properties=acid,
        )
    )
    view = View(original="SELECT * FROM t", expanded="SELECT * FROM `default`.`t`")
    store.create_table(
        Table(
            name=TableName("default", "seen"),
            columns=columns,
            location="",
            kind=TableKind.VIEW,
            view=view,
        )
    )
    around = Surroundings(catalog=store, database="default", has_view=lambda name: name == "v")
    yield lambda sql: bind(parse(sql), sql, around)
    store.close()


def counted(bound: Bind, sql: str) -> RowCount | None:
    query = bound(sql)
    assert isinstance(query, BoundQuery)
    return row_count(query)


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("SELECT count(*) FROM t", "count(1)"),
        ("select Count( 1 ) from default.t", "count(1)"),
        ("SELECT /* all */ count(*) -- rows\nFROM t x", "count(1)"),
        ("SELECT count(*) AS Rows_ FROM plain AS `x y`", "Rows_"),
        ("SELECT count(*) `how many?` FROM b", "how many?"),
        ("SELECT count(*) n FROM n", "n"),
    ],
)
def test_a_count_is_recognised(bound: Bind, sql: str, name: str) -> None:
    """In any case and spacing, under any name."""
    assert counted(bound, sql) == RowCount(name=name)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(id) FROM t",
        "SELECT count(DISTINCT 1) FROM t",
        "SELECT count('1') FROM t",
        "SELECT count(*), count(*) FROM t",
        "SELECT count(*) + 1 FROM t",
        "SELECT count(*) OVER () FROM t",
        "SELECT count(*) FILTER (WHERE id > 1) FROM t",
        "SELECT sum(1) FROM t",
        "SELECT DISTINCT count(*) FROM t",
        "SELECT count(*) FROM t WHERE id = 1",
        "SELECT count(*) FROM t GROUP BY id",
        "SELECT count(*) FROM t HAVING count(*) > 1",
        "SELECT count(*) FROM t LIMIT 0",
        "SELECT count(*) FROM t ORDER BY 1",
        "SELECT count(*) FROM t, plain",
        "SELECT count(*) FROM t JOIN plain ON t.id = plain.id",
        "SELECT count(*) FROM t LATERAL VIEW explode(array(1, 2)) x AS y",
        "SELECT count(*) FROM t TABLESAMPLE (1 ROWS)",
        "SELECT count(*) FROM (SELECT * FROM t) x",
        "SELECT count(*) FROM t UNION ALL SELECT 1",
        "WITH t AS (SELECT 1) SELECT count(*) FROM t",
        "WITH q AS (SELECT 1) SELECT count(*) FROM t",
        "SELECT count(*) FROM v",
        "SELECT count(*) FROM seen",
        "SELECT count(*) FROM VALUES (1), (2)",
        "FROM t SELECT count(*)",
        "(SELECT count(*) FROM t)",
        "SELECT count(*) FROM p WHERE ds = 'x' AND id = 1",
        "SELECT count(*) FROM p WHERE ds = 'x' OR rand() < 2",
        "SELECT count(*) FROM p WHERE ds = 'x' LIMIT 0",
        "SELECT count(*) FROM p WHERE (ds = 'x') GROUP BY hr",
        "SELECT count(*) FROM p WHERE ds IN (SELECT name FROM t)",
        "SELECT count(*) FROM p WHERE ROW__ID.writeid = 1",
        "SELECT count(*) FROM p WHERE hr = current_date",
    ],
)
def test_any_other_query_is_not(bound: Bind, sql: str) -> None:
    """Whatever else stands in it makes it Spark's business."""
    assert counted(bound, sql) is None


@pytest.mark.parametrize(
    "where",
    [
        "ds = 'x'",
        "(hr > 3 AND p.ds <> 'y')",
        "ds IS NULL OR hr IN (1, 2)",
        "NOT (ds LIKE 'a%')",
        "p.hr = 1 or true",
        "1 = 1",
    ],
)
def test_a_condition_on_partitions_may_stand_in_it(bound: Bind, where: str) -> None:
    """Over partition columns and constants alone, all of it; it is kept without the
    table's name.
    """
    found = counted(bound, f"SELECT count(*) FROM p WHERE {where}")
    assert found is not None
    assert found.condition is not None
    shown = where.removeprefix("(").removesuffix(")") if where.startswith("(") else where
    assert found.condition.sql == re.sub(r"(?:p\.)?\b(ds|hr)\b", r"`\1`", shown)
