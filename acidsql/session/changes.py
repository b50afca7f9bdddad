"""A session's statements that change rows: in which unit of work each is carried out, and what it
warns of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from acidsql.catalog.model import Table, TableName
from acidsql.catalog.path_relation import CopiedFiles, FileSource, FileStamp
from acidsql.commit.transactional import TransactionWork
from acidsql.commit.unit_of_work import Leg, carry_out, copied_by
from acidsql.errors import Warning
from acidsql.frames.registry import Frames
from acidsql.lazy_dataclass import dataclass
from acidsql.plan.facts import words_of
from acidsql.plan.plans import ChangePlan, ReadPlan, WritePlan, legs_of, transactional_reads
from acidsql.planner.bind.bound import BoundInsert
from acidsql.result import Result, Stats, warnings_of
from acidsql.run.engine import Engine
from acidsql.session.queries import SessionQueries
from acidsql.session.transaction import SessionLocks, SessionTransaction
from acidsql.txn.locks import LockRequest
from acidsql.txn.manager import TxnManager
from acidsql.txn.reading import ReadSnapshot
from acidsql.txn.runs import Taken, TakenFile

if TYPE_CHECKING:
    import pyarrow as pa

    from acidsql.txn.store import SessionStore


# ---- copying
#
# What COPY INTO asks of its session: files as they are, which of them were taken, and their rows as
# relations of the statement.


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCopies:
    """See ``Copies``. ``own``: what the open transaction has taken; ``directory``: where rows
    wait.
    """

    manager: Callable[[], TxnManager]
    frames: Frames
    own: Callable[[], Sequence[Taken]]
    directory: Callable[[], str]

    def stamps(self, source: FileSource) -> tuple[FileStamp, ...]:
        from acidsql.frames.file_sources import stamps_of

        return stamps_of(source)

    def taken(self, table: Table, files: Sequence[FileStamp]) -> frozenset[FileStamp]:
        by_identity = {TakenFile.of(file): file for file in files}
        known = set(self.manager().find_taken(table.table_id, tuple(by_identity)))
        for taken in self.own():
            if taken.table_id == table.table_id:
                known |= by_identity.keys() & set(taken.files)
        return frozenset(by_identity[one] for one in known)

    def columns(self, source: FileSource, file: FileStamp) -> tuple[str, ...] | None:
        return self.frames.copied_columns(source, file)

    def relations(self, files: CopiedFiles) -> tuple[Table, Table]:
        return self.frames.of_copied(files, self.directory())


# ---- changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What a statement did. ``returning``: what makes its answer of the ``rows`` that it gives
    back, as it was planned when it had its locks.
    """

    result: Result
    returning: ReadPlan | None = None
    rows: Sequence[pa.Table] = ()


def _changed(result: Result, legs: Sequence[Leg], rows: Sequence[pa.Table]) -> Changed:
    return Changed(result=result, returning=legs[0].returning, rows=rows)


def _unchanged(plan: ChangePlan) -> Changed:
    """What a statement did that had nothing to do."""
    legs = legs_of(plan)
    copied = copied_by(legs[0])
    stats = Stats(files_skipped=0 if copied is None else copied.skipped)
    return _changed(_result(stats), legs, ())


def _result(stats: Stats, warnings: Sequence[Warning] = ()) -> Result:
    return Result((), stats, warnings=(*warnings, *warnings_of(stats)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionChanges:
    """What the changes of one session need of it."""

    root: str
    open_store: Callable[[], SessionStore]
    engine: Engine
    transaction: SessionTransaction
    locks: SessionLocks
    queries: SessionQueries

    @property
    def store(self) -> SessionStore:
        return self.open_store()

    def write(self, plan: ChangePlan, source: str) -> Changed:
        """Carries out one statement in one unit of work: the session's open transaction, one of its
        own, or, for a table without transactions, none.
        """
        work = self.transaction.work()
        legs = self._legs(plan)
        if work is None and (not legs or legs[0].sinks):
            return self._write_alone(plan, source) if legs else _unchanged(plan)
        with self.locks.around(plan, source, work) as locked:
            legs = self._legs(locked)
            if work is not None and (not legs or legs[0].sinks):
                done = _unchanged(plan)
                if legs:
                    stats = carry_out(legs, work, ends=False, warehouse=self.root)
                    done = _changed(_result(stats), legs, work.returned)
                work.statements.append(source)
                return done
            if not legs:
                return _unchanged(plan)
            from acidsql.commit.at_once import PlainWork

            with self.queries.reading(locked, source) as snapshots:
                plain = PlainWork(self.store, self.engine, legs[0].table, snapshots)
                stats = carry_out(legs, plain, ends=True, warehouse=self.root)
        return _changed(_result(stats, self._warnings(legs[0])), legs, plain.returned)

    def _write_alone(self, plan: ChangePlan, source: str) -> Changed:
        """Carries out a statement in a transaction of its own."""
        request = self.locks.request(plan, source)
        tables = tuple(dict.fromkeys(leg.table.name for leg in legs_of(plan)))
        work = self.begin_work(tables, request, transactional_reads(plan))
        work.request = self.transaction.request
        work.statements.append(source)
        with work:
            legs = self._legs(self.locks.current(plan, source, waited=work.txn.waited))
            if not legs:
                return _unchanged(plan)
            stats = carry_out(legs, work, ends=True, warehouse=self.root)
            return _changed(_result(stats), legs, work.returned)

    def _legs(self, plan: ChangePlan) -> list[Leg]:
        """The legs of a statement, but for those whose rows are there already; none of a COPY INTO
        that has no file left to take.
        """
        legs = legs_of(plan)
        copied = copied_by(legs[0])
        if copied is not None and not copied.files:
            return []
        return [leg for leg in legs if not self._is_done(leg)]

    def _warnings(self, leg: Leg) -> list[Warning]:
        if not self.transaction.takes_statements:
            return []
        why = f"table {leg.table.name} is not transactional"
        what = f"{words_of(leg)} took effect at once and ROLLBACK will not take it back"
        return [Warning(f"{why}: {what}")]

    def begin_work(
        self,
        tables: Sequence[TableName] = (),
        locks: LockRequest | None = None,
        reads: Sequence[TableName] = (),
    ) -> TransactionWork:
        """A transaction that holds ``locks``. ``tables``: those that are sure to be written to, and
        ``reads`` to be read.
        """
        return TransactionWork.begin(
            self.store,
            self.engine,
            tables,
            locks,
            self.locks.patience(),
            reads=reads,
            heartbeat_seconds=self.locks.heartbeat_seconds(),
        )

    def _is_done(self, leg: Leg) -> bool:
        """Whether an INSERT OVERWRITE .. IF NOT EXISTS finds its partition there."""
        if (
            not isinstance(leg, WritePlan)
            or not isinstance(leg.action, BoundInsert)
            or not leg.action.if_not_exists
        ):
            return False
        values = leg.action.partition.values if leg.action.partition is not None else None
        work = self.transaction.work()
        visible = ReadSnapshot(self.store)  # no files are looked at, so none are kept
        snapshots = self.engine.snapshots(visible) if work is None else work.snapshots()
        if values is None:
            return False
        from acidsql.storage.partitions import ranges_with

        among = ranges_with(leg.table.partition_columns, values)
        return any(one.values == values for one in snapshots.partitions(leg.table, among))
