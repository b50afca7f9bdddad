"""The schema's versions: ordered steps, each of which may be run again on a store that has it
already.

A new store runs all of them, an older one those it lacks, in one write transaction. The first step
creates the tables as they are today, so a step that adds a column must look whether it is there; a
step that adds a table creates it if missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Column, Connection, Table, insert, inspect, select, update
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateColumn, CreateIndex, CreateTable

from acidsql.catalog.model import DEFAULT_DATABASE
from acidsql.errors import MetastoreError
from acidsql.metastore.locations import WAREHOUSE
from acidsql.metastore.tables import DBS, METADATA, SDS, TBLS, VERSION
from acidsql.metastore.txn_tables import NEXT_LOCK_ID, TXNS

Migration = Callable[[Connection], None]


def create_tables(connection: Connection) -> None:
    """Creates every table, with the two rows that Hive seeds too: the default database, and a
    committed transaction 0, so that there always is a highest transaction id.
    """
    create_missing_tables(connection)
    if connection.scalar(select(TXNS.c.TXN_ID).where(TXNS.c.TXN_ID == 0)) is not None:
        return
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


def add_definitions(connection: Connection) -> None:
    """Adds what a table may be beside its columns: views, constraints, partitions, sorting, skew,
    properties of the serde.
    """
    create_missing_tables(connection)
    add_columns(connection, TBLS, TBLS.c.VIEW_ORIGINAL_TEXT, TBLS.c.VIEW_EXPANDED_TEXT)
    add_columns(connection, SDS, SDS.c.IS_STOREDASSUBDIRECTORIES)


def add_column_statistics(connection: Connection) -> None:
    create_missing_tables(connection)


def add_locks(connection: Connection) -> None:
    """Adds the tables of locks, with the first number that a lock gets."""
    create_missing_tables(connection)
    if connection.scalar(select(NEXT_LOCK_ID.c.NL_NEXT)) is None:
        connection.execute(insert(NEXT_LOCK_ID).values(NL_NEXT=1))


MIGRATIONS: tuple[Migration, ...] = (
    create_tables,
    add_definitions,
    add_column_statistics,
    add_locks,
)


def create_missing_tables(connection: Connection) -> None:
    """Creates the tables that are missing, after one look at what there is instead of SQLAlchemy's
    one a table.
    """
    existing = set(inspect(connection).get_table_names())
    for table in METADATA.sorted_tables:
        if table.name not in existing:
            for statement in _creation(table):
                connection.exec_driver_sql(statement)


@cache
def _creation(table: Table) -> tuple[str, ...]:
    """The texts of CREATE TABLE and its indexes. Writing them takes longer than running them, so a
    process does it once, for all its warehouses.
    """
    indexes = sorted(table.indexes, key=lambda index: str(index.name))
    elements: list[CreateTable | CreateIndex] = [CreateTable(table), *map(CreateIndex, indexes)]
    return tuple(str(element.compile(dialect=sqlite.dialect())) for element in elements)


def add_columns(connection: Connection, table: Table, *columns: Column[Any]) -> None:
    """Adds the columns that ``table`` has not yet."""
    existing = {column["name"] for column in inspect(connection).get_columns(table.name)}
    name = connection.dialect.identifier_preparer.format_table(table)
    for column in columns:
        if column.name not in existing:
            connection.exec_driver_sql(
                f"ALTER TABLE {name} ADD COLUMN"
                f" {CreateColumn(column).compile(dialect=connection.dialect)}"
            )


def schema_version(connection: Connection) -> int:
    """The number of migrations the store has seen; 0 for an empty file."""
    if not inspect(connection).has_table(VERSION.name):
        return 0
    return _known_version(connection)


def is_current(connection: Connection, migrations: Sequence[Migration] = MIGRATIONS) -> bool:
    """Whether there is nothing to do. MetastoreError if a newer acidsql wrote the store: what it
    means by its tables is not ours to guess.
    """
    version = schema_version(connection)
    if version > len(migrations):
        raise MetastoreError(
            f"the metastore has schema version {version}, this acidsql knows versions up to"
            f" {len(migrations)}",
            hint="Use the acidsql that wrote it, or a newer one.",
        )
    return version == len(migrations)


def migrate(connection: Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Brings the store to the newest version; for a connection inside a write transaction, so that
    two openers do it once.
    """
    if is_current(connection, migrations):
        return
    for step in migrations[schema_version(connection) :]:
        step(connection)
    VERSION.create(connection, checkfirst=True)
    stamp = {"SCHEMA_VERSION": str(len(migrations)), "VERSION_COMMENT": "acidsql"}
    if (
        connection.execute(update(VERSION).where(VERSION.c.VER_ID == 1).values(**stamp)).rowcount
        == 0
    ):
        connection.execute(insert(VERSION).values(VER_ID=1, **stamp))


def _known_version(connection: Connection) -> int:
    text = connection.scalar(select(VERSION.c.SCHEMA_VERSION).where(VERSION.c.VER_ID == 1))
    if text is None:
        return 0
    if not text.isdigit():
        raise MetastoreError(f'the metastore has schema version "{text}": not written by acidsql')
    return int(text)
