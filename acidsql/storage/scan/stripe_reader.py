"""Reads the columns of one ORC file: whole stripes of them, or the row groups that are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import orc

from acidsql.acid.orc_tail import OrcTail
from acidsql.acid.orc_types import ROW_FIELD, column_numbers
from acidsql.errors import FormatError
from acidsql.expressions.not_here import NotHere
from acidsql.files.fileio import FileReader
from acidsql.storage.file_times import by_arrow, holds_times
from acidsql.storage.footers import ScanFile, read_footer
from acidsql.storage.known_files import KeptColumns
from acidsql.storage.scan.row_groups import SHARE, RowGroups, few_groups
from acidsql.storage.scan.writer_zones import refuse_old_times

Mask = npt.NDArray[np.bool_]

_ENTRY_BYTES = 1024
"""What keeping columns takes beside their values."""


class StripeReader:
    """One file, opened when columns are first asked for. ``kept``: where what is read is kept."""

    def __init__(self, io: FileReader, file: ScanFile, kept: KeptColumns) -> None:
        self._io = io
        self._file = file
        self._kept = kept
        self._opened: pa.NativeFile | None = None
        self._orc: orc.ORCFile | None = None
        self._tail: OrcTail | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._opened is not None:
            self._opened.close()

    def _open(self) -> pa.NativeFile:
        if self._opened is None:
            self._opened = self._io.open_input(self._file.path)
        return self._opened

    def read(
        self, stripe: int, id_columns: Sequence[str], ordinals: Iterable[int]
    ) -> tuple[dict[str, pa.Array], dict[int, pa.Array]]:
        """The id columns of a stripe by their names, and data columns by their ordinals."""
        names: list[str | int] = [*id_columns, *sorted(set(ordinals))]
        columns = {name: self._kept.find((self._file.key, stripe, name)) for name in names}
        missing = [name for name, column in columns.items() if column is None]
        if missing:
            read = self._read(stripe, missing)
            columns |= read
            for name, column in read.items():
                weight = _ENTRY_BYTES + column.nbytes
                self._kept.keep((self._file.key, stripe, name), column, weight)
        return (
            {name: column for name, column in columns.items() if isinstance(name, str)},
            {name: column for name, column in columns.items() if isinstance(name, int)},
        )

    def _read(self, stripe: int, columns: Sequence[str | int]) -> dict[str | int, pa.Array]:
        id_columns = [name for name in columns if isinstance(name, str)]
        wanted = [ordinal for ordinal in columns if isinstance(ordinal, int)]
        batch = self._batch(stripe, id_columns, wanted)
        if len(batch) != self._file.stripes[stripe][1]:
            raise FormatError(
                f'file "{self._file.path}" does not hold the rows its footer tells of',
                detail=f"{len(batch)} instead of {self._file.stripes[stripe][1]}",
            )
        read: dict[str | int, pa.Array] = {name: batch.column(name) for name in id_columns}
        if any(column.null_count for column in read.values()):
            raise FormatError(f'file "{self._file.path}" holds events without ids')
        if not wanted:
            return read
        arrays = batch.columns
        if not self._file.file.original:
            row = batch.column(ROW_FIELD)
            if row.null_count and not self._file.mixed:
                raise FormatError(f'file "{self._file.path}" holds insert events without rows')
            arrays = row.flatten()
        self._refuse_old_times(stripe, arrays)
        if len(arrays) > len(wanted):
            return read | {ordinal: arrays[ordinal] for ordinal in wanted}
        return read | dict(zip(wanted, arrays, strict=True))

    def _refuse_old_times(self, stripe: int, arrays: Sequence[pa.Array]) -> None:
        """Raises NotHere for timestamps of files that Java wrote, if Java alone tells them."""
        assert self._orc is not None
        if by_arrow(self._orc) or not any(map(holds_times, self._file.columns.children)):
            return
        if self._tail is None:
            self._tail = read_footer(self._io, self._file.path)
        refuse_old_times(self._open(), self._tail, stripe, arrays)

    def groups(self, stripe: int, wanted: Mask) -> RowGroups | None:
        """The row groups of a stripe that hold the rows wanted; None where they are not few."""
        if self._file.mixed or int(np.count_nonzero(wanted)) * SHARE > len(wanted):
            return None
        if self._tail is None:
            self._tail = read_footer(self._io, self._file.path)
        return few_groups(self._open(), self._tail, stripe, wanted)

    def read_groups(self, groups: RowGroups, ordinals: set[int]) -> dict[int, pa.Array]:
        """Data columns of some row groups of a stripe by their ordinals."""
        wanted = sorted(ordinals)
        in_events = not self._file.file.original
        numbers = column_numbers(self._file.columns, in_events=in_events)
        kinds = self._file.columns.children
        arrays = dict(
            zip(
                wanted,
                groups.columns([(numbers[at], kinds[at]) for at in wanted], in_events=in_events),
                strict=True,
            )
        )
        left = [ordinal for ordinal, array in arrays.items() if array is None]
        whole = self.read(groups.stripe, (), left)[1]
        return arrays | {ordinal: groups.cut(whole[ordinal]) for ordinal in left}

    def _batch(
        self, stripe: int, id_columns: Sequence[str], ordinals: Sequence[int]
    ) -> pa.RecordBatch:
        try:
            if self._orc is None:
                self._orc = orc.ORCFile(self._open())
            return self._orc.read_stripe(stripe, columns=self._names(id_columns, ordinals))
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            if "out of range" in str(error):
                raise NotHere("a timestamp lies outside of the years 1677 to 2262") from error
            if "ime zone" in str(error):
                raise NotHere("timestamps of a time zone that only Java knows") from error
            detail = str(error).splitlines()[0] if str(error) else None
            raise FormatError(f'cannot read file "{self._file.path}"', detail=detail) from error

    def _names(self, id_columns: Sequence[str], ordinals: Sequence[int]) -> list[str] | None:
        """The columns as Arrow is told of them; None, all of them, where it could not be told."""
        names = [self._file.columns.names[ordinal] for ordinal in ordinals]
        if any("." in name or "`" in name for name in names):
            return None
        if self._file.file.original:
            return names
        return [*id_columns, *(f"{ROW_FIELD}.{name}" for name in names)]
