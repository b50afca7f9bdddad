"""acidsql's tables beside Iceberg's and Delta's in the Spark session of a user, who has given them
all one name and equal columns.
"""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acidsql.airflow.lineage import lineage_of
from acidsql.errors import BindError, Error, TableNotFoundError
from acidsql.session import Session
from tests.conftest import ROOT
from tests.session.lakes.conftest import COLUMNS, ORDERS, Row, rows
from tests.session.rows.ways import take

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.classic]

ICE, DELTA = "ice.shop.orders", "spark_catalog.shop.orders"
OURS = ORDERS["shop.orders"]


def ids(name: str) -> set[int]:
    return {row[0] for row in ORDERS[name]}


def of(session: Session, table: str = "orders") -> list[Row]:
    return [(*row,) for row in session.sql(f"SELECT * FROM {table} ORDER BY id, customer")]  # type: ignore[misc]


@pytest.mark.parametrize("name", [ICE, DELTA])
def test_a_table_is_read(session: Session, name: str) -> None:
    """A name of three parts is the other catalog's table, whatever the name it is called by."""
    assert of(session, name) == ORDERS[name]
    assert of(session, f"{name.upper() if name == DELTA else name} AS x") == ORDERS[name]
    text = f"SELECT {name}.id, shop.orders.customer, orders.day FROM {name} WHERE {name}.id > 5"
    assert list(session.sql(text)) == [(row[0], row[1], row[3]) for row in ORDERS[name][-1:]]
    assert list(session.sql(f"WITH q AS (SELECT * FROM {name}) SELECT count(*) FROM q")) == [(4,)]
    assert [row[0] for row in session.sql(f"SUMMARIZE {name}")][:2] == ["id", "customer"]


def test_look_alikes_in_one_query(session: Session) -> None:
    """Tables of equal columns, united, joined and nested, are each read as what they are."""
    united = session.sql(
        f"SELECT customer, count(*), sum(id) FROM (SELECT * FROM orders UNION ALL SELECT * FROM {ICE}"
        f" UNION ALL SELECT * FROM {DELTA} UNION ALL SELECT * FROM {ICE}) GROUP BY 1 ORDER BY 1"
    )
    assert list(united) == [("acid", 5, 15), ("delta", 4, 19), ("iceberg", 8, 30)]
    joined = session.sql(
        f"SELECT shop.orders.customer, {ICE}.customer, {DELTA}.customer, o.id FROM orders"
        f" JOIN {ICE} ON {ICE}.id = shop.orders.id JOIN {DELTA} ON {DELTA}.id = shop.orders.id"
        " JOIN orders o ON o.id = shop.orders.id ORDER BY o.id"
    )
    assert list(joined) == [("acid", "iceberg", "delta", i) for i in (3, 4)]
    nested = session.sql(
        f"SELECT id, (SELECT max(customer) FROM {ICE} WHERE {ICE}.id = shop.orders.id),"
        f" (SELECT max(customer) FROM {DELTA} WHERE {DELTA}.id = shop.orders.id) FROM shop.orders"
        f" WHERE NOT EXISTS (SELECT 1 FROM {ICE} WHERE {ICE}.id = shop.orders.id"
        f" AND EXISTS (SELECT 1 FROM {DELTA} WHERE {DELTA}.id = {ICE}.id)) ORDER BY id"
    )
    assert list(nested) == [(1, None, None), (2, "iceberg", None), (5, None, "delta")]


@pytest.mark.parametrize("way", ["small", "big"])
def test_changes_by_look_alikes(session: Session, way: str) -> None:
    """INSERT, UPDATE and DELETE with sub-queries over both others change what these say."""
    take(session, way)
    session.sql(f"INSERT INTO orders SELECT * FROM {ICE} WHERE id NOT IN (SELECT id FROM orders)")
    assert of(session) == [*OURS, *rows(6, customer="iceberg")]
    session.sql(
        f"UPDATE orders SET customer = (SELECT max({DELTA}.customer) FROM {DELTA}"
        f" WHERE {DELTA}.id = shop.orders.id) WHERE id IN (SELECT id FROM {DELTA})"
    )
    changed = [*rows(1, 2, customer="acid"), *rows(3, 4, 5, customer="delta")]
    assert of(session) == [*changed, *rows(6, customer="iceberg")]
    session.sql(
        f"DELETE FROM orders WHERE id IN (SELECT id FROM {ICE}) AND EXISTS"
        f" (SELECT 1 FROM {DELTA} WHERE {DELTA}.id = shop.orders.id AND {DELTA}.amount < 1)"
    )
    kept = [row for row in [*changed, *rows(6, customer="iceberg")] if row[0] != 3]
    assert of(session) == kept


