"""Record batches on their way from Spark, which come in any order and may be more than memory
holds: the first ones are kept there, and all on disk when they become many.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import pyarrow as pa

MEMORY_BYTES = 64 << 20


class Spool:
    """Batches of one schema by the number of their arrival. Its file, if there is one, is in the
    directory for temporary files and gone when the spool is closed.
    """

    def __init__(self, memory_bytes: int = MEMORY_BYTES) -> None:
        self._memory_bytes = memory_bytes
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0
        self._files = ExitStack()
        self._path: str | None = None
        self._writer: Any = None

    def add(self, batch: pa.RecordBatch) -> None:
        if self._writer is not None:
            self._writer.write_batch(batch)
            return
        self._batches.append(batch)
        self._bytes += batch.nbytes
        if self._bytes > self._memory_bytes:
            self._spill()

    def _spill(self) -> None:
        import pyarrow as pa

        folder = tempfile.TemporaryDirectory(prefix="acidsql-rows-")
        self._path = str(Path(self._files.enter_context(folder)) / "rows.arrow")
        self._writer = self._files.enter_context(
            pa.ipc.new_file(self._path, self._batches[0].schema)
        )
        for batch in self._batches:
            self._writer.write_batch(batch)
        self._batches.clear()

    @property
    def is_on_disk(self) -> bool:
        return self._path is not None

    def in_order(self, order: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """The batches by their numbers, each of which is asked for once; no more are added then."""
        if self._writer is None:
            held: list[pa.RecordBatch | None] = list(self._batches)
            self._batches.clear()
            for number in order:
                batch, held[number] = held[number], None
                yield batch
            return
        import pyarrow as pa

        self._writer.close()
        with pa.memory_map(self._path) as mapped:
            reader = pa.ipc.open_file(mapped)
            for number in order:
                yield reader.get_batch(number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()
