"""The schema of a store and its version: who may open it, and what a new one holds.

There is one version so far. A store of another one is refused: what it means by its tables is not
ours to guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from acidsql.catalog.model import DEFAULT_DATABASE
from acidsql.errors import MetastoreError
from acidsql.metastore.locations import WAREHOUSE
from acidsql.metastore.sql import Connection, insert, real, select, sqlite, update
from acidsql.metastore.sql.sqlite import SQLiteConnection
from acidsql.metastore.tables import (
    DBS,
    METADATA,
    NEXT_COMPACTION_QUEUE_ID,
    NEXT_LOCK_ID,
    TXNS,
    VERSION,
)

SCHEMA = 14
"""Raised with each change of the tables."""

MOVED = "moved"
"""SCHEMA_VERSION of a store that lies elsewhere now; VERSION_COMMENT says where."""


def create(connection: Connection) -> None:
    """Makes the tables of an empty store, with what Hive seeds too: the default database, and a
    committed transaction 0, so that there always is a highest transaction id; and the first
    numbers that locks and compactions get. For a connection inside a write transaction, so that two
    openers do it once.
    """
    if is_current(connection):
        return
    _create_missing_tables(connection)
    for numbers in (NEXT_LOCK_ID.c.NL_NEXT, NEXT_COMPACTION_QUEUE_ID.c.NCQ_NEXT):
        if connection.scalar(select(numbers)) is None:
            connection.execute(insert(numbers.table).values({numbers.name: 1}))
    if connection.scalar(select(TXNS.c.TXN_ID).where(TXNS.c.TXN_ID == 0)) is None:
        _seed(connection)
    stamp = {"SCHEMA_VERSION": str(SCHEMA), "VERSION_COMMENT": "acidsql"}
    stamped = connection.execute(update(VERSION).where(VERSION.c.VER_ID == 1).values(**stamp))
    if stamped.rowcount == 0:
        connection.execute(insert(VERSION).values(VER_ID=1, **stamp))


def _seed(connection: Connection) -> None:
    nobody = {
        "TXN_STARTED": 0,
        "TXN_LAST_HEARTBEAT": 0,
        "TXN_USER": "",
        "TXN_HOST": "",
        "TXN_TYPE": 0,
    }
    connection.execute(insert(TXNS).values(TXN_ID=0, TXN_STATE="c", **nobody))
    connection.execute(
        insert(DBS).values(
            NAME=DEFAULT_DATABASE,
            DESC="Default Hive database",
            DB_LOCATION_URI=WAREHOUSE,
            OWNER_NAME="public",
        )
    )


def _create_missing_tables(connection: Connection) -> None:
    """Creates the tables that are missing, after one look at what there is instead of SQLAlchemy's
    one a table.
    """
    existing = _names_of_tables(connection)
    for name, texts in _creation(connection).items():
        if name not in existing:
            for text in texts:
                connection.exec_driver_sql(text)


def _creation(connection: object) -> Mapping[str, Sequence[str]]:
    """The texts of CREATE TABLE and its indexes, by table."""
    if isinstance(connection, SQLiteConnection):
        return sqlite.creation()
    return _creation_in_postgresql()


@cache
def _creation_in_postgresql() -> Mapping[str, Sequence[str]]:
    """Writing the texts takes longer than running them, so a process does it once, for all its
    warehouses.

    SQLite neither cuts texts off nor refuses long ones, and compares their bytes: so must others,
    whatever their locale.
    """
    from sqlalchemy import MetaData, String, Text
    from sqlalchemy.dialects.postgresql.base import PGDialect

    metadata = MetaData()
    for table in METADATA.sorted_tables:
        for column in real(table).to_metadata(metadata).columns:
            if isinstance(column.type, String):
                column.type = Text(collation="C")
    return sqlite.create_texts(metadata, PGDialect())  # type: ignore[no-untyped-call]


def _names_of_tables(connection: object) -> set[str]:
    if isinstance(connection, SQLiteConnection):
        return connection.names_of_tables()
    from sqlalchemy import inspect

    return set(inspect(connection).get_table_names())


def is_empty(connection: Connection) -> bool:
    """Whether the store is still to be made."""
    return not has_tables(connection) or _known_version(connection) == 0


def is_current(connection: Connection) -> bool:
    """Whether the store has this schema; False for one that is empty. MetastoreError for one of
    another version.
    """
    if is_empty(connection):
        return False
    version = _known_version(connection)
    if version != SCHEMA:
        raise MetastoreError(
            f"the metastore has schema version {version}, this acidsql knows version {SCHEMA}",
            hint=(
                "Use the acidsql that wrote it, or a newer one."
                if version > SCHEMA
                else "It was written before the first release. Use the acidsql that wrote it;"
                " acidsql store backup of that one makes a copy to keep."
            ),
        )
    return True


def changed_error(connection: Connection) -> MetastoreError:
    """What is said to a session whose store has another version than when it was opened."""
    version, comment = connection.execute(_STAMP).one()
    if version == MOVED:
        return _moved_error(comment)
    return MetastoreError(
        f"the metastore was brought to schema version {version} by another acidsql meanwhile",
        hint="Open a new session, with the acidsql that did so or a newer one.",
    )


def mark_as_moved(connection: Connection, name: str) -> None:
    """Has every session refuse the store, those that have it open too; ``name``: where it is
    now.
    """
    moved = update(VERSION).where(VERSION.c.VER_ID == 1)
    connection.execute(moved.values(SCHEMA_VERSION=MOVED, VERSION_COMMENT=name))


def moved_to(connection: Connection) -> str | None:
    """Where a store is that was moved; None for one that was not."""
    if not has_tables(connection):
        return None
    stamp = connection.execute(_STAMP).first()
    return str(stamp.VERSION_COMMENT) if stamp and stamp.SCHEMA_VERSION == MOVED else None


def has_tables(connection: Connection) -> bool:
    """Whether the store has been brought to any version."""
    return VERSION.name in _names_of_tables(connection)


_STAMP = select(VERSION.c.SCHEMA_VERSION, VERSION.c.VERSION_COMMENT).where(VERSION.c.VER_ID == 1)


def _moved_error(name: str | None) -> MetastoreError:
    return MetastoreError(
        f'the metastore has moved to "{name}"',
        hint="Open it there: --metastore names a database, the warehouse alone a file in it.",
    )


def _known_version(connection: Connection) -> int:
    stamp = connection.execute(_STAMP).first()
    if stamp is None:
        return 0
    text = stamp.SCHEMA_VERSION
    if text == MOVED:
        raise _moved_error(stamp.VERSION_COMMENT)
    if not text.isdigit():
        raise MetastoreError(f'the metastore has schema version "{text}": not written by acidsql')
    return int(text)
