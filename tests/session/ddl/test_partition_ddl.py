"""Partition DDL carried out: the catalog's entries, the directories that belong to them, and what
must never be deleted. No Spark.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from acidsql.acid.ids import WriteId
from acidsql.catalog.model import Partition, TableName
from acidsql.commit.recovery import settle_noted
from acidsql.errors import (
    AlreadyExistsError,
    BindError,
    ExecutionError,
    TransactionAbortedError,
    UnsupportedStatementError,
    WriteConflictError,
)
from acidsql.files.local_files import LocalFileIO
from acidsql.session import Session
from acidsql.txn.leftovers import NotedDirectory
from acidsql.txn.manager import OperationType, TxnComponent

P = TableName("default", "p")
COLUMNS = "(id INT) PARTITIONED BY (ds STRING, hr INT) STORED AS ORC"
ACID = f"CREATE TABLE p {COLUMNS} TBLPROPERTIES ('transactional'='true')"


def partitions(session: Session) -> dict[str, str]:
    """Where each lies, by name."""
    table = session.store.find_table(P)
    assert table is not None
    return {"/".join(p.values): p.location for p in session.store.list_partitions(table)}


def shown(session: Session, sql: str = "SHOW PARTITIONS p") -> list[str | None]:
    return [row[0] for row in session.sql(sql).rows()]


def directories(root: Path) -> list[str]:
    """All below ``root`` but the metastore's own, hidden ones too."""
    return sorted(
        str(p.relative_to(root))
        for p in root.rglob("*")
        if p.is_dir() and "_acidsql" not in p.parts
    )


def fill(directory: Path | str, *names: str) -> None:
    """Directories, each with a file."""
    for name in names:
        path = Path(directory, name)
        path.mkdir(parents=True)
        (path / "bucket_00000").write_bytes(b"x")


def open_writer(session: Session, partition: str | None) -> int:
    opened = session.store.begin([P])
    component = TxnComponent(
        table=P, partition=partition, operation=OperationType.INSERT, write_id=opened.write_ids[P]
    )
    session.store.add_components(opened.txn_id, [component])
    return opened.txn_id


# ---- SHOW


@pytest.mark.spark
def test_partitions_are_shown_by_what_spark_says_of_them(session: Session) -> None:
    """Of conditions that the planner cannot judge; ordered first, counted last."""
    session.sql(ACID)
    session.sql(
        "ALTER TABLE p ADD PARTITION (ds='a1', hr=1) PARTITION (ds='b2', hr=2) PARTITION (ds='c', hr=3) PARTITION (ds=NULL, hr=4)"
    )
    digit = "regexp_extract(ds, '[0-9]', 0)"
    assert shown(session, f"SHOW PARTITIONS p WHERE {digit} <> ''") == ["ds=a1/hr=1", "ds=b2/hr=2"]
    assert shown(
        session, f"SHOW PARTITIONS p WHERE {digit} = '' OR p.hr = 1 ORDER BY hr DESC LIMIT 1"
    ) == ["ds=c/hr=3"]
    assert shown(session, f"SHOW PARTITIONS p WHERE {digit} = '7'") == []
    assert shown(
        session,
        "SHOW PARTITIONS p WHERE date_add(current_date(), hr) > date_add(current_date(), 3)",
    ) == ["ds=__HIVE_DEFAULT_PARTITION__/hr=4"]
    with pytest.raises(BindError, match="BOOLEAN"):
        session.sql("SHOW PARTITIONS p WHERE ds > 'a' AND hr")


# ---- ADD


def test_added_partitions_get_directories(plain: Session, warehouse: Path, tmp_path: Path) -> None:
    """Named as Hive names them, or at the place they are given; the time is that of the
    statement.
    """
    plain.sql(ACID)
    plain.sql(
        f"ALTER TABLE p ADD PARTITION (hr='01', ds='a/b') PARTITION (ds=NULL, hr=2) LOCATION '{tmp_path}/out/two/'"
    )
    home = warehouse / "p"
    assert partitions(plain) == {
        "a/b/1": f"{home}/ds=a%2Fb/hr=1",
        "__HIVE_DEFAULT_PARTITION__/2": f"{tmp_path}/out/two",
    }
    assert directories(home) == ["ds=a%2Fb", "ds=a%2Fb/hr=1"]
    assert (tmp_path / "out/two").is_dir()
    assert shown(plain) == ["ds=__HIVE_DEFAULT_PARTITION__/hr=2", "ds=a%2Fb/hr=1"]
    table = plain.store.find_table(P)
    assert table is not None
    assert {p.created_at for p in plain.store.list_partitions(table)} == {1_700_000_000}


