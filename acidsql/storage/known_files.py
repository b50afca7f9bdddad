"""What a session remembers of the files it has looked into, for all who ask: they never change."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from acidsql.files.fileio import FileIO
from acidsql.files.parallel import Workers
from acidsql.lazy import dataclass
from acidsql.storage.events.delete_events import MAX_RUNS, DeleteEventReader, IdRuns
from acidsql.storage.footers import FileKey, Footers, Kept, Tasks, no_tasks

KeptColumns = Kept[tuple[FileKey, int, str | int], Any]
"""Columns as Arrow's arrays, by file, number of the stripe, and name of an id column or ordinal of
a data column.
"""
MAX_FEW_BYTES = 64 << 20
"""The most bytes of columns of files with few rows that are kept."""
MAX_STRIPE_BYTES = 16 << 20
"""The most bytes of columns of stripes of all other files that are kept."""


@dataclass(frozen=True, slots=True)
class KnownFiles:
    """``id_runs``: of stripes, by file and number. ``few_rows``: columns of files with few
    rows, which chains of small statements leave many of; ``stripes``: those of other files, which
    a scan of a large table would else put in the place of all the small ones. ``workers``: the
    threads of scans.
    """

    footers: Footers
    events: DeleteEventReader
    id_runs: Kept[tuple[FileKey, int], IdRuns]
    few_rows: KeptColumns
    stripes: KeptColumns
    workers: Workers = field(default_factory=Workers)

    @classmethod
    def of(cls, io: FileIO, tasks: Tasks = no_tasks) -> KnownFiles:
        """The memory of a session that has looked into no file yet."""
        return cls(
            Footers(tasks),
            DeleteEventReader(io),
            Kept(MAX_RUNS),
            Kept(MAX_FEW_BYTES),
            Kept(MAX_STRIPE_BYTES),
        )

    def close(self) -> None:
        self.workers.close()
        self.events.close()
        self.id_runs.clear()
        self.few_rows.clear()
        self.stripes.clear()
