"""What else lies in directories of Hive's: every door goes by it, or says what is to be done; no row
is missing or comes twice.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acidsql.catalog.model import Table, TableName
from acidsql.cli.doctor import declare
from acidsql.compaction.doctor.mending import mend
from acidsql.compaction.doctor.rounds import examine_table
from acidsql.errors import BindError, FormatError, OperationalError
from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
COLUMNS = "(id INT, name STRING) PARTITIONED BY (Region STRING)"
ROWS = [
    (1, "a", "New York"),
    (3, "C", "New York"),
    (5, "e", "New York"),
    (7, "g", "x=y"),
    (8, "h", "x=y"),
]
YORK, XY = "region=New York", "region=x%3Dy"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", settings={"acidsql.engine": "local"}) as opened:
        yield opened
        assert not opened.spark_started


@pytest.fixture
def home(session: Session, tmp_path: Path) -> Path:
    """A table of others: one partition is a compacted base with a delta and deletes, and one has
    deltas alone.
    """
    with Session(tmp_path / "hive", settings={"acidsql.engine": "local"}) as other:
        other.sql(f"CREATE TABLE t {COLUMNS} {ACID}")
        other.sql(
            "INSERT INTO t VALUES (1, 'a', 'New York'), (2, 'b', 'New York'), (6, 'f', 'x=y')"
        )
        other.sql("INSERT INTO t VALUES (3, 'c', 'New York'), (7, 'g', 'x=y')")
        other.sql("ALTER TABLE t PARTITION (region='New York') COMPACT 'major' AND WAIT")
        other.sql("INSERT INTO t VALUES (5, 'e', 'New York'), (8, 'h', 'x=y')")
        other.sql("UPDATE t SET name = 'C' WHERE id = 3")
        other.sql("DELETE FROM t WHERE id = 2 OR id = 6")
    return tmp_path / "hive" / "t"


def write(path: Path, content: bytes = b"x") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def base(home: Path) -> Path:
    [found] = (home / YORK).glob("base_*")
    return found


def with_attempts(home: Path) -> None:
    """Hive 4 names the attempt of a task, of inserts and deletes alike."""
    for file in list(home.rglob("bucket_00000")):
        file.rename(file.with_name("bucket_00000_1"))


def without_version_files(home: Path) -> None:
    for file in home.rglob("_orc_acid_version"):
        file.unlink()


def hidden(home: Path) -> None:
    write(home / YORK / "_tmp_space.db" / "delta_0000009_0000009_0000" / "bucket_00000")
    write(home / XY / "_tmp.delta_0000009_0000009_0000" / "bucket_00000")
    write(home / XY / "_tmp_9b1c" / "base_0000099" / "bucket_00000")


def staging(home: Path) -> None:
    write(home / ".hive-staging_hive_2024-01-02_1" / "-ext-10000" / "000000_0")
    write(home / YORK / ".hive-staging_hive_2024-01-02_2" / "_task_tmp.-ext-10002" / "000000_0")


def in_itself(home: Path) -> None:
    shutil.copytree(base(home), home / "copy")
    (home / "copy").rename(base(home) / base(home).name)


def deltas_in_themselves(home: Path) -> None:
    for delta in list((home / XY).glob("del*")):
        shutil.copytree(delta, home / "copy")
        (home / "copy").rename(delta / delta.name)


def failed_base(home: Path) -> None:
    """Of a compaction that never committed; what it should have taken in is all there is."""
    (home / XY / "base_0000004_v0000021").mkdir()


def empty_base_with_version_file(home: Path) -> None:
    write(home / XY / "base_0000004_v0000021" / "_orc_acid_version", b"2")


ENTRIES: dict[str, Callable[[Path], None]] = {
    "nothing": lambda home: None,
    "temporary": hidden,
    "staging of Hive": staging,
    "attempts": with_attempts,
    "no version files": without_version_files,
    "a base in itself": in_itself,
    "deltas in themselves": deltas_in_themselves,
    "an empty base of a failed compaction": failed_base,
    "and one with a version file": empty_base_with_version_file,
}


def rows(session: Session, name: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in session.sql(f"SELECT * FROM {name}").rows())


def table_of(session: Session) -> Table:
    table = session.store.find_table(TableName("default", "t"))
    assert table is not None
    return table


def repair(session: Session) -> list[str]:
    done = []
    for finding in examine_table(session.store, session.files, table_of(session)):
        try:
            done.append(mend(session.store, session.files, table_of(session), finding))
        except OperationalError as error:
            done.append(error.message)
    return done


@pytest.mark.parametrize("entry", ENTRIES)
def test_attach_reads_all_rows(entry: str, session: Session, home: Path) -> None:
    """Under the name of the partition that the directory has, and asks about the same write ids."""
    ENTRIES[entry](home)
    before = sorted(home.rglob("*"))
    with pytest.raises(BindError, match="could be of transactions that were aborted") as asked:
        session.sql(f"ATTACH TABLE t FROM '{home}'")
    lines = (asked.value.detail or "").splitlines()
    assert [line.partition(":")[0] for line in lines] == ["1", "2", "3", "4", "5"]
    result = session.sql(f"ATTACH TABLE t FROM '{home}' ASSUME COMMITTED")
    assert ("never committed" in str(result.warnings)) is ("empty" in entry or "and one" in entry)
    assert rows(session, "t") == ROWS
    assert sorted(home.rglob("*")) == before


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_rows_that_msck_takes_over(entry: str, session: Session, home: Path) -> None:
    """Once somebody has said what became of the write ids, and none before. What never committed
    is to be removed first.
    """
    ENTRIES[entry](home)
    session.sql(f"CREATE TABLE t {COLUMNS} {ACID}")
    shutil.copytree(home, table_of(session).location, dirs_exist_ok=True)
    session.sql("SET hive.msck.path.validation=skip")
    with pytest.raises(BindError, match="it is not known which of the write ids 1-5"):
        session.sql("MSCK REPAIR TABLE t")
    assert rows(session, "t") == []
    assert any(line.startswith("not mended: acidsql doctor default.t") for line in repair(session))
    declare(session, table_of(session), "rest", None)
    session.sql("MSCK REPAIR TABLE t")
    repair(session)
    assert rows(session, "t") == ROWS
    session.sql("INSERT INTO t VALUES (9, 'i', 'x=y')")
    session.sql("UPDATE t SET name = 'G' WHERE id = 7")
    now = sorted([*(row for row in ROWS if row[0] != 7), (7, "G", "x=y"), (9, "i", "x=y")])
    assert rows(session, "t") == now
    for name in ("New York", "x=y"):
        session.sql(f"ALTER TABLE t PARTITION (region='{name}') COMPACT 'major' AND WAIT")
    assert rows(session, "t") == now


def test_an_empty_result_hides_no_rows(session: Session, home: Path) -> None:
    """Also where write ids were declared before it came: MSCK refuses it, and the doctor names it."""
    session.sql(f"CREATE TABLE t {COLUMNS} {ACID}")
    copy = Path(table_of(session).location)
    shutil.copytree(home, copy, dirs_exist_ok=True)
    declare(session, table_of(session), "rest", None)
    (copy / XY / "base_0000004_v0000001").mkdir()
    with pytest.raises(BindError, match="would hide the rows beside it"):
        session.sql("MSCK REPAIR TABLE t")
    (copy / XY / "base_0000004_v0000001").rmdir()
    session.sql("MSCK REPAIR TABLE t")
    (copy / XY / "base_0000004_v0000001").mkdir()
    found = examine_table(session.store, session.files, table_of(session))
    assert "empty result of a compaction" in [one.title for one in found]
    assert any("remove it if no row is missing without it" in line for line in repair(session))


def attached_rows(session: Session, home: Path) -> list[tuple[object, ...]]:
    session.sql(f"ATTACH TABLE a FROM '{home}' ASSUME COMMITTED")
    return rows(session, "a")


def other_inside(home: Path) -> None:
    in_itself(home)
    write(base(home) / base(home).name / "bucket_00000", b"other")


def open_stream(home: Path) -> None:
    write(next((home / XY).glob("delta_*")) / "bucket_00000_flush_length", b"\0" * 8)


@pytest.mark.parametrize(
    ("does", "message"),
    [
        (other_inside, "lies inside another directory"),
        (open_stream, "a streaming writer has .* open"),
    ],
)
def test_what_cannot_be_told_is_named(
    does: Callable[[Path], None], message: str, session: Session, home: Path
) -> None:
    """By the statement that attaches or the one that reads; the doctor goes on, and removes
    nothing.
    """
    does(home)
    with pytest.raises(FormatError, match=message):
        attached_rows(session, home)
    session.sql(f"CREATE TABLE t {COLUMNS} {ACID}")
    shutil.copytree(home, table_of(session).location, dirs_exist_ok=True)
    declare(session, table_of(session), "rest", None)
    session.sql("MSCK REPAIR TABLE t")
    before = sorted(Path(table_of(session).location).rglob("*"))
    repair(session)
    assert sorted(Path(table_of(session).location).rglob("*")) == before
    with pytest.raises(FormatError, match=message):
        rows(session, "t")
