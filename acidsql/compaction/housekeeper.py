"""The housekeeper: it ends what nobody attends to any more, and forgets what nobody can ask for.
Hive: AcidHouseKeeperService, AcidTxnCleanerService, CompactionHouseKeeperService.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from acidsql.compaction.decision import Store
from acidsql.compaction.initiator import FAILURES
from acidsql.lazy import dataclass
from acidsql.settings import Settings
from acidsql.txn.compactions import CompactionState
from acidsql.txn.store import CompactorDaemons

_LAST_TWO = 2
"""The pause after failures is told by the last two of them."""


class HouseStore(Store, CompactorDaemons, Protocol):
    """What the housekeeper needs of a store."""


@dataclass(slots=True, kw_only=True)
class Housekeeper:
    """``clock``: epoch seconds."""

    store: HouseStore
    settings: Settings
    clock: Callable[[], float]
    _purged: float | None = None

    def run_once(self) -> Collection[int]:
        """Aborts transactions and frees locks whose time is over, gives compactions of dead workers
        to others, and forgets old rows; returns the compactions. MetastoreError if the store cannot
        be used.
        """
        self.store.reap()
        revoked = self.store.revoke_compactions()
        self.store.keep_house()
        now = self.clock()
        pause = self.settings.number("metastore.compaction.housekeeper.interval")
        if self._purged is None or now - self._purged >= pause:
            self._purged = now
            self._purge()
        return revoked

    def _purge(self) -> None:
        timeout = self.settings.number("metastore.compactor.history.retention.timeout")
        self.store.purge_compactions(kept_of(self.settings), timeout_seconds=timeout)


def kept_of(settings: Settings) -> dict[CompactionState, int]:
    """How many entries of each state the history keeps of each table or partition; of failed ones
    no fewer than the Initiator counts.
    """

    def number(name: str) -> int:
        return int(settings.number(name))

    refused = number("metastore.compactor.history.retention.refused")
    failed = number("metastore.compactor.history.retention.failed")
    return {
        CompactionState.SUCCEEDED: number("metastore.compactor.history.retention.succeeded"),
        CompactionState.FAILED: max(failed, number(FAILURES), _LAST_TWO),
        CompactionState.DID_NOT_INITIATE: number(
            "metastore.compactor.history.retention.did.not.initiate"
        ),
        CompactionState.REFUSED: refused,
        CompactionState.ABORTED: refused,
    }
