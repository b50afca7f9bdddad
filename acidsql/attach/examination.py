"""What the directory of a table that others wrote tells of it: partitions, columns, transactions.

Only names and footers are looked at. Nothing is written below the location.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from acidsql.acid.evidence import Evidence, evidence_of
from acidsql.acid.ids import DeleteDelta, TxnId, WriteId, is_hidden, parse_directory
from acidsql.acid.listed import FileEntry, file_name, id_range
from acidsql.acid.orc_tail import OrcTail
from acidsql.acid.orc_types import EVENT_ROW_COLUMN, OrcType, same_storage
from acidsql.attach.old_events import find_old_events, is_unversioned
from acidsql.catalog.model import DEFAULT_PARTITION, Column, Partition
from acidsql.catalog.partitions import partition_values, unescape
from acidsql.catalog.types import HiveType, parse_type
from acidsql.errors import BindError, FormatError
from acidsql.files.fileio import FileIO, hidden_reader
from acidsql.files.parallel import look_at_all
from acidsql.lazy import dataclass
from acidsql.planner.bind.partitions import canonical
from acidsql.storage.footers import is_event_file, read_footer

_NAME_COLUMNS = "Name the columns behind the table: ATTACH TABLE t (id INT, ..) FROM '..'."


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """``columns``, ``partition_columns``: as given, or as files and directories tell. ``evidence``:
    of each partition by its path below the location, "" for a table without any. ``transactional``:
    there are directories of transactions; ``events``: files hold ACID events; ``old_events``: a
    file that mixes them, as before Hive 3. ``files``: how many there are.
    """

    columns: tuple[Column, ...]
    partition_columns: tuple[Column, ...]
    partitions: tuple[Partition, ...]
    evidence: Mapping[str, Evidence]
    transactional: bool
    events: bool
    old_events: str | None
    files: int

    @property
    def highest(self) -> WriteId:
        return WriteId(max((0, *(one.highest for one in self.evidence.values()))))

    @property
    def highest_txn(self) -> TxnId:
        return highest_txn(self.evidence)

    @property
    def unproven(self) -> Mapping[WriteId, tuple[str, ...]]:
        """The directories of each write id of which nothing is proven, below the location."""
        listed: dict[WriteId, list[str]] = {}
        for root, one in self.evidence.items():
            for write_id, paths in one.unproven.items():
                listed.setdefault(write_id, []).extend(_joined(root, path) for path in paths)
        return {write_id: tuple(listed[write_id]) for write_id in sorted(listed)}

    @property
    def unfinished(self) -> Mapping[TxnId, str]:
        """The compactions that never committed, by their transaction."""
        return unfinished(self.evidence)


def highest_txn(evidence: Mapping[str, Evidence]) -> TxnId:
    """The highest transaction that compacted, of the directories of a table; 0: none did."""
    return TxnId(max((0, *(one.highest_txn for one in evidence.values()))))


def unfinished(evidence: Mapping[str, Evidence]) -> Mapping[TxnId, str]:
    """The directories of the compactions that never committed, by their transaction. ``evidence``:
    of each directory of a table, by the path that is put before what lies in it.
    """
    return {
        txn_id: _joined(root, path)
        for root, one in evidence.items()
        for txn_id, path in one.unfinished.items()
    }


def examine(
    io: FileIO,
    location: str,
    columns: tuple[Column, ...] = (),
    partition_columns: tuple[Column, ...] = (),
) -> Examined:
    """``columns`` and ``partition_columns``: those that are given, () for what the files tell.
    BindError, without a place, for what cannot be told; FormatError for a layout that is not
    Hive's.
    """
    if not io.exists(location):
        raise BindError(f'there is no directory "{location}"')
    listing = io.listing(location)
    roots = _roots(listing.files, listing.directories)
    keys = _partition_names(roots)
    partition_columns = _checked_keys(keys, partition_columns)
    evidence: dict[str, Evidence] = {}
    samples: list[str] = []
    for root, (files, directories) in roots.items():
        evidence[root] = evidence_of(files, directories, hidden_reader(io, _joined(location, root)))
        samples += [_joined(root, path) for path in _samples(files)]
    tails = look_at_all(lambda path: _footer(io, f"{location}/{path}"), samples)
    transactional = any(
        parse_directory(directory.rpartition("/")[2]) for directory in listing.directories
    )
    events = any(is_event_file(tail) for tail in tails) or any(
        isinstance(parse_directory(directory.rpartition("/")[2]), DeleteDelta)
        for directory in listing.directories
    )
    return Examined(
        columns=_columns(samples, tails, columns),
        partition_columns=partition_columns,
        partitions=tuple(_partitions(location, roots, partition_columns)),
        evidence=evidence,
        transactional=transactional,
        events=events,
        old_events=find_old_events(io, _unversioned(location, listing.files, samples, tails)),
        files=len(listing.files),
    )


def _unversioned(
    location: str,
    files: Iterable[FileEntry],
    samples: Sequence[str],
    tails: Sequence[OrcTail],
) -> list[str]:
    """The paths of the files in directories whose sample does not tell its version."""
    directories = {
        path.rpartition("/")[0]
        for path, tail in zip(samples, tails, strict=True)
        if is_unversioned(tail)
    }
    paths = (file.path for file in files)
    return [f"{location}/{path}" for path in paths if path.rpartition("/")[0] in directories]


def evidence_at(io: FileIO, root: str) -> tuple[Evidence, Sequence[FileEntry]]:
    """What the directory of a table or partition proves, and the files below it."""
    listing = io.listing(root)
    directories = [
        one for one in listing.directories if parse_directory(one.partition("/")[0]) is not None
    ]
    return evidence_of(listing.files, directories, hidden_reader(io, root)), listing.files


def roots_at(io: FileIO, location: str) -> Sequence[str]:
    """The directories of partitions below that of a table, relative to it."""
    listing = io.listing(location)
    return tuple(_roots(listing.files, listing.directories))


def _joined(root: str, path: str) -> str:
    return f"{root}/{path}".rstrip("/") if root else path


# ---- partitions

Roots = Mapping[str, tuple[list[FileEntry], list[str]]]


def _roots(files: Iterable[FileEntry], directories: Iterable[str]) -> Roots:
    """The files and directories of each partition, relative to it; "" for what lies beside all
    partitions, or in a table without any.
    """
    roots: dict[str, tuple[list[FileEntry], list[str]]] = {}
    for file in files:
        root = _root(file.path.rpartition("/")[0])
        inner = file.path[len(root) + 1 if root else 0 :]
        roots.setdefault(root, ([], []))[0].append(file._replace(path=inner))
    empty: set[str] = set()
    for directory in directories:
        root = _root(directory)
        inner = directory[len(root) + 1 if root else 0 :]
        if inner and parse_directory(inner.partition("/")[0]) is not None:
            roots.setdefault(root, ([], []))[1].append(inner)
        elif not inner:
            empty.add(root)
    above = {parent for root in (*roots, *empty) for parent in _parents(root)}
    for root in empty - above - roots.keys():
        roots[root] = ([], [])
    return roots


def _parents(root: str) -> Iterator[str]:
    while "/" in root:
        root = root.rpartition("/")[0]
        yield root


def _root(directory: str) -> str:
    """The part of a path that names a partition: ``day=1/hr=2``."""
    parts: list[str] = []
    for part in directory.split("/") if directory else ():
        if "=" not in part or parse_directory(part) is not None or is_hidden(part):
            break
        parts.append(part)
    return "/".join(parts)


def _partition_names(roots: Roots) -> tuple[str, ...]:
    """The names of the partition columns. BindError where partitions do not agree."""
    names = {
        root: tuple(unescape(part.partition("=")[0]).lower() for part in root.split("/") if part)
        for root in roots
    }
    kinds = {keys: root for root, keys in names.items()}
    if len(kinds) > 1:
        one, other = list(kinds.values())[:2]
        raise BindError(
            f'"{one or "."}" and "{other or "."}" are not partitions of one table',
            hint="Attach the directory of one table, in which no others lie.",
        )
    return next(iter(kinds), ())


def _checked_keys(names: Sequence[str], given: tuple[Column, ...]) -> tuple[Column, ...]:
    if not given:
        return tuple(Column(name=name, type=parse_type("string")) for name in names)
    if names and [column.name for column in given] != list(names):
        raise BindError(
            f"the directories are partitions by {', '.join(names)}, not by"
            f" {', '.join(column.name for column in given)}"
        )
    return given


def _partitions(location: str, roots: Roots, columns: tuple[Column, ...]) -> Iterator[Partition]:
    if not columns:
        return
    for root in sorted(filter(None, roots)):
        texts = partition_values([column.name for column in columns], root) or ()
        values = []
        for column, text in zip(columns, texts, strict=True):
            value = text if text == DEFAULT_PARTITION else canonical(text, column.type)
            if value is None:
                raise BindError(
                    f'partition "{root}": {column.name} is {column.type} and cannot be "{text}"'
                )
            values.append(value)
        yield Partition(values=tuple(values), location=f"{location}/{root}")


# ---- columns


def _samples(files: Iterable[FileEntry]) -> Iterator[str]:
    """A file with rows of each directory that can have some."""
    seen: set[str] = set()
    for file in sorted(files, key=lambda one: one.path):
        directory = file.path.rpartition("/")[0]
        name = parse_directory(directory.partition("/")[0]) if directory else None
        if (
            directory in seen
            or not file.size
            or isinstance(name, DeleteDelta)
            or is_hidden(file_name(file))
        ):
            continue
        seen.add(directory)
        yield file.path


def _footer(io: FileIO, path: str) -> OrcTail:
    try:
        return read_footer(io, path)
    except FormatError as error:
        raise BindError(
            f'"{path}" is no ORC file',
            detail=error.message,
            hint="Tables stored as ORC are attached.",
        ) from error


def _columns(
    samples: Sequence[str], tails: Sequence[OrcTail], given: tuple[Column, ...]
) -> tuple[Column, ...]:
    """The given columns, or those of the newest files; older ones may have fewer. BindError where
    files do not agree, or do not say what columns are called.
    """
    rows = [(path, _row(tail)) for path, tail in zip(samples, tails, strict=True)]
    if given:
        for path, row in rows:
            if len(row.names) > len(given):
                raise BindError(
                    f'"{path}" has {len(row.names)} columns, and {len(given)} are named'
                )
        return given
    if not rows:
        raise BindError("no file tells the columns of the table", hint=_NAME_COLUMNS)
    newest, widest = max(rows, key=lambda pair: (len(pair[1].names), _written(pair[0])))
    for path, row in rows:
        for number, (name, kind) in enumerate(zip(row.names, row.children, strict=True)):
            if name != widest.names[number] or not same_storage(widest.children[number], kind):
                raise BindError(
                    f'column {number + 1} is "{name} {kind}" in "{path}" and'
                    f' "{widest.names[number]} {widest.children[number]}" in "{newest}"',
                    hint=_NAME_COLUMNS,
                )
    if any(name.startswith("_col") and name[4:].isdigit() for name in widest.names):
        raise BindError(
            f'the files do not tell what columns are called: "{newest}" has'
            f" {', '.join(widest.names)}",
            hint=_NAME_COLUMNS,
        )
    return tuple(
        Column(name=name.lower(), type=_hive_type(name, kind))
        for name, kind in zip(widest.names, widest.children, strict=True)
    )


def _hive_type(name: str, kind: OrcType) -> HiveType:
    try:
        return parse_type(str(kind))
    except BindError:
        raise BindError(
            f'column "{name}" is stored as {kind}, which no type here stands for',
            hint=_NAME_COLUMNS,
        ) from None


def _row(tail: OrcTail) -> OrcType:
    assert tail.schema is not None
    return tail.schema.children[EVENT_ROW_COLUMN - 1] if is_event_file(tail) else tail.schema


def _written(path: str) -> int:
    """The highest write id in a path."""
    names = map(parse_directory, path.split("/"))
    return max((id_range(name)[1] for name in names if name is not None), default=0)
