"""A table that appears together with its first files: the catalog's entry and the files' names become visible in one step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from acidsql import crash_points
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Partition, Table
from acidsql.catalog.statistics import Parameters, StatisticsChange, changed, nothing_yet
from acidsql.errors import ExecutionError
from acidsql.spark.publish import partitions_of
from acidsql.spark.target import StagedFile


@dataclass(slots=True)
class NewTable:
    """``publishing`` is what a WriteTarget asks for. ``counted``: with statistics.  ``made``: the table is in the catalog."""

    catalog: Catalog
    table: Table
    counted: bool
    made: bool = field(default=False)

    @contextmanager
    def publishing(self, files: Sequence[StagedFile]) -> Iterator[None]:
        """Files get their names inside. AlreadyExistsError before the first has one, if another session was faster."""
        table = self.table if self.table.partition_columns else replace(self.table, statistics=self._statistics(files))
        partitions = [self._partition(partition, files) for partition in partitions_of(files)]
        with self.catalog.creating_table(table, partitions):
            try:
                yield
            except OSError as error:
                raise ExecutionError(f'cannot write to "{table.location}"', detail=str(error)) from error
            crash_points.reached("files of new table in place")
        self.made = True

    def _partition(self, partition: Partition, files: Sequence[StagedFile]) -> Partition:
        mine = [file for file in files if file.partition is not None and file.partition.location == partition.location]
        return replace(partition, statistics=self._statistics(mine))

    def _statistics(self, files: Sequence[StagedFile]) -> Parameters:
        if not self.counted:
            return {}
        rows, size = sum(file.rows for file in files), sum(file.size for file in files)
        raw_bytes = 0 if self.table.is_full_acid else None  # Hive counts none of ACID tables
        change = StatisticsChange(table=self.table, rows=rows, files=len(files), bytes=size, raw_bytes=raw_bytes)
        return changed(nothing_yet(self.table.columns), change)
