"""Directories of tables, partitions and databases that are symbolic links: a statement changes all
that belongs to it, or nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql import crash_points
from acidsql.commit.recovery import delete_dropped
from acidsql.errors import BindError, Error, ExecutionError
from acidsql.files.local_files import LocalFileIO
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse") as opened:
        yield opened


def linked(session: Session, path: str, *, relative: bool = False) -> Path:
    """Moves a directory of the warehouse beside it and leaves a link; where it has gone."""
    link = Path(session.warehouse, path)
    target = Path(session.warehouse).parent / "elsewhere" / path.replace("/", "_")
    target.parent.mkdir(exist_ok=True)
    link.rename(target)
    link.symlink_to(os.path.relpath(target, link.parent) if relative else target)
    return target


def files(directory: Path) -> list[str]:
    return sorted(
        p.name for p in directory.rglob("*") if p.is_file() and not p.name.startswith("_")
    )


def count(session: Session, table: str) -> int:
    return int(next(session.sql(f"SELECT count(*) FROM {table}").rows())[0])


def names(session: Session, statement: str) -> list[str]:
    return [row[0] for row in session.sql(statement).rows()]


@pytest.mark.parametrize("kind", [ACID, "STORED AS ORC"])
@pytest.mark.parametrize("relative", [False, True])
def test_drop_table_removes_the_link_and_not_what_it_leads_to(
    session: Session, kind: str, relative: bool
) -> None:
    """As Hadoop deletes: the files stay where they are, the name is free for another table."""
    session.sql(f"CREATE TABLE t (id INT) {kind}")
    session.sql("INSERT INTO t VALUES (1)")
    target = linked(session, "t", relative=relative)
    session.sql("INSERT INTO t VALUES (2)")
    assert count(session, "t") == 2
    before = files(target)
    session.sql("DROP TABLE t")
    assert not Path(session.warehouse, "t").is_symlink()
    assert files(target) == before
    session.sql(f"CREATE TABLE t (id INT) {kind}")
    assert count(session, "t") == 0


def test_truncate_and_overwrite_work_through_a_link(session: Session) -> None:
    """The rows are the table's, wherever they lie."""
    session.sql("CREATE TABLE t (id INT) STORED AS ORC")
    session.sql("INSERT INTO t VALUES (1)")
    target = linked(session, "t")
    session.sql("INSERT OVERWRITE TABLE t VALUES (2), (3)")
    assert count(session, "t") == 2
    session.sql("TRUNCATE TABLE t")
    assert (count(session, "t"), files(target)) == (0, [])
    assert Path(session.warehouse, "t").is_symlink()


def test_drop_database_cascade(session: Session) -> None:
    """Tables of it may be links, and so may its own directory."""
    session.sql("CREATE DATABASE d")
    for table in ("t", "u"):
        session.sql(f"CREATE TABLE d.{table} (id INT) {ACID}")
        session.sql(f"INSERT INTO d.{table} VALUES (1)")
    kept = linked(session, "d.db/t")
    emptied = linked(session, "d.db")
    session.sql("DROP DATABASE d CASCADE")
    assert files(kept) == ["bucket_00000"]
    assert (files(emptied), os.listdir(session.warehouse)) == ([], ["_acidsql"])
    session.sql("CREATE DATABASE d")
    session.sql(f"CREATE TABLE d.t (id INT) {ACID}")


@pytest.mark.parametrize("link", ["p/ds=x", "p/ds=x/hr=1"])
def test_drop_partition(session: Session, link: str) -> None:
    """Of a link to a partition's directory the link goes; a link above it goes when there is
    nothing left behind it.
    """
    session.sql(f"CREATE TABLE p (id INT) PARTITIONED BY (ds STRING, hr INT) {ACID}")
    session.sql("INSERT INTO p PARTITION (ds='x', hr=1) VALUES (1)")
    session.sql("INSERT INTO p PARTITION (ds='y', hr=1) VALUES (1)")
    target = linked(session, link)
    session.sql("ALTER TABLE p DROP PARTITION (ds='x')")
    assert names(session, "SHOW PARTITIONS p") == ["ds=y/hr=1"]
    assert os.listdir(Path(session.warehouse, "p")) == ["ds=y"]
    assert files(target) == ([] if link == "p/ds=x" else ["bucket_00000"])
    session.sql("ALTER TABLE p ADD PARTITION (ds='x', hr=1)")
    assert count(session, "p") == 1


