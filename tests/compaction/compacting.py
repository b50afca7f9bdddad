"""Compactions of tables of a session's warehouse, carried out at once, and what tests say of them."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from acidsql.acid.ids import TxnId, ValidCompactorWriteIdList, parse_directory
from acidsql.catalog.model import Partition, Table, TableName
from acidsql.compaction.merging.carrying_out import Claim, Merged, carry_out
from acidsql.compaction.merging.choosing import choose_inputs
from acidsql.compaction.merging.merge import Merge
from acidsql.compaction.worker import Worker
from acidsql.files.fileio import path_of
from acidsql.files.local_files import LocalFileIO
from acidsql.session import Session
from acidsql.storage.snapshots import acid_directory
from acidsql.txn.compactions import Compaction, CompactionRequest, CompactionType


def unclaimed(_table: Table, _partition: Partition | None) -> AbstractContextManager[None]:
    """Of a compaction that is in no queue."""
    return nullcontext()


MAJOR, MINOR, REBALANCE = CompactionType.MAJOR, CompactionType.MINOR, CompactionType.REBALANCE


class NoRenames(LocalFileIO):
    """Local files, of which none is renamed, as in an object store."""

    def renames(self, path: str) -> bool:
        return False


def find(session: Session, table: str) -> Table:
    known = session.store.find_table(TableName("default", table))
    assert known is not None
    return known


def compact(
    session: Session,
    table: str,
    type: CompactionType,
    claim: Claim = unclaimed,
    **options: Any,
) -> list[Merged | None]:
    """Compacts a table, or each of its partitions; None for one that needs none."""
    known = find(session, table)
    partitions: list[Partition | None] = [None]
    if known.partition_columns:
        partitions = list(session.store.list_partitions(known))
    return [compact_one(session, known, p, type, claim, **options) for p in partitions]


def compact_one(
    session: Session,
    table: Table,
    partition: Partition | None,
    type: CompactionType,
    claim: Claim = unclaimed,
    max_deltas: int | None = None,
    **options: Any,
) -> Merged | None:
    store = session.store
    txn_id = begin(session)
    txns = store.valid_txns(txn_id)
    write_ids = ValidCompactorWriteIdList.of(store.valid_write_ids(table.name, txns))
    root = path_of(table.location if partition is None else partition.location)
    seen = acid_directory(session.files, root, write_ids, txns, events=table.is_full_acid)
    inputs = choose_inputs(seen, type, write_ids.high_watermark, max_deltas=max_deltas)
    if inputs is None:
        store.abort_txns([txn_id])
        return None
    merge = Merge(
        table=table,
        partition=partition,
        inputs=inputs,
        write_ids=write_ids,
        txn_id=txn_id,
        **options,
    )
    try:
        merged = carry_out(
            session.engine, session.settings, merge, merge.target(session.settings), claim
        )
    finally:
        store.abort_txns([txn_id])
    return merged


def begin(session: Session) -> TxnId:
    return session.store.open_txn()


def clean(session: Session, table: str) -> None:
    """Removes what a compaction made obsolete, as if nobody read it any more."""
    known = find(session, table)
    write_ids = session.store.valid_write_ids(known.name, session.store.valid_txns())
    roots = [p.location for p in session.store.list_partitions(known)] or [known.location]
    for root in roots:
        seen = acid_directory(session.files, root, write_ids, events=known.is_full_acid)
        for path in seen.obsolete:
            if parse_directory(path) is None:
                session.files.delete_file(f"{root}/{path}")
            else:
                session.files.delete_tree(f"{root}/{path}")


def directories(session: Session, table: str) -> list[str]:
    """The names of a table's or its partitions' directories."""
    root = Path(find(session, table).location)
    return sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_dir())


def rows(session: Session, table: str) -> list[tuple[Any, ...]]:
    """Every row with its ROW__ID, sorted by that."""
    found = session.sql(f"SELECT ROW__ID, * FROM {table}").rows()
    return sorted(((*i.values(), *values) for i, *values in found), key=repr)


def enqueue(
    session: Session, table: str, type: CompactionType, partition: str | None = None, **options: Any
) -> int:
    answer = session.store.enqueue_compaction(
        CompactionRequest(
            table=TableName("default", table),
            partition=partition,
            type=type,
            initiator="here-manual",
            **options,
        )
    )
    assert answer.accepted
    return answer.compaction_id


def worker(session: Session, name: str = "here-1") -> Worker:
    return Worker(session.store, session.files, session.engine, session.settings, name)


def work(
    session: Session, table: str, type: CompactionType, partition: str | None = None, **options: Any
) -> Compaction:
    """Enqueues a compaction and has a worker carry it out; its entry then."""
    compaction_id = enqueue(session, table, type, partition, **options)
    assert worker(session).run_once()
    return entry(session, compaction_id)


def entry(session: Session, compaction_id: int) -> Compaction:
    (found,) = (c for c in session.store.compactions() if c.compaction_id == compaction_id)
    return found