@pytest.mark.parametrize("way", ["small", "big"])
@pytest.mark.parametrize("name", [ICE, DELTA])
def test_merge(session: Session, name: str, way: str) -> None:
    """MERGE takes the rows of another catalog's table, by its name or by a query."""
    take(session, way)
    theirs = {row[0]: row for row in ORDERS[name]}
    for source in (name, f"(SELECT * FROM {name} WHERE id > 0)"):
        session.sql(
            f"MERGE INTO orders o USING {source} s ON o.id = s.id WHEN MATCHED AND s.id = 4 THEN DELETE"
            " WHEN MATCHED THEN UPDATE SET customer = s.customer WHEN NOT MATCHED THEN INSERT *"
        )
        expected = {row[0]: row for row in OURS} | theirs
        if source == name:  # the second time it is no longer there, and comes back
            del expected[4]
        assert of(session) == sorted(expected.values())


def test_new_tables_of_their_rows(session: Session) -> None:
    """CREATE TABLE AS has the columns of another catalog's table, as an INSERT into several has its
    rows.
    """
    session.sql(
        "CREATE TRANSACTIONAL TABLE copied STORED AS ORC AS"
        f" SELECT i.*, d.customer AS other FROM {ICE} i LEFT JOIN {DELTA} d ON i.id = d.id"
    )
    assert list(session.sql("SELECT id, customer, other FROM copied ORDER BY id"))[1:3] == [
        (3, "iceberg", "delta"),
        (4, "iceberg", "delta"),
    ]
    session.sql(f"CREATE TRANSACTIONAL TABLE late {COLUMNS} STORED AS ORC")
    session.sql(
        f"FROM {ICE} INSERT OVERWRITE TABLE orders SELECT * INSERT INTO late SELECT * WHERE id > 3"
    )
    assert of(session) == ORDERS[ICE]
    assert of(session, "late") == ORDERS[ICE][2:]


def test_their_tables_of_our_rows(session: Session, lakes: SparkSession) -> None:
    """A result's DataFrame becomes a table of Iceberg's or Delta's, which the user's session sees
    at once, though it has loaded the table before; and so do further rows.
    """
    session.sql("DELETE FROM orders WHERE id = 2")
    session.sql("SET acidsql.engine=spark")
    frame = session.sql("SELECT * FROM orders").df
    frame.createOrReplaceGlobalTempView("moved")
    for name, using in {"ice.made.a": "iceberg", "spark_catalog.default.a": "delta"}.items():
        lakes.sql(
            f"CREATE TABLE {name} USING {using} AS SELECT * FROM global_temp.moved WHERE id > 1"
        )
        assert lakes.table(name).count() == 3
        frame.writeTo(name).append()
        assert lakes.table(name).count() == 7
        lakes.sql(f"DELETE FROM {name} WHERE id = 1")
        assert list(session.sql(f"SELECT count(*), min(id) FROM {name}")) == [(6, 3)]
    lakes.catalog.dropGlobalTempView("moved")


def test_what_the_user_writes_is_seen_at_once(session: Session, lakes: SparkSession) -> None:
    """A statement sees what the user's session has written by then, and a state by its number or
    time as it was.
    """
    lakes.sql("CREATE TABLE ice.made.c (id INT) USING iceberg")
    for count in range(3):
        assert list(session.sql("SELECT count(*) FROM ice.made.c")) == [(count,)]
        lakes.sql(f"INSERT INTO ice.made.c VALUES ({count})")
    first = next(
        iter(session.sql("SELECT min_by(snapshot_id, committed_at) FROM ice.made.c.snapshots"))
    )
    told = session.sql(
        f"SELECT old.id, c.id FROM ice.made.c VERSION AS OF {first[0]} AS old, ice.made.c"
        f" WHERE c.id NOT IN (SELECT id FROM ice.made.c VERSION AS OF {first[0]}) ORDER BY 2"
    )
    assert list(told) == [(0, 1), (0, 2)]
    lakes.sql("CREATE TABLE spark_catalog.default.c (id INT) USING delta")
    lakes.sql("INSERT INTO spark_catalog.default.c VALUES (1)")
    assert list(session.sql("SELECT id FROM spark_catalog.default.c VERSION AS OF 0")) == []
    assert list(session.sql("SELECT id FROM spark_catalog.default.c VERSION AS OF 1")) == [(1,)]


