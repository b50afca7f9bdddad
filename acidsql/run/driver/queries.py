"""Carries out a query that is understood in all its parts, on the driver alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from acidsql.catalog.model import Partition
from acidsql.catalog.types import HiveType
from acidsql.errors import FormatError, InterfaceError
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.pruning import prune
from acidsql.lazy_dataclass import dataclass
from acidsql.plan.operators import LocalFiles, LocalRows, LocalScan, Step
from acidsql.planner.bind.bound import BoundRead
from acidsql.planner.bind.local.query_trees import (
    ROW_ID,
    LocalQuery,
    LocalValues,
    Semantics,
    shown_columns,
)
from acidsql.run.driver.constants import check_query
from acidsql.run.driver.rows import early_test, no_table, rows_of, stream_rows
from acidsql.run.driver.values_rows import batches_of_values, rows_of_values
from acidsql.run.trace import UNTRACED, Trace
from acidsql.settings import Settings
from acidsql.storage.known_files import KnownFiles
from acidsql.storage.scan.scanner import Scanner, Where
from acidsql.storage.snapshots import Snapshots, TableSnapshot

if TYPE_CHECKING:
    import pyarrow as pa


class LocalQueries:
    """What one session's statements read without Spark, each under the snapshots it is given."""

    def __init__(self, settings: Settings, known: KnownFiles) -> None:
        self._settings = settings
        self.known = known
        self.scanner = Scanner(known, self.max_events)

    def max_events(self) -> int:
        """How many delete events may be kept in memory."""
        return int(self._settings.number("acidsql.read.deletes.max.events"))

    def late(self, steps: tuple[Step, ...], snapshots: Snapshots, trace: Trace) -> LateRows | None:
        """What makes the rows of a plan's local steps once it is asked; None where more would be
        read than they allow. Which files there are to read is settled now.
        """
        [last] = [step for step in steps if isinstance(step, LocalRows)]
        query = last.query.local
        batches: Iterator[pa.RecordBatch] | None = None
        for step in steps:
            if isinstance(step, LocalFiles):
                batches = self._file_batches(step, trace)
                if batches is None:
                    return None
            elif isinstance(step, LocalScan):
                local = query if isinstance(query, LocalQuery) else None
                batches = self.batches(
                    step,
                    step.read,
                    snapshots,
                    trace,
                    where := None if local is None else early_test(local),
                    meaning=None if local is None else local.semantics,
                )
                if batches is None:
                    return None
                if where is not None and isinstance(query, LocalQuery):
                    query = replace(query, where=None)
        return LateRows(last, query, None if batches is None else _Once(batches), trace)

    def weigh(self, step: LocalScan | LocalFiles, snapshots: Snapshots) -> int:
        """The bytes of files that a scan reads."""
        if isinstance(step, LocalFiles):
            return step.relation.size
        with reading_files():
            return self.scanner.weigh(self.table_at(step.read, snapshots), _names(step))

    def batches(
        self,
        step: LocalScan,
        read: BoundRead,
        snapshots: Snapshots,
        trace: Trace,
        where: Where | None = None,
        *,
        beside: int = 0,
        meaning: Semantics | None = None,
    ) -> Iterator[pa.RecordBatch] | None:
        """The batches of a table that is ``read`` as a scan says, of which none is read yet, with
        the id fields if ROW_ID is among its columns; None if they weigh too much, ``beside`` so
        many bytes of other tables, or their files are Spark's. NotHere for these where they may
        weigh what they will. ``where``: what the rows must meet; with it the batches raise
        NotHere, too. ``meaning``: as for ``table_at``.
        """
        names = _names(step)
        batches, signal = None, None
        with trace.running(step) as figures:
            try:
                with reading_files():
                    taken = self.table_at(read, snapshots, meaning)
                    figures.files = len(taken.insert_files)
                    figures.bytes = self.scanner.weigh(taken, names)
                    if step.max_bytes is None or figures.bytes + beside <= step.max_bytes:
                        ids = len(names) < len(step.columns)
                        batches = self.scanner.batches(
                            taken,
                            names,
                            predicates=read.predicates,
                            where=where,
                            ids=ids,
                            files=snapshots.files,
                        )
            except NotHere as caught:
                signal = caught
            figures.in_vain = batches is None
        if signal is not None and step.max_bytes is None:
            raise signal
        return batches

    def _file_batches(self, step: LocalFiles, trace: Trace) -> Iterator[pa.RecordBatch] | None:
        """The batches of files that are named by their path, as those of a table."""
        from acidsql.storage.by_path.relations import batches_of

        relation, most, signal = step.relation, step.max_bytes, None
        batches: Iterator[pa.RecordBatch] | None = None
        with trace.running(step) as figures:
            figures.files, figures.bytes = len(relation.files), relation.size
            if most is None or relation.size <= most:
                try:
                    with reading_files():
                        batches = batches_of(relation, step.columns)
                except NotHere as caught:
                    signal = caught
            figures.in_vain = batches is None
        if signal is not None and most is None:
            raise signal
        return batches

    def rows(
        self, steps: tuple[Step, ...], snapshots: Snapshots, trace: Trace = UNTRACED
    ) -> pa.Table | None:
        """The rows of a plan's local steps; None as for ``late``, which fails as this does."""
        late = self.late(steps, snapshots, trace)
        return None if late is None else late.table()

    def table_at(
        self, read: BoundRead, snapshots: Snapshots, meaning: Semantics | None = None
    ) -> TableSnapshot:
        """A table, without the partitions that the conditions on it are known to leave out.
        ``meaning``: what they mean where they speak of the moment of the statement.
        """
        columns, conditions = read.table.partition_columns, read.partition_filter
        partitions: Sequence[Partition] = snapshots.partitions(read.table)
        if partitions and conditions:
            ansi = self._settings.flag("acidsql.ansi")
            zone, now = (meaning.zone, meaning.now) if meaning else ("", None)
            pruning = prune(columns, partitions, conditions, ansi=ansi, zone=zone, now=now)
            partitions = pruning.kept
        return snapshots.take(read.table, partitions)


