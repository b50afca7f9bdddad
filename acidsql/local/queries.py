"""Carries out a query that is understood in all its parts, on the driver alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from acidsql.catalog.types import HiveType
from acidsql.errors import InternalError
from acidsql.expressions.pruning import prune
from acidsql.expressions.vectors import Uncertain
from acidsql.local.rows import no_table, rows_of
from acidsql.local.trace import UNTRACED, Trace
from acidsql.local.values_rows import rows_of_values
from acidsql.planner.bind.bound import BoundQuery, BoundRead
from acidsql.planner.bind.local_query import ROW_ID, LocalQuery, LocalValues, OnlySpark
from acidsql.planner.steps.step import LocalRows, LocalScan, Step
from acidsql.settings import Settings
from acidsql.storage.known_files import KnownFiles
from acidsql.storage.scan.needs_spark import NeedsSpark
from acidsql.storage.scan.scanner import Scanner
from acidsql.storage.snapshots import Snapshots, TableSnapshot

if TYPE_CHECKING:
    import pyarrow as pa


class LocalQueries:
    """What one session's statements read without Spark, each under the snapshots it is given."""

    def __init__(self, settings: Settings, known: KnownFiles) -> None:
        self._settings = settings
        self.known = known
        self._scanner = Scanner(known)

    def late(
        self, steps: tuple[Step, ...], snapshots: Snapshots, trace: Trace
    ) -> Callable[[], pa.Table] | None:
        """What makes the rows of a plan's local steps once it is called; None where more would be
        read than they allow. Which files there are to read is settled now.

        The call raises NeedsSpark.
        """
        taken: TableSnapshot | None = None
        for step in steps:
            match step:
                case LocalScan():
                    taken = self._taken(step, snapshots, trace)
                    if taken is None:
                        return None
                case LocalRows():
                    return partial(self._rows_of, step, taken, trace)
        raise InternalError("no step makes the rows")

    def _taken(self, step: LocalScan, snapshots: Snapshots, trace: Trace) -> TableSnapshot | None:
        """The files of a scan; None if the columns read weigh too much."""
        with reading_files():
            taken = self.table_at(step.read, snapshots)
        return taken if self.may_read(step, taken, trace) else None

    def may_read(self, step: LocalScan, taken: TableSnapshot, trace: Trace) -> bool:
        """Whether the columns of a scan weigh no more than it allows. NeedsSpark."""
        signal = None
        with trace.running(step) as figures:
            try:
                with reading_files():
                    figures.files = len(taken.insert_files)
                    figures.bytes = self._scanner.weigh(taken, stored_columns(step))
            except NeedsSpark as needs_spark:
                signal = needs_spark
            most = step.max_bytes
            heavy = most is not None and figures.bytes is not None and figures.bytes > most
            figures.in_vain = heavy or signal is not None
        if signal is not None and step.max_bytes is None:
            raise signal
        return not figures.in_vain

    def batches(
        self, read: BoundRead, columns: Sequence[str], taken: TableSnapshot
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a table; with their id fields if ROW_ID is among the columns."""
        names = [name for name in columns if name != ROW_ID]
        ids = len(names) < len(columns)
        return self._scanner.batches(taken, names, predicates=read.predicates, ids=ids)

    def rows(
        self, steps: tuple[Step, ...], snapshots: Snapshots, trace: Trace = UNTRACED
    ) -> pa.Table | None:
        """The rows of a plan's local steps; None as for ``late``, which fails as this does."""
        make = self.late(steps, snapshots, trace)
        return None if make is None else make()

    def table_at(self, read: BoundRead, snapshots: Snapshots) -> TableSnapshot:
        """A table, without the partitions that the conditions on it are known to leave out."""
        columns, partitions = read.table.partition_columns, snapshots.partitions(read.table)
        if partitions and read.partition_filter:
            ansi = self._settings.flag("acidsql.ansi")
            partitions = prune(columns, partitions, read.partition_filter, ansi=ansi).kept
        return snapshots.take(read.table, partitions)

    def _rows_of(self, step: LocalRows, taken: TableSnapshot | None, trace: Trace) -> pa.Table:
        query, rows, reason = step.query.local, None, ""
        assert not isinstance(query, OnlySpark)
        with trace.running(step) as figures:
            try:
                with reading_files():
                    if isinstance(query, LocalValues):
                        rows = rows_of_values(query)
                    else:
                        batches = self._batches(step.query, query, taken)
                        rows = rows_of(query, batches, step.max_bytes)
            except (NeedsSpark, Uncertain) as signal:
                reason, figures.in_vain = signal.reason, True
            else:
                figures.rows, figures.bytes = rows.num_rows, rows.nbytes
        if rows is None:
            raise NeedsSpark(reason)
        return rows

    def _batches(
        self, bound: BoundQuery, query: LocalQuery, taken: TableSnapshot | None
    ) -> Iterator[pa.RecordBatch]:
        if taken is None or query.read is None:
            return no_table()
        predicates = bound.reads[query.read].predicates
        return self._scanner.batches(taken, query.names, predicates=predicates, ids=query.row_id)


@contextmanager
def reading_files() -> Iterator[None]:
    """Turns what pyarrow says of a file into NeedsSpark: Spark may read it, or says what is wrong
    with it.
    """
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise NeedsSpark(f"a file that cannot be read: {error}") from error


def stored_columns(step: LocalScan) -> tuple[str, ...]:
    """The columns of a scan that the table has under these names."""
    return tuple(name for name in step.columns if name != ROW_ID)


def columns_made(steps: tuple[Step, ...]) -> tuple[tuple[str, HiveType], ...]:
    """The names and types of the columns that local steps make."""
    [query] = [step.query.local for step in steps if isinstance(step, LocalRows)]
    assert not isinstance(query, OnlySpark)
    return tuple((output.name, output.type) for output in query.outputs)
