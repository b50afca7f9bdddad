"""The facts of a table's health, gathered: directories side by side, each footer once."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Protocol

from acidsql.acid.ids import TxnId, ValidTxnList, ValidWriteIdList, WriteId, is_reserved
from acidsql.catalog.attached import seen_txns
from acidsql.catalog.describe import literal, quoted
from acidsql.catalog.model import FileFormat, Partition, Table
from acidsql.catalog.partitions import name_of, partition_values
from acidsql.compaction.cleaner import NO_CLEANUP, kept_until
from acidsql.compaction.decision import Decision, Store
from acidsql.compaction.health import (
    SMALL_BYTES,
    Figures,
    OpenTxn,
    OpenWrite,
    PartitionHealth,
    TableHealth,
    figures_of,
)
from acidsql.compaction.initiator import Initiator, Where
from acidsql.compaction.layout import (
    HiddenEntry,
    Layout,
    hidden_entries,
    plain_layout,
    root_write_ids,
    take_layout,
    with_rows,
)
from acidsql.errors import Error
from acidsql.files.fileio import FileIO, path_of
from acidsql.files.parallel import look_at_all
from acidsql.settings import Settings
from acidsql.txn.compactions import Compaction, CompactionState, CompactionType
from acidsql.txn.locks import NO_TXN, LockState
from acidsql.txn.manager import TxnState
from acidsql.txn.readers import ReaderInfo, Readers

# ---- blockers
#
# What keeps a table from being better: why the cleaner cannot remove what is obsolete, and the
# commands that mend it.


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


# ---- examination


Report = Callable[[int, int], None]
"""Hears how many footers of how many have been read."""


class HealthStore(Store, Readers, Protocol):
    """What is asked of a store about a table's health."""


Named = tuple[str | None, Layout]
"""A partition's name, or None, and what lies there."""

Judge = Callable[[Where], Decision]


def silent(done: int, known: int) -> None:
    """The ``Report`` of a caller who does not follow the work."""


def table_health(
    store: HealthStore,
    io: FileIO,
    settings: Settings,
    table: Table,
    partitions: Sequence[Partition] | None = None,
    *,
    now: float,
    small_size: int = SMALL_BYTES,
    footers: bool = True,
    report: Report = silent,
) -> TableHealth:
    """The health of a table, or of these partitions of it. ``now``: epoch seconds. ``footers``:
    whether rows are to be known. OSError if a directory cannot be listed.
    """
    now_valid = store.valid_txns()
    write_ids = store.valid_write_ids(table.name, now_valid) if table.is_transactional else None
    txns = seen_txns(table, now_valid)
    known = store.list_partitions(table) if partitions is None else partitions
    compactions = store.seen_compactions(now_valid)
    named = _layouts(io, table, known, write_ids, txns, compactions)
    if footers and table.file_format is FileFormat.ORC:
        counted = with_rows(io, [layout for _, layout in named], report)
        named = [(name, layout) for (name, _), layout in zip(named, counted, strict=True)]
    entries = tuple(e for e in store.compactions() if e.request.table == table.name)
    judge = _judge_of(store, io, settings, now) if write_ids is not None else None
    judged = [
        PartitionHealth(
            name=name,
            layout=layout,
            figures=figures_of(layout, small_size, merges=table.is_full_acid),
            decision=_judged(judge, table, (name, layout)),
        )
        for name, layout in named
    ]
    whole = bool(table.partition_columns) and table.is_transactional
    hidden = tuple(_hidden(store, io, path_of(table.location), txns)) if whole else ()
    health = TableHealth(
        name=str(table.name),
        path=table.location,
        table=table,
        now=int(now * 1000),
        partitions=tuple(judged),
        total=reduce(Figures.plus, (p.figures for p in judged), _figures_of_garbage(hidden)),
        hidden=hidden,
        write_ids=write_ids,
        compactions=entries,
        small_size=small_size,
        renames=io.renames(path_of(table.location)),
    )
    return _with_others(store, settings, health)


def _figures_of_garbage(hidden: Sequence[HiddenEntry]) -> Figures:
    garbage = [entry for entry in hidden if entry.is_garbage]
    return Figures(garbage=len(garbage), garbage_bytes=sum(entry.bytes for entry in garbage))


def _hidden(store: HealthStore, io: FileIO, home: str, txns: ValidTxnList) -> Iterator[HiddenEntry]:
    """What has a hidden name beside partitions, as far as the store needs it."""
    entries = {f"{home}/{entry.path}": entry for entry in hidden_entries(io, home, txns)}
    kept = store.kept(tuple(entries)) if entries else ()
    for path, entry in entries.items():
        yield replace(entry, is_garbage=False, is_kept=True) if path in kept else entry


