"""Where the rows of a statement go: what its transaction gives it, and its writers' target."""

from __future__ import annotations

import uuid
from functools import partial

from acidsql.acid.ids import NO_STATEMENT, TxnId, WriteId
from acidsql.catalog.model import Partition
from acidsql.lazy_dataclass import dataclass
from acidsql.plan.plans import MergePlan, WritePlan
from acidsql.planner.bind.bound import BoundInsert, BoundLoad
from acidsql.settings import Settings
from acidsql.storage.partitions import PartitionIndex
from acidsql.storage.snapshots import Snapshots
from acidsql.storage.write.pending import PendingWrites
from acidsql.storage.write.target import WriteTarget

NO_TXN, NO_WRITE = TxnId(0), WriteId(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a statement that writes has of its transaction; a table that is not transactional needs
    no more than ``snapshots``.
    """

    snapshots: Snapshots
    txn_id: TxnId = NO_TXN
    write_id: WriteId = NO_WRITE
    pending: PendingWrites | None = None


def write_target(settings: Settings, plan: WritePlan | MergePlan, work: Work) -> WriteTarget:
    """The target of the plan's first sink; nothing is written under its staging name yet."""
    table, snapshots = plan.table, work.snapshots
    insert = (
        plan.action
        if isinstance(plan, WritePlan) and isinstance(plan.action, BoundInsert | BoundLoad)
        else None
    )
    partition_index = (
        PartitionIndex(table, partial(snapshots.partitions, table))
        if table.partition_columns
        else None
    )
    return WriteTarget(
        table=table,
        write_id=work.write_id,
        statement_id=plan.sinks[0].statement_id if plan.sinks else NO_STATEMENT,
        codec=table.properties.get("orc.compress")
        or settings.text("hive.exec.orc.default.compress"),
        max_bytes=int(settings.number("acidsql.write.driver.max.bytes")),
        force_path=settings.text("acidsql.write.path"),
        staging=f".acidsql_{work.txn_id}_{uuid.uuid4().hex[:8]}",
        partition_index=partition_index,
        sure=(
            ()
            if insert is None or partition_index is None
            else _named_partitions(insert, partition_index, snapshots)
        ),
        max_partitions=_max_partitions(settings, insert),
        overwrite=insert is not None and insert.overwrite,
        pending=work.pending,
        returns=plan.returning is not None,
    )


def _max_partitions(settings: Settings, insert: BoundInsert | BoundLoad | None) -> int | None:
    dynamic = insert is not None and insert.partition is not None and insert.partition.dynamic
    return int(settings.number("hive.exec.max.dynamic.partitions")) if dynamic else None


def _named_partitions(
    action: BoundInsert | BoundLoad, partition_index: PartitionIndex, snapshots: Snapshots
) -> tuple[Partition, ...]:
    """The partitions a statement names, whatever rows there are."""
    if isinstance(action, BoundInsert) and action.truncate:
        return truncated_partitions(action, snapshots)
    values = action.partition.values if action.partition is not None else None
    return () if values is None else (partition_index.find(values),)


def truncated_partitions(action: BoundInsert, snapshots: Snapshots) -> tuple[Partition, ...]:
    """The partitions that a TRUNCATE empties."""
    columns, wanted = [c.name for c in action.table.partition_columns], set(action.truncated)
    return tuple(
        p
        for p in snapshots.partitions(action.table)
        if wanted <= set(zip(columns, p.values, strict=True))
    )
