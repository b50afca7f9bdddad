"""A listing of a table's or partition's directory, taken apart: which ACID directories there are,
with which files, and which of them a reader may know of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Generic, TypeVar

from acidsql.acid.acid_directory import Directory, FileEntry, file_name, id_range
from acidsql.acid.ids import WriteId
from acidsql.acid.paths import (
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
from acidsql.acid.write_ids import ValidTxnList, ValidWriteIdList
from acidsql.errors import FormatError
from acidsql.lazy_dataclass import dataclass

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
    directories: Mapping[str, Sequence[FileEntry]], txns: ValidTxnList | None, fates: Fates
) -> tuple[list[ListedBase], list[ListedDelta]]:
    """The directories but for those whose compaction is not committed for this reader."""
    bases: list[ListedBase] = []
    deltas: list[ListedDelta] = []
    for path, files in directories.items():
        name = parse_name(path)
        visibility = name.visibility_txn_id
        if visibility != NO_VISIBILITY and txns is not None and not txns.is_valid(visibility):
            if txns.is_aborted(visibility):
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
