"""Directories of write ids that were never given out here: others wrote them. Whether their
transactions were committed is not in the files, and so it is never taken for granted: only what
directories prove for sure counts (``acid.evidence``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from acidsql.acid.evidence import Evidence, Ranges, evidence_of
from acidsql.acid.ids import (
    Base,
    DirectoryName,
    RangeResponse,
    TxnId,
    ValidWriteIdList,
    WriteId,
    is_reserved,
    parse_directory,
)
from acidsql.acid.listed import FileEntry, id_range, takes_in
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Partition, Table
from acidsql.catalog.partitions import name_of
from acidsql.catalog.statistics import Filled, WrittenDirectory
from acidsql.errors import FormatError, OperationalError, Warning
from acidsql.files.fileio import FileIO, Listing, hidden_reader, is_inside, path_of
from acidsql.lazy import dataclass
from acidsql.storage.footers import read_footer
from acidsql.txn.readers import UnwritableError

MOST_NAMED = 5
"""The most directories that a message names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undeclared:
    """What lies in a table's directories above the write ids that were given out. ``undecided``:
    the paths of the directories that do not prove themselves what became of their write ids, with
    these; ``lowest`` and ``highest``: of all directories, also of those that do; ``highest_txn``:
    of the transactions that compacted what lies beside them. ``unfinished``: the paths of the empty
    directories of compactions that never committed.
    """

    undecided: Mapping[str, tuple[WriteId, WriteId]]
    lowest: WriteId
    highest: WriteId
    highest_txn: TxnId
    unfinished: tuple[str, ...]

    @property
    def write_ids(self) -> list[WriteId]:
        """The write ids of which it is to be said what became of them."""
        ranges = self.undecided.values()
        return sorted({WriteId(i) for low, high in ranges for i in range(low, high + 1)})


def find_undeclared(
    io: FileIO, table: Table, locations: Iterable[str], given_out: WriteId
) -> Undeclared | None:
    """What there is above ``given_out``, None for nothing. ``locations``: of the partitions; what
    lies below the table is looked at in any case. OSError.
    """
    undecided: dict[str, tuple[WriteId, WriteId]] = {}
    unfinished: list[str] = []
    ranges: list[tuple[WriteId, WriteId]] = []
    highest_txn = TxnId(0)
    for top in _tops(table, locations):
        listing = io.listing(top)
        files: Mapping[str, list[FileEntry]] | None = None
        for root, directories in sorted(_roots(listing.directories).items()):
            above = _above(directories, given_out)
            if not above:
                continue
            ranges += above.values()
            highest_txn = max(highest_txn, _highest_txn(directories))
            files = _files(listing) if files is None else files
            path = f"{top}/{root}".rstrip("/")
            evidence = _evidence(io, path, files.get(root, ()), directories)
            if evidence is not None:
                unfinished += [f"{path}/{name}" for name in evidence.unfinished.values()]
                above = {name: above[name] for name in above.keys() & evidence.unsure.keys()}
            for name in sorted(above):
                low, high = above[name]
                undecided[f"{path}/{name}"] = (WriteId(max(low, given_out + 1)), high)
    if not ranges:
        return None
    return Undeclared(
        undecided=undecided,
        lowest=min(low for low, _ in ranges),
        highest=max(high for _, high in ranges),
        highest_txn=highest_txn,
        unfinished=tuple(unfinished),
    )


def _tops(table: Table, locations: Iterable[str]) -> Sequence[str]:
    """The directory of a table, and those of its partitions that lie elsewhere."""
    home = path_of(table.location)
    elsewhere = {path for at in locations if not is_inside(path := path_of(at), home)}
    return (home, *sorted(elsewhere))


def _roots(directories: Iterable[str]) -> Mapping[str, list[str]]:
    """The ACID directories, and what lies in them, by the directory they lie in and relative to
    it.
    """
    roots: defaultdict[str, list[str]] = defaultdict(list)
    for path in directories:
        root, inner = _parted(path)
        if inner:
            roots[root].append(inner)
    return roots


