"""Columns of ORC files as Arrow's or numpy's, on the driver: all of a file, or so many rows at a
time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from acidsql.arrow_arrays import numpy_array
from acidsql.errors import FormatError
from acidsql.files.fileio import FileIO

if TYPE_CHECKING:
    import pyarrow as pa

Longs = npt.NDArray[np.int64]


def read_table(io: FileIO, path: str, names: Sequence[str]) -> pa.Table:
    """Columns of an ORC file. FormatError if they cannot be read."""
    import pyarrow as pa
    from pyarrow import orc

    try:
        with io.open_input(path) as opened:
            return orc.ORCFile(opened).read(columns=list(names))
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: Exception) -> FormatError:
    return FormatError(
        f'cannot read file "{path}"', detail=str(error).splitlines()[0] if str(error) else None
    )


def read_columns(io: FileIO, path: str, names: Sequence[str]) -> list[Longs]:
    """Event columns of an ACID file. FormatError if it cannot be read or has NULLs there."""
    return _longs(path, read_table(io, path, names))


def _longs(path: str, table: pa.Table) -> list[Longs]:
    if any(column.null_count for column in table.columns):
        raise FormatError(f'file "{path}" holds events without ids')
    return [numpy_array(column).astype(np.int64) for column in table.columns]


def column_batches(io: FileIO, path: str, names: Sequence[str], size: int) -> Iterator[list[Longs]]:
    """What ``read_columns`` gives, piece by piece."""
    import pyarrow as pa

    try:
        with io.open_input(path) as opened:
            for batch in orc_batches(opened, size, names):
                yield _longs(path, pa.Table.from_batches([batch]))
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise _unreadable(path, error) from error


def orc_batches(
    opened: pa.NativeFile, size: int, names: Sequence[str] | None = None, *, ahead: int = 0
) -> Iterator[pa.RecordBatch]:
    """An ORC file in batches of at most ``size`` rows, of which so many are read ``ahead``: a
    stripe may hold any number of rows. ``names``: None for all columns. Whatever Arrow raises.
    """
    from pyarrow import dataset

    yield from (
        dataset.OrcFileFormat()
        .make_fragment(opened)
        .to_batches(
            columns=None if names is None else list(names),
            batch_size=size,
            batch_readahead=ahead,
            use_threads=False,
        )
    )
