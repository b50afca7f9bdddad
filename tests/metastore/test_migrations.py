"""The schema's versions."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from acidsql.catalog.model import (
    Column,
    Constraint,
    ConstraintKind,
    Skew,
    Table,
    TableKind,
    TableName,
    View,
)
from acidsql.catalog.types import parse_type
from acidsql.errors import MetastoreError
from acidsql.metastore import migrations
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.metastore.migrations import MIGRATIONS, Migration, migrate, schema_version
from acidsql.txn.compactions import CompactionRequest, CompactionType
from acidsql.txn.locks import LockComponent, LockRequest, LockType

Reopen = Callable[..., EmbeddedMetastore]
COLUMN = Column(name="id", type=parse_type("int"))
SKEW = Skew(columns=("id",), values=(("1",),), directories=True)


@pytest.fixture
def metastore_url() -> None:
    """The file is what it is about."""


def add_note(connection: Connection) -> None:
    if "NOTE" not in {row.name for row in connection.execute(text("PRAGMA table_info(TBLS)"))}:
        connection.execute(text("ALTER TABLE TBLS ADD COLUMN NOTE TEXT"))


def add_notes(connection: Connection) -> None:
    connection.execute(text("CREATE TABLE IF NOT EXISTS NOTES (NOTE TEXT)"))


def version(metastore: EmbeddedMetastore) -> int:
    with metastore._store.read() as connection:
        return schema_version(connection)


def test_a_new_store_has_the_newest_version(metastore: EmbeddedMetastore) -> None:
    """And says so in Hive's VERSION table."""
    assert version(metastore) == len(MIGRATIONS)


