"""Which locks a statement takes, by Hive 4's rules and settings. Hive:
AcidUtils.makeLockComponents, DbTxnManager.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from acidsql.catalog.model import Partition, Table, TableKind, TableName
from acidsql.catalog.partitions import name_of, partition_name
from acidsql.planner.bind.bound import BoundInsert, BoundLoad, BoundMerge, BoundRead, MergeAction
from acidsql.planner.bind.bound_catalog import (
    BoundAddPartitions,
    BoundAlterTable,
    BoundAnalyze,
    BoundConvertTable,
    BoundCreateTable,
    BoundCreateTableAs,
    BoundCreateView,
    BoundDropDatabase,
    BoundDropPartitions,
    BoundDropTable,
    BoundRenamePartition,
    BoundRenameTable,
    BoundRepairTable,
    BoundSetPartitionLocation,
    BoundSetTableLocation,
    BoundUnbuilt,
    CatalogAction,
)
from acidsql.planner.steps.plans import (
    CatalogCommand,
    DryRunPlan,
    ExplainPlan,
    MergePlan,
    MultiInsertPlan,
    Plan,
    ReadPlan,
    WritePlan,
)
from acidsql.settings import Settings


class LockType(StrEnum):
    """The metastore's kinds of locks, from the weakest to the strongest."""

    SHARED_READ = "SHARED_READ"
    SHARED_WRITE = "SHARED_WRITE"
    EXCL_WRITE = "EXCL_WRITE"
    EXCLUSIVE = "EXCLUSIVE"