def _names(step: LocalScan) -> tuple[str, ...]:
    """The columns of the table that a scan reads."""
    return tuple(name for name in step.columns if name != ROW_ID)


@dataclass(frozen=True, slots=True)
class LateRows:
    """The rows of a step's query, once. ``query``: what is left of it to do with the ``batches`` of
    its table, which are None where it reads none.
    """

    step: LocalRows
    query: LocalQuery | LocalValues | NotHere
    batches: Iterable[pa.RecordBatch] | None
    trace: Trace

    def table(self) -> pa.Table:
        """All of them. NotHere."""
        return _computed(self.step, self.query, self.batches, self.trace)

    @property
    def streams(self) -> bool:
        """Whether ``stream`` gives them as they come: if they may be as many as they like, so that
        no other way would be taken because of their weight.
        """
        return (
            self.step.max_bytes is None
            and self.batches is not None
            and isinstance(self.query, LocalQuery)
            and not (self.query.grouped or self.query.distinct or self.query.order)
        )

    def stream(self) -> Iterator[pa.RecordBatch]:
        """The rows that stream, one batch after the other. NotHere from whichever batch has a
        value that is Spark's.
        """
        query = self.query
        assert self.batches is not None
        assert isinstance(query, LocalQuery)
        with self.trace.running(self.step) as figures, reading_files():
            _check(self.step)
            for batch in stream_rows(query, self.batches):
                figures.rows = (figures.rows or 0) + batch.num_rows
                yield batch


@dataclass(slots=True)
class _Once:
    """Batches that are gone once they are read. Asked for again, behind an error or Ctrl-C, they
    are an InterfaceError, not as few as are left.
    """

    batches: Iterator[pa.RecordBatch]
    begun: bool = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        if self.begun:
            raise InterfaceError("the rows were not read to their end", hint="Run the query again.")
        self.begun = True
        return self.batches


def _computed(
    step: LocalRows,
    query: LocalQuery | LocalValues | NotHere,
    batches: Iterable[pa.RecordBatch] | None,
    trace: Trace,
) -> pa.Table:
    """The rows of the query of a step, as far as it is not carried out by what gives the
    ``batches`` of its table, which are None where it reads none. NotHere.
    """
    assert not isinstance(query, NotHere)
    with trace.running(step) as figures:
        with reading_files():
            if isinstance(query, LocalValues):
                rows = rows_of_values(query)
            else:
                _check(step)
                rows = rows_of(query, _source(query, batches), step.max_bytes)
        figures.rows, figures.bytes = rows.num_rows, rows.nbytes
    return rows


def _check(step: LocalRows) -> None:
    """Computes the constants of the query of a step. NotHere."""
    if isinstance(step.query.local, LocalQuery):
        check_query(step.query.local)


def _source(
    query: LocalQuery, batches: Iterable[pa.RecordBatch] | None
) -> Iterable[pa.RecordBatch]:
    """What the query is over. NotHere."""
    if batches is not None:
        return batches
    return no_table() if query.values is None else batches_of_values(query.values, query.names)


@contextmanager
def reading_files() -> Iterator[None]:
    """Turns what pyarrow says of a file into NotHere: Spark may read it, or says what is wrong
    with it.
    """
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise NotHere(f"a file that cannot be read: {error}") from error
    except FormatError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        raise NotHere(f"a file that cannot be read: {error.message}") from error


def columns_made(steps: tuple[Step, ...]) -> tuple[tuple[str, HiveType], ...]:
    """The names and types of the columns that local steps make."""
    [query] = [step.query.local for step in steps if isinstance(step, LocalRows)]
    assert not isinstance(query, NotHere)
    return shown_columns(query)
