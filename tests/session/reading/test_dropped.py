"""Rows of what others drop before they are read: those of the snapshot, whatever has the name and
the place by then; and nothing of it stays once nobody can ask for them any more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

from acidsql.errors import SnapshotTooOldError
from acidsql.session import Session
from tests.compaction.conftest import metastore_url as metastore_url
from tests.contracts import Clock
from tests.session.reading.apart import SessionApart
from tests.session.transactions.crashes import garbage, killed

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
FILES, ROWS = 3, 5000
"""More rows in a file than are read together with those of others."""
OLD = [[FILES * ROWS, "old"]]
COUNTED = "SELECT count(*), v FROM {} GROUP BY v"


def fill(session: Session, table: str, value: str) -> None:
    for number in range(FILES):
        ids = pa.array(range(number * ROWS, (number + 1) * ROWS), pa.int32())
        rows = {"id": ids, "v": pa.array([value] * ROWS)}
        session.table(table).append(pa.table(rows))


def create(session: Session, table: str, value: str) -> None:
    session.sql(f"CREATE TABLE {table} (id INT, v STRING) {ACID}")
    fill(session, table, value)


@pytest.fixture
def writer(warehouse: Path, metastore_url: str) -> Iterator[Session]:
    """A session without Spark, with a table, and another database."""
    settings = {"acidsql.engine": "local"}
    with Session(warehouse, metastore=metastore_url, settings=settings) as session:
        session.sql("CREATE DATABASE d")
        create(session, "t", "old")
        yield session


@pytest.fixture
def reader(warehouse: Path, metastore_url: str, writer: Session) -> Iterator[SessionApart]:
    with SessionApart(warehouse, metastore_url) as apart:
        yield apart


def anew(session: Session, table: str) -> None:
    """Makes another table, whose files lie where those of the old one lay."""
    session.sql("CREATE DATABASE IF NOT EXISTS d")
    create(session, table, "new")


DROPS = {"t": "DROP TABLE t", "d.t": "DROP DATABASE d CASCADE"}


@pytest.mark.processes
@pytest.mark.parametrize("successor", [False, True], ids=["", "made anew"])
@pytest.mark.parametrize(("table", "how"), [("t", "stream"), ("t", "scan"), ("d.t", "result")])
def test_rows_outlive_what_others_drop(
    writer: Session, reader: SessionApart, table: str, how: str, successor: bool
) -> None:
    """However they are asked for. The drop waits for nobody, nor does who makes another table; the
    files go with the first statement after the rows were read.
    """
    if table == "d.t":
        create(writer, table, "old")
    reader.open(how, table if how == "scan" else f"SELECT id, v FROM {table}")
    writer.sql(DROPS[table])
    if successor:
        anew(writer, table)
    rows = reader.fetch()
    assert rows == [[number, "old"] for number in range(FILES * ROWS)]
    if successor:
        assert writer.sql(COUNTED.format(table)).fetchall() == [(FILES * ROWS, "new")]
    writer.sql("CREATE TABLE another (id INT)")
    assert garbage(writer) == []


@pytest.mark.processes
def test_a_scan_that_has_begun_goes_on(writer: Session, reader: SessionApart) -> None:
    """Between two files; those of another table with their names are not taken for them."""
    reader.open("scan", "t")
    assert reader.begin() == {"id": 0, "v": "old"}
    for value in ("new", "newer"):
        writer.sql("DROP TABLE t")
        create(writer, "t", value)
    assert {value for _, value in reader.fetch()} == {"old"}


@pytest.mark.processes
@pytest.mark.parametrize(
    ("how", "then"),
    [("result", ()), ("scan", ("DROP TABLE p",)), ("result", ("ALTER TABLE p RENAME TO q",))],
)
def test_rows_outlive_their_partition(
    writer: Session, reader: SessionApart, how: str, then: tuple[str, ...]
) -> None:
    """The next one of its name has its place at once; what is kept in the table's directory moves
    with that.
    """
    writer.sql(f"CREATE TABLE p (id INT, v STRING) PARTITIONED BY (k INT, l STRING) {ACID}")
    for k in (1, 2):
        writer.sql(f"INSERT INTO p PARTITION (k = {k}, l = 'x') SELECT id, v FROM t")
    reader.open(how, "p" if how == "scan" else "SELECT * FROM p")
    writer.sql("ALTER TABLE p DROP PARTITION (k = 1)")
    writer.sql("INSERT INTO p PARTITION (k = 1, l = 'x') VALUES (7, 'new')")
    assert "1 dropped partition, for who reads it still" in str(writer.health("p"))
    for statement in then:
        writer.sql(statement)
    rows = reader.fetch()
    assert rows == sorted([n, "old", k, "x"] for n in range(FILES * ROWS) for k in (1, 2))
    writer.sql("CREATE TABLE another (id INT)")
    assert garbage(writer) == []
    if not then:
        counts = writer.sql("SELECT k, count(*) FROM p GROUP BY k ORDER BY k").fetchall()
        assert counts == [(1, 1), (2, FILES * ROWS)]


MOVES = {
    "table": ("ALTER TABLE p RENAME TO q",),
    "partition": ("ALTER TABLE p PARTITION (k = 1) RENAME TO PARTITION (k = 3)",),
    "both": (
        "ALTER TABLE p PARTITION (k = 1) RENAME TO PARTITION (k = 3)",
        "ALTER TABLE p RENAME TO q",
        "ALTER TABLE q PARTITION (k = 2) RENAME TO PARTITION (k = 4)",
        "ALTER TABLE q PARTITION (k = 3) RENAME TO PARTITION (k = 5)",
    ),
    "then dropped": (
        "ALTER TABLE p RENAME TO q",
        "ALTER TABLE q DROP PARTITION (k = 1)",
        "ALTER TABLE q RENAME TO d.q",
        "DROP TABLE d.q",
    ),
}


@pytest.mark.processes
@pytest.mark.parametrize("case", MOVES)
def test_rows_are_followed_where_others_move_them(
    writer: Session, reader: SessionApart, case: str
) -> None:
    """To another name of the table, or of the partition; the old name is another's at once."""
    how = "result" if case in ("table", "both") else "scan"
    writer.sql(f"CREATE TABLE p (id INT, v STRING) PARTITIONED BY (k INT) {ACID}")
    for k in (1, 2):
        writer.sql(f"INSERT INTO p PARTITION (k = {k}) SELECT id, v FROM t")
    reader.open(how, "p" if how == "scan" else "SELECT * FROM p")
    for statement in MOVES[case]:
        writer.sql(statement)
    if case != "partition":
        writer.sql(f"CREATE TABLE p (id INT, v STRING) PARTITIONED BY (k INT) {ACID}")
    writer.sql("INSERT INTO p PARTITION (k = 1) SELECT id, 'new' FROM t")
    rows = reader.fetch()
    assert rows == sorted([n, "old", k] for n in range(FILES * ROWS) for k in (1, 2))
    writer.sql("CREATE TABLE another (id INT)")
    assert garbage(writer) == []