_STRENGTH = {kind: rank for rank, kind in enumerate(LockType)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """``name``: a database, ``db.table``, or ``db.table.key=value/..`` for a partition."""

    name: str
    type: LockType

    def __str__(self) -> str:
        return f"{self.name} -> {self.type}"


def locks_of(plan: Plan, settings: Settings) -> tuple[Lock, ...]:
    """One lock for each object, the strongest that is asked for, by name."""
    strongest: dict[str, LockType] = {}
    for lock in _wanted(plan, _Rules(settings)):
        known = strongest.get(lock.name)
        if known is None or _STRENGTH[lock.type] > _STRENGTH[known]:
            strongest[lock.name] = lock.type
    return tuple(Lock(name=name, type=strongest[name]) for name in sorted(strongest))


def _wanted(plan: Plan, rules: _Rules) -> Iterator[Lock]:
    match plan:
        case ReadPlan(query=query):
            yield from rules.reads(query.reads)
        case WritePlan(action=BoundInsert() | BoundLoad() as action):
            yield rules.insert(action)
            yield from rules.reads(plan.query.reads if plan.query else ())
        case WritePlan(table=table):
            yield rules.change(table)
            # the target's own scan takes none
            yield from rules.reads(plan.query.reads[1:] if plan.query else ())
        case MultiInsertPlan(legs=legs):
            for leg in legs:
                yield from _wanted(leg, rules)
        case MergePlan(merge=merge):
            yield from rules.merge(merge)
            yield from rules.reads(merge.reads[1:])
        case ExplainPlan(plan=inner) | DryRunPlan(plan=inner):
            yield from _wanted(inner, rules)
        case CatalogCommand(action=action):
            yield from _of_ddl(action, rules)


def _of_ddl(  # noqa: C901 (flat: a case for each kind)
    action: CatalogAction, rules: _Rules
) -> Iterator[Lock]:
    """The locks of DDL, as Hive's types of WriteEntity say. SHOW and DESCRIBE take none."""
    match action:
        case BoundCreateTable(table=table) | BoundCreateView(view=table):
            yield Lock(name=table.name.database, type=LockType.SHARED_READ)
        case BoundCreateTableAs(table=table, query=query):
            yield Lock(name=table.name.database, type=LockType.SHARED_READ)
            yield Lock(
                name=str(table.name),
                type=LockType.EXCL_WRITE if table.is_transactional else LockType.EXCLUSIVE,
            )
            yield from rules.reads(query.reads)
        case BoundDropTable(name=TableName() as name):
            yield Lock(name=name.database, type=LockType.SHARED_READ)
            yield Lock(name=str(name), type=LockType.EXCLUSIVE)
        case BoundDropDatabase(name=database):
            yield Lock(name=database, type=LockType.EXCLUSIVE)
        case (
            BoundAlterTable(before=before, words=words)
            | BoundRenameTable(before=before, words=words)
        ) if words in _DDL_LOCKS:
            yield Lock(name=str(before.name), type=_DDL_LOCKS[words] or rules.definition())
        case BoundConvertTable(before=before):
            yield Lock(name=str(before.name), type=LockType.EXCLUSIVE)
        case BoundAlterTable(before=before, after=after):
            unset = not before.properties.keys() <= after.properties.keys()
            yield Lock(
                name=str(before.name), type=rules.definition() if unset else LockType.SHARED_READ
            )
        case BoundAddPartitions(table=table, if_not_exists=if_not_exists):
            alone = if_not_exists and table.is_transactional
            yield Lock(
                name=str(table.name), type=LockType.EXCL_WRITE if alone else LockType.SHARED_READ
            )
        case BoundDropPartitions(table=table, partitions=partitions):
            yield from (
                Lock(name=_partition(table, partition), type=rules.definition())
                for partition in partitions
            )
        case BoundRenamePartition(table=table, before=before):
            yield Lock(name=_partition(table, before), type=rules.definition())
        case BoundSetPartitionLocation(table=table, before=before):
            yield Lock(name=_partition(table, before), type=LockType.EXCLUSIVE)
        case BoundSetTableLocation(before=before):
            yield Lock(name=str(before.name), type=LockType.EXCLUSIVE)
        case BoundAnalyze(table=table) if not table.is_transactional:
            yield Lock(name=str(table.name), type=LockType.SHARED_READ)
        case BoundRepairTable(table=table):
            yield Lock(
                name=str(table.name),
                type=rules.definition() if table.is_transactional else LockType.SHARED_READ,
            )
        case BoundUnbuilt(words=words, facts=facts):
            table_name = dict(facts).get("table")
            if words in _DDL_LOCKS and table_name is not None:
                yield Lock(name=table_name, type=_DDL_LOCKS[words] or rules.definition())


def _partition(table: Table, partition: Partition) -> str:
    return f"{table.name}.{name_of(table, partition)}"


_DDL_LOCKS: dict[str, LockType | None] = {
    "TRUNCATE TABLE": LockType.EXCL_WRITE,
    "ALTER TABLE .. ADD COLUMNS": None,
    "ALTER TABLE .. REPLACE COLUMNS": None,
    "ALTER TABLE .. CHANGE COLUMN": None,
    "ALTER TABLE .. RENAME TO": None,
}
"""The lock that each statement takes on its table. None stands for a change of the definition,
whose lock is weaker where reads are lockless.
"""


class _Rules:
    def __init__(self, settings: Settings) -> None:
        self.write_locks = settings.flag("hive.txn.xlock.write")
        self.overwrite_locks = settings.flag("hive.txn.xlock.iow")
        self.merge_insert_locks = settings.flag("hive.txn.xlock.mergeinsert")
        self.lockless_reads = settings.flag("hive.acid.lockless.reads.enabled")
        self.strict = settings.flag("hive.txn.strict.locking.mode")

    def definition(self) -> LockType:
        return LockType.EXCL_WRITE if self.lockless_reads else LockType.EXCLUSIVE

    def reads(self, reads: Iterable[BoundRead]) -> Iterator[Lock]:
        for read in reads:
            lockable = read.table.kind is TableKind.MANAGED
            if lockable and not (self.lockless_reads and read.table.is_transactional):
                yield Lock(name=str(read.table.name), type=LockType.SHARED_READ)

    def insert(self, action: BoundInsert | BoundLoad) -> Lock:
        name = str(action.table.name)
        if action.partition is not None and not action.partition.dynamic:
            columns, values = zip(*action.partition.static, strict=True)
            name += "." + partition_name(columns, values)
        return Lock(name=name, type=self._insert_type(action))

    def _insert_type(self, action: BoundInsert | BoundLoad) -> LockType:
        if not action.table.is_transactional:
            return LockType.EXCLUSIVE if action.overwrite or self.strict else LockType.SHARED_READ
        if isinstance(action, BoundInsert) and action.truncate:
            return LockType.EXCL_WRITE
        if action.overwrite:
            exclusive = self.overwrite_locks and self.write_locks and not self.lockless_reads
            return LockType.EXCLUSIVE if exclusive else LockType.EXCL_WRITE
        return self._shared()

    def _shared(self) -> LockType:
        return (
            LockType.SHARED_READ
            if self.write_locks and not self.lockless_reads
            else LockType.SHARED_WRITE
        )

    def change(self, table: Table) -> Lock:
        return Lock(
            name=str(table.name),
            type=LockType.EXCL_WRITE if self.write_locks else LockType.SHARED_WRITE,
        )

    def merge(self, merge: BoundMerge) -> Iterator[Lock]:
        for clause in merge.clauses:
            if clause.action is not MergeAction.INSERT:
                yield self.change(merge.table)
            elif self.merge_insert_locks:
                yield Lock(
                    name=str(merge.table.name),
                    type=LockType.EXCL_WRITE if self.write_locks else LockType.SHARED_WRITE,
                )
            else:
                yield Lock(name=str(merge.table.name), type=self._shared())
