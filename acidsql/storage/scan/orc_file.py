"""How the rows of one ORC file are read: which of its columns, which ids, and who of its rows is
alive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import orc

from acidsql.acid.orc_tail import OrcTail
from acidsql.acid.orc_types import EVENT_FIELDS, ID_FIELDS, ROW_FIELD, column_numbers
from acidsql.acid.write_ids import ValidWriteIdList
from acidsql.arrow_arrays import arrow_array, arrow_scalar, filled, numpy_array
from acidsql.catalog.model import Column
from acidsql.errors import FormatError
from acidsql.files.fileio import FileIO
from acidsql.lazy_dataclass import dataclass
from acidsql.storage.columns import Longs
from acidsql.storage.delete_events import DeadIds, valid_mask
from acidsql.storage.file_layout import FileColumn, layout
from acidsql.storage.footers import RowIdRange, ScanFile, read_footer
from acidsql.storage.original_ids import bucket_property
from acidsql.storage.scan.needs_spark import NeedsSpark
from acidsql.storage.scan.orc_values import Convert, converter, is_sure, refuse_unseen_times
from acidsql.storage.scan.row_groups import SHARE, RowGroups, few_groups
from acidsql.storage.stored import arrow_type

CURRENT = EVENT_FIELDS[4]
Mask = npt.NDArray[np.bool_]
ID_TYPES = (pa.int64(), pa.int32(), pa.int64())


Keep = Callable[[pa.RecordBatch], pa.Array]
"""What tells for each row whether it is wanted; NULL is no."""


class Value(NamedTuple):
    """A column that is read: its ordinal among the data columns of the file, and what makes the
    table's values of it; NULLs of ``type`` where the file has none (``ordinal`` is None).
    """

    ordinal: int | None
    type: pa.DataType
    convert: Convert


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRead:
    """How a file is read.

    ``ids``: whether the rows' ids are given; ``id_columns``: those that are read for that, or to
    tell the dead. ``first_row``: of an original file. ``keep``: what the rows of ``tested`` must
    meet, before any other column is read.
    """

    file: ScanFile
    values: tuple[Value, ...]
    tested: tuple[Value, ...]
    keep: Keep | None
    ids: bool
    id_columns: tuple[str, ...]
    dead: DeadIds | None
    write_ids: ValidWriteIdList | None
    first_row: int


class Columns(NamedTuple):
    """What is read of a table of the columns ``of_table``: ``given``, and ``tested``."""

    of_table: tuple[Column, ...]
    given: tuple[Column, ...]
    tested: tuple[Column, ...] = ()


def plan_file(
    file: ScanFile,
    columns: Columns,
    *,
    ids: bool,
    keep: Keep | None,
    dead: DeadIds | None,
    write_ids: ValidWriteIdList | None,
    first_row: int,
) -> FileRead | None:
    """How the file is read; None if all its rows are dead. NeedsSpark.

    ``dead``: None if no delete event hits this file's partition. ``write_ids``: None if the file
    needs no filter.
    """
    if dead is not None and (known := _known_ids(file, first_row)) is not None:
        hits = dead.within(file.partition_number, known)
        if hits == file.rows:
            return None
        dead = dead if hits else None
    id_columns: tuple[str, ...] = ()
    if not file.file.original:
        if ids or dead is not None:
            # One id column tells all where the footer tells the others.
            id_columns = ID_FIELDS if file.ids is None else ID_FIELDS[2:]
        if write_ids is not None:
            id_columns = (*id_columns, CURRENT)
    return FileRead(
        file=file,
        values=_values(file, columns.given, columns.of_table),
        tested=_values(file, columns.tested, columns.of_table),
        keep=keep,
        ids=ids,
        id_columns=id_columns,
        dead=dead,
        write_ids=write_ids,
        first_row=first_row,
    )


def _known_ids(file: ScanFile, first_row: int) -> RowIdRange | None:
    """The ids of all rows of the file, where they are known without reading them."""
    if not file.file.original:
        return file.ids
    write_id, last = int(file.file.max_write_id), first_row + file.rows - 1
    return RowIdRange(write_id, bucket_property(file), first_row, last)


def _values(
    file: ScanFile, columns: Sequence[Column], all_columns: tuple[Column, ...]
) -> tuple[Value, ...]:
    """How the columns lie in the file. NeedsSpark."""
    stored, original = file.columns, file.file.original
    if len(set(stored.names)) < len(stored.names):
        raise NeedsSpark(f'file "{file.path}" has two columns of one name')
    own = {c.column.name: c for c in layout(all_columns, stored, original=original).file_columns}
    values = []
    for column in columns:
        kind, in_file = arrow_type(column.type), own.get(column.name)
        if in_file is None:
            values.append(Value(None, kind, _as_it_is))
            continue
        _check(in_file, file)
        ordinal = stored.names.index(in_file.name)
        values.append(Value(ordinal, kind, converter(column.type, stored.children[ordinal])))
    return tuple(values)


def _as_it_is(array: pa.Array) -> pa.Array:
    return array


def _check(column: FileColumn, file: ScanFile) -> None:
    refuse_unseen_times(column.column.type)
    if not is_sure(column):
        raise NeedsSpark(
            f'file "{file.path}" has column "{column.column.name}" as {column.kind}, the table as'
            f" {column.column.type}"
        )


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
    first row, in an original file.
    """
    count = plan.file.stripes[number][1]
    first = plan.values if plan.keep is None else plan.tested
    known, stored = reader.read(number, plan.id_columns, _ordinals(first))
    alive = _alive(known, plan, count, first_row)
    if plan.keep is not None:
        alive = _wanted(plan.keep, _batch([], stored, plan.tested, count, alive), alive)
        if not alive.any():
            return None
    ids = _ids(known, plan, count, first_row) if plan.ids else []
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
    names = [str(number) for number in range(len(ids) + len(arrays))]
    rows = pa.RecordBatch.from_arrays([*ids, *arrays], names=names)
    if alive is not None:
        rows = rows.filter(arrow_array(alive))
    converted = [
        value.convert(array) for value, array in zip(values, rows.columns[len(ids) :], strict=True)
    ]
    return pa.RecordBatch.from_arrays([*rows.columns[: len(ids)], *converted], names=names)


