"""The embedded metastore: catalog and transaction manager in one, on the one file
``<warehouse>/_acidsql/metastore.db`` or in a PostgreSQL database.

Nothing has to be started for the file: processes on one machine that name the same warehouse
directory share it. With a database those of several machines do.
"""

from __future__ import annotations

import getpass
import socket
import time
from types import TracebackType
from typing import Self

from acidsql.errors import ProgrammingError
from acidsql.metastore.calls.catalog import EmbeddedCatalog
from acidsql.metastore.calls.compactions import EmbeddedCompactions, EmbeddedDaemons
from acidsql.metastore.calls.leftovers import EmbeddedLeftovers
from acidsql.metastore.calls.statistics import EmbeddedStatistics
from acidsql.metastore.locations import warehouse_path
from acidsql.metastore.store import PATIENCE_SECONDS, Clock, Create
from acidsql.metastore.stores import open_store
from acidsql.metastore.stores.database_file import OWNER_ONLY
from acidsql.utf8 import check_text

TXN_TIMEOUT_SECONDS = 300.0
"""Hive's default hive.txn.timeout."""
MAX_OPEN_TXNS = 100_000
"""Hive's default hive.max.open.txns."""
WORKER_TIMEOUT_SECONDS = 86_400.0
"""Hive's default hive.compactor.worker.timeout."""
POOL_TIMEOUT_SECONDS = 43_200.0
"""Hive's default metastore.compactor.worker.pool.timeout."""


class EmbeddedMetastore(
    EmbeddedCatalog, EmbeddedStatistics, EmbeddedLeftovers, EmbeddedCompactions, EmbeddedDaemons
):
    """Opens the warehouse, making it (with the database "default") where it is missing. Implements
    Catalog, TxnManager, CompactionQueue and CompactorDaemons.

    ``metastore``: the URL of a PostgreSQL database; None for the file. ``clock`` gives epoch
    seconds; None for that of the database's server, or of this host. ``steady``: seconds that
    neither jump nor pass while the machine sleeps, by which a store of one host tells who has been
    silent for too long; None is Python's, or ``clock`` if there is one. A transaction without a
    heartbeat for ``txn_timeout_seconds`` is aborted by the next one to open, at once if its process
    on this host has ended; none is opened while ``max_open_txns`` are. Locks without a transaction
    are deleted so by the transactions that wait for them. A compactor's worker without a heartbeat
    for ``worker_timeout_seconds`` loses its entry; one that no pool has served for
    ``pool_timeout_seconds`` is anybody's. ``mode``: of a store that is made, as for chmod.
    ``durable``, ``patience_seconds``, ``create``: see open_store. MetastoreError if the warehouse
    cannot be used.
    """

    def __init__(
        self,
        warehouse: str,
        *,
        metastore: str | None = None,
        user: str | None = None,
        host: str | None = None,
        clock: Clock | None = None,
        steady: Clock | None = None,
        txn_timeout_seconds: float = TXN_TIMEOUT_SECONDS,
        max_open_txns: int = MAX_OPEN_TXNS,
        worker_timeout_seconds: float = WORKER_TIMEOUT_SECONDS,
        pool_timeout_seconds: float = POOL_TIMEOUT_SECONDS,
        mode: int = OWNER_ONLY,
        durable: bool = True,
        patience_seconds: float = PATIENCE_SECONDS,
        create: Create = Create.OPEN,
    ) -> None:
        self.warehouse = warehouse_path(warehouse)
        store = open_store(
            self.warehouse,
            metastore,
            mode=mode,
            clock=clock,
            durable=durable,
            patience_seconds=patience_seconds,
            create=create,
        )
        EmbeddedCatalog.__init__(self, store)
        EmbeddedStatistics.__init__(self, store)
        self._worker_timeout = worker_timeout_seconds
        self._pool_timeout = pool_timeout_seconds
        EmbeddedLeftovers.__init__(
            self,
            store,
            user=user or current_user(),
            host=host or socket.gethostname(),
            steady=(steady or clock or time.monotonic) if store.one_host else None,
            txn_timeout_seconds=txn_timeout_seconds,
            max_open_txns=max_open_txns,
        )

    @property
    def metastore(self) -> str | None:
        """The URL it was opened by, its password and all: not to be shown. None for the file."""
        return self._store.url

    def make(self) -> None:
        """Makes the warehouse if there is none yet. MetastoreError if it may not be."""
        self._store.make()

    @property
    def host(self) -> str:
        """What this host is called in transactions, locks and compactions."""
        return self._host

    def empty_log(self) -> bool:
        """Takes what was deleted out of the store's log, so that no file has it; False while
        others use the store. A server's log is the server's business: True.
        """
        return self._store.empty_log()

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