@pytest.mark.processes
def test_a_table_that_goes_with_its_database_later(writer: Session, reader: SessionApart) -> None:
    """What is kept moves with the directory that it is kept in."""
    create(writer, "d.t", "old")
    reader.open("result", COUNTED.format("d.t"))
    writer.sql("DROP TABLE d.t")
    create(writer, "d.t", "new")
    with writer.open_beside() as third:
        newer = third.scan("d.t")
        writer.sql("DROP DATABASE d CASCADE")
        assert reader.fetch() == OLD
        assert set(newer.to_arrow()["v"].to_pylist()) == {"new"}
    writer.sql("CREATE TABLE another (id INT)")
    assert garbage(writer) == []


@pytest.mark.processes
def test_a_killed_reader_keeps_nothing(writer: Session, reader: SessionApart) -> None:
    """The next statement of anybody takes away what was kept for it."""
    reader.open("result", "SELECT * FROM t")
    writer.sql("DROP TABLE t")
    assert len(garbage(writer)) > 0
    reader.kill()
    writer.sql("CREATE TABLE another (id INT)")
    assert garbage(writer) == []


@pytest.mark.processes
def test_a_reader_killed_before_the_drop_keeps_nothing(
    writer: Session, reader: SessionApart
) -> None:
    """Nor does a dropped table wait for it."""
    reader.open("result", "SELECT * FROM t")
    reader.kill()
    writer.sql("DROP TABLE t")
    writer.sql("CREATE TABLE another (id INT)")
    assert garbage(writer) == []


def test_a_session_takes_along_what_was_kept_for_it(writer: Session) -> None:
    """When it is closed."""
    with writer.open_beside() as other:
        late = other.sql("SELECT * FROM t")
        writer.sql("DROP TABLE t")
        assert len(garbage(writer)) > 0
    assert garbage(writer) == []
    assert late.is_unread


def test_a_lease_ends(warehouse: Path, metastore_url: str) -> None:
    """Then the files go, and whoever still asks is told so."""
    clock = Clock()
    settings = {"acidsql.reader.lease": "100s", "hive.txn.timeout": "1000s"}

    def opened() -> Session:
        return Session(warehouse, metastore=metastore_url, settings=settings, clock=clock)

    with opened() as session, opened() as other:
        create(session, "t", "old")
        late = session.sql("SELECT * FROM t")
        other.sql("DROP TABLE t")
        clock.now += 99
        other.sql("CREATE TABLE one (id INT)")
        assert len(garbage(session)) > 0
        clock.now += 2
        other.sql("CREATE TABLE two (id INT)")
        assert garbage(session) == []
        with pytest.raises(SnapshotTooOldError) as caught:
            late.fetchall()
        assert caught.value.retryable


