"""What a session remembers of the files it has looked into, for all who ask: they never change."""

from __future__ import annotations

from acidsql.files.fileio import FileIO
from acidsql.lazy_dataclass import dataclass
from acidsql.storage.delete_events import DeleteEventReader
from acidsql.storage.footers import Footers, Tasks, no_tasks


@dataclass(frozen=True, slots=True)
class KnownFiles:
    footers: Footers
    events: DeleteEventReader

    @classmethod
    def of(cls, io: FileIO, tasks: Tasks = no_tasks) -> KnownFiles:
        """The memory of a session that has looked into no file yet."""
        return cls(Footers(tasks), DeleteEventReader(io))

    def close(self) -> None:
        self.events.close()
