"""Files that were committed and are not there: what the store has on record of directories (see
``Catalog.written_directories``) against what they hold.

Who reads compares only where a listing shows less than statistics say, which come with the table.
That alone proves nothing, for they are of another moment: so then the record is read, and what it
has and the listing has not is looked for once more while nobody can change either::

    listing shows less than statistics -- the record -- is there all that a reader sees? read on
                                                          |no
                       alone: the record and a listing of this moment -- nothing missing? read on
                                                          |else
                                                        FormatError
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from acidsql.acid.listed import id_range, takes_in
from acidsql.acid.paths import Base, DirectoryName, is_reserved, parse_directory
from acidsql.acid.write_ids import RangeResponse, ValidWriteIdList
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Partition, Table
from acidsql.catalog.partitions import name_of
from acidsql.catalog.statistics import Filled, WrittenDirectory
from acidsql.errors import FormatError
from acidsql.files.fileio import FileIO, Listing
from acidsql.files.urls import path_of
from acidsql.lazy_dataclass import dataclass
from acidsql.storage.footers import read_footer
from acidsql.txn.readers import UnwritableError

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
