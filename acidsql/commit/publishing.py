"""The files of a statement or transaction that is about to commit get their names; what its
statements left for each other is settled first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from acidsql import crash_points
from acidsql.acid.ids import WriteId
from acidsql.catalog.model import Partition, Table
from acidsql.catalog.statistics import StatisticsChange
from acidsql.expressions.spark_words import identifier
from acidsql.files.parallel import in_parallel
from acidsql.files.urls import path_of
from acidsql.run.driver.own_rows import live_rows
from acidsql.run.resources import Resources
from acidsql.spark.start.translation import translated
from acidsql.storage import statistics
from acidsql.storage.common_rows import CommonRows, RowComparison
from acidsql.storage.snapshots import PartitionSnapshot, Snapshots, TableSnapshot
from acidsql.storage.write import driver_writer
from acidsql.storage.write.pending import PendingRoot, PendingWrites
from acidsql.storage.write.publish import publish
from acidsql.storage.write.settle import needs_settling, settle
from acidsql.storage.write.target import StagedFile


class Publisher:
    """Publishes what is pending, and takes it back."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

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
        resources = self._resources
        rows = live_rows(resources.local, resources.settings, snapshot)
        if rows is not None:
            kept = driver_writer.kept_files(root.target, rows, one_base=root.overwritten)
            return in_parallel(
                lambda file: driver_writer.stage_file(resources.files, directory, file), kept
            )
        with resources.running.tagged():
            return self._rewrite_by_spark(root, snapshot, directory, buckets)

    def _rewrite_by_spark(
        self, root: PendingRoot, snapshot: TableSnapshot, directory: str, buckets: int
    ) -> list[StagedFile]:
        from acidsql.spark.write.event_files import stage_kept

        spark = self._resources.spark
        view = identifier(self._resources.reader.view(snapshot, row_id=True))
        names = ", ".join(identifier(c.name) for c in snapshot.table.columns)
        return stage_kept(
            spark,
            self._resources.files,
            root.target,
            directory,
            spark.sql(f"SELECT ROW__ID.*, {names} FROM {view}"),
            buckets=buckets,
            one_base=root.overwritten,
        )

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
