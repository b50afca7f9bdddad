"""Snapshots: the files of a table under one visibility, by directory; and those of a statement, the
files of whose tables are listed and chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Protocol, TypeVar

from acidsql.acid.ids import METADATA_FILE, NO_STATEMENT, ValidTxnList, ValidWriteIdList, WriteId
from acidsql.acid.listed import AcidDirectory, DataFile, FileEntry, names_above, visible_files
from acidsql.acid.snapshot import choose, waits_for_a_txn
from acidsql.catalog.attached import (
    attached_write_ids,
    is_attached,
    is_live,
    is_overlay,
    pinned_of,
    seen_txns,
    with_attached,
)
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Partition, SparkRelation, Table, TableKind, TableName
from acidsql.catalog.partitions import name_of
from acidsql.catalog.statistics import (
    BYTES,
    ROWS,
    Filled,
    is_accurate,
    shows_less,
    whole_number,
)
from acidsql.errors import SnapshotTooOldError, TransactionAbortedError, Warning
from acidsql.files.fileio import (
    FileIO,
    FileReader,
    Listing,
    hidden_reader,
    is_inside,
    parent,
    path_of,
    split_url,
)
from acidsql.files.parallel import look_at_all
from acidsql.lazy import dataclass
from acidsql.storage.footers import FoundFile, is_event_file, read_footer
from acidsql.storage.write.pending import PendingRoot

if TYPE_CHECKING:
    import pyarrow as pa

    from acidsql.catalog.partitions import Among


# ---- moved files
#
# The files of a snapshot, wherever they are by now.
#
# A table or partition that is dropped while somebody reads it is kept for him by a hidden name (see
# ``changes.dropped``); another may have its place at once, with files of the same names::
#
#     reader   lists t             opens t/f    is t what was listed?
#     others           drops t, hides it, makes another t
#
# So a file that was opened at the old place is the right one only if the directory is still the one
# that was listed. Else the store tells where that is kept. Where the file system cannot tell two
# directories apart, the store is asked after each file.


T = TypeVar("T")


def _nothing_moved(behind: bool) -> Mapping[str, str]:
    return {}


class MovedFiles(FileReader):
    """Opens the files of one snapshot by the paths they had in it.

    ``find_moved``: where directories are that were dropped since, or are about to be, by where they
    were; behind a change of that which is going on, if it is True. ``moves``: how often something
    else was told. FileNotFoundError for a file that nobody keeps.
    """

    def __init__(self, io: FileIO) -> None:
        self._io = io
        self.find_moved: Callable[[bool], Mapping[str, str]] = _nothing_moved
        self.moves = 0
        self._ids: dict[str, object] = {}
        self._moved: Mapping[str, str] = {}

    def add_root(self, root: str) -> None:
        """Notes which directory has a path, before it is listed."""
        self._ids[root] = self._io.directory_id(root)

    def look_again(self, *, behind: bool = False) -> bool:
        """Asks where the directories are; whether anything has moved since that was last asked.
        ``behind``: see ``find_moved``.
        """
        before, moved = self._moved, self.find_moved(behind)
        # a partition may have been dropped before its table
        self._moved = dict(sorted(moved.items(), key=lambda pair: len(pair[0]), reverse=True))
        self.moves += self._moved != before
        return self._moved != before

    def location_of(self, root: str) -> str:
        """Where a directory is, as far as is known."""
        return next((path for path in self._kept(root) if self._io.exists(path)), root)

    def is_kept(self, root: str) -> bool:
        """Whether a directory is known to be kept for the reader."""
        return any(True for _ in self._kept(root))

    def open_input(self, path: str) -> pa.NativeFile:
        return self._reading(path, self._io.open_input)

    def read_tail(self, path: str, count: int) -> tuple[bytes, int]:
        return self._reading(path, lambda now: self._io.read_tail(now, count))

    def _reading(self, path: str, read: Callable[[str], T]) -> T:
        was_behind = False
        while True:
            missing: OSError = FileNotFoundError(path)
            for now in (*self._kept(path), path):
                try:
                    result = read(now)
                except FileNotFoundError as error:
                    missing = error
                    continue
                if now != path or self._is_what_it_was(path):
                    return result
            if was_behind:
                raise missing
            if not self.look_again():
                # it may be given its hidden name just now
                self.look_again(behind=True)
                was_behind = True

    def _kept(self, path: str) -> Iterator[str]:
        """Where a path is kept, or is about to be."""
        for old, new in self._moved.items():
            if is_inside(path, old):
                yield new + path.removeprefix(old)

    def _is_what_it_was(self, path: str) -> bool:
        root = path
        while root and root not in self._ids:
            root = parent(root)
        known = self._ids.get(root)
        if known is None:
            return not self.look_again()
        return self._io.directory_id(root) == known


# ---- snapshots


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSnapshot:
    """The files of one partition, or of a table without any. ``root``: its directory.
    ``directory``: what an ACID table has in it; ``files``: those of any other table. ``has_base``:
    of a transactional table, whether there is a base.

    ``below``: what an overlay reads of the directory of others. ``own_inserts``, ``own_deletes``:
    what the reading transaction has written to it, wherever that lies.
    """

    root: str
    partition: Partition | None = None
    directory: AcidDirectory | None = None
    files: tuple[FileEntry, ...] = ()
    has_base: bool = False
    below: PartitionSnapshot | None = None
    own_inserts: tuple[FoundFile, ...] = ()
    own_deletes: tuple[FoundFile, ...] = ()

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(f.file.size for f in (*self.insert_files(0), *self.delete_files(0)))

    @property
    def filled(self) -> Filled:
        """All files but the transaction's own."""
        own = self._filled_here
        if self.below is None:
            return own
        below = self.below.filled
        return Filled(own.files + below.files, own.bytes + below.bytes)

    @property
    def _filled_here(self) -> Filled:
        if self.directory is None:
            return Filled(len(self.files), sum(file.size for file in self.files))
        base, current = self.directory.base, self.directory.current
        chosen = [directory.files for directory in current if directory.files]
        if base is not None:
            chosen.append(base.files)
        if self.directory.originals:
            chosen.append(self.directory.originals)
        return Filled(sum(map(len, chosen)), sum(file.size for files in chosen for file in files))

    def insert_files(self, number: int) -> Iterator[FoundFile]:
        """The files with rows; ``number``: the partition's in the table snapshot."""
        if self.below is not None:
            yield from self.below.insert_files(number)
        listed = self.directory.insert_files if self.directory is not None else ()
        for file in (*listed, *(_original_file(file) for file in self.files if file.size)):
            yield FoundFile(file=file, path=f"{self.root}/{file.path}", partition_number=number)
        yield from (file._replace(partition_number=number) for file in self.own_inserts)

    def delete_files(self, number: int) -> Iterator[FoundFile]:
        """The files with delete events; ``number`` as above."""
        if self.below is not None:
            yield from self.below.delete_files(number)
        for file in self.directory.delete_files if self.directory is not None else ():
            yield FoundFile(file=file, path=f"{self.root}/{file.path}", partition_number=number)
        yield from (file._replace(partition_number=number) for file in self.own_deletes)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSnapshot:
    """A table as a statement sees it. ``write_ids`` is None for a table that is not transactional.

    The position of a partition in ``partitions`` is its number: it tells the rows of partitions
    apart, which number them each for itself.
    """

    table: Table
    write_ids: ValidWriteIdList | None = None
    partitions: tuple[PartitionSnapshot, ...] = field(repr=False)

    @classmethod
    def acid(
        cls, table: Table, write_ids: ValidWriteIdList, directory: AcidDirectory
    ) -> TableSnapshot:
        """The snapshot of a transactional table without partitions."""
        return cls(
            table=table,
            write_ids=write_ids,
            partitions=(PartitionSnapshot(root=path_of(table.location), directory=directory),),
        )

    @classmethod
    def plain(cls, table: Table, files: Iterable[FileEntry]) -> TableSnapshot:
        """The snapshot of a plain table without partitions. ``files``: all files below its
        location.
        """
        return cls(
            table=table,
            partitions=(PartitionSnapshot(root=path_of(table.location), files=tuple(files)),),
        )

    @property
    def insert_files(self) -> list[FoundFile]:
        """The files with rows of all partitions."""
        return [f for n, partition in enumerate(self.partitions) for f in partition.insert_files(n)]

    @property
    def delete_files(self) -> list[FoundFile]:
        """The files with delete events of all partitions."""
        return [f for n, partition in enumerate(self.partitions) for f in partition.delete_files(n)]


