"""What lies in the directory of a table or partition: its ACID directories and what a reader of
now makes of them, and what is hidden beside them. Only names and sizes; rows come from footers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from enum import StrEnum

from acidsql.acid.ids import (
    NO_STATEMENT,
    Base,
    DeleteDelta,
    StatementId,
    TxnId,
    ValidTxnList,
    ValidWriteIdList,
    WriteId,
    is_hidden,
    is_reserved,
    parse_directory,
)
from acidsql.acid.listed import AcidDirectory, FileEntry, id_range, is_in_inner
from acidsql.batched import batched
from acidsql.errors import FormatError, SnapshotTooOldError
from acidsql.files.fileio import FileIO, Listing
from acidsql.files.parallel import look_at_all
from acidsql.lazy import dataclass
from acidsql.storage.footers import read_footer
from acidsql.storage.snapshots import acid_directory

STAGING = re.compile(r"\.acidsql_([1-9][0-9]{0,17})_.+")
"""A directory in which a transaction of that id has staged files."""


class Kind(StrEnum):
    """What an ACID directory holds; the files beside them are the originals."""

    BASE = "base"
    DELTA = "delta"
    DELETE_DELTA = "delete delta"
    ORIGINALS = "originals"


class State(StrEnum):
    """What a reader of now makes of a directory."""

    READ = "read"
    OBSOLETE = "obsolete"
    ABORTED = "aborted"
    UNDECIDED = "undecided"
    """Its write ids are open or newer than the reader, or its other half is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaidDirectory:
    """An ACID directory, or the originals. ``path``: relative to the root, "" for the originals.
    ``low`` to ``high``: its write ids. ``rows``: rows or delete events by the footers, None where
    nobody has looked.
    """

    path: str
    kind: Kind
    low: WriteId
    high: WriteId
    statement: StatementId
    state: State
    files: tuple[FileEntry, ...] = field(repr=False)
    rows: int | None = None

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenEntry:
    """A file or directory with a hidden name. ``txn_id``: of the transaction that has staged it.
    ``is_garbage``: nobody needs it any more, as far as the store knows; ``is_kept``: it was dropped
    with a partition, and somebody reads it.
    """

    path: str
    files: int
    bytes: int
    txn_id: TxnId | None
    is_garbage: bool
    is_kept: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One root. ``problem``: why no reader can tell what to read of it. ``unreadable``: the files
    of which the footers cannot be read.
    """

    root: str
    directories: tuple[LaidDirectory, ...] = ()
    hidden: tuple[HiddenEntry, ...] = ()
    problem: str | None = None
    unreadable: tuple[str, ...] = ()

    def of(self, *states: State, kinds: Sequence[Kind] = tuple(Kind)) -> Iterator[LaidDirectory]:
        """The directories in one of these states."""
        return (d for d in self.directories if d.state in states and d.kind in kinds)

    @property
    def garbage(self) -> Iterator[HiddenEntry]:
        return (entry for entry in self.hidden if entry.is_garbage)


def take_layout(
    io: FileIO,
    root: str,
    write_ids: ValidWriteIdList,
    txns: ValidTxnList | None,
    *,
    compactions: ValidTxnList | None = None,
    events: bool = True,
    hides: bool = True,
) -> Layout:
    """The layout of a root. ``txns``: those known to the store, None where there is none.
    ``compactions``: see ``TxnManager.seen_compactions``. ``events``: files may hold ACID events.
    ``hides``: what is hidden there is looked at, too.

    OSError if it cannot be listed.
    """
    listing = io.listing(root)
    hidden = tuple(hidden_entries(io, root, txns)) if hides else ()
    try:
        own = None if txns is None or compactions is not None else lambda: txns
        chosen = acid_directory(
            io, root, write_ids, compactions, events=events, listing=listing, own=own
        )
    except (FormatError, SnapshotTooOldError) as error:
        laid = tuple(_laid(listing, {}, State.UNDECIDED))
        return Layout(root=root, directories=laid, hidden=hidden, problem=_words(error))
    laid = tuple(_laid(listing, _states(chosen), State.UNDECIDED))
    return Layout(root=root, directories=laid, hidden=hidden)


def plain_layout(io: FileIO, root: str) -> Layout:
    """The layout of a root of a table without transactions: all files are read."""
    files = io.listing(root).files
    whole = _originals(files, State.READ)
    return Layout(root=root, directories=(whole,) if files else ())


def with_rows(
    io: FileIO, layouts: Sequence[Layout], report: Callable[[int, int], None]
) -> list[Layout]:
    """The layouts with the rows that the footers tell; each file that is or was visible is looked
    at once. ``report``: hears how many files of how many are done.
    """
    wanted = [
        f"{layout.root}/{file.path}"
        for layout in layouts
        for directory in layout.directories
        for file in directory.files
        if file.size
    ]
    rows: dict[str, int | None] = {}
    for some in batched(wanted, _AT_ONCE):
        report(len(rows), len(wanted))
        rows |= zip(some, look_at_all(lambda path: _rows(io, path), some), strict=True)
    report(len(wanted), len(wanted))
    return [_counted(layout, rows) for layout in layouts]


_AT_ONCE = 1024


def _rows(io: FileIO, path: str) -> int | None:
    with suppress(FormatError):
        return read_footer(io, path).row_count
    return None


def _counted(layout: Layout, rows: Mapping[str, int | None]) -> Layout:
    directories, unreadable = [], []
    for directory in layout.directories:
        counts = {f.path: rows.get(f"{layout.root}/{f.path}", 0) for f in directory.files}
        unreadable += [path for path, count in counts.items() if count is None]
        total = sum(count for count in counts.values() if count is not None)
        directories.append(replace(directory, rows=total))
    return replace(layout, directories=tuple(directories), unreadable=tuple(unreadable))


def root_write_ids(directories: Iterable[str]) -> ValidWriteIdList:
    """The write ids of a directory that no store knows: all that are in its names count as
    committed.
    """
    names = (parse_directory(path.rpartition("/")[2]) for path in directories)
    highest = max((id_range(n)[1] for n in names if n is not None), default=WriteId(0))
    return ValidWriteIdList(table="", high_watermark=WriteId(max(highest, 0)))


# ---- what a listing holds


def _laid(listing: Listing, states: Mapping[str, State], other: State) -> Iterator[LaidDirectory]:
    """The ACID directories of the first level, in the order of their write ids, and the
    originals.
    """
    files: defaultdict[str, list[FileEntry]] = defaultdict(list)
    for path in listing.directories:
        if is_reserved(path) and "/" not in path:
            files[path] = []
    originals: list[FileEntry] = []
    for file in listing.files:
        if is_in_inner(file.path):
            continue  # nobody reads it
        first = file.path.partition("/")[0]
        (files[first] if is_reserved(first) and "/" in file.path else originals).append(file)
    laid = [
        directory
        for path, of in files.items()
        if (directory := _directory(path, of, states.get(path, other))) is not None
    ]
    if originals:
        yield _originals(originals, states.get("", other))
    yield from sorted(laid, key=lambda d: (d.low, -d.high, d.statement, d.path))


def _originals(files: Sequence[FileEntry], state: State) -> LaidDirectory:
    return LaidDirectory(
        path="",
        kind=Kind.ORIGINALS,
        low=WriteId(0),
        high=WriteId(0),
        statement=NO_STATEMENT,
        state=state,
        files=tuple(files),
    )


def _directory(path: str, files: Sequence[FileEntry], state: State) -> LaidDirectory | None:
    name = parse_directory(path)
    if name is None:
        return None
    low, high, statement = id_range(name)
    kind = (
        Kind.BASE
        if isinstance(name, Base)
        else Kind.DELETE_DELTA
        if isinstance(name, DeleteDelta)
        else Kind.DELTA
    )
    return LaidDirectory(
        path=path,
        kind=kind,
        low=WriteId(0) if isinstance(name, Base) else low,
        high=high,
        statement=statement,
        state=state,
        files=tuple(files),
    )


def _states(chosen: AcidDirectory) -> dict[str, State]:
    """The state of each directory by its path; "" for the originals."""
    states = dict.fromkeys(chosen.aborted, State.ABORTED)
    states |= dict.fromkeys(chosen.obsolete, State.OBSOLETE)
    for directory in (chosen.base, *chosen.current):
        if directory is not None:
            states[directory.path] = State.READ
    obsolete = any(not is_reserved(path.partition("/")[0]) for path in chosen.obsolete)
    return states | {"": State.OBSOLETE if obsolete else State.READ}


# ---- what is hidden


def hidden_entries(io: FileIO, root: str, txns: ValidTxnList | None) -> Iterator[HiddenEntry]:
    """What has a hidden name in a directory."""
    for name in filter(is_hidden, io.names(root)):
        files, size = size_of(io, f"{root}/{name}")
        staging = STAGING.fullmatch(name)
        txn_id = None if staging is None else TxnId(int(staging[1]))
        yield HiddenEntry(
            path=name,
            files=files,
            bytes=size,
            txn_id=txn_id,
            is_garbage=_is_over(name, txn_id, txns),
        )


def _is_over(name: str, txn_id: TxnId | None, txns: ValidTxnList | None) -> bool:
    """Whether what a transaction has staged is of no use any more; without a transaction, what a
    cleaner was about to delete.
    """
    if txn_id is None:
        return name.startswith(".acidsql_dropped_")
    return txns is not None and txn_id <= txns.high_watermark and txn_id not in txns.open


def size_of(io: FileIO, path: str) -> tuple[int, int]:
    """How many files, and bytes, a file is, or a directory has that are not hidden in it."""
    with suppress(OSError):
        files = io.listing(path).files
        if files:
            return len(files), sum(file.size for file in files)
    with suppress(OSError):
        return 1, io.read_tail(path, 0)[1]
    return 0, 0


def _words(error: FormatError | SnapshotTooOldError) -> str:
    return error.message if error.detail is None else f"{error.message} ({error.detail})"
