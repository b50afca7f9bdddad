"""What is read of a frame: its schema, and its rows as record batches, once."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from acidsql.errors import DataError, InterfaceError
from acidsql.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import MutableMapping

BATCH_ROWS = 131_072

_KINDS = (
    "pandas and polars DataFrames, Arrow tables, record batches and readers, whatever has"
    " __arrow_c_stream__, and Spark's DataFrames can be read"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """The rows of a frame. ``index``: the names of a pandas frame's index, which is not read.
    ``held``: they lie in memory as long as the frame does.
    """

    schema: pa.Schema
    rows: Iterator[pa.RecordBatch]
    index: tuple[str, ...] = ()
    held: bool = False


class _Begun:
    """Which streams have been read, by this process: a reader gives its rows once, and would give
    none, or the rest, to a statement that is run again.
    """

    def __init__(self) -> None:
        self._readers: weakref.WeakSet[pa.RecordBatchReader] = weakref.WeakSet()
        self._rows: MutableMapping[Any, bool] = weakref.WeakKeyDictionary()

    def once(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        """The rows of a reader, which counts as read from the first one on."""
        if reader in self._readers:
            raise _read_before()
        self._readers.add(reader)
        yield from _cut(reader)

    def watched(self, source: Any, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of an object that may or may not give them twice. InterfaceError if it gave some
        before, and gives none now.
        """
        some = False
        for batch in rows:
            some = some or batch.num_rows > 0
            yield batch
        try:
            gave_some = self._rows.get(source, False)
            self._rows[source] = some or gave_some
        except TypeError:  # what cannot be remembered
            return
        if gave_some and not some:
            raise _read_before()


_BEGUN = _Begun()


def _read_before() -> InterfaceError:
    return InterfaceError(
        "the stream was read before, and gives its rows once",
        hint="Register it: the rows of session.register(name, stream) can be read again.",
    )


def batches_of(frame: Any, *, only_schema: bool = False) -> Batches:
    """The rows of a frame that is not Spark's. InterfaceError for what is none, and for a stream
    that was read before; DataError for values that Arrow has no type for.

    ``only_schema``: no row is wanted, and a reader stays as it is.
    """
    match frame:
        case pa.RecordBatchReader():
            rows = iter(()) if only_schema else _BEGUN.once(frame)
            return Batches(schema=frame.schema, rows=rows)
        case pa.Table():
            batches = frame.to_batches(max_chunksize=BATCH_ROWS)
            return Batches(schema=frame.schema, rows=iter(batches), held=True)
        case pa.RecordBatch():
            return batches_of(pa.Table.from_batches([frame]))
    if _is_of(frame, "pandas"):
        return _of_pandas(frame)
    if _is_of(frame, "polars") and not hasattr(frame, "__arrow_c_stream__"):
        raise InterfaceError(
            f"a {type(frame).__name__} of polars has no rows yet", hint="Pass its collect()."
        )
    if isinstance(frame, type) or not hasattr(frame, "__arrow_c_stream__"):
        raise InterfaceError(f"{type(frame).__name__} is no frame: {_KINDS}")
    reader = pa.RecordBatchReader.from_stream(frame)
    return Batches(schema=reader.schema, rows=_BEGUN.watched(frame, _cut(reader)))


def _is_of(frame: Any, package: str) -> bool:
    return any(kind.__module__.partition(".")[0] == package for kind in type(frame).__mro__)


def _of_pandas(frame: Any) -> Batches:
    import pandas

    if not isinstance(frame, pandas.DataFrame):
        raise InterfaceError(f"a {type(frame).__name__} of pandas is no DataFrame")
    if repeated := sorted({str(c) for c in frame.columns[frame.columns.duplicated()]}):
        raise InterfaceError(f"the frame has the column {', '.join(repeated)} twice")
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise DataError(
            "a column of the frame holds values of several types, or of one that SQL has not",
            detail="; ".join(str(part) for part in error.args),
        ) from error
    index = tuple(str(name) for name in frame.index.names if name is not None)
    rows = iter(table.to_batches(max_chunksize=BATCH_ROWS))
    return Batches(schema=table.schema.remove_metadata(), rows=rows, index=index)


def _cut(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The batches in pieces of BATCH_ROWS rows or fewer."""
    for batch in reader:
        for start in range(0, max(len(batch), 1), BATCH_ROWS):
            yield batch.slice(start, BATCH_ROWS)
