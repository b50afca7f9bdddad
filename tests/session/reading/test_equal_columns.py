"""Tables and partitions of equal columns in one statement are each read as what they are: Spark
runs once what it takes for the same, so it must not take one for another.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.orc as pa_orc
import pyarrow.parquet as pq
import pytest

from acidsql.session import Session
from acidsql.spark.start.session import derive
from tests.conftest import INTERPRETED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.classic]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
KINDS = {
    "full": ACID,
    "dead": ACID,
    "originals": ACID,
    "plain": "STORED AS ORC",
    "parquet": "STORED AS PARQUET",
    "text": "STORED AS TEXTFILE",
    "partitions": ACID,
    "text_partitions": "STORED AS TEXTFILE",
}
"""Ways in which a table lies in files. "dead": with deleted rows; "originals": files without ids;
"partitions": the two are partitions of one table.
"""
WAYS = [(kind, "filter") for kind in KINDS] + [("dead", "join")]
ONE, OTHER = (1, 2, 3), (2, 10)


@pytest.fixture(scope="module")
def quick(spark: SparkSession) -> SparkSession:
    return derive(spark, INTERPRETED)


@pytest.fixture(scope="module")
def tables(quick: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """For each of KINDS the relations KIND_1, of ONE, and KIND_2, of OTHER, of equal columns."""
    folder = tmp_path_factory.mktemp("equal")
    with Session(folder / "w", spark=quick) as session:
        for kind, stored in KINDS.items():
            if kind.endswith("partitions"):
                make_partitions(session, kind, stored)
            else:
                for number, values in enumerate((ONE, OTHER), 1):
                    make_table(session, f"{kind}_{number}", kind, stored, values)
        session.sql("SET acidsql.engine = spark")
        yield session


@pytest.fixture
def pair(warehouse: Path, quick: SparkSession) -> Iterator[Session]:
    """A session with the tables d1, of ONE, and d2, of OTHER."""
    with Session(warehouse, spark=quick) as session:
        make_table(session, "d1", "full", ACID, ONE)
        make_table(session, "d2", "full", ACID, OTHER)
        session.sql("SET acidsql.engine = spark")
        yield session


def rows_of(values: tuple[int, ...]) -> str:
    return ", ".join(f"({value})" for value in values)


def make_table(
    session: Session, name: str, kind: str, stored: str, values: tuple[int, ...]
) -> None:
    created = KINDS["plain"] if kind == "originals" else stored
    session.sql(f"CREATE TABLE {name} (k INT) {created}")
    session.sql(f"INSERT INTO {name} VALUES {rows_of(values)}")
    if kind == "originals":
        session.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('transactional'='true')")
    if kind == "dead":
        session.sql(f"INSERT INTO {name} VALUES (100), (101)")
        session.sql(f"DELETE FROM {name} WHERE k >= 100")


def make_partitions(session: Session, name: str, stored: str) -> None:
    session.sql(f"CREATE TABLE {name} (k INT) PARTITIONED BY (d STRING) {stored}")
    for number, values in enumerate((ONE, OTHER), 1):
        session.sql(f"INSERT INTO {name} PARTITION (d = '{number}') VALUES {rows_of(values)}")
        session.sql(f"CREATE VIEW {name}_{number} AS SELECT k FROM {name} WHERE d = '{number}'")


def answers(session: Session, sql: str) -> Counter[tuple[Any, ...]]:
    return Counter(session.sql(sql).rows())


QUERIES: dict[str, list[tuple[Any, ...]]] = {
    "SELECT 1 AS n, max(k) AS k FROM {a} UNION ALL SELECT 2, max(k) FROM {b}": [(1, 3), (2, 10)],
    "SELECT (SELECT max(k) FROM {a}), (SELECT max(k) FROM {b})": [(3, 10)],
    "SELECT count(*) FROM (SELECT k FROM {a} UNION SELECT k FROM {b}) u": [(4,)],
    "SELECT k FROM {a} EXCEPT SELECT k FROM {b}": [(1,), (3,)],
    "SELECT k FROM {a} INTERSECT SELECT k FROM {b}": [(2,)],
    "SELECT a.k, b.k FROM {a} a FULL OUTER JOIN {b} b ON a.k = b.k": [
        (1, None), (2, 2), (3, None), (None, 10),
    ],
    "SELECT a.k, b.k FROM {a} a JOIN {b} b": [(k, other) for k in ONE for other in OTHER],
    "SELECT k FROM {a} WHERE k IN (SELECT k FROM {a}) AND k IN (SELECT k FROM {b})": [(2,)],
    "SELECT k FROM {a} WHERE k NOT IN (SELECT k FROM {b})": [(1,), (3,)],
    "SELECT x.k, y.k FROM {a} x JOIN {a} y ON x.k = y.k": [(k, k) for k in ONE],
    "SELECT a.c, b.c FROM (SELECT count(*) c FROM {a}) a JOIN (SELECT count(*) c FROM {b}) b": [
        (3, 2)
    ],
}  # fmt: skip
"""What each gives of the two relations."""
FEW = tuple(QUERIES)[1:4]


@pytest.mark.parametrize(("kind", "deletes"), WAYS)
def test_each_is_read_as_itself(tables: Session, kind: str, deletes: str) -> None:
    """United, joined and nested."""
    tables.sql(f"SET acidsql.read.deletes={deletes}")
    queries = tuple(QUERIES) if kind == "full" or deletes == "join" else FEW
    check(tables, f"{kind}_1", f"{kind}_2", queries)


def test_without_adaptive_execution(tables: Session) -> None:
    """Which reuses in ways of its own."""
    tables.sql("SET spark.sql.adaptive.enabled=false")
    check(tables, "full_1", "full_2", FEW)
    tables.sql("SET spark.sql.adaptive.enabled=true")


@pytest.mark.parametrize("kind", ["orc", "parquet", "arrow", "spark"])
def test_files_by_their_paths_and_frames(
    tables: Session, quick: SparkSession, tmp_path: Path, kind: str
) -> None:
    """As tables are."""
    names = []
    for number, values in enumerate((ONE, OTHER), 1):
        rows = pa.table({"k": pa.array(values, pa.int32())})
        name = f"{kind}_frame_{number}"
        if kind in ("orc", "parquet"):
            path = tmp_path / f"{number}"
            (pa_orc if kind == "orc" else pq).write_table(rows, path)
            name = f"{kind}.`{path}`"
        else:
            tables.register(name, quick.createDataFrame(rows) if kind == "spark" else rows)
        names.append(name)
    check(tables, *names, FEW)
    for name in names if kind in ("arrow", "spark") else ():
        tables.unregister(name)


def check(session: Session, one: str, other: str, queries: Sequence[str]) -> None:
    wanted = {sql.format(a=one, b=other): Counter(QUERIES[sql]) for sql in queries}
    assert {sql: answers(session, sql) for sql in wanted} == wanted


# ---- statements that write


CHANGES: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "delete": (
        "DELETE FROM t WHERE k IN (SELECT k FROM d1) AND k IN (SELECT k FROM d2)",
        [(1, "a"), (3, "c"), (10, "d")],
    ),
    "delete by scalars": (
        "DELETE FROM t WHERE k = (SELECT max(k) FROM d1) OR k = (SELECT max(k) FROM d2)",
        [(1, "a"), (2, "b")],
    ),
    "update": (
        "UPDATE t SET v = 'x' WHERE k IN (SELECT k FROM d1) AND k NOT IN (SELECT k FROM d2)",
        [(1, "x"), (2, "b"), (3, "x"), (10, "d")],
    ),
    "insert": (
        "INSERT INTO t SELECT max(k), 'x' FROM d1 UNION ALL SELECT max(k), 'y' FROM d2",
        [(1, "a"), (2, "b"), (3, "c"), (10, "d"), (3, "x"), (10, "y")],
    ),
    "insert what a join gives": (
        "INSERT INTO t SELECT b.k, 'x' FROM d2 b LEFT JOIN d1 a ON a.k = b.k WHERE a.k IS NULL",
        [(1, "a"), (2, "b"), (3, "c"), (10, "d"), (10, "x")],
    ),
    "overwrite": (
        "INSERT OVERWRITE TABLE t SELECT count(*), 'x' FROM (SELECT k FROM d1 UNION SELECT k FROM d2) u",
        [(4, "x")],
    ),
    "merge": (
        "MERGE INTO t USING (SELECT k FROM d1 INTERSECT SELECT k FROM d2) s ON t.k = s.k"
        " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.k, 'x')",
        [(1, "a"), (3, "c"), (10, "d")],
    ),
}
"""Statements, and what they leave of (1, "a"), (2, "b"), (3, "c"), (10, "d")."""


@pytest.mark.parametrize(("engine", "path"), [("auto", "small"), ("spark", "big")])
def test_changes_read_each_as_itself(pair: Session, engine: str, path: str) -> None:
    """On both engines and both write paths."""
    pair.sql(f"SET acidsql.engine={engine}")
    pair.sql(f"SET acidsql.write.path={path}")
    pair.sql(f"CREATE TABLE t (k INT, v STRING) {ACID}")
    for sql, rows in CHANGES.values():
        pair.sql("INSERT OVERWRITE TABLE t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (10, 'd')")
        pair.sql(sql)
        assert answers(pair, "SELECT k, v FROM t") == Counter(rows), sql


@pytest.mark.parametrize("path", ["small", "big"])
def test_a_merge_of_tables_of_equal_columns(pair: Session, path: str) -> None:
    """Into the one from the other, and from a table with itself."""
    pair.sql(f"SET acidsql.write.path={path}")
    stats = pair.sql(
        "MERGE INTO d1 t USING d2 s ON t.k = s.k WHEN MATCHED THEN UPDATE SET k = s.k + 100"
        " WHEN NOT MATCHED THEN INSERT VALUES (s.k)"
    ).stats
    assert (stats.rows_updated, stats.rows_inserted) == (1, 1)
    assert answers(pair, "SELECT k FROM d1") == Counter([(1,), (102,), (3,), (10,)])
    pair.sql(
        "MERGE INTO d2 t USING (SELECT a.k FROM d1 a JOIN d2 b ON a.k = b.k) s ON t.k = s.k"
        " WHEN MATCHED THEN DELETE"
    )
    assert answers(pair, "SELECT k FROM d2") == Counter([(2,)])


# ---- what Spark keeps


def frame_of(session: Session, sql: str) -> DataFrame:
    frame = session.sql(sql).df
    assert frame is not None
    return frame


def test_what_is_cached_of_a_table_is_no_other_and_no_later_one(pair: Session) -> None:
    """A cached DataFrame answers for the files it was made of: another table, the table after its
    next change, and the next table of its name read their own.
    """
    cached = frame_of(pair, "SELECT k FROM d1").cache()
    try:
        assert cached.count() == 3
        assert answers(pair, "SELECT k FROM d2") == Counter([(2,), (10,)])
        for sql, rows in {
            "INSERT INTO d1 VALUES (4)": [1, 2, 3, 4],
            "DELETE FROM d1 WHERE k = 4": [1, 2, 3],
            "UPDATE d1 SET k = 5 WHERE k = 1": [5, 2, 3],
        }.items():
            pair.sql(sql)
            assert answers(pair, "SELECT k FROM d1") == Counter((k,) for k in rows), sql
        pair.sql("DROP TABLE d1")
        make_table(pair, "d1", "full", ACID, (7, 8, 9))
        assert answers(pair, "SELECT k FROM d1") == Counter([(7,), (8,), (9,)])
        assert cached.count() == 3
    finally:
        cached.unpersist()


@pytest.mark.parametrize("kind", ["plain", "parquet", "text"])
def test_what_is_cached_of_a_table_without_transactions(
    warehouse: Path, quick: SparkSession, kind: str
) -> None:
    """Likewise, where its files change under their names."""
    with Session(warehouse, spark=quick, settings={"acidsql.engine": "spark"}) as session:
        make_table(session, "d1", kind, KINDS[kind], (1, 2))
        make_table(session, "d2", kind, KINDS[kind], (3, 4))
        cached = frame_of(session, "SELECT k FROM d1").cache()
        try:
            assert sorted(cached.collect()) == [(1,), (2,)]
            (old,), (new,) = (
                [f for f in (warehouse / name).iterdir() if f.name[0] not in "._"]
                for name in ("d1", "d2")
            )
            shutil.copyfile(new, old)
            for crc in old.parent.glob(".*.crc"):
                crc.unlink()
            assert answers(session, "SELECT k FROM d1") == Counter([(3,), (4,)])
        finally:
            cached.unpersist()


def test_two_snapshots_of_a_table_in_one_plan(pair: Session) -> None:
    """DataFrames from before and after a change are different."""
    before = frame_of(pair, "SELECT k FROM d1")
    pair.sql("INSERT INTO d1 VALUES (4)")
    after = frame_of(pair, "SELECT k FROM d1")
    pair.sql("DELETE FROM d1 WHERE k < 3")
    last = frame_of(pair, "SELECT k FROM d1")
    joined = before.groupBy().max("k").crossJoin(after.groupBy().max("k"))
    assert [tuple(row) for row in joined.collect()] == [(3, 4)]
    assert sorted(row.k for row in after.exceptAll(before).collect()) == [4]
    assert sorted(row.k for row in after.exceptAll(last).collect()) == [1, 2]


def test_two_warehouses_on_one_spark(tmp_path: Path, quick: SparkSession) -> None:
    """Tables of one name, columns and size are those of their warehouses; also where one warehouse
    is made where another lay.
    """

    def opened(name: str, values: tuple[int, ...]) -> Session:
        session = Session(tmp_path / name, spark=quick)
        make_table(session, "d", "full", ACID, values)
        session.sql("SET acidsql.engine = spark")
        return session

    with opened("one", (1, 2)) as one, opened("other", (3, 4)) as other:
        frames = [frame_of(session, "SELECT k FROM d") for session in (one, other)]
        cached = frames[0].cache()
        assert sorted(row.k for row in cached.collect()) == [1, 2]
        assert answers(other, "SELECT k FROM d") == Counter([(3,), (4,)])
        joined = frames[0].groupBy().max("k").crossJoin(frames[1].groupBy().max("k"))
        assert [tuple(row) for row in joined.collect()] == [(2, 4)]
    shutil.rmtree(tmp_path / "one")
    with opened("one", (5, 6)) as again:
        assert answers(again, "SELECT k FROM d") == Counter([(5,), (6,)])
    cached.unpersist()