@pytest.mark.processes
@pytest.mark.parametrize("point", ["table dropped", "directory kept"])
@pytest.mark.parametrize("metastore_url", [""])
def test_a_killed_drop_is_ended_by_the_next_statement(
    writer: Session, reader: SessionApart, warehouse: Path, point: str
) -> None:
    """The rows are there at any time, and another table has the name at once."""
    for begun in (False, True):
        reader.open("scan", "t")
        if begun:
            reader.begin()
        assert killed(warehouse, point, "DROP TABLE t")
        if not begun:
            assert {value for _, value in reader.fetch()} == {"old"}
        create(writer, "t", "new")
        if begun:
            assert {value for _, value in reader.fetch()} == {"new"}
        assert set(writer.scan("t").to_arrow()["v"].to_pylist()) == {"new"}
        writer.sql("CREATE TABLE another (id INT)")
        writer.sql("DROP TABLE another")
        assert garbage(writer) == []


def test_where_nothing_can_be_moved_the_reader_is_told(writer: Session) -> None:
    """As of a directory with a link that would lead elsewhere: its files go at once."""
    os.symlink("../t/delta_0000001_0000001_0000", Path(writer.warehouse, "t", "_linked"))
    with writer.open_beside() as other:
        late, scan = other.sql("SELECT * FROM t"), other.scan("t")
        writer.sql("DROP TABLE t")
        anew(writer, "t")
        for ask in (late.fetchall, scan.to_arrow):
            with pytest.raises(SnapshotTooOldError) as caught:
                ask()
            assert caught.value.retryable
    assert garbage(writer) == []


@pytest.mark.spark
@pytest.mark.parametrize("taken", ["DROP TABLE t", "ALTER TABLE t RENAME TO u"])
@pytest.mark.parametrize("anew", ["rows", "CREATE TABLE AS"])
def test_a_dataframe_never_reads_rows_of_another_table(
    session: Session, taken: str, anew: str
) -> None:
    """One that was handed out before looks for files where they were, and finds none of the next
    table's: whatever is asked of it says so. Asked for again it is one that reads its own.
    """
    create(session, "t", "old")
    session.sql("SET acidsql.engine = spark")
    late = session.sql("SELECT DISTINCT v FROM t")
    frame = late.df
    assert frame is not None
    with session.open_beside() as other:
        other.sql("SET acidsql.engine = local")
        other.sql(taken)
        if anew == "rows":
            create(other, "t", "new")
        else:
            other.sql(f"CREATE TABLE t {ACID} AS SELECT * FROM (VALUES (1, 'new')) AS s(id, v)")
            fill(other, "t", "new")
        asked: list[Callable[[], object]] = [
            frame.collect,
            frame.toArrow,
            lambda: list(frame.toLocalIterator()),
            lambda: frame.where("v = 'old'").groupBy("v").count().collect(),
            lambda: frame["v"] is not None and frame[["v"]].na.drop().count(),
            lambda: frame.write.format("noop").mode("overwrite").save(),
        ]
        for ask in asked:
            with pytest.raises(SnapshotTooOldError, match=r"default\.t") as caught:
                ask()
            assert caught.value.retryable
        with pytest.raises(AnalysisException, match="nothing"):
            frame.select("nothing")
        assert late.df is not None
        assert [tuple(row) for row in late.df.collect()] == [("old",)]
        assert session.sql("SELECT DISTINCT v FROM t").fetchall() == [("new",)]


@pytest.mark.spark
@pytest.mark.classic
def test_a_dataframe_behind_a_dropped_partition_says_so(session: Session) -> None:
    """Though the files are kept elsewhere, for who asks its result again."""
    session.sql(f"CREATE TABLE p (id INT) PARTITIONED BY (k INT) {ACID}")
    session.sql("INSERT INTO p VALUES (1, 1), (2, 2)")
    session.sql("SET acidsql.engine = spark")
    late = session.sql("SELECT id FROM p")
    frame = late.df
    assert frame is not None
    with session.open_beside() as other:
        other.sql("ALTER TABLE p DROP PARTITION (k = 1)")
    with pytest.raises(SnapshotTooOldError) as caught:
        frame.collect()
    assert "its DataFrame again" in str(caught.value.hint)
    assert late.df is not None
    assert sorted(tuple(row) for row in late.df.collect()) == [(1,), (2,)]


@pytest.mark.spark
@pytest.mark.parametrize("successor", [False, True], ids=["", "made anew"])
@pytest.mark.parametrize("ask", ["rows", "df", "batches"])
def test_rows_of_spark_outlive_what_others_drop(
    session: Session, ask: str, successor: bool
) -> None:
    """The query is planned again where the files are kept; so is its DataFrame when it is asked
    for.
    """
    create(session, "t", "old")
    session.sql("DELETE FROM t WHERE id % 2 = 1")
    session.sql("SET acidsql.engine = spark")
    late = session.sql("SELECT v, count(*), rand() > 2 FROM t GROUP BY v")
    with session.open_beside() as other:
        other.sql("SET acidsql.engine = local")
        if ask == "df":
            assert late.df is late.df
        other.sql("DROP TABLE t")
        if successor:
            create(other, "t", "new")
        if ask == "df":
            assert [tuple(row) for row in late.df.collect()] == [("old", FILES * ROWS // 2, False)]
        else:
            rows = late.to_arrow() if ask == "rows" else pa.Table.from_batches(late.batches())
            assert rows.to_pylist()[0].values()
            assert [tuple(row.values()) for row in rows.to_pylist()] == [
                ("old", FILES * ROWS // 2, False)
            ]
