"""A transaction as a unit of work: what its statements write is visible when the metastore has
committed it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Self

from acidsql import crash_points, interrupts
from acidsql.acid.ids import FIRST_WRITE_ID, TxnId, WriteId
from acidsql.catalog.model import Partition, TableName
from acidsql.catalog.partitions import name_of
from acidsql.commit.recovery import hide
from acidsql.commit.unit_of_work import Done, Leg, Publisher, Store, UnitOfWork
from acidsql.errors import Error, ExecutionError, FormatError
from acidsql.plan.operators import COMMIT
from acidsql.plan.plans import WritePlan
from acidsql.planner.bind.bound import BoundCopy, BoundInsert
from acidsql.run.engine import Engine
from acidsql.run.flow import Trace, Work
from acidsql.run.translation import translated
from acidsql.storage.snapshots import Snapshots
from acidsql.storage.write.pending import PendingRoot, Roots
from acidsql.storage.write.target import TakenError, Written
from acidsql.txn.leftovers import AbortedWrite
from acidsql.txn.locks import LockRequest, Patience
from acidsql.txn.manager import OperationType, TxnComponent
from acidsql.txn.overlaps import Clash, Overlap
from acidsql.txn.runs import Run, RunRequest, Taken, TakenFile, digest_of
from acidsql.txn.transaction import PATIENCE, Transaction, TransactionState


class TransactionWork(UnitOfWork):
    """A unit of work in a transaction, ``txn``, whose heartbeats begin and end with it."""

    is_planned = True

    def __init__(self, store: Store, engine: Engine, txn: Transaction) -> None:
        super().__init__(store, engine)
        self._partitions: dict[TableName, dict[str, Partition]] = {}
        self._changed = (0, 0, 0)
        self._found_others = False
        self.txn = txn
        self.request: RunRequest | None = None
        """What its commit is recorded as, if it has carried out ``statements`` that change rows."""
        self.statements: list[str] = []
        self.taken: list[Taken] = []
        """The files whose rows it has, which its commit puts on record."""

    @classmethod
    def begin(
        cls,
        store: Store,
        engine: Engine,
        tables: Sequence[TableName] = (),
        locks: LockRequest | None = None,
        patience: Patience = PATIENCE,
        *,
        reads: Sequence[TableName] = (),
        heartbeat_seconds: float,
    ) -> Self:
        """A unit of work in a new transaction. ``tables``: those that are sure to be written to,
        and ``reads`` to be read. See ``Transaction.begin``.
        """
        txn = Transaction.begin(
            store, tables, locks, patience, reads=reads, heartbeat_seconds=heartbeat_seconds
        )
        work = cls(store, engine, txn)
        crash_points.reached("begun")
        return work

    def __str__(self) -> str:
        return f"transaction txnid:{self.txn.txn_id}"

    @property
    def txn_id(self) -> TxnId:
        return self.txn.txn_id

    @property
    def write_ids(self) -> Mapping[TableName, WriteId]:
        return self.txn.allocated

    def snapshots(self) -> Snapshots:
        """What a query in this transaction sees."""
        return self._engine.snapshots(self.txn, dict(self._pending.roots))

    def run(self, legs: Sequence[Leg]) -> list[Done]:
        partitions = {table: dict(known) for table, known in self._partitions.items()}
        try:
            done = super().run(legs)
        except BaseException as error:
            self._partitions = partitions
            cause = self._cause(error)
            if cause is not None:
                raise cause from error
            raise
        inserted, updated, deleted = self._changed
        self._changed = (
            inserted + sum(one.written.inserted for one in done),
            updated + sum(one.written.updated for one in done),
            deleted + sum(one.written.deleted for one in done),
        )
        self.taken += (taken for leg in legs if (taken := _taken_by(leg)) is not None)
        return done

    def _recorded(self) -> Run | None:
        """What is to be on record with the commit."""
        if self.request is None or not self.statements:
            return None
        inserted, updated, deleted = self._changed
        return Run(
            run_id=self.request.run_id,
            kept_seconds=self.request.kept_seconds,
            digest=digest_of(self.statements),
            rows_inserted=inserted,
            rows_updated=updated,
            rows_deleted=deleted,
            write_ids={str(table): write_id for table, write_id in self.write_ids.items()},
        )

    def _cause(self, error: BaseException) -> Error | None:
        """TransactionAbortedError where files failed because others have aborted the transaction:
        the next writer may have taken them away.
        """
        self._found_others |= isinstance(error, TakenError)
        return self.txn.find_abort() if isinstance(error, ExecutionError) else None

    def _work_on(self, leg: Leg, before: Roots) -> Work:
        snapshots = self._engine.snapshots(self.txn, before)
        # before the look at the table: one that has its name later is not written to under this id
        write_id = self.txn.write_id(leg.table.name)
        snapshots.check_unchanged(leg.table)
        if write_id == FIRST_WRITE_ID:
            self._check_own(leg, write_id)
        return Work(
            snapshots=snapshots,
            txn_id=self.txn.txn_id,
            write_id=write_id,
            pending=self._pending,
        )

    def _check_own(self, leg: Leg, write_id: WriteId) -> None:
        """Raises OperationalError where the first write id of a table is that of files that others
        wrote: theirs would be taken for this transaction's; ExecutionError where nobody can look.
        The id is given back then. Files of later ids are those of transactions that are under way
        beside this one, or have been, as long as these ids were given out.
        """
        from acidsql.storage.undeclared import find_undeclared, undeclared_error

        table, files = leg.table, self._engine.files
        locations = [p.location for p in self._store.list_partitions(table)]
        try:
            with translated():
                others = find_undeclared(files, table, locations, WriteId(0))
            # asked behind the files: an id is given out before its first directory is there
            given = self.txn.highest_given(table.name)
            if others is not None and not write_id < others.lowest <= others.highest <= given:
                raise undeclared_error(table, others)
        except BaseException:  # the next one is to look again
            self.txn.give_back(table.name)
            raise

    def _note(self, leg: Leg, written: Written, work: Work) -> None:
        known = self._partitions.setdefault(leg.table.name, {})
        if not written.partitions:
            return
        begun = self._publisher.begun(leg.table, written.partitions, work.snapshots)
        for partition in begun:
            known.setdefault(partition.location, partition)

    @contextmanager
    def _committing(self, trace: Trace) -> Iterator[None]:
        """Commits behind the files' new names; it fails as ``Transaction.commit`` does."""
        yield
        with trace.running(COMMIT):
            statistics = self._publisher.statistics(self._pending)
            self.txn.record((), statistics)
            for table, partitions in self._partitions.items():
                if partitions:
                    # the cleaner behind an aborted one has not seen them: see recovery
                    self._store.add_partitions(
                        table, partitions.values(), if_not_exists=True, txn_id=self.txn_id
                    )
            crash_points.reached("written")
            interrupts.too_late()
            by_rows = self._publisher.by_rows
            compare = self._compare if by_rows else None
            self.txn.commit(compare, self._recorded(), self.taken)

    def _announce(self) -> None:
        """Records what is written to, so that it is found if the process dies; and nothing gets a
        name in a transaction that others have aborted.
        """
        self.txn.announce(self._components())
        crash_points.reached("announced")

    def _compare(self, overlaps: Sequence[Overlap]) -> Clash | None:
        """The first overlap with a row that both have deleted, or of which nobody can tell."""
        roots = {
            (root.table.name, _partition_name(root)): root for root in self._pending.roots.values()
        }
        for overlap in overlaps:
            root = roots.get((overlap.table, overlap.partition))
            # registered since before the other could commit: no cleaner has taken its files away
            kept = self._store.is_registered(self.txn_id, overlap.table)
            clash = _clash(self._publisher, root, overlap, kept=kept)
            if clash is not None:
                return clash
        return None

    def rollback(self) -> None:
        """Aborts the transaction, unless it is committed or nobody knows."""
        if self.txn.state in (TransactionState.COMMITTED, TransactionState.UNKNOWN):
            return
        try:
            self.txn.abort()
        finally:
            if self.txn.state is TransactionState.ABORTED:
                self._take_back()
                super().rollback()
                if self._found_others:
                    self._store.leave_writes(self.txn_id)

    def _take_back(self) -> None:
        """Hides what has its name already, while the store tells that it is on record and its table
        the same: the one that aborted the transaction may have dropped that, and another has its
        name. What stays is for the cleaner (see ``recovery``).
        """
        published = {path: io for io, path in self._pending.published}
        self._pending.published.clear()
        for root in self._pending.roots.values():
            directories = [path for path in root.directories if path in published]
            if not directories:
                continue
            write = AbortedWrite(
                txn_id=self.txn_id,
                table=root.table.name,
                partition=_partition_name(root),
                write_id=root.write_id,
                is_over=True,
                is_long_over=False,
                record_is_whole=True,
            )
            with (
                suppress(Error, OSError),
                self._store.removing(root.table, [write]) as recorded,
            ):
                for path in directories if recorded else ():
                    io = published[path]
                    self._pending.discard_too(io, hide(io, root.table, self.txn_id, path))

    def _components(self) -> list[TxnComponent]:
        """What was written to: each table, or each partition by its name."""
        return [
            TxnComponent(
                table=root.table.name,
                partition=_partition_name(root),
                operation=_operation(root),
                write_id=root.write_id,
            )
            for root in self._pending.roots.values()
        ]


