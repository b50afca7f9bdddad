"""Tables on other file systems: on an S3 server without Spark, and through Spark where Hadoop gives
a local directory another scheme.

The jars that let Spark itself open ``s3a://`` are not part of PySpark, so what is on the S3 server
is read here by the parts that need no Java.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import orc

from acidsql import crash_points
from acidsql.acid.listed import AcidDirectory
from acidsql.catalog.model import Table, TableName
from acidsql.errors import (
    BindError,
    ExecutionError,
    MetastoreError,
    UnsupportedStatementError,
    WriteConflictError,
)
from acidsql.files.arrow_files import ArrowFileIO
from acidsql.session import Session
from acidsql.storage.events.delete_events import DeleteEventReader
from acidsql.storage.footers import Footers, FoundFile
from acidsql.storage.snapshots import acid_directory
from tests.session.transactions.crashes import killed
from tests.spark.stores import BUCKET, S3Server, mounted
from tests.spark.written import id_table, target, write_delete

ROOT = f"s3://{BUCKET}"
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
INSERT_ONLY = "'transactional'='true', 'transactional_properties'='insert_only'"


def table_at(place: str) -> str:
    return f"(id INT, name STRING) STORED AS ORC LOCATION '{place}' TBLPROPERTIES ('transactional'='true')"


@pytest.fixture
def far(warehouse: Path, s3: S3Server) -> Iterator[Session]:
    """A session that knows the S3 server, and must not start Spark."""
    with Session(warehouse, settings=s3.settings) as session:
        yield session
        assert not session.spark_started


def found(session: Session, name: str = "t", database: str = "default") -> Table:
    table = session.store.find_table(TableName(database, name))
    assert table is not None
    return table


def seen(session: Session, location: str, name: str = "t") -> AcidDirectory:
    """What a reader chooses of the table's files at a location."""
    return acid_directory(
        session.files,
        location,
        session.store.valid_write_ids(TableName("default", name), session.store.valid_txns()),
    )


def rows(session: Session, location: str, directory: AcidDirectory) -> list[dict[str, Any]]:
    """What the insert files hold."""
    tables = []
    for file in directory.insert_files:
        with session.files.open_input(f"{location}/{file.path}") as opened:
            tables.append(orc.ORCFile(opened).read())
    return [row for table in tables for row in table.column("row").to_pylist()]


# ---- S3


def test_a_table_on_s3(far: Session, s3: S3Server) -> None:
    """Made, written to twice and dropped: its files are Hive's, nothing else stays, and in the end
    nothing is left.
    """
    far.sql(f"CREATE TABLE t {table_at(f'{ROOT}/db/t')}")
    first = far.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    far.sql("INSERT INTO t VALUES (3, 'c')")
    assert first.stats.directories == (f"{ROOT}/db/t/delta_0000001_0000001_0000",)
    assert s3.names() == [
        f"db/t/delta_{n:07}_{n:07}_0000/{name}" for n in (1, 2) for name in ("_orc_acid_version", "bucket_00000")
    ]  # fmt: skip
    assert [row["id"] for row in rows(far, f"{ROOT}/db/t", seen(far, f"{ROOT}/db/t"))] == [1, 2, 3]
    far.sql("DROP TABLE t")
    assert s3.names() == []


def test_delete_events_on_s3(far: Session) -> None:
    """Footers and delete events are read where they lie, and kept."""
    far.sql(f"CREATE TABLE t {table_at(f'{ROOT}/t')}")
    far.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    table = found(far)
    with far.begin_work([table.name]) as work:
        write_id = work.txn.write_id(table.name)
        bucket = 1 << 29
        write_delete(far.files, target(table, write_id), id_table([(1, bucket, 1)]))
        work.commit()
    directory = seen(far, table.location)
    files = [
        FoundFile(file=file, path=f"{table.location}/{file.path}")
        for file in directory.delete_files
    ]
    footers, reader = Footers(), DeleteEventReader(far.files)
    [events] = reader.parts(footers.delete_files(far.files, files), None, keep=10)
    assert (events.write_ids.tolist(), events.bucket_properties.tolist(), events.rows.tolist()) == (
        [1],
        [bucket],
        [1],
    )
    inserts = [
        FoundFile(file=file, path=f"{table.location}/{file.path}")
        for file in directory.insert_files
    ]
    assert [file.rows for file in footers.insert_files(far.files, inserts)] == [2]
    reader.close()


