"""Hive's queue of compactions: entries are asked for, shown and taken back. Hive's workers carry
them out, or one of ours does (``workers.py``); its cleaner takes away what they have made obsolete.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from acidsql.acid.ids import TxnId, WriteId
from acidsql.catalog.model import Partition, Table, TableName
from acidsql.metastore.hive.calls.txns import ABORT_COMPACTIONS, COMPACT, SHOW_COMPACT
from acidsql.metastore.hms.server import Server
from acidsql.txn.compactions import (
    Compaction,
    CompactionRequest,
    CompactionState,
    CompactionType,
    EnqueueAnswer,
)
from acidsql.txn.store import ALL_ROLES, CompactorDaemon

_TYPES = {
    CompactionType.MINOR: 1,
    CompactionType.MAJOR: 2,
    CompactionType.REBALANCE: 3,
    CompactionType.ABORT_TXN_CLEANUP: 4,
}
COMPACTION_TYPES = {number: kind for kind, number in _TYPES.items()}
_STATES = {state.words: state for state in CompactionState} | {
    "attempted": CompactionState.DID_NOT_INITIATE
}
_UNDER_WAY = (CompactionState.INITIATED, CompactionState.WORKING)

OURS = ("worker", "housekeeper")
BY_HIVE = "be cleaned up, or looked after, by acidsql: Hive does that"


class HiveCompactions(Server):
    """Implements CompactionQueue and CompactorDaemons as far as who asks needs them."""

    def enqueue_compaction(self, request: CompactionRequest) -> EnqueueAnswer:
        sent = {
            "dbname": request.table.database,
            "tablename": request.table.table,
            "partitionname": request.partition,
            "type": _TYPES[request.type],
            "runas": self._user if self.is_hive_3 else None,
            "properties": dict(request.properties) or None,
            "initiatorId": request.initiator,
            "poolName": request.pool,
            "numberOfBuckets": request.buckets,
            "orderByClause": request.order_by,
        }
        answer = self._ask(COMPACT, rqst=sent)
        if answer["accepted"]:
            return EnqueueAnswer(
                compaction_id=answer["id"], state=CompactionState.INITIATED, accepted=True
            )
        known = self._under_way(request)  # Hive 4 does not say which
        return EnqueueAnswer(
            compaction_id=answer["id"] if known is None else known.compaction_id,
            state=CompactionState.INITIATED if known is None else known.state,
            accepted=False,
        )

    def _under_way(self, request: CompactionRequest) -> Compaction | None:
        return next(
            (
                one
                for one in self.compactions()
                if (one.request.table, one.request.partition) == (request.table, request.partition)
                and one.state in _UNDER_WAY
            ),
            None,
        )

    def compactions(self) -> tuple[Compaction, ...]:
        shown = map(compaction_of, self._shown_compactions())
        return tuple(sorted(shown, key=lambda one: one.compaction_id))

    def _shown_compactions(self, compaction_id: int | None = None) -> list[dict[str, Any]]:
        """The structs of all entries; of this one alone where the metastore can pick it out."""
        shown: dict[str, Any] = self._ask(SHOW_COMPACT, again=True, rqst={"id": compaction_id})
        return shown["compacts"]  # type: ignore[no-any-return]

    def find_compaction(self, compaction_id: int) -> Compaction | None:
        shown = map(compaction_of, self._shown_compactions(compaction_id))
        return next((one for one in shown if one.compaction_id == compaction_id), None)

    def ready_for_cleaning(self) -> tuple[Compaction, ...]:
        state = CompactionState.READY_FOR_CLEANING
        return tuple(one for one in self.compactions() if one.state is state)

    def abort_compactions(
        self, compaction_ids: Collection[int]
    ) -> Mapping[int, CompactionState | None]:
        before = {one.compaction_id: one.state for one in self.compactions()}
        if not self.is_hive_3:
            self._ask(ABORT_COMPACTIONS, again=True, rqst={"compactionIds": list(compaction_ids)})
            return {one: before.get(one) for one in compaction_ids}
        self._cannot("take compactions back", "Hive 3 has no ABORT COMPACTIONS")

    # ---- what Hive does by itself

    def note_compaction(
        self, request: CompactionRequest, state: CompactionState, message: str
    ) -> int:
        self._cannot(BY_HIVE)

    def cleaning(
        self, compaction: Compaction, table: Table, partition: Partition | None
    ) -> AbstractContextManager[None]:
        self._cannot(BY_HIVE)

    def postpone_cleaning(self, compaction_id: int, message: str, *, retry_after: int) -> None:
        self._cannot(BY_HIVE)

    def mark_cleaned(self, compaction_id: int) -> None:
        self._cannot(BY_HIVE)

    def purge_compactions(
        self, keep: Mapping[CompactionState, int], *, timeout_seconds: float
    ) -> None:
        """Does nothing: the metastore does it by itself."""

    def written_since(self, time: int) -> Collection[tuple[TableName, str | None]]:
        return ()

    # ---- daemons

    daemon_roles: Sequence[str] = OURS

    def refuse_workers(self) -> None:
        """NotSupportedError for a Hive 3, whose workers ask its database."""
        if self.is_hive_3:
            self._cannot(
                "give compactions to workers of acidsql",
                f"it is Hive {self.client.version}, and the calls of workers came with Hive 4",
            )

    def register_daemon(self, roles: Sequence[str], pools: Sequence[str]) -> int:
        """A number that nobody asks for: the metastore keeps no list of daemons."""
        if not set(roles) <= set(OURS):
            self._cannot(
                "have an initiator or a cleaner of acidsql",
                "Hive's own look after its tables: --workers N adds workers to its",
            )
        self.refuse_workers()
        return 0

    def heartbeat_daemon(self, daemon_id: int) -> bool:
        return True

    def end_daemon(self, daemon_id: int) -> None:
        """Does nothing: none is known."""

    def compactor_daemons(self) -> tuple[CompactorDaemon, ...]:
        """Hive, which looks after its tables: no session need do so."""
        now = int(time.time() * 1000)
        hive = CompactorDaemon(
            daemon_id=0,
            host=self.client.shown,
            process="Hive",
            roles=ALL_ROLES,
            pools=("",),
            started=now,
            heartbeat=now,
        )
        return (hive,)

    def keep_house(self) -> None:
        """Does nothing: the metastore does it by itself."""


def compaction_of(shown: dict[str, Any]) -> Compaction:
    request = CompactionRequest(
        table=TableName(shown["dbname"], shown["tablename"]),
        partition=shown.get("partitionname"),
        type=COMPACTION_TYPES[shown["type"]],
        initiator=shown.get("initiatorId", ""),
        pool=shown.get("poolName"),
    )
    write_id, txn_id = shown.get("hightestWriteId", 0), shown.get("txnId", 0)
    return Compaction(
        compaction_id=shown.get("id", 0),
        request=request,
        state=_STATES[shown["state"]],
        enqueued=shown.get("enqueueTime", 0),
        started=shown.get("start") or None,
        ended=shown.get("endTime") or None,
        worker=shown.get("workerid"),
        worker_version=shown.get("workerVersion"),
        initiator_version=shown.get("initiatorVersion"),
        highest_write_id=WriteId(write_id) if write_id else None,
        txn_id=TxnId(txn_id) if txn_id else None,
        next_txn_id=TxnId(shown["nextTxnId"]) if shown.get("nextTxnId") else None,
        committed=shown.get("commitTime") or None,
        message=shown.get("errorMessage"),
    )
