"""The embedded metastore: catalog and transaction manager in one, on the one file
``<warehouse>/_acidsql/metastore.db``.

Nothing has to be started: processes on one machine that name the same warehouse directory share it.
"""

from __future__ import annotations

import getpass
import socket
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from acidsql.errors import ProgrammingError
from acidsql.metastore.database_file import OWNER_ONLY
from acidsql.metastore.embedded_catalog import EmbeddedCatalog
from acidsql.metastore.embedded_statistics import EmbeddedStatistics
from acidsql.metastore.embedded_txns import EmbeddedTxns
from acidsql.metastore.locations import warehouse_path
from acidsql.metastore.store import Store
from acidsql.utf8 import check_text

TXN_TIMEOUT_SECONDS = 300.0
"""Hive's default hive.txn.timeout."""
MAX_OPEN_TXNS = 100_000
"""Hive's default hive.max.open.txns."""


class EmbeddedMetastore(EmbeddedCatalog, EmbeddedStatistics, EmbeddedTxns):
    """Opens the warehouse, making it (with the database "default") where it is missing. Implements
    Catalog and TxnManager.

    ``clock`` gives epoch seconds. A transaction without a heartbeat for ``txn_timeout_seconds`` is
    aborted by the next one to open, at once if its process on this host has ended; none is opened
    while ``max_open_txns`` are. Locks without a transaction are deleted so by whoever waits for
    them. ``mode``: of a store that is made, as for chmod. MetastoreError if the warehouse cannot be
    used.
    """

    def __init__(
        self,
        warehouse: str,
        *,
        user: str | None = None,
        host: str | None = None,
        clock: Callable[[], float] = time.time,
        txn_timeout_seconds: float = TXN_TIMEOUT_SECONDS,
        max_open_txns: int = MAX_OPEN_TXNS,
        mode: int = OWNER_ONLY,
    ) -> None:
        self.warehouse = warehouse_path(warehouse)
        store = Store(self.warehouse, mode=mode)
        EmbeddedCatalog.__init__(self, store, clock=clock)
        EmbeddedStatistics.__init__(self, store, clock=clock)
        EmbeddedTxns.__init__(
            self,
            store,
            user=user or current_user(),
            host=host or socket.gethostname(),
            clock=clock,
            txn_timeout_seconds=txn_timeout_seconds,
            max_open_txns=max_open_txns,
        )

    def close(self) -> None:
        """Closes its connections; transactions stay as they are. Closing twice is no error."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def current_user() -> str:
    """The user who runs this process, ``unknown`` where nobody says it in text."""
    try:
        name = getpass.getuser()
        check_text(name)
    except (OSError, KeyError, ImportError, ProgrammingError):  # a container's nameless user id
        return "unknown"
    return name
