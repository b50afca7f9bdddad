"""The schema's versions: ordered steps, each of which may be run again on a store that has it
already.

A new store runs all of them, an older one those it lacks, in one write transaction. The first step
creates the tables as they are today, so a step that adds a column must look whether it is there; a
step that adds a table creates it if missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Dialect,
    MetaData,
    String,
    Table,
    Text,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.dialects import registry
from sqlalchemy.schema import CreateColumn, CreateIndex, CreateTable

from acidsql.catalog.model import DEFAULT_DATABASE
from acidsql.errors import MetastoreError
from acidsql.metastore.compaction_tables import COMPACTION_QUEUE, NEXT_COMPACTION_QUEUE_ID
from acidsql.metastore.locations import WAREHOUSE
from acidsql.metastore.tables import DBS, METADATA, SDS, TBLS, VERSION
from acidsql.metastore.txn_tables import NEXT_LOCK_ID, TXNS

Migration = Callable[[Connection], None]

MOVED = "moved"
"""SCHEMA_VERSION of a store that lies elsewhere now; VERSION_COMMENT says where."""


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


def add_properties(connection: Connection) -> None:
    """Adds the table in which a store that lies outside of its warehouse remembers it."""
    create_missing_tables(connection)


def add_directories_to_delete(connection: Connection) -> None:
    create_missing_tables(connection)


def add_compactions(connection: Connection) -> None:
    """Adds the tables of compactions, with the first number that one gets."""
    create_missing_tables(connection)
    if connection.scalar(select(NEXT_COMPACTION_QUEUE_ID.c.NCQ_NEXT)) is None:
        connection.execute(insert(NEXT_COMPACTION_QUEUE_ID).values(NCQ_NEXT=1))


def add_compactor_daemons(connection: Connection) -> None:
    create_missing_tables(connection)


def add_readers(connection: Connection) -> None:
    """Adds the tables of who reads what, and of what is gone already."""
    create_missing_tables(connection)


def add_leases(connection: Connection) -> None:
    """Adds the number by which a worker of an entry is told apart from those before it."""
    add_columns(connection, COMPACTION_QUEUE, COMPACTION_QUEUE.c.CQ_LEASE)


def add_runs(connection: Connection) -> None:
    """Adds the table of what was committed under a name of the user's."""
    create_missing_tables(connection)


def add_kept_directories(connection: Connection) -> None:
    """Adds the table of what was dropped while it was read."""
    create_missing_tables(connection)


def add_written_directories(connection: Connection) -> None:
    """Adds the table of directories that are there; those of before are in none."""
    create_missing_tables(connection)


MIGRATIONS: tuple[Migration, ...] = (
    create_tables,
    add_definitions,
    add_column_statistics,
    add_locks,
    add_properties,
    add_directories_to_delete,
    add_compactions,
    add_compactor_daemons,
    add_readers,
    add_leases,
    add_runs,
    add_kept_directories,
    add_written_directories,
)


def create_missing_tables(connection: Connection) -> None:
    """Creates the tables that are missing, after one look at what there is instead of SQLAlchemy's
    one a table.
    """
    existing = set(inspect(connection).get_table_names())
    for table in METADATA.sorted_tables:
        if table.name not in existing:
            for statement in _creation(table, connection.dialect.name):
                connection.exec_driver_sql(statement)


@cache
def _creation(table: Table, dialect: str) -> tuple[str, ...]:
    """The texts of CREATE TABLE and its indexes. Writing them takes longer than running them, so a
    process does it once, for all its warehouses.
    """
    table = _tables_of(dialect)[table.name]
    indexes = sorted(table.indexes, key=lambda index: str(index.name))
    written_for: Dialect = registry.load(dialect)()
    elements: list[CreateTable | CreateIndex] = [CreateTable(table), *map(CreateIndex, indexes)]
    return tuple(str(element.compile(dialect=written_for)) for element in elements)


@cache
def _tables_of(dialect: str) -> Mapping[str, Table]:
    """The tables, by name, with the types that columns have in a database of this kind.

    SQLite neither cuts texts off nor refuses long ones, and compares their bytes: so must others,
    whatever their locale.
    """
    if dialect == "sqlite":
        return METADATA.tables
    metadata = MetaData()
    for table in METADATA.sorted_tables:
        for column in table.to_metadata(metadata).columns:
            if isinstance(column.type, String):
                column.type = Text(collation="C")
    return metadata.tables


def add_columns(connection: Connection, table: Table, *columns: Column[Any]) -> None:
    """Adds the columns that ``table`` has not yet."""
    existing = {column["name"] for column in inspect(connection).get_columns(table.name)}
    name = connection.dialect.identifier_preparer.format_table(table)
    typed = _tables_of(connection.dialect.name)[table.name]
    for column in columns:
        if column.name not in existing:
            connection.exec_driver_sql(
                f"ALTER TABLE {name} ADD COLUMN"
                f" {CreateColumn(typed.c[column.name]).compile(dialect=connection.dialect)}"
            )


def schema_version(connection: Connection) -> int:
    """The number of migrations the store has seen; 0 for an empty file."""
    if not has_tables(connection):
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
    return inspect(connection).has_table(VERSION.name)


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
