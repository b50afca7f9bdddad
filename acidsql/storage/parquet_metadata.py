"""The metadata of Parquet files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acidsql.errors import FormatError
from acidsql.files.fileio import FileIO

if TYPE_CHECKING:
    import pyarrow.parquet as pq


def read_metadata(io: FileIO, path: str) -> pq.FileMetaData:
    """The metadata of a file. FormatError naming it if it cannot be read as Parquet or is gone."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with io.open_input(path) as file:
            return pq.read_metadata(file)
    except (OSError, pa.ArrowException) as error:
        raise FormatError(f'cannot read file "{path}"', detail=str(error)) from error