def _alive(known: dict[str, pa.Array], plan: FileRead, count: int, first_row: int) -> Mask | None:
    """Which rows are visible and alive; None: all."""
    alive = None
    if plan.write_ids is not None:
        alive = valid_mask(_longs(known[CURRENT]), plan.write_ids)
    if plan.dead is not None:
        number = plan.file.partition_number
        if (same := _same_ids(plan)) is not None:
            rows = (
                np.arange(first_row, first_row + count, dtype=np.int64)
                if plan.file.file.original
                else _longs(known[ID_FIELDS[2]])
            )
            hit = plan.dead.alive_of(number, *same, rows)
        else:
            hit = plan.dead.alive(number, *(_longs(known[name]) for name in ID_FIELDS))
        alive = hit if alive is None else alive & hit
    return alive


def _same_ids(plan: FileRead) -> tuple[int, int] | None:
    """The write id and the bucket property that all rows have; None where they may have several."""
    if plan.file.file.original:
        return int(plan.file.file.max_write_id), bucket_property(plan.file)
    ids = plan.file.ids
    return None if ids is None else (ids.write_id, ids.bucket_property)


def _ids(known: dict[str, pa.Array], plan: FileRead, count: int, first_row: int) -> list[pa.Array]:
    same = _same_ids(plan)
    if same is None:
        return [known[name].cast(kind) for name, kind in zip(ID_FIELDS, ID_TYPES, strict=True)]
    rows = (
        arrow_array(np.arange(first_row, first_row + count, dtype=np.int64))
        if plan.file.file.original
        else known[ID_FIELDS[2]]
    )
    return [
        *(
            pa.repeat(arrow_scalar(value, kind), count)
            for value, kind in zip(same, ID_TYPES, strict=False)
        ),
        rows,
    ]


def _longs(array: pa.Array) -> Longs:
    longs: Longs = numpy_array(array).astype(np.int64, copy=False)
    return longs
