"""Transactions: opened, given write ids and ended at the metastore.

What a transaction changes is on record there before any of its files has its name, by partition, so
that Hive's cleaner finds it should the process die, and Hive's rule of conflicts is asked at every
commit: whoever changed the same table or partition first has won. (Hive 4 leaves that rule out for
its own writers, since these keep each other out by EXCL_WRITE, and look again once they have it.)
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Never

from acidsql.acid.ids import TxnId, ValidTxnList, WriteId
from acidsql.catalog.model import TableName
from acidsql.catalog.statistics import StatisticsChange
from acidsql.errors import (
    CommitStateUnknownError,
    Error,
    MetastoreError,
    OperationalError,
    TransactionAbortedError,
    WriteConflictError,
)
from acidsql.metastore.hive.calls.txns import (
    ABORT_TXN,
    ABORT_TXNS,
    ADD_DYNAMIC_PARTITIONS,
    COMMIT_TXN,
    GET_OPEN_TXNS_INFO,
    LOCK,
)
from acidsql.metastore.hive.client import DeclaredError, LostError, ServerFailedError
from acidsql.metastore.hms.readers import HiveReaders
from acidsql.metastore.hms.server import AGENT
from acidsql.metastore.hms.statistics import HiveStatistics
from acidsql.txn.locks import NO_TXN, LockRequest, LockState, LockType
from acidsql.txn.manager import (
    OpenedTxn,
    OperationType,
    TxnComponent,
    TxnInfo,
    TxnOutcome,
    TxnState,
)
from acidsql.txn.overlaps import TXN_ABORTED, Overlap
from acidsql.txn.runs import CommittedRun, Run, Taken, TakenFile

_OPERATIONS = {
    OperationType.INSERT: 2,
    OperationType.UPDATE: 3,
    OperationType.DELETE: 4,
    OperationType.OVERWRITE: 3,
}
"""DataOperationType; of an overwriting Hive records an update."""
_SHARED_READ, _TABLE, _WAITING = 1, 2, 2
_STATES = {1: TxnState.COMMITTED, 2: TxnState.ABORTED, 3: TxnState.OPEN}
_COMMIT_PAUSES = (0.0, 0.2, 1.0, 3.0)
"""Seconds before a commit without an answer is asked for once more."""


class HiveTxns(HiveReaders, HiveStatistics):
    """Implements TxnManager."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._snapshots: dict[TxnId, ValidTxnList] = {}

    def begin(
        self,
        tables: Iterable[TableName] = (),
        locks: LockRequest | None = None,
        reads: Iterable[TableName] = (),
    ) -> OpenedTxn:
        txn_id = self.open_txn()
        try:
            answer = None if locks is None else self.lock(locks, txn_id)
            if answer is not None and answer.state is not LockState.ACQUIRED:
                if answer.state is LockState.NOT_ACQUIRED:
                    self.abort(txn_id)
                nothing = ValidTxnList(high_watermark=TxnId(0))
                return OpenedTxn(txn_id=txn_id, txns=nothing, write_ids={}, locks=answer)
            if locks is not None and self._is_late(txn_id, locks):
                return replace(self.renew(txn_id, tables, reads), locks=answer)
            return replace(self._opened(txn_id, tables, reads), locks=answer)
        except BaseException:
            with suppress(Error):
                self.abort(txn_id)
            raise

    @contextmanager
    def _own_txn(self) -> Iterator[TxnId]:
        """A transaction for what is done inside: committed behind it, aborted if that fails."""
        txn_id = self.open_txn()
        try:
            yield txn_id
            self.commit(txn_id)
        except BaseException:
            with suppress(Error):
                self.abort(txn_id)
            raise

    def _is_late(self, txn_id: TxnId, locks: LockRequest) -> bool:
        """Whether a transaction that changes rows may have others before it that began later: they
        can have had its locks before it asked. It would not see them, and conflict with them.
        """
        return (
            any(one.type is not LockType.SHARED_READ for one in locks.components)
            and self.valid_txns().high_watermark > txn_id
        )

    def _opened(
        self, txn_id: TxnId, tables: Iterable[TableName], reads: Iterable[TableName]
    ) -> OpenedTxn:
        txns = self._snapshots[txn_id] = self.valid_txns(txn_id)
        return OpenedTxn(
            txn_id=txn_id,
            txns=txns,
            write_ids={table: self.allocate_write_id(txn_id, table) for table in tables},
            seen=self.read_in_txn(txn_id, txns, reads),
        )

    def renew(
        self, txn_id: TxnId, tables: Iterable[TableName] = (), reads: Iterable[TableName] = ()
    ) -> OpenedTxn:
        self.heartbeat(txn_id)
        keeper = self.keeper_of(txn_id)
        new = self.open_txn()
        self._keepers[new] = keeper
        try:
            if txn_id != keeper:
                del self._keepers[txn_id]
                self._snapshots.pop(txn_id, None)
                self._abort(txn_id)
            return self._opened(new, tables, reads)
        except BaseException:
            with suppress(Error):
                self.abort(new)
            raise

    def seed_write_id(self, table: TableName, write_id: WriteId) -> None:
        self._cannot("take over the write ids of files that are another store's")

    def declare_write_ids(
        self,
        table: TableName,
        *,
        committed: Collection[WriteId],
        aborted: Collection[WriteId],
        highest_txn: TxnId = NO_TXN,
    ) -> None:
        self._cannot("take over the write ids of files that are another store's")

    def give_back(self, txn_id: TxnId, table: TableName) -> None:
        """Leaves the write id to the transaction, which wrote nothing under it: the metastore takes
        none back.
        """

    # ---- what it changes

    def add_components(self, txn_id: TxnId, components: Iterable[TxnComponent]) -> None:
        by_table: dict[tuple[TableName, WriteId, OperationType], list[str | None]] = {}
        # reading changes nothing
        changes = [one for one in components if one.operation in _OPERATIONS]
        if not changes:
            self._beat_txn(txn_id)
        for one in changes:
            by_table.setdefault((one.table, one.write_id, one.operation), []).append(one.partition)
        for (table, write_id, operation), partitions in by_table.items():
            if operation is OperationType.OVERWRITE:
                self._check_alone(txn_id, table, write_id)
            names = [name for name in partitions if name is not None]
            if names:
                self._add_partitions_changed(txn_id, table, write_id, operation, names)
            if None in partitions:
                self._add_table_changed(txn_id, table, operation)

    def _check_alone(self, txn_id: TxnId, table: TableName, write_id: WriteId) -> None:
        """WriteConflictError if the rows of an earlier write id, which an overwriting hides, are
        not among those that it has seen: that transaction is open still, or has committed since.
        No earlier write id is given out any more. Of which partition they are nobody tells.
        """
        seen = self.valid_write_ids(table, self._snapshots.get(txn_id) or self.valid_txns(txn_id))
        now = self.valid_write_ids(table, self.valid_txns())
        hidden = {one for one in (*now.open, *seen.exceptions) if one < write_id}
        if not all(now.is_aborted(one) for one in hidden):
            raise WriteConflictError(
                f"Aborting [txnid:{txn_id}]: table {table} is overwritten, and another transaction"
                " has written to it meanwhile",
                hint="Run the statement again: it will see the other transaction's changes.",
                code=TXN_ABORTED,
            )

    def _add_partitions_changed(
        self,
        txn_id: TxnId,
        table: TableName,
        write_id: WriteId,
        operation: OperationType,
        names: list[str],
    ) -> None:
        request = {
            "txnid": txn_id,
            "writeid": write_id,
            "dbname": table.database,
            "tablename": table.table,
            "partitionnames": names,
            "operationType": _OPERATIONS[operation],
        }
        self._ask_in_txn(txn_id, ADD_DYNAMIC_PARTITIONS, again=True, rqst=request)

    def _add_table_changed(self, txn_id: TxnId, table: TableName, operation: OperationType) -> None:
        """Records a change of a table without partitions, which the metastore takes down with a
        lock alone. The weakest does; and where that would have to wait it is on record all the
        same, and the transaction has its locks already.
        """
        component = {
            "type": _SHARED_READ,
            "level": _TABLE,
            "dbname": table.database,
            "tablename": table.table,
            "operationType": _OPERATIONS[operation],
            "isTransactional": True,
        }
        request = {
            "component": [component],
            "txnid": txn_id,
            "user": self._user,
            "hostname": self._host,
            "agentInfo": AGENT,
        }
        answer = self._ask_in_txn(txn_id, LOCK, again=True, rqst=request)
        if answer["state"] == _WAITING:
            self.unlock(answer["lockid"])

    def heartbeat(self, txn_id: TxnId) -> None:
        self._beat_txn(txn_id)

    # ---- its end

    def commit(
        self,
        txn_id: TxnId,
        components: Iterable[TxnComponent] = (),
        statistics: Iterable[StatisticsChange] = (),
        harmless: Collection[Overlap] | None = None,
        run: Run | None = None,
        taken: Collection[Taken] = (),
    ) -> tuple[Overlap, ...]:
        if run is not None:
            self._cannot_record_runs()
        if taken:
            self._cannot_record_files()
        if harmless is not None:
            self._cannot(
                "compare the rows of two transactions",
                "set acidsql.conflict.granularity to partition, which is Hive's rule",
            )
        changes = tuple(components)
        try:
            if changes:
                self.add_components(txn_id, changes)
        except TransactionAbortedError as error:
            if _COMMITTED_WORDS in (error.detail or ""):
                return ()
            raise
        self._check_keeper(txn_id)
        self._doubt_in_txn(txn_id, tuple(statistics))
        self._commit(txn_id)
        self._let_keeper_go(txn_id)
        return ()

    def _check_keeper(self, txn_id: TxnId) -> None:
        """TransactionAbortedError, and it is aborted, if its locks are not kept any more."""
        if self.keeper_of(txn_id) == txn_id:
            return
        try:
            self._beat_txn(txn_id)
        except TransactionAbortedError:
            with suppress(Error):
                self.abort(txn_id)
            raise

    def _commit(self, txn_id: TxnId) -> None:
        """Commits; a commit without an answer is asked for again, which the metastore takes for
        done where it was.
        """
        request: dict[str, object] = {"txnid": txn_id}
        if not self.is_hive_3:
            request["exclWriteEnabled"] = False
        lost: MetastoreError | None = None
        for pause in _COMMIT_PAUSES:
            time.sleep(pause)
            try:
                self._ask_in_txn(txn_id, COMMIT_TXN, rqst=request)
                return
            except TransactionAbortedError as error:
                if lost is None or _ABORTED_WORDS in (error.detail or ""):
                    self._let_keeper_go(txn_id)
                    raise _conflict(error) from error
                lost.add_note(f"asked again, it says: {error.detail}")
                break
            except (LostError, ServerFailedError) as error:
                lost = error
            except MetastoreError as error:
                if lost is None:  # it was never sent
                    raise
                lost.add_note(error.message)
        # whatever it is now, it is not to keep others out for long
        self._owed.append((ABORT_TXN, {"txnid": txn_id}))
        self._let_keeper_go(txn_id)
        unknown = CommitStateUnknownError(
            f"the commit of transaction txnid:{txn_id} was sent, and the metastore did not say"
            " what became of it",
            detail=None if lost is None else lost.message,
            hint=f"SHOW TRANSACTION {txn_id} tells, once the metastore can be asked.",
        )
        unknown.txn_id = txn_id
        raise unknown from lost

    def abort(self, txn_id: TxnId, *, conflict: bool = False) -> None:
        self._let_keeper_go(txn_id)
        self._abort(txn_id)

    def _abort(self, txn_id: TxnId) -> None:
        """Aborts a transaction; one that the metastore has forgotten was aborted long ago."""
        try:
            self._end_surely(ABORT_TXN, {"txnid": txn_id})
        except DeclaredError as error:
            if _COMMITTED_WORDS in error.message:
                raise OperationalError(
                    f"transaction txnid:{txn_id} is committed", detail=error.message
                ) from error

    def _let_keeper_go(self, txn_id: TxnId) -> None:
        """Forgets a transaction that has ended, and ends the one that keeps its locks."""
        self._snapshots.pop(txn_id, None)
        keeper = self._keepers.pop(txn_id, None)
        if keeper is not None:
            with suppress(Error, DeclaredError):
                self._end_surely(COMMIT_TXN, {"txnid": keeper})

    def abort_txns(self, txn_ids: Iterable[TxnId]) -> None:
        ids = list(txn_ids)
        if ids:
            self._ask(ABORT_TXNS, again=True, rqst={"txn_ids": ids})

    def reap(self) -> None:
        """Does nothing: the metastore does it by itself."""

    # ---- what is told of them

    def list_txns(self) -> tuple[TxnInfo, ...]:
        return self._infos()[1]

    def _infos(self) -> tuple[int, tuple[TxnInfo, ...]]:
        """The highest id, and what is told of those that are open or were aborted."""
        answer = self._ask(GET_OPEN_TXNS_INFO, again=True)
        infos = (
            TxnInfo(
                txn_id=TxnId(one["id"]),
                state=_STATES[one["state"]],
                started=one.get("startedTime", 0),
                last_heartbeat=one.get("lastHeartbeatTime", 0),
                user=one.get("user", ""),
                host=one.get("hostname", ""),
            )
            for one in answer.get("open_txns", [])
        )
        return answer["txn_high_water_mark"], tuple(sorted(infos, key=lambda info: info.txn_id))

    def find_txn(self, txn_id: TxnId) -> TxnOutcome | None:
        highest, infos = self._infos()
        if txn_id > highest:
            return None
        return TxnOutcome(info=next((one for one in infos if one.txn_id == txn_id), None))

    def find_run(self, run_id: str) -> CommittedRun | None:
        self._cannot_record_runs()

    def forget_run(self, run_id: str) -> bool:
        self._cannot_record_runs()

    def find_taken(self, table_id: int, files: Collection[TakenFile]) -> frozenset[TakenFile]:
        self._cannot_record_files()

    def _cannot_record_files(self) -> Never:
        self._cannot(
            "record with a commit which files a table has taken",
            "so it cannot tell whether a file was copied into it before",
        )

    def _cannot_record_runs(self) -> Never:
        self._cannot(
            "record a run with a commit",
            "so it cannot tell whether the work of a run id has been done before",
        )


_ABORTED_WORDS = "already aborted"
_COMMITTED_WORDS = "already committed"
_CONFLICT_WORDS = "due to a write conflict"


def _conflict(error: TransactionAbortedError) -> Error:
    """The error of a commit that was refused: a conflict where the metastore says so."""
    if _CONFLICT_WORDS not in (error.detail or ""):
        return error
    return WriteConflictError(
        error.detail or error.message,
        hint="Run the statement again: it will see the other transaction's changes.",
        code=TXN_ABORTED,
    )
