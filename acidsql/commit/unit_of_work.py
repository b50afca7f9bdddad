"""A unit of work: statements are carried out in it, and become visible together, by one commit.

    begin --> run .. run --> commit      settle, publish, tell the store: visible at once
                   |    |--> rollback    forget the files
                   +-- a statement fails: its files are forgotten, the unit of work goes on

Nothing has a name that readers look at before ``commit``. What a killed process leaves lies below a
hidden name, or in a directory whose write id never becomes valid, and is taken away by the next one
that writes (``recovery``). The kinds of units differ in what a statement sees (``_work_on``) and
in how the store comes to know (``_committing``):

    TransactionWork   files get their names, then the metastore commits the transaction
    PlainWork         a table without transactions: rows are visible as their files get their names
    NewTableWork      a table that appears with its first rows, in one step of the catalog
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

from acidsql import crash_points
from acidsql.acid.ids import MAX_STATEMENT_ID, StatementId, TxnId, WriteId
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Partition, Table, TableName
from acidsql.catalog.statistics import StatisticsChange
from acidsql.errors import Error, OperationalError
from acidsql.expressions.losses import Lost
from acidsql.files.fileio import path_of, relative_to
from acidsql.lazy import dataclass
from acidsql.plan.facts import words_of
from acidsql.plan.operators import PUBLISH, Ran
from acidsql.plan.plans import MergePlan, WritePlan, numbered_from
from acidsql.planner.bind.bound import BoundCopy, BoundInsert
from acidsql.result import Stats
from acidsql.run.engine import Engine
from acidsql.run.flow import Trace, Work
from acidsql.run.translation import translated
from acidsql.storage import statistics
from acidsql.storage.snapshots import PartitionSnapshot, Snapshots, TableSnapshot
from acidsql.storage.write.pending import PendingRoot, PendingWrites, Roots, needs_settling, settle
from acidsql.storage.write.target import StagedFile, Written, publish
from acidsql.txn.leftovers import Leftovers
from acidsql.txn.manager import TxnManager

if TYPE_CHECKING:
    import pyarrow as pa

    from acidsql.storage.events.common_rows import CommonRows


# ---- publishing
#
# The files of a statement or transaction that is about to commit get their names; what its
# statements left for each other is settled first.


class Publisher:
    """Publishes what is pending, and takes it back."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._resources = engine.resources

    def publish(self, pending: PendingWrites, announce: Callable[[], None]) -> None:
        """Settles what is pending, calls ``announce`` and gives files their names. What is staged
        is gone then.
        """
        files = self._resources.files
        with translated():
            for name, root in pending.roots.items():
                if needs_settling(root):
                    pending.roots[name] = settle(files, root, self._rewrite)
            crash_points.reached("settled")
            publish(
                files,
                pending.roots.values(),
                announce,
                lambda directory: pending.published.append((files, directory)),
            )
            crash_points.reached("published")

    def _rewrite(
        self, root: PendingRoot, files: Sequence[StagedFile], directory: str, buckets: int
    ) -> list[StagedFile]:
        """The live rows of some files of a transaction in new ones, with their ids."""
        part = PartitionSnapshot(
            root=root.target.root,
            own_inserts=root.found_files(files),
            own_deletes=root.found_files(root.deletes),
        )
        table = replace(root.table, partition_columns=())
        snapshot = TableSnapshot(table=table, partitions=(part,))
        return self._engine.stage_live(root, snapshot, directory, buckets)

    def forget(self, pending: PendingWrites) -> None:
        """Removes what will never commit."""
        with translated():
            pending.discard(published=True)

    # ---- what others did beside it

    @property
    def by_rows(self) -> bool:
        """Whether a conflict is one of rows, and not of tables and partitions."""
        return self._resources.settings.text("acidsql.conflict.granularity") == "row"

    def common_rows(
        self, root: PendingRoot, other: WriteId, *, kept: bool = False
    ) -> CommonRows | None:
        """The rows of a published root that another write id deleted, too; None for no such row.
        FormatError, ExecutionError if that cannot be told. ``kept``: as in ``RowComparison``.
        """
        from acidsql.storage.events.common_rows import RowComparison

        with translated():
            comparison = RowComparison(self._resources.files, self._resources.known.footers)
            return comparison.common_rows(
                path_of(root.target.root), root.write_id, other, kept=kept
            )

    # ---- what the metastore is told with it

    @property
    def counted(self) -> bool:
        """Whether statistics are kept."""
        return self._resources.settings.flag("hive.stats.autogather")

    def begun(
        self, table: Table, partitions: Sequence[Partition], snapshots: Snapshots
    ) -> tuple[Partition, ...]:
        """Partitions a statement has written to, those it makes with their statistics, as they are
        before it commits.
        """
        if not self.counted:
            return tuple(partitions)
        with translated():
            return tuple(statistics.as_begun(self._resources.files, table, partitions, snapshots))

    def published(self, table: Table, pending: PendingWrites) -> tuple[Partition, ...]:
        """The partitions of a table without transactions whose files are published, the new ones
        with their statistics as they were before.
        """
        roots = pending.roots.values()
        if not self.counted:
            return tuple(root.partition for root in roots if root.partition is not None)
        with translated():
            known = self._resources.catalog.list_partitions(table)
            return tuple(statistics.as_published(self._resources.files, roots, known))

    def statistics(self, pending: PendingWrites) -> tuple[StatisticsChange, ...]:
        """What files that are published change."""
        return tuple(statistics.of_published(pending.roots.values(), counted=self.counted))

    def new_table(
        self, table: Table, pending: PendingWrites
    ) -> tuple[Table, tuple[Partition, ...]]:
        """A table that is about to appear with its first files, and its partitions."""
        roots = pending.roots.values()
        if self.counted:
            return statistics.with_first_files(table, roots)
        return table, tuple(root.partition for root in roots if root.partition is not None)


