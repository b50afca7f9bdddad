"""What a session remembers of the files it has looked into, for all who ask: they never change."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.spark.deletes import DeleteEventReader
from acidsql.spark.fileio import FileIO
from acidsql.spark.footers import Footers


@dataclass(frozen=True, slots=True)
class KnownFiles:
    footers: Footers
    events: DeleteEventReader

    @classmethod
    def of(cls, io: FileIO) -> KnownFiles:
        """Nothing yet."""
        return cls(Footers(), DeleteEventReader(io))

    def close(self) -> None:
        self.events.close()