def _original_file(file: FileEntry) -> DataFile:
    nothing = WriteId(0)
    return DataFile(
        path=file.path,
        size=file.size,
        mtime_ns=file.mtime_ns,
        min_write_id=nothing,
        max_write_id=nothing,
        statement_id=NO_STATEMENT,
        bucket=None,
        original=True,
        needs_row_filter=False,
    )


class Visibility(Protocol):
    """What a statement may see: a transaction, or a snapshot taken for reading only."""

    def write_ids(self, table: TableName) -> ValidWriteIdList: ...
    def compactions(self) -> ValidTxnList | None: ...
    def is_latest(self, table: TableName) -> bool: ...
    def highest_given(self, table: TableName) -> WriteId: ...
    def txns_now(self) -> ValidTxnList: ...
    def confirm(self) -> None: ...


_FEW, _SOME = 8, 500
"""How many partitions are looked up one by one, and how many by their names together; more are
listed with all others.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The numbers of statistics: rows, and the bytes of the files they are in."""

    rows: int
    bytes: int


class _Listed:
    """What is known of the partitions of a table. ``parts``: of each part of their names that was
    asked for; None once all are known.
    """

    def __init__(self) -> None:
        self.parts: dict[Among, tuple[Partition, ...]] | None = {}
        self.by_name: dict[str, Partition] = {}
        self.all: tuple[Partition, ...] = ()

    def looked_at(self, names: Sequence[str]) -> set[str]:
        """The names among these that were asked for."""
        from acidsql.catalog.partitions import chosen

        return {name for among in self.parts or () for name in chosen(among, names)}

    def add(self, table: Table, partitions: Sequence[Partition], among: Among | None) -> None:
        """Adds what was found now; what was known before stays what it was then."""
        assert self.parts is not None
        if not self.by_name and among is None:  # mostly
            self.parts, self.all = None, tuple(partitions)
            return
        seen = tuple(self.by_name.setdefault(name_of(table, one), one) for one in partitions)
        if among is None:
            self.parts, self.all = None, seen
        else:
            self.parts[among] = seen