def path_health(
    io: FileIO, path: str, *, now: float, small_size: int = SMALL_BYTES, report: Report = silent
) -> TableHealth:
    """The health of a directory that no catalog knows: layout and footers, by names alone. OSError
    if it cannot be listed.
    """
    listing = io.listing(path)
    roots = roots_in(listing.directories)
    write_ids = root_write_ids(listing.directories)
    layouts = [
        take_layout(io, f"{path}/{root}".rstrip("/"), write_ids, None) for root in roots or [""]
    ]
    if not roots:
        layouts = [plain_layout(io, path)]
    counted = with_rows(io, layouts, report)
    judged = tuple(
        PartitionHealth(name=root or None, layout=one, figures=figures_of(one, small_size))
        for root, one in zip(roots or [""], counted, strict=True)
    )
    return TableHealth(
        name=path,
        path=path,
        table=None,
        now=int(now * 1000),
        partitions=judged,
        total=reduce(Figures.plus, (p.figures for p in judged), Figures()),
        write_ids=write_ids if roots else None,
        small_size=small_size,
    )


def roots_in(directories: Iterable[str]) -> list[str]:
    """The directories that hold ACID directories, by their paths; "" is the one that was listed."""
    roots: dict[str, None] = {}
    for path in directories:
        parts = path.split("/")
        for depth, part in enumerate(parts):
            if is_reserved(part):
                roots["/".join(parts[:depth])] = None
                break
    return sorted(roots)


def _layouts(
    io: FileIO,
    table: Table,
    partitions: Sequence[Partition],
    write_ids: ValidWriteIdList | None,
    txns: ValidTxnList,
    compactions: ValidTxnList | None,
) -> list[Named]:
    roots: list[tuple[str | None, str]] = [
        (name_of(table, partition), path_of(partition.location)) for partition in partitions
    ]
    if not table.partition_columns:
        roots = [(None, path_of(table.location))]

    def look(root: str) -> Layout:
        if write_ids is None:
            return plain_layout(io, root)
        return take_layout(
            io, root, write_ids, txns, compactions=compactions, events=table.is_full_acid
        )

    layouts = look_at_all(look, [root for _, root in roots])
    return [(name, layout) for (name, _), layout in zip(roots, layouts, strict=True)]


# ---- the initiator


def _judge_of(store: Store, io: FileIO, settings: Settings, now: float) -> Judge:
    initiator = Initiator(
        store=store, files=io, settings=settings, clock=lambda: now, name="inspect"
    )
    return initiator.judging()


def _judged(judge: Judge | None, table: Table, named: Named) -> Decision | None:
    """What the initiator will do with a partition, and why or why not."""
    if judge is None:
        return None
    name, layout = named
    if layout.problem is not None:
        return Decision(type=None, why="nobody can tell what to read of it")
    try:
        return judge((table.name, name))
    except (Error, OSError) as error:
        return Decision(type=None, why=str(error).splitlines()[0])


# ---- the others


def _with_others(store: HealthStore, settings: Settings, health: TableHealth) -> TableHealth:
    """The health, with who else is at the table."""
    table, write_ids = health.table, health.write_ids
    if table is None or write_ids is None:
        return health
    locks = store.list_locks()
    statements = {lock.txn_id: lock.statement for lock in locks if lock.txn_id != NO_TXN}
    held = [
        lock
        for lock in locks
        if (lock.component.database, lock.component.table)
        == (table.name.database, table.name.table)
        and lock.state is LockState.ACQUIRED
    ]
    open_writes = tuple(_open_writes(store, health, statements))
    known = replace(
        health,
        open_writes=open_writes,
        oldest_txn=_oldest_txn(store, open_writes, statements),
        readers=tuple(r for r in store.list_readers() if r.table == table.name),
        oldest_lock=min(held, key=lambda lock: lock.acquired_at, default=None),
    )
    known = replace(known, blockers=tuple(blockers_of(known, settings)))
    return replace(known, mends=tuple(mends_of(known)))


def _open_writes(
    store: Store, health: TableHealth, statements: Mapping[TxnId, str]
) -> Iterator[OpenWrite]:
    """The open write ids of the table with their transactions, which are looked for from the
    oldest on.
    """
    assert health.table is not None
    assert health.write_ids is not None
    wanted = set(health.write_ids.open)
    for txn in store.list_txns():
        if not wanted:
            return
        outcome = store.find_txn(txn.txn_id) if txn.state is TxnState.OPEN else None
        for write in () if outcome is None else outcome.writes:
            if write.table == health.table.name and write.write_id in wanted:
                wanted.discard(write.write_id)
                yield OpenWrite(
                    write_id=WriteId(write.write_id),
                    txn_id=txn.txn_id,
                    user=txn.user,
                    host=txn.host,
                    started=txn.started,
                    statement=statements.get(txn.txn_id) or None,
                )


def _oldest_txn(
    store: Store, open_writes: Sequence[OpenWrite], statements: Mapping[TxnId, str]
) -> OpenTxn | None:
    txn = next((txn for txn in store.list_txns() if txn.state is TxnState.OPEN), None)
    if txn is None:
        return None
    return OpenTxn(
        txn_id=txn.txn_id,
        user=txn.user,
        host=txn.host,
        started=txn.started,
        statement=statements.get(txn.txn_id) or None,
        writes=any(write.txn_id == txn.txn_id for write in open_writes),
    )
