"""COMPACT .. AND WAIT: until compactions have come to their end, whoever carries them out. Hive:
AlterTableCompactOperation.waitForCompactionToFinish.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable

from acidsql import interrupts
from acidsql.compaction.housekeeper import HouseStore
from acidsql.settings import Settings
from acidsql.txn.compactions import Compaction, CompactionState
from acidsql.txn.daemons import CompactorDaemon

FIRST_PAUSE = 0.1
"""Seconds, doubled each time. Hive begins with two."""

CarryOut = Callable[[Compaction], bool]
"""Carries out this entry, if it is still to be had; returns whether it was."""


def wait_until_done(
    store: HouseStore, settings: Settings, ids: Collection[int], carry_out: CarryOut
) -> None:
    """Returns when none of these entries is initiated or working. Those that no daemon's worker
    serves are carried out here and now. Heeds Ctrl-C; the entries stay in the queue then.
    """
    longest = settings.number("hive.compactor.wait.timeout") / 1000
    pause = min(FIRST_PAUSE, longest)
    while waiting := _unfinished(store, ids):
        interrupts.check()
        if any(entry.state is CompactionState.WORKING for entry in waiting):
            store.revoke_compactions()  # whoever works on it may be dead
        daemons = store.compactor_daemons()
        own = (
            entry
            for entry in waiting
            if entry.state is CompactionState.INITIATED and not _is_served(entry, daemons)
        )
        if any(carry_out(entry) for entry in own):
            continue
        with interrupts.at_once():
            time.sleep(pause)
        pause = min(2 * pause, longest)


def _unfinished(store: HouseStore, ids: Collection[int]) -> list[Compaction]:
    still = (CompactionState.INITIATED, CompactionState.WORKING)
    return [c for c in store.compactions() if c.compaction_id in ids and c.state in still]


def _is_served(entry: Compaction, daemons: Iterable[CompactorDaemon]) -> bool:
    """Whether a daemon has workers for the entry's pool."""
    pool = entry.request.pool or ""
    return any("worker" in daemon.roles and pool in daemon.pools for daemon in daemons)