def test_an_empty_base_is_seen_on_s3(far: Session, s3: S3Server) -> None:
    """TRUNCATE leaves a base without rows, which is there by its version file alone."""
    far.sql(f"CREATE TABLE t {table_at(f'{ROOT}/t')}")
    far.sql("INSERT INTO t VALUES (1, 'a')")
    far.sql("TRUNCATE TABLE t")
    assert "t/base_0000002/_orc_acid_version" in s3.names()
    assert list(seen(far, f"{ROOT}/t").insert_files) == []


def test_a_database_on_s3(far: Session, s3: S3Server) -> None:
    """Its tables lie below it, and go with it."""
    far.sql(f"CREATE DATABASE d LOCATION '{ROOT}/d.db'")
    far.sql(f"CREATE TABLE d.t (id INT) {ACID}")
    far.sql("INSERT INTO d.t VALUES (1)")
    assert all(name.startswith("d.db/t/delta_") for name in s3.names())
    far.sql("DROP DATABASE d CASCADE")
    assert s3.names() == []


def test_partitions_on_s3(far: Session, s3: S3Server) -> None:
    """Added, written to, renamed (their files are copied), found by MSCK, dropped."""
    far.sql(
        f"CREATE TABLE t (id INT) PARTITIONED BY (ds STRING) STORED AS ORC LOCATION '{ROOT}/t' TBLPROPERTIES ('transactional'='true')"
    )
    far.sql("ALTER TABLE t ADD PARTITION (ds = 'empty')")
    far.sql("INSERT INTO t VALUES (1, 'a b'), (2, 'c/d')")
    far.sql("ALTER TABLE t PARTITION (ds = 'c/d') RENAME TO PARTITION (ds = 'e')")
    assert sorted({name.split("/")[1] for name in s3.names()}) == ["ds=a b", "ds=e"]
    assert [row["id"] for row in rows(far, f"{ROOT}/t/ds=e", seen(far, f"{ROOT}/t/ds=e"))] == [2]
    assert list(far.sql("MSCK REPAIR TABLE t").rows()) == [
        ("Partitions missing from filesystem:\tt:ds=empty",)
    ]
    far.sql("ALTER TABLE t DROP PARTITION (ds = 'e')")
    assert sorted({name.split("/")[1] for name in s3.names()}) == ["ds=a b"]


def test_a_renamed_table_is_copied(far: Session, s3: S3Server) -> None:
    """To its new name, with all its files; an empty one has none."""
    far.sql(f"CREATE DATABASE d LOCATION '{ROOT}/d.db'")
    for name in ("filled", "empty"):
        far.sql(f"CREATE TABLE d.{name} (id INT) {ACID}")
    far.sql("INSERT INTO d.filled VALUES (1)")
    for name in ("filled", "empty"):
        far.sql(f"ALTER TABLE d.{name} RENAME TO d.{name}_2")
    assert s3.names() == [
        f"d.db/filled_2/delta_0000001_0000001_0000/{name}"
        for name in ("_orc_acid_version", "bucket_00000")
    ]
    far.sql("ALTER TABLE d.filled_2 RENAME TO d.filled")
    assert {name.split("/")[1] for name in s3.names()} == {"filled"}


