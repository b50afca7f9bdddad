"""Files that were committed and are gone: no statement reads what is left as if it were all."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acidsql.catalog.model import Table, TableName
from acidsql.cli.main import main
from acidsql.compaction.doctor.mending import forget_lost
from acidsql.compaction.doctor.rounds import examine_table
from acidsql.errors import FormatError
from acidsql.session import Session
from acidsql.txn.compactions import CompactionState

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
INSERT_ONLY = (
    "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only')"
)
TABLES = {
    "t": f"CREATE TABLE t (id INT, v STRING) {ACID}",
    "p": f"CREATE TABLE p (id INT, v STRING) PARTITIONED BY (d STRING) {ACID}",
    "m": f"CREATE TABLE m (id INT, v STRING) {INSERT_ONLY}",
}


@pytest.fixture
def session(warehouse: Path) -> Iterator[Session]:
    """Tables with two inserts each, one of them deletes too; and one that was made of its rows."""
    with Session(warehouse) as session:
        for name, text in TABLES.items():
            session.sql(text)
            tail = ", 'x'" if name == "p" else ""
            for first in (1, 3):
                session.sql(f"INSERT INTO {name} VALUES ({first}, 'a'{tail}), (9, 'b'{tail})")
        session.sql("DELETE FROM t WHERE id = 1")
        session.sql("DELETE FROM p WHERE id = 1")
        session.sql(f"CREATE TABLE made {ACID} AS SELECT * FROM t")
        yield session
        assert not session.spark_started


def table_of(session: Session, name: str) -> Table:
    table = session.store.find_table(TableName("default", name))
    assert table is not None
    return table


def read(session: Session, name: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in session.sql(f"SELECT id, v FROM {name}").rows())


DELTA = "delta_0000002_0000002_0000"
DELETES = "delete_delta_0000003_0000003_0000"
LOST: dict[str, tuple[str, str, Callable[[Path], None]]] = {
    "a delta": ("t", DELTA, shutil.rmtree),
    "a file": ("t", f"{DELTA}/bucket_00000", Path.unlink),
    "all of a file": ("t", f"{DELTA}/bucket_00000", lambda path: path.write_bytes(b"") and None),
    "half a file": ("t", f"{DELTA}/bucket_00000", lambda path: path.write_bytes(b"ORC") and None),
    "deletes": ("t", DELETES, shutil.rmtree),
    "a table": ("t", "", shutil.rmtree),
    "a delta of a partition": ("p", f"d=x/{DELTA}", shutil.rmtree),
    "deletes of a partition": ("p", f"d=x/{DELETES}", shutil.rmtree),
    "a partition": ("p", "d=x", shutil.rmtree),
    "rows without ids": ("m", f"{DELTA}/000000_0", Path.unlink),
    "rows that came with the table": ("made", "delta_0000001_0000001_0000", shutil.rmtree),
}


@pytest.mark.parametrize("what", LOST)
def test_what_is_lost_is_named(session: Session, warehouse: Path, what: str) -> None:
    """By every statement that reads, and the doctor; what comes back from a copy is read again."""
    name, path, lose = LOST[what]
    before, copy = read(session, name), warehouse.parent / "copy"
    victim = warehouse / name / path
    shutil.copytree(warehouse / name, copy)
    lose(victim)
    gone = path.removesuffix("/bucket_00000").removesuffix("/000000_0")
    reads = [
        f"SELECT * FROM {name}",
        f"SELECT count(*) FROM {name}",
        f"ANALYZE TABLE {name} COMPUTE STATISTICS",
    ]
    changes = (
        [] if name == "m" else [f"UPDATE {name} SET v = 'x'", f"DELETE FROM {name} WHERE id = 3"]
    )
    for text in reads + changes:
        with pytest.raises(FormatError, match=f"files of table default.{name} are lost") as caught:
            session.sql(text).rows()
        assert str(warehouse / name / gone) in caught.value.message
    titles = {
        finding.title
        for finding in examine_table(session.store, session.files, table_of(session, name))
    }
    assert titles & {"lost files", "missing directory"}
    shutil.rmtree(warehouse / name, ignore_errors=True)
    shutil.copytree(copy, warehouse / name)
    assert read(session, name) == before


@pytest.mark.parametrize("content", [b"", b"ORC", b"no ORC file"])
def test_the_damaged_file_of_several_is_named(
    session: Session, warehouse: Path, content: bytes
) -> None:
    """It is empty, or cannot be read; the others are as they were."""
    session.sql(f"CREATE TABLE b (id INT, v STRING) CLUSTERED BY (id) INTO 3 BUCKETS {ACID}")
    session.sql("INSERT INTO b SELECT id, v FROM t")
    *_, victim = sorted((warehouse / "b").rglob("bucket_*"))
    assert len(list(victim.parent.glob("bucket_*"))) > 1
    victim.write_bytes(content)
    with pytest.raises(FormatError, match=f'are lost: "{victim.parent}" has .*, "{victim}" is '):
        read(session, "b")


@pytest.mark.parametrize("what", LOST)
def test_a_table_goes_on_without_what_is_lost_for_good(
    session: Session, warehouse: Path, what: str
) -> None:
    """Once somebody has said so; what is lost later is missed again."""
    name, path, lose = LOST[what]
    lose(warehouse / name / path)
    if what == "half a file":
        (warehouse / name / path).unlink()
    (warehouse / name).mkdir(exist_ok=True)
    assert forget_lost(session.store, session.files, table_of(session, name))
    left = read(session, name)
    assert list(session.sql(f"SELECT count(*) FROM {name}").rows()) == [(len(left),)]
    tail, there = ", 'x'" if name == "p" else "", set((warehouse / name).rglob("delta_*"))
    session.sql(f"INSERT INTO {name} VALUES (7, 'new'{tail})")
    assert read(session, name) == sorted([*left, (7, "new")])
    [new] = set((warehouse / name).rglob("delta_*")) - there
    shutil.rmtree(new)
    with pytest.raises(FormatError, match="are lost"):
        read(session, name)


def test_nothing_is_missed_that_went_by_a_statement(session: Session, warehouse: Path) -> None:
    """Overwritten, truncated, dropped, moved, compacted, renamed: the record goes along."""
    session.settings.set("acidsql.compactor.auto", "false")
    for text in (
        "ALTER TABLE t COMPACT 'minor' AND WAIT",
        "INSERT INTO t VALUES (5, 'c')",
        "ALTER TABLE t COMPACT 'major' AND WAIT",
        "ALTER TABLE t RENAME TO u",
        "UPDATE u SET v = 'x'",
        "ALTER TABLE p PARTITION (d='x') RENAME TO PARTITION (d='y')",
        "INSERT INTO p VALUES (4, 'd', 'y')",
        "ALTER TABLE p PARTITION (d='y') COMPACT 'major' AND WAIT",
        "INSERT OVERWRITE TABLE m VALUES (8, 'e')",
        "TRUNCATE TABLE made",
        "INSERT INTO made VALUES (1, 'z')",
    ):
        session.sql(text)
    assert [len(read(session, name)) for name in ("u", "p", "m", "made")] == [4, 4, 1, 1]
    assert list(session.sql("SELECT count(*) FROM u").rows()) == [(4,)]
    session.sql("ALTER TABLE p DROP PARTITION (d='y')")
    session.sql("INSERT INTO p VALUES (1, 'a', 'y')")
    assert read(session, "p") == [(1, "a")]
    session.sql("DROP TABLE u")
    session.sql(TABLES["t"].replace("TABLE t", "TABLE u"))
    assert read(session, "u") == []
    for name in ("u", "p", "m", "made"):
        assert examine_table(session.store, session.files, table_of(session, name)) == []


def test_a_compaction_keeps_away_from_what_is_lost(session: Session, warehouse: Path) -> None:
    """Else the rows that are left would be all that there ever were."""
    shutil.rmtree(warehouse / "t" / DELTA)
    session.sql("ALTER TABLE t COMPACT 'major' AND WAIT")
    [entry] = session.store.compactions()
    assert entry.state is CompactionState.FAILED
    assert f'"{warehouse}/t/{DELTA}" is gone' in (entry.message or "")
    assert not list((warehouse / "t").glob("base_*"))


def test_doctor_says_it_and_takes_it_off_the_record(
    session: Session, warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It exits with 1 until somebody has said that the files are gone for good."""
    shutil.rmtree(warehouse / "t" / DELTA)
    doctor = ["doctor", "--warehouse", str(warehouse), "t"]
    assert main(doctor) == 1
    assert f'"{warehouse}/t/{DELTA}" is gone' in capsys.readouterr().out
    assert main([*doctor, "--repair"]) == 1
    assert main([*doctor, "--forget-lost"]) == 0
    assert f"{DELTA}: off the record" in capsys.readouterr().err
    assert main(["doctor", "--warehouse", str(warehouse), "--forget-lost"]) == 1
    assert "--forget-lost is for one table" in capsys.readouterr().err
