"""The store in a file: SQLite.

Every write transaction is BEGIN IMMEDIATE: it takes SQLite's single write lock at its start. (A
deferred one that reads first and writes later fails as soon as another process wrote in between,
and no busy time-out helps.)
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import cast

from acidsql.errors import MetastoreError
from acidsql.metastore.sql import (
    Connection,
    Table,
    column,
    delete,
    func,
    insert,
    real,
    select,
    table,
)
from acidsql.metastore.sql.sqlite import Pool, SQLiteConnection
from acidsql.metastore.store import PATIENCE_SECONDS, VERSION_OF_STORE, Clock, Create, Store
from acidsql.metastore.stores.database_file import (
    OWNER_ONLY,
    changed_meanwhile_error,
    database_path,
    has_log,
    is_read_only,
    is_warehouse,
    no_warehouse_error,
    opening,
    prepare,
    read_only_error,
    remove_marker,
    stamp,
    writer_of,
)

_LOG_TIMEOUT_SECONDS = 5
"""How long readers and writers are waited for before the log is emptied."""
_BEGIN, _BEGIN_AT_ONCE = "BEGIN", "BEGIN IMMEDIATE"

_HINTS = (
    ("readonly", "The warehouse must be writable, but for queries."),
    ("unable to open", "The warehouse must exist, and be writable, but for queries."),
    ("disk is full", "Free some space; nothing was changed."),
    ("disk I/O error", "Where the disk is full, free some space; else it may be failing."),
    (
        "not a database",
        "The file is damaged, or is no acidsql metastore; restore it from a backup.",
    ),
    ("malformed", "The file is damaged; restore it from a backup."),
    ("no such table", "The file is damaged, or is no acidsql metastore; restore it from a backup."),
)


_SEQUENCE = table("sqlite_sequence", column("name"), column("seq"))
_SEQUENCES = select(_SEQUENCE.c.seq)
"""SQLite's own table of the numbers it has given to rows of tables with AUTOINCREMENT."""