def test_times_of_every_age_are_values_of_partitions(plain: Session) -> None:
    """Before the Gregorian calendar, fractions of a second before 1970, and a day written with one
    digit.
    """
    plain.sql(
        "CREATE TABLE p (id INT) PARTITIONED BY (d DATE, t TIMESTAMP) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    plain.sql("INSERT INTO p PARTITION (d = '1500-2-3', t = '1960-01-01 00:00:00.5') VALUES (1)")
    plain.sql(
        "INSERT INTO p PARTITION (d = DATE '1500-02-03', t = TIMESTAMP '1960-01-01 00:00:00.5') VALUES (2)"
    )
    plain.sql("ALTER TABLE p ADD PARTITION (d = '1400-01-01', t = '1700-01-01 00:00:00')")
    old, older = (
        "d=1500-02-03/t=1960-01-01 00%3A00%3A00.5",
        "d=1400-01-01/t=1700-01-01 00%3A00%3A00",
    )
    assert shown(plain) == [older, old]
    assert shown(plain, "SHOW PARTITIONS p PARTITION (d = '1500-02-03')") == [old]
    plain.sql("ALTER TABLE p DROP PARTITION (d < '1450-01-01')")
    plain.sql(
        "ALTER TABLE p PARTITION (d = '1500-02-03', t = '1960-01-01 00:00:00.5') RENAME TO PARTITION (d = '0999-12-31', t = NULL)"
    )
    assert shown(plain) == ["d=0999-12-31/t=__HIVE_DEFAULT_PARTITION__"]


def test_adding_is_all_or_nothing(plain: Session, warehouse: Path) -> None:
    """Where one of several cannot be added none is, and no new directory stays; old ones do."""
    plain.sql(ACID)
    (warehouse / "p/ds=b").mkdir()
    sql = "ALTER TABLE p ADD PARTITION (ds='a', hr=1) PARTITION (ds='b', hr=2) PARTITION (ds='c', hr=3)"
    source, late = plain._spine.plan(sql)
    plain.sql("ALTER TABLE p ADD PARTITION (ds='c', hr=3)")
    with pytest.raises(AlreadyExistsError, match="Partition already exists"):
        plain._spine.run(late, source)
    assert shown(plain) == ["ds=c/hr=3"]
    assert directories(warehouse / "p") == ["ds=b", "ds=c", "ds=c/hr=3"]


def test_a_directory_that_cannot_be_made_adds_nothing(plain: Session, warehouse: Path) -> None:
    """A file is in its place: the error names it."""
    plain.sql(ACID)
    (warehouse / "p/ds=b").write_bytes(b"x")
    with pytest.raises(
        ExecutionError, match=r"ADD PARTITION failed: cannot read or write \".*ds=b"
    ) as caught:
        plain.sql("ALTER TABLE p ADD PARTITION (ds='a', hr=1) PARTITION (ds='b', hr=2)")
    assert caught.value.detail in ("Not a directory", "File exists")
    assert (shown(plain), directories(warehouse / "p")) == ([], [])


def test_what_is_there_is_passed_over_on_demand(plain: Session) -> None:
    """Also a partition that another session adds in between, which stays where it is."""
    plain.sql(ACID)
    source, late = plain._spine.plan(
        "ALTER TABLE p ADD IF NOT EXISTS PARTITION (ds='a', hr=1) PARTITION (ds='b', hr=1)", None
    )
    plain.sql("ALTER TABLE p ADD PARTITION (ds='a', hr=1)")
    plain._spine.run(late, source)
    plain.sql("ALTER TABLE p ADD IF NOT EXISTS PARTITION (ds='a', hr=1) PARTITION (ds='b', hr=1)")
    assert shown(plain) == ["ds=a/hr=1", "ds=b/hr=1"]


TAKEN = {
    "{warehouse}/other/x": r"overlaps that of table default\.other",
    "{warehouse}": r"overlaps that of table default\.other",
    "{warehouse}/p": r"overlaps that of partition ds=a/hr=1",
    "{warehouse}/p/ds=a/hr=1/x": "overlaps that of partition ds=a/hr=1",
    "{warehouse}/p/ds=a": "overlaps that of partition ds=a/hr=1",
    "{warehouse}/p/ds=q": "is where another partition would lie",
    "file:{warehouse}/p/ds=q/hr=7/x": "is where another partition would lie",
    "{tmp_path}/b": "overlaps that of partition ds=b/hr=1",
    "{tmp_path}/b/inside": "overlaps that of partition ds=b/hr=1",
    "{tmp_path}": r"overlaps that of table default\.other",
}


@pytest.mark.parametrize(
    "statement",
    ["ADD PARTITION (ds='new', hr=1) LOCATION", "PARTITION (ds='c', hr=1) SET LOCATION"],
)
def test_a_partition_keeps_out_of_the_directories_of_others(
    plain: Session, warehouse: Path, tmp_path: Path, statement: str
) -> None:
    """Dropping the one would delete rows of the other; the error points at the place."""
    plain.sql(ACID)
    plain.sql("CREATE TABLE other (id INT) STORED AS ORC")
    plain.sql(
        f"ALTER TABLE p ADD PARTITION (ds='a', hr=1) PARTITION (ds='b', hr=1) LOCATION '{tmp_path}/b' PARTITION (ds='c', hr=1)"
    )
    before = partitions(plain)
    for place, message in TAKEN.items():
        with pytest.raises(BindError, match=message) as caught:
            plain.sql(
                f"ALTER TABLE p {statement} '{place.format(warehouse=warehouse, tmp_path=tmp_path)}'"
            )
        assert caught.value.span is not None
    assert partitions(plain) == before
    plain.sql("ALTER TABLE p DROP PARTITION (hr=1)")
    plain.sql("ALTER TABLE p ADD PARTITION (ds='c', hr=1)")
    with pytest.raises(
        BindError, match=r"holds table default\.p|overlaps that of partition ds=c/hr=1"
    ):
        plain.sql(f"ALTER TABLE p {statement} '{warehouse}/p'")


def test_no_table_or_partition_takes_the_place_of_a_partition(
    plain: Session, tmp_path: Path
) -> None:
    """Wherever it lies."""
    plain.sql(ACID)
    plain.sql(f"ALTER TABLE p ADD PARTITION (ds='a', hr=1) LOCATION '{tmp_path}/out/one'")
    plain.sql("CREATE TABLE q (id INT) PARTITIONED BY (k INT) STORED AS ORC")
    for sql in (
        f"CREATE TABLE x (id INT) LOCATION '{tmp_path}/out'",
        f"CREATE EXTERNAL TABLE x (id INT) LOCATION '{tmp_path}/out/one/inside'",
        f"ALTER TABLE q ADD PARTITION (k=1) LOCATION '{tmp_path}/out/one'",
        f"ALTER TABLE q SET LOCATION '{tmp_path}/out'",
    ):
        with pytest.raises(BindError, match=r"overlaps that of table default\.p"):
            plain.sql(sql)


def test_partitions_of_an_external_table_may_share_files(plain: Session, tmp_path: Path) -> None:
    """Dropping one deletes none; with external.table.purge it would."""
    plain.sql(f"CREATE EXTERNAL TABLE p {COLUMNS} LOCATION '{tmp_path}/e'")
    both = f"PARTITION (ds='a', hr=1) LOCATION '{tmp_path}/s' PARTITION (ds='b', hr=1) LOCATION '{tmp_path}/s'"
    plain.sql(f"ALTER TABLE p ADD {both}")
    fill(tmp_path / "s", "data")
    plain.sql("ALTER TABLE p DROP PARTITION (hr=1)")
    assert (tmp_path / "s/data/bucket_00000").exists()
    plain.sql("ALTER TABLE p SET TBLPROPERTIES ('external.table.purge'='true')")
    with pytest.raises(BindError, match="overlaps that of partition ds=a/hr=1"):
        plain.sql(f"ALTER TABLE p ADD {both}")


FUTURE = {
    "delta_0000003_0000003_0000": "has rows of write id 3, and 2 is the highest",
    "base_0000003": "has rows of write id 3, and 2 is the highest",
    "delete_delta_0000001_0000003": "has rows of write id 3, and 2 is the highest",
    "base_0000001_v0000009": "was compacted by transaction 9, and 2 is the highest",
}


@pytest.mark.parametrize(
    "statement",
    [
        "ADD PARTITION (ds='a', hr=1)",
        "ADD PARTITION (ds='a', hr=1) LOCATION '{out}'",
        "PARTITION (ds='b', hr=1) SET LOCATION '{out}'",
    ],
)
def test_ids_of_the_future_are_refused(
    plain: Session, warehouse: Path, tmp_path: Path, statement: str
) -> None:
    """Files of a write id or a compaction that the table has yet to give out would be taken for
    somebody else's rows one day.
    """
    plain.sql(ACID)
    plain.sql("ALTER TABLE p ADD PARTITION (ds='b', hr=1)")
    for _ in range(2):
        plain.store.commit(plain.store.begin([P]).txn_id)
    directory = tmp_path / "out" if "out" in statement else warehouse / "p/ds=a/hr=1"
    sql = f"ALTER TABLE p {statement.format(out=directory)}"
    for name, message in FUTURE.items():
        fill(directory, name)
        with pytest.raises(BindError, match=message) as caught:
            plain.sql(sql)
        assert caught.value.span is not None
        shutil.rmtree(directory)
    assert shown(plain) == ["ds=b/hr=1"]
    plain.store.commit(plain.store.begin([P]).txn_id)
    fill(directory, "delta_0000003_0000003_0000")
    plain.sql(sql)
    assert str(directory) in partitions(plain).values()


def test_files_without_write_ids_may_be_added(plain: Session, warehouse: Path) -> None:
    """They are as old as a converted table's; what is not transactional takes any."""
    plain.sql(ACID)
    fill(warehouse / "p/ds=a/hr=1", "HIVE_UNION_SUBDIR_1")
    (warehouse / "p/ds=a/hr=1/000000_0").write_bytes(b"x")
    plain.sql("ALTER TABLE p ADD PARTITION (ds='a', hr=1)")
    plain.sql("DROP TABLE p")
    plain.sql(f"CREATE TABLE p {COLUMNS}")
    fill(warehouse / "p/ds=a/hr=1", "delta_0000003_0000003_0000")
    plain.sql("ALTER TABLE p ADD PARTITION (ds='a', hr=1)")


# ---- DROP


@pytest.mark.parametrize("definition", [ACID, f"CREATE TABLE p {COLUMNS}"])
def test_dropped_partitions_take_their_files_along(
    plain: Session, warehouse: Path, tmp_path: Path, definition: str
) -> None:
    """Of a managed table, wherever they lie; directories that become empty go, up to the table's
    own, which stays.
    """
    plain.sql(definition)
    plain.sql(
        "ALTER TABLE p ADD PARTITION (ds='a', hr=1) PARTITION (ds='a', hr=2) PARTITION (ds='b', hr=1)"
    )
    plain.sql(f"ALTER TABLE p ADD PARTITION (ds='c', hr=1) LOCATION '{tmp_path}/out/c'")
    for place in partitions(plain).values():
        fill(place, "delta_0000001_0000001_0000")
    plain.sql("ALTER TABLE p DROP PARTITION (ds >= 'b', hr < 2), PARTITION (ds='a', hr=1) PURGE")
    assert shown(plain) == ["ds=a/hr=2"]
    assert directories(warehouse / "p") == [
        "ds=a",
        "ds=a/hr=2",
        "ds=a/hr=2/delta_0000001_0000001_0000",
    ]
    assert directories(tmp_path / "out") == []
    plain.sql("ALTER TABLE p DROP PARTITION (ds='a')")
    assert (shown(plain), directories(warehouse / "p"), (warehouse / "p").is_dir()) == (
        [],
        [],
        True,
    )
    plain.sql("ALTER TABLE p DROP IF EXISTS PARTITION (ds='a')")


@pytest.mark.parametrize(
    ("properties", "kept"), [("'a'='b'", True), ("'external.table.purge'='TRUE'", False)]
)
def test_an_external_table_keeps_the_files_of_dropped_partitions(
    plain: Session, tmp_path: Path, properties: str, kept: bool
) -> None:
    """Unless it says otherwise."""
    plain.sql(
        f"CREATE EXTERNAL TABLE p {COLUMNS} LOCATION '{tmp_path}/e' TBLPROPERTIES ({properties})"
    )
    plain.sql("ALTER TABLE p ADD PARTITION (ds='a', hr=1)")
    fill(tmp_path / "e/ds=a/hr=1", "data")
    plain.sql("ALTER TABLE p DROP PARTITION (ds='a')")
    assert shown(plain) == []
    assert (tmp_path / "e/ds=a/hr=1/data").exists() == (tmp_path / "e/ds=a").exists() == kept


def test_a_partition_that_holds_its_table_takes_nothing_along(
    plain: Session, warehouse: Path
) -> None:
    """However the catalog came to say so."""
    plain.sql(ACID)
    plain.store.add_partitions(P, [Partition(values=("a", "1"), location=str(warehouse))])
    plain.sql("ALTER TABLE p DROP PARTITION (ds='a')")
    assert (shown(plain), (warehouse / "p").is_dir()) == ([], True)


def test_dropping_aborts_who_writes_there(plain: Session) -> None:
    """And nobody else."""
    plain.sql(ACID)
    plain.sql("ALTER TABLE p ADD PARTITION (ds='a', hr=1) PARTITION (ds='b', hr=1)")
    losing, other = open_writer(plain, "ds=a/hr=1"), open_writer(plain, "ds=b/hr=1")
    plain.sql("ALTER TABLE p DROP PARTITION (ds='a')")
    with pytest.raises(TransactionAbortedError, match="already aborted"):
        plain.store.commit(losing)
    plain.store.commit(other)


def test_a_table_that_changed_meanwhile_loses_no_partition(plain: Session, warehouse: Path) -> None:
    """It may be external now: the session looks again, and leaves the files."""
    plain.sql(f"CREATE TABLE p {COLUMNS}")
    plain.sql("ALTER TABLE p ADD PARTITION (ds='a', hr=1)")
    source, late = plain._spine.plan("ALTER TABLE p DROP PARTITION (ds='a')")
    plain.sql("ALTER TABLE p SET TBLPROPERTIES ('EXTERNAL'='TRUE')")
    plain._spine.run(late, source)
    assert shown(plain) == []
    assert (warehouse / "p/ds=a/hr=1").is_dir()


def test_a_dropped_table_takes_partitions_outside_along(plain: Session, tmp_path: Path) -> None:
    """Of a managed table, also when its database goes; those of an external one stay."""
    plain.sql("CREATE DATABASE d")
    for i, (name, kind) in enumerate([("p", ""), ("d.p", ""), ("d.e", "EXTERNAL ")]):
        plain.sql(f"CREATE {kind}TABLE {name} {COLUMNS}")
        plain.sql(f"ALTER TABLE {name} ADD PARTITION (ds='a', hr=1) LOCATION '{tmp_path}/out/{i}'")
        fill(tmp_path / f"out/{i}", "data")
    plain.sql("DROP TABLE p")
    plain.sql("DROP DATABASE d CASCADE")
    assert directories(tmp_path / "out") == ["2", "2/data"]


# ---- RENAME


def test_a_renamed_partition_takes_its_directory_along(plain: Session, warehouse: Path) -> None:
    """With its files; what becomes empty goes."""
    plain.sql(ACID)
    plain.sql("ALTER TABLE p ADD PARTITION (ds='a', hr=1) PARTITION (ds='b', hr=1)")
    fill(warehouse / "p/ds=a/hr=1", "delta_0000001_0000001_0000")
    plain.sql("ALTER TABLE p PARTITION (ds='a', hr=1) RENAME TO PARTITION (ds='a:c', hr='02')")
    assert partitions(plain) == {
        "a:c/2": f"{warehouse}/p/ds=a%3Ac/hr=2",
        "b/1": f"{warehouse}/p/ds=b/hr=1",
    }
    new = "ds=a%3Ac/hr=2"
    assert directories(warehouse / "p") == [
        "ds=a%3Ac",
        new,
        f"{new}/delta_0000001_0000001_0000",
        "ds=b",
        "ds=b/hr=1",
    ]


def test_a_partition_with_a_place_of_its_own_stays_there(
    plain: Session, warehouse: Path, tmp_path: Path
) -> None:
    """So do those of external tables."""
    plain.sql(ACID)
    plain.sql(f"ALTER TABLE p ADD PARTITION (ds='a', hr=1) LOCATION '{tmp_path}/out'")
    plain.sql("ALTER TABLE p PARTITION (ds='a', hr=1) RENAME TO PARTITION (ds='b', hr=1)")
    assert partitions(plain) == {"b/1": f"{tmp_path}/out"}
    plain.sql("DROP TABLE p")
    plain.sql(f"CREATE EXTERNAL TABLE p {COLUMNS}")
    plain.sql("ALTER TABLE p ADD PARTITION (ds='a', hr=1)")
    plain.sql("ALTER TABLE p PARTITION (ds='a', hr=1) RENAME TO PARTITION (ds='b', hr=1)")
    assert partitions(plain) == {"b/1": f"{warehouse}/p/ds=a/hr=1"}


def test_a_partition_is_not_renamed_onto_a_directory(plain: Session, warehouse: Path) -> None:
    """Its files would become rows; nothing has changed then."""
    plain.sql(ACID)
    plain.sql("ALTER TABLE p ADD PARTITION (ds='a', hr=1)")
    fill(warehouse / "p/ds=a/hr=1", "delta_0000001_0000001_0000")
    (warehouse / "p/ds=b/hr=1").mkdir(parents=True)
    sql = "ALTER TABLE p PARTITION (ds='a', hr=1) RENAME TO PARTITION (ds='b', hr=1)"
    with pytest.raises(AlreadyExistsError, match="of the new partition is there already") as caught:
        plain.sql(sql)
    assert "\n" in str(caught.value)
    assert shown(plain) == ["ds=a/hr=1"]
    assert (warehouse / "p/ds=a/hr=1/delta_0000001_0000001_0000").is_dir()


def test_a_partition_without_a_directory_is_renamed(plain: Session, warehouse: Path) -> None:
    """It has no rows, so there is nothing to move."""
    plain.sql(ACID)
    plain.sql("ALTER TABLE p ADD PARTITION (ds='a', hr=1)")
    (warehouse / "p/ds=a/hr=1").rmdir()
    plain.sql("ALTER TABLE p PARTITION (ds='a', hr=1) RENAME TO PARTITION (ds='b', hr=1)")
    assert shown(plain) == ["ds=b/hr=1"]
    assert (warehouse / "p/ds=b/hr=1").is_dir()


@pytest.mark.processes
def test_a_partition_is_renamed_when_its_writer_has_ended(plain: Session, warehouse: Path) -> None:
    """Before, the statement is to be run again, and the directory is where it was; a writer whose
    process is gone has ended.
    """
    plain.sql(ACID)
    plain.sql("ALTER TABLE p ADD PARTITION (ds='a', hr=1)")
    writer = open_writer(plain, "ds=a/hr=1")
    sql = "ALTER TABLE p PARTITION (ds='a', hr=1) RENAME TO PARTITION (ds='b', hr=1)"
    with pytest.raises(
        WriteConflictError, match=f"is being written by transaction txnid:{writer}"
    ) as caught:
        plain.sql(sql)
    assert caught.value.retryable
    assert directories(warehouse / "p") == ["ds=a", "ds=a/hr=1"]
    child = "import sys; from acidsql.session import Session; from tests.session.ddl.test_partition_ddl import open_writer\n"
    child += "session = Session(sys.argv[1], clock=lambda: 1_700_000_000); open_writer(session, 'ds=a/hr=1'); import os; os._exit(0)"
    subprocess.run(
        [sys.executable, "-c", child, str(warehouse)], check=True, cwd=Path(__file__).parents[3]
    )
    plain.store.commit(writer)
    plain.sql(sql)
    assert directories(warehouse / "p") == ["ds=b", "ds=b/hr=1"]


def test_a_rename_that_fails_late_moves_back(
    plain: Session, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the move and the commit anything may happen; the rows are where the catalog says."""
    plain.sql(ACID)
    plain.sql("ALTER TABLE p ADD PARTITION (ds='a', hr=1)")
    fill(warehouse / "p/ds=a/hr=1", "delta_0000001_0000001_0000")

    def interrupt(point: str) -> None:
        if point == "directory moved":
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("acidsql.crash_points.hook", interrupt)
        with pytest.raises(KeyboardInterrupt):
            plain.sql("ALTER TABLE p PARTITION (ds='a', hr=1) RENAME TO PARTITION (ds='b', hr=1)")
    assert shown(plain) == ["ds=a/hr=1"]
    assert (warehouse / "p/ds=a/hr=1/delta_0000001_0000001_0000").is_dir()
    assert not (warehouse / "p/ds=b/hr=1").exists()


# ---- killed

CHILD = """
import os, signal, sys
from acidsql import crash_points
from acidsql.session import Session

def kill(reached):
    if reached == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)
crash_points.hook = kill
Session(sys.argv[1]).sql(sys.argv[3])
"""


def run_and_kill(warehouse: Path, point: str, statement: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(warehouse), point, statement],
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]


@pytest.mark.processes
def test_killed_while_it_adds(plain: Session, warehouse: Path) -> None:
    """There are directories, but no partition; the statement may be run again."""
    plain.sql(ACID)
    sql = "ALTER TABLE p ADD PARTITION (ds='a', hr=1)"
    run_and_kill(warehouse, "directories made", sql)
    assert shown(plain) == []
    plain.sql(sql)
    assert shown(plain) == ["ds=a/hr=1"]


@pytest.mark.processes
@pytest.mark.processes
def test_killed_before_it_drops(plain: Session, warehouse: Path) -> None:
    """Between the move and the commit: the directory is moved back, and it can be run again."""
    plain.sql(ACID)
    plain.sql("ALTER TABLE p ADD PARTITION (ds='a', hr=1)")
    plain.store.commit(plain.store.begin([P]).txn_id)
    fill(warehouse / "p/ds=a/hr=1", "delta_0000001_0000001_0000")
    run_and_kill(warehouse, "directory hidden", "ALTER TABLE p DROP PARTITION (ds='a')")
    assert shown(plain) == ["ds=a/hr=1"]
    plain.sql("CREATE DATABASE d")
    assert os.listdir(warehouse / "p/ds=a/hr=1") == ["delta_0000001_0000001_0000"]
    plain.sql("ALTER TABLE p DROP PARTITION (ds='a')")
    assert (shown(plain), os.listdir(warehouse / "p")) == ([], [])


@pytest.mark.processes
def test_killed_while_it_deletes(plain: Session, warehouse: Path) -> None:
    """The partition is gone; of its directory nothing that anybody sees is there, and nothing at all
    after the next statement that writes: its rows do not come back.
    """
    plain.sql(ACID)
    plain.sql("ALTER TABLE p ADD PARTITION (ds='a', hr=1)")
    fill(
        warehouse / "p/ds=a/hr=1", "delta_0000001_0000001_0000", "delete_delta_0000002_0000002_0000"
    )
    run_and_kill(warehouse, "partitions dropped", "ALTER TABLE p DROP PARTITION (ds='a')")
    assert shown(plain) == []
    assert not (warehouse / "p/ds=a/hr=1").exists()
    assert shown(plain, "MSCK TABLE p") == []
    assert os.listdir(warehouse / "p") == []
    plain.sql("ALTER TABLE p ADD PARTITION (ds='a', hr=1)")
    assert os.listdir(warehouse / "p/ds=a/hr=1") == []


def test_what_was_moved_comes_back_beside_what_others_wrote(
    plain: Session, warehouse: Path
) -> None:
    """A writer without locks may have made the directory anew."""
    plain.sql(ACID)
    plain.sql("ALTER TABLE p ADD PARTITION (ds='a', hr=1)")
    home, hidden = warehouse / "p/ds=a/hr=1", warehouse / "p/.acidsql_dropped_1"
    fill(home, "delta_0000001_0000001_0000")
    home.rename(hidden)
    fill(home, "delta_0000002_0000002_0000")
    noted = NotedDirectory(location=str(hidden), moved_from=str(home))
    settle_noted(plain.store, LocalFileIO(), noted)
    assert sorted(os.listdir(home)) == ["delta_0000001_0000001_0000", "delta_0000002_0000002_0000"]
    assert not hidden.exists()


@pytest.mark.processes
def test_killed_while_it_renames(plain: Session, warehouse: Path) -> None:
    """Between the move and the commit: the directory is moved back, and it can be run again."""
    plain.sql(ACID)
    plain.sql("ALTER TABLE p ADD PARTITION (ds='a', hr=1)")
    plain.store.commit(plain.store.begin([P]).txn_id)
    fill(warehouse / "p/ds=a/hr=1", "delta_0000001_0000001_0000")
    sql = "ALTER TABLE p PARTITION (ds='a', hr=1) RENAME TO PARTITION (ds='b', hr=1)"
    run_and_kill(warehouse, "directory moved", sql)
    assert shown(plain) == ["ds=a/hr=1"]
    plain.sql("CREATE DATABASE d")
    assert partitions(plain) == {"a/1": f"{warehouse}/p/ds=a/hr=1"}
    assert (warehouse / "p/ds=a/hr=1/delta_0000001_0000001_0000").is_dir()
    plain.sql(sql)
    assert partitions(plain) == {"b/1": f"{warehouse}/p/ds=b/hr=1"}
    assert (warehouse / "p/ds=b/hr=1/delta_0000001_0000001_0000").is_dir()


# ---- SET LOCATION


def test_a_partition_gets_another_place(plain: Session, warehouse: Path, tmp_path: Path) -> None:
    """No file is moved, made or deleted; back again it lies where its name says."""
    plain.sql(ACID)
    plain.sql("ALTER TABLE p ADD PARTITION (ds='a', hr=1)")
    plain.sql(f"ALTER TABLE p PARTITION (hr=1, ds='a') SET LOCATION 'file:{tmp_path}/out'")
    assert partitions(plain) == {"a/1": f"{tmp_path}/out"}
    assert directories(warehouse / "p") == ["ds=a", "ds=a/hr=1"]
    plain.sql(f"ALTER TABLE p PARTITION (ds='a', hr=1) SET LOCATION '{warehouse}/p/ds=a/hr=1'")
    plain.sql("ALTER TABLE p DROP PARTITION (ds='a')")
    assert directories(warehouse / "p") == []


def test_a_partition_does_not_move_away_from_its_writer(plain: Session, tmp_path: Path) -> None:
    """What it has written would be lost."""
    plain.sql(ACID)
    plain.sql("ALTER TABLE p ADD PARTITION (ds='a', hr=1)")
    writer = open_writer(plain, "ds=a/hr=1")
    sql = f"ALTER TABLE p PARTITION (ds='a', hr=1) SET LOCATION '{tmp_path}/out'"
    with pytest.raises(WriteConflictError):
        plain.sql(sql)
    plain.store.commit(writer)
    plain.sql(sql)


def test_a_table_gets_another_place(plain: Session, warehouse: Path, tmp_path: Path) -> None:
    """Its partitions stay where they are, new ones lie there; dropped, it takes all of
    them along.
    """
    plain.sql(ACID)
    plain.sql("ALTER TABLE p ADD PARTITION (ds='a', hr=1)")
    plain.sql(f"ALTER TABLE p SET LOCATION '{tmp_path}/new'")
    plain.sql("ALTER TABLE p ADD PARTITION (ds='b', hr=1)")
    assert partitions(plain) == {
        "a/1": f"{warehouse}/p/ds=a/hr=1",
        "b/1": f"{tmp_path}/new/ds=b/hr=1",
    }
    table = plain.store.find_table(P)
    assert table is not None
    assert (table.location, table.properties["transient_lastDdlTime"]) == (
        f"{tmp_path}/new",
        "1700000000",
    )
    for place in (f"{warehouse}/p/ds=a", f"{tmp_path}/new/ds=b/hr=1/x", str(warehouse)):
        with pytest.raises(BindError, match=r"overlaps that of partition|holds other tables"):
            plain.sql(f"ALTER TABLE p SET LOCATION '{place}'")
    plain.sql("DROP TABLE p")
    assert directories(warehouse) == ["p", "p/ds=a"]
    assert not (tmp_path / "new").exists()


def test_an_acid_table_takes_no_files_of_the_future(plain: Session, tmp_path: Path) -> None:
    """Nor does it move under a writer."""
    plain.sql("CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    fill(tmp_path / "new", "delta_0000001_0000001_0000")
    sql = f"ALTER TABLE t SET LOCATION '{tmp_path}/new'"
    with pytest.raises(BindError, match=r"has rows of write id 1, and 0 is the highest"):
        plain.sql(sql)
    writer = plain.store.begin([TableName("default", "t")])
    with pytest.raises(WriteConflictError, match="is being written"):
        plain.sql(sql)
    plain.store.commit(writer.txn_id)
    plain.sql(sql)


def test_a_place_must_name_its_host(plain: Session) -> None:
    """Which file system a URL without a host means depends on who reads it."""
    plain.sql(ACID)
    for sql in ("ADD PARTITION (ds='a', hr=1) LOCATION 'hdfs:///x'", "SET LOCATION 'hdfs:///x'"):
        with pytest.raises(UnsupportedStatementError, match='location "hdfs:///x" names no host'):
            plain.sql(f"ALTER TABLE p {sql}")


# ---- MSCK


def test_msck_tells_and_repairs(plain: Session, warehouse: Path, tmp_path: Path) -> None:
    """In Hive's lines. Plain MSCK changes nothing, ADD and DROP do one half each, SYNC both; then
    there is nothing to tell.
    """
    plain.sql(ACID)
    plain.sql(
        f"ALTER TABLE p ADD PARTITION (ds='gone', hr=1) PARTITION (ds='out', hr=1) LOCATION '{tmp_path}/out'"
    )
    (warehouse / "p/ds=gone/hr=1").rmdir()
    (warehouse / "p/ds=gone").rmdir()
    for name in (
        "ds=a%2Fb/hr=01",
        "DS=c/HR=2",
        "ds=__HIVE_DEFAULT_PARTITION__/hr=3",
        "_tmp/x",
        ".staging",
    ):
        (warehouse / "p" / name).mkdir(parents=True)
    new = ["p:ds=__HIVE_DEFAULT_PARTITION__/hr=3", "p:ds=a%2Fb/hr=1", "p:ds=c/hr=2"]
    differences = [
        "\t".join(["Partitions not in metastore:", *new]),
        "Partitions missing from filesystem:\tp:ds=gone/hr=1",
    ]
    dropped = "Repair: Dropped partition from metastore p:ds=gone/hr=1"
    assert shown(plain, "MSCK TABLE p") == differences
    assert shown(plain, "MSCK TABLE p SYNC PARTITIONS") == differences
    assert shown(plain, "MSCK REPAIR TABLE p DROP PARTITIONS") == [*differences, dropped]
    plain.sql("ALTER TABLE p ADD PARTITION (ds='gone', hr=1)")
    (warehouse / "p/ds=gone/hr=1").rmdir()
    (warehouse / "p/ds=gone").rmdir()
    added = [f"Repair: Added partition to metastore {name}" for name in new]
    assert shown(plain, "MSCK REPAIR TABLE p SYNC PARTITIONS") == [*differences, *added, dropped]
    assert shown(plain, "MSCK REPAIR TABLE p SYNC PARTITIONS") == []
    assert partitions(plain) == {
        "__HIVE_DEFAULT_PARTITION__/3": f"{warehouse}/p/ds=__HIVE_DEFAULT_PARTITION__/hr=3",
        "a/b/1": f"{warehouse}/p/ds=a%2Fb/hr=01",
        "c/2": f"{warehouse}/p/DS=c/HR=2",
        "out/1": f"{tmp_path}/out",
    }


WRONG = {
    "ds=a/file": "MSCK finds a file rather than a directory when it searches for {p}/ds=a/file",
    "ds=a/hour=1/": "Unexpected partition key hour found at {p}/ds=a/hour=1",
    "other/": "Invalid partition name {p}/other",
    "ds=/hr=1/": "Invalid partition name {p}/ds=",
    "ds=a=b/": "Invalid partition name {p}/ds=a=b",
    "ds=empty/": "MSCK is missing partition columns under {p}/ds=empty",
    "ds=a/hr=one/": "Cannot add partition p:ds=a/hr=one because hr is int and cannot be 'one'",
    "ds=known/hr=01/": "Cannot add partition p:ds=known/hr=01 because ds=known/hr=1 lies at {p}/ds=known/hr=1",
}


@pytest.mark.parametrize("path", WRONG)
def test_what_is_no_partition_is_told_of(plain: Session, warehouse: Path, path: str) -> None:
    """hive.msck.path.validation: throw refuses all, skip adds the others with a line about it,
    ignore says nothing.
    """
    plain.sql(ACID)
    plain.sql("ALTER TABLE p ADD PARTITION (ds='known', hr=1)")
    (warehouse / "p/ds=good/hr=1").mkdir(parents=True)
    wrong = warehouse / "p" / path
    (wrong if path.endswith("/") else wrong.parent).mkdir(parents=True, exist_ok=True)
    if not path.endswith("/"):
        wrong.write_bytes(b"x")
    message = WRONG[path].format(p=warehouse / "p")
    with pytest.raises(BindError) as caught:
        plain.sql("MSCK REPAIR TABLE p")
    assert (caught.value.message, caught.value.span is None) == (message, False)
    assert shown(plain) == ["ds=known/hr=1"]
    plain.sql("SET hive.msck.path.validation=skip")
    new = [
        "Partitions not in metastore:\tp:ds=good/hr=1",
        f"Repair: {message}",
        "Repair: Added partition to metastore p:ds=good/hr=1",
    ]
    assert shown(plain, "MSCK REPAIR TABLE p") == new
    plain.sql("SET hive.msck.path.validation=ignore")
    assert shown(plain, "MSCK REPAIR TABLE p") == []


def test_two_directories_are_not_one_partition(plain: Session, warehouse: Path) -> None:
    """Neither is added: nobody can tell which is meant."""
    plain.sql(ACID)
    for name in ("hr=1", "hr=01"):
        (warehouse / "p/ds=a" / name).mkdir(parents=True)
    with pytest.raises(BindError, match="because 2 directories are ds=a/hr=1") as caught:
        plain.sql("MSCK REPAIR TABLE p")
    assert caught.value.detail == "1 more like this"
    plain.sql("SET hive.msck.path.validation=ignore")
    assert shown(plain, "MSCK REPAIR TABLE p") == []


def test_places_of_partitions_are_no_mistakes(plain: Session, warehouse: Path) -> None:
    """One may lie in its table's directory under any name."""
    plain.sql(f"CREATE EXTERNAL TABLE p {COLUMNS}")
    plain.sql(f"ALTER TABLE p ADD PARTITION (ds='a', hr=1) LOCATION '{warehouse}/p/old/one'")
    plain.sql(f"ALTER TABLE p ADD PARTITION (ds='b', hr=1) LOCATION '{warehouse}/p/ds=x'")
    fill(warehouse / "p/old/one", "data")
    fill(warehouse / "p/ds=x", "data")
    assert shown(plain, "MSCK REPAIR TABLE p SYNC PARTITIONS") == []


def test_write_ids_that_others_gave_out_are_declared(plain: Session, warehouse: Path) -> None:
    """MSCK counts none of them as committed by itself: it names what is to be decided. New ones come
    after those that were declared; higher ones are refused again.
    """
    plain.sql(ACID)
    fill(
        warehouse / "p/ds=a/hr=1",
        "base_0000004",
        "delta_0000005_0000007_0001",
        "delete_delta_0000009_0000009_0000",
    )
    fill(warehouse / "p/ds=a/hr=2", "delta_0000008_0000008_0000")
    with pytest.raises(BindError, match="which of the write ids 4-9 of table") as caught:
        plain.sql("MSCK REPAIR TABLE p")
    assert '"ds=a/hr=2/delta_0000008_0000008_0000"' in (caught.value.detail or "")
    assert "acidsql doctor default.p --committed" in (caught.value.hint or "")
    assert shown(plain) == []
    assert plain.store.first_write_id(P) == 1
    ids = [WriteId(i) for i in range(4, 10)]
    plain.store.declare_write_ids(P, committed=ids[:4], aborted=ids[4:])
    plain.sql("MSCK REPAIR TABLE p")
    assert shown(plain) == ["ds=a/hr=1", "ds=a/hr=2"]
    valid = plain.store.valid_write_ids(P, plain.store.valid_txns())
    assert (valid.high_watermark, valid.aborted) == (9, (8, 9))
    assert plain.store.begin([P]).write_ids[P] == 10
    fill(warehouse / "p/ds=b/hr=1", "delta_0000010_0000010_0000")
    fill(warehouse / "p/ds=b/hr=2", "delta_0000011_0000011_0000")
    with pytest.raises(BindError, match="which of the write ids 11 of table"):
        plain.sql("MSCK REPAIR TABLE p")
    assert shown(plain) == ["ds=a/hr=1", "ds=a/hr=2"]


def test_compactions_of_others_are_taken_over_with_their_transactions(
    plain: Session, warehouse: Path
) -> None:
    """Where nothing lies beside them that they were made of. What is compacted here has higher
    numbers.
    """
    plain.sql(ACID)
    fill(warehouse / "p/ds=a/hr=1", "base_0000004_v0000012")
    fill(warehouse / "p/ds=a/hr=2", "base_0000003_v0000011", "delta_0000002_0000002_0000")
    with pytest.raises(BindError, match="which of the write ids 2-3 of table"):
        plain.sql("MSCK REPAIR TABLE p")
    assert plain.store.valid_txns().high_watermark == 0
    shutil.rmtree(warehouse / "p/ds=a/hr=2/delta_0000002_0000002_0000")
    plain.sql("MSCK REPAIR TABLE p")
    assert shown(plain) == ["ds=a/hr=1", "ds=a/hr=2"]
    begun = plain.store.begin([P])
    assert (begun.txn_id, begun.write_ids[P]) == (14, 5)


def test_compactions_of_the_future_are_not_added(plain: Session, warehouse: Path) -> None:
    """Nor by MSCK, where the write ids were given out here: somebody else gave out the
    transaction.
    """
    plain.sql(ACID)
    plain.store.commit(plain.store.begin([P]).txn_id)
    fill(warehouse / "p/ds=a/hr=1", "base_0000001_v0000012")
    with pytest.raises(
        BindError, match="was compacted by transaction 12, and 1 is the highest here"
    ):
        plain.sql("MSCK REPAIR TABLE p")
    assert shown(plain) == []


def test_a_missing_table_directory_drops_no_partition(plain: Session, warehouse: Path) -> None:
    """It is told of, and all stays."""
    plain.sql(ACID)
    plain.sql("ALTER TABLE p ADD PARTITION (ds='a', hr=1)")
    (warehouse / "p").rename(warehouse / "unmounted")
    assert shown(plain, "MSCK REPAIR TABLE p SYNC PARTITIONS") == [
        "Tables missing on filesystem:\tp"
    ]
    assert shown(plain) == ["ds=a/hr=1"]


def test_msck_of_a_table_without_partitions_tells_nothing(plain: Session) -> None:
    """As in Hive."""
    plain.sql("CREATE TABLE t (id INT)")
    assert shown(plain, "MSCK REPAIR TABLE t SYNC PARTITIONS") == []
