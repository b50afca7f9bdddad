"""What rows, files and bytes go with a statement, and whether they can come back. Rows are counted
by statistics that hold, or by footers: no Spark, no values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from acidsql.catalog.model import FileFormat, Partition, Table
from acidsql.catalog.partitions import own_directories
from acidsql.catalog.statistics import BYTES, ROWS, is_accurate, whole_number
from acidsql.errors import Error
from acidsql.files.fileio import is_inside
from acidsql.lazy import dataclass
from acidsql.plan.plans import Plan
from acidsql.run.engine import Engine
from acidsql.settings import Settings
from acidsql.storage.parquet_metadata import read_metadata
from acidsql.storage.snapshots import Snapshots, TableSnapshot
from acidsql.txn.store import SessionStore

RETENTION = "acidsql.history.retention"


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What a dry run looks at. ``in_transaction``: the statement would be part of an open one,
    which ``refuses_definitions``: DDL, if it has begun. ``explain``: the lines of EXPLAIN.
    """

    engine: Engine
    store: SessionStore
    settings: Settings
    snapshots: Snapshots
    explain: Callable[[Plan], list[str]]
    in_transaction: bool = False
    refuses_definitions: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """``rows``: None where nothing but reading all of them tells; ``at_most``: some of them are
    deleted already. ``bytes`` are those of ``files`` files.
    """

    rows: int | None
    files: int
    bytes: int
    at_most: bool = False

    def __str__(self) -> str:
        of_files = f"{number(self.files, 'file')} ({number(self.bytes, 'byte')})"
        if self.rows is None:
            return f"rows that nobody has counted in {of_files}"
        return f"{'at most ' if self.at_most else ''}{number(self.rows, 'row')} in {of_files}"


def number(count: int, noun: str) -> str:
    """A count with its noun: ``1 row``, ``1,024 bytes``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def together(parts: Sequence[Going]) -> Going:
    known = [part.rows for part in parts if part.rows is not None]
    return Going(
        rows=sum(known) if len(known) == len(parts) else None,
        files=sum(part.files for part in parts),
        bytes=sum(part.bytes for part in parts),
        at_most=any(part.at_most for part in parts),
    )


def seen(around: Around, table: Table, partitions: Sequence[Partition]) -> Going:
    """The rows of a table, or of these partitions of it, and the files in which a reader sees
    them. Errors as of a reader's.
    """
    snapshot = around.snapshots.take(table, partitions)
    sizes = [file.file.size for file in (*snapshot.insert_files, *snapshot.delete_files)]
    rows, at_most = _rows(around, snapshot, partitions, sum(sizes))
    return Going(rows=rows, files=len(sizes), bytes=sum(sizes), at_most=at_most)


def lying(
    around: Around, table: Table, partitions: Sequence[Partition], roots: Iterable[str]
) -> Going:
    """The rows of a table or of partitions, and all files below ``roots``, also those that no
    reader sees any more. What cannot be read is not counted.
    """
    try:
        rows = seen(around, table, partitions)
    except (Error, OSError):
        rows = Going(rows=None, files=0, bytes=0)
    files = [file for root in roots for file in around.engine.files.list_files(root)]
    return Going(
        rows=rows.rows,
        files=len(files),
        bytes=sum(file.size for file in files),
        at_most=rows.at_most,
    )


def directories_of(table: Table, partitions: Sequence[Partition]) -> list[str]:
    """Where a table's files lie, also those of others."""
    if table.view is not None:
        return []
    if table.owns_files:
        return own_directories(table, partitions)
    outside = [p.location for p in partitions if not is_inside(p.location, table.location)]
    return [*outside, table.location]


def _rows(
    around: Around, snapshot: TableSnapshot, partitions: Sequence[Partition], size: int
) -> tuple[int | None, bool]:
    """How many rows, and whether it may be fewer."""
    table, resources = snapshot.table, around.engine.resources
    if table.file_format is FileFormat.ORC:
        if table.is_full_acid:
            by = partitions if table.partition_columns else None
            counted = around.snapshots.counted(table, by)
            if counted is not None and counted.bytes == size:
                return counted.rows, False
        most = int(around.settings.number("acidsql.read.deletes.max.events"))
        counts = resources.counter.rows(snapshot, max_events=most)
        if counts is not None:
            return sum(counts), False
        files = resources.known.footers.insert_files(resources.files, snapshot.insert_files)
        return sum(file.rows for file in files), True
    if table.file_format is FileFormat.PARQUET:
        paths = [file.path for file in snapshot.insert_files]
        return sum(read_metadata(resources.files, path).num_rows for path in paths), False
    return _by_statistics(table, partitions, size), False


def _by_statistics(table: Table, partitions: Sequence[Partition], size: int) -> int | None:
    """What statistics say of a table whose files do not, if they are of these files."""
    known = [p.statistics for p in partitions] if table.partition_columns else [table.statistics]
    rows = [whole_number(one.get(ROWS)) for one in known]
    sizes = [whole_number(one.get(BYTES)) for one in known]
    if not all(map(is_accurate, known)) or None in rows or None in sizes:
        return None
    if sum(filter(None, sizes)) != size:
        return None
    return sum(filter(None, rows))


# Whether it comes back


def of_dropped(table: Table) -> str:
    """What becomes of the files of what is dropped."""
    if table.owns_files:
        return (
            "cannot be undone: the files are deleted, with or without PURGE, as soon as no reader"
            " that began before needs them; history that was kept goes with them"
        )
    return (
        "the files stay: the table is external; the same table made again at their directory has"
        " their rows"
    )


def of_overwritten(around: Around, table: Table) -> str:
    """What becomes of the files of what is overwritten."""
    if not table.is_transactional:
        return "cannot be undone: the files are replaced at once, there is no roll-back"
    before = "ROLLBACK brings them back until COMMIT; then " if around.in_transaction else ""
    write_id = around.store.valid_write_ids(table.name, around.store.valid_txns()).high_watermark
    retention = table.properties.get(RETENTION) or around.settings.text(RETENTION)
    return (
        f"{before}no statement brings them back; the files stay, hidden, until a compaction has"
        f" been cleaned behind and {RETENTION} ({retention}) is over: until then"
        f" session.scan('{table.name}', as_of={write_id}) reads them"
    )
