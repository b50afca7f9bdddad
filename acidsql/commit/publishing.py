"""The files of a statement or transaction that is about to commit get their names; what its
statements left for each other is settled first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from acidsql import crash_points
from acidsql.acid.ids import WriteId
from acidsql.catalog.model import Partition, Table
from acidsql.catalog.statistics import StatisticsChange
from acidsql.files.urls import path_of
from acidsql.run.engine import Engine
from acidsql.spark.start.translation import translated
from acidsql.storage import statistics
from acidsql.storage.snapshots import PartitionSnapshot, Snapshots, TableSnapshot
from acidsql.storage.write.pending import PendingRoot, PendingWrites, needs_settling, settle
from acidsql.storage.write.publish import publish
from acidsql.storage.write.target import StagedFile

if TYPE_CHECKING:
    from acidsql.storage.common_rows import CommonRows


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
        from acidsql.storage.common_rows import RowComparison

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
