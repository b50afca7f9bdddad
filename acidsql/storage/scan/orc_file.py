"""How the rows of one ORC file are read: which of its columns, which ids, and who of its rows is
alive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from acidsql.acid.ids import ValidWriteIdList
from acidsql.acid.orc_types import EVENT_FIELDS, ID_FIELDS, OrcKind, OrcType, preorder
from acidsql.arrow_arrays import arrow_array, filled, numpy_array
from acidsql.catalog.model import Column
from acidsql.catalog.types import (
    DecimalType,
    HiveType,
    PrimitiveType,
    VarcharType,
    arrow_type,
    holds,
    is_timestamp,
)
from acidsql.expressions.not_here import NotHere
from acidsql.files.fileio import FileReader
from acidsql.lazy import dataclass
from acidsql.storage.events.delete_events import DeadIds, IdColumns, IdRuns, valid_mask
from acidsql.storage.file_layout import FileColumn, Longs, layout
from acidsql.storage.footers import RowIdRange, ScanFile, bucket_property
from acidsql.storage.known_files import KnownFiles
from acidsql.storage.scan.stripe_reader import Mask, StripeReader
from acidsql.storage.stored import needs_java, without_offset

CURRENT = EVENT_FIELDS[4]
ID_TYPES = (pa.int64(), pa.int32(), pa.int64())

_FEW_ROWS = 4096
"""Files with at most so many rows are read with all columns at once, and tested together."""

_NOTHING: Mapping[int | None, pa.Array] = {}

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
    tell the dead, where they are not ``known``. ``first_row``: of an original file. ``keep``: what
    the rows of ``tested`` must meet, before any other column is read. ``visible``: which rows of
    the file are, where that was told before; None for all.
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
    known: KnownFiles
    visible: Mask | None = None

    @property
    def needs_ids(self) -> bool:
        return self.ids or self.dead is not None

    @property
    def few_rows(self) -> bool:
        return self.file.rows <= _FEW_ROWS


@dataclass(frozen=True, slots=True)
class Columns:
    """What is read of a table of the columns ``of_table``: ``given``, and ``tested``."""

    of_table: tuple[Column, ...]
    given: tuple[Column, ...]
    tested: tuple[Column, ...] = ()
    _values: dict[tuple[int, bool], tuple[object, tuple[Value, ...], tuple[Value, ...]]] = field(
        default_factory=dict
    )

    def values(self, file: ScanFile) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
        """How those given and those tested lie in the file. NotHere. It is worked out once for
        all files of a schema, which footers keep as one object.
        """
        key = id(file.columns), file.file.original
        if key not in self._values:
            given, tested = (
                _values(file, part, self.of_table) for part in (self.given, self.tested)
            )
            # with the object, so that no other one gets its id
            self._values[key] = file.columns, given, tested
        _, given, tested = self._values[key]
        return given, tested


def plan_file(
    file: ScanFile,
    columns: Columns,
    *,
    ids: bool,
    keep: Keep | None,
    dead: DeadIds | None,
    write_ids: ValidWriteIdList | None,
    first_row: int,
    known: KnownFiles,
    visible: Mask | None = None,
) -> FileRead | None:
    """How the file is read; None if all its rows are dead. NotHere.

    ``dead``: None if no delete event hits this file's partition. ``write_ids``: None if the file
    needs no filter. ``visible``: see FileRead.
    """
    if visible is not None and not visible.any():
        return None
    if dead is not None and (own_ids := _known_ids(file, first_row)) is not None:
        hits = dead.within(file.partition_number, own_ids)
        if hits == file.rows:
            return None
        dead = dead if hits else None
    id_columns: tuple[str, ...] = ()
    if not file.file.original and (ids or dead is not None):
        # One id column tells all where the footer tells the others.
        id_columns = ID_FIELDS if file.ids is None else ID_FIELDS[2:]
    given, tested = columns.values(file)
    return FileRead(
        file=file,
        values=given,
        tested=tested,
        keep=keep,
        ids=ids,
        id_columns=id_columns,
        dead=dead,
        write_ids=write_ids,
        first_row=first_row,
        known=known,
        visible=visible,
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
    """How the columns lie in the file. NotHere."""
    stored, original = file.columns, file.file.original
    if len(set(stored.names)) < len(stored.names):
        raise NotHere(f'file "{file.path}" has two columns of one name')
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
        raise NotHere(
            f'file "{file.path}" has column "{column.column.name}" as {column.kind}, the table as'
            f" {column.column.type}"
        )


def read_stripes(io: FileReader, plan: FileRead, stripes: range) -> pa.RecordBatch | None:
    """The live rows of some stripes that follow on each other: the three ids if they are asked
    for, then the columns, by their numbers. None if there are none. NotHere; FormatError if the
    file is not as it must be.
    """
    counts = [rows for _, rows in plan.file.stripes]
    first_row = plan.first_row + sum(counts[: stripes.start])
    parts = []
    kept = plan.known.few_rows if plan.few_rows else plan.known.stripes
    with StripeReader(io, plan.file, kept) as reader:
        for number in stripes:
            part = _stripe(reader, plan, number, first_row)
            first_row += counts[number]
            if part is not None and len(part):
                parts.append(part)
    if len(parts) < 2:
        return parts[0] if parts else None
    return pa.concat_batches(parts)


def _no_columns(rows: int) -> pa.RecordBatch:
    nothing = pa.StructArray.from_buffers(pa.struct([]), rows, [None])
    return pa.RecordBatch.from_struct_array(nothing)


def read_few(io: FileReader, plans: Sequence[FileRead]) -> pa.RecordBatch | None:
    """What ``read_stripes`` gives of whole files of one partition that have ``few_rows``; their
    rows are tested together.
    """
    parts = []
    for plan in plans:
        all_values = replace(plan, values=(*plan.values, *plan.tested), tested=(), keep=None)
        part = read_stripes(io, all_values, range(len(plan.file.stripes)))
        if part is not None:
            parts.append(part)
    if not parts:
        return None
    rows = parts[0] if len(parts) == 1 else pa.concat_batches(parts)
    keep = plans[0].keep
    if keep is None:
        return rows
    columns = dict(enumerate(rows.columns))
    values = [Value(number, array.type, _as_it_is) for number, array in columns.items()]
    given = len(values) - len(plans[0].tested)
    tested = _batch((), columns, values[given:], len(rows), None)
    wanted = _wanted(keep, tested, None)
    if wanted is not None and not wanted.any():
        return None
    return _batch((), columns, values[:given], len(rows), wanted)


def _stripe(
    reader: StripeReader, plan: FileRead, number: int, first_row: int
) -> pa.RecordBatch | None:
    """The rows of a stripe that are visible, alive and wanted. ``first_row``: the number of its
    first row, in an original file.
    """
    count = plan.file.stripes[number][1]
    first = _ordinals(plan.values if plan.keep is None else plan.tested)
    ids: IdRuns | IdColumns | None = None
    if plan.needs_ids:
        ids = _ids_without_reading(plan, number, first_row)
    id_columns = () if ids is not None else plan.id_columns
    if plan.write_ids is not None:
        id_columns = (*id_columns, CURRENT)
    known, stored = reader.read(number, id_columns, first)
    if plan.needs_ids and ids is None:
        ids = _ids_read(plan, number, known)
    alive = _alive(known, ids, plan)
    if plan.visible is not None:
        at = first_row - plan.first_row
        alive = plan.visible[at : at + count]
    done: dict[int | None, pa.Array] = {}
    if plan.keep is not None:
        tested = _batch((), stored, plan.tested, count, alive)
        wanted = _wanted(plan.keep, tested, alive)
        if wanted is alive:
            pairs = zip(plan.tested, tested.columns, strict=True)
            done = {value.ordinal: array for value, array in pairs if value.ordinal is not None}
        alive = wanted
        if alive is not None and not alive.any():
            return None
    given = () if ids is None or not plan.ids else _arrow_ids(ids, alive)
    if plan.keep is not None and (left := _ordinals(plan.values) - stored.keys()):
        groups = None if alive is None else reader.groups(number, alive)
        if groups is None or alive is None:
            stored |= reader.read(number, (), left)[1]
        else:
            stored = {ordinal: groups.cut(array) for ordinal, array in stored.items()}
            stored |= reader.read_groups(groups, left)
            alive = groups.cut_mask(alive)
            count = len(alive)
    return _batch(given, stored, plan.values, count, alive, done)


def _ordinals(values: Sequence[Value]) -> set[int]:
    return {value.ordinal for value in values if value.ordinal is not None}


def _wanted(keep: Keep, rows: pa.RecordBatch, alive: Mask | None) -> Mask | None:
    """Which of all rows of a stripe are alive and wanted; ``rows`` are those alive. None: all.
    ``alive`` itself if all that are alive are wanted.
    """
    kept = keep(rows)
    if kept.true_count == len(kept):
        return alive
    wanted: Mask = numpy_array(filled(kept, False))
    if alive is None:
        return wanted
    both = alive.copy()
    both[alive] = wanted
    return both


def _batch(
    ids: Sequence[pa.Array],
    stored: Mapping[int, pa.Array],
    values: Sequence[Value],
    count: int,
    alive: Mask | None,
    done: Mapping[int | None, pa.Array] = _NOTHING,
) -> pa.RecordBatch:
    """The rows that are ``alive``, as they are given; columns are called by their numbers. ``ids``:
    of these rows alone. ``done``: columns that are as they are given, by their ordinals.
    """
    left = count if alive is None else int(np.count_nonzero(alive))
    if not ids and not values:
        return _no_columns(left)
    rest = [value for value in values if value.ordinal not in done]
    arrays: Sequence[pa.Array] = [
        pa.nulls(count, value.type) if value.ordinal is None else stored[value.ordinal]
        for value in rest
    ]
    if alive is not None and left < count:
        arrays = _filtered(arrays, alive, left)
    converted = iter([v.convert(array) for v, array in zip(rest, arrays, strict=True)])
    columns = [done[v.ordinal] if v.ordinal in done else next(converted) for v in values]
    names = [str(number) for number in range(len(ids) + len(columns))]
    return pa.RecordBatch.from_arrays([*ids, *columns], names=names)


def _filtered(arrays: Sequence[pa.Array], alive: Mask, left: int) -> Sequence[pa.Array]:
    """The values of the ``left`` rows that are alive."""
    wanted = arrow_array(alive)
    if left * 4 >= len(alive) * 3 or len(arrays) < 2:  # Arrow then copies stretches
        return [array.filter(wanted) for array in arrays]
    names = [str(number) for number in range(len(arrays))]
    columns: list[pa.Array] = pa.RecordBatch.from_arrays(arrays, names=names).filter(wanted).columns
    return columns


def _alive(
    known: Mapping[str, pa.Array], ids: IdRuns | IdColumns | None, plan: FileRead
) -> Mask | None:
    """Which rows are visible and alive; None: all."""
    alive = None
    if plan.write_ids is not None:
        alive = valid_mask(_longs(known[CURRENT]), plan.write_ids)
    if plan.dead is not None:
        assert ids is not None
        hit = ids.alive(plan.file.partition_number, plan.dead)
        if alive is None or hit is None:
            return hit if alive is None else alive
        alive &= hit
    return alive


def _ids_without_reading(plan: FileRead, number: int, first_row: int) -> IdRuns | None:
    """The ids of a stripe's rows, where they are known."""
    file = plan.file
    if not file.file.original:
        return plan.known.id_runs.find((file.key, number))
    return IdRuns(
        count=file.stripes[number][1],
        starts=_long(0),
        write_ids=_long(file.file.max_write_id),
        bucket_properties=_long(bucket_property(file)),
        first_rows=_long(first_row),
    )


