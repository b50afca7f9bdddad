"""How the columns of a table are found in files that were written under older columns. ORC:
SchemaEvolution.

In an ACID file a column is found by its position, as in Hive 4
(``orc.force.positional.evolution``): columns are added at the end, renamed and widened, never
moved. An original file may come from anywhere: where it has all the names, they count, unless
they are numbers (``_col0``). A file's own type is read and then cast, so that what Hive's
conversions do is done by one kind of cast for all types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from acidsql.acid.orc_types import OrcKind, OrcType
from acidsql.arrow_arrays import numpy_array
from acidsql.catalog.model import Column
from acidsql.catalog.types import PrimitiveType
from acidsql.errors import FormatError, UnsupportedStatementError
from acidsql.files.fileio import FileIO
from acidsql.lazy import dataclass
from acidsql.storage.stored import orc_type

if TYPE_CHECKING:
    import pyarrow as pa


_NUMBERED = re.compile(r"_col[0-9]+")
"""What files of old Hive call their columns: there Hive goes by position
(SchemaEvolution.hasColumnNames).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileColumn:
    """A column of the table in a file. ``name``, ``kind``: what it is called and of what type
    there. ``same``: it is read as it is.
    """

    column: Column
    name: str
    kind: OrcType
    same: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How the columns of a table lie in a file. ``file_columns``: those it has; the others are
    NULL. ``unread``: further columns that a reader must be told of.
    """

    columns: tuple[Column, ...]
    file_columns: tuple[FileColumn, ...]
    unread: tuple[tuple[str, OrcType], ...] = ()

    @property
    def exact(self) -> bool:
        """Whether the file has the table's columns, by name and type."""
        return len(self.file_columns) == len(self.columns) and all(
            c.same and c.name == c.column.name for c in self.file_columns
        )


@lru_cache(maxsize=256)
def layout(columns: tuple[Column, ...], stored: OrcType, *, original: bool) -> Layout:
    """The layout of a file whose data columns are ``stored``. ``original``: it is an original file.
    UnsupportedStatementError for a column of a type that Hive tables cannot have here."""
    all_stored = list(zip(stored.names, stored.children, strict=True))
    fields = {name.lower(): (name, kind) for name, kind in all_stored}
    in_place, further = all_stored[: len(columns)], all_stored[len(columns) :]
    of_columns = (
        [fields[c.name] for c in columns]
        if original and all(c.name in fields for c in columns)
        else in_place
    )
    unread: tuple[tuple[str, OrcType], ...] = ()
    # Spark goes by position, and wants to know of all columns
    if original and all(name.startswith("_col") for name in stored.names):
        if of_columns != in_place and not all(map(_NUMBERED.fullmatch, stored.names)):
            raise UnsupportedStatementError(
                "a data file has its columns in another order, and all their names begin with _col"
            )
        of_columns, unread = in_place, tuple(further)
    pairs = (
        (column, name, kind) for column, (name, kind) in zip(columns, of_columns, strict=False)
    )
    return Layout(
        columns=columns,
        file_columns=tuple(_file_column(column, name, kind) for column, name, kind in pairs),
        unread=unread,
    )


def _file_column(column: Column, name: str, kind: OrcType) -> FileColumn:
    if kind == orc_type(column.type) or (
        column.type == PrimitiveType("string") and kind.kind in (OrcKind.CHAR, OrcKind.VARCHAR)
    ):
        return FileColumn(column=column, name=name, kind=kind, same=True)
    _check_kind(kind)
    return FileColumn(column=column, name=name, kind=kind, same=False)


def _check_kind(kind: OrcType) -> None:
    if kind.kind in (OrcKind.UNION, OrcKind.TIMESTAMP_INSTANT):
        raise UnsupportedStatementError(
            f"a data file has a column of type {kind}", hint="Hive 3.1 has no ACID table with one."
        )
    for child in kind.children:
        _check_kind(child)


# ---- columns
#
# Columns of ORC files as Arrow's or numpy's, on the driver: all of a file, or so many rows at a
# time.


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