# ---- unit of work


Leg = WritePlan | MergePlan


class Store(Catalog, TxnManager, Leftovers, Protocol):
    """The catalog and transaction manager of one metastore, which leaves cleaning to those who
    writes.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A leg and what came of it."""

    leg: Leg
    written: Written
    ran: tuple[Ran, ...]

    @property
    def clauses(self) -> tuple[tuple[str, int], ...]:
        """The rows of each clause of a MERGE, of an INSERT's one."""
        if isinstance(self.leg, MergePlan):
            merge = self.leg.merge
            return tuple(
                (merge.heading(clause), rows)
                for clause, rows in zip(merge.clauses, self.written.clauses, strict=True)
            )
        return ((f"{words_of(self.leg)} {self.leg.table.name}", self.written.inserted),)


class UnitOfWork(ABC):
    """A context manager that rolls back what was not committed."""

    is_planned: ClassVar[bool] = False
    """Whether the operators of a plan's end are what the commit carries out."""

    def __init__(self, store: Store, engine: Engine) -> None:
        self._store = store
        self._engine = engine
        self._publisher = Publisher(engine)
        self._pending = PendingWrites()
        self._statements = 0
        self._moved: list[str] = []
        self.returned: tuple[pa.Table, ...] = ()
        """The rows that the last statement gives back."""

    @property
    def has_written(self) -> bool:
        return bool(self._pending.roots)

    @property
    def txn_id(self) -> TxnId | None:
        """The id of its transaction; None if it has none."""
        return None

    @property
    @abstractmethod
    def write_ids(self) -> Mapping[TableName, WriteId]:
        """The write ids of this unit of work on the tables that have some."""

    def partitions(self, table: TableName) -> Iterable[Partition]:
        """The partitions of a table that it has written to."""
        return self._pending.partitions(table)

    # ---- statements

    def run(self, legs: Sequence[Leg]) -> list[Done]:
        """Carries out one statement. If it fails nothing of it is left, and the unit of work goes
        on.
        """
        before = self._pending.begin_statement()
        try:
            done = [self._run(leg, before) for leg in legs]
        except BaseException:
            self._pending.restore(before)
            raise
        self.returned = tuple(rows for one in done for rows in one.written.returned)
        return done

    def _run(self, leg: Leg, before: Roots) -> Done:
        numbered = self._numbered(leg)
        work = self._work_on(leg, before)
        trace = Trace()
        written = self._engine.write(numbered, work, trace)
        self._statements = max(
            [self._statements, *(1 + sink.statement_id for sink in numbered.sinks)]
        )
        self._note(leg, written, work)
        self._moved += written.moved
        return Done(leg=leg, written=written, ran=tuple(trace.ran))

    def _numbered(self, leg: Leg) -> Leg:
        """The leg with statement ids behind those of earlier statements."""
        numbered = numbered_from(leg, StatementId(self._statements))
        if any(sink.statement_id > MAX_STATEMENT_ID for sink in numbered.sinks):
            hint = (
                "COMMIT, and go on in another one. INSERT .. VALUES, INSERT .. SELECT and"
                " executemany write many rows by one statement."
            )
            raise OperationalError(
                f"a transaction has room for {MAX_STATEMENT_ID + 1} statements that write",
                hint=hint,
            )
        return numbered

    @abstractmethod
    def _work_on(self, leg: Leg, before: Roots) -> Work:
        """What a statement sees, which is also what was written ``before`` it, and the ids that it
        writes under.
        """

    @abstractmethod
    def _note(self, leg: Leg, written: Written, work: Work) -> None:
        """Keeps what the commit has to tell of a statement and can only be known now."""

    # ---- how it ends

    def commit(self) -> tuple[Ran, ...]:
        """Makes everything visible at once. If that fails, nothing of it is left; but
        CommitStateUnknownError: nobody knows.
        """
        trace = Trace(notes=self.is_planned)
        try:
            with self._committing(trace), trace.running(PUBLISH) as figures:
                self._publisher.publish(self._pending, self._announce)
                figures.files = sum(len(root.files) for root in self._pending.roots.values())
                # before anything is visible: a process that dies later leaves none
                with suppress(Error, OSError):
                    self._pending.unstage()
                crash_points.reached("unstaged")
        except BaseException as error:
            cause = self._cause(error)
            self.rollback()
            if cause is not None:
                raise cause from error
            raise
        crash_points.reached("committed")
        self._pending.forget()
        if self._moved:
            from acidsql.storage.load import delete_moved

            delete_moved(self._engine.files, self._moved)
        return tuple(trace.ran)

    def _announce(self) -> None:  # noqa: B027 (most kinds have nothing to tell)
        """Tells the store, just before files get their names, where that will be."""

    @abstractmethod
    def _committing(self, trace: Trace) -> AbstractContextManager[None]:
        """The context in which files get their names. Behind it all is visible, and nothing stops
        it any more.
        """

    def _cause(self, error: BaseException) -> Error | None:
        """The error that says more than ``error``, with which a statement or the commit failed."""
        return None

    def rollback(self) -> None:
        """Gives the work up. Files go when it is certain that nobody will ever see them."""
        self._publisher.forget(self._pending)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.rollback()
        except Error as failure:
            if error is None:
                raise
            error.add_note(f"{self} could not be rolled back: {failure.message}")


