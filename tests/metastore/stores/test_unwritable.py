"""Warehouses that are not there, whose metastore was lost, and that cannot be written to."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.errors import Error, MetastoreError
from acidsql.metastore.stores.copying import back_up
from acidsql.session import Session
from acidsql.settings import values
from acidsql.txn.readers import UnwritableError
from tests.cli.running import called

CREATE = "CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture(autouse=True)
def as_users_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first CREATE makes a warehouse."""
    monkeypatch.setitem(values._DEFAULTS, "acidsql.store.create", "needed")


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A warehouse with a table of two rows."""
    with Session(tmp_path / "w", metastore="") as session:
        session.sql(CREATE)
        session.sql("INSERT INTO t VALUES (1)")
        session.sql("INSERT INTO t VALUES (2)")
    return tmp_path / "w"


def database(warehouse: Path) -> Path:
    return warehouse / "_acidsql" / "metastore.db"


# ---- no warehouse


@pytest.mark.parametrize(
    "text", ["SHOW TABLES", "SELECT * FROM t", "INSERT INTO t VALUES (1)", "DROP TABLE t", "USE d"]
)
def test_nothing_but_create_makes_a_warehouse(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What looks for tables says which directory has none, and leaves it as it is."""
    warehouse = tmp_path / "typo"
    for there in (False, True):
        if there:
            warehouse.mkdir()
        ran = called(capsys, "--warehouse", str(warehouse), "--metastore", "", "-e", text)
        assert (ran.code, ran.out) == (1, "")
        assert f'there is no warehouse in "{warehouse}"' in ran.err
        assert "CREATE TABLE or CREATE DATABASE makes one" in ran.err
        assert list(tmp_path.rglob("*")) == ([warehouse] if there else [])


def test_what_needs_no_table_needs_no_warehouse(tmp_path: Path) -> None:
    """Settings and constants; what another session has made meanwhile is found."""
    with Session(tmp_path / "w", metastore="") as session:
        assert list(session.sql("SELECT 1").rows()) == [(1,)]
        session.sql("SET acidsql.retries=2")
        assert list(tmp_path.iterdir()) == []
        with Session(tmp_path / "w", metastore="") as other:
            other.sql(CREATE)
        assert list(session.sql("SHOW TABLES").rows()) == [("t",)]


@pytest.mark.parametrize(
    "text", ["CREATE DATABASE d", "CREATE TABLE x (a INT)", "CREATE TABLE x AS SELECT 1 AS a"]
)
def test_create_makes_one(tmp_path: Path, text: str) -> None:
    with Session(tmp_path / "w", metastore="") as session:
        session.sql(text)
        assert database(tmp_path / "w").exists()


# ---- a lost metastore


