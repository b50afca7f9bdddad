"""A worker of Hive's queue, beside Hive's own: it takes entries, keeps them while it works, and
says how they have ended. Hive: Worker, AcidCompactionService, CompactionTxnHandler.

    find_next_compact2 -> its own transaction, of the type COMPACTION: read lock, write ids
    -> update_compactor_state: Hive's cleaner knows of its files, should it die
    -> outputs with the transaction in their names -> commit: seen -> mark_compacted

The metastore knows a worker by its name and the moment at which it took an entry; it checks neither
when it is told how the entry has ended, so that is asked before. What two workers make of one
entry has names of its own each, and of those a reader chooses one.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from acidsql.acid.ids import TxnId, ValidCompactorWriteIdList, WriteId
from acidsql.catalog.model import Partition, Table, TableName
from acidsql.catalog.partitions import name_of
from acidsql.errors import Error, MetastoreError, OperationalError
from acidsql.lazy import dataclass
from acidsql.metastore.hive.calls.reading import Method
from acidsql.metastore.hive.calls.txns import (
    FIND_NEXT_COMPACT,
    MARK_COMPACTED,
    MARK_FAILED,
    MARK_REFUSED,
    UPDATE_COMPACTOR_STATE,
)
from acidsql.metastore.hive.client import LostError
from acidsql.metastore.hms.catalog import HiveCatalog
from acidsql.metastore.hms.compactions import COMPACTION_TYPES, HiveCompactions, compaction_of
from acidsql.metastore.hms.readers import COMPACTION_TXN
from acidsql.metastore.hms.tables import Struct
from acidsql.metastore.locations import local_path
from acidsql.metastore.rows.compactions import entries_of
from acidsql.processes import Process
from acidsql.txn.compactions import (
    Compaction,
    CompactionState,
    CompactionType,
    OpenedCompaction,
)
from acidsql.txn.locks import LockComponent, LockRequest, LockState, LockType

NOT_REBALANCED = (
    "acidsql makes no rebalancing compaction on a Hive metastore: ask for it in a pool that Hive's"
    " workers serve"
)
GIVEN_BACK = "given back by its worker, and asked for once more"
DIED = "its worker has died: ask for it again"


@dataclass(slots=True)
class _Taken:
    """An entry that a worker of this process has. ``struct``: as the metastore has given it out;
    ``txn_id``: the worker's transaction while it is open; ``is_committed``: once it has been.
    """

    struct: Struct
    worker: str
    lease: int
    txn_id: TxnId | None = None
    is_committed: bool = False


class HiveWorkers(HiveCatalog, HiveCompactions):
    """The calls of a CompactionQueue's worker."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._taken: dict[int, _Taken] = {}

    # ---- taking

    def next_compaction(
        self, worker: str, *, pool: str | None = None, only: int | None = None
    ) -> Compaction | None:
        """``only``: none, since the metastore gives out no entry in particular."""
        if only is not None:
            return None
        self.refuse_workers()
        while (struct := self._find_next(worker, pool)) is not None:
            if COMPACTION_TYPES[struct["type"]] is CompactionType.REBALANCE:
                self._mark(MARK_REFUSED, struct | {"errorMessage": NOT_REBALANCED})
                continue
            entry = self.find_compaction(struct["id"])
            if entry is None or entry.worker != worker or entry.started is None:
                continue  # taken away again: the metastore's host has begun anew
            self._taken[entry.compaction_id] = _Taken(struct, worker, entry.started)
            return _with_request(entry, struct)
        return None

    def _find_next(self, worker: str, pool: str | None) -> Struct | None:
        version = str(Process.current())  # so others see whether it lives
        request = {"workerId": worker, "workerVersion": version, "poolName": pool}
        try:
            answer: Struct = self._ask(FIND_NEXT_COMPACT, rqst=request)
        except LostError:
            return self._given_unheard(worker)
        return answer.get("ci")

    def _given_unheard(self, worker: str) -> Struct | None:
        """What a worker was given without hearing of it: it has one entry at a time. The properties
        of the request, which tune it, nobody tells once more.
        """
        for one in self._shown_compactions():
            if one.get("workerid") == worker and one["id"] not in self._taken:
                return _given_out(one)
        return None

    def revoke_compactions(self) -> Collection[int]:
        """Ends the entries of workers of acidsql that have died; those of others have Hive's
        time-out, hive.compactor.worker.timeout. What was asked for with an entry nobody is told, so
        none is asked for again.
        """
        revoked = []
        for one in self._shown_compactions():
            entry = compaction_of(one)
            if entry.state is CompactionState.WORKING and entry.compaction_id not in self._taken:
                is_over = self._is_over(entry)
                if is_over is not None:
                    self._end_lost(one, entry, is_committed=is_over)
                    revoked.append(entry.compaction_id)
        return tuple(revoked)

    def _is_over(self, entry: Compaction) -> bool | None:
        """Whether a worker that is gone has committed; None of one that may live."""
        worker = Process.parse(entry.worker_version)
        if worker is None:
            return None
        txns = self.valid_txns()
        if entry.txn_id is not None and txns.is_aborted(entry.txn_id):
            return False
        if not worker.is_gone(Process.current()):
            return None
        return entry.txn_id is not None and txns.is_valid(entry.txn_id)

    def _end_lost(self, shown: Struct, entry: Compaction, *, is_committed: bool) -> None:
        if is_committed:
            self._mark(MARK_COMPACTED, _given_out(shown))
            return
        if entry.txn_id is not None:
            self.abort(entry.txn_id)
        self._mark(MARK_REFUSED, _given_out(shown) | {"errorMessage": DIED})

    # ---- working

    def begin_compaction(self, compaction_id: int, *, lease: int | None = None) -> OpenedCompaction:
        taken = self._own(compaction_id, lease)
        txn_id = self.open_txn(COMPACTION_TXN)
        try:
            opened = self._begun(taken, txn_id)
        except BaseException:
            with suppress(Error):
                self.abort(txn_id)
            raise
        taken.txn_id = txn_id
        return opened

    def _begun(self, taken: _Taken, txn_id: TxnId) -> OpenedCompaction:
        """MetastoreError if somebody keeps others away: as in Hive the entry fails then."""
        struct = taken.struct
        name = TableName(struct["dbname"], struct["tablename"])
        lock = LockComponent(
            database=name.database,
            table=name.table,
            partition=struct.get("partitionname"),
            type=LockType.SHARED_READ,
        )
        answer = self.lock(LockRequest(components=(lock,)), txn_id)
        if answer.state is not LockState.ACQUIRED:
            raise MetastoreError(
                f"compaction {struct['id']} cannot begin: {lock} is locked",
                detail=", ".join(map(str, answer.blockers)),
            )
        txns = self.valid_txns(txn_id)
        write_ids = ValidCompactorWriteIdList.of(self.read_in_txn(txn_id, txns, [name])[name])
        struct |= {
            "highestWriteId": write_ids.high_watermark,
            "runas": struct.get("runas") or self._cleaning_user(name),
        }
        # twice is as good as once: it is on record which files the transaction may leave
        self._ask(UPDATE_COMPACTOR_STATE, again=True, cr=struct, txn_id=txn_id)
        return OpenedCompaction(txn_id=txn_id, txns=txns, write_ids=write_ids, visibility=txn_id)

    def _cleaning_user(self, name: TableName) -> str:
        """The user as whom Hive's cleaner deletes: whoever the table's directory belongs to, where
        that can be seen, else who owns the table. Hive: TxnUtils.findUserToRunAs.
        """
        table = self._require_table(name)
        directory = local_path(table.location)
        if directory is not None and os.path.isdir(directory):
            with suppress(KeyError):  # it has a number only
                return Path(directory).owner()
        return table.owner or self._user

    def heartbeat_compaction(self, compaction_id: int, *, lease: int | None = None) -> None:
        taken = self._own(compaction_id, lease)
        if taken.txn_id is not None:
            self._beat_txn(taken.txn_id)

    def _own(self, compaction_id: int, lease: int | None) -> _Taken:
        """An entry that is a worker's of this process still. MetastoreError if it is not."""
        taken = self._taken.get(compaction_id)
        if taken is not None and lease in (None, taken.lease):
            entry = self.find_compaction(compaction_id)
            if (
                entry is not None
                and entry.state is CompactionState.WORKING
                and (entry.worker, entry.started) == (taken.worker, taken.lease)
            ):
                return taken
        raise MetastoreError(f"compaction {compaction_id} is not this worker's any more")

    @contextmanager
    def publishing(
        self,
        compaction_id: int,
        table: Table,
        partition: Partition | None,
        *,
        lease: int | None = None,
    ) -> Iterator[None]:
        """The read lock of the worker's transaction keeps out who would drop what it is of."""
        self.heartbeat_compaction(compaction_id, lease=lease)
        now = self._require_table(table.name)
        if (now.table_id, now.location) != (table.table_id, table.location):
            raise MetastoreError(f"{table.name} is not what it was when its compaction began")
        if partition is not None:
            name = name_of(table, partition)
            stored = self.find_partition(now, name)
            if stored is None or stored.location != partition.location:
                raise MetastoreError(f"{table.name} has no such partition {name} any more")
        yield

    # ---- its end

    def finish_compaction(
        self,
        compaction_id: int,
        highest_write_id: WriteId | None = None,
        *,
        lease: int | None = None,
    ) -> None:
        """Commits first: until then nothing is obsolete, and there is nothing to clean. What was
        never begun is, because the cleaner goes by what is noted then.
        """
        taken = self._own(compaction_id, lease)
        if taken.txn_id is None:
            self.begin_compaction(compaction_id, lease=lease)
        if taken.txn_id is not None:
            self.commit(taken.txn_id)
            taken.txn_id, taken.is_committed = None, True
        self._mark(MARK_COMPACTED, taken.struct)
        del self._taken[compaction_id]

    def end_compaction(
        self,
        compaction_id: int,
        state: CompactionState,
        message: str,
        *,
        lease: int | None = None,
    ) -> None:
        is_refused = state is CompactionState.REFUSED
        self._end_as(MARK_REFUSED if is_refused else MARK_FAILED, compaction_id, message, lease)

    def return_compaction(
        self, compaction_id: int, *, lease: int | None = None, at_once: bool = False
    ) -> None:
        """Ends the entry as refused, which keeps nobody from asking, and asks once more: the
        metastore takes no entry back.
        """
        taken = self._end_as(MARK_REFUSED, compaction_id, GIVEN_BACK, lease)
        entry = self.find_compaction(compaction_id)
        if entry is not None and not taken.is_committed:
            self.enqueue_compaction(_with_request(entry, taken.struct).request)

    def _end_as(
        self, method: Method, compaction_id: int, message: str, lease: int | None
    ) -> _Taken:
        """Ends an entry without a result; what it has written nobody ever sees. One whose commit
        was carried out after all is done.
        """
        taken = self._taken.get(compaction_id)
        if taken is not None and taken.txn_id is not None:
            try:
                self.abort(taken.txn_id)
            except MetastoreError:  # nobody knows
                raise
            except OperationalError:  # it is committed
                taken.is_committed = True
            taken.txn_id = None
        taken = self._own(compaction_id, lease)
        if taken.is_committed:
            method = MARK_COMPACTED
        self._mark(method, taken.struct | {"errorMessage": message})
        return self._taken.pop(compaction_id)

    def _mark(self, method: Method, struct: Struct) -> None:
        """Says how an entry has ended; once, since the metastore would not find it again."""
        try:
            self._ask(method, cr=struct)
        except LostError:
            entry = self.find_compaction(struct["id"])
            if entry is not None and entry.state is CompactionState.WORKING:
                self._ask(method, cr=struct)


def _given_out(shown: Struct) -> Struct:
    """An entry as the list of compactions shows it, as one that a worker was given."""
    asked_for = ("id", "dbname", "tablename", "partitionname", "type")
    return {key: shown[key] for key in asked_for if key in shown}


def _with_request(entry: Compaction, struct: Struct) -> Compaction:
    """An entry with all that was asked for, which the list of compactions does not tell."""
    request = replace(
        entry.request,
        properties=properties_of(struct.get("properties") or ""),
        pool=struct.get("poolname") or entry.request.pool,
        buckets=struct.get("numberOfBuckets") or None,
        order_by=struct.get("orderByClause"),
    )
    return replace(entry, request=request, lease=entry.started)


def properties_of(text: str) -> dict[str, str]:
    """The properties of a request. MetastoreError for a text that has none."""
    try:
        return entries_of(text)
    except ValueError as error:
        raise MetastoreError(f"no properties of a compaction: {text!r}") from error
