"""What keeps a table from being better: why the cleaner cannot remove what is obsolete, and the
commands that mend it.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from acidsql.catalog.describe import literal, quoted
from acidsql.catalog.model import Table
from acidsql.catalog.partitions import partition_values
from acidsql.compaction.cleaner import NO_CLEANUP, kept_until
from acidsql.compaction.health import PartitionHealth, TableHealth
from acidsql.settings import Settings
from acidsql.txn.compactions import Compaction, CompactionState, CompactionType
from acidsql.txn.readers import ReaderInfo

_MOST_MENDS = 10


def blockers_of(health: TableHealth, settings: Settings) -> Iterator[str]:
    """Why obsolete and aborted directories are still there, a line each; none where there are
    none.
    """
    total, table = health.total, health.table
    if table is None or not (total.obsolete or total.aborted or total.garbage):
        return
    if any(table.properties.get(name, "").lower() == "true" for name in NO_CLEANUP):
        yield "the table has NO_CLEANUP"
    waiting = _waiting(health)
    if total.obsolete and not waiting:
        yield "no compaction waits for the cleaner: obsolete directories go with the next one"
    for entry in waiting:
        yield from _of_entry(health, entry)
        until = kept_until(entry, table, settings)
        if until > health.now:
            yield f"compaction {entry.compaction_id}: its files are kept until {_time(until)}"


def _waiting(health: TableHealth) -> list[Compaction]:
    """The compactions of which the cleaner has still to remove what they made obsolete."""
    return [c for c in health.compactions if c.state is CompactionState.READY_FOR_CLEANING]


def _of_entry(health: TableHealth, entry: Compaction) -> Iterator[str]:
    what = f"compaction {entry.compaction_id}"
    if entry.attempts:
        again = "" if entry.retry_after is None else f", tried again at {_time(entry.retry_after)}"
        yield f"{what}: cleaning has failed {entry.attempts} times{again}: {entry.message}"
    for write in health.open_writes:
        if entry.highest_write_id is not None and write.write_id <= entry.highest_write_id:
            yield f"{what}: transaction {write.txn_id} of {write.user}@{write.host} is open"
    for reader in health.readers:
        if _is_older(reader, entry):
            who = f"{reader.user}@{reader.host} reads it since {_time(reader.started)}"
            statement = f": {' '.join(reader.statement.split())}" if reader.statement else ""
            yield f"{what}: {who}{statement}"


def _is_older(reader: ReaderInfo, entry: Compaction) -> bool:
    """Whether a registration is from before the compaction's commit, so that it may need what that
    has replaced.
    """
    if reader.txn_id is not None:
        return entry.next_txn_id is None or reader.txn_id < entry.next_txn_id
    return entry.committed is None or reader.started <= entry.committed


def _time(milliseconds: int) -> str:
    time = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)
    return f"{time:%Y-%m-%d %H:%M:%S} UTC"


def mends_of(health: TableHealth) -> Iterator[str]:
    """The commands that make the table better, the most urgent first; for some partitions, should
    there be very many that are alike.
    """
    if health.table is None:
        return
    if health.problems or any(p.layout.unreadable for p in health.partitions):
        yield f"acidsql doctor {health.name}"
    due = [p for p in health.partitions if p.decision is not None and p.decision.type is not None]
    if not _waiting(health):
        due += [p for p in health.partitions if p.figures.obsolete and p not in due]
    for partition in due[:_MOST_MENDS]:
        yield compact_statement(health, partition)
    total = health.total
    if total.obsolete or total.aborted or total.garbage:
        yield "acidsql compactor --once --cleaner"


def compact_statement(
    health: TableHealth, partition: PartitionHealth, kind: CompactionType | None = None
) -> str:
    """The statement that compacts a partition as the initiator would, or as ``kind`` says."""
    assert health.table is not None
    decided = kind or (partition.decision.type if partition.decision is not None else None)
    word = (decided or CompactionType.MAJOR).name.lower()
    name = health.table.name
    return (
        f"ALTER TABLE {quoted(name.database)}.{quoted(name.table)}"
        f"{_partition_clause(health.table, partition.name)} COMPACT '{word}'"
    )


def _partition_clause(table: Table, name: str | None) -> str:
    keys = [column.name for column in table.partition_columns]
    values = None if name is None else partition_values(keys, name)
    if values is None:
        return ""
    pairs = zip(keys, values, strict=True)
    return f" PARTITION ({', '.join(f'{quoted(key)}={literal(value)}' for key, value in pairs)})"