def test_a_link_above_other_partitions_stays(session: Session) -> None:
    """It holds something still."""
    session.sql(f"CREATE TABLE p (id INT) PARTITIONED BY (ds STRING, hr INT) {ACID}")
    session.sql("INSERT INTO p PARTITION (ds='x', hr) VALUES (1, 1), (2, 2)")
    linked(session, "p/ds=x")
    session.sql("ALTER TABLE p DROP PARTITION (ds='x', hr=1)")
    assert count(session, "p") == 1
    assert Path(session.warehouse, "p", "ds=x").is_symlink()


def test_a_table_and_a_partition_that_are_links_get_other_names(session: Session) -> None:
    """The link has the new name; what it leads to stays."""
    session.sql(f"CREATE TABLE p (id INT) PARTITIONED BY (ds STRING) {ACID}")
    session.sql("INSERT INTO p PARTITION (ds='x') VALUES (1)")
    target = linked(session, "p/ds=x", relative=True)
    session.sql("ALTER TABLE p PARTITION (ds='x') RENAME TO PARTITION (ds='y')")
    session.sql("CREATE DATABASE d")
    linked(session, "p")
    session.sql("ALTER TABLE p RENAME TO d.q")
    assert count(session, "d.q") == 1
    assert (files(target), names(session, "SHOW PARTITIONS d.q")) == (["bucket_00000"], ["ds=y"])


@pytest.mark.parametrize("inside", [True, False])
def test_a_relative_link_that_would_lead_elsewhere_is_not_moved(
    session: Session, inside: bool
) -> None:
    """Rows would be gone: the table keeps its name, and the error names the link."""
    session.sql("CREATE DATABASE d")
    session.sql("CREATE TABLE t (id INT) STORED AS ORC")
    session.sql("INSERT INTO t VALUES (1)")
    linked(session, "t/000000_0" if inside else "t", relative=True)
    with pytest.raises(ExecutionError, match="RENAME failed") as caught:
        session.sql("ALTER TABLE t RENAME TO d.t")
    assert "would lead elsewhere" in (caught.value.detail or "")
    assert count(session, "t") == 1
    session.sql("ALTER TABLE t RENAME TO u")  # in the same directory it leads where it did
    assert count(session, "u") == 1


def test_links_inside_a_table_go_with_it(session: Session) -> None:
    """Rows behind them are the table's rows; DROP leaves what they lead to."""
    session.sql("CREATE TABLE t (id INT) STORED AS ORC")
    session.sql("INSERT INTO t VALUES (1)")
    session.sql("INSERT INTO t VALUES (2)")
    kept = [linked(session, "t/000000_0"), linked(session, "t/000000_0_copy_1")]
    assert count(session, "t") == 2
    session.sql("DROP TABLE t")
    assert all(path.is_file() for path in kept)
    assert not Path(session.warehouse, "t").exists()


def test_what_comes_while_a_table_is_deleted_in_its_place_stays(session: Session) -> None:
    """Whoever finishes a killed DROP deletes what cannot be renamed once, while nobody makes a
    table there.
    """
    left = Path(session.warehouse, "t")
    left.mkdir()
    # under another name of its directory it would lead elsewhere
    (left / "inside").symlink_to("../t/000000_0")

    def hook(point: str) -> None:
        if point == "directory taken away":
            crash_points.hook = None
            session.sql("CREATE TABLE t (id INT) STORED AS ORC")
            session.sql("INSERT INTO t VALUES (2), (3)")

    crash_points.hook = hook
    try:
        with EmbeddedMetastore(str(session.warehouse)) as store:
            delete_dropped(store, LocalFileIO(), str(left))
        assert crash_points.hook is None
    finally:
        crash_points.hook = None
    assert count(session, "t") == 2


BROKEN = [
    "SELECT count(*) FROM {0}",
    "INSERT INTO {0} VALUES (2)",
    "TRUNCATE TABLE {0}",
    "ANALYZE TABLE {0} COMPUTE STATISTICS",
]


@pytest.mark.parametrize("statement", BROKEN)
def test_a_link_that_leads_nowhere_is_no_empty_table(session: Session, statement: str) -> None:
    """A disk that is not mounted, perhaps: an error that names it. DROP takes the link away."""
    session.sql("CREATE TABLE t (id INT) STORED AS ORC")
    session.sql("INSERT INTO t VALUES (1)")
    target = linked(session, "t")
    target.rename(target.with_name("unmounted"))
    with pytest.raises(ExecutionError) as caught:
        session.sql(statement.format("t"))
    assert "/t" in str(caught.value)
    session.sql("DROP TABLE t")
    assert os.listdir(session.warehouse) == ["_acidsql"]