class SQLiteStore(Store):
    """The metastore in the file ``<warehouse>/_acidsql/metastore.db``, for one host.

    ``anywhere``: on a network file system, too, so that it can be moved away from there. Without
    ``durable`` no commit waits for the disk. ``create``: what makes it; until somebody does,
    nothing of it can be read. One that cannot be written is read as it is: see UnwritableError.
    """

    hints = _HINTS
    errors = (sqlite3.Error,)
    full = ("disk is full", "disk I/O error", "readonly database")
    one_host = True

    def __init__(
        self,
        warehouse: str,
        *,
        mode: int = OWNER_ONLY,
        clock: Clock | None = None,
        anywhere: bool = False,
        durable: bool = True,
        patience_seconds: float = PATIENCE_SECONDS,
        create: Create = Create.ALWAYS,
    ) -> None:
        self.path = database_path(warehouse)
        super().__init__(warehouse, str(self.path), clock)
        self._create = create
        self._prepared = partial(prepare, warehouse, mode, anywhere=anywhere)
        self._is_open = self._is_at_it = self._is_read_only = False
        self._opening = threading.RLock()
        self._patience = patience_seconds
        self._durable = _pool(self.path, patience_seconds, synchronous="FULL" if durable else "OFF")
        self._brief = _pool(self.path, patience_seconds, synchronous="NORMAL" if durable else "OFF")
        if create is Create.ALWAYS:
            self._prepare()
            self._is_open = True

    @property
    def is_made(self) -> bool:
        """Whether there is a file, or what says that there was one."""
        return is_warehouse(self.warehouse)

    def open_up(self) -> None:
        with self._opening:
            self._prepare()
            self._is_at_it = True
            try:
                super().open_up()
                self._is_open = True
            finally:
                self._is_at_it = False

    def _prepare(self) -> None:
        """Makes the file where it is missing, and may be made."""
        if not self.path.exists():
            self._check_new()
        self._is_read_only = is_read_only(self.path)
        if not self._is_read_only:
            self._prepared()

    def make(self) -> None:
        if not self._is_open:
            self.open_up()

    def _check_new(self) -> None:
        if self._create is not Create.ALWAYS:
            from acidsql.metastore.stores.beside import check_no_tables

            check_no_tables(self.warehouse, self.path)

    def drop_connections(self) -> None:
        self._durable.dispose()
        self._brief.dispose()

    def empty_log(self) -> bool:
        with self._translated("emptied"):
            connection = sqlite3.connect(self.path, timeout=_LOG_TIMEOUT_SECONDS)
            try:
                [(busy, _, _)] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                connection.close()
        return not busy

    def _reader(self) -> Connection:
        self._check_open()
        if self._is_read_only:
            return _begun(_read_only(self.path), _BEGIN)
        try:
            return _begun(self._durable, _BEGIN)
        except sqlite3.Error as error:
            # a full disk has no room for SQLite's shared memory, for the first one that opens it
            if not any(mark in str(error) for mark in self.full) or has_log(self.path):
                raise
            return _begun(_read_only(self.path), _BEGIN)

    def _writer(self, *, durable: bool) -> Connection:
        self._check_open()
        if self._is_read_only:
            raise read_only_error(self.warehouse)
        return _begun(self._durable if durable else self._brief, _BEGIN_AT_ONCE)

    def _check_open(self) -> None:
        """Opens the store if somebody has made one since. MetastoreError if there is none."""
        if self._is_open:
            return
        with self._opening:  # another thread waits meanwhile
            if self._is_open or self._is_at_it:
                return
            if not self.is_made:
                self._check_new()
                raise no_warehouse_error(self.warehouse)
            self.open_up()

    def _version_now(self, connection: Connection) -> str | None:
        return connection.scalar(VERSION_OF_STORE)

    def _is_busy(self, error: BaseException | None) -> bool:
        return "database is locked" in str(error)

    def _error(self, verb: str, error: BaseException | None) -> MetastoreError:
        ours = super()._error(verb, error)
        if self._is_busy(error):
            ours.hint = (
                f"Another process has been writing to it for {self._patience:g} s:"
                f" {writer_of(self.path) or 'see what holds it'}."
            )
        return ours

    def highest_key(self, connection: Connection, table: Table) -> int:
        (column,) = table.primary_key.columns
        in_use: int = connection.scalar(select(func.max(column))) or 0
        given = connection.scalar(_SEQUENCES.where(_SEQUENCE.c.name == table.name))
        return max(in_use, given or 0)

    def set_highest_key(self, connection: Connection, table: Table, key: int) -> None:
        if real(table).dialect_options["sqlite"][
            "autoincrement"
        ]:  # others go on behind what is there
            of_table = _SEQUENCE.c.name == table.name
            connection.execute(delete(_SEQUENCE).where(of_table))
            connection.execute(insert(_SEQUENCE).values(name=table.name, seq=key))

    @contextmanager
    def read(self) -> Iterator[Connection]:
        before = stamp(self.path) if self._is_read_only else None
        with super().read() as connection:
            yield connection
        if before is not None and stamp(self.path) != before:
            raise changed_meanwhile_error(self.path)

    def tie(self, connection: Connection) -> None:
        pass

    def settle(self) -> None:
        remove_marker(self.warehouse)

    @contextmanager
    def filling(self) -> Iterator[Connection]:
        with opening(self.path), super().filling() as connection:
            yield connection

    def _bring_up_to_date(self) -> None:
        with nullcontext() if self._is_read_only else opening(self.path):
            super()._bring_up_to_date()


def _pool(path: Path, patience_seconds: float, *, synchronous: str) -> Pool:
    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(path, timeout=patience_seconds, check_same_thread=False)
        try:
            _configure(connection, synchronous)
        except BaseException:
            connection.close()
            raise
        return connection

    return Pool(connect)


def _read_only(path: Path) -> Pool:
    """What gives a connection for one transaction on a file that cannot be written. Where SQLite's
    log is there somebody writes to it, or has died: it is followed. Else the file is all there is,
    and no lock is taken on it.
    """

    def connect() -> sqlite3.Connection:
        how = "mode=ro" if has_log(path) else "immutable=1"
        return sqlite3.connect(
            f"{path.as_uri()}?{how}",
            uri=True,
            timeout=PATIENCE_SECONDS,
            check_same_thread=False,
            isolation_level=None,
        )

    return Pool(connect, kept=0)


def _configure(connection: sqlite3.Connection, synchronous: str) -> None:
    connection.isolation_level = None  # else the driver would begin transactions of its own
    if connection.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
        raise MetastoreError(
            "the file system of the warehouse does not support SQLite's write-ahead log"
        )
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")  # what is erased is not to be found in the file


def _begun(pool: Pool, begin: str) -> Connection:
    """A connection on which the statement ``begin`` began a transaction; it stands for one of
    SQLAlchemy's.
    """
    connection: SQLiteConnection = pool.connect()
    try:
        connection.exec_driver_sql(begin)
    except BaseException:
        connection.close()
        raise
    return cast(Connection, connection)
