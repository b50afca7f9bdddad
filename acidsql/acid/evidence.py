"""What the directories of a table or partition prove of its write ids, where no metastore can be
asked: a pure function of names.

A compaction takes in what was committed and leaves out the rest, so the rows of its result are
committed ones. Whether the write id of any other delta, or of an INSERT OVERWRITE, was committed,
is open or was aborted is nowhere in the files: that id is *unproven*, and somebody has to say it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from acidsql.acid.acid_directory import FileEntry, id_range, takes_in
from acidsql.acid.bases import is_marked_compacted
from acidsql.acid.ids import TxnId, WriteId
from acidsql.acid.listed import Listed, group_files, parse_name
from acidsql.acid.paths import (
    BEFORE_ALL_WRITES,
    NO_VISIBILITY,
    Base,
    DeleteDelta,
    DirectoryName,
)
from acidsql.lazy_dataclass import dataclass

AnyListed = Listed[DirectoryName]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """``highest``: the highest write id in a name, 0 for none; ``highest_txn``: that of the
    transactions of compactions. ``compacted``: the directories whose rows are committed.
    ``proven``: the ranges of write ids that they took in, all of which had ended.
    ``unproven``: the directories of each write id that could be of an aborted or open transaction.
    ``unfinished``: the compactions that never committed, by their transaction. ``originals``: how
    many files without ACID columns there are.
    """

    highest: WriteId
    highest_txn: TxnId
    compacted: tuple[str, ...]
    proven: tuple[tuple[WriteId, WriteId], ...]
    unproven: Mapping[WriteId, tuple[str, ...]]
    unfinished: Mapping[TxnId, str]
    originals: int


def evidence_of(
    files: Iterable[FileEntry],
    directories: Iterable[str],
    read_marker: Callable[[str], bytes | None],
) -> Evidence:
    """What a listing of one table or partition proves. ``read_marker``: the content of the
    ``_metadata_acid`` of a directory. FormatError for a layout that is not Hive's.
    """
    listing = group_files(files, directories)
    listed = [
        Listed(path=path, name=parse_name(path), files=of)
        for path, of in listing.directories.items()
    ]
    deleting = {id_range(one.name)[:2] for one in listed if isinstance(one.name, DeleteDelta)}
    compacted = [one for one in listed if _is_compacted(one, deleting, read_marker)]
    unfinished = {one.path: one for one in compacted if _is_unfinished(one, listed)}
    proven = {one.path: one for one in compacted if one.path not in unfinished}
    unproven: dict[WriteId, list[str]] = {}
    for one in listed:
        if one.path in proven or one.path in unfinished:
            continue
        if any(takes_in(whole.name, one.name) for whole in proven.values()):
            continue  # no reader looks at it
        low, high, _ = id_range(one.name)
        for write_id in range(low, high + 1):
            unproven.setdefault(WriteId(write_id), []).append(one.path)
    return Evidence(
        highest=WriteId(max((0, *(id_range(one.name)[1] for one in listed)))),
        highest_txn=TxnId(max((0, *(one.name.visibility_txn_id for one in listed)))),
        compacted=tuple(proven),
        proven=tuple(map(_taken_in, proven.values())),
        unproven={write_id: tuple(unproven[write_id]) for write_id in sorted(unproven)},
        unfinished={one.name.visibility_txn_id: path for path, one in unfinished.items()},
        originals=len(listing.originals),
    )


def _is_compacted(
    one: AnyListed,
    deleting: Collection[tuple[WriteId, WriteId]],
    read_marker: Callable[[str], bytes | None],
) -> bool:
    """Whether a compaction is sure to have made a directory. Hive 3 names a range that it compacted
    as a streaming writer does, of whose transactions each may have been aborted; but no streaming
    writer deletes. ``deleting``: the ranges of delete deltas.
    """
    if one.name.visibility_txn_id != NO_VISIBILITY:
        return True
    if isinstance(one.name, Base):
        return one.name.write_id == BEFORE_ALL_WRITES or is_marked_compacted(one.path, read_marker)
    low, high, _ = id_range(one.name)
    return low < high and (low, high) in deleting


def _is_unfinished(one: AnyListed, listed: Iterable[AnyListed]) -> bool:
    """Whether a compaction was given up: it is empty, and what it should have taken in is there
    with rows (HIVE-29567).
    """
    if one.name.visibility_txn_id == NO_VISIBILITY or any(file.size for file in one.files):
        return False
    return any(
        other is not one
        and takes_in(one.name, other.name)
        and any(file.size for file in other.files)
        for other in listed
    )


def _taken_in(one: AnyListed) -> tuple[WriteId, WriteId]:
    low, high, _ = id_range(one.name)
    return (WriteId(1) if isinstance(one.name, Base) else low), high
