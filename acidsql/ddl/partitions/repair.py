"""MSCK [REPAIR] TABLE: the partitions that directories tell of against those of the catalog. Hive:
HiveMetaStoreChecker, Msck.

A directory is one partition, whatever its name looks like: ``hr=01`` of an INT is the partition
``hr=1`` and stays where it lies.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from acidsql.acid.evidence import evidence_of
from acidsql.acid.snapshot import nothing_hidden
from acidsql.catalog.model import Partition, Table
from acidsql.catalog.partitions import (
    name_of,
    partition_name,
    partition_values,
    unescape,
    unnameable,
)
from acidsql.ddl.partitions.locations import HighestIds, at_span, check_ids, highest_ids
from acidsql.ddl.warehouse import Warehouse, file_errors, one_column
from acidsql.errors import BindError, Span
from acidsql.files.fileio import FileIO, Listing
from acidsql.lazy import dataclass
from acidsql.planner.bind.bound_catalog import BoundRepairTable
from acidsql.planner.bind.partitions import canonical
from acidsql.result import Result
from acidsql.storage.undeclared import find_undeclared, named, runs, what_to_say
from acidsql.txn.manager import highest_given


def repair_table(warehouse: Warehouse, action: BoundRepairTable) -> Result:
    """Compares directories and catalog. The lines are those that Hive prints: what differs, then
    what was done about it.
    """
    table = action.table
    if not table.partition_columns:
        return _answer([])
    io = warehouse.files
    known = warehouse.store.list_partitions(table)
    with file_errors("MSCK"):
        # a disk that is not mounted, perhaps: no reason to forget all partitions
        if not io.exists(table.location):
            return _answer([f"Tables missing on filesystem:\t{table.name.table}"])
        listing = io.listing(table.location)
        missing = _missing(io, table, known, listing)
    findings = _Finder(table, known, listing).findings()
    lines = _differences(table, findings.partitions, missing)
    lines += _reported(warehouse, findings.problems, action.span)
    if action.add and findings.partitions:
        with at_span(action.span):
            _take_over(warehouse, table, known)
            check_ids(warehouse, table, findings.ids)
            _check_finished(warehouse, findings.ids)
        new = [
            Partition(values=p.values, location=p.location, created_at=action.now)
            for p in findings.partitions
        ]
        added = warehouse.store.add_partitions(table.name, new, if_not_exists=True)
        lines += [
            f"Repair: Added partition to metastore {_shown(table, partition)}"
            for partition in added
        ]
    if action.drop and missing:
        dropped = warehouse.store.drop_partitions(table, missing)
        lines += [
            f"Repair: Dropped partition from metastore {_shown(table, partition)}"
            for partition in dropped
        ]
    return _answer(lines)


def _take_over(warehouse: Warehouse, table: Table, known: Sequence[Partition]) -> None:
    """Gives a table the write ids of files that others wrote, where these prove that all of them
    count. BindError where it is to be decided; see ``storage.undeclared``.
    """
    if not table.is_transactional:
        return
    store = warehouse.store
    given_out = highest_given(store, table.name)
    locations = [partition.location for partition in known]
    with file_errors("MSCK"):
        undeclared = find_undeclared(warehouse.files, table, locations, given_out)
    if undeclared is None:
        return
    if undeclared.undecided:
        raise BindError(
            f"it is not known which of the write ids {runs(undeclared.write_ids)} of table"
            f" {table.name} were committed: others wrote its files",
            detail=named(undeclared.undecided, table.location),
            hint=what_to_say(table),
        )
    store.declare_write_ids(
        table.name,
        committed=[undeclared.highest],
        aborted=[],
        highest_txn=undeclared.highest_txn,
    )


def _check_finished(warehouse: Warehouse, ids_by_location: Mapping[str, HighestIds]) -> None:
    """Raises BindError for an empty result of a compaction beside what it should have taken in,
    which would hide these rows.
    """
    for location in [at for at, ids in ids_by_location.items() if ids.visibility]:
        with file_errors("MSCK"):
            listing = warehouse.files.listing(location)
        evidence = evidence_of(listing.files, listing.directories, nothing_hidden)
        for path in evidence.unfinished.values():
            raise BindError(
                f'"{location}/{path}" is the empty result of a compaction that seems never to have'
                " committed: it would hide the rows beside it",
                hint="Remove it, and run the statement again.",
            )


def _answer(lines: Iterable[str]) -> Result:
    return one_column("msck", lines)


def _shown(table: Table, partition: Partition) -> str:
    return f"{table.name.table}:{name_of(table, partition)}"


def _missing(
    io: FileIO, table: Table, known: Sequence[Partition], listing: Listing
) -> list[Partition]:
    """The known partitions whose directory does not exist."""
    directories = frozenset(f"{table.location}/{path}" for path in listing.directories)
    return [p for p in known if p.location not in directories and not io.exists(p.location)]


def _differences(
    table: Table, unknown: Sequence[Partition], missing: Sequence[Partition]
) -> list[str]:
    named = (
        ("Partitions not in metastore:", unknown),
        ("Partitions missing from filesystem:", missing),
    )
    return [
        "\t".join([title, *sorted(_shown(table, p) for p in partitions)])
        for title, partitions in named
        if partitions
    ]


def _reported(warehouse: Warehouse, problems: Sequence[str], span: Span) -> list[str]:
    """Does what hive.msck.path.validation says with directories that are no partitions.
    BindError, a line for each, or nothing.
    """
    match warehouse.settings.get("hive.msck.path.validation"):
        case "throw" if problems:
            more = f"{len(problems) - 1} more like this" if len(problems) > 1 else None
            hint = "SET hive.msck.path.validation=skip passes over what is no partition."
            raise BindError(problems[0], detail=more, hint=hint, span=span)
        case "skip":
            return [f"Repair: {problem}" for problem in problems]
        case _:
            return []


@dataclass(frozen=True, slots=True, kw_only=True)
class _Findings:
    """The outcome of a search. ``partitions``: those the catalog does not know, by name. ``ids``:
    of each, by its location. ``problems``: in Hive's words.
    """

    partitions: tuple[Partition, ...]
    ids: Mapping[str, HighestIds]
    problems: tuple[str, ...]


class _Finder:
    """Walks through a listing, one level for each partition column."""

    def __init__(self, table: Table, known: Sequence[Partition], listing: Listing) -> None:
        self.table = table
        self.columns = table.partition_columns
        self.known = {p.values: p for p in known}
        self.locations = frozenset(p.location for p in known)
        self.above = frozenset(
            parent for location in self.locations for parent in _parents(location)
        )
        self.problems: list[str] = []
        self.directories: defaultdict[str, list[str]] = defaultdict(list)
        self.files: defaultdict[str, list[str]] = defaultdict(list)
        for paths, kept in (
            (listing.directories, self.directories),
            ([f.path for f in listing.files], self.files),
        ):
            for path in paths:
                parent, _, name = path.rpartition("/")
                kept[parent].append(name)

    def findings(self) -> _Findings:
        paths = [path for path in self._paths("", 0) if self._full(path) not in self.locations]
        values = {path: self._values(path) for path in paths}
        times = Counter(values.values())
        partitions: list[Partition] = []
        for path, one in values.items():
            if one is not None and self._is_free(path, one, times[one]):
                partitions.append(Partition(values=one, location=self._full(path)))
        partitions.sort(key=lambda p: name_of(self.table, p))
        ids = {
            p.location: highest_ids(
                self.directories[p.location.removeprefix(f"{self.table.location}/")]
            )
            for p in partitions
        }
        return _Findings(partitions=tuple(partitions), ids=ids, problems=tuple(self.problems))

    def _full(self, path: str) -> str:
        return f"{self.table.location}/{path}"

    def _paths(self, path: str, depth: int) -> Iterator[str]:
        """The directories below that are deep enough; those of partitions that have a location
        of their own are passed over.
        """
        if depth == len(self.columns):
            yield path
            return
        if (
            path
            and not self.directories[path]
            and not self.files[path]
            and self._full(path) not in self.above
        ):
            self.problems.append(f"MSCK is missing partition columns under {self._full(path)}")
        for name in self.files[path]:
            self.problems.append(
                "MSCK finds a file rather than a directory when it searches for"
                f" {self._full(_joined(path, name))}"
            )
        for name in self.directories[path]:
            below = _joined(path, name)
            key, _, value = name.partition("=")
            if self._full(below) in self.locations and depth + 1 < len(self.columns):
                continue
            if not value or "=" in value:
                if self._full(below) not in self.locations | self.above:
                    self.problems.append(f"Invalid partition name {self._full(below)}")
            elif unescape(key).lower() != self.columns[depth].name:
                if self._full(below) not in self.locations | self.above:
                    self.problems.append(
                        f"Unexpected partition key {key} found at {self._full(below)}"
                    )
            else:
                yield from self._paths(below, depth + 1)

    def _values(self, path: str) -> tuple[str, ...] | None:
        """The values in a path as Hive would have written them. None, and a problem, if they are
        not of their column's type.
        """
        texts = partition_values([c.name for c in self.columns], path) or ()
        values = []
        for column, text in zip(self.columns, texts, strict=True):
            value = canonical(text, column.type)
            if value is None:
                self._refuse(path, f"{column.name} is {column.type} and cannot be '{text}'")
                return None
            if (problem := unnameable(column.name, value)) is not None:
                self._refuse(path, f"its {column.name} {problem}")
                return None
            values.append(value)
        return tuple(values)

    def _is_free(self, path: str, values: tuple[str, ...], times: int) -> bool:
        name = partition_name([c.name for c in self.columns], values)
        if values in self.known:
            self._refuse(path, f"{name} lies at {self.known[values].location}")
        elif times > 1:
            self._refuse(path, f"{times} directories are {name}")
        return values not in self.known and times == 1

    def _refuse(self, path: str, reason: str) -> None:
        self.problems.append(
            f"Cannot add partition {self.table.name.table}:{path} because {reason}"
        )


def _parents(path: str) -> Iterator[str]:
    while path:
        path = path.rpartition("/")[0]
        yield path


def _joined(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name