@pytest.mark.parametrize("how", ["deleted", "emptied", "deleted with its directory"])
def test_a_lost_metastore_is_no_new_one(
    filled: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside the directories of tables an empty one is said to be that, by whoever comes, and not
    used; who wants to begin anew says so.
    """
    copy = filled.parent / "copy.db"
    shutil.copy(database(filled), copy)
    match how:
        case "deleted":
            database(filled).unlink()
        case "emptied":
            database(filled).write_bytes(b"")
        case _:
            shutil.rmtree(filled / "_acidsql")
    options = ("--warehouse", str(filled), "--metastore", "")
    for command in (("-e", "SELECT * FROM t"), ("-e", "CREATE TABLE u (a INT)"), ("doctor",)):
        ran = called(capsys, *(command + options if command[0] == "doctor" else options + command))
        assert ran.code == 1
        if how != "deleted with its directory" or command[0] != "doctor":
            assert "has directories of tables, and its metastore is" in ran.err
            assert '"t"' in ran.err
    anew = called(
        capsys,
        *options,
        "--hiveconf",
        "acidsql.store.create=always",
        "-e",
        "CREATE TABLE u (a INT)",
    )
    assert anew.code == 0
    shutil.copy(copy, database(filled))
    assert called(capsys, *options, "-S", "-e", "SELECT id FROM t").out.split() == ["1", "2"]


def test_a_backup_is_of_one_moment(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """While a writer is in the middle of something; restored, it is the metastore again."""
    target = filled.parent / "backup.db"
    with sqlite3.connect(database(filled), isolation_level=None) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM TXNS")
        ran = called(capsys, "store", "backup", str(filled), str(target))
        assert ran.code == 0
        assert str(target) in ran.err
        writer.execute("ROLLBACK")
    writer.close()
    assert called(capsys, "store", "backup", str(filled), str(target)).code == 1
    with pytest.raises(MetastoreError, match="there is no warehouse"):
        back_up(str(filled.parent / "typo"), str(target) + "2")
    assert sorted(path.name for path in filled.parent.iterdir()) == ["backup.db", "w"]
    for path in database(filled).parent.iterdir():
        path.unlink()
    shutil.copy(target, database(filled))
    with Session(filled, metastore="") as session:
        assert sorted(session.sql("SELECT id FROM t").rows()) == [(1,), (2,)]
        session.sql("INSERT INTO t VALUES (3)")


# ---- what cannot be written


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("this user may not mount anything")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path) -> None:
    """Leaves not a byte."""
    filler = os.open(disk / "filler", os.O_CREAT | os.O_WRONLY)
    for size in (65_536, 512, 1):
        try:
            while True:
                os.write(filler, bytes(size))
        except OSError:
            pass
    os.close(filler)


def check_reads(warehouse: Path, why: str) -> None:
    """Reads of every kind, which say once that nobody knows of them; writers fail."""
    with Session(warehouse, metastore="") as session:
        first = session.sql("SELECT id FROM t")
        assert [why in warning.message for warning in first.warnings] == [True]
        assert sorted(first.rows()) == [(1,), (2,)]
        late = session.sql("SELECT id FROM t WHERE id > 1")
        assert late.warnings == ()
        assert list(session.sql("SELECT count(*) FROM t").rows()) == [(2,)]
        assert list(session.sql("SHOW TABLES").rows()) == [("t",)]
        assert sum(batch.num_rows for batch in session.scan("t")) == 2
        assert list(late.rows()) == [(2,)]
        for text in ("INSERT INTO t VALUES (3)", "CREATE TABLE u (a INT)", "DROP TABLE t"):
            with pytest.raises(Error):
                session.sql(text)
        assert sorted(session.sql("SELECT id FROM t").rows()) == [(1,), (2,)]


def test_a_read_only_warehouse_is_read(
    filled: Path, disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without locks; nothing is written, so that a medium will do."""
    warehouse = disk / "w"
    shutil.copytree(filled, warehouse)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    check_reads(warehouse, "is read-only")
    assert called(capsys, "doctor", "--warehouse", str(warehouse), "--metastore", "").code == 0


def test_a_read_only_warehouse_is_followed(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What its owner commits is seen, also from the log of a writer who has it open."""
    from acidsql.metastore.stores import sqlite

    with Session(filled, metastore="") as owner:
        monkeypatch.setattr(sqlite, "is_read_only", lambda path: True)
        with Session(filled, metastore="") as reader:
            assert len(list(reader.sql("SELECT id FROM t").rows())) == 2
            owner.sql("INSERT INTO t VALUES (3)")
            assert len(list(reader.sql("SELECT id FROM t").rows())) == 3
            with pytest.raises(UnwritableError, match="is read-only"):
                reader.sql("DELETE FROM t")


@pytest.mark.parametrize("is_open", [False, True])
def test_a_full_disk_is_read(filled: Path, disk: Path, is_open: bool) -> None:
    """Whether or not somebody has the metastore open; and written to when there is room again."""
    warehouse = disk / "w"
    shutil.copytree(filled, warehouse)
    owner = Session(warehouse, metastore="")
    if is_open:
        owner.sql("SHOW TABLES")
    else:
        owner.close()
    fill(disk)
    check_reads(warehouse, "disk")
    (disk / "filler").unlink()
    owner.close()
    with Session(warehouse, metastore="") as session:
        session.sql("INSERT INTO t VALUES (3)")
        assert sorted(session.sql("SELECT id FROM t").rows()) == [(1,), (2,), (3,)]