def carry_out(legs: Sequence[Leg], work: UnitOfWork, *, ends: bool, warehouse: str) -> Stats:
    """Carries out the legs of one statement. ``ends``: the unit of work is the statement's own and
    ends with it; else others follow before it is committed.
    """
    if not ends:
        return _stats(work, work.run(legs), (), warehouse)
    with work:
        done = work.run(legs)
        ran = work.commit()
    return _stats(work, done, ran, warehouse)


def _stats(work: UnitOfWork, done: Sequence[Done], ended: tuple[Ran, ...], warehouse: str) -> Stats:
    written = [one.written for one in done]
    known, tables = work.write_ids, [one.leg.table.name for one in done]
    copied = copied_by(done[0].leg)
    several = copied is None and (len(done) > 1 or isinstance(done[0].leg, MergePlan))
    rejected = 0 if copied is None else sum(one.inserted for one in written[1:])
    directories = (directory for one in written for directory in one.directories)
    return Stats(
        rows_inserted=sum(one.inserted for one in written) - rejected,
        rows_updated=sum(one.updated for one in written),
        rows_deleted=sum(one.deleted for one in written),
        rows_rejected=rejected,
        files_taken=0 if copied is None else len(copied.files),
        files_skipped=0 if copied is None else copied.skipped,
        clauses=tuple(clause for one in done for clause in one.clauses) if several else (),
        txn_id=work.txn_id,
        write_ids={str(table): known[table] for table in tables if table in known},
        directories=tuple(relative_to(directory, warehouse) for directory in directories),
        path="big" if any(one.path == "big" for one in written) else "small",
        steps=(*(ran for one in done for ran in one.ran), *ended),
        lost=_lost(done),
        warnings=tuple(warning for one in written for warning in one.warnings),
    )


def copied_by(leg: Leg) -> BoundCopy | None:
    """What a COPY INTO is about beside rows."""
    match leg:
        case WritePlan(action=BoundInsert(copied=copied)):
            return copied
    return None


def _lost(done: Sequence[Done]) -> tuple[Lost, ...]:
    """What the legs of a statement have lost; of several by the names of their tables."""
    if len(done) == 1:
        return done[0].written.lost
    counts: dict[Lost, int | None] = {}
    for one in done:
        for lost in one.written.lost:
            of_table = replace(lost, table=str(one.leg.table.name), values=None)
            known = counts.get(of_table, 0)
            both = None if known is None or lost.values is None else known + lost.values
            counts[of_table] = both
    return tuple(replace(of_table, values=values) for of_table, values in counts.items())