def _ids_read(plan: FileRead, number: int, known: Mapping[str, pa.Array]) -> IdRuns | IdColumns:
    """The ids of a stripe's rows by the columns that were read; kept where they are runs."""
    rows, same = _longs(known[ID_FIELDS[2]]), plan.file.ids
    if same is None:
        write_ids, buckets = (_longs(known[name]) for name in ID_FIELDS[:2])
    else:
        write_ids, buckets = (
            np.full(len(rows), value, np.int64) for value in (same.write_id, same.bucket_property)
        )
    runs = IdRuns.of(write_ids, buckets, rows)
    if runs is None:
        return IdColumns(write_ids, buckets, rows)
    plan.known.id_runs.keep((plan.file.key, number), runs, len(runs.starts))
    return runs


def _arrow_ids(ids: IdRuns | IdColumns, wanted: Mask | None) -> list[pa.Array]:
    write_ids, buckets, rows = ids.ids(wanted)
    return [arrow_array(write_ids), arrow_array(buckets.astype(np.int32)), arrow_array(rows)]


def _long(value: int) -> Longs:
    return np.array([value], np.int64)


def _longs(array: pa.Array) -> Longs:
    longs: Longs = numpy_array(array).astype(np.int64, copy=False)
    return longs


# ---- the values of a stripe


