"""How the metastore of a warehouse moves from one store to another, row by row.

The source's write lock is held all the time, and the target is filled in one transaction. Then the
source is marked as moved, which its open sessions notice when they next write, and at last the
marker in the warehouse names the target. Interrupted before the mark, the source is what it was;
after it, neither can be opened until the copy is asked for again, which then only writes the
marker. So at no time are there two metastores of one warehouse.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import cast

from acidsql.catalog.model import DEFAULT_DATABASE
from acidsql.errors import MetastoreError
from acidsql.lazy import dataclass
from acidsql.metastore.calls.locks import reap_locks, select_locks
from acidsql.metastore.locations import WAREHOUSE, warehouse_path
from acidsql.metastore.opening import reap
from acidsql.metastore.rows.txns import count_open_txns
from acidsql.metastore.schema import create, has_tables, is_empty, moved_to
from acidsql.metastore.sql import (
    Connection,
    Table,
    delete,
    func,
    insert,
    real,
    select,
    update,
)
from acidsql.metastore.sql.sqlite import SQLiteConnection
from acidsql.metastore.store import Store
from acidsql.metastore.stores.database_file import (
    DIRECTORY,
    FILE,
    MARKER,
    OWNER_ONLY,
    database_path,
    no_warehouse_error,
    read_marker,
    reason,
    refuse_marked,
)
from acidsql.metastore.stores.postgresql import PostgreSQLStore, find_warehouse, has_file
from acidsql.metastore.stores.sqlite import SQLiteStore
from acidsql.metastore.tables import (
    DBS,
    METADATA,
    METASTORE_DB_PROPERTIES,
    NEXT_COMPACTION_QUEUE_ID,
    NEXT_LOCK_ID,
    TXNS,
    VERSION,
)
from acidsql.processes import Process

BATCH = 1000
_OF_THE_STORE = (VERSION, METASTORE_DB_PROPERTIES)
"""What each store has of its own."""

Progress = Callable[[int, int], None]
"""Is told how many rows of how many are copied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What was moved. ``rows``: None where all but the marker had been done before."""

    warehouse: str
    source: str
    target: str
    rows: int | None


def copy_store(source: str, target: str, progress: Progress = lambda done, total: None) -> Copied:
    """Moves a metastore; source and target are the directory of the warehouse, for the file in it,
    or the URL of a database.

    MetastoreError, with nothing changed: a transaction is open or a lock held, or the target is not
    empty.
    """
    with _stores(source, target) as (one, other):
        rows = None
        if _moved(one) == other.name:
            other.open_up()
        else:
            _open_source(one)
            with one.write() as connection:
                _refuse_busy(connection, one)
                with other.filling() as filled:
                    rows = _fill(connection, filled, one, other, progress)
                    other.tie(filled)
                one.leave(connection, other.name)
        other.settle()
        return Copied(warehouse=one.warehouse, source=one.name, target=other.name, rows=rows)


@contextmanager
def _stores(source: str, target: str) -> Iterator[tuple[Store, Store]]:
    """Both stores, not opened up."""
    if "://" not in source and "://" not in target:
        raise MetastoreError(
            "source and target are both directories",
            hint="One of them must be the URL of a PostgreSQL database; a warehouse with a file as"
            " its metastore is copied as the directory it is.",
        )
    with ExitStack() as opened:
        if "://" in source:
            warehouse = find_warehouse(source)
            one: Store = PostgreSQLStore(warehouse, source)
        else:
            warehouse = warehouse_path(source)
            if not has_file(warehouse):
                raise MetastoreError(f'the directory "{warehouse}" has no metastore in a file')
            one = SQLiteStore(warehouse, anywhere=True)
        opened.callback(one.close)
        mode = _mode(warehouse)
        if "://" in target:
            other: Store = PostgreSQLStore(warehouse, target, mode=mode, tied=False)
        elif warehouse_path(target) == warehouse:
            other = SQLiteStore(warehouse, mode=mode)
        else:
            raise MetastoreError(
                f'the metastore "{one.name}" is that of the warehouse "{warehouse}", not of'
                f' "{warehouse_path(target)}"',
                hint="A metastore in a file lies in its warehouse.",
            )
        opened.callback(other.close)
        if one.name == other.name:
            raise MetastoreError("source and target are the same")
        yield one, other


def _mode(warehouse: str) -> int:
    """Who may use the metastore so far may use the new one."""
    for name in (MARKER, FILE):
        path = Path(warehouse, DIRECTORY, name)
        if path.exists():
            return stat.S_IMODE(path.stat().st_mode)
    return OWNER_ONLY


def _open_source(store: Store) -> None:
    """MetastoreError if it is not what the warehouse calls its metastore."""
    if isinstance(store, SQLiteStore):
        refuse_marked(store.warehouse)
    store.open_up()


def _moved(store: Store) -> str | None:
    with store.read() as connection:
        return moved_to(connection)


def _refuse_busy(connection: Connection, store: Store) -> None:
    """MetastoreError while somebody has a transaction open or a lock. Those whose process on this
    host has ended do not count.
    """
    host, process = socket.gethostname(), Process.current()
    reap(connection, host=host, process=process, cutoff=0)
    reap_locks(connection, host=host, process=process, cutoff=0)
    txns, locks = count_open_txns(connection), len(select_locks(connection))
    if txns or locks:
        raise MetastoreError(
            f'the metastore "{store.name}" is in use: open transactions: {txns}, locks: {locks}',
            hint="SHOW TRANSACTIONS and SHOW LOCKS list them; ABORT TRANSACTIONS ends some.",
        )


def _fill(
    source: Connection, target: Connection, one: Store, other: Store, progress: Progress
) -> int:
    """Copies all rows into an empty store. Returns their number."""
    # a file beside a marker is what an interrupted copy left, as one of a store that has moved is
    if moved_to(target) is not None or (isinstance(other, SQLiteStore) and has_tables(target)):
        _clear(target)
        target.execute(update(VERSION).values(SCHEMA_VERSION="0"))
    create(target)
    _refuse_full(target, other)
    for seeded in (DBS, TXNS, NEXT_LOCK_ID, NEXT_COMPACTION_QUEUE_ID):
        target.execute(delete(seeded))
    tables = [table for table in METADATA.sorted_tables if table not in _OF_THE_STORE]
    counts = {table: _count(source, table) for table in tables}
    done, total = 0, sum(counts.values())
    progress(done, total)
    for table in tables:
        for copied in _copy_rows(source, target, table):
            done += copied
            progress(done, total)
        if real(table).autoincrement_column is not None:
            other.set_highest_key(target, table, one.highest_key(source, table))
        if _count(target, table) != counts[table]:
            raise MetastoreError(
                f'of {counts[table]} rows of "{table.name}" {_count(target, table)} were copied;'
                " nothing is changed"
            )
    return done


def _copy_rows(source: Connection, target: Connection, table: Table) -> Iterator[int]:
    """Copies a table; the numbers of rows as they are done."""
    query = select(table).order_by(*table.primary_key.columns)
    result = source.execute(query, execution_options={"yield_per": BATCH})
    with closing(result):
        for batch in result.partitions(BATCH):
            target.execute(insert(table), [row._asdict() for row in batch])
            yield len(batch)


def _refuse_full(connection: Connection, store: Store) -> None:
    """MetastoreError if there is more than a new store has."""
    seeds = {
        DBS: (DBS.c.NAME == DEFAULT_DATABASE) & (DBS.c.DB_LOCATION_URI == WAREHOUSE),
        TXNS: TXNS.c.TXN_ID == 0,
        NEXT_LOCK_ID: NEXT_LOCK_ID.c.NL_NEXT == 1,
        NEXT_COMPACTION_QUEUE_ID: NEXT_COMPACTION_QUEUE_ID.c.NCQ_NEXT == 1,
    }
    for table in METADATA.sorted_tables:
        rows = select(func.count()).select_from(table)
        if table in seeds:
            rows = rows.where(~seeds[table])
        if table is not VERSION and connection.scalar(rows):
            raise MetastoreError(
                f'the metastore "{store.name}" is not empty: "{table.name}" has rows',
                hint="Name an empty database, or drop the tables of this one if nobody needs them.",
            )


def _clear(connection: Connection) -> None:
    for table in reversed(METADATA.sorted_tables):
        if table is not VERSION:
            connection.execute(delete(table))


def _count(connection: Connection, table: Table) -> int:
    return connection.scalar(select(func.count()).select_from(table)) or 0


# ---- backups
#
# ``acidsql store backup``: a copy of a metastore in a file, of one moment, while others use it.


@dataclass(frozen=True, slots=True, kw_only=True)
class BackedUp:
    """What was copied; ``bytes``: of the copy."""

    source: str
    target: str
    bytes: int


def back_up(warehouse: str, target: str) -> BackedUp:
    """Copies the metastore of a warehouse into a new file, which is whole or not there; writers
    wait for nothing. MetastoreError if there is no such metastore, or the file cannot be made.
    """
    marker = read_marker(warehouse)
    if marker is not None:
        raise MetastoreError(
            f'the metastore of the warehouse "{warehouse}" is "{marker.metastore}"',
            hint="pg_dump makes a copy of a PostgreSQL database.",
        )
    source, final = database_path(warehouse), Path(target)
    if not source.exists():
        raise no_warehouse_error(warehouse)
    if final.is_dir():
        final = final / source.name
    if final.exists():
        raise MetastoreError(f'there is a file "{final}" already', hint="Name a new one.")
    store = SQLiteStore(warehouse)
    store.open_up()
    part = final.with_name(f"{final.name}.{os.getpid()}.part")
    try:
        with store.read() as connection:
            if is_empty(connection):
                raise MetastoreError(f'the metastore "{source}" is empty')
            os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            with closing(sqlite3.connect(part)) as copy:
                cast(SQLiteConnection, connection).driver_connection.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")  # all in the one file
        _put_in_place(part, final)
    except OSError as error:
        raise MetastoreError(f'"{final}" cannot be written: {reason(error)}') from error
    except sqlite3.Error as error:
        raise MetastoreError(f'the copy "{final}" cannot be written: {error}') from error
    finally:
        part.unlink(missing_ok=True)
        store.close()
    return BackedUp(source=str(source), target=str(final), bytes=final.stat().st_size)


def _put_in_place(part: Path, final: Path) -> None:
    """Gives the copy its name when the disk has it; FileExistsError if that is taken by now."""
    with open(part, "rb") as file:
        os.fsync(file.fileno())
    os.link(part, final)
    directory = os.open(final.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
