"""Compactions by way of the queue, and cleaners behind them, for tests of these."""

from __future__ import annotations

import time

from acidsql.acid.ids import ValidWriteIdList
from acidsql.catalog.model import Partition, Table
from acidsql.catalog.partitions import name_of
from acidsql.compaction.cleaner import Cleaner
from acidsql.compaction.merging.carrying_out import carry_out
from acidsql.compaction.merging.choosing import choose_inputs
from acidsql.compaction.merging.merge import Merge
from acidsql.files.fileio import path_of
from acidsql.session import Session
from acidsql.storage.snapshots import acid_directory
from acidsql.txn.compactions import (
    Compaction,
    CompactionRequest,
    CompactionState,
    CompactionType,
)
from tests.compaction.compacting import find, unclaimed

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def cleaner_of(session: Session) -> Cleaner:
    return Cleaner(
        store=session.store, files=session.files, settings=session.settings, clock=time.time
    )


def clean_all(session: Session) -> None:
    """Cleans whatever can be cleaned now."""
    cleaner = cleaner_of(session)
    while cleaner.run_once():
        pass


def queued(session: Session, table: str, type: CompactionType) -> list[Compaction]:
    """Compacts a table, or each of its partitions, up to "ready for cleaning"; those that needed
    it.
    """
    known = find(session, table)
    partitions: list[Partition | None] = [None]
    if known.partition_columns:
        partitions = list(session.store.list_partitions(known))
    entries = (queued_one(session, known, partition, type) for partition in partitions)
    return [entry for entry in entries if entry is not None]


def queued_one(
    session: Session, table: Table, partition: Partition | None, type: CompactionType
) -> Compaction | None:
    store = session.store
    name = None if partition is None else name_of(table, partition)
    request = CompactionRequest(
        table=table.name, partition=name, type=type, initiator="test-manual"
    )
    if not store.enqueue_compaction(request).accepted:
        return None
    entry = store.next_compaction("test-1")
    assert entry is not None
    opened = store.begin_compaction(entry.compaction_id)
    root = path_of(table.location if partition is None else partition.location)
    write_ids: ValidWriteIdList = opened.write_ids
    seen = acid_directory(session.files, root, write_ids, opened.txns, events=table.is_full_acid)
    inputs = choose_inputs(seen, type, write_ids.high_watermark)
    if inputs is None:
        store.end_compaction(entry.compaction_id, CompactionState.REFUSED, "nothing to do")
        return None
    merge = Merge(
        table=table,
        partition=partition,
        inputs=inputs,
        write_ids=opened.write_ids,
        txn_id=opened.txn_id,
    )
    target = merge.target(session.settings)
    carry_out(session.engine, session.settings, merge, target, unclaimed)
    store.finish_compaction(entry.compaction_id)
    return entry_of(session, entry.compaction_id)


def entry_of(session: Session, compaction_id: int) -> Compaction:
    return next(c for c in session.store.compactions() if c.compaction_id == compaction_id)


def states(session: Session) -> list[str]:
    """The states of all compactions, in words, by their ids."""
    return [one.state.words for one in session.store.compactions()]