def _files(listing: Listing) -> Mapping[str, list[FileEntry]]:
    """The files in ACID directories, as ``_roots``."""
    roots: defaultdict[str, list[FileEntry]] = defaultdict(list)
    for file in listing.files:
        root, inner = _parted(file.path)
        if inner:
            roots[root].append(file._replace(path=inner))
    return roots


def _parted(path: str) -> tuple[str, str]:
    """A path up to the first ACID directory, and from there on; "" if there is none."""
    parts = path.split("/")
    depth = next((at for at, part in enumerate(parts) if is_reserved(part)), len(parts))
    return "/".join(parts[:depth]), "/".join(parts[depth:])


def _above(directories: Iterable[str], given_out: WriteId) -> Ranges:
    """The write ids of the ACID directories that reach above what was given out."""
    names = {path: parse_directory(path) for path in directories if "/" not in path}
    ranges = {path: id_range(name)[:2] for path, name in names.items() if name is not None}
    return {path: pair for path, pair in ranges.items() if pair[1] > given_out}


def _highest_txn(directories: Iterable[str]) -> TxnId:
    names = [parse_directory(path) for path in directories if "/" not in path]
    return TxnId(max((0, *(name.visibility_txn_id for name in names if name is not None))))


def _evidence(
    io: FileIO, root: str, files: Iterable[FileEntry], directories: Iterable[str]
) -> Evidence | None:
    """What a directory proves; None where the layout is not Hive's: then it proves nothing."""
    try:
        return evidence_of(files, directories, hidden_reader(io, root))
    except FormatError:
        return None


def remove_unfinished(io: FileIO, undeclared: Undeclared) -> None:
    """Removes what would hide all rows: empty directories of compactions that never committed.
    OSError if one is there still.
    """
    for path in undeclared.unfinished:
        io.delete_tree(path)
        if io.exists(path):
            raise OSError(f'"{path}" could not be removed')


# ---- words


def runs(write_ids: Sequence[WriteId]) -> str:
    """Write ids as people write them down: ``1-3, 7``."""
    parts: list[str] = []
    first = last = None
    for one in (*write_ids, None):
        if first is not None and last is not None and one != last + 1:
            parts.append(str(first) if first == last else f"{first}-{last}")
            first = one
        first, last = (one if first is None else first), one
    return ", ".join(parts)


def named(paths: Collection[str], home: str) -> str:
    """Some of the paths, below ``home``."""
    some = [f'"{path.removeprefix(f"{home}/")}"' for path in sorted(paths)[:MOST_NAMED]]
    more = len(paths) - len(some)
    return ", ".join(some) + (f" and {more} more" if more > 0 else "")


def what_to_say(table: Table) -> str:
    """How it is said what became of write ids."""
    return (
        f"acidsql doctor {table.name} --committed .. --aborted .. says which of them count: the"
        " metastore of whoever wrote them knows."
    )


def unread_warning(table: Table, paths: Mapping[str, Iterable[WriteId]]) -> Warning:
    """What a reader of a table is told of directories that he does not see. ``paths``: with the
    ends of their write ids.
    """
    ends = sorted({end for of_one in paths.values() for end in of_one})
    many = len(paths) != 1
    return Warning(
        f"rows of table {table.name} are not read: the write ids of {len(paths)}"
        f" director{'ies' if many else 'y'} ({runs(ends)}) were never given out here",
        detail=named(paths, path_of(table.location)),
        hint=what_to_say(table),
    )


def unread_error(table: Table, paths: Mapping[str, Iterable[WriteId]]) -> OperationalError:
    """The error of a read of a table of which all but what is not seen may be gone."""
    warning = unread_warning(table, paths)
    return OperationalError(
        f"nothing can be read of table {table.name}: others wrote and compacted it",
        detail=f"{warning.message}: {warning.detail}",
        hint=f"acidsql doctor {table.name} --repair takes over what the files prove; "
        + what_to_say(table),
    )