Convert = Callable[[pa.Array], pa.Array]

_INTEGERS = {OrcKind.BYTE: 3, OrcKind.SHORT: 5, OrcKind.INT: 10, OrcKind.LONG: 19}
"""The digits of each kind of whole number."""
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}


def is_sure(column: FileColumn) -> bool:
    """Whether a column of a file has here the values that Spark reads."""
    return column.same or _widens(column.kind, column.column.type)


def _widens(stored: OrcType, wanted: HiveType) -> bool:
    """Whether each value of the one type is one of the other, or (as a double) what every
    processor takes for it.
    """
    digits = _INTEGERS.get(stored.kind)
    match wanted:
        case PrimitiveType("tinyint" | "smallint" | "int" | "bigint" as name):
            return digits is not None and digits <= _DIGITS[name]
        case PrimitiveType("double"):
            return digits is not None or stored.kind is OrcKind.FLOAT
        case DecimalType(precision, scale):
            if digits is not None:
                return precision - scale >= digits
            return (
                stored.kind is OrcKind.DECIMAL
                and stored.scale <= scale
                and stored.precision - stored.scale <= precision - scale
            )
        case VarcharType(length):
            return stored.kind is OrcKind.VARCHAR and stored.maximum_length <= length
    return False


def converter(hive_type: HiveType, stored: OrcType) -> Convert:
    """What makes the values of a column of the type of what Arrow has read of it in a file."""
    wanted = arrow_type(hive_type)
    timed = holds_times(hive_type)
    padded = any(node.kind is OrcKind.CHAR for node in preorder(stored))

    def convert(array: pa.Array) -> pa.Array:
        if timed:
            refuse_old_times(array)
        if padded:
            array = _unpadded(array, stored)
        return array if array.type == wanted else array.cast(wanted, safe=False)

    return convert


