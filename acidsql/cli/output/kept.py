"""The rows of the last query, kept as long as they are few, so that they can be shown again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from acidsql.lazy_dataclass import dataclass
from acidsql.rendering.formats import Column

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BYTES = 16 << 20


@dataclass(slots=True)
class Kept:
    """The rows of a query that have come so far. ``statement``: its name; ``is_whole``: all have
    come, and all are here; ``page``: which of their columns were shown last, of those that are
    shown together.
    """

    columns: Sequence[Column]
    statement: str = ""
    batches: list[pa.RecordBatch] = field(default_factory=list)
    size: int = 0
    is_whole: bool = False
    page: int | None = None

    @property
    def is_full(self) -> bool:
        return self.size > MOST_BYTES

    def passing(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches as they come, which are remembered meanwhile."""
        for batch in batches:
            if not self.is_full:
                self.size += batch.nbytes
                self.batches.append(batch)
            if self.is_full:
                self.batches.clear()
            yield batch
        self.is_whole = not self.is_full
