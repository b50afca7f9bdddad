"""A session's queries: what they see, which files are kept for them and for how long, and their
results, whose rows come when they are asked for. And its changes of rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakSet, finalize

from acidsql import interrupts
from acidsql.catalog.model import Table, TableKind, TableName
from acidsql.catalog.path_relation import CopiedFiles, FileSource, FileStamp
from acidsql.catalog.types import PrimitiveType
from acidsql.commit.transactional import TransactionWork
from acidsql.commit.unit_of_work import Leg, carry_out, copied_by
from acidsql.ddl.warehouse import file_errors
from acidsql.errors import (
    BindError,
    Error,
    ExecutionError,
    FormatError,
    SnapshotTooOldError,
    TransactionAbortedError,
    UnsupportedStatementError,
    Warning,
)
from acidsql.files.fileio import FileIO, is_inside, real_entry, real_path
from acidsql.frames.registry import Frames
from acidsql.lazy import dataclass
from acidsql.parser.tokens import placed_in
from acidsql.plan.facts import removes_files, words_of
from acidsql.plan.plans import (
    ChangePlan,
    Plan,
    ReadPlan,
    WritePlan,
    legs_of,
    stored_reads,
    transactional_reads,
)
from acidsql.planner.bind.bound import BoundInsert, Telling
from acidsql.result import Result, ResultColumn, Stats, warnings_of
from acidsql.run.engine import Engine
from acidsql.run.flow import UNTRACED, Trace
from acidsql.session.transaction import SessionLocks, SessionTransaction, Turn
from acidsql.storage.snapshots import Snapshots
from acidsql.storage.unload.destination import Destination
from acidsql.txn.locks import LockRequest
from acidsql.txn.manager import TxnManager
from acidsql.txn.readers import gone_error, overwritten_error
from acidsql.txn.reading import Hold, Reads, ReadSnapshot
from acidsql.txn.runs import Taken, TakenFile

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from acidsql.run.interpreter import Reading
    from acidsql.txn.store import SessionStore


# ---- unloads
#
# A session's queries whose rows go into files that no table has: COPY .. TO and INSERT OVERWRITE
# DIRECTORY. Files are no part of a transaction: they are there once the statement has ended.


def unload(rows: Result, plan: ReadPlan, files: FileIO, root: str, trace: Trace) -> Result:
    """Writes the rows of a plan's query to where it wants them; what was done. ``root``: of the
    warehouse. ``trace`` noted how they were made.
    """
    from acidsql.storage.unload.unloading import Unloading

    into = plan.into
    assert into is not None
    _check_place(into, root)
    columns = [(column.name, column.type) for column in rows.columns]
    writing, putting = plan.ending
    with file_errors(words_of(plan)), Unloading(into, columns, files) as unloading:
        with trace.running(writing) as figures:
            for batch in rows.batches():
                interrupts.check()
                unloading.write(batch)
            figures.rows = unloading.rows
        interrupts.check()
        with trace.running(putting) as figures:
            try:
                unloading.put_in_place()
            except FileExistsError as error:
                raise ExecutionError(
                    f'{into.what} "{into.given}" has been made by another meanwhile',
                    hint="OVERWRITE true puts the rows in its place.",
                ) from error
            figures.files, figures.bytes = unloading.files, unloading.bytes
    stats = Stats(rows_copied=unloading.rows, steps=tuple(trace.ran))
    return Result((), stats, warnings=rows.warnings)


def _check_place(into: Destination, root: str) -> None:
    """BindError for a place inside of the warehouse, whose files are those of tables, and for a
    directory to be put in place of one that this program is in or the warehouse.
    """
    path, warehouse = real_entry(into.path), real_path(root)
    if is_inside(path, warehouse):
        raise BindError(
            f'"{into.given}" lies in the warehouse, whose files are those of tables',
            hint="Write to another directory.",
            span=into.span,
        )
    around = (warehouse, os.path.realpath(os.getcwd()))
    if into.in_directory and any(is_inside(one, path) for one in around):
        raise BindError(
            f'"{into.given}" would be replaced with all that is in it',
            hint="Name a directory of its own for the files.",
            span=into.span,
        )


# ---- telling
#
# What is told of a query's rows in place of them: DESCRIBE and SUMMARIZE.


def answer_about(rows: Result, plan: ReadPlan, trace: Trace) -> Result:
    """The answer about the ``rows`` of a plan, which are read for SUMMARIZE alone. ``trace`` noted
    how they were made.
    """
    if plan.telling is Telling.COLUMNS:
        names = ["col_name", "data_type", "comment"]
        answer = Result.of_text(Stats(), names, [[c.name, str(c.type), ""] for c in rows.columns])
    else:
        from acidsql.run.driver.summary import COLUMNS, summary_of

        with trace.running(plan.ending[0]):
            table = summary_of([(c.name, c.type) for c in rows.columns], rows.batches())
        columns = [ResultColumn(name=name, type=PrimitiveType(kind)) for name, kind in COLUMNS]
        answer = Result(columns, Stats(steps=tuple(trace.ran)), fetch=lambda: table)
    answer.warnings = rows.warnings
    return answer


# ---- queries


_OF_FILES = (ExecutionError, FormatError, SnapshotTooOldError, UnsupportedStatementError)
"""What files that are gone may be to their reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionQueries:
    """What the queries of one session need of it."""

    engine: Engine
    turn: Turn
    transaction: SessionTransaction
    locks: SessionLocks
    reads: Reads
    late: WeakSet[Result] = field(default_factory=WeakSet)
    """Results whose rows have not come yet, each with the tables that it reads."""

    def fetch_before(self, plan: Plan) -> None:
        """Fetches the rows of this session's results that a statement would take the files of:
        they are those of their snapshot whatever becomes of their tables.
        """
        removes = removes_files(plan) if self.late else None
        if removes is None:
            return
        for result in list(self.late):
            if result.is_unread and any(map(removes, result.reads)):
                with suppress(Error):  # who asks for the rows is told
                    result.to_arrow()
                self.late.discard(result)

    def read(self, plan: ReadPlan, source: str, trace: Trace = UNTRACED) -> Result:
        work = self.transaction.work()
        if work is None:
            return self._read_alone(plan, source, trace)
        hold = Hold(transactional_reads(plan), source)
        with self.locks.around(plan, source, work) as locked:
            self.reads.hold_in_txn(hold, work.txn)
            snapshots = work.snapshots()
            with (
                self._told_if_gone(locked, snapshots),
                self.reads.fetching(hold, None, self.locks.patience()),
            ):
                answer = self.engine.answer(locked, snapshots, trace)
        # its own files have other names once it has ended: the rows are kept here
        if work.has_written:
            answer.keep()
        return self._result(answer, snapshots, hold, None, source, locked)

    def _read_alone(self, plan: ReadPlan, source: str, trace: Trace) -> Result:
        """A query outside of a transaction. Its files are kept for it until its rows have come."""
        request, tables = self.locks.request(plan, source), stored_reads(plan)
        holds: list[Hold] = []
        with self.reads.reading(tables, source, request, self.locks.patience(), holds=holds) as (
            visible,
            waited,
        ):
            locked = self.locks.current(plan, source, waited=waited)
            snapshots = self.engine.snapshots(visible)
            with self._told_if_gone(locked, snapshots):
                answer = self.engine.answer(locked, snapshots, trace)
            snapshots.warnings += self.reads.tell_unknown(visible)
            if answer.late and stored_reads(locked):
                holds.append(Hold(stored_reads(locked), source))
        hold = holds[0] if holds else None
        # of other tables it is looked at afterwards whether their files are the same
        late_locks = request if transactional_reads(locked) else None
        return self._result(answer, snapshots, hold, late_locks, source, locked)

    def _result(
        self,
        answer: Reading,
        snapshots: Snapshots,
        hold: Hold | None,
        locks: LockRequest | None,
        source: str,
        plan: ReadPlan,
    ) -> Result:
        """The result of a query, whose rows are read when they are asked for. ``locks``: those that
        it takes then, since it may be kept for long; none if it has its rows already.
        """
        if not answer.late:
            hold, locks = None, None
        if hold is not None:
            snapshots.files.find_moved = partial(self.reads.moved, hold)
        fetching = partial(self._fetching, answer, snapshots, hold, locks, source, plan)

        def fetched() -> pa.Table:
            with fetching():
                return answer.table()

        def streamed() -> Iterator[pa.RecordBatch]:
            with fetching():
                for batch in answer.stream():
                    with interrupts.at_once():  # who has the batch is no statement
                        yield batch

        result = Result(
            [ResultColumn(name=n, type=t) for n, t in answer.columns],
            Stats(),
            fetch=fetched,
            stream=streamed if answer.streams else None,
            make_df=(
                self._frames(hold, answer.frame, snapshots, source, plan)
                if answer.has_frame
                else None
            ),
            warnings=snapshots.warnings,
        )
        if hold is not None:
            finalize(result, self.reads.drop, hold).atexit = False
        if answer.late:
            result.reads = tuple(read.table.name for read in plan.query.reads)
            self.late.add(result)
        return result

    @contextmanager
    def _fetching(
        self,
        answer: Reading,
        snapshots: Snapshots,
        hold: Hold | None,
        locks: LockRequest | None,
        source: str,
        plan: ReadPlan,
    ) -> Iterator[None]:
        """The rows of a result are fetched: under its ``locks``, with the errors of its statement,
        and that of files that others have changed meanwhile.
        """
        patience = self.locks.patience()
        with (
            self.turn.taken(),
            placed_in(source),
            self._told_if_gone(plan, snapshots, (*_OF_FILES, TransactionAbortedError)),
            self.reads.fetching(hold, locks, patience),
        ):
            yield
            if answer.late and (changed := snapshots.find_changed(plain=True)) is not None:
                raise overwritten_error(changed)

    @contextmanager
    def _told_if_gone(
        self,
        plan: ReadPlan,
        snapshots: Snapshots,
        errors: tuple[type[Error], ...] = _OF_FILES,
    ) -> Iterator[None]:
        """Where others have taken away what a query reads, its error says that. ``errors``: those
        that it may be.
        """
        try:
            yield
        except errors as e:
            gone = self._gone(plan)
            if gone is None and not isinstance(e, SnapshotTooOldError):
                gone = _overwritten(snapshots)
            if gone is not None:
                raise gone from e
            raise

    def _gone(self, plan: ReadPlan) -> Error | None:
        """Says that others have taken away a table that a query reads, if they have."""
        for read in plan.query.reads:
            if read.table.kind is not TableKind.FRAME:
                now = self.locks.find_table(read.table.name)
                if now is None or (now.table_id, now.location) != (
                    read.table.table_id,
                    read.table.location,
                ):
                    return gone_error(read.table.name)
        return None

    def _frames(
        self,
        hold: Hold | None,
        frame: Callable[[], DataFrame | None],
        snapshots: Snapshots,
        source: str,
        plan: ReadPlan,
    ) -> Callable[[], DataFrame | None]:
        """Gives Spark's DataFrame over the query's snapshot, which says so where others have taken
        its files away; None once its rows have been fetched.
        """
        handed_out: list[tuple[DataFrame, DataFrame]] = []

        def frame_now() -> DataFrame | None:
            with self.turn.taken(), placed_in(source):
                now = frame() if self.reads.hand_out(hold) else None
            if now is None:
                return None
            if not handed_out or handed_out[-1][0] is not now:
                from acidsql.spark.read.answers import explained

                explain = partial(self._taken_away, plan, snapshots)
                handed_out[:] = [(now, explained(now, explain))]
            return handed_out[0][1]

        return frame_now

    def _taken_away(self, plan: ReadPlan, snapshots: Snapshots, error: Exception) -> Error | None:
        """What the error of a DataFrame means where others have taken away, or moved, what it
        reads; None where they have not.
        """
        from acidsql.spark.start.meanings import names_what_is_gone, translate

        ours = translate(error)
        is_gone = names_what_is_gone(ours)
        if not is_gone and not isinstance(ours, FormatError):
            return None
        taken: Error | None = SnapshotTooOldError(ours.message) if is_gone else None
        with suppress(Error, OSError), self.turn.taken():
            taken = self._gone(plan) or _overwritten(snapshots) or taken
        if taken is not None:
            taken.hint = "Ask the result for its DataFrame again, or run the statement again."
        return taken

    @contextmanager
    def reading(self, plan: Plan, source: str) -> Iterator[Snapshots]:
        """What a statement sees now, of which no transaction is told."""
        work = self.transaction.work()
        tables = transactional_reads(plan)
        if work is not None:
            work.txn.look_at(tables)
            yield work.snapshots()
            return
        with self.reads.reading(tables, source) as (visible, _):
            yield self.engine.snapshots(visible)


def _overwritten(snapshots: Snapshots) -> Error | None:
    """Says that others have taken away files that a query reads, if they have."""
    with suppress(Error, OSError):
        changed = snapshots.find_changed()
        return None if changed is None else overwritten_error(changed)
    return None


# ---- changes of rows
#
# A session's statements that change rows: in which unit of work each is carried out, and what it
# warns of.


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
