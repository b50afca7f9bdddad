"""What the footers of data files tell before a scan: that they are ACID event files, how their columns are named, how many rows there are.

Spark reads a column that a file does not have as null, and a filter on it then drops the row: a foreign or damaged file would lose its
rows without a word. So each file's footer is read once on the driver (a tenth of a millisecond), and what is wrong is an error that names
the file. Files never change once they are visible, so the answers are kept by path, size and time.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from acidsql.acid.footer_keys import STATS
from acidsql.acid.orc_tail import OrcTail, load_tail
from acidsql.acid.orc_types import EVENT_FIELDS, ROW_FIELD, OrcKind
from acidsql.acid.snapshot import DataFile
from acidsql.errors import FormatError
from acidsql.spark.fileio import FileIO

MAX_KEPT = 20_000
_OPERATION_COLUMN = 1
_INSERT, _DELETE = 0, 2
_NUMBERED_NAME = re.compile(r"_col\d+")

FileKey = tuple[str, int, int]
"""Absolute path, size, modification time in nanoseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFile:
    """A data file that was looked at. ``numbered``: its columns are called _col0, _col1 .. and are to be matched by position."""

    file: DataFile
    path: str
    rows: int
    numbered: bool

    @property
    def key(self) -> FileKey:
        return self.path, self.file.size, self.file.mtime_ns


class Footers:
    """Reads and remembers footers; of one session."""

    def __init__(self) -> None:
        self._kept: OrderedDict[FileKey, tuple[int, bool]] = OrderedDict()

    def insert_files(self, io: FileIO, root: str, files: Iterable[DataFile]) -> tuple[EventFile, ...]:
        """The files of insert events. FormatError for a file that is not one."""
        return tuple(self._look(io, f"{root}/{file.path}", file, _INSERT) for file in files)

    def delete_files(self, io: FileIO, root: str, files: Iterable[DataFile]) -> tuple[EventFile, ...]:
        """The files of delete events. FormatError for a file that is not one."""
        return tuple(self._look(io, f"{root}/{file.path}", file, _DELETE) for file in files)

    def _look(self, io: FileIO, path: str, file: DataFile, operation: int) -> EventFile:
        key = (path, file.size, file.mtime_ns)
        known = self._kept.get(key)
        if known is None:
            known = self._kept[key] = _checked(read_footer(io, path), operation)
            if len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        rows, numbered = known
        return EventFile(file=file, path=path, rows=rows, numbered=numbered)


def read_footer(io: FileIO, path: str) -> OrcTail:
    """FormatError naming the file if it cannot be read as ORC or is gone."""
    try:
        return load_tail(lambda count: io.read_tail(path, count), path)
    except OSError as error:
        raise FormatError(f'cannot read file "{path}"', detail=error.strerror or str(error)) from error


def has_acid_columns(io: FileIO, path: str) -> bool:
    """Whether the file at ``path`` holds ACID events: the opposite of what ``snapshot.choose`` asks as ``is_raw``."""
    return is_event_file(read_footer(io, path))


def is_event_file(tail: OrcTail) -> bool:
    """Whether the file has the six columns of an ACID file. Hive: OrcInputFormat.isOriginal, the other way round."""
    return tail.schema is not None and [name.lower() for name in tail.schema.names] == [name.lower() for name in EVENT_FIELDS]


def has_numbered_names(names: Sequence[str]) -> bool:
    """Old Hives wrote _col0, _col1 ..; ORC then matches by position. Hive: SchemaEvolution."""
    return bool(names) and all(map(_NUMBERED_NAME.fullmatch, names))


def _checked(tail: OrcTail, operation: int) -> tuple[int, bool]:
    if not is_event_file(tail) or tail.schema is None:
        raise FormatError(f'file "{tail.path}" has no ACID columns', detail=f"its columns are {tail.schema}")
    row = tail.schema.children[EVENT_FIELDS.index(ROW_FIELD)]
    if row.kind is not OrcKind.STRUCT:
        raise FormatError(f'file "{tail.path}" has no struct of data columns', detail=f"its columns are {tail.schema}")
    if tail.row_count and _holds_other_operations(tail, operation):
        raise FormatError(
            f'file "{tail.path}" mixes insert, update and delete events',
            detail="such files were written before Hive 3 (ACID version 1)",
            hint="Run a major compaction with the Hive that wrote them.",
        )
    return tail.row_count, has_numbered_names(row.names)


def _holds_other_operations(tail: OrcTail, operation: int) -> bool:
    found = tail.integer_range(_OPERATION_COLUMN)
    if found is not None:
        return found != (operation, operation)
    stats = tail.user_metadata.get(STATS, "").split(",")
    if len(stats) != 3:
        return False  # a file that keeps neither: Hive reads it for what its directory says
    inserts, updates, deletes = stats
    return updates != "0" or (deletes if operation == _INSERT else inserts) != "0"