def undeclared_error(table: Table, undeclared: Undeclared) -> OperationalError:
    """The error of a write to a table with files that others wrote."""
    proven = f"acidsql doctor {table.name} --repair takes them over: the files prove what counts."
    return OperationalError(
        f"table {table.name} has files of write ids up to {undeclared.highest} that were never"
        " given out here",
        detail=named(undeclared.undecided, path_of(table.location)) or None,
        hint=what_to_say(table) if undeclared.undecided else proven,
    )


# ---- files that are lost
#
# Files that were committed and are not there: what the store has on record of directories (see
# ``Catalog.written_directories``) against what they hold.
#
# Who reads compares only where a listing shows less than statistics say, which come with the table.
# That alone proves nothing, for they are of another moment: so then the record is read, and what it
# has and the listing has not is looked for once more while nobody can change either::
#
#     listing shows less than statistics -- the record -- is there all that a reader sees? read on
#                                                           |no
#                        alone: the record and a listing of this moment -- nothing missing? read on
#                                                           |else
#                                                         FormatError


FORGET = "--forget-lost"
"""The option of ``acidsql doctor`` that takes lost files off the record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostFiles:
    """A directory that holds less than it should. ``left``: what there is of it, None if it is not
    there at all. ``suspects``: its files that may be to blame, by their names: those without a
    byte, else all.
    """

    root: str
    directory: str
    committed: Filled
    left: Filled | None
    suspects: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        return f"{self.root}/{self.directory}"

    def __str__(self) -> str:
        if self.left is None:
            return f'"{self.path}" is gone'
        suspect = f', "{self.path}/{self.suspects[0]}"' if len(self.suspects) == 1 else ""
        if self.left.files < self.committed.files:
            suspect += suspect and " is empty"
            return (
                f'"{self.path}" has {self.left.files} of {_counted(self.committed.files)}{suspect}'
            )
        suspect += suspect and " is not as it was written"
        return f'"{self.path}" has {self.left.bytes:,} of {self.committed.bytes:,} bytes{suspect}'


def check_lost(
    catalog: Catalog,
    io: FileIO,
    table: Table,
    partition: Partition | None,
    root: str,
    listing: Listing,
    write_ids: ValidWriteIdList,
) -> None:
    """Raises FormatError if files are lost of those that a reader with these write ids would see.
    ``listing``: of the root, taken after the write ids.
    """
    name = None if partition is None else name_of(table, partition)
    written = (w for w in catalog.written_directories(table) if w.partition == name)
    if any(missing(root, written, listing, write_ids)):
        lost = find_lost(catalog, io, table, partition, write_ids)
        if lost:
            raise lost_error(table, lost)


def find_lost(
    catalog: Catalog,
    io: FileIO,
    table: Table,
    partition: Partition | None,
    write_ids: ValidWriteIdList,
) -> list[LostFiles]:
    """What is lost of a table without partitions, or of a partition, as it is at this moment;
    nothing of one that is not what it was any more, or of which nothing is on record.
    """
    name = None if partition is None else name_of(table, partition)
    if not any(written.partition == name for written in catalog.written_directories(table)):
        return []

    def look() -> list[LostFiles]:
        return _look(catalog, io, table, partition, write_ids)

    try:
        with catalog.alone():
            return look()
    except UnwritableError:  # nobody can be kept out: what two looks miss is missing
        again = look()
        return [one for one in look() if one in again]


def _look(
    catalog: Catalog,
    io: FileIO,
    table: Table,
    partition: Partition | None,
    write_ids: ValidWriteIdList,
) -> list[LostFiles]:
    stored = catalog.find_table(table.name)
    if stored is None or stored.table_id != table.table_id:
        return []
    location, name = stored.location, None
    if partition is not None:
        now = catalog.find_partition(stored, name_of(table, partition))
        if now is None:
            return []
        location, name = now.location, name_of(table, partition)
    written = [w for w in catalog.written_directories(stored) if w.partition == name]
    root = path_of(location)
    lost = missing(root, written, io.listing(root), write_ids) if written else ()
    return [_look_into(io, one) if stored.is_full_acid else one for one in lost]


def _look_into(io: FileIO, lost: LostFiles) -> LostFiles:
    """The directory with the one file that is to blame: of several that have fewer bytes, the first
    that cannot be read.
    """
    if lost.left is None or lost.left.files < lost.committed.files or len(lost.suspects) < 2:
        return lost
    for name in lost.suspects:
        try:
            read_footer(io, f"{lost.path}/{name}")
        except FormatError:
            return replace(lost, suspects=(name,))
    return lost


def missing(
    root: str,
    written: Iterable[WrittenDirectory],
    listing: Listing,
    write_ids: ValidWriteIdList,
) -> Iterator[LostFiles]:
    """The directories on record of which less is there, and that nothing else has taken the place
    of, for who has these write ids.
    """
    names = {
        path: name
        for path in listing.directories
        if is_reserved(path) and "/" not in path and (name := parse_directory(path)) is not None
    }
    held: dict[str, dict[str, int]] = {}
    for file in listing.files:
        directory, slash, within = file.path.partition("/")
        if slash and directory in names:
            held.setdefault(directory, {})[within] = file.size
    for one in written:
        name = parse_directory(one.directory)
        if name is None or not _is_seen(name, write_ids):
            continue
        left: Filled | None = None
        suspects: tuple[str, ...] = ()
        if one.directory in names:
            sizes = held.get(one.directory, {})
            left = Filled(sum(size > 0 for size in sizes.values()), sum(sizes.values()))
            if left.files >= one.filled.files and left.bytes >= one.filled.bytes:
                continue
            few = left.files < one.filled.files
            suspects = tuple(within for within, size in sizes.items() if not (few and size))
        if not any(_covers(other, name, write_ids) for other in names.values()):
            yield LostFiles(
                root=root,
                directory=one.directory,
                committed=one.filled,
                left=left,
                suspects=suspects,
            )


def _is_seen(name: DirectoryName, write_ids: ValidWriteIdList) -> bool:
    """Whether a reader with these write ids knows of a directory that is committed: of those that
    were later, and that an older snapshot passes over, it has no say. A base under the write id of
    a compaction that has died was on record, and is nobody's.
    """
    low, high, _ = id_range(name)
    if isinstance(name, Base):
        decided = high <= write_ids.high_watermark and high not in write_ids.open
        return decided and not write_ids.is_aborted(high)
    return write_ids.range_valid(low, high) is not RangeResponse.NONE


def _covers(other: DirectoryName, name: DirectoryName, write_ids: ValidWriteIdList) -> bool:
    """Whether a directory has all that another one had: it overwrites or has taken in what that
    is of.
    """
    if not takes_in(other, name):
        return False
    if isinstance(other, Base):
        return other != name and _is_seen(other, write_ids)
    return id_range(other)[:2] != id_range(name)[:2]


def lost_error(table: Table, lost: list[LostFiles]) -> FormatError:
    """The error of a read without them."""
    first, more = lost[0], len(lost) - 1
    detail = f"committed there: {_counted(first.committed.files)}, {first.committed.bytes:,} bytes"
    if more:
        detail += f"; {more} more {'directory is' if more == 1 else 'directories are'} like it"
    return FormatError(
        f"files of table {table.name} are lost: {first}",
        detail=detail,
        hint=f"Restore them from a copy. acidsql doctor {table.name} names all that is lost; with"
        f" {FORGET} the table goes on without it.",
    )


def _counted(files: int) -> str:
    return f"{files:,} {'file' if files == 1 else 'files'}"
