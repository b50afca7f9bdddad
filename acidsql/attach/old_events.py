"""Whether Hive wrote a table before version 3, with update and delete events beside inserts (ACID
version 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from acidsql.acid.ids import DeleteDelta, is_hidden, parse_bucket_file, parse_directory
from acidsql.acid.orc_tail import VERSION, OrcTail
from acidsql.catalog.attached import OLD_EVENTS
from acidsql.catalog.model import Table
from acidsql.errors import BindError, FormatError, Warning
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import look_at_all
from acidsql.planner.bind.bound_catalog import BoundAdoptTable
from acidsql.storage.events.event_rows import COMPACT_FIRST
from acidsql.storage.footers import is_event_file, mixes_events, read_footer


def find_old_events(io: FileIO, paths: Iterable[str]) -> str | None:
    """A file that holds such events, None if there is none. ``paths``: of all files of a table.
    Where a file of each directory tells its version, the others are not looked at.
    """
    files = [path for path in paths if _may_mix(path)]
    first = {path.rpartition("/")[0]: path for path in reversed(files)}
    unversioned = [
        path.rpartition("/")[0]
        for path, tail in zip(first.values(), _tails(io, list(first.values())), strict=True)
        if tail is not None and is_unversioned(tail)
    ]
    doubtful = [path for path in files if path.rpartition("/")[0] in set(unversioned)]
    for path, tail in zip(doubtful, _tails(io, doubtful), strict=True):
        if tail is not None and mixes_events(tail):
            return path
    return None


def is_unversioned(tail: OrcTail) -> bool:
    """Whether a file of events is one of a Hive before version 3, which named no version."""
    return is_event_file(tail) and VERSION not in tail.user_metadata


def _may_mix(path: str) -> bool:
    above, _, name = path.rpartition("/")
    directory = parse_directory(above.rpartition("/")[2])
    return (
        directory is not None
        and not isinstance(directory, DeleteDelta)
        and not is_hidden(name)
        and parse_bucket_file(name) is not None
    )


def _tails(io: FileIO, paths: Sequence[str]) -> list[OrcTail | None]:
    """The footers of files; None for one that cannot be read: its reader says so."""

    def look(path: str) -> OrcTail | None:
        try:
            return read_footer(io, path)
        except FormatError:
            return None

    return look_at_all(look, paths)


def old_events_warning(table: Table) -> Warning:
    return Warning(
        f"table {table.name} was written before Hive 3 (ACID version 1): its update and delete"
        " events are merged by each statement that reads it, in the driver's memory",
        hint=COMPACT_FIRST,
    )


def check_no_old_events(action: BoundAdoptTable, path: str | None) -> None:
    """Raises BindError for a table with such events, which no Hive from version 3 on reads.
    ``path``: a file that has some, if one was found.
    """
    table = action.table
    if path is None and OLD_EVENTS not in table.properties:
        return
    where = "" if path is None else f': "{path}"'
    raise BindError(
        f"table {table.name} has update and delete events from before Hive 3 (ACID version 1)"
        f"{where}",
        detail="Hive 3 reads no such table, and asks for a major compaction before an upgrade",
        hint=f"{COMPACT_FIRST} Then DETACH TABLE and ATTACH TABLE it anew.",
        span=action.span,
    )
