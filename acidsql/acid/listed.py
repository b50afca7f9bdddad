"""What a table's or partition's directory lists, by what the names mean; and of an insert-only
table, which of it is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Generic, NamedTuple, TypeVar

from acidsql.acid.ids import (
    FLUSH_LENGTH_SUFFIX,
    NO_STATEMENT,
    NO_VISIBILITY,
    Base,
    BucketId,
    DeleteDelta,
    Delta,
    DirectoryName,
    StatementId,
    ValidTxnList,
    ValidWriteIdList,
    WriteId,
    is_hidden,
    is_reserved,
    original_bucket,
    parse_bucket_file,
    parse_directory,
)
from acidsql.errors import FormatError
from acidsql.lazy import dataclass

# ---- listed
#
# A listing of a table's or partition's directory, taken apart: which ACID directories there are,
# with which files, and which of them a reader may know of.


Name = TypeVar("Name", bound=DirectoryName)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Files by the ACID directory they lie in, and the originals."""

    directories: Mapping[str, list[FileEntry]]
    originals: list[FileEntry]

    @property
    def paths(self) -> set[str]:
        """The paths of the ACID directories and of the originals."""
        return {*self.directories, *(file.path for file in self.originals)}


def group_files(files: Iterable[FileEntry], directories: Iterable[str]) -> Listing:
    """Files by ACID directory; all others that are not hidden are originals. A copy of an ACID
    directory inside it holds nothing that is not around it: it is passed over, as by Hive.

    FormatError for any other ACID directory inside another one.
    """
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
    for path in [path for path in acid if "/" in path]:
        acid.setdefault(path.partition("/")[0], [])
        if not is_like_outer(path, acid):
            raise _nested_error(path)
        del acid[path]
    return Listing(directories=acid, originals=originals)


def _owner(directory: str) -> str | None:
    """The ACID directory that this one is, or is below of, or one inside it of the same name; "" if
    none (its files are originals); None if hidden.
    """
    parts = directory.split("/") if directory else []
    if any(map(is_hidden, parts)):
        return None
    if any(map(is_reserved, parts[1:])):
        # Hive 3 skips it, Hive 4 skips it or reads it, depending on the file system.
        if is_in_inner(directory) and not any(map(is_reserved, parts[2:])):
            return f"{parts[0]}/{parts[1]}"
        raise _nested_error(directory)
    return parts[0] if parts and is_reserved(parts[0]) else ""


def is_in_inner(path: str) -> bool:
    """Whether a path is, or is below of, an ACID directory inside one of the same name, as
    compactions leave it that ran again and renamed their result onto the first one (HIVE-25600).
    """
    outer, *inner = path.split("/", 2)
    return bool(inner) and outer == inner[0] and is_reserved(outer)


def is_like_outer(inner: str, files: Mapping[str, Iterable[FileEntry]]) -> bool:
    """Whether an ACID directory inside one of the same name has files of the names and sizes of
    those around it. ``files``: of both, by their directories' paths.
    """
    inside, around = (
        {file.path[len(of) + 1 :]: file.size for file in files.get(of, ())}
        for of in (inner, inner.partition("/")[0])
    )
    return inside == around


