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

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import Enum
from typing import TypeVar

from acidsql.acid.ids import (
    BEFORE_ALL_WRITES,
    METADATA_FILE,
    NO_STATEMENT,
    NO_VISIBILITY,
    Base,
    DeleteDelta,
    Delta,
    DirectoryName,
    RangeResponse,
    StatementId,
    TxnId,
    ValidTxnList,
    ValidWriteIdList,
    WriteId,
    parse_directory,
)
from acidsql.acid.listed import (
    AcidDirectory,
    Directory,
    Fates,
    FileEntry,
    Listed,
    ListedBase,
    ListedDelta,
    Listing,
    directory_of,
    group_files,
    id_range,
    parse_name,
    visible_directories,
)
from acidsql.errors import FormatError, SnapshotTooOldError

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
    own: ValidTxnList | None = None,
) -> AcidDirectory:
    """Chooses what a reader with these valid ids sees.

    files: everything below the directory; hidden names are ignored, but tell that their directory
    exists. txns: None = every visibility transaction is committed. own: those of this store, known
    before the directory was listed: what its own compactions have made, which names its inputs,
    is seen once they are committed, by older snapshots, too, as rows keep their write ids.
    directories: also the ones
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
    bases, deltas = visible_directories(
        without_halves(listing.directories, read),
        txns,
        fates,
        own,
        lambda path: own is not None and _may_be_unfinished(path, listing, own, read),
    )
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

    ``kept``: who asks has read the table since before the write id was committed, and nothing
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


def _may_be_unfinished(path: str, listing: Listing, own: ValidTxnList, read: ReadHidden) -> bool:
    """Whether a directory may be what a compaction of this store has made so far, or has left, of
    whose transaction no commit is known. One without a file may be about to be made, or to go.

    Of a transaction that was never given out here (another state of the store knew it) it is
    finished if anything that it was made from is gone.
    """
    if not listing.directories[path]:
        return True
    missing = missing_inputs(path, listing.paths, read)
    if missing is None:
        return False  # Hive's
    return not missing or parse_name(path).visibility_txn_id <= own.high_watermark


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


# ---- which base a reader starts from, and whether what newer ones have taken in is there for it


class BaseKind(Enum):
    """What a base's ``_metadata_acid`` says (AcidUtils.MetaDataFile); a base without that file is
    an INSERT OVERWRITE.
    """

    COMPACTED = "compacted"
    TRUNCATED = "truncated"


def parse_marker(content: bytes) -> BaseKind:
    """The text of a ``_metadata_acid`` file. FormatError for anything Hive does not write."""
    try:
        marker = json.loads(content)
        version, kind = marker["thisFileVersion"], BaseKind(marker["dataFormat"])
    except (ValueError, KeyError, TypeError):
        raise _unknown_marker(content) from None
    if version != "0":
        raise _unknown_marker(content)
    return kind


def choose_base(
    bases: Iterable[ListedBase],
    write_ids: ValidWriteIdList,
    listed: Collection[str],
    read_marker: Callable[[str], bytes | None],
    read_hidden: ReadHidden,
    fates: Fates,
) -> ListedBase | None:
    """The newest base the reader may use; the other usable ones become obsolete.

    An overwrite is usable as soon as its own write id is valid; a compaction has forgotten which
    row came from which write id, so that every id up to its own must be decided. Of one write id a
    compaction goes before the overwrite it was made from. ``listed``: the paths of all directories
    and originals. SnapshotTooOldError if a compaction that the reader cannot use has taken in what
    it needs, and that is gone.
    """
    usable: list[tuple[tuple[WriteId, bool, TxnId], ListedBase]] = []
    unusable: list[ListedBase] = []
    for base in bases:
        write_id, visibility = base.name.write_id, base.name.visibility_txn_id
        compacted = visibility != NO_VISIBILITY or is_marked_compacted(base.path, read_marker)
        if write_id == BEFORE_ALL_WRITES or (
            write_ids.is_valid_base(write_id) if compacted else write_ids.is_valid(write_id)
        ):
            usable.append(((write_id, compacted, visibility), base))
        elif compacted:
            unusable.append(base)
        elif write_ids.is_aborted(write_id):
            fates.aborted.append(base.path)
    ranked = [base for _, base in sorted(usable, key=lambda ranked: ranked[0])]
    best = ranked[-1] if ranked else None
    above = None if best is None else best.name.write_id
    for base in sorted(unusable, key=lambda base: base.name.write_id):
        if _is_short_of(missing_inputs(base.path, listed, read_hidden), above, write_ids):
            raise _not_enough_history(base, write_ids)
        above = WriteId(0) if above is None else above  # what it had below is there
    fates.obsolete += [base.path for base in ranked[:-1]]
    return best


def _is_short_of(
    missing: Collection[str] | None, above: WriteId | None, write_ids: ValidWriteIdList
) -> bool:
    """Whether a reader who has all that was written up to ``above`` needs any of the ``missing``
    inputs of a newer base. None: where nobody knows, they are taken to be there, as by Hive; above
    nothing at all they must be.
    """
    if missing is None or above is None:
        return above is None and missing != ()
    return any(_is_needed(path, above, write_ids) for path in missing)


def _is_needed(path: str, above: WriteId, write_ids: ValidWriteIdList) -> bool:
    """Whether a directory may have held what a reader sees above a base."""
    name = parse_directory(path)
    if name is None:
        return False  # an original, which any base has taken in
    low, high, _ = id_range(name)
    low = WriteId(max(above + 1, 0 if isinstance(name, Base) else low))
    return low <= high and write_ids.range_valid(low, high) is not RangeResponse.NONE


def is_marked_compacted(path: str, read_marker: Callable[[str], bytes | None]) -> bool:
    """Whether the ``_metadata_acid`` of a base says that a compaction made it. FormatError for a
    content that Hive does not write.
    """
    content = read_marker(path)
    if content is None:
        return False
    try:
        return parse_marker(content) is BaseKind.COMPACTED
    except FormatError as error:
        raise FormatError(
            f'unknown content of "{path}/{METADATA_FILE}"', detail=error.detail
        ) from None


def _unknown_marker(content: bytes) -> FormatError:
    return FormatError(
        f"unknown content of {METADATA_FILE}", detail=content[:200].decode(errors="replace")
    )


def _not_enough_history(base: ListedBase, write_ids: ValidWriteIdList) -> SnapshotTooOldError:
    lowest = "none" if write_ids.min_open is None else write_ids.min_open
    return SnapshotTooOldError(
        f'not enough history: the oldest base, "{base.path}", is newer than the snapshot',
        detail=f"high watermark {write_ids.high_watermark}, lowest open write id {lowest}",
        hint="Run the statement again, with a snapshot of its own.",
    )


# ---- what our own compactions leave in a directory beside what Hive's leave


WITH_DELETE_DELTA = "_acidsql_with_delete_delta"
"""An empty file in a delta whose compaction wrote a delete delta of the same range, too."""

WITH_DELTA = "_acidsql_with_delta"
"""An empty file in that delete delta, which says that the delta belongs to it."""

INPUTS_FILE = "_acidsql_inputs"
"""The paths of the directories and original files that an output was made from, as a JSON list."""

ReadHidden = Callable[[str], bytes | None]
"""Reads the content of the hidden file at this path below the table's or partition's directory;
None if there is none.
"""

_Files = TypeVar("_Files")


def partner(name: DirectoryName) -> Delta | DeleteDelta | None:
    """The other of the two directories that a minor compaction may have made; None if the name is
    none of a compactor's without visibility.
    """
    if (
        isinstance(name, Base)
        or name.statement_id != NO_STATEMENT
        or name.visibility_txn_id != NO_VISIBILITY
    ):
        return None
    other = DeleteDelta if isinstance(name, Delta) else Delta
    return other(min_write_id=name.min_write_id, max_write_id=name.max_write_id)


def partner_file(name: Delta | DeleteDelta) -> str:
    """The file that says, in a directory of this name, that its partner belongs to it."""
    return WITH_DELETE_DELTA if isinstance(name, Delta) else WITH_DELTA


def halves(paths: Collection[str], read_hidden: ReadHidden) -> frozenset[str]:
    """The directories that are half of a pair whose other half is not there."""
    names = {path: parse_directory(path) for path in paths}
    known = set(names.values())
    return frozenset(
        path for path, name in names.items() if _is_half(path, name, known, read_hidden)
    )


def _is_half(
    path: str,
    name: DirectoryName | None,
    known: Collection[DirectoryName | None],
    read_hidden: ReadHidden,
) -> bool:
    if name is None or isinstance(name, Base):
        return False
    other = partner(name)
    return (
        other is not None
        and other not in known
        and read_hidden(f"{path}/{partner_file(name)}") is not None
    )


def without_halves(
    directories: Mapping[str, _Files], read_hidden: ReadHidden
) -> Mapping[str, _Files]:
    """The directories without ``halves``."""
    dropped = halves(directories, read_hidden)
    return {path: files for path, files in directories.items() if path not in dropped}


def missing_inputs(
    path: str, known: Collection[str], read_hidden: ReadHidden
) -> tuple[str, ...] | None:
    """The paths of what the directory at ``path`` was made from that are not ``known`` any more;
    None for a directory that does not say what that was. FormatError if it says so in other words.
    """
    inputs = _inputs(path, read_hidden)
    return None if inputs is None else tuple(one for one in inputs if one not in known)


def is_final(path: str, known: Collection[str], read_hidden: ReadHidden) -> bool:
    """Whether the directory at ``path`` says what it was made from, and nothing of that is
    ``known`` any more: nobody can go on with it, so that it need not be said.
    """
    inputs = _inputs(path, read_hidden)
    return inputs is not None and not any(one in known for one in inputs)


def _inputs(path: str, read_hidden: ReadHidden) -> list[str] | None:
    content = read_hidden(f"{path}/{INPUTS_FILE}")
    if content is None:
        return None
    try:
        inputs = json.loads(content)
    except ValueError:
        inputs = None
    if not isinstance(inputs, list) or not all(isinstance(one, str) for one in inputs):
        raise FormatError(f'unknown content of "{path}/{INPUTS_FILE}"')
    return inputs


def waits_for_a_txn(directories: Iterable[str]) -> bool:
    """Whether there is any directory among these that is seen from some transaction's commit on."""
    names = (parse_directory(path) for path in directories if "/" not in path)
    return any(name is not None and name.visibility_txn_id != NO_VISIBILITY for name in names)


def nothing_hidden(_path: str) -> bytes | None:
    """A ReadHidden of directories without such files."""
    return None


def inputs_text(inputs: Collection[str]) -> bytes:
    """The content of INPUTS_FILE."""
    return json.dumps(sorted(inputs), ensure_ascii=False).encode()
