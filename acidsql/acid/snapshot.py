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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import Generic, TypeVar

from acidsql.acid.acid_directory import AcidDirectory, Directory, FileEntry, file_name, id_range
from acidsql.acid.compacted import ReadHidden, inputs_are_there, without_halves
from acidsql.acid.ids import NO_STATEMENT, StatementId, TxnId, WriteId
from acidsql.acid.paths import (
    BEFORE_ALL_WRITES,
    METADATA_FILE,
    NO_VISIBILITY,
    Base,
    DeleteDelta,
    Delta,
    DirectoryName,
    is_hidden,
    is_reserved,
    original_bucket,
    parse_directory,
)
from acidsql.acid.write_ids import RangeResponse, ValidTxnList, ValidWriteIdList
from acidsql.errors import FormatError, SnapshotTooOldError
from acidsql.lazy_dataclass import dataclass

Name = TypeVar("Name", bound=DirectoryName)


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
    listing = _group(files, directories)
    read = read_hidden or _nothing_hidden
    fates = _Fates()
    bases, deltas = _visible(without_halves(listing.directories, read), txns, fates)

    def is_replaceable(directory: str) -> bool:
        return inputs_are_there(directory, listing.paths, read)

    base = _choose_base(bases, write_ids, read_marker or _nothing_hidden, is_replaceable, fates)
    if whole_ranges:
        deltas = [d for d in deltas if _is_decided(d, write_ids) or not is_replaceable(d.path)]
    current = _choose_deltas(deltas, write_ids, base, fates)
    if base is not None:
        fates.obsolete += [file.path for file in listing.originals]
    return AcidDirectory(
        base=None if base is None else _directory(base, write_ids, is_original),
        current=tuple(_directory(delta, write_ids, is_original) for delta in current),
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
        _Listed(path=path, name=_parse(path), files=of)
        for path, of in _group(files, directories).directories.items()
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


# Listing


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listing:
    directories: Mapping[str, list[FileEntry]]
    originals: list[FileEntry]

    @property
    def paths(self) -> set[str]:
        """The paths of the ACID directories and of the originals."""
        return {*self.directories, *(file.path for file in self.originals)}


def _group(files: Iterable[FileEntry], directories: Iterable[str]) -> _Listing:
    """Files by ACID directory; all others that are not hidden are originals."""
    owners: dict[str, str | None] = {}
    acid: dict[str, list[FileEntry]] = {}
    originals: list[FileEntry] = []
    for directory in directories:
        owner = _owner(directory)
        if owner:
            acid.setdefault(owner, [])
    for file in files:
        parent, _, name = file.path.rpartition("/")
        owner = owners[parent] if parent in owners else owners.setdefault(parent, _owner(parent))
        if owner is None:
            continue
        if owner:
            listed = acid.setdefault(owner, [])
            if not is_hidden(name):
                listed.append(file)
        elif not is_hidden(name):
            originals.append(file)
    return _Listing(directories=acid, originals=originals)


def _owner(directory: str) -> str | None:
    """The ACID directory that this one is, or is below of; "" if none (its files are originals);
    None if hidden.
    """
    parts = directory.split("/") if directory else []
    if any(map(is_hidden, parts)):
        return None
    if any(map(is_reserved, parts[1:])):
        # Hive 3 skips it, Hive 4 skips it or reads it, depending on the file system.
        raise FormatError(
            f'ACID directory "{directory}" lies inside another directory',
            hint=(
                "A rename onto an existing directory leaves such a trace; move it to its place or"
                " remove it."
            ),
        )
    return parts[0] if parts and is_reserved(parts[0]) else ""


# Directories


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed(Generic[Name]):
    path: str
    name: Name
    files: Sequence[FileEntry]


_ListedBase = _Listed[Base]
_ListedDelta = _Listed[Delta | DeleteDelta]


@dataclass(slots=True)
class _Fates:
    """The paths that are not chosen, in the order in which that turns out."""

    obsolete: list[str] = field(default_factory=list)
    aborted: list[str] = field(default_factory=list)


def _visible(
    directories: Mapping[str, Sequence[FileEntry]], txns: ValidTxnList | None, fates: _Fates
) -> tuple[list[_ListedBase], list[_ListedDelta]]:
    """The directories but for those whose compaction is not committed for this reader."""
    bases: list[_ListedBase] = []
    deltas: list[_ListedDelta] = []
    for path, files in directories.items():
        name = _parse(path)
        visibility = name.visibility_txn_id
        if visibility != NO_VISIBILITY and txns is not None and not txns.is_valid(visibility):
            if txns.is_aborted(visibility):
                fates.aborted.append(path)
        elif isinstance(name, Base):
            bases.append(_Listed(path=path, name=name, files=files))
        else:
            deltas.append(_Listed(path=path, name=name, files=files))
    return bases, deltas


def _parse(path: str) -> DirectoryName:
    name = parse_directory(path)
    if name is None or (not isinstance(name, Base) and name.min_write_id > name.max_write_id):
        raise FormatError(f'"{path}" is not a valid name of an ACID directory')
    return name


def _directory(
    directory: _ListedBase | _ListedDelta,
    write_ids: ValidWriteIdList,
    is_original: Callable[[str], bool] | None,
) -> Directory:
    low, high, _ = id_range(directory.name)
    return Directory(
        path=directory.path,
        name=directory.name,
        original=_holds_originals(directory, is_original),
        needs_row_filter=low != high and not write_ids.all_valid(low, high),
        files=tuple(sorted(directory.files, key=lambda f: f.path)),
    )


def _holds_originals(
    directory: _ListedBase | _ListedDelta, is_original: Callable[[str], bool] | None
) -> bool:
    """Whether LOAD DATA put original files into the directory. It makes no delete deltas and no
    ranges, and one file tells for all. Hive: MetaDataFile.isRawFormat.
    """
    low, high, _ = id_range(directory.name)
    if (
        isinstance(directory.name, DeleteDelta)
        or low != high
        or directory.name.visibility_txn_id != NO_VISIBILITY
    ):
        return False
    probe = min(
        (f.path for f in directory.files if original_bucket(file_name(f)) is not None),
        default=None,
    )
    return probe is not None and (is_original is None or is_original(probe))


# Base


def _choose_base(
    bases: Iterable[_ListedBase],
    write_ids: ValidWriteIdList,
    read_marker: Callable[[str], bytes | None],
    is_replaceable: Callable[[str], bool],
    fates: _Fates,
) -> _ListedBase | None:
    """The newest base the reader may use; the other usable ones become obsolete.

    An overwrite is usable as soon as its own write id is valid; a compaction has forgotten which
    row came from which write id, so that every id up to its own must be decided. Of one write id a
    compaction goes before the overwrite it was made from. ``is_replaceable``: all that a base was
    made from is still there.
    """
    usable: list[tuple[tuple[WriteId, bool, TxnId], _ListedBase]] = []
    unusable: list[_ListedBase] = []
    for base in bases:
        write_id, visibility = base.name.write_id, base.name.visibility_txn_id
        compacted = visibility != NO_VISIBILITY or _marked_compacted(base, read_marker)
        if write_id == BEFORE_ALL_WRITES or (
            write_ids.is_valid_base(write_id) if compacted else write_ids.is_valid(write_id)
        ):
            usable.append(((write_id, compacted, visibility), base))
        elif compacted:
            unusable.append(base)
        elif write_ids.is_aborted(write_id):
            fates.aborted.append(base.path)
    if not usable:
        if unusable:
            oldest = min(unusable, key=lambda b: b.name.write_id)
            if not is_replaceable(oldest.path):
                raise _not_enough_history(oldest, write_ids)
        return None
    *older, (_, best) = sorted(usable, key=lambda ranked: ranked[0])
    fates.obsolete += [base.path for _, base in older]
    return best


def _marked_compacted(base: _ListedBase, read_marker: Callable[[str], bytes | None]) -> bool:
    content = read_marker(base.path)
    if content is None:
        return False
    try:
        return parse_marker(content) is BaseKind.COMPACTED
    except FormatError as error:
        raise FormatError(
            f'unknown content of "{base.path}/{METADATA_FILE}"', detail=error.detail
        ) from None


def _nothing_hidden(_path: str) -> bytes | None:
    return None


def _unknown_marker(content: bytes) -> FormatError:
    return FormatError(
        f"unknown content of {METADATA_FILE}", detail=content[:200].decode(errors="replace")
    )


def _not_enough_history(base: _ListedBase, write_ids: ValidWriteIdList) -> SnapshotTooOldError:
    lowest = "none" if write_ids.min_open is None else write_ids.min_open
    return SnapshotTooOldError(
        f'not enough history: the oldest base, "{base.path}", is newer than the snapshot',
        detail=f"high watermark {write_ids.high_watermark}, lowest open write id {lowest}",
        hint="Run the statement again, with a snapshot of its own.",
    )


# Deltas


def _is_decided(delta: _ListedDelta, write_ids: ValidWriteIdList) -> bool:
    """Whether the reader knows of every write id of a range what became of it."""
    low, high, _ = id_range(delta.name)
    return high <= write_ids.high_watermark and not any(low <= i <= high for i in write_ids.open)


def _choose_deltas(
    deltas: Iterable[_ListedDelta],
    write_ids: ValidWriteIdList,
    base: _ListedBase | None,
    fates: _Fates,
) -> list[_ListedDelta]:
    candidates: list[_ListedDelta] = []
    for delta in deltas:
        low, high, _ = id_range(delta.name)
        if write_ids.range_aborted(low, high) is RangeResponse.ALL:
            fates.aborted.append(delta.path)
        elif write_ids.range_valid(low, high) is not RangeResponse.NONE:
            candidates.append(delta)
    candidates.sort(key=_reading_order)
    reached = WriteId(0) if base is None else base.name.write_id
    return list(_not_covered(candidates, write_ids, reached, fates))


def _reading_order(delta: _ListedDelta) -> tuple[int, int, int, int, str]:
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
    deltas: Iterable[_ListedDelta], write_ids: ValidWriteIdList, reached: WriteId, fates: _Fates
) -> Iterator[_ListedDelta]:
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
