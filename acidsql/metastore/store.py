"""The connection to the store: short transactions, readers that never wait, writers that queue, and
one kind of error.

Every write transaction is BEGIN IMMEDIATE: it takes SQLite's single write lock at its start, so
whatever it reads is still true when it writes. (A deferred one that reads first and writes later
fails as soon as another process wrote in between, and no busy time-out helps.) That one lock stands
for all the mutexes of Hive's TxnHandler. Reads see one snapshot and take no lock.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Dialect, Engine, Table, create_engine, event, insert
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool
from sqlalchemy.util import LRUCache

from acidsql.errors import InternalError, MetastoreError
from acidsql.metastore.database_file import OWNER_ONLY, opening, prepare
from acidsql.metastore.forking import no_fork, watch
from acidsql.metastore.migrations import is_current, migrate

BUSY_TIMEOUT_SECONDS = 30
_BEGIN = "acidsql_begin"
_AT_ONCE = {_BEGIN: "BEGIN IMMEDIATE"}


class CommitFailedError(MetastoreError):
    """COMMIT itself failed: the changes may or may not be in the store."""


class Store:
    """One metastore file, opened (and made or migrated first where need be). Threads may share it;
    a forked child opens its own connections.
    """

    def __init__(self, warehouse: str, *, mode: int = OWNER_ONLY) -> None:
        self.warehouse = warehouse
        self.path = prepare(warehouse, mode)
        self._readers = _engine(self.path)
        self._writers = self._readers.execution_options(**_AT_ONCE)
        self._brief = _engine(self.path, synchronous="NORMAL")
        self._brief_writers = self._brief.execution_options(**_AT_ONCE)
        watch(self)
        try:
            with self._translated("opened"), opening(self.path):
                self._bring_up_to_date()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        with no_fork():
            self.drop_connections()

    def drop_connections(self) -> None:
        """Closes the connections that nobody uses; others are made when they are needed."""
        self._readers.dispose()
        self._brief.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that reads one snapshot of the store."""
        with no_fork(), self._translated("read"), self._readers.begin() as connection:
            yield connection

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Connection]:
        """A connection in one write transaction, rolled back by any exception. CommitFailedError if
        the COMMIT failed.

        ``durable``: it outlives a loss of power. What no process that lives through one has seen,
        such as a lock, need not: the disk is not waited for, and the store stays whole all the
        same (the next durable one takes all before it along).
        """
        writers = self._writers if durable else self._brief_writers
        with no_fork(), self._translated("written"), writers.connect() as connection:
            transaction = connection.begin()
            try:
                yield connection
            except BaseException:
                transaction.rollback()
                raise
            try:
                transaction.commit()
            except DBAPIError as error:
                raise CommitFailedError(
                    f'the metastore "{self.path}" did not confirm a commit: {error.orig}'
                ) from error

    def _bring_up_to_date(self) -> None:
        with self.read() as connection:
            if is_current(connection):
                return
        with self.write() as connection:
            migrate(connection)

    @contextmanager
    def _translated(self, verb: str) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise self._error(verb, str(error.orig)) from error
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            raise self._error(verb, str(error)) from error

    def _error(self, verb: str, reason: str) -> MetastoreError:
        hint = next((hint for mark, hint in _HINTS if mark in reason), None)
        return MetastoreError(
            f'the metastore "{self.path}" could not be {verb}: {reason}', hint=hint
        )


def insert_row(connection: Connection, table: Table, **values: object) -> int:
    """Returns the number that the store gave to the row."""
    key = connection.execute(insert(table), values).inserted_primary_key
    if key is None:
        raise InternalError(f'no key for a new row of "{table.name}"')
    return int(key[0])


_HINTS = (
    (
        "database is locked",
        (
            f"Another process has been writing to it for more than {BUSY_TIMEOUT_SECONDS} s; see"
            " what holds it."
        ),
    ),
    ("readonly", "The warehouse must be writable, also for queries."),
    ("unable to open", "The warehouse must exist and be writable, also for queries."),
    ("disk is full", "Free some space; nothing was changed."),
    (
        "not a database",
        "The file is damaged, or is no acidsql metastore; restore it from a backup.",
    ),
    ("malformed", "The file is damaged; restore it from a backup."),
    ("no such table", "The file is damaged, or is no acidsql metastore; restore it from a backup."),
)


_compiled: LRUCache[Any, Any] = LRUCache(500)
"""The SQL of the statements that any store of this process has run."""


@cache
def _dialect() -> Dialect:
    """The one dialect for all stores: what was compiled for one dialect object is found for no
    other.
    """
    engine = create_engine("sqlite://")
    with engine.connect():  # which asks SQLite what it can do
        pass
    engine.dispose()
    return engine.dialect


def _engine(path: Path, *, synchronous: str = "FULL") -> Engine:
    def connect() -> Any:
        return sqlite3.connect(path, timeout=BUSY_TIMEOUT_SECONDS, check_same_thread=False)

    def configure(connection: Any, _record: object) -> None:
        _configure(connection, synchronous)

    pool = QueuePool(connect, dialect=_dialect())
    engine = Engine(
        pool,
        _dialect(),
        URL.create("sqlite", database=str(path)),
        execution_options={"compiled_cache": _compiled},
    )
    event.listen(engine, "connect", configure)
    event.listen(engine, "begin", _begin)
    return engine


def _configure(connection: Any, synchronous: str) -> None:
    connection.isolation_level = None  # else the driver would begin transactions of its own
    if connection.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
        raise MetastoreError(
            "the file system of the warehouse does not support SQLite's write-ahead log"
        )
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get(_BEGIN, "BEGIN"))