class Snapshots:
    """The snapshots of one statement: a directory is listed once, however often its table is read,
    so that all reads see the same files.

    ``views``: of the user's Spark session that the statement has taken over by now.  ``warnings``:
    what the user should be told. ``own``: what the transaction has written before the statement.
    ``files``: opens what was listed, also after others have dropped it.
    """

    def __init__(
        self,
        io: FileIO,
        visible: Visibility,
        catalog: Catalog,
        *,
        own: Mapping[str, PendingRoot],
    ) -> None:
        self._io = io
        self.files = MovedFiles(io)
        self._visible = visible
        self._own = {path_of(root): written for root, written in own.items()}
        self._catalog = catalog
        self._partitions: dict[TableName, _Listed] = {}
        self._taken: dict[str, PartitionSnapshot] = {}
        self.views: set[SparkRelation] = set()
        self.warnings: list[Warning] = []

    def partitions(self, table: Table, among: Among | None = None) -> tuple[Partition, ...]:
        """All partitions of a table, as they were when it was first asked about. ``among``: those
        whose names it asks for, at least. TransactionAbortedError where others have added or
        dropped some since a part of them was listed.
        """
        listed = self._partitions.setdefault(table.name, _Listed())
        if listed.parts is not None and (among is None or among not in listed.parts):
            partitions = self._catalog.list_partitions(table, among)
            self._check_still_listed(table, listed, partitions, among)
            listed.add(table, partitions, among)
        known = listed.all if listed.parts is None or among is None else listed.parts[among]
        locations = {partition.location for partition in known}
        own = (r.partition for r in self._own.values() if r.table.name == table.name)
        new = (
            partition
            for partition in own
            if partition is not None and partition.location not in locations
        )
        return (*known, *new)

    def known_locations(self, table: Table, partitions: Iterable[Partition]) -> set[str]:
        """The locations of the partitions that were there when their names were first asked about;
        ``partitions``: which are asked about, at least.
        """
        listed = self._partitions.setdefault(table.name, _Listed())
        names = [name_of(table, one) for one in partitions]
        if listed.parts is not None and not listed.looked_at(names).issuperset(names):
            self.partitions(table)
        known = listed.all if listed.parts is None else listed.by_name.values()
        return {one.location for one in known}

    def _check_still_listed(
        self,
        table: Table,
        listed: _Listed,
        partitions: Sequence[Partition],
        among: Among | None,
    ) -> None:
        """Raises TransactionAbortedError if partitions that were listed before, and are among
        those found, or should be, are others now: a statement reads a table as it was at one
        moment.
        """
        if not listed.by_name and not listed.parts:  # mostly
            return
        from acidsql.catalog.partitions import chosen

        now = {name_of(table, one): one.location for one in partitions}
        then = {name: one.location for name, one in listed.by_name.items()}
        # a store may tell of more than it was asked for
        asked_now = set(then if among is None else chosen(among, list(then))) | now.keys()
        asked_then = listed.looked_at(list(now)) | then.keys()
        before = {name: location for name, location in then.items() if name in asked_now}
        again = {name: location for name, location in now.items() if name in asked_then}
        if before != again:
            raise TransactionAbortedError(
                f"partitions of {table.name} were added or dropped while the statement began",
                hint="Run the statement again.",
            )

    def take(self, table: Table, partitions: Sequence[Partition] = ()) -> TableSnapshot:
        """The files of a table, or of these partitions of it. FormatError for a layout that is not
        Hive's; else as ``check_unchanged``.
        """
        if table.kind is TableKind.FRAME:
            # most statements read no frame
            from acidsql.storage.waiting_rows import to_file

            to_file(table)
        # Before any file is looked at: what is committed later must not be seen in part.
        write_ids = self._visible.write_ids(table.name) if table.is_transactional else None
        wanted: list[tuple[str, Partition | None]] = [(path_of(p.location), p) for p in partitions]
        if not table.partition_columns:
            wanted = [(path_of(table.location), None)]
        missing = [pair for pair in wanted if pair[0] not in self._taken]
        for root, _ in missing:
            self.files.add_root(root)
        looks = look_at_all(lambda pair: self._take(table, *pair, write_ids), missing)
        if is_overlay(table) and write_ids is not None:
            write_ids, looks = self._over(table, looks, write_ids)
        for partition, _ in looks:
            self._taken[partition.root] = partition
        if missing or not all(self.files.is_kept(root) for root, _ in wanted):
            self.check_unchanged(table)
        if write_ids is not None and looks and not is_attached(table):
            self._tell_unread(table, looks, write_ids)
            for partition, listing in looks:
                self._check_whole(table, partition, listing, write_ids)
        seen = (self._with_own(self._taken[root]) for root, _ in wanted)
        now = (
            replace(one, root=root)
            if (root := self.files.location_of(one.root)) != one.root
            else one
            for one in seen
        )
        return TableSnapshot(table=table, write_ids=write_ids, partitions=tuple(now))

    def counted(self, table: Table, partitions: Sequence[Partition] | None) -> Counted | None:
        """The numbers that statistics of a transactional table, or of these partitions of it, give;
        None where they may not be the snapshot's.

        They change in the metastore transaction of each commit. So they hold where nothing began or
        ended while they were read.
        """
        self._visible.write_ids(table.name)
        if is_live(table):  # others write it, and nobody counts along
            return None
        if partitions is None:
            now = self._catalog.find_table(table.name)
            statistics = [
                now.statistics if now is not None and _identity(now) == _identity(table) else {}
            ]
        else:
            from acidsql.catalog.partitions import ranges_of

            names = [name_of(table, p) for p in partitions]
            if len(names) <= _FEW:
                stored = [self._catalog.find_partition(table, name) for name in names]
            else:
                among = ranges_of(names) if len(names) <= _SOME else None
                stored = [*self._catalog.list_partitions(table, among)]
            known = {p.values: p for p in stored if p is not None}
            statistics = [
                known[p.values].statistics if p.values in known else {} for p in partitions
            ]
        if not all(
            is_accurate(one)
            and whole_number(one.get(ROWS)) is not None
            and whole_number(one.get(BYTES)) is not None
            for one in statistics
        ):
            return None
        if not self._visible.is_latest(table.name):
            return None
        return Counted(
            rows=sum(int(one[ROWS]) for one in statistics),
            bytes=sum(int(one[BYTES]) for one in statistics),
        )

    def find_changed(self, *, plain: bool = False) -> str | None:
        """The directory of a table or partition in which what was seen is not there any more, or is
        something else; None if there is none. Of a transactional table these are whole
        directories: nobody takes a single file out of one. ``plain``: look only where rows have no
        ids, and a name may be another file's, and at no distant store, which would be asked once
        more.
        """
        for root, seen in self._taken.items():
            if plain and (seen.directory is not None or split_url(root) is not None):
                continue
            if self._is_changed(root, seen) and not (
                self.files.look_again() and not self._is_changed(root, seen)
            ):
                return root
        return None

    def _is_changed(self, root: str, seen: PartitionSnapshot) -> bool:
        if seen.below is not None:
            below, seen = seen.below, replace(seen, below=None)
            return self._is_changed(below.root, below) or self._is_changed(root, seen)
        location = self.files.location_of(root)
        files = (*seen.insert_files(0), *seen.delete_files(0))
        if seen.directory is not None:
            directories = {location + parent(f.path).removeprefix(root) for f in files}
            return not all(map(self._io.exists, directories))
        listed = self._io.listing(location).files
        now = {f"{root}/{f.path}": (f.size, f.mtime_ns) for f in listed}
        return any(now.get(f.path) != (f.file.size, f.file.mtime_ns) for f in files)

    def confirm(self) -> None:
        """Raises the error of a reader whose files are not kept for it any more."""
        self._visible.confirm()

    def check_unchanged(self, table: Table) -> None:
        """Raises TransactionAbortedError if the table is not any more what was bound: files of
        another one, or none, would be looked at.
        """
        if table.kind is TableKind.FRAME:  # its files are the session's, and do not change
            return
        stored = self._catalog.find_table(table.name)
        if stored is None or _identity(stored) != _identity(table):
            hint = "Run the statement again."
            raise TransactionAbortedError(
                f"table {table.name} was dropped, moved or converted while the statement began",
                hint=hint,
            )

    def _take(
        self,
        table: Table,
        root: str,
        partition: Partition | None,
        write_ids: ValidWriteIdList | None,
    ) -> tuple[PartitionSnapshot, Listing]:
        listing = self._io.listing(root)
        if write_ids is None:
            return PartitionSnapshot(root=root, partition=partition, files=listing.files), listing
        visible = self._visible
        try:
            directory = directory_of_table(
                self._io,
                root,
                table,
                write_ids,
                visible.compactions(),
                visible.txns_now,
                listing=listing,
            )
        except SnapshotTooOldError as error:
            unread = self._unread(table, [(root, listing)], write_ids)
            if not unread:
                raise
            from acidsql.storage.undeclared import unread_error

            raise unread_error(table, unread) from error
        return acid_partition(table, root, partition, directory, write_ids), listing

    def _tell_unread(
        self,
        table: Table,
        looks: Sequence[tuple[PartitionSnapshot, Listing]],
        write_ids: ValidWriteIdList,
    ) -> None:
        """Warns of directories that nobody sees because others wrote them. Those of writers who
        came after the snapshot are told apart by a look at what was given out by now.
        """
        unread = self._unread(table, [(seen.root, listing) for seen, listing in looks], write_ids)
        if unread:
            from acidsql.storage.undeclared import unread_warning

            self.warnings.append(unread_warning(table, unread))

    def _unread(
        self, table: Table, looks: Sequence[tuple[str, Listing]], write_ids: ValidWriteIdList
    ) -> Mapping[str, set[WriteId]]:
        above = {
            f"{root}/{name}": ends
            for root, listing in looks
            for name, ends in names_above(listing.directories, write_ids.high_watermark)
        }
        given_out = self._visible.highest_given(table.name) if above else WriteId(0)
        return {path: ends for path, ends in above.items() if max(ends) > given_out}

    def _check_whole(
        self,
        table: Table,
        seen: PartitionSnapshot,
        listing: Listing,
        write_ids: ValidWriteIdList,
    ) -> None:
        """Raises FormatError if files are lost, where less is there than statistics say."""
        of = table.statistics if seen.partition is None else seen.partition.statistics
        if shows_less(of, seen.filled):
            from acidsql.storage.undeclared import check_lost

            check_lost(
                self._catalog, self._io, table, seen.partition, seen.root, listing, write_ids
            )

    def _over(
        self,
        table: Table,
        looks: Sequence[tuple[PartitionSnapshot, Listing]],
        write_ids: ValidWriteIdList,
    ) -> tuple[ValidWriteIdList, list[tuple[PartitionSnapshot, Listing]]]:
        """What an overlay reads: its own directories, and what they do not hide of others'."""
        from acidsql.storage.overlays import take_below

        of_others = attached_write_ids(table)
        assert of_others is not None
        known = {one.location: one for one in self.partitions(table)}

        def over(seen: PartitionSnapshot) -> PartitionSnapshot:
            if seen.has_base:  # of an INSERT OVERWRITE: it hides all that others have
                return seen
            partition = seen.partition
            of = table if partition is None else known.get(partition.location, partition)
            pinned = pinned_of(of)
            if pinned is None:
                return seen
            self.files.add_root(path_of(pinned.location))
            below = take_below(self._io, table, pinned, of_others.up_to(write_ids.high_watermark))
            return replace(seen, below=replace(below, partition=partition))

        taken = look_at_all(over, [seen for seen, _ in looks])
        both = [(seen, listing) for seen, (_, listing) in zip(taken, looks, strict=True)]
        return with_attached(of_others, write_ids), both

    def _with_own(self, partition: PartitionSnapshot) -> PartitionSnapshot:
        """The partition as the transaction has left it."""
        own = self._own.get(partition.root)
        if own is None:
            return partition
        kept = partition
        if own.overwritten:
            kept = replace(partition, directory=None, files=(), below=None)
        return replace(
            kept, own_inserts=own.found_files(own.inserts), own_deletes=own.found_files(own.deletes)
        )


