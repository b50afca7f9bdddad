"""The file: where it may lie, who may open it, and what becomes of SQLite's errors."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.sql.compiler import SQLCompiler

from acidsql.catalog.model import (
    Bucketing,
    Column,
    Database,
    Partition,
    SortColumn,
    Table,
    TableName,
)
from acidsql.catalog.types import parse_type
from acidsql.errors import CommitStateUnknownError, MetastoreBusyError, MetastoreError
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.metastore.sql import sqlite
from acidsql.metastore.sql.sqlite import SQLiteConnection
from acidsql.metastore.stores import database_file
from acidsql.txn.readers import UnwritableError

T = TableName("default", "t")
Reopen = Callable[..., EmbeddedMetastore]


@pytest.fixture
def metastore_url() -> None:
    """The file is what it is about."""


def table(name: TableName = T, location: str = "") -> Table:
    return Table(name=name, columns=(Column(name="a", type=parse_type("int")),), location=location)


def run(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_the_file_is_set_up_for_safety(metastore: EmbeddedMetastore) -> None:
    """Write-ahead log, full sync, foreign keys, patience; on every connection."""
    pragmas = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 30_000}
    with metastore._store.read() as first, metastore._store.read() as second:
        for connection in (first, second):
            assert {name: connection.scalar(text(f"PRAGMA {name}")) for name in pragmas} == pragmas


def drop_notes_twice(connection: Connection) -> None:
    for _ in range(2):
        connection.execute(text("DROP TABLE NOTES"))


def test_what_need_not_last_does_not_wait_for_the_disk(reopen: Reopen) -> None:
    """It is there for others at once, and all or nothing, as what lasts is."""
    one, other = reopen(), reopen()
    with one._store.write(durable=False) as connection:
        assert connection.scalar(text("PRAGMA synchronous")) == 1
        connection.execute(text("CREATE TABLE NOTES (NOTE TEXT)"))
    with pytest.raises(MetastoreError), one._store.write(durable=False) as connection:
        drop_notes_twice(connection)
    with other._store.read() as connection:
        assert connection.scalar(text("SELECT count(*) FROM NOTES")) == 0
    with one._store.write() as connection:
        assert connection.scalar(text("PRAGMA synchronous")) == 2


def test_a_writer_reads_what_is_still_true_when_it_writes(reopen: Reopen) -> None:
    """The write lock is taken before the first read: no lost update, no failed upgrade of a stale
    snapshot.
    """
    metastore, other = reopen(), reopen()
    with metastore._store.write() as writer:
        assert writer.scalar(text("SELECT max(TXN_ID) FROM TXNS")) == 0
        blocked = sqlite3.connect(other._store.path, timeout=0)
        with pytest.raises(sqlite3.OperationalError, match="database is locked"):
            blocked.execute("BEGIN IMMEDIATE")
        blocked.close()
        assert other.valid_txns().high_watermark == 0  # readers do not wait


def test_closing_twice_is_no_error(reopen: Reopen) -> None:
    """And leaves a file that is complete without its log."""
    metastore = reopen()
    metastore.open_txn()
    metastore.close()
    metastore.close()
    assert [path.name for path in metastore._store.path.parent.iterdir()] == ["metastore.db"]


def test_stores_share_what_was_compiled(reopen: Reopen, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement that was not compiled ahead costs its compilation once a process."""
    compiled: list[object] = []
    compile_one = SQLCompiler.__init__

    def counting(self: SQLCompiler, *args: Any, **options: Any) -> None:
        compiled.append(args[1])
        compile_one(self, *args, **options)

    monkeypatch.setattr(SQLCompiler, "__init__", counting)
    monkeypatch.setattr(sqlite, "known", {})
    reopen().open_txn()
    assert not compiled
    monkeypatch.setattr(sqlite, "known", {})
    monkeypatch.setattr(sqlite, "_ahead", lambda: {"statements": {}})
    reopen().open_txn()
    assert compiled
    compiled.clear()
    reopen().open_txn()
    assert not compiled


# --- places
# --------------------------------------------------------------------------------------------------


def test_default_locations(metastore: EmbeddedMetastore, warehouse: Path) -> None:
    """Hive's: the warehouse, a directory ending in .db for each further database, one in it for
    each table.
    """
    metastore.create_database(Database(name="sales", location=""))
    metastore.create_database(Database(name="far", location="s3a://bucket/far/"))
    places = [
        metastore.create_table(table(TableName(name, "t"))).location
        for name in ("default", "sales", "far")
    ]
    assert places == [f"{warehouse}/t", f"{warehouse}/sales.db/t", "s3a://bucket/far/t"]
    found = metastore.find_database("default")
    assert found is not None
    assert found.location == str(warehouse)


