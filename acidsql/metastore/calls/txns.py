"""The transaction manager of the embedded metastore: Hive's TxnHandler calls, each one SQL
transaction on the store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from acidsql import crash_points
from acidsql.acid.ids import TxnId, ValidTxnList, ValidWriteIdList, WriteId
from acidsql.catalog.attached import WRITE_IDS
from acidsql.catalog.model import TableName
from acidsql.catalog.statistics import StatisticsChange
from acidsql.errors import (
    CommitStateUnknownError,
    MetastoreError,
    OperationalError,
    RunCommittedError,
    WriteConflictError,
)
from acidsql.metastore.calls.locks import EmbeddedLocks, hand_over
from acidsql.metastore.committing import (
    UncomparedError,
    finish,
    insert_components,
    refuse_moved,
)
from acidsql.metastore.opening import (
    PURGED_BELOW,
    allocate,
    allocate_first,
    insert_txn,
    insert_write_id,
    keep_house,
    seed,
    take_back,
)
from acidsql.metastore.rows.readers import insert_txn_reads
from acidsql.metastore.rows.runs import delete_run, find_run, find_taken, insert_run, insert_taken
from acidsql.metastore.rows.tables import find_property
from acidsql.metastore.rows.txns import (
    TXN_NO_SUCH_TRANSACTION,
    AbortReason,
    abort_txns,
    aborted_error,
    check_open,
    find_outcome,
    find_state,
    lowest_open_txn,
    require_open,
    txn_info,
    txns_below,
    unknown_error,
    valid_txns,
)
from acidsql.metastore.sql import (
    BigInteger,
    CompoundSelect,
    Connection,
    Select,
    bindparam,
    select,
    union_all,
)
from acidsql.metastore.store import CommitFailedError
from acidsql.metastore.successors import begin_behind, next_write_id
from acidsql.metastore.tables import AUX_TABLE, NEXT_WRITE_ID, TXN_TO_WRITE_ID, TXNS, TxnType
from acidsql.processes import Process
from acidsql.txn.locks import NO_TXN, LockAnswer, LockRequest, LockState
from acidsql.txn.manager import (
    OpenedTxn,
    OperationType,
    TxnComponent,
    TxnInfo,
    TxnOutcome,
    TxnState,
)
from acidsql.txn.overlaps import Overlap
from acidsql.txn.readers import too_old
from acidsql.txn.runs import CommittedRun, Run, Taken, TakenFile, committed_error, taken_error

# what every transaction runs is built once: building a statement takes longer than running it


def _next_and_purged_statement() -> Select[Any]:
    next_id = select(NEXT_WRITE_ID.c.NWI_NEXT).where(
        NEXT_WRITE_ID.c.NWI_DATABASE == bindparam("database"),
        NEXT_WRITE_ID.c.NWI_TABLE == bindparam("table"),
    )
    purged = select(AUX_TABLE.c.MT_KEY2).where(AUX_TABLE.c.MT_KEY1 == PURGED_BELOW)
    return select(
        next_id.scalar_subquery().label("next_id"), purged.scalar_subquery().label("purged")
    )


def _suspects_statement() -> CompoundSelect[int, int]:
    t2w, floor = TXN_TO_WRITE_ID.c, bindparam("floor", type_=BigInteger)
    of_table = select(t2w.T2W_TXNID, t2w.T2W_WRITEID).where(
        t2w.T2W_DATABASE == bindparam("database"), t2w.T2W_TABLE == bindparam("table")
    )
    aborted = select(TXNS.c.TXN_ID).where(
        TXNS.c.TXN_STATE == TxnState.ABORTED, TXNS.c.TXN_ID < floor
    )
    return union_all(
        of_table.where(t2w.T2W_TXNID >= floor), of_table.where(t2w.T2W_TXNID.in_(aborted))
    )


_NEXT_AND_PURGED = _next_and_purged_statement()
_SUSPECTS = _suspects_statement()


class EmbeddedTxns(EmbeddedLocks):
    """Implements TxnManager."""

    def begin(
        self,
        tables: Iterable[TableName] = (),
        locks: LockRequest | None = None,
        reads: Iterable[TableName] = (),
    ) -> OpenedTxn:
        with self._store.write() as connection:
            now = self._time(connection)
            txn_id = self._open(connection, now)
            answer = None if locks is None else self._ask(connection, locks, txn_id, now)
            if answer is not None and answer.state is LockState.NOT_ACQUIRED:
                abort_txns(connection, [txn_id], AbortReason.ROLLBACK)
            if answer is not None and answer.state is not LockState.ACQUIRED:
                tables, reads = (), ()
            return self._opened(connection, txn_id, tables, reads, answer)

    def renew(
        self,
        txn_id: TxnId,
        tables: Iterable[TableName] = (),
        reads: Iterable[TableName] = (),
    ) -> OpenedTxn:
        with self._store.write() as connection:
            require_open(connection, txn_id)
            lowest = lowest_open_txn(connection)
            new = self._insert(connection, Process.current(), self._time(connection), lowest)
            hand_over(connection, txn_id, new)
            abort_txns(connection, [txn_id], AbortReason.RENEWED)
            return self._opened(connection, new, tables, reads)

    def open_txn(self) -> TxnId:
        with self._store.write() as connection:
            return self._open(connection, self._time(connection))

    def valid_txns(self, txn_id: TxnId | None = None) -> ValidTxnList:
        with self._store.read() as connection:
            return valid_txns(connection, txn_id)

    def valid_write_ids(self, table: TableName, txns: ValidTxnList) -> ValidWriteIdList:
        with self._store.read() as connection:
            return find_valid_write_ids(connection, table, txns)

    def seen_compactions(self, txns: ValidTxnList) -> ValidTxnList | None:
        return None

    def allocate_write_id(self, txn_id: TxnId, table: TableName) -> WriteId:
        with self._store.write() as connection:
            require_open(connection, txn_id)
            return allocate(connection, txn_id, table)

    def seed_write_id(self, table: TableName, write_id: WriteId) -> None:
        with self._store.write() as connection:
            if not seed(connection, table, write_id):
                raise WriteConflictError(
                    f'another session began to write to table "{table}"',
                    hint="Run the statement again.",
                )

    def declare_write_ids(
        self,
        table: TableName,
        *,
        committed: Collection[WriteId],
        aborted: Collection[WriteId],
        highest_txn: TxnId = NO_TXN,
    ) -> None:
        ids = sorted({*committed, *aborted})
        with self._store.write() as connection:
            if ids and ids[0] < next_write_id(connection, table):
                raise WriteConflictError(
                    f'write id {ids[0]} of table "{table}" was given out here',
                    hint="Run the command again.",
                )
            if highest_txn > self._store.highest_key(connection, TXNS):
                self._store.set_highest_key(connection, TXNS, highest_txn)
            now = self._time(connection)
            for write_id in ids:
                txn_id = self._open(connection, now)
                insert_write_id(connection, txn_id, table, write_id)
                if write_id in aborted:
                    insert_components(connection, txn_id, [_stray(table, write_id)])
                    abort_txns(connection, [txn_id], AbortReason.ROLLBACK)
                else:
                    finish(connection, txn_id, now=now)
            if ids:
                begin_behind(connection, table, ids[-1])

    def give_back(self, txn_id: TxnId, table: TableName) -> None:
        with self._store.write() as connection:
            require_open(connection, txn_id)
            write_id = take_back(connection, txn_id, table)
            if write_id is not None:
                insert_components(connection, txn_id, [_stray(table, write_id)])
                abort_txns(connection, [txn_id], AbortReason.ROLLBACK)

    def first_write_id(self, table: TableName) -> WriteId:
        with self._store.read() as connection:
            return next_write_id(connection, table)

    def add_components(self, txn_id: TxnId, components: Iterable[TxnComponent]) -> None:
        # lost with the power of its only host, it is missed by nobody: see rows/leftovers.py
        with self._store.write(durable=not self._store.one_host) as connection:
            require_open(connection, txn_id)
            insert_components(connection, txn_id, components)
            refuse_moved(connection, txn_id)

    def heartbeat(self, txn_id: TxnId) -> None:
        with self._store.write() as connection:
            require_open(connection, txn_id)
            self._beat_txn(connection, txn_id)

    def commit(
        self,
        txn_id: TxnId,
        components: Iterable[TxnComponent] = (),
        statistics: Iterable[StatisticsChange] = (),
        harmless: Collection[Overlap] | None = None,
        run: Run | None = None,
        taken: Collection[Taken] = (),
    ) -> tuple[Overlap, ...]:
        try:
            with self._store.write() as connection:
                failure = self._commit(
                    connection, txn_id, components, statistics, harmless, run, taken
                )
        except UncomparedError as uncompared:
            return uncompared.overlaps
        except CommitFailedError as error:
            self._settle(txn_id, error)
            return ()
        if failure is not None:
            raise failure
        return ()

    def abort(self, txn_id: TxnId, *, conflict: bool = False) -> None:
        reason = AbortReason.WRITE_CONFLICT if conflict else AbortReason.ROLLBACK
        with self._store.write() as connection:
            match find_state(connection, txn_id):
                case TxnState.OPEN:
                    abort_txns(connection, [txn_id], reason)
                case TxnState.ABORTED:
                    return
                case TxnState.COMMITTED:
                    raise OperationalError(
                        f"Transaction txnid:{txn_id} is already committed.",
                        code=TXN_NO_SUCH_TRANSACTION,
                    )
                case None:
                    raise unknown_error(txn_id)

    def abort_txns(self, txn_ids: Iterable[TxnId]) -> None:
        with self._store.write() as connection:
            still_open = [
                txn_id for txn_id in txn_ids if find_state(connection, txn_id) is TxnState.OPEN
            ]
            abort_txns(connection, still_open, AbortReason.ABORT_COMMAND)

    def list_txns(self) -> tuple[TxnInfo, ...]:
        shown = TXNS.c.TXN_STATE.in_((TxnState.OPEN, TxnState.ABORTED))
        with self._store.read() as connection:
            rows = connection.execute(select(TXNS).where(shown).order_by(TXNS.c.TXN_ID)).all()
        return tuple(txn_info(row) for row in rows)

    def find_txn(self, txn_id: TxnId) -> TxnOutcome | None:
        with self._store.read() as connection:
            return find_outcome(connection, txn_id)

    def find_run(self, run_id: str) -> CommittedRun | None:
        with self._store.read() as connection:
            return find_run(connection, run_id)

    def find_taken(self, table_id: int, files: Collection[TakenFile]) -> frozenset[TakenFile]:
        with self._store.read() as connection:
            return find_taken(connection, table_id, files)

    def forget_run(self, run_id: str) -> bool:
        with self._store.write() as connection:
            return delete_run(connection, run_id)

    def _open(self, connection: Connection, now: int, kind: TxnType = TxnType.DEFAULT) -> TxnId:
        process = Process.current()
        living = self._reap_txns(connection, process, now).living
        if len(living) >= self._max_open_txns:
            raise MetastoreError(
                "Maximum allowed number of open transactions has been reached. See"
                " hive.max.open.txns.",
                hint="SHOW TRANSACTIONS lists them, ABORT TRANSACTIONS ends some.",
            )
        return self._insert(connection, process, now, min(living, default=None), kind)

    def _insert(
        self,
        connection: Connection,
        process: Process,
        now: int,
        lowest: TxnId | None,
        kind: TxnType = TxnType.DEFAULT,
    ) -> TxnId:
        txn_id = insert_txn(
            connection,
            user=self._user,
            host=self._host,
            process=process,
            now=now,
            lowest=lowest,
            kind=kind,
        )
        keep_house(connection, txn_id, now)
        return txn_id

    def _opened(
        self,
        connection: Connection,
        txn_id: TxnId,
        tables: Iterable[TableName],
        reads: Iterable[TableName],
        locks: LockAnswer | None = None,
    ) -> OpenedTxn:
        """The newest transaction, which has no write ids yet, and has read nothing."""
        write_ids = {t: allocate_first(connection, txn_id, t) for t in dict.fromkeys(tables)}
        txns = txns_below(connection, txn_id, own=txn_id)
        seen = {t: find_valid_write_ids(connection, t, txns) for t in dict.fromkeys(reads)}
        insert_txn_reads(connection, txn_id, seen)
        return OpenedTxn(txn_id=txn_id, write_ids=write_ids, txns=txns, locks=locks, seen=seen)

    def _commit(
        self,
        connection: Connection,
        txn_id: TxnId,
        components: Iterable[TxnComponent],
        statistics: Iterable[StatisticsChange],
        harmless: Collection[Overlap] | None,
        run: Run | None,
        taken: Collection[Taken],
    ) -> WriteConflictError | RunCommittedError | None:
        state = find_state(connection, txn_id)
        if state is TxnState.COMMITTED:
            return None
        check_open(connection, txn_id, state)
        before = None if run is None else find_run(connection, run.run_id)
        if before is not None:
            abort_txns(connection, [txn_id], AbortReason.RUN_COMMITTED)
            return committed_error(before.run_id, before.txn_id)
        for one in taken:
            for file in find_taken(connection, one.table_id, one.files):
                abort_txns(connection, [txn_id], AbortReason.WRITE_CONFLICT)
                return taken_error(txn_id, one.table, file)
        insert_components(connection, txn_id, components)
        now = self._now(connection)
        conflict = finish(connection, txn_id, now=now, statistics=statistics, harmless=harmless)
        if run is not None and conflict is None:
            insert_run(connection, run, txn_id, now)
        for one in taken if conflict is None else ():
            insert_taken(connection, one, txn_id, now)
        crash_points.reached("commit prepared")
        return conflict

    def _settle(self, txn_id: TxnId, error: CommitFailedError) -> None:
        """The COMMIT failed without a clear answer: only the store itself can tell whether it took
        place.
        """
        try:
            with self._store.read() as connection:
                match find_state(connection, txn_id):
                    case TxnState.COMMITTED:
                        return
                    case TxnState.ABORTED:
                        raise aborted_error(connection, txn_id)
                    case TxnState.OPEN | None:
                        pass
        except MetastoreError:
            pass
        unknown = CommitStateUnknownError(
            f"transaction txnid:{txn_id} may or may not have been committed",
            detail=error.message,
            hint=f"SHOW TRANSACTION {txn_id} says what became of it: look before running the"
            " statement again.",
        )
        unknown.txn_id = txn_id
        raise unknown from error


def _stray(table: TableName, write_id: WriteId) -> TxnComponent:
    """What is on record of a write id whose files are not this store's to remove."""
    return TxnComponent(
        table=table, partition=None, operation=OperationType.STRAY, write_id=write_id
    )