def _unpadded(array: pa.Array, stored: OrcType) -> pa.Array:
    """Chars without the blanks at their ends, as Spark shows them, wherever they are."""
    if stored.kind is OrcKind.CHAR:
        return pc.ascii_rtrim(array, characters=" ")
    if not any(node.kind is OrcKind.CHAR for node in preorder(stored)):
        return array
    array = without_offset(array)
    mask = array.is_null() if array.null_count else None
    match stored.kind, stored.children:
        case OrcKind.LIST, (element,):
            values = _unpadded(array.values, element)
            return pa.ListArray.from_arrays(array.offsets, values, mask=mask)
        case OrcKind.MAP, (key, value):
            keys, items = _unpadded(array.keys, key), _unpadded(array.items, value)
            return pa.MapArray.from_arrays(array.offsets, keys, items, mask=mask)
    children = [_unpadded(array.field(i), kind) for i, kind in enumerate(stored.children)]
    return pa.StructArray.from_arrays(children, names=list(stored.names), mask=mask)


def refuse_old_times(array: pa.Array) -> None:
    """Raises NotHere for times that Spark may take for others."""
    if _may_be_old(array) and needs_java(pa.table([array], names=["c"])):
        raise NotHere(
            "a date or timestamp lies before 1582-10-15, or before 1970 with a fraction of a second"
        )


def holds_times(hive_type: HiveType) -> bool:
    """Whether values of a type may be refused by ``refuse_old_times``."""
    return holds(hive_type, _is_time)


def _is_time(hive_type: HiveType) -> bool:
    return is_timestamp(hive_type) or hive_type == PrimitiveType("date")


def _may_be_old(array: pa.Array) -> bool:
    if not pa.types.is_temporal(array.type):
        return True
    least = pc.min(array).cast(pa.int32() if pa.types.is_date32(array.type) else pa.int64())
    return bool(least.is_valid and least.as_py() < 0)


def refuse_unseen_times(hive_type: HiveType) -> None:
    """Raises NotHere for timestamps where this Arrow does not tell those that it cannot hold."""
    if holds(hive_type, is_timestamp) and not sees_far_times():
        raise NotHere("this version of pyarrow reads timestamps of far years as others")


@lru_cache(maxsize=1)
def sees_far_times() -> bool:
    """Whether this Arrow fails on a timestamp that it cannot hold, and does not read another."""
    sink = pa.BufferOutputStream()
    far = arrow_array([-62_135_596_800_000_000], pa.timestamp("us"))
    orc.write_table(pa.table({"t": far}), sink)
    try:
        orc.ORCFile(pa.BufferReader(sink.getvalue())).read()
    except pa.ArrowInvalid:
        return True
    return False
