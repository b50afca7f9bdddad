"""How one ORC file is read: which of its columns, which ids, and what tells who of its rows is
alive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pyarrow as pa

from acidsql.acid.orc_types import EVENT_FIELDS, ID_FIELDS
from acidsql.acid.write_ids import ValidWriteIdList
from acidsql.catalog.model import Column
from acidsql.lazy_dataclass import dataclass
from acidsql.storage.delete_events import DeadIds
from acidsql.storage.file_layout import FileColumn, layout
from acidsql.storage.footers import RowIdRange, ScanFile
from acidsql.storage.original_ids import bucket_property
from acidsql.storage.scan.needs_spark import NeedsSpark
from acidsql.storage.scan.numbering import Numbering
from acidsql.storage.scan.orc_values import Convert, converter, is_sure, refuse_unseen_times
from acidsql.storage.stored import arrow_type

CURRENT = EVENT_FIELDS[4]

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

    ``ids``: whether the rows' ids are given; ``same_ids``: the write id and the bucket property
    that all rows have, None where they may have several. ``id_columns``: those that are read for
    the ids, or to tell the dead. ``numbered``: whether the rows' numbers are known to follow on
    each other in their order, so that they need not be read; ``first_row``: the first of them, 0
    where they cannot. ``keep``: what the rows of ``tested`` must meet, before any other column is
    read.
    """

    file: ScanFile
    values: tuple[Value, ...]
    tested: tuple[Value, ...]
    keep: Keep | None
    ids: bool
    same_ids: tuple[int, int] | None
    id_columns: tuple[str, ...]
    dead: DeadIds | None
    write_ids: ValidWriteIdList | None
    numbering: Numbering
    numbered: bool
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
    numbering: Numbering,
    first_row: int,
) -> FileRead | None:
    """How the file is read; None if all its rows are dead. NeedsSpark.

    ``dead``: None if no delete event hits this file's partition. ``write_ids``: None if the file
    needs no filter. ``numbering``: which files are known to be numbered. ``first_row``: the number
    of its first row, of an original file.
    """
    asked = ids or dead is not None
    # A file of a table without transactions has no ids, and is asked for none.
    known = _known_ids(file, first_row) if asked else None
    if dead is not None and known is not None:
        hits = dead.within(file.partition_number, known)
        if hits == file.rows:
            return None
        dead = dead if hits else None
    numbered = known is not None and (file.file.original or numbering.holds(file))
    id_columns: tuple[str, ...] = ()
    if asked and not numbered:
        # One id column tells all where the footer tells the others.
        id_columns = ID_FIELDS if file.same_ids is None else ID_FIELDS[2:]
    if write_ids is not None:
        id_columns = (*id_columns, CURRENT)
    return FileRead(
        file=file,
        values=_values(file, columns.given, columns.of_table),
        tested=_values(file, columns.tested, columns.of_table),
        keep=keep,
        ids=ids,
        same_ids=file.same_ids if known is None else (known.write_id, known.bucket_property),
        id_columns=id_columns,
        dead=dead,
        write_ids=write_ids,
        numbering=numbering,
        numbered=numbered,
        first_row=0 if known is None else known.first,
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