def _identity(table: Table) -> tuple[int, str, bool]:
    return table.table_id, table.location, table.is_transactional


def acid_partition(
    table: Table,
    root: str,
    partition: Partition | None,
    directory: AcidDirectory,
    write_ids: ValidWriteIdList,
) -> PartitionSnapshot:
    """The snapshot of what was chosen of a transactional table's or partition's directory."""
    has_base = directory.base is not None
    if table.is_insert_only:
        files = visible_files(directory, write_ids)
        return PartitionSnapshot(root=root, partition=partition, files=files, has_base=has_base)
    return PartitionSnapshot(root=root, partition=partition, directory=directory, has_base=has_base)


def directory_of_table(
    io: FileIO,
    root: str,
    table: Table,
    write_ids: ValidWriteIdList,
    compactions: ValidTxnList | None,
    txns_now: Callable[[], ValidTxnList],
    *,
    listing: Listing | None = None,
) -> AcidDirectory:
    """What a reader of a transactional table with these write ids sees in its directory, or in a
    partition's. ``compactions``: see ``TxnManager.seen_compactions``; ``txns_now``: asks the store
    for its transactions.
    """
    knows_all = compactions is not None or is_attached(table)
    return acid_directory(
        io,
        root,
        write_ids,
        seen_txns(table, compactions),
        events=table.is_full_acid,
        listing=listing,
        own=None if knows_all else txns_now,
    )


def acid_directory(
    io: FileIO,
    root: str,
    write_ids: ValidWriteIdList,
    txns: ValidTxnList | None = None,
    *,
    events: bool = True,
    listing: Listing | None = None,
    own: Callable[[], ValidTxnList] | None = None,
) -> AcidDirectory:
    """What a reader with these ids sees of a table's or partition's directory. ``events``: files
    may hold ACID events. ``listing``: what is there, if that is known already. ``own``: asks the
    store for its transactions, whose compactions are seen once they are committed; None for a
    directory that none of them has written to.
    """

    def is_original(path: str) -> bool:
        return not events or not is_event_file(read_footer(io, f"{root}/{path}"))

    read_hidden = hidden_reader(io, root)
    listed = listing or io.listing(root)
    now = None
    if own is not None and waits_for_a_txn(listed.directories):
        # in this order: what is committed by then was whole before the directory is listed
        now = own()
        listed = io.listing(root)
    return choose(
        listed.files,
        write_ids,
        txns,
        directories=listed.directories,
        is_original=is_original,
        read_marker=lambda directory: read_hidden(f"{directory}/{METADATA_FILE}"),
        read_hidden=read_hidden,
        whole_ranges=not events,
        own=now,
    )