def test_a_moved_warehouse_still_works(reopen: Reopen, warehouse: Path, tmp_path: Path) -> None:
    """Places inside it move with it, others stay."""
    metastore = reopen()
    metastore.create_database(Database(name="sales", location=""))
    inside = metastore.create_table(table(TableName("sales", "inside"))).name
    outside = metastore.create_table(
        table(TableName("sales", "outside"), str(tmp_path / "outside"))
    ).name
    metastore.close()
    moved = shutil.move(warehouse, tmp_path / "moved")
    with EmbeddedMetastore(str(moved)) as there:
        for name, place in (
            (inside, f"{moved}/sales.db/inside"),
            (outside, str(tmp_path / "outside")),
        ):
            found = there.find_table(name)
            assert found is not None
            assert found.location == place


def test_partitions_name_the_columns_of_their_table(metastore: EmbeddedMetastore) -> None:
    """Hive asks a partition, not its table, for its buckets: a renamed column has its new name
    there too.
    """
    columns = tuple(Column(name=name, type=parse_type("int")) for name in ("a", "b"))
    keys = (Column(name="ds", type=parse_type("int")),)
    buckets = Bucketing(columns=("b", "a"), count=2, sorted_by=(SortColumn(name="b"),))
    before = metastore.create_table(
        replace(table(), columns=columns, partition_columns=keys, bucketing=buckets)
    )
    metastore.add_partitions(T, [Partition(values=("1",), location=f"{before.location}/ds=1")])
    buckets = Bucketing(columns=("c", "a"), count=2, sorted_by=(SortColumn(name="c"),))
    metastore.alter_table(
        before,
        replace(before, columns=(columns[0], replace(columns[1], name="c")), bucketing=buckets),
    )
    with sqlite3.connect(metastore._store.path) as connection:
        names = "SELECT SD_ID, INTEGER_IDX, BUCKET_COL_NAME FROM BUCKETING_COLS ORDER BY 1, 2"
        assert connection.execute(names).fetchall() == [
            (1, 0, "c"),
            (1, 1, "a"),
            (2, 0, "c"),
            (2, 1, "a"),
        ]
        assert connection.execute(
            "SELECT SD_ID, COLUMN_NAME FROM SORT_COLS ORDER BY 1"
        ).fetchall() == [(1, "c"), (2, "c")]
    connection.close()


def test_a_hard_linked_warehouse_parts_from_its_origin(
    reopen: Reopen, warehouse: Path, tmp_path: Path
) -> None:
    """Each has its own history from then on; one file under two names would destroy
    SQLite's log.
    """
    metastore = reopen()
    metastore.create_table(table())
    metastore.begin([T])
    metastore.close()
    shutil.copytree(warehouse, tmp_path / "copy", copy_function=os.link)
    with (
        EmbeddedMetastore(str(tmp_path / "copy")) as copy,
        EmbeddedMetastore(str(warehouse)) as origin,
    ):
        assert not os.path.samefile(copy._store.path, origin._store.path)
        copy.drop_table(T)
        assert origin.find_table(T) is not None
        assert copy.open_txn() == origin.open_txn() == 2
    assert [path.name for path in copy._store.path.parent.iterdir()] == ["metastore.db"]


