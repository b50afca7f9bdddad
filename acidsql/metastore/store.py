"""What a store is: short transactions, readers that never wait, writers that queue, and one kind of
error.

A write transaction has the store's single write lock from its start to its end, so whatever it
reads is still true when it writes. That one lock stands for all the mutexes of Hive's TxnHandler.
Reads see one snapshot and take no lock. The stores there are: see stores.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import cache
from typing import ClassVar

from acidsql.errors import (
    InternalError,
    MetastoreBusyError,
    MetastoreError,
    MetastoreUnreachableError,
)
from acidsql.metastore.schema import (
    changed_error,
    create,
    is_current,
    is_empty,
    mark_as_moved,
)
from acidsql.metastore.sql import Connection, Insert, Table, insert, select
from acidsql.metastore.tables import VERSION
from acidsql.processes import no_fork, watch
from acidsql.txn.readers import UnwritableError

Clock = Callable[[], float]
"""Gives epoch seconds."""

PATIENCE_SECONDS = 30.0
"""How long a writer waits for another."""

VERSION_OF_STORE = select(VERSION.c.SCHEMA_VERSION).where(VERSION.c.VER_ID == 1)


class Create(StrEnum):
    """What makes a store where there is none, see ``acidsql.store.create``."""

    NEEDED = "needed"
    OPEN = "open"
    ALWAYS = "always"


class CommitFailedError(MetastoreError):
    """COMMIT itself failed: the changes may or may not be in the store."""


class Store(ABC):
    """One metastore, opened by ``open_up`` (and made first where need be). Threads may
    share it; a forked child opens its own connections.

    ``name``: what messages call it, without secrets. ``clock``: None for the store's own, by which
    alone all its hosts can agree on who is late.
    """

    hints: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Pairs of a part of a database's error, and what can be done about it."""

    full: ClassVar[tuple[str, ...]] = ()
    """Parts of errors that say that nothing can be written, though all can be read."""

    errors: ClassVar[tuple[type[Exception], ...]]
    """What its database raises."""

    one_host: ClassVar[bool]
    """Whether all its processes run on the host that holds it: its clock is theirs, and none lives
    on when it loses power.
    """

    def __init__(self, warehouse: str, name: str, clock: Clock | None) -> None:
        self.warehouse = warehouse
        self.name = name
        self._clock = clock
        self._version: str | None = None

    @property
    def url(self) -> str | None:
        """What opens the store again, its secrets and all; None for a file in the warehouse."""
        return None

    @abstractmethod
    def drop_connections(self) -> None:
        """Closes the connections that nobody uses; others are made when they are needed."""

    def empty_log(self) -> bool:
        """Takes what was deleted out of the store's log, where it is this process's to do; False
        while others read or write.
        """
        return True

    @abstractmethod
    def _reader(self) -> Connection:
        """A connection inside a new transaction that reads one snapshot."""

    @abstractmethod
    def _writer(self, *, durable: bool) -> Connection:
        """A connection inside a new transaction that has the write lock."""

    @abstractmethod
    def _version_now(self, connection: Connection) -> str | None:
        """SCHEMA_VERSION as a write transaction sees it."""

    @abstractmethod
    def highest_key(self, connection: Connection, table: Table) -> int:
        """The highest number that a row of ``table`` was given, though it may be gone; 0 for
        none.
        """

    @abstractmethod
    def set_highest_key(self, connection: Connection, table: Table, key: int) -> None:
        """Has later rows get higher numbers."""

    @abstractmethod
    def tie(self, connection: Connection) -> None:
        """Stores in a new store, where it lies elsewhere, which warehouse it belongs to."""

    @abstractmethod
    def settle(self) -> None:
        """Has the warehouse name this store, which was filled, as its own."""

    def leave(self, connection: Connection, target: str) -> None:
        """Has every session refuse this store from its commit on, as it is ``target`` now."""
        mark_as_moved(connection, target)

    @contextmanager
    def filling(self) -> Iterator[Connection]:
        """A connection in a write transaction of a store that is not opened up: it may be empty,
        or have moved.
        """
        with self._creating() as connection:
            yield connection

    def now(self, connection: Connection) -> int:
        """The time of a transaction, in epoch milliseconds."""
        return int((self._clock or time.time)() * 1000)

    def close(self) -> None:
        with no_fork():
            self.drop_connections()

    def make(self) -> None:  # noqa: B027 (most are made when they are opened)
        """Makes the store, where that waits until somebody needs one."""

    def _check_new(self) -> None:  # noqa: B027 (most have no say)
        """MetastoreError if a store that is found empty may not be filled."""

    def open_up(self) -> None:
        """Makes what there is not. MetastoreError if it may not be used; all is closed
        then.
        """
        watch(self)
        try:
            with self._translated("opened"):
                self._bring_up_to_date()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that reads one snapshot of the store."""
        with no_fork(), self._translated("read"), self._reader() as connection:
            yield connection
            connection.commit()

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Connection]:
        """A connection in one write transaction, rolled back by any exception. CommitFailedError if
        the COMMIT failed; MetastoreError if the store has another version or has moved since it was
        opened.

        ``durable``: it outlives a loss of power. What no process that lives through one has seen
        need not (a lock, where there is ``one_host``), nor what is made up for later: the
        disk is not waited for, and the store stays whole all the same (the next durable one takes
        all before it along).
        """
        with self._writing(durable=durable) as connection:
            if self._version is not None and self._version_now(connection) != self._version:
                raise changed_error(connection)
            yield connection

    @contextmanager
    def _writing(self, *, durable: bool = True) -> Iterator[Connection]:
        with (
            no_fork(),
            self._translated("written"),
            self._writer(durable=durable) as connection,
        ):
            try:
                yield connection
                self._check_whole(connection)
            except BaseException:
                with suppress(*self.errors):  # a lost connection: the server rolls back by itself
                    connection.rollback()
                raise
            try:
                connection.commit()
            except self.errors as error:
                if self._is_busy(error):
                    raise
                raise CommitFailedError(
                    f'the metastore "{self.name}" did not confirm a commit: {self._reason(error)}'
                ) from error

    @contextmanager
    def _creating(self) -> Iterator[Connection]:
        with self._writing() as connection:
            self._keep_writers_out(connection)
            yield connection

    def _check_whole(self, connection: Connection) -> None:  # noqa: B027 (most need not)
        """MetastoreError if the database would make a ROLLBACK of the COMMIT to come."""

    def _keep_writers_out(self, connection: Connection) -> None:  # noqa: B027 (most need not)
        """Takes the write lock of a store that may have no tables yet, where that is another."""

    def _bring_up_to_date(self) -> None:
        with self.read() as connection:
            if is_current(connection):
                self._version = connection.scalar(VERSION_OF_STORE)
                return
        with self._creating() as connection:
            if is_empty(connection):
                self._check_new()
            create(connection)
            self._version = connection.scalar(VERSION_OF_STORE)

    @contextmanager
    def _translated(self, verb: str) -> Iterator[None]:
        expected: tuple[type[Exception], ...] = (OSError, *self.errors)
        try:
            yield
        except expected as error:
            raise self._error(verb, error) from error

    def _error(self, verb: str, error: BaseException | None) -> MetastoreError:
        reason = self._reason(error)
        hint = next((hint for mark, hint in self.hints if mark in reason), None)
        kind: type[MetastoreError] = MetastoreError
        if self._is_busy(error):
            kind = MetastoreBusyError
        elif self._is_gone(error):
            kind = MetastoreUnreachableError
        elif any(mark in reason for mark in self.full):
            kind = UnwritableError
        return kind(f'the metastore "{self.name}" could not be {verb}: {reason}', hint=hint)

    @abstractmethod
    def _is_busy(self, error: BaseException | None) -> bool:
        """Whether a database's error says that others were in the way for too long, or this process
        was in theirs: its transaction was not begun, or is rolled back.
        """

    def _is_gone(self, error: BaseException | None) -> bool:
        """Whether the database could be used before, and cannot be reached now: what an error has
        ended before its COMMIT is rolled back.
        """
        return False

    def _reason(self, error: BaseException | None) -> str:
        """A database's error as text that may be shown."""
        return str(error)


def insert_row(connection: Connection, table: Table, **values: object) -> int:
    """Returns the number that the store gave to the row."""
    key = connection.execute(_insertion(table), values).inserted_primary_key
    if key is None:
        raise InternalError(f'no key for a new row of "{table.name}"')
    return int(key[0])


@cache
def _insertion(table: Table) -> Insert:
    return insert(table)