def test_an_older_store_runs_only_what_it_lacks(
    reopen: Reopen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In order, when it is opened, keeping what it holds."""
    ran: list[str] = []

    def step(name: str, migration: Migration) -> Migration:
        def run(connection: Connection) -> None:
            ran.append(name)
            migration(connection)

        return run

    old = reopen()
    txn_id = old.open_txn()
    newer = (
        step("tables", MIGRATIONS[0]),
        *MIGRATIONS[1:],
        step("column", add_note),
        step("table", add_notes),
    )
    monkeypatch.setattr(migrations.migrate, "__defaults__", (newer,))
    monkeypatch.setattr(migrations.is_current, "__defaults__", (newer,))
    migrated = reopen()
    assert ran == ["column", "table"]
    assert version(migrated) == len(newer)
    assert migrated.valid_txns().open == (txn_id,)
    reopen()
    assert ran == ["column", "table"]


def test_a_step_may_be_run_again(metastore: EmbeddedMetastore) -> None:
    """A new store runs them all on tables that are already as they are today."""
    with metastore._store.write() as connection:
        for step in MIGRATIONS:
            step(connection)


def as_version_1(path: Path) -> None:
    """Makes of a store what the first version left: no tables and columns that came later."""
    later = ("COMPACTION_QUEUE", "COMPLETED_COMPACTIONS", "NEXT_COMPACTION_QUEUE_ID", "HIVE_LOCKS", "NEXT_LOCK_ID", "PART_COL_STATS", "TAB_COL_STATS", "KEY_CONSTRAINTS", "PARTITION_PARAMS", "PARTITION_KEY_VALS", "PARTITIONS", "SERDE_PARAMS",
             "SORT_COLS", "SKEWED_COL_NAMES", "SKEWED_VALUES", "SKEWED_STRING_LIST_VALUES", "SKEWED_STRING_LIST")  # fmt: skip
    with closing(sqlite3.connect(path)) as connection:
        for name in later:
            connection.execute(f"DROP TABLE {name}")
        for table, column in (
            ("TBLS", "VIEW_ORIGINAL_TEXT"),
            ("TBLS", "VIEW_EXPANDED_TEXT"),
            ("SDS", "IS_STOREDASSUBDIRECTORIES"),
        ):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        connection.execute("UPDATE VERSION SET SCHEMA_VERSION = '1'")
        connection.commit()


def test_a_store_of_the_first_version_is_brought_up_to_date(reopen: Reopen) -> None:
    """Its tables stay as they are, and what came later can be stored."""
    old = reopen()
    plain = old.create_table(
        Table(
            name=TableName("default", "t"),
            columns=(COLUMN,),
            location="/data/t",
            properties={"k": "v"},
        )
    )
    path = old._store.path
    old.close()
    as_version_1(path)
    migrated = reopen()
    assert version(migrated) == len(MIGRATIONS)
    assert migrated.find_table(plain.name) == plain
    rule = Constraint(kind=ConstraintKind.NOT_NULL, name="nn", columns=("id",))
    view = View(original="SELECT 1", expanded="SELECT 1")
    ruled = migrated.create_table(
        replace(plain, name=TableName("default", "ruled"), constraints=(rule,), skew=SKEW)
    )
    shown = migrated.create_table(
        replace(plain, name=TableName("default", "v"), kind=TableKind.VIEW, location="", view=view)
    )
    assert (ruled.constraints, ruled.skew, shown.view) == ((rule,), SKEW, view)


def test_a_store_without_locks_gets_them(reopen: Reopen) -> None:
    """One of version 3: its open transactions can lock, and ids go on when it is opened again."""
    old = reopen()
    txn_id = old.open_txn()
    path = old._store.path
    old.close()
    with closing(sqlite3.connect(path)) as connection:
        for statement in (
            "DROP TABLE HIVE_LOCKS",
            "DROP TABLE NEXT_LOCK_ID",
            "UPDATE VERSION SET SCHEMA_VERSION = '3'",
        ):
            connection.execute(statement)
        connection.commit()
    migrated = reopen()
    assert version(migrated) == len(MIGRATIONS)
    request = LockRequest(
        components=(LockComponent(database="default", type=LockType.SHARED_READ),)
    )
    assert migrated.lock(request, txn_id).lock_id == 1
    assert reopen().lock(request).lock_id == 2
    migrated.commit(txn_id)
    assert [lock.lock_id for lock in migrated.list_locks()] == [2]


def test_a_store_without_leases_gets_them(reopen: Reopen) -> None:
    """One of version 9: an entry that was being worked on is taken with one."""
    old = reopen()
    asked = CompactionRequest(
        table=TableName("default", "t"),
        partition=None,
        type=CompactionType.MAJOR,
        initiator="node1-manual",
    )
    number = old.enqueue_compaction(asked).compaction_id
    assert old.next_compaction("node1-1") is not None
    path = old._store.path
    old.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE COMPACTION_QUEUE DROP COLUMN CQ_LEASE")
        connection.execute("UPDATE VERSION SET SCHEMA_VERSION = '9'")
        connection.commit()
    migrated = reopen()
    migrated.return_compaction(number, at_once=True)
    taken = migrated.next_compaction("node1-2")
    assert taken is not None
    assert taken.lease == 1


def test_a_failed_migration_changes_nothing(metastore: EmbeddedMetastore) -> None:
    """All steps and the version are one transaction."""

    def fail(connection: Connection) -> None:
        raise MetastoreError("no")

    with pytest.raises(MetastoreError, match=r"^no$"), metastore._store.write() as connection:
        migrate(connection, (*MIGRATIONS, add_notes, fail))
    with metastore._store.read() as connection:
        assert schema_version(connection) == len(MIGRATIONS)
        assert (
            connection.scalar(text("SELECT count(*) FROM sqlite_master WHERE name = 'NOTES'")) == 0
        )


@pytest.mark.parametrize(
    ("stamp", "message"),
    [
        ("99", "the metastore has schema version 99, this acidsql knows versions up to"),
        ("4.0.0", "not written by acidsql"),
    ],
)
def test_a_store_of_the_future_is_not_touched(reopen: Reopen, stamp: str, message: str) -> None:
    """Its tables may mean something else by then."""
    metastore = reopen()
    path: Path = metastore._store.path
    metastore.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE VERSION SET SCHEMA_VERSION = ?", (stamp,))
    connection.close()
    before = path.read_bytes()
    with pytest.raises(MetastoreError, match=message):
        reopen()
    assert path.read_bytes() == before