def test_names_that_differ_in_case_only(session: Session, lakes: SparkSession) -> None:
    """A catalog that tells letters apart has two tables, and so has a query."""
    for name, value in {"ice.made.n": 1, "ice.made.N": 2}.items():
        lakes.sql(f"CREATE TABLE {name} USING iceberg AS SELECT {value} AS v")
    found = session.sql("SELECT a.v, b.v FROM ice.made.n a, ice.made.N b")
    assert list(found) == [(1, 2)]


def test_moments_are_wall_clocks(session: Session, lakes: SparkSession) -> None:
    """A moment of Iceberg's is what the user's session shows of it, also once it is stored."""
    lakes.sql("CREATE TABLE ice.made.t (a TIMESTAMP, b TIMESTAMP_NTZ) USING iceberg")
    lakes.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        moment = "2026-07-01 12:00:00"
        lakes.sql(f"INSERT INTO ice.made.t VALUES (TIMESTAMP '{moment}', TIMESTAMP_NTZ '{moment}')")
        session.sql("CREATE TRANSACTIONAL TABLE t STORED AS ORC AS SELECT * FROM ice.made.t")
        noon = datetime.datetime.fromisoformat(moment)
        for name in ("ice.made.t", "t"):
            assert list(session.sql(f"SELECT * FROM {name}")) == [(noon, noon)]
    finally:
        lakes.conf.unset("spark.sql.session.timeZone")


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO ice.shop.orders SELECT * FROM orders",
        "INSERT OVERWRITE TABLE ice.shop.orders VALUES (1)",
        "FROM orders INSERT INTO ice.shop.orders SELECT *",
        "UPDATE ice.shop.orders SET id = 1",
        "DELETE FROM ice.shop.orders",
        "MERGE INTO ice.shop.orders o USING orders s ON o.id = s.id WHEN MATCHED THEN DELETE",
        "CREATE TABLE ice.shop.orders (id INT)",
        "CREATE TABLE ice.shop.orders AS SELECT * FROM orders",
        "CREATE TABLE copied LIKE ice.shop.orders",
        "CREATE VIEW ice.shop.orders AS SELECT 1 AS x",
        "DROP TABLE ice.shop.orders",
        "DROP TABLE IF EXISTS ice.shop.orders",
        "TRUNCATE TABLE ice.shop.orders",
        "ALTER TABLE ice.shop.orders RENAME TO x",
        "ALTER TABLE ice.shop.orders COMPACT 'major'",
        "LOCK TABLE ice.shop.orders SHARED",
        "ANALYZE TABLE ice.shop.orders COMPUTE STATISTICS",
        "DESCRIBE ice.shop.orders",
        "LOAD DATA INPATH '/x' INTO TABLE ice.shop.orders",
    ],
)
def test_targets_are_refused(session: Session, text: str) -> None:
    """What changes or describes a table names none of another catalog: the error says so, at the
    name.
    """
    with pytest.raises(
        BindError, match="table of another catalog, which only queries can name"
    ) as e:
        session.sql(text)
    assert e.value.span is not None
    assert e.value.span.cut(text) == ICE
    assert "spark.sql" in (e.value.hint or "")


@pytest.mark.parametrize(
    "name", ["ice.shop.order", "ice.shops.orders", "nope.shop.orders", "ice.a.b.c"]
)
def test_a_table_that_no_catalog_has(session: Session, name: str) -> None:
    """It is said at its place, before anything runs."""
    text = f"DELETE FROM orders WHERE id IN (SELECT id FROM {name})"
    with pytest.raises(TableNotFoundError) as e:
        session.sql(text)
    assert e.value.span is not None
    assert e.value.span.cut(text) == name


