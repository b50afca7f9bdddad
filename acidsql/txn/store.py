"""What a session asks of its store: the protocols of one metastore, and the store itself."""

from __future__ import annotations

from typing import Protocol

from acidsql.catalog.catalog import Catalog
from acidsql.txn.compactions import CompactionQueue
from acidsql.txn.daemons import CompactorDaemons
from acidsql.txn.leftovers import Leftovers
from acidsql.txn.manager import TxnManager


class SessionStore(Catalog, TxnManager, Leftovers, CompactionQueue, CompactorDaemons, Protocol):
    @property
    def warehouse(self) -> str:
        """The directory of its tables, as far as they lie nowhere else."""

    @property
    def metastore(self) -> str | None:
        """The URL it was opened by, its password and all: not to be shown. None for the file."""

    @property
    def host(self) -> str:
        """What this host is called in transactions, locks and compactions."""

    def make(self) -> None:
        """Makes the warehouse if there is none yet. MetastoreError if it may not be."""

    def empty_log(self) -> bool:
        """Takes what was deleted out of the store's log, so that no file has it; False while
        others use the store. A server's log is the server's business: True.
        """

    def close(self) -> None:
        """Closes its connections; transactions stay as they are. Closing twice is no error."""
