"""Locks: those of the metastore, which Hive and others take, too.

A transaction may have its locks in the name of another one, its **keeper**. One that had to wait
for them is too old by then: what others committed meanwhile it must not see, and it would conflict
with that. So a new one does its work, and the one that waited keeps the locks to the end of that::

    keeper   open -- lock .. waits .. acquired ------------------------------- committed, empty
    worker                                     open -- snapshot -- .. -- commit

No transaction of Hive's asks twice, so the metastore looks for no circles of waiting ones; here who
closes one is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from acidsql.acid.ids import TxnId
from acidsql.errors import InternalError, MetastoreError, OperationalError, TransactionAbortedError
from acidsql.metastore.hive.calls.reading import TXN_OPEN
from acidsql.metastore.hive.calls.txns import CHECK_LOCK, HEARTBEAT, LOCK, SHOW_LOCKS, UNLOCK
from acidsql.metastore.hive.client import DeclaredError
from acidsql.metastore.hms.server import AGENT, Server
from acidsql.txn.locks import (
    NO_TXN,
    LockAnswer,
    LockComponent,
    LockInfo,
    LockQueue,
    LockRequest,
    LockState,
    LockType,
)

NO_TXN_OPERATION = 6
"""DataOperationType.NO_TXN: what is written is told apart from locks, by ``add_components``."""
_TYPES = {
    LockType.SHARED_READ: 1,
    LockType.SHARED_WRITE: 2,
    LockType.EXCLUSIVE: 3,
    LockType.EXCL_WRITE: 4,
}
_SHARED_WRITE_OF_HIVE_3 = _TYPES[LockType.SHARED_WRITE]
"""Hive 3 knows no EXCL_WRITE; its SHARED_WRITE keeps other writers out."""
_KINDS = {number: kind for kind, number in _TYPES.items()}
_STATES = {
    1: LockState.ACQUIRED,
    2: LockState.WAITING,
    4: LockState.NOT_ACQUIRED,
}
_DATABASE, _TABLE, _PARTITION = 1, 2, 3


class HiveLocks(Server):
    """The locks of a TxnManager."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._keepers: dict[TxnId, TxnId] = {}
        self._waiting: dict[int, LockAnswer] = {}

    def keeper_of(self, txn_id: TxnId) -> TxnId:
        """The transaction in whose name another one has its locks; most often itself."""
        return self._keepers.get(txn_id, txn_id)

    def lock(self, request: LockRequest, txn_id: TxnId = NO_TXN) -> LockAnswer:
        if txn_id == NO_TXN:
            self._make_up()
        if not request.components:
            raise InternalError("a request for locks names nothing to lock")
        owner = self.keeper_of(txn_id)
        sent: dict[str, Any] = {
            "component": [self._component(one) for one in request.components],
            "user": self._user,
            "hostname": self._host,
            "agentInfo": AGENT,
        }
        if owner != NO_TXN:
            sent["txnid"] = owner
            if not self.is_hive_3:
                sent["zeroWaitReadEnabled"] = request.zero_wait_reads
                sent["exclusiveCTAS"] = request.exclusive_ctas
        answer = self._answer(self._ask_in_txn(txn_id, LOCK, rqst=sent))
        return answer if answer.state is LockState.ACQUIRED else self._explained(answer, owner)

    def check_lock(self, lock_id: int, txn_id: TxnId = NO_TXN) -> LockAnswer:
        owner = self.keeper_of(txn_id)
        sent = {"lockid": lock_id} | ({} if owner == NO_TXN else {"txnid": owner})
        answer = self._answer(self._ask_in_txn(txn_id, CHECK_LOCK, again=True, rqst=sent))
        if answer.state is LockState.ACQUIRED:
            self._waiting.pop(lock_id, None)
            return answer
        return self._waiting.get(lock_id, answer)

    def unlock(self, lock_id: int) -> None:
        self._waiting.pop(lock_id, None)
        try:
            self._end_surely(UNLOCK, {"lockid": lock_id})
        except DeclaredError as error:
            if error.kind == TXN_OPEN:
                raise OperationalError(error.message) from error

    def heartbeat_lock(self, lock_id: int) -> None:
        self._ask(HEARTBEAT, again=True, ids={"lockid": lock_id})

    def list_locks(self) -> tuple[LockInfo, ...]:
        strength = list(LockType).index
        return tuple(
            sorted(
                self._queue(),
                key=lambda lock: (
                    lock.state is not LockState.ACQUIRED,
                    strength(lock.component.type),
                ),
            )
        )

    def _queue(self) -> list[LockInfo]:
        """All locks in the order in which they came."""
        shown = self._ask(SHOW_LOCKS, again=True, rqst={"isExtended": True})
        locks = (_lock_info(one) for one in shown.get("locks", []))
        return sorted(locks, key=lambda lock: (lock.lock_id, lock.part))

    def _explained(self, answer: LockAnswer, owner: TxnId) -> LockAnswer:
        """The answer with what stands in the way, as far as that can still be seen."""
        queue = self._queue()
        own = [lock for lock in queue if lock.lock_id == answer.lock_id]
        ahead = {lock.blocked_by for lock in own}
        blockers = tuple(lock for lock in queue if (lock.lock_id, lock.part) in ahead)
        until = [lock for lock in queue if lock.lock_id <= answer.lock_id]
        deadlock = () if owner == NO_TXN else LockQueue(until).deadlock(owner)
        explained = LockAnswer(
            lock_id=answer.lock_id, state=answer.state, blockers=blockers, deadlock=deadlock
        )
        if explained.state is LockState.WAITING:
            self._waiting[explained.lock_id] = explained
        return explained

    def _component(self, one: LockComponent) -> dict[str, Any]:
        kind = _TYPES[one.type]
        if one.type is LockType.EXCL_WRITE and self.is_hive_3:
            kind = _SHARED_WRITE_OF_HIVE_3
        level = _DATABASE if one.table is None else _TABLE
        component = {
            "type": kind,
            "level": level if one.partition is None else _PARTITION,
            "dbname": one.database,
            "tablename": one.table,
            "partitionname": one.partition,
            "operationType": NO_TXN_OPERATION,
        }
        return {key: value for key, value in component.items() if value is not None}

    def _answer(self, response: dict[str, Any]) -> LockAnswer:
        state = _STATES.get(response["state"])
        if state is None:
            raise MetastoreError("the metastore has given up a lock request")
        return LockAnswer(lock_id=response["lockid"], state=state)

    def _beat_txn(self, txn_id: TxnId) -> None:
        """Keeps a transaction alive, and the one that keeps its locks."""
        for one in dict.fromkeys((txn_id, self.keeper_of(txn_id))):
            self._ask_in_txn(txn_id, HEARTBEAT, again=True, ids={"txnid": one})

    def _beat_all(self, txn_ids: Iterable[TxnId]) -> set[TxnId]:
        """Keeps transactions alive; returns those that are not open any more."""
        lost = set()
        for txn_id in txn_ids:
            try:
                self._beat_txn(txn_id)
            except TransactionAbortedError:
                lost.add(txn_id)
        return lost


def _lock_info(shown: dict[str, Any]) -> LockInfo:
    blocked_by = shown.get("blockedByExtId")
    return LockInfo(
        lock_id=shown["lockid"],
        part=shown.get("lockIdInternal", 1),
        component=LockComponent(
            database=shown["dbname"],
            table=shown.get("tablename"),
            partition=shown.get("partname"),
            type=_KINDS[shown["type"]],
        ),
        state=_STATES.get(shown["state"], LockState.WAITING),
        txn_id=TxnId(shown.get("txnid", NO_TXN)),
        blocked_by=None if blocked_by is None else (blocked_by, shown.get("blockedByIntId", 1)),
        last_heartbeat=shown.get("lastheartbeat", 0),
        acquired_at=shown.get("acquiredat", 0),
        user=shown.get("user", ""),
        host=shown.get("hostname", ""),
        agent=shown.get("agentInfo"),
        statement="",
    )