def test_a_rename_that_fails_is_undone(
    far: Session, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table keeps its files, and those that were copied are gone."""
    far.sql(f"CREATE DATABASE d LOCATION '{ROOT}/d.db'")
    far.sql(f"CREATE TABLE d.t (id INT) {ACID}")
    far.sql("INSERT INTO d.t VALUES (1)")
    before = s3.names()

    def fail(point: str) -> None:
        assert point != "directory moved" or len(s3.names()) == 2 * len(before)
        if point == "directory moved":
            raise KeyboardInterrupt

    monkeypatch.setattr(crash_points, "hook", fail)
    with pytest.raises(KeyboardInterrupt):
        far.sql("ALTER TABLE d.t RENAME TO d.u")
    assert s3.names() == before
    assert found(far, "t", "d").location == f"{ROOT}/d.db/t"


def test_a_plain_table_on_s3_becomes_transactional(far: Session, s3: S3Server) -> None:
    """Its files, whose names no two INSERTs ever want, move into a delta, one by one."""
    far.sql(f"CREATE TABLE t (id INT) STORED AS ORC LOCATION '{ROOT}/t'")
    far.sql("INSERT INTO t VALUES (1)")
    far.sql("INSERT INTO t VALUES (2)")
    far.sql(f"ALTER TABLE t SET TBLPROPERTIES ({INSERT_ONLY})")
    assert [re.sub("[0-9]{9}$", "N", name) for name in s3.names()] == [
        "t/delta_0000001_0000001_0000/000000_0_copy_N"
    ] * 2


COPIES = [
    pytest.param("ALTER TABLE d.t RENAME TO d.u", id="a table"),
    pytest.param(
        "ALTER TABLE d.p PARTITION (ds = 1) RENAME TO PARTITION (ds = 2)", id="a partition"
    ),
    pytest.param(f"ALTER TABLE d.o SET TBLPROPERTIES ({INSERT_ONLY})", id="a conversion"),
]


def make_copied(far: Session) -> None:
    far.sql(f"CREATE DATABASE d LOCATION '{ROOT}/d.db'")
    far.sql(f"CREATE TABLE d.t (id INT) {ACID}")
    far.sql(f"CREATE TABLE d.p (id INT) PARTITIONED BY (ds INT) {ACID}")
    far.sql("CREATE TABLE d.o (id INT) STORED AS ORC")
    far.sql(f"CREATE TABLE d.other (id INT) {ACID}")
    for into in ("d.t", "d.p PARTITION (ds = 1)", "d.o"):
        far.sql(f"INSERT INTO {into} VALUES (1)")


@pytest.mark.parametrize("statement", COPIES)
def test_others_write_while_files_are_copied(
    far: Session, s3: S3Server, warehouse: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    """The metastore is free meanwhile; all names are committed, and the old files gone, at the
    end.
    """
    make_copied(far)
    reached: list[str] = []
    with Session(warehouse, settings={**s3.settings, "acidsql.store.patience": "1s"}) as other:

        def write(point: str) -> None:
            if point in ("directory moved", "files moved"):
                monkeypatch.setattr(crash_points, "hook", None)
                reached.append(point)
                other.sql("INSERT INTO d.other VALUES (1)")

        monkeypatch.setattr(crash_points, "hook", write)
        far.sql(statement)
        monkeypatch.setattr(crash_points, "hook", None)
        assert len(reached) == 1
        tables = {name.split("/")[1] for name in s3.names()}
        assert tables == {"o", "other", "p", "u" if "RENAME TO d.u" in statement else "t"}
        assert not any("ds=1" in name for name in s3.names()) or "PARTITION" not in statement
        far.sql("SET acidsql.engine=local")
        for table in ("o", "p", "u" if "u" in tables else "t"):
            assert [row[0] for row in far.sql(f"SELECT id FROM d.{table}").rows()] == [1]


@pytest.mark.parametrize("statement", COPIES)
def test_a_file_that_comes_while_others_are_copied_is_not_missed(
    far: Session, s3: S3Server, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    """The statement changes nothing then, and may be run again."""
    make_copied(far)
    homes = {"RENAME TO d.u": "t", "PARTITION": "p/ds=1", "SET": "o"}
    home = next(home for words, home in homes.items() if words in statement)
    late = (
        f"{ROOT}/d.db/{home}/delta_0000001_0000001_0000/late"
        if home != "o"
        else f"{ROOT}/d.db/o/000009_0"
    )
    before = s3.names()

    def write(point: str) -> None:
        if point in ("directory moved", "files moved"):
            far.files.write(late, b"x")

    monkeypatch.setattr(crash_points, "hook", write)
    with pytest.raises(WriteConflictError, match="while they were copied") as caught:
        far.sql(statement)
    monkeypatch.setattr(crash_points, "hook", None)
    assert caught.value.retryable
    assert s3.names() == sorted([*before, late.removeprefix(f"{ROOT}/")])
    far.files.delete_file(late)
    far.sql(statement)
    assert s3.names() != before


@pytest.mark.parametrize("statement", COPIES[:2])
def test_killed_while_files_are_copied(
    far: Session, s3: S3Server, warehouse: Path, statement: str
) -> None:
    """The copies go with the next statement of anybody; it can be done again."""
    make_copied(far)
    before = s3.names()
    assert killed(warehouse, "directory moved", statement, **s3.settings)
    assert s3.names() != before
    far.sql("INSERT INTO d.other VALUES (1)")
    assert [name for name in s3.names() if "other" not in name] == before
    far.sql(statement)
    assert [name for name in s3.names() if "other" not in name] != before


def test_others_write_while_a_dropped_table_goes(
    far: Session, s3: S3Server, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes some files at a time; the metastore is free between them, and while it is looked
    which there are.
    """
    monkeypatch.setattr("acidsql.commit.recovery.FILES_AT_ONCE", 2)
    make_copied(far)
    for number in range(3):
        far.sql(f"INSERT INTO d.t VALUES ({number})")
    with Session(warehouse, settings={**s3.settings, "acidsql.store.patience": "1s"}) as other:
        listings = 0
        list_files = ArrowFileIO.list_files

        def listed(io: ArrowFileIO, root: str) -> Any:
            nonlocal listings
            if root.endswith("/t"):
                listings += 1
                other.sql("INSERT INTO d.other VALUES (1)")
            return list_files(io, root)

        def write(point: str) -> None:
            if point == "some files deleted":
                other.sql("INSERT INTO d.other VALUES (1)")

        monkeypatch.setattr(ArrowFileIO, "list_files", listed)
        monkeypatch.setattr(crash_points, "hook", write)
        far.sql("DROP TABLE d.t")
        monkeypatch.setattr(crash_points, "hook", None)
    assert listings == 1
    assert not any("d.db/t/" in name for name in s3.names())


def test_a_partition_elsewhere_is_only_read(far: Session, s3: S3Server, warehouse: Path) -> None:
    """Files are prepared beside the table, and cannot be given a name on another file system: the
    statement fails and leaves nothing.
    """
    far.sql(f"CREATE TABLE t (id INT) PARTITIONED BY (ds STRING) {ACID}")
    far.sql(f"ALTER TABLE t ADD PARTITION (ds = 'far') LOCATION '{ROOT}/far'")
    with pytest.raises(ExecutionError, match="it lies on another file system"):
        far.sql("INSERT INTO t PARTITION (ds = 'far') VALUES (1)")
    assert s3.names() == []
    assert [path.name for path in (warehouse / "t").rglob("*")] == []
    far.sql("INSERT INTO t PARTITION (ds = 'near') VALUES (1)")


def test_places_overlap_by_any_spelling(far: Session) -> None:
    """s3 and s3a are one store; a bucket of a like name is another."""
    far.sql(f"CREATE TABLE t {table_at(f'{ROOT}/t')}")
    for place in (f"s3a://{BUCKET}/t", f"s3n://{BUCKET}/t/x", f"S3://{BUCKET}"):
        with pytest.raises(BindError, match="overlaps that of table"):
            far.sql(f"CREATE TABLE u {table_at(place)}")


def test_a_store_that_cannot_be_used_is_told(far: Session) -> None:
    """A bucket that is not there fails the statement, and no table is made."""
    with pytest.raises(
        ExecutionError, match='CREATE TABLE failed: cannot read or write "s3://no-such-bucket'
    ):
        far.sql(f"CREATE TABLE t {table_at('s3://no-such-bucket/t')}")
    assert list(far.sql("SHOW TABLES").rows()) == []


def test_a_warehouse_is_local(s3: S3Server) -> None:
    """Its metastore is a file; only databases and tables may lie elsewhere."""
    with pytest.raises(MetastoreError, match="is not a local directory"):
        Session(f"{ROOT}/warehouse", settings=s3.settings)


def test_settings_change_for_the_next_statement(warehouse: Path, s3: S3Server) -> None:
    """The endpoint can be set when the session is open."""
    with Session(warehouse) as session:
        session.sql(f"SET acidsql.s3.endpoint={s3.endpoint}")
        session.sql(f"CREATE TABLE t {table_at(f'{ROOT}/t')}")
        session.sql("SET acidsql.filesystem=arrow")
        with pytest.raises(UnsupportedStatementError, match='pyarrow cannot open "viewfs://h"'):
            session.sql(f"CREATE TABLE u {table_at('viewfs://h/u')}")


# ---- failing on S3


def failing(monkeypatch: pytest.MonkeyPatch, method: str, path: str, error: BaseException) -> None:
    """Calls of a method fail for names that end so."""
    real: Callable[..., Any] = getattr(ArrowFileIO, method)

    def run(io: ArrowFileIO, *arguments: Any) -> Any:
        if arguments[1 if method == "publish" else 0].endswith(path):
            raise error
        return real(io, *arguments)

    monkeypatch.setattr(ArrowFileIO, method, run)


@pytest.mark.parametrize(
    ("method", "path"),
    [("write", "_orc_acid_version"), ("publish", "bucket_00001"), ("publish", "bucket_00002")],
)
@pytest.mark.parametrize("error", [OSError(5, "no answer"), KeyboardInterrupt()])
def test_a_publish_that_fails_half_way_leaves_nothing(
    far: Session,
    s3: S3Server,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    path: str,
    error: BaseException,
) -> None:
    """Whichever file it was: no file of the statement stays, and it can be run again."""
    clustered = "CLUSTERED BY (id) INTO 4 BUCKETS STORED AS ORC"
    far.sql(
        f"CREATE TABLE t (id INT) {clustered} LOCATION '{ROOT}/t' TBLPROPERTIES ('transactional'='true')"
    )
    insert = f"INSERT INTO t VALUES {', '.join(f'({n})' for n in range(20))}"
    with monkeypatch.context() as patch:
        failing(patch, method, path, error)
        with pytest.raises((ExecutionError, KeyboardInterrupt)):
            far.sql(insert)
    assert s3.names() == []
    far.sql(insert)
    assert sorted(row["id"] for row in rows(far, f"{ROOT}/t", seen(far, f"{ROOT}/t"))) == list(
        range(20)
    )


@pytest.mark.parametrize("point", ["directory made", "file published", "written", "committed"])
def test_killed_while_writing_to_s3(
    far: Session, s3: S3Server, warehouse: Path, point: str
) -> None:
    """Before the commit nobody ever sees a row of it, whatever files are left; after it all are
    seen.
    """
    far.sql(f"CREATE TABLE t {table_at(f'{ROOT}/t')}")
    far.sql("INSERT INTO t VALUES (1, 'a')")
    assert killed(warehouse, point, "INSERT INTO t VALUES (2, 'b')", **s3.settings)
    far.sql("INSERT INTO t VALUES (3, 'c')")
    expected = [1, 2, 3] if point == "committed" else [1, 3]
    assert [row["id"] for row in rows(far, f"{ROOT}/t", seen(far, f"{ROOT}/t"))] == expected


# ---- through Spark


@pytest.mark.spark
@pytest.mark.parametrize(
    ("scheme", "path"),
    [("viewfs", "small"), pytest.param("viewfs", "big", marks=pytest.mark.slow), ("s3", "big")],
)
def test_rows_are_changed_and_read_elsewhere(
    session: Session, tmp_path: Path, scheme: str, path: str
) -> None:
    """INSERT, UPDATE, DELETE, MERGE and SELECT by Spark at a URL, with partitions: on a file system
    that renames, and on one that is taken for a store, where files are finished and named by
    copying them.
    """
    url = mounted(session.spark, tmp_path, "viewfs" if scheme == "viewfs" else "s3a").replace(
        "s3a:", "s3:"
    )
    session.sql("SET acidsql.filesystem=hadoop")
    session.sql(f"SET acidsql.write.path={path}")
    session.sql(
        f"CREATE TABLE t (id INT, name STRING) PARTITIONED BY (ds STRING) STORED AS ORC LOCATION '{url}/t {{1}}'"
        " TBLPROPERTIES ('transactional'='true')"
    )
    session.sql(
        "INSERT INTO t SELECT id, concat('n', id), concat('d ', id % 2, '%') FROM range(10)"
    )
    session.sql("UPDATE t SET name = 'x' WHERE id IN (3, 4)")
    session.sql("DELETE FROM t WHERE id < 2")
    session.sql(
        "MERGE INTO t USING (SELECT * FROM VALUES (5, 'm'), (77, 'new') AS s(id, name)) s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name, 'd 1%')"
    )
    expected = [
        (2, "n2"),
        (3, "x"),
        (4, "x"),
        (5, "m"),
        (6, "n6"),
        (7, "n7"),
        (8, "n8"),
        (9, "n9"),
        (77, "new"),
    ]
    assert sorted(session.sql("SELECT id, name FROM t").rows()) == expected
    assert list(session.sql("SELECT count(*) FROM t WHERE ds = 'd 1%'").rows()) == [(5,)]
    assert list(session.sql("SELECT DISTINCT ROW__ID.writeid FROM t WHERE id = 77").rows()) == [
        (4,)
    ]
    with session.transaction():  # reads what it has staged
        session.sql("INSERT INTO t SELECT 100 + id, 'own', 'd 0%' FROM range(3)")
        session.sql("UPDATE t SET name = 'own 2' WHERE id = 101")
    assert sorted(session.sql("SELECT id, name FROM t WHERE id > 77").rows()) == [
        (100, "own"),
        (101, "own 2"),
        (102, "own"),
    ]
    assert [p.name for p in (tmp_path / "t {1}").iterdir() if p.name.startswith(".acidsql")] == []
    session.sql("DROP TABLE t")
    assert not (tmp_path / "t {1}").exists()


@pytest.mark.spark
def test_what_hadoop_cannot_open_is_told(session: Session) -> None:
    """A scheme nobody knows is an error that names it."""
    with pytest.raises(
        UnsupportedStatementError, match='Spark has no file system for "nosuch://h"'
    ):
        session.sql(f"CREATE TABLE t {table_at('nosuch://h/t')}")


@pytest.mark.spark
def test_a_name_service_that_is_not_known_is_told(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what to set."""
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    with pytest.raises(UnsupportedStatementError) as raised:
        session.sql(f"CREATE TABLE t {table_at('hdfs://no-such-service.invalid/t')}")
    assert "set HADOOP_CONF_DIR to the folder of core-site.xml" in str(raised.value.hint)
