"""One transaction of a session: statements are carried out in it, and become visible together.

    begin --> run .. run --> commit      settle, publish, record, then one call to the metastore
                   |    |--> rollback    forget the files
                   +-- a statement fails: its files are forgotten, the transaction goes on

Nothing has a name that readers look at before ``commit``. What a killed process leaves lies below a hidden name, or in a directory whose
write id never becomes valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from acidsql import crash_points
from acidsql.acid.ids import MAX_STATEMENT_ID, StatementId, WriteId
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Partition, TableName
from acidsql.catalog.partitions import name_of
from acidsql.errors import Error, OperationalError
from acidsql.planner.explain import clause_heading
from acidsql.planner.physical import MergePlan, WritePlan, numbered_from
from acidsql.spark.engine import Engine
from acidsql.spark.pending import PendingRoot, PendingWrites
from acidsql.spark.snapshots import Snapshots
from acidsql.spark.target import Written
from acidsql.spark.write_targets import Work
from acidsql.txn.manager import OperationType, TxnComponent, TxnManager
from acidsql.txn.transaction import Transaction, TransactionState

Leg = WritePlan | MergePlan


class Store(Catalog, TxnManager, Protocol):
    """The catalog and transaction manager of one metastore."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A leg and what came of it."""

    leg: Leg
    written: Written

    @property
    def clauses(self) -> tuple[tuple[str, int], ...]:
        """The rows of each clause of a MERGE, of an INSERT's one."""
        if isinstance(self.leg, MergePlan):
            merge = self.leg.merge
            return tuple((clause_heading(merge, clause), rows) for clause, rows in zip(merge.clauses, self.written.clauses, strict=True))
        return ((f"INSERT {self.leg.table.name}", self.written.inserted),)


class UnitOfWork:
    """A context manager that rolls back what was not committed."""

    def __init__(self, store: Store, engine: Engine, txn: Transaction) -> None:
        self._store = store
        self._engine = engine
        self._pending = PendingWrites()
        self._statements = 0
        self._moved: list[str] = []
        self._partitions: dict[TableName, dict[str, Partition]] = {}
        self.txn = txn

    @classmethod
    def begin(cls, store: Store, engine: Engine, tables: Sequence[TableName] = (), *, heartbeat_seconds: float) -> Self:
        """``tables``: those that are sure to be written to."""
        work = cls(store, engine, Transaction.begin(store, tables, heartbeat_seconds=heartbeat_seconds))
        crash_points.reached("begun")
        return work

    @property
    def has_written(self) -> bool:
        return bool(self._pending.roots)

    @property
    def write_ids(self) -> Mapping[TableName, WriteId]:
        return self.txn.allocated

    def partitions(self, table: TableName) -> Iterable[Partition]:
        """Those it has written to."""
        return self._pending.partitions(table)

    def snapshots(self) -> Snapshots:
        """What a query in this transaction sees."""
        return self._engine.snapshots(self.txn, dict(self._pending.roots))

    def run(self, legs: Sequence[Leg]) -> list[Done]:
        """Carries out one statement. If it fails nothing of it is left and the transaction goes on."""
        before, partitions = self._pending.begin_statement(), {table: dict(known) for table, known in self._partitions.items()}
        try:
            return [self._run(leg, before) for leg in legs]
        except BaseException:
            self._pending.restore(before)
            self._partitions = partitions
            raise

    def _run(self, leg: Leg, before: Mapping[str, PendingRoot]) -> Done:
        snapshots = self._engine.snapshots(self.txn, before)
        snapshots.check_unchanged(leg.table)
        mine = numbered_from(leg, StatementId(self._statements))
        if any(sink.statement_id > MAX_STATEMENT_ID for sink in mine.sinks):
            hint = "COMMIT, and go on in another one. INSERT .. VALUES, INSERT .. SELECT and executemany write many rows by one statement."
            raise OperationalError(f"a transaction has room for {MAX_STATEMENT_ID + 1} statements that write", hint=hint)
        work = Work(
            snapshots=snapshots,
            txn_id=self.txn.txn_id,
            write_id=self.txn.write_id(leg.table.name),
            pending=self._pending,
        )
        written = self._engine.merge(mine, work) if isinstance(mine, MergePlan) else self._engine.write(mine, work)
        self._statements = max([self._statements, *(1 + sink.statement_id for sink in mine.sinks)])
        partitions = self._partitions.setdefault(leg.table.name, {})
        for partition in self._engine.begun(leg.table, written.partitions, snapshots):
            partitions.setdefault(partition.location, partition)
        self._moved += written.moved
        return Done(leg=leg, written=written)

    def commit(self) -> None:
        """Makes everything visible at once; see ``Transaction.commit`` for how it fails. Then nothing is left of it."""
        try:
            self._engine.publish(self._pending)
            self.txn.record(self._components(), self._engine.statistics(self._pending))
            for table, partitions in self._partitions.items():
                self._store.add_partitions(table, partitions.values(), if_not_exists=True)
            crash_points.reached("written")
            self.txn.commit()
        except BaseException:
            self.rollback()
            raise
        crash_points.reached("committed")
        with suppress(Error, OSError):  # it is committed: what is left of the staging directories is hidden
            self._pending.discard()
        self._engine.delete_moved(self._moved)

    def rollback(self) -> None:
        """Gives it up, unless it is committed or nobody knows. Files go when it is certain that nobody will ever see them."""
        if self.txn.state in (TransactionState.COMMITTED, TransactionState.UNKNOWN):
            return
        self.txn.abort()
        self._engine.forget(self._pending)

    def _components(self) -> list[TxnComponent]:
        """What was written to: each table, or each partition by its name."""
        return [
            TxnComponent(
                table=root.table.name,
                partition=None if root.partition is None else name_of(root.table, root.partition),
                operation=_operation(root),
                write_id=root.write_id,
            )
            for root in self._pending.roots.values()
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.rollback()
        except Error as failure:
            if error is None:
                raise
            error.add_note(f"transaction txnid:{self.txn.txn_id} could not be rolled back: {failure.message}")


def _operation(root: PendingRoot) -> OperationType:
    if root.overwritten:
        return OperationType.OVERWRITE
    if not root.deletes:
        return OperationType.INSERT
    return OperationType.UPDATE if root.inserts else OperationType.DELETE
