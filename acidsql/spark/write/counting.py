"""What a job counts of rows on their way to its files, right under the sink: there every row is
written by the one attempt of a task that counts, so the numbers are those of the rows that are
stored, whatever was tried again, and nothing is read or computed twice.

On the driver the marks of what values lose (losses) are counted beside the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from acidsql.errors import ExecutionError
from acidsql.expressions.losses import Counter, Lost, counted, counts_sql, uncounted
from acidsql.spark import jvm
from acidsql.storage.write.target import StagedFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Counting:
    """The counts of one job: of the marks of ``counters``, and of its events where tasks run in
    processes of their own, whose files the driver may not see.
    """

    def __init__(self, counters: Sequence[Counter] = ()) -> None:
        self._counters = counters
        self._numbers: Callable[[], Sequence[int] | None] | None = None

    def of(self, rows: DataFrame, events: str = "1") -> DataFrame:
        """Rows that the next job is to write, counted on their way. ``events``: SQL for how many a
        row becomes. No exchange may follow: behind one a row may pass twice.
        """
        aggregates = list(counts_sql(self._counters)) if self._counters else []
        if jvm.has_own_processes(rows.sparkSession):
            aggregates.append(f"coalesce(sum({events}), 0)")
        if aggregates:
            rows, self._numbers = jvm.observed(rows, aggregates)
        return rows

    @cached_property
    def _counts(self) -> Sequence[int] | None:
        return None if self._numbers is None else self._numbers()

    def checked(self, files: list[StagedFile]) -> list[StagedFile]:
        """The files, all that the driver has seen of the job's; ExecutionError where it has written
        more events than are in them. Text may have more lines than rows.
        """
        if self._counts is None or len(self._counts) == len(self._counters):
            return files
        written, seen = self._counts[-1], sum(file.rows for file in files)
        if seen < written:
            raise ExecutionError(
                f"Spark's workers wrote {written} rows, and files with {seen} of them are there",
                hint="Mount the warehouse at the same path on every machine of the cluster"
                " (docs/clusters.md). Nothing was stored.",
            )
        return files

    def lost(self) -> tuple[Lost, ...]:
        """What the rows of the job that has been done have lost."""
        if not self._counters:
            return ()
        if self._counts is None:
            return uncounted(self._counters)
        return counted(self._counters, self._counts[: len(self._counters)])
