"""The schema's versions."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from acidsql.errors import MetastoreError
from acidsql.metastore import migrations
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.metastore.migrations import MIGRATIONS, Migration, migrate, schema_version

Reopen = Callable[..., EmbeddedMetastore]


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


def test_an_older_store_runs_only_what_it_lacks(reopen: Reopen, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, when it is opened, keeping what it holds."""
    ran: list[str] = []

    def step(name: str, migration: Migration) -> Migration:
        def run(connection: Connection) -> None:
            ran.append(name)
            migration(connection)

        return run

    old = reopen()
    txn_id = old.open_txn()
    newer = (step("tables", MIGRATIONS[0]), *MIGRATIONS[1:], step("column", add_note), step("table", add_notes))
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


def test_a_failed_migration_changes_nothing(metastore: EmbeddedMetastore) -> None:
    """All steps and the version are one transaction."""

    def fail(connection: Connection) -> None:
        raise MetastoreError("no")

    with pytest.raises(MetastoreError, match=r"^no$"), metastore._store.write() as connection:
        migrate(connection, (*MIGRATIONS, add_notes, fail))
    with metastore._store.read() as connection:
        assert schema_version(connection) == len(MIGRATIONS)
        assert connection.scalar(text("SELECT count(*) FROM sqlite_master WHERE name = 'NOTES'")) == 0


@pytest.mark.parametrize(
    ("stamp", "message"),
    [("99", "the metastore has schema version 99, this acidsql knows versions up to"), ("4.0.0", "not written by acidsql")],
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
