"""What a session remembers of the files it has looked into, for all who ask: they never change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from acidsql.spark.deletes import DeleteEventReader
from acidsql.spark.fileio import FileIO
from acidsql.spark.footers import Footers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class KnownFiles:
    footers: Footers
    events: DeleteEventReader

    @classmethod
    def of(cls, io: FileIO, spark: Callable[[], SparkSession | None] = lambda: None) -> KnownFiles:
        """Nothing yet. ``spark``: the one that runs, if it does."""
        return cls(Footers(spark), DeleteEventReader(io))

    def close(self) -> None:
        self.events.close()