def find_valid_write_ids(
    connection: Connection, table: TableName, txns: ValidTxnList
) -> ValidWriteIdList:
    """The valid write ids of a table. Hive: GetValidWriteIdsForTableFunction; the high watermark is
    the highest id given out to a transaction within ``txns``.

    Only ids that may be invalid are fetched: those of transactions at or above the lowest that was
    open, and of aborted ones. All others are committed, so the cost does not grow with the history
    of the table.
    """
    floor = min((*txns.open[:1], txns.high_watermark + 1))
    top = _highest_write_id(connection, table, floor)
    name = {"database": table.database, "table": table.table}
    if top < 0:
        return _attached(connection, table)
    suspects = [] if top == 0 else connection.execute(_SUSPECTS, name | {"floor": floor}).all()
    later = {row.T2W_WRITEID for row in suspects if row.T2W_TXNID > txns.high_watermark}
    while top in later:
        top -= 1
    invalid = [
        row for row in suspects if row.T2W_WRITEID <= top and not txns.is_valid(row.T2W_TXNID)
    ]
    return ValidWriteIdList(
        table=str(table),
        high_watermark=WriteId(top),
        open=tuple(
            WriteId(row.T2W_WRITEID) for row in invalid if not txns.is_aborted(row.T2W_TXNID)
        ),
        aborted=tuple(
            WriteId(row.T2W_WRITEID) for row in invalid if txns.is_aborted(row.T2W_TXNID)
        ),
    )


def _attached(connection: Connection, table: TableName) -> ValidWriteIdList:
    """The write ids of a table that others write, as its properties have them."""
    text = find_property(connection, table, WRITE_IDS)
    if text is None:
        raise MetastoreError(f"the write ids of attached table {table} are not in its properties")
    return ValidWriteIdList.parse(text)


def _highest_write_id(connection: Connection, table: TableName, floor: int) -> int:
    """The highest write id that was given out; 0 for none, less for a table that is attached.
    SnapshotTooOldError if the snapshot
    needs write ids that have been purged.
    """
    name = {"database": table.database, "table": table.table}
    row = connection.execute(_NEXT_AND_PURGED, name).one()
    if row.purged is not None and floor < row.purged:
        raise too_old(
            f'the snapshot is too old to read "{table}": transactions that ended after it have been'
            " purged"
        )
    return 0 if row.next_id is None else row.next_id - 1
