"""Carries out a query that is understood in all its parts, on the driver alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from acidsql.catalog.types import HiveType
from acidsql.errors import InternalError
from acidsql.expressions.pruning import prune
from acidsql.local.trace import UNTRACED, Trace
from acidsql.planner.bind.bound import BoundQuery, BoundRead
from acidsql.planner.bind.local_query import LocalQuery
from acidsql.planner.steps.step import LocalRows, LocalScan, Step
from acidsql.settings import Settings
from acidsql.storage.known_files import KnownFiles
from acidsql.storage.snapshots import Snapshots, TableSnapshot

if TYPE_CHECKING:
    import pyarrow as pa


class NeedsSpark(Exception):  # noqa: N818  (a signal between two functions, not an error)
    """What turned out to be Spark's alone when the rows were made."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class LocalQueries:
    """What one session's statements read without Spark, each under the snapshots it is given."""

    def __init__(self, settings: Settings, known: KnownFiles) -> None:
        self._settings = settings
        self._known = known

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
                    taken = self.table_at(step.read, snapshots)
                    if step.max_bytes is not None and self.weigh(step, taken) > step.max_bytes:
                        with trace.running(step) as figures:
                            figures.in_vain = True
                        return None
                case LocalRows(query=query):
                    return lambda: self._rows_of(query, taken, steps, trace)
        raise InternalError("no step makes the rows")

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

    def weigh(self, step: LocalScan, snapshot: TableSnapshot) -> int:
        """The bytes of the step's columns, compressed, in all files of the snapshot."""
        return 0

    def _rows_of(
        self,
        query: BoundQuery,
        snapshot: TableSnapshot | None,
        steps: tuple[Step, ...],
        trace: Trace,
    ) -> pa.Table:
        raise NeedsSpark("nothing is made here yet")


def columns_made(steps: tuple[Step, ...]) -> tuple[tuple[str, HiveType], ...]:
    """The names and types of the columns that local steps make."""
    [query] = [step.query.local for step in steps if isinstance(step, LocalRows)]
    assert isinstance(query, LocalQuery)
    return tuple((output.name, output.type) for output in query.outputs)
