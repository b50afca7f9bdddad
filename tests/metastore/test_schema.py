"""The version of a store's schema."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from acidsql.errors import MetastoreError
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.metastore.schema import SCHEMA, create, is_current, is_empty
from acidsql.metastore.sql import insert
from acidsql.metastore.tables import METADATA, VERSION
from acidsql.txn.locks import LockComponent, LockRequest, LockType

Reopen = Callable[..., EmbeddedMetastore]


@pytest.fixture
def metastore_url() -> None:
    """The file is what it is about."""


def stamp(path: Path, version: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE VERSION SET SCHEMA_VERSION = ?", (version,))
        connection.commit()


def test_a_new_store_says_which_schema_it_has(metastore: EmbeddedMetastore) -> None:
    """In Hive's VERSION table, and it has all tables of the schema."""
    with metastore._store.read() as connection:
        assert is_current(connection)
        rows = connection.execute(text("SELECT VER_ID, SCHEMA_VERSION FROM VERSION")).all()
        names = set(connection.scalars(text("SELECT name FROM sqlite_master WHERE type = 'table'")))
    assert rows == [(1, str(SCHEMA))]
    assert {table.name for table in METADATA.sorted_tables} <= names


def test_a_new_store_counts_from_one(reopen: Reopen) -> None:
    """The first lock and the first transaction are number 1; ids go on when it is opened again."""
    metastore = reopen()
    request = LockRequest(
        components=(LockComponent(database="default", type=LockType.SHARED_READ),)
    )
    assert metastore.open_txn() == 1
    assert metastore.lock(request).lock_id == 1
    assert reopen().lock(request).lock_id == 2
    assert reopen().open_txn() == 2


def test_who_opens_a_store_leaves_it_as_it_is(reopen: Reopen) -> None:
    """A store that has the schema is not made again, nor its rows seeded twice."""
    metastore = reopen()
    txn_id = metastore.open_txn()
    with metastore._store.write() as connection:
        before = [connection.execute(table.select()).all() for table in METADATA.sorted_tables]
        create(connection)
        after = [connection.execute(table.select()).all() for table in METADATA.sorted_tables]
    assert before == after
    assert reopen().valid_txns().open == (txn_id,)


def test_a_store_that_is_not_made_whole_stays_empty(
    reopen: Reopen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables, what is in them and the version are one transaction."""
    metastore = reopen()
    with metastore._store.write() as connection:
        for table in reversed(METADATA.sorted_tables):
            connection.execute(text(f'DROP TABLE "{table.name}"'))

    def fail(connection: object) -> None:
        raise MetastoreError("no")

    monkeypatch.setattr("acidsql.metastore.schema._seed", fail)
    with pytest.raises(MetastoreError, match=r"^no$"), metastore._store.filling() as connection:
        create(connection)
    with metastore._store.filling() as connection:
        assert is_empty(connection)
        assert (
            connection.scalar(
                text("SELECT count(*) FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
            )
            == 0
        )


@pytest.mark.parametrize(
    ("version", "message", "hint"),
    [
        (str(SCHEMA - 1), f"the metastore has schema version {SCHEMA - 1}, this", "store backup"),
        ("1", f"version 1, this acidsql knows version {SCHEMA}", "before the first release"),
        ("99", f"version 99, this acidsql knows version {SCHEMA}", "or a newer one"),
        ("4.0.0", "not written by acidsql", None),
    ],
)
def test_a_store_of_another_version_is_not_touched(
    reopen: Reopen, version: str, message: str, hint: str | None
) -> None:
    """Its tables may mean something else."""
    metastore = reopen()
    path: Path = metastore._store.path
    metastore.close()
    stamp(path, version)
    before = path.read_bytes()
    with pytest.raises(MetastoreError, match=message) as refusal:
        reopen()
    assert path.read_bytes() == before
    assert (refusal.value.hint is None) if hint is None else (hint in (refusal.value.hint or ""))


def test_a_session_does_not_write_to_a_store_that_was_changed(reopen: Reopen) -> None:
    """Nor does one that had it open before another acidsql gave it another version."""
    metastore = reopen()
    with metastore._store.write() as connection:
        connection.execute(VERSION.update().values(SCHEMA_VERSION=str(SCHEMA + 1)))
    with pytest.raises(MetastoreError, match="was brought to schema version"):
        metastore.open_txn()
    with pytest.raises(MetastoreError, match="knows version"):
        reopen()


def test_a_version_is_stamped_once(metastore: EmbeddedMetastore) -> None:
    """There is one row of it."""
    with pytest.raises(MetastoreError), metastore._store.write() as connection:
        connection.execute(insert(VERSION).values(VER_ID=1, SCHEMA_VERSION="1"))
