"""What a session remembers of the files it has looked into, for all who ask: they never change."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from acidsql.files.fileio import FileIO
from acidsql.lazy_dataclass import dataclass
from acidsql.storage.delete_events import DeleteEventReader
from acidsql.storage.footers import FileKey, Footers, Tasks, no_tasks
from acidsql.storage.id_runs import MAX_RUNS, IdRuns
from acidsql.storage.kept import Kept
from acidsql.storage.scan.ahead import Workers

Columns = tuple[dict[str, Any], dict[int, Any]]
"""Columns of a stripe as Arrow's arrays: ids by their names, data columns by their ordinals."""
KeptColumns = Kept[tuple[FileKey, int, tuple[str, ...], tuple[int, ...]], Columns]
MAX_FEW_BYTES = 16 << 20
"""The most bytes of columns of files with few rows that are kept."""


@dataclass(frozen=True, slots=True)
class KnownFiles:
    """``id_runs``: of stripes, by file and number. ``few_rows``: columns of stripes of files with
    few rows, which chains of small statements leave many of, by file, number, and what was read.
    ``workers``: the threads of scans.
    """

    footers: Footers
    events: DeleteEventReader
    id_runs: Kept[tuple[FileKey, int], IdRuns]
    few_rows: KeptColumns
    workers: Workers = field(default_factory=Workers)

    @classmethod
    def of(cls, io: FileIO, tasks: Tasks = no_tasks) -> KnownFiles:
        """The memory of a session that has looked into no file yet."""
        return cls(Footers(tasks), DeleteEventReader(io), Kept(MAX_RUNS), Kept(MAX_FEW_BYTES))

    def close(self) -> None:
        self.workers.close()
        self.events.close()
        self.id_runs.clear()
        self.few_rows.clear()