def test_a_hard_link_to_a_store_in_use_is_refused(
    metastore: EmbeddedMetastore, warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is parted from a file that another process has open."""
    monkeypatch.setattr(database_file, "_DETACH_TIMEOUT_SECONDS", 0)
    shutil.copytree(warehouse, tmp_path / "copy", copy_function=os.link)
    with pytest.raises(MetastoreError, match="hard-linked to another warehouse"):
        EmbeddedMetastore(str(tmp_path / "copy"))
    assert metastore.open_txn() == 1


def test_a_warehouse_may_be_given_as_a_url_or_with_a_tilde(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As users write it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for given in (f"file://{tmp_path}/wh", f"file:{tmp_path}/wh", "~/wh", "wh/", "./other/../wh"):
        with EmbeddedMetastore(given) as metastore:
            assert metastore.warehouse == f"{tmp_path}/wh"


def test_a_warehouse_elsewhere_is_refused() -> None:
    """SQLite lives on local disks."""
    with pytest.raises(
        MetastoreError, match='the warehouse "s3a://bucket/wh" is not a local directory'
    ):
        EmbeddedMetastore("s3a://bucket/wh")


def test_a_warehouse_that_cannot_be_made(tmp_path: Path) -> None:
    """Names the directory and the reason."""
    (tmp_path / "file").write_text("")
    with pytest.raises(
        MetastoreError, match=f'the warehouse "{tmp_path}/file/wh" cannot be used: not a directory'
    ):
        EmbeddedMetastore(str(tmp_path / "file" / "wh"))


def test_a_read_only_warehouse(
    reopen: Reopen, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Is read; writing is refused with the reason."""
    reopen().close()
    # the superuser may write anywhere
    monkeypatch.setattr(os, "access", lambda path, mode, **_: not mode & os.W_OK)
    store = reopen()
    assert store.list_databases() == ("default",)
    with pytest.raises(UnwritableError, match=f'the warehouse "{warehouse}" is read-only'):
        store.open_txn()


def test_a_network_file_system_is_refused(
    reopen: Reopen, warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its type, which the innermost mount decides."""
    mounts = tmp_path / "mounts"
    root = "1 0 8:1 / / rw - ext4 /dev/sda rw\n"
    nfs = f"2 1 0:50 / {tmp_path} rw,relatime shared:1 - nfs4 server:/export rw\n"
    local = f"3 2 8:2 / {warehouse} rw - xfs /dev/sdb rw\n"
    elsewhere = f"4 1 0:51 / {warehouse}2 rw - nfs server:/x rw\n"
    monkeypatch.setattr(database_file, "MOUNTS", str(mounts))
    mounts.write_text(root + nfs + elsewhere)
    with pytest.raises(MetastoreError, match=r"lies on a network file system \(nfs4\)"):
        reopen()
    mounts.write_text(root + nfs + local + elsewhere)
    reopen()


@pytest.mark.parametrize(
    "kind",
    "nfs nfs4 cifs smb3 9p lustre ceph glusterfs gpfs beegfs afs fuse.sshfs fuse.glusterfs"
    " fuse.ceph fuse.rclone fuse.s3fs fuse.juicefs".split(),
)
def test_file_systems_of_several_hosts(
    reopen: Reopen, warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Are refused for a file, on mount points with blanks too; the hint names the way out."""
    mounts = tmp_path / "mounts"
    monkeypatch.setattr(database_file, "MOUNTS", str(mounts))
    where = str(warehouse / "a b")
    mounts.write_text(f"1 0 0:1 / {where.replace(' ', chr(92) + '040')} rw - {kind} there rw\n")
    with pytest.raises(MetastoreError, match=rf"network file system \({kind}\)") as caught:
        EmbeddedMetastore(where)
    assert "--metastore postgresql+psycopg://" in str(caught.value.hint)
    assert not (warehouse / "a b" / "_acidsql" / "metastore.db").exists()
    reopen()


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "fuse.lxcfs", "zfs"])
def test_file_systems_of_one_host(
    reopen: Reopen, warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Are good for a file."""
    mounts = tmp_path / "mounts"
    monkeypatch.setattr(database_file, "MOUNTS", str(mounts))
    mounts.write_text(f"1 0 0:1 / {warehouse} rw - {kind} here rw\n")
    reopen()


# --- errors
# --------------------------------------------------------------------------------------------------


def test_a_damaged_file(reopen: Reopen, warehouse: Path) -> None:
    """Is reported as one, with the path."""
    (warehouse / "_acidsql").mkdir(parents=True)
    (warehouse / "_acidsql" / "metastore.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(
        MetastoreError, match=r"metastore\.db\" could not be read: file is not a database"
    ) as caught:
        reopen()
    assert caught.value.hint is not None


def test_a_missing_table(metastore: EmbeddedMetastore) -> None:
    """Never a raw error of SQLite or SQLAlchemy."""
    run(metastore._store.path, "DROP TABLE WRITE_SET")
    with pytest.raises(MetastoreError, match="could not be written: no such table: WRITE_SET"):
        metastore.create_table(table())


def test_a_store_that_is_busy_for_too_long(reopen: Reopen) -> None:
    """Says so, and by whom."""
    metastore, other = reopen(), reopen(patience_seconds=0)
    with (
        metastore._store.write(),
        pytest.raises(MetastoreBusyError, match="be written: database is locked") as caught,
    ):
        other.open_txn()
    assert f"process {os.getpid()} (" in str(caught.value.hint)
    assert other.open_txn() == 1


BROKEN_COMMIT = (
    "CREATE TABLE parent (id INTEGER PRIMARY KEY)",
    "CREATE TABLE child (id INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)",
    "CREATE TRIGGER breaks AFTER UPDATE OF TXN_STATE ON TXNS WHEN NEW.TXN_STATE = 'c' BEGIN INSERT INTO child VALUES (1); END",
)
"""SQLite checks the child's parent at COMMIT, which fails; before that all goes well."""


def test_a_commit_that_fails_is_unknown(metastore: EmbeddedMetastore) -> None:
    """Not called aborted, not retryable; carries the transaction, which the store still shows as
    open.
    """
    run(metastore._store.path, *BROKEN_COMMIT)
    txn_id = metastore.open_txn()
    with pytest.raises(
        CommitStateUnknownError, match=f"txnid:{txn_id} may or may not have been committed"
    ) as caught:
        metastore.commit(txn_id)
    assert (caught.value.txn_id, caught.value.retryable) == (txn_id, False)
    assert metastore.valid_txns().open == (txn_id,)
    run(metastore._store.path, "DROP TRIGGER breaks")
    metastore.commit(txn_id)


def test_a_commit_that_took_place_though_it_failed(
    metastore: EmbeddedMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Is found out by asking the store: no error."""
    txn_id = metastore.open_txn()

    def commit_and_fail(connection: SQLiteConnection) -> None:
        monkeypatch.undo()
        connection.commit()
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(SQLiteConnection, "commit", commit_and_fail)
    metastore.commit(txn_id)
    assert metastore.valid_txns().is_valid(txn_id)
