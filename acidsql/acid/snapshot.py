"""Which files of one table or partition a reader sees: a pure function from a listing and the valid
ids to an AcidDirectory.

Hive's AcidUtils.getAcidState, with names as Hive 4 writes them. Every directory ends in exactly one
state:

    chosen      its rows (those of valid write ids) are read
    obsolete    all it holds is in a chosen one too: a cleaner may remove it once no older reader is
    left
    aborted     nothing in it will ever be visible: a cleaner may remove it
    invisible   open or newer than the reader: left alone, and named nowhere

Where Hive is wrong we are not: an INSERT OVERWRITE still open is never read (Hive 4 reads one equal
to the lowest open id), one that was aborted does not stop the reader (Hive 3 fails), and of two
compactions of one range only the newer is read (Hive 4 reads both, every row twice). Layouts on
which Hive's versions disagree about the rows are refused. What our own compactions say beside their
names (``compacted``) lets a reader who is too old for one go on with what it was made from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from acidsql.acid.acid_directory import AcidDirectory, Directory, FileEntry, id_range
from acidsql.acid.bases import choose_base
from acidsql.acid.compacted import ReadHidden, missing_inputs, nothing_hidden, without_halves
from acidsql.acid.ids import NO_STATEMENT, StatementId, TxnId, WriteId
from acidsql.acid.listed import (
    Fates,
    Listed,
    ListedBase,
    ListedDelta,
    Listing,
    directory_of,
    group_files,
    parse_name,
    visible_directories,
)
from acidsql.acid.paths import (
    Base,
    DeleteDelta,
    DirectoryName,
)
from acidsql.acid.write_ids import RangeResponse, ValidTxnList, ValidWriteIdList

Name = TypeVar("Name", bound=DirectoryName)


def choose(
    files: Iterable[FileEntry],
    write_ids: ValidWriteIdList,
    txns: ValidTxnList | None = None,
    *,
    directories: Iterable[str] = (),
    is_original: Callable[[str], bool] | None = None,
    read_marker: Callable[[str], bytes | None] | None = None,
    read_hidden: ReadHidden | None = None,
    whole_ranges: bool = False,
) -> AcidDirectory:
    """Chooses what a reader with these valid ids sees.

    files: everything below the directory; hidden names are ignored, but tell that their directory
    exists. txns: None = every visibility transaction is committed. directories: also the ones
    without a file (an empty INSERT OVERWRITE is one). is_original: has the file of this path no
    ACID columns? Asked for files with an original's name in a base or delta; None = all are
    originals. read_marker: the content of ``_metadata_acid`` in the directory of this path, None if
    there is none. read_hidden: asked for what ``compacted`` tells of. whole_ranges: rows do not
    tell their write ids, so that a compacted range is of no use to whom not all in it is decided.

    FormatError: a name or layout that is not Hive's. SnapshotTooOldError: a compaction that the
    reader is too old for while what it replaced may be gone.
    """
    listing = group_files(files, directories)
    read, fates = read_hidden or nothing_hidden, Fates()
    bases, deltas = visible_directories(without_halves(listing.directories, read), txns, fates)
    marker = read_marker or nothing_hidden
    base = choose_base(bases, write_ids, listing.paths, marker, read, fates)
    if whole_ranges:
        deltas = [d for d in deltas if _is_usable_range(d, write_ids, listing, read)]
    current = _choose_deltas(deltas, write_ids, base, fates)
    if base is not None:
        fates.obsolete += [file.path for file in listing.originals]
    return AcidDirectory(
        base=None if base is None else directory_of(base, write_ids, is_original),
        current=tuple(directory_of(delta, write_ids, is_original) for delta in current),
        originals=(
            () if base is not None else tuple(sorted(listing.originals, key=lambda f: f.path))
        ),
        obsolete=tuple(sorted(fates.obsolete)),
        aborted=tuple(sorted(fates.aborted)),
    )


def deletes_of(
    write_id: WriteId,
    files: Iterable[FileEntry],
    directories: Iterable[str] = (),
    *,
    kept: bool = False,
) -> AcidDirectory:
    """The delete deltas of one write id, seen or not, and those of compactions that took it in
    (these need a filter); none if some may be gone, into a base. Arguments as for ``choose``.

    ``kept``: whoever asks has read the table since before the write id was committed, and nothing
    that it could see then, or what took its place, has been removed. So all events are there beside
    the base, in the delta of the write id or in one that it was compacted into.
    """
    listed = [
        Listed(path=path, name=parse_name(path), files=of)
        for path, of in group_files(files, directories).directories.items()
    ]
    deltas: list[Directory] = []
    for one in listed:
        low, high, _ = id_range(one.name)
        if isinstance(one.name, Base) and low >= write_id and not kept:
            deltas = []
            break
        if isinstance(one.name, DeleteDelta) and low <= write_id <= high:
            deltas.append(
                Directory(
                    path=one.path,
                    name=one.name,
                    original=False,
                    needs_row_filter=low != high,
                    files=tuple(one.files),
                )
            )
    return AcidDirectory(base=None, current=tuple(deltas), originals=(), obsolete=(), aborted=())


# Deltas


def _is_usable_range(
    delta: ListedDelta, write_ids: ValidWriteIdList, listing: Listing, read: ReadHidden
) -> bool:
    """Whether a range whose rows do not tell their write ids is of use to a reader: it knows of
    every write id in it what became of it, or what the range was made from is gone.
    """
    low, high, _ = id_range(delta.name)
    is_decided = high <= write_ids.high_watermark and not any(
        low <= i <= high for i in write_ids.open
    )
    return is_decided or missing_inputs(delta.path, listing.paths, read) != ()


def _choose_deltas(
    deltas: Iterable[ListedDelta],
    write_ids: ValidWriteIdList,
    base: ListedBase | None,
    fates: Fates,
) -> list[ListedDelta]:
    candidates: list[ListedDelta] = []
    for delta in deltas:
        low, high, _ = id_range(delta.name)
        if write_ids.range_aborted(low, high) is RangeResponse.ALL:
            fates.aborted.append(delta.path)
        elif write_ids.range_valid(low, high) is not RangeResponse.NONE:
            candidates.append(delta)
    candidates.sort(key=_reading_order)
    reached = WriteId(0) if base is None else base.name.write_id
    return list(_not_covered(candidates, write_ids, reached, fates))


def _reading_order(delta: ListedDelta) -> tuple[int, int, int, int, str]:
    """The widest of the ranges that begin at one id comes first, the newest compaction before older
    ones.
    """
    name = delta.name
    return (
        name.min_write_id,
        -name.max_write_id,
        name.statement_id,
        -name.visibility_txn_id,
        delta.path,
    )


def _not_covered(
    deltas: Iterable[ListedDelta], write_ids: ValidWriteIdList, reached: WriteId, fates: Fates
) -> Iterator[ListedDelta]:
    """Walks up the write ids; a range inside what was ``reached`` already is obsolete.

    It is even where it is of the other kind: compacting a range writes its deletes as well as its
    inserts. Beside one another stand only the statements of one write id, and the two kinds of one
    statement or one compaction. Hive: AcidUtils.getAcidState.
    """
    statement = NO_STATEMENT
    before: tuple[WriteId, WriteId, StatementId, TxnId] | None = None
    for delta in deltas:
        name = delta.name
        key = (name.min_write_id, name.max_write_id, name.statement_id, name.visibility_txn_id)
        if name.max_write_id > reached:
            if write_ids.range_valid(WriteId(reached + 1), name.max_write_id) is RangeResponse.NONE:
                continue  # what lies above is open or aborted, and may be decided later
            reached, statement, before = name.max_write_id, name.statement_id, key
            yield delta
        elif key == before or (name.max_write_id == reached and statement != NO_STATEMENT):
            statement, before = name.statement_id, key
            yield delta
        else:
            fates.obsolete.append(delta.path)
