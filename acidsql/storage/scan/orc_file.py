"""The rows of stripes of one ORC file, as ``file_plan`` says that they are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Self

import numpy as np
import pyarrow as pa
from pyarrow import orc

from acidsql.acid.orc_tail import OrcTail
from acidsql.acid.orc_types import ROW_FIELD, column_numbers
from acidsql.arrow_arrays import arrow_array, filled, numpy_array
from acidsql.errors import FormatError
from acidsql.files.fileio import FileIO
from acidsql.storage.footers import ScanFile, read_footer
from acidsql.storage.scan.file_plan import FileRead, Keep, Value
from acidsql.storage.scan.identity import Mask, Stripe
from acidsql.storage.scan.needs_spark import NeedsSpark
from acidsql.storage.scan.row_groups import SHARE, RowGroups, few_groups

MOST = 10
"""Where fewer than one of so many rows goes, each column is filtered by itself."""


def read_stripes(io: FileIO, plan: FileRead, stripes: range) -> pa.RecordBatch | None:
    """The live rows of some stripes that follow on each other: the three ids if they are asked
    for, then the columns, by their numbers. None if there are none. NeedsSpark; FormatError if the
    file is not as it must be.
    """
    counts = [rows for _, rows in plan.file.stripes]
    first_row = plan.first_row + sum(counts[: stripes.start])
    parts = []
    with _Reader(io, plan.file) as reader:
        for number in stripes:
            part = _stripe(reader, plan, number, first_row)
            first_row += counts[number]
            if part is not None and len(part):
                parts.append(part)
    if len(parts) < 2:
        return parts[0] if parts else None
    return pa.concat_batches(parts)


class _Reader:
    """One file, opened when its columns are first asked for."""

    def __init__(self, io: FileIO, file: ScanFile) -> None:
        self._io = io
        self._file = file
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
        wanted = sorted(set(ordinals))
        if not wanted and not id_columns:
            return {}, {}
        batch = self._batch(stripe, id_columns, wanted)
        if len(batch) != self._file.stripes[stripe][1]:
            raise FormatError(
                f'file "{self._file.path}" does not hold the rows its footer tells of',
                detail=f"{len(batch)} instead of {self._file.stripes[stripe][1]}",
            )
        ids = {name: batch.column(name) for name in id_columns}
        if any(column.null_count for column in ids.values()):
            raise FormatError(f'file "{self._file.path}" holds events without ids')
        if not wanted:
            return ids, {}
        arrays = batch.columns
        if not self._file.file.original:
            row = batch.column(ROW_FIELD)
            if row.null_count:
                raise FormatError(f'file "{self._file.path}" holds insert events without rows')
            arrays = row.flatten()
        if len(arrays) > len(wanted):
            return ids, {ordinal: arrays[ordinal] for ordinal in wanted}
        return ids, dict(zip(wanted, arrays, strict=True))

    def groups(self, stripe: int, wanted: Mask) -> RowGroups | None:
        """The row groups of a stripe that hold the rows wanted; None where they are not few."""
        if int(np.count_nonzero(wanted)) * SHARE > len(wanted):
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
                raise NeedsSpark("a timestamp lies outside of the years 1677 to 2262") from error
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


def _no_columns(rows: int) -> pa.RecordBatch:
    nothing = pa.StructArray.from_buffers(pa.struct([]), rows, [None])
    return pa.RecordBatch.from_struct_array(nothing)


def _stripe(reader: _Reader, plan: FileRead, number: int, first_row: int) -> pa.RecordBatch | None:
    """The rows of a stripe that are visible, alive and wanted. ``first_row``: the number of its
    first row, where the file is numbered.
    """
    count = plan.file.stripes[number][1]
    first = plan.values if plan.keep is None else plan.tested
    known, stored = reader.read(number, plan.id_columns, _ordinals(first))
    stripe = Stripe(plan, number, count, first_row, known)
    alive = stripe.alive()
    if plan.keep is not None:
        alive = _wanted(plan.keep, _batch([], stored, plan.tested, count, alive), alive)
        if not alive.any():
            return None
    ids = stripe.ids() if plan.ids else []
    if plan.keep is not None and (left := _ordinals(plan.values) - stored.keys()):
        assert alive is not None
        groups = reader.groups(number, alive)
        if groups is None:
            stored |= reader.read(number, (), left)[1]
        else:
            ids = [groups.cut(array) for array in ids]
            stored = {ordinal: groups.cut(array) for ordinal, array in stored.items()}
            stored |= reader.read_groups(groups, left)
            alive = groups.cut_mask(alive)
            count = len(alive)
    return _batch(ids, stored, plan.values, count, alive)


def _ordinals(values: Sequence[Value]) -> set[int]:
    return {value.ordinal for value in values if value.ordinal is not None}


def _wanted(keep: Keep, rows: pa.RecordBatch, alive: Mask | None) -> Mask:
    """Which of all rows of a stripe are alive and wanted; ``rows`` are those alive."""
    kept = keep(rows)
    wanted: Mask = numpy_array(filled(kept, False))
    if alive is None:
        return wanted
    alive[alive] = wanted
    return alive


def _batch(
    ids: Sequence[pa.Array],
    stored: Mapping[int, pa.Array],
    values: Sequence[Value],
    count: int,
    alive: Mask | None,
) -> pa.RecordBatch:
    """The rows that are ``alive``, as they are given; columns are called by their numbers."""
    if alive is not None and alive.all():
        alive = None
    if not ids and not values:
        return _no_columns(count if alive is None else int(alive.sum()))
    arrays = [
        pa.nulls(count, value.type) if value.ordinal is None else stored[value.ordinal]
        for value in values
    ]
    rows = [*ids, *arrays] if alive is None else _filtered([*ids, *arrays], alive)
    converted = [
        value.convert(array) for value, array in zip(values, rows[len(ids) :], strict=True)
    ]
    return _numbered([*rows[: len(ids)], *converted])


def _filtered(arrays: Sequence[pa.Array], alive: Mask) -> list[pa.Array]:
    mask = arrow_array(alive)
    if int(np.count_nonzero(alive)) * MOST < len(alive) * (MOST - 1):
        return list(_numbered(arrays).filter(mask).columns)
    # Arrow makes indices of the mask for several columns; by itself it takes runs of rows.
    return [array.filter(mask) for array in arrays]


def _numbered(arrays: Sequence[pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(arrays, names=[str(number) for number in range(len(arrays))])
