"""The health of a table: what its directories hold, who keeps it from being compacted or cleaned,
what the initiator will do and why, what a scan would gain. Looks only; changes nothing.

    layout (names, sizes) + footers (rows) + store (transactions, locks, queue)  ->  TableHealth
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from acidsql.acid.ids import (
    TxnId,
    ValidCompactorWriteIdList,
    ValidWriteIdList,
    WriteId,
    original_bucket,
    parse_bucket_file,
)
from acidsql.acid.listed import file_name
from acidsql.catalog.model import Table
from acidsql.compaction.decision import Decision
from acidsql.compaction.layout import HiddenEntry, Kind, Layout, State
from acidsql.lazy import dataclass
from acidsql.txn.compactions import Compaction
from acidsql.txn.locks import LockInfo
from acidsql.txn.readers import ReaderInfo

SMALL_BYTES = 16 << 20
"""A file under this size is small: opening it takes longer than reading it."""

_INSERTS = (Kind.BASE, Kind.DELTA, Kind.ORIGINALS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The numbers of a partition, or of all. ``files`` and ``bytes``: what a scan reads now, of
    which ``small_files`` and ``small_bytes`` are in small files. ``rows`` and ``deletes``: rows and
    delete events in them, None where nobody has looked.
    """

    bases: int = 0
    deltas: int = 0
    delete_deltas: int = 0
    originals: int = 0
    files: int = 0
    bytes: int = 0
    small_files: int = 0
    small_bytes: int = 0
    rows: int | None = None
    deletes: int | None = None
    obsolete: int = 0
    obsolete_bytes: int = 0
    aborted: int = 0
    aborted_bytes: int = 0
    undecided: int = 0
    garbage: int = 0
    garbage_bytes: int = 0
    files_then: int = 0
    bytes_then: int = 0

    @property
    def delete_ratio(self) -> float | None:
        """Delete events for each row that there is in the files."""
        if self.rows is None or self.deletes is None:
            return None
        return self.deletes / self.rows if self.rows else 0.0

    def plus(self, other: Figures) -> Figures:
        """The sum; what is not known of one is known of what is known of the other."""
        names = (field.name for field in fields(self))
        return Figures(**{name: _sum(getattr(self, name), getattr(other, name)) for name in names})


def _sum(one: int | None, other: int | None) -> Any:
    return other if one is None else one if other is None else one + other


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionHealth:
    """One partition, or a table without any. ``decision``: the initiator's; None for a table that
    nobody compacts.
    """

    name: str | None
    layout: Layout
    figures: Figures
    decision: Decision | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenWrite:
    """A write id that is not decided yet: no compaction reaches it or what comes behind it.
    ``started``: in epoch milliseconds.
    """

    write_id: WriteId
    txn_id: TxnId | None
    user: str
    host: str
    started: int
    statement: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTxn:
    """The oldest open transaction of the whole store; ``writes``: it has a write id here."""

    txn_id: TxnId
    user: str
    host: str
    started: int
    statement: str | None
    writes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHealth:
    """The health of a table. ``table``: None for a directory that no catalog knows. ``now``: when
    it was looked at, in epoch milliseconds.

    ``readers``: who has registered to read it, the oldest first. ``hidden``: what lies beside the
    partitions of a table that has some. ``compactions``: the table's entries in the queue and its
    history; ``blockers``: what keeps the cleaner from removing what is obsolete, in words;
    ``mends``: commands that make it better; ``small_size``: the bytes under which a file was
    counted as small; ``renames``: a directory there gets its name in one step.
    """

    name: str
    path: str
    table: Table | None
    now: int
    partitions: tuple[PartitionHealth, ...]
    total: Figures
    hidden: tuple[HiddenEntry, ...] = ()
    write_ids: ValidWriteIdList | None = None
    open_writes: tuple[OpenWrite, ...] = ()
    oldest_txn: OpenTxn | None = None
    oldest_lock: LockInfo | None = None
    readers: tuple[ReaderInfo, ...] = ()
    compactions: tuple[Compaction, ...] = ()
    blockers: tuple[str, ...] = ()
    mends: tuple[str, ...] = ()
    small_size: int = SMALL_BYTES
    renames: bool = True

    @property
    def kind(self) -> str:
        """What sort of table it is, in words."""
        if self.table is None:
            return "unknown to the catalog"
        if not self.table.is_transactional:
            return "not transactional"
        return "insert-only" if self.table.is_insert_only else "full ACID"

    @property
    def problems(self) -> tuple[str, ...]:
        """Why readers fail, a line for each root."""
        return tuple(
            f"{p.name}: {p.layout.problem}" if p.name else p.layout.problem
            for p in self.partitions
            if p.layout.problem is not None
        )

    @property
    def compactable(self) -> WriteId | None:
        """The highest write id that a compaction may take in now."""
        if self.write_ids is None:
            return None
        return ValidCompactorWriteIdList.of(self.write_ids).high_watermark

    @property
    def facts(self) -> list[tuple[str, str, str]]:
        """The health in words: section, item, value; the rows of DESCRIBE HEALTH."""
        from acidsql.compaction.picture import facts

        return facts(self)

    def __str__(self) -> str:
        from acidsql.compaction.picture import picture

        return picture(self)

    def _repr_html_(self) -> str:
        from acidsql.compaction.picture import html_picture

        return html_picture(self)


def figures_of(layout: Layout, small_size: int, *, merges: bool = True) -> Figures:
    """The numbers of a layout. ``merges``: a major compaction makes one file of those of the same
    bucket number, without the rows that are deleted.
    """
    read = list(layout.of(State.READ))
    inserts = [d for d in read if d.kind in _INSERTS]
    files = [file for directory in read for file in directory.files]
    small = [file for file in files if file.size < small_size]
    rows = _rows(d.rows for d in inserts)
    deletes = _rows(d.rows for d in read if d.kind is Kind.DELETE_DELTA)
    held = sum(directory.bytes for directory in inserts)
    obsolete, aborted = list(layout.of(State.OBSOLETE)), list(layout.of(State.ABORTED))
    garbage = list(layout.garbage)
    buckets = {_bucket(file_name(file)) for d in inserts for file in d.files if file.size}
    live = 1.0 if not rows or deletes is None else max(rows - deletes, 0) / rows
    return Figures(
        bases=sum(d.kind is Kind.BASE for d in read),
        deltas=sum(d.kind is Kind.DELTA for d in read),
        delete_deltas=sum(d.kind is Kind.DELETE_DELTA for d in read),
        originals=sum(len(d.files) for d in read if d.kind is Kind.ORIGINALS),
        files=len(files),
        bytes=sum(file.size for file in files),
        small_files=len(small),
        small_bytes=sum(file.size for file in small),
        rows=rows,
        deletes=deletes,
        obsolete=len(obsolete),
        obsolete_bytes=sum(d.bytes for d in obsolete),
        aborted=len(aborted),
        aborted_bytes=sum(d.bytes for d in aborted),
        undecided=sum(1 for _ in layout.of(State.UNDECIDED)),
        garbage=len(garbage),
        garbage_bytes=sum(entry.bytes for entry in garbage),
        files_then=len(buckets) if merges else len(files),
        bytes_then=int(held * live) if merges else held,
    )


def _bucket(name: str) -> int | str:
    number = parse_bucket_file(name)
    if number is None:
        number = original_bucket(name)
    return name if number is None else number


def _rows(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    return None if None in known else sum(count for count in known if count is not None)
