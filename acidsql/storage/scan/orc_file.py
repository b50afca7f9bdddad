"""How the rows of one ORC file are read: which of its columns, which ids, and who of its rows is
alive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import orc

from acidsql.acid.orc_types import EVENT_FIELDS, ID_FIELDS, ROW_FIELD
from acidsql.acid.write_ids import ValidWriteIdList
from acidsql.catalog.model import Column
from acidsql.errors import FormatError
from acidsql.files.fileio import FileIO
from acidsql.storage.columns import Longs
from acidsql.storage.delete_events import DeadIds, valid_mask
from acidsql.storage.file_layout import FileColumn, layout
from acidsql.storage.footers import RowIdRange, ScanFile
from acidsql.storage.original_ids import bucket_property
from acidsql.storage.scan.needs_spark import NeedsSpark
from acidsql.storage.scan.orc_values import Convert, converter, is_sure, refuse_unseen_times
from acidsql.storage.stored import arrow_type

CURRENT = EVENT_FIELDS[4]
ID_TYPES = (pa.int64(), pa.int32(), pa.int64())


class Value(NamedTuple):
    """A column that is read: its ordinal among those of the file that are, and what makes the
    table's values of it; NULLs of ``type`` where the file has none (``ordinal`` is None).
    """

    ordinal: int | None
    type: pa.DataType
    convert: Convert


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRead:
    """How a file is read.

    ``names``: the columns as Arrow says them, None for all of them. ``ids``: whether the rows' ids
    are given; ``id_columns``: those that are read for that, or to tell the dead. ``first_row``: of
    an original file.
    """

    file: ScanFile
    names: tuple[str, ...] | None
    values: tuple[Value, ...]
    ids: bool
    id_columns: tuple[str, ...]
    dead: DeadIds | None
    write_ids: ValidWriteIdList | None
    first_row: int


def plan_file(
    file: ScanFile,
    columns: Sequence[Column],
    all_columns: tuple[Column, ...],
    *,
    ids: bool,
    dead: DeadIds | None,
    write_ids: ValidWriteIdList | None,
    first_row: int,
) -> FileRead | None:
    """How the file is read for these columns of a table of ``all_columns``; None if all its rows
    are dead. NeedsSpark.

    ``dead``: None if no delete event hits this file's partition. ``write_ids``: None if the file
    needs no filter.
    """
    original = file.file.original
    if dead is not None and (known := _known_ids(file, first_row)) is not None:
        hits = dead.within(file.partition_number, known)
        if hits == file.rows:
            return None
        dead = dead if hits else None
    values, names = _values(file, columns, all_columns)
    id_columns: tuple[str, ...] = ()
    if not original:
        if ids or dead is not None:
            # One id column tells all where the footer tells the others.
            id_columns = ID_FIELDS if file.ids is None else ID_FIELDS[2:]
        if write_ids is not None:
            id_columns = (*id_columns, CURRENT)
        if names is not None:
            names = (*id_columns, *names)
    return FileRead(
        file=file,
        names=names,
        values=values,
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
) -> tuple[tuple[Value, ...], tuple[str, ...] | None]:
    """The columns, and what is read of the file for them by its names as Arrow says them; None:
    the whole file. NeedsSpark.
    """
    stored, original = file.columns, file.file.original
    if len(set(stored.names)) < len(stored.names):
        raise NeedsSpark(f'file "{file.path}" has two columns of one name')
    own = {c.column.name: c for c in layout(all_columns, stored, original=original).file_columns}
    wanted = [own.get(column.name) for column in columns]
    for column in wanted:
        if column is not None:
            _check(column, file)
    ordinals = [None if column is None else stored.names.index(column.name) for column in wanted]
    read = sorted({ordinal for ordinal in ordinals if ordinal is not None})
    names = [stored.names[ordinal] for ordinal in read]
    sayable = not any("." in name or "`" in name for name in names)
    if not sayable:
        read = list(range(len(stored.names)))
    values = [
        Value(None if i is None else read.index(i), arrow_type(c.type), converter(c.type, kind))
        for i, c in zip(ordinals, columns, strict=True)
        for kind in [stored if i is None else stored.children[i]]
    ]
    shown = tuple(names if original else [f"{ROW_FIELD}.{name}" for name in names])
    return tuple(values), shown if sayable else None


def _check(column: FileColumn, file: ScanFile) -> None:
    refuse_unseen_times(column.column.type)
    if not is_sure(column):
        raise NeedsSpark(
            f'file "{file.path}" has column "{column.column.name}" as {column.kind}, the table as'
            f" {column.column.type}"
        )


def read_stripes(io: FileIO, plan: FileRead, stripes: range) -> pa.RecordBatch:
    """The live rows of some stripes that follow on each other: the three ids if they are asked
    for, then the columns. NeedsSpark; FormatError if the file is not as it must be.
    """
    counts = [rows for _, rows in plan.file.stripes]
    first = plan.first_row + sum(counts[: stripes.start])
    parts = [
        _live(part, plan, start)
        for part, start in zip(
            _stripes(io, plan, stripes),
            np.cumsum([first, *(counts[i] for i in stripes)]).tolist(),
            strict=False,
        )
    ]
    return parts[0] if len(parts) == 1 else pa.concat_batches(parts)


def _stripes(io: FileIO, plan: FileRead, stripes: range) -> list[pa.RecordBatch]:
    file = plan.file
    if plan.names == ():
        return [_no_columns(file.stripes[i][1]) for i in stripes]
    try:
        with io.open_input(file.path) as opened:
            reader = orc.ORCFile(opened)
            names = None if plan.names is None else list(plan.names)
            parts = [reader.read_stripe(i, columns=names) for i in stripes]
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        if "out of range" in str(error):
            raise NeedsSpark("a timestamp lies outside of the years 1677 to 2262") from error
        detail = str(error).splitlines()[0] if str(error) else None
        raise FormatError(f'cannot read file "{file.path}"', detail=detail) from error
    for part, number in zip(parts, stripes, strict=True):
        if len(part) != file.stripes[number][1]:
            raise FormatError(
                f'file "{file.path}" does not hold the rows its footer tells of',
                detail=f"{len(part)} instead of {file.stripes[number][1]}",
            )
    return parts


def _no_columns(rows: int) -> pa.RecordBatch:
    nothing = pa.StructArray.from_buffers(pa.struct([]), rows, [None])
    return pa.RecordBatch.from_struct_array(nothing)


def _live(stripe: pa.RecordBatch, plan: FileRead, first_row: int) -> pa.RecordBatch:
    """The rows of a stripe that are visible and alive. ``first_row``: the number of its first row,
    in an original file.
    """
    stored, known = _parts_of(stripe, plan)
    alive = _alive(known, plan, len(stripe), first_row)
    ids = _ids(known, plan, len(stripe), first_row) if plan.ids else []
    values = [
        pa.nulls(len(stripe), value.type) if value.ordinal is None else stored[value.ordinal]
        for value in plan.values
    ]
    names = [str(number) for number in range(len(ids) + len(values))]
    if names:
        rows = pa.RecordBatch.from_arrays([*ids, *values], names=names)
    else:
        rows = _no_columns(len(stripe))
    if alive is not None and not alive.all():
        rows = rows.filter(pa.array(alive)) if names else _no_columns(int(alive.sum()))
    if not names:
        return rows
    converted = [
        value.convert(array)
        for value, array in zip(plan.values, rows.columns[len(ids) :], strict=True)
    ]
    return pa.RecordBatch.from_arrays([*rows.columns[: len(ids)], *converted], names=names)


def _parts_of(stripe: pa.RecordBatch, plan: FileRead) -> tuple[list[pa.Array], dict[str, pa.Array]]:
    """The data columns and the id columns that were read."""
    if plan.file.file.original:
        return stripe.columns, {}
    known = {name: stripe.column(name) for name in plan.id_columns}
    if any(column.null_count for column in known.values()):
        raise FormatError(f'file "{plan.file.path}" holds events without ids')
    if ROW_FIELD not in stripe.schema.names:
        return [], known
    row = stripe.column(ROW_FIELD)
    if row.null_count:
        raise FormatError(f'file "{plan.file.path}" holds insert events without rows')
    return row.flatten(), known


def _alive(
    known: dict[str, pa.Array], plan: FileRead, count: int, first_row: int
) -> npt.NDArray[np.bool_] | None:
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
        pa.array(np.arange(first_row, first_row + count, dtype=np.int64))
        if plan.file.file.original
        else known[ID_FIELDS[2]]
    )
    return [
        *(
            pa.repeat(pa.scalar(value, kind), count)
            for value, kind in zip(same, ID_TYPES, strict=False)
        ),
        rows,
    ]


def _longs(array: pa.Array) -> Longs:
    longs: Longs = array.to_numpy().astype(np.int64, copy=False)
    return longs