def _taken_by(leg: Leg) -> Taken | None:
    """The files that a COPY INTO .. ONCE takes."""
    match leg:
        case WritePlan(
            table=table, action=BoundInsert(copied=BoundCopy(once=True, files=(_, *_) as files))
        ):
            identities = tuple(map(TakenFile.of, files))
            return Taken(table=table.name, table_id=table.table_id, files=identities)
    return None


def _clash(
    publisher: Publisher, root: PendingRoot | None, overlap: Overlap, *, kept: bool
) -> Clash | None:
    if root is None or overlap.write_id is None:
        return Clash(overlap=overlap, reason=f"the rows that it changed in {overlap} are not known")
    try:
        common = publisher.common_rows(root, overlap.write_id, kept=kept)
    except (FormatError, ExecutionError) as error:
        return Clash(overlap=overlap, reason=f"its rows cannot be compared: {error.message}")
    if common is None:
        return None
    return Clash(
        overlap=overlap,
        rows=common.rows,
        all_counted=common.all_counted,
        example=common.example,
    )


def _partition_name(root: PendingRoot) -> str | None:
    return None if root.partition is None else name_of(root.table, root.partition)


def _operation(root: PendingRoot) -> OperationType:
    if root.overwritten:
        return OperationType.OVERWRITE
    if not root.deletes:
        return OperationType.INSERT
    return OperationType.UPDATE if root.inserts else OperationType.DELETE