def test_a_name_of_two_parts_is_ours(session: Session) -> None:
    """One of Spark's own catalog is only meant with the catalog's name; the hint gives it."""
    session.sql("CREATE DATABASE empty")
    with pytest.raises(TableNotFoundError, match=r"Table not found default\.orders"):
        session.sql("SELECT * FROM default.orders")
    session.sql("DROP TABLE shop.orders")
    with pytest.raises(TableNotFoundError) as e:
        session.sql("SELECT * FROM shop.orders")
    assert DELTA in (e.value.hint or "")


def test_explain_locks_and_lineage(session: Session) -> None:
    """The plan and the lineage name such tables; no lock is taken on them."""
    text = f"INSERT INTO orders SELECT * FROM {ICE}"
    explained = session.explain(text)
    assert f"read {ICE}: a table of another catalog" in explained
    assert "engine: spark (a table of another catalog)" in explained
    assert [row[0] for row in session.sql(f"EXPLAIN LOCKS {text}")][1:] == [
        "shop.orders -> SHARED_READ"
    ]
    merge = f"MERGE INTO orders o USING {ICE} s ON o.id = s.id WHEN MATCHED THEN DELETE"
    assert f"read {ICE}: a table of another catalog" in session.explain(merge)
    lineage = lineage_of([session._spine.plan(one)[1] for one in (text, merge)])
    assert list(map(str, lineage.foreign)) == [ICE]
    assert list(lineage.outputs) == ["shop.orders"]
    session.sql("SET acidsql.engine=local")
    with pytest.raises(Error, match="a table of another catalog"):
        session.sql(f"SELECT * FROM {ICE}")


def test_a_view_reads_none(session: Session) -> None:
    """A view is there for sessions that may have no such catalog."""
    with pytest.raises(BindError, match=f'a view cannot use "{ICE}"'):
        session.sql(f"CREATE VIEW v AS SELECT * FROM {ICE}")


def test_the_users_session_is_as_it_was(session: Session, lakes: SparkSession) -> None:
    """Its settings and views are as before, its current catalog is its own, and the statements of
    both extensions are carried out as ever.
    """
    before = lakes.conf.getAll
    lakes.sql("USE ice.shop")
    try:
        assert of(session) == OURS
        session.sql(f"INSERT INTO orders SELECT * FROM {DELTA}")
        assert [
            row.customer for row in lakes.sql("SELECT DISTINCT customer FROM orders").collect()
        ] == ["iceberg"]
        assert lakes.conf.getAll == before
        assert lakes.sql("SHOW VIEWS IN global_temp").count() == 0
        lakes.sql("CREATE TABLE ice.made.e (id INT, day DATE) USING iceberg")
        lakes.sql("ALTER TABLE ice.made.e ADD PARTITION FIELD days(day)")
        lakes.sql(
            "MERGE INTO ice.made.e e USING ice.shop.orders o ON e.id = o.id WHEN NOT MATCHED THEN INSERT (id, day) VALUES (o.id, o.day)"
        )
        assert lakes.sql("CALL ice.system.rewrite_data_files('made.e')").count() == 1
        assert lakes.sql(f"DESCRIBE HISTORY {DELTA}").count() == 2
        assert lakes.catalog.currentCatalog() == "ice"
    finally:
        lakes.sql("USE spark_catalog.default")


def test_the_page(
    lakes: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The programs of docs/lakes.md print what stands below them; the first is what ``spark`` is."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "lakes.md").read_text(encoding="utf-8")
    names = {"spark": lakes}
    capsys.readouterr()
    blocks = re.findall(r"^```(python|text)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for language, body in blocks[1:]:
        if language == "python":
            exec(compile(body, "lakes.md", "exec"), names)
        else:
            assert capsys.readouterr().out == body


def test_files_of_delta_by_their_path(session: Session, lakes: SparkSession) -> None:
    """delta.`/path` is read as Spark reads it."""
    [location] = lakes.sql(f"DESCRIBE DETAIL {DELTA}").select("location").collect()
    assert of(session, f"delta.`{location[0]}`") == ORDERS[DELTA]
