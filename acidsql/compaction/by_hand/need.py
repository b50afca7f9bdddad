"""Whether a compaction that a user asks for has anything to do, and what it has left to lie.

Asked for by hand, one takes whatever there is: the initiator's thresholds spare work that nobody
has asked for. Hive 4 asks them of each partition where a statement names none, which
``acidsql.strict.hive`` keeps to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from acidsql.acid.ids import ValidWriteIdList
from acidsql.acid.listed import AcidDirectory
from acidsql.catalog.model import Partition, Table
from acidsql.catalog.partitions import name_of, names_words
from acidsql.compaction.cleaner import kept_until
from acidsql.compaction.decision import Thresholds, decide, directory_of, facts_of
from acidsql.compaction.merging.choosing import choose_inputs
from acidsql.errors import Warning
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import look_at_all
from acidsql.files.urls import path_of
from acidsql.settings import Settings
from acidsql.storage.snapshots import directory_of_table
from acidsql.txn.compactions import Compaction, CompactionType
from acidsql.txn.manager import TxnManager


def need_compaction(
    store: TxnManager,
    io: FileIO,
    settings: Settings,
    table: Table,
    partitions: Sequence[Partition],
    type: CompactionType,
) -> list[bool]:
    """Whether a compaction of each of these partitions has anything to merge or to clean; under
    ``acidsql.strict.hive`` whether the initiator would have it made. OSError; FormatError for a
    layout that is not Hive's; ProgrammingError for a threshold of the table's that is no number.
    """
    txns = store.valid_txns()
    write_ids = store.valid_write_ids(table.name, txns)
    by_thresholds = settings.flag("acidsql.strict.hive")
    thresholds = Thresholds.of(settings, table) if by_thresholds else None

    def is_needed(partition: Partition) -> bool:
        seen = directory_of(store, io, table, partition, write_ids, txns)
        if thresholds is not None:
            return decide(facts_of(table, seen), thresholds).type is not None
        return _has_work(table, seen, type, write_ids)

    return look_at_all(is_needed, partitions)


def _has_work(
    table: Table, seen: AcidDirectory, type: CompactionType, write_ids: ValidWriteIdList
) -> bool:
    """Whether the worker would find anything; a rebalance of a base alone takes a name of its
    own.
    """
    if seen.obsolete or seen.aborted:
        return True
    if type is CompactionType.REBALANCE and table.is_full_acid:
        return bool(seen.base or seen.current or seen.originals)
    return choose_inputs(seen, type, write_ids.high_watermark) is not None


# What is left

Ended = tuple[Partition | None, Compaction | None]
"""A partition, and how its compaction has ended; None for one that had nothing to do."""


def what_is_left(
    store: TxnManager,
    io: FileIO,
    settings: Settings,
    table: Table,
    entries: Sequence[Ended],
    *,
    now: float,
) -> list[Warning]:
    """What a major compaction that has ended has not taken away, and that may hold rows that were
    deleted: what lies behind an open transaction, and what is kept for others. ``now``: epoch
    seconds.
    """
    txns = store.valid_txns()
    write_ids = store.valid_write_ids(table.name, txns)
    partitions = [partition for partition, _ in entries]

    def look(partition: Partition | None) -> tuple[AcidDirectory, int]:
        seen = directory_of(store, io, table, partition, write_ids, txns)
        if write_ids.min_open is None:
            return seen, 0
        root = path_of(table.location if partition is None else partition.location)
        compactions = store.seen_compactions(txns)
        whole = directory_of_table(io, root, table, write_ids, compactions, store.valid_txns)
        taken = {directory.path for directory in seen.current}
        return seen, sum(directory.path not in taken for directory in whole.current)

    looked = look_at_all(look, partitions)
    behind = [p for p, (_, later) in zip(partitions, looked, strict=True) if later]
    kept = [
        entry
        for entry, (seen, _) in zip(entries, looked, strict=True)
        if seen.obsolete or seen.aborted
    ]
    return [
        *_behind_open(table, behind, write_ids),
        *_kept(settings, table, kept, now),
    ]


def _behind_open(
    table: Table, partitions: Sequence[Partition | None], write_ids: ValidWriteIdList
) -> Iterable[Warning]:
    if partitions:
        yield Warning(
            f"what was written to {_named(table, partitions)} behind an open transaction is not"
            " compacted",
            detail=(
                f"write id {write_ids.min_open} of table {table.name} is open; rows that were"
                " deleted since lie in the files"
            ),
            hint="SHOW TRANSACTIONS lists who it is; compact again when it has ended.",
        )


def _kept(
    settings: Settings,
    table: Table,
    entries: Sequence[Ended],
    now: float,
) -> Iterable[Warning]:
    if not entries:
        return
    ended = [entry for _, entry in entries if entry is not None]
    is_history = any(kept_until(entry, table, settings) > now * 1000 for entry in ended)
    where = _named(table, [partition for partition, _ in entries])
    yield Warning(
        f"files that were replaced in {where} are still there, with the rows that were deleted",
        detail=(
            "acidsql.history.retention keeps them"
            if is_history
            else "somebody who reads or writes since before needs them, or no cleaner has come yet"
        ),
        hint=(
            f"DESCRIBE HEALTH {table.name} says who; then the next cleaning takes them away:"
            " acidsql compactor --once --cleaner."
        ),
    )


def _named(table: Table, partitions: Sequence[Partition | None]) -> str:
    names = [name_of(table, partition) for partition in partitions if partition is not None]
    return f"{table.name} {names_words(names)}" if names else str(table.name)