def test_a_broken_link_above_partitions(session: Session) -> None:
    """None of them is empty or missing: neither a query nor MSCK takes them for that."""
    session.sql(f"CREATE TABLE p (id INT) PARTITIONED BY (ds STRING, hr INT) {ACID}")
    session.sql("INSERT INTO p PARTITION (ds='x', hr=1) VALUES (1)")
    target = linked(session, "p/ds=x")
    target.rename(target.with_name("unmounted"))
    session.sql("SET hive.compute.query.using.stats=true")
    session.sql("START TRANSACTION")
    with pytest.raises(ExecutionError, match="leads nowhere"):
        session.sql("SELECT count(*) FROM p")
    session.sql("ROLLBACK")
    with pytest.raises(ExecutionError, match="MSCK failed"):
        session.sql("MSCK REPAIR TABLE p SYNC PARTITIONS")
    assert names(session, "SHOW PARTITIONS p") == ["ds=x/hr=1"]


def test_no_table_is_made_over_a_broken_link(session: Session) -> None:
    """Nor is anything left of it in the catalog."""
    Path(session.warehouse, "t").symlink_to("nowhere")
    with pytest.raises(ExecutionError, match="CREATE TABLE failed"):
        session.sql("CREATE TABLE t (id INT) STORED AS ORC")
    assert names(session, "SHOW TABLES") == []


def test_no_external_table_or_partition_is_made_over_a_broken_link(
    session: Session, tmp_path: Path
) -> None:
    """LOCATION says where to look."""
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(ExecutionError):
        session.sql(f"CREATE EXTERNAL TABLE t (id INT) STORED AS ORC LOCATION '{tmp_path}/link'")
    session.sql(f"CREATE TABLE p (id INT) PARTITIONED BY (ds STRING) {ACID}")
    with pytest.raises(ExecutionError, match="ADD PARTITION failed"):
        session.sql(f"ALTER TABLE p ADD PARTITION (ds='x') LOCATION '{tmp_path}/link'")
    assert (names(session, "SHOW TABLES"), names(session, "SHOW PARTITIONS p")) == (["p"], [])


def test_no_table_is_made_over_a_link_to_another(session: Session) -> None:
    """They would have one directory."""
    session.sql(f"CREATE TABLE t (id INT) {ACID}")
    Path(session.warehouse, "u").symlink_to("t")
    with pytest.raises(BindError, match="overlaps that of table"):
        session.sql(f"CREATE TABLE u (id INT) {ACID}")
    assert names(session, "SHOW TABLES") == ["t"]


def test_a_link_in_a_circle_is_refused(session: Session) -> None:
    """Else rows would come many times."""
    session.sql("CREATE TABLE t (id INT) STORED AS ORC")
    session.sql("INSERT INTO t VALUES (1)")
    Path(session.warehouse, "t", "again").symlink_to(".")
    with pytest.raises(Error, match="holds it"):
        session.sql("SELECT count(*) FROM t")
    session.sql("DROP TABLE t")


def test_msck_finds_partitions_that_are_links(session: Session) -> None:
    """And they are partitions like others: their rows are read, they can be dropped."""
    session.sql("CREATE TABLE p (id INT) PARTITIONED BY (ds STRING) STORED AS ORC")
    session.sql("INSERT INTO p PARTITION (ds='x') VALUES (1)")
    target = linked(session, "p/ds=x")
    Path(session.warehouse, "p", "ds=y").symlink_to(target)
    session.sql("MSCK REPAIR TABLE p")
    assert names(session, "SHOW PARTITIONS p") == ["ds=x", "ds=y"]
    session.sql("ALTER TABLE p DROP PARTITION (ds='x'), PARTITION (ds='y')")
    assert files(target) == ["000000_0"]
    assert os.listdir(Path(session.warehouse, "p")) == []


@pytest.mark.parametrize("statement", ["DROP TABLE d.t", "DROP DATABASE d CASCADE"])
def test_what_cannot_be_deleted_is_told(session: Session, statement: str) -> None:
    """What was dropped is dropped, so the error says; what else there is to delete goes."""
    session.sql("CREATE DATABASE d")
    session.sql("CREATE TABLE d.t (id INT) STORED AS ORC")
    session.sql("CREATE TABLE d.u (id INT) STORED AS ORC")
    directory = Path(session.warehouse, "d.db", "t")
    directory.rmdir()
    directory.write_text("no directory any more")
    with pytest.raises(ExecutionError, match="could not be deleted") as caught:
        session.sql(statement)
    assert "is dropped" in (caught.value.hint or "")
    assert f'"{directory}" of dropped' in caught.value.message
    if statement == "DROP TABLE d.t":
        assert list(session.store.list_tables("d")) == ["u"]
    else:
        assert session.store.find_database("d") is None
