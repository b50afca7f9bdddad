"""Signs of life of a process that has the store's write lock and does something else meanwhile,
such as moving a directory: the server would take it for one that stands still.
"""

from __future__ import annotations

import os
import selectors
import threading
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from acidsql.metastore.sql import Connection


class SignsOfLife:
    """Says something on each connection that it was given, until the transaction there ends, every
    ``seconds``: by a thread that stands still when its process does.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._begin()

    def _begin(self) -> None:
        self._owner = os.getpid()
        self._busy: WeakSet[Any] = WeakSet()
        self._lock = threading.Lock()
        self._given = threading.Event()
        self._thread: threading.Thread | None = None

    def give(self, connection: Connection) -> None:
        """``connection`` is in a transaction."""
        if self._owner != os.getpid():  # a child has neither the thread nor these connections
            self._begin()
        with self._lock:
            self._busy.add(connection.connection.dbapi_connection)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="acidsql-store-life", daemon=True
                )
                self._thread.start()
            self._given.set()

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            self._given.wait()
            pause.wait(self._seconds)
            with self._lock:
                busy = list(self._busy)
                if not busy:
                    self._given.clear()
            for driver in busy:
                self._say(driver)

    def _say(self, driver: Any) -> None:
        from psycopg.pq import TransactionStatus

        is_open = False
        with suppress(Exception):  # who works with the connection is told of an error itself
            if driver.info.transaction_status is TransactionStatus.INTRANS and not _has_news(
                driver
            ):
                driver.execute("SELECT 1")
            is_open = not driver.closed and driver.info.transaction_status in (
                TransactionStatus.INTRANS,
                TransactionStatus.ACTIVE,
            )
        if not is_open:
            with self._lock:
                self._busy.discard(driver)


def _has_news(driver: Any) -> bool:
    """Whether the server has said something meanwhile: why it has ended the transaction, which who
    works with the connection is to hear.
    """
    with selectors.DefaultSelector() as selector:
        selector.register(driver.pgconn.socket, selectors.EVENT_READ)
        return bool(selector.select(0))
