"""What an overlay reads of the directories of others: what was there when it was attached, and
nothing else, whatever they do there since.

    theirs   base_3  delta_4_4  delta_5_5        pinned: base_3, delta_4_4 (5 was open)
    later    base_5_v99                          base_3 is gone: an error, and never other rows
"""

from __future__ import annotations

from collections.abc import Collection

from acidsql.acid.ids import (
    ValidTxnList,
    ValidWriteIdList,
    parse_directory,
)
from acidsql.catalog.attached import Pinned, attached_write_ids, txns_below
from acidsql.catalog.model import Table
from acidsql.catalog.statistics import Filled
from acidsql.errors import OperationalError
from acidsql.files.fileio import FileIO, Listing, path_of
from acidsql.storage.snapshots import PartitionSnapshot, acid_directory, acid_partition

_SHOWN = 3


def pin(
    io: FileIO, table: Table, location: str, write_ids: ValidWriteIdList, txns: ValidTxnList | None
) -> Pinned:
    """What a reader with these ids sees of a directory of others. FormatError for a layout that is
    not Hive's; SnapshotTooOldError where a compaction that does not count may have taken in what
    does.
    """
    root = path_of(location)
    directory = acid_directory(io, root, write_ids, txns, events=table.is_full_acid)
    base = () if directory.base is None else (directory.base,)
    chosen = acid_partition(table, root, None, directory, write_ids)
    return Pinned(
        location=location,
        directories=tuple(one.path for one in (*base, *directory.current)),
        filled=chosen.filled,
    )


def take_below(
    io: FileIO, table: Table, pinned: Pinned, write_ids: ValidWriteIdList
) -> PartitionSnapshot:
    """What was pinned, as far as ``write_ids`` let it see. OperationalError if it is not there
    any more as it was.
    """
    root = path_of(pinned.location)
    listing = io.listing(root)
    _check_there(table, pinned, root, listing)
    directory = acid_directory(
        io,
        root,
        write_ids,
        txns_below(table),
        events=table.is_full_acid,
        listing=_only_pinned(listing, pinned.directories),
    )
    below = acid_partition(table, root, None, directory, write_ids)
    of_others = attached_write_ids(table)
    if of_others is not None and write_ids.high_watermark < of_others.high_watermark:
        return below  # a snapshot of the past
    if below.filled != pinned.filled:
        raise _gone_error(table, root, f"{_words(below.filled)} instead of {_words(pinned.filled)}")
    return below


def _check_there(table: Table, pinned: Pinned, root: str, listing: Listing) -> None:
    names = {_first(path) for path in listing.directories}
    names |= {_first(file.path) for file in listing.files}
    missing = [f'"{root}/{name}"' for name in pinned.directories if name not in names]
    if missing:
        more = len(missing) - _SHOWN
        shown = ", ".join(missing[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
        raise _gone_error(table, root, f"{shown} {'is' if len(missing) == 1 else 'are'} gone")


def _gone_error(table: Table, root: str, detail: str) -> OperationalError:
    return OperationalError(
        f'overlay {table.name} cannot read "{root}" any more: others have changed it since',
        detail=detail,
        hint=(
            "They have compacted it, or dropped it. DETACH TABLE throws the changes of the overlay"
            " away, and ATTACH TABLE begins anew with the table of now."
        ),
    )


def _words(filled: Filled) -> str:
    return f"{filled.files} files of {filled.bytes:,} bytes"


def _only_pinned(listing: Listing, names: Collection[str]) -> Listing:
    """What is in these directories, and what is in no directory of a transaction."""

    def is_pinned(path: str) -> bool:
        first = _first(path)
        return first in names or parse_directory(first) is None

    return Listing(
        files=tuple(file for file in listing.files if is_pinned(file.path)),
        directories=tuple(path for path in listing.directories if is_pinned(path)),
    )


def _first(path: str) -> str:
    return path.partition("/")[0]