def _nested_error(path: str) -> FormatError:
    return FormatError(
        f'ACID directory "{path}" lies inside another directory',
        hint=(
            "A rename onto an existing directory leaves such a trace; move it to its place or"
            " remove it. acidsql doctor removes it where it is a copy of the one around it."
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed(Generic[Name]):
    """An ACID directory. ``path`` is its real name, which need not be the canonical one."""

    path: str
    name: Name
    files: Sequence[FileEntry]


ListedBase = Listed[Base]
ListedDelta = Listed[Delta | DeleteDelta]


@dataclass(slots=True)
class Fates:
    """The paths that are not chosen, in the order in which that turns out."""

    obsolete: list[str] = field(default_factory=list)
    aborted: list[str] = field(default_factory=list)


def visible_directories(
    directories: Mapping[str, Sequence[FileEntry]],
    txns: ValidTxnList | None,
    fates: Fates,
    own: ValidTxnList | None = None,
    is_own: Callable[[str], bool] = lambda path: False,
) -> tuple[list[ListedBase], list[ListedDelta]]:
    """The directories but for those whose compaction is not committed, by ``txns``, or by ``own``
    where it ``is_own``.
    """
    bases: list[ListedBase] = []
    deltas: list[ListedDelta] = []
    for path, files in directories.items():
        name = parse_name(path)
        visibility = name.visibility_txn_id
        undecided = None
        if visibility != NO_VISIBILITY and txns is not None and not txns.is_valid(visibility):
            undecided = txns
        elif (
            visibility != NO_VISIBILITY
            and own is not None
            and not own.is_valid(visibility)
            and is_own(path)
        ):
            undecided = own
        if undecided is not None:
            if undecided.is_aborted(visibility):
                fates.aborted.append(path)
        elif isinstance(name, Base):
            bases.append(Listed(path=path, name=name, files=files))
        else:
            deltas.append(Listed(path=path, name=name, files=files))
    return bases, deltas


def parse_name(path: str) -> DirectoryName:
    """The name of an ACID directory. FormatError if Hive would write no such."""
    name = parse_directory(path)
    if name is None or (not isinstance(name, Base) and name.min_write_id > name.max_write_id):
        raise FormatError(f'"{path}" is not a valid name of an ACID directory')
    return name


def directory_of(
    directory: ListedBase | ListedDelta,
    write_ids: ValidWriteIdList,
    is_original: Callable[[str], bool] | None,
) -> Directory:
    """A directory that was chosen, for a reader with these write ids."""
    low, high, _ = id_range(directory.name)
    return Directory(
        path=directory.path,
        name=directory.name,
        original=_holds_originals(directory, is_original),
        needs_row_filter=low != high and not write_ids.all_valid(low, high),
        files=tuple(sorted(directory.files, key=lambda f: f.path)),
    )


def _holds_originals(
    directory: ListedBase | ListedDelta, is_original: Callable[[str], bool] | None
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


def names_above(directories: Iterable[str], highest: WriteId) -> Iterator[tuple[str, set[WriteId]]]:
    """The ACID directories of a listing that reach above a write id, with the ends of their
    ranges.
    """
    for path in directories:
        if "/" in path or not is_reserved(path):
            continue
        name = parse_directory(path)
        if name is None:
            continue
        low, high, _ = id_range(name)
        if high > highest:
            yield path, {low, high}


# ---- what a reader sees of one directory of a table or partition


class FileEntry(NamedTuple):
    """A file of a listing; ``path`` is relative to the table's or partition's directory, ``/``
    separated.
    """

    path: str
    size: int
    mtime_ns: int


class DataFile(NamedTuple):
    """A file to read.

    ``min_write_id``, ``max_write_id``: of the directory's name; twice the base's id for a base, 0
    for originals. ``bucket``: from the file's name, None if the name tells none. ``original``: it
    is an original file, without ACID columns (from before the table was ACID, or from LOAD DATA):
    its row ids follow from where it lies (write id ``max_write_id``, this bucket and statement, the
    row's number).
    ``needs_row_filter``: some write id of the range is not valid, so rows must be tested by
    currentTransaction.
    """

    path: str
    size: int
    mtime_ns: int
    min_write_id: WriteId
    max_write_id: WriteId
    statement_id: StatementId
    bucket: BucketId | None
    original: bool
    needs_row_filter: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """An ACID directory that was chosen. ``path`` is its real name, which need not be the canonical
    one of ``name``. ``original``: those of its files that are not named as buckets are originals.
    """

    path: str
    name: DirectoryName
    original: bool
    needs_row_filter: bool
    files: tuple[FileEntry, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AcidDirectory:
    """What a reader sees of one directory. ``current``: deltas and delete deltas as Hive orders
    them; ``obsolete`` and ``aborted``: paths, sorted.
    """

    base: Directory | None
    current: tuple[Directory, ...]
    originals: tuple[FileEntry, ...]
    obsolete: tuple[str, ...]
    aborted: tuple[str, ...]

    @property
    def deltas(self) -> tuple[Directory, ...]:
        return tuple(d for d in self.current if isinstance(d.name, Delta))

    @property
    def delete_deltas(self) -> tuple[Directory, ...]:
        return tuple(d for d in self.current if isinstance(d.name, DeleteDelta))

    @property
    def insert_files(self) -> tuple[DataFile, ...]:
        """The files of the base, the originals and those of insert deltas; listed anew at each
        call. Files without a byte hold no rows and are left out.

        FormatError where a streaming writer has a file open: what is committed of it ends inside
        the file.
        """
        files = list(map(_original_file, self.originals))
        for directory in (self.base, *self.deltas):
            if directory is not None:
                _refuse_open_stream(directory)
                files += _data_files(directory)
        return tuple(file for file in files if file.size)

    @property
    def delete_files(self) -> tuple[DataFile, ...]:
        """The files of delete deltas. FormatError for a file without a byte: what it should have
        deleted would come back.
        """
        files = tuple(file for directory in self.delete_deltas for file in _data_files(directory))
        for file in files:
            if not file.size:
                raise FormatError(f'delete file "{file.path}" is empty')
        return files


def _original_file(file: FileEntry) -> DataFile:
    return DataFile(
        path=file.path,
        size=file.size,
        mtime_ns=file.mtime_ns,
        min_write_id=WriteId(0),
        max_write_id=WriteId(0),
        statement_id=NO_STATEMENT,
        bucket=original_bucket(file_name(file)),
        original=True,
        needs_row_filter=False,
    )


def _data_files(directory: Directory) -> Iterator[DataFile]:
    """The files that Hive reads: of a base all, of a delta what is named as a bucket, or as an
    original if such were loaded into it.

    FormatError for another name in a delta: Hive passes over it, so that rows are missing or
    deleted rows come back.
    """
    low, high, statement = id_range(directory.name)
    for file in directory.files:
        name = file_name(file)
        bucket = parse_bucket_file(name)
        original = directory.original and bucket is None
        if bucket is None and (original or isinstance(directory.name, Base)):
            bucket = original_bucket(name)
        elif bucket is None:
            raise FormatError(
                f'file "{file.path}" is not named like one of a delta: bucket_00000',
                hint=(
                    "Hive passes over it and reads nothing of it. Give it its name or move it away."
                ),
            )
        yield DataFile(
            path=file.path,
            size=file.size,
            mtime_ns=file.mtime_ns,
            min_write_id=low,
            max_write_id=high,
            statement_id=statement,
            bucket=bucket,
            original=original,
            needs_row_filter=directory.needs_row_filter,
        )


def _refuse_open_stream(directory: Directory) -> None:
    side = next((f for f in directory.files if f.path.endswith(FLUSH_LENGTH_SUFFIX)), None)
    if side is not None:
        raise FormatError(
            f'a streaming writer has "{side.path.removesuffix(FLUSH_LENGTH_SUFFIX)}" open',
            hint="The table can be read when the writer has closed its batch of transactions.",
        )


def id_range(name: DirectoryName) -> tuple[WriteId, WriteId, StatementId]:
    """Least and greatest write id, and statement id; a base has its write id twice."""
    if isinstance(name, Base):
        return name.write_id, name.write_id, NO_STATEMENT
    return name.min_write_id, name.max_write_id, name.statement_id


def takes_in(whole: DirectoryName, part: DirectoryName) -> bool:
    """Whether all write ids that one directory is of are of another, too, and a compaction that
    made that one read this one: no delta is made of a base.
    """
    low, high, _ = id_range(part)
    whole_low, whole_high, _ = id_range(whole)
    if isinstance(whole, Base):
        return high <= whole_high
    return not isinstance(part, Base) and whole_low <= low and high <= whole_high


def file_name(file: FileEntry) -> str:
    """The name without the directories it lies in."""
    return file.path.rpartition("/")[2]


# ---- insert only
#
# Which files of an insert-only table a reader sees. Hive: HiveInputFormat.processPathsForMmRead.
#
# The directories are chosen as in any transactional table (``snapshot``), and every file in them
# counts, whatever its name: there are no events, no row ids and no delete deltas. So a row is
# visible if its directory is.


def visible_files(chosen: AcidDirectory, write_ids: ValidWriteIdList) -> tuple[FileEntry, ...]:
    """All files of the base and the deltas, and the originals where there is no base.

    FormatError for a delete delta, and for a range of write ids of which some are not decided for
    the reader.
    """
    directories = chosen.current if chosen.base is None else (chosen.base, *chosen.current)
    for directory in directories:
        _check(directory, write_ids)
    return (*chosen.originals, *(file for directory in directories for file in directory.files))


def _check(directory: Directory, write_ids: ValidWriteIdList) -> None:
    """Rows of aborted write ids are left out when deltas are compacted; those of open ones are in
    there, and cannot be told apart.
    """
    name = directory.name
    if isinstance(name, DeleteDelta):
        raise FormatError(
            f'"{directory.path}" holds delete events, which an insert-only table cannot have'
        )
    if isinstance(name, Base) or not directory.needs_row_filter:
        return
    low, high = name.min_write_id, name.max_write_id
    if high > write_ids.high_watermark or any(
        low <= write_id <= high for write_id in write_ids.open
    ):
        raise FormatError(
            f'"{directory.path}" was compacted from deltas of which the snapshot sees a part only',
            hint="Run the statement again.",
        )
