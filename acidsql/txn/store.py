"""What a session asks of its store: the protocols of one metastore, its daemons, and the store
itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from acidsql.catalog.catalog import Catalog
from acidsql.lazy import dataclass
from acidsql.txn.compactions import CompactionQueue
from acidsql.txn.leftovers import Leftovers
from acidsql.txn.manager import TxnManager

# ---- daemons
#
# The daemons that look after a store's tables, so that sessions know whether somebody else does;
# and what one of them does for the store itself.


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactorDaemon:
    """A process that compacts. ``roles``: what it does, of initiator, worker, cleaner and
    housekeeper; ``pools``: those its workers serve, "" stands for entries of no pool. Times in
    epoch milliseconds.
    """

    daemon_id: int
    host: str
    process: str
    roles: tuple[str, ...]
    pools: tuple[str, ...]
    started: int
    heartbeat: int


ALL_ROLES = ("initiator", "worker", "cleaner", "housekeeper")


class CompactorDaemons(Protocol):
    """``daemon_roles``: those that a daemon of ours may have; others have the rest."""

    @property
    def daemon_roles(self) -> Sequence[str]: ...

    def register_daemon(self, roles: Sequence[str], pools: Sequence[str]) -> int:
        """Makes the current process known as a daemon; returns its number. Forgets those that have
        died.
        """

    def heartbeat_daemon(self, daemon_id: int) -> bool:
        """Tells that it is alive still; returns whether it is known."""

    def end_daemon(self, daemon_id: int) -> None:
        """Forgets a daemon; no error for an unknown one."""

    def compactor_daemons(self) -> tuple[CompactorDaemon, ...]:
        """The daemons that live: their process has not ended, and none was silent for longer than
        hive.txn.timeout. One read.
        """

    def keep_house(self) -> None:
        """Forgets what no snapshot and no conflict check can ask for any more. Hive:
        AcidHouseKeeperService, AcidTxnCleanerService.
        """


# ---- store


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
