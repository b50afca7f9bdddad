"""What a statement is: how it is called, whether it changes the store and takes files away, whether
it may be run again or stopped, and why it needs Spark. It is told here and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import assert_never

from acidsql.catalog.model import Partition, Table, TableKind, TableName
from acidsql.catalog.partitions import name_of, partition_name
from acidsql.expressions.not_here import NotHere
from acidsql.lazy import dataclass
from acidsql.plan.building import ChangeAction, query_of
from acidsql.plan.engines import TOO_HEAVY, engines
from acidsql.plan.operators import LocalRows, every
from acidsql.plan.plans import (
    CatalogCommand,
    ChangePlan,
    DryRunPlan,
    ExplainPlan,
    MergePlan,
    MultiInsertPlan,
    Plan,
    ReadPlan,
    SessionCommand,
    WritePlan,
    legs_of,
)
from acidsql.planner.bind.bound import (
    BoundCopy,
    BoundDelete,
    BoundInsert,
    BoundLoad,
    BoundMerge,
    BoundRead,
    BoundUpdate,
    MergeAction,
    SessionAction,
)
from acidsql.planner.bind.bound_catalog import (
    READING_ACTIONS,
    BoundAddPartitions,
    BoundAdoptTable,
    BoundAlterTable,
    BoundAnalyze,
    BoundAttachDatabase,
    BoundAttachTable,
    BoundConvertTable,
    BoundCreateTable,
    BoundCreateTableAs,
    BoundCreateView,
    BoundDetachDatabase,
    BoundDetachTable,
    BoundDropDatabase,
    BoundDropPartitions,
    BoundDropTable,
    BoundRenamePartition,
    BoundRenameTable,
    BoundRepairTable,
    BoundReplaceTable,
    BoundSetPartitionLocation,
    BoundSetTableLocation,
    BoundShowTableProperties,
    CatalogAction,
)
from acidsql.planner.bind.bound_transactions import BoundCommit, BoundCompact
from acidsql.planner.bind.local.query_trees import NOT_LOOKED_INTO
from acidsql.settings import Settings
from acidsql.storage.unload.destination import Destination
from acidsql.txn.locks import LockComponent, LockRequest, LockType, is_stronger

# ---- locks
#
# Which locks a statement takes, by Hive 4's rules and settings. Hive: AcidUtils.makeLockComponents,
# DbTxnManager.


def locks_of(plan: Plan, settings: Settings) -> tuple[LockComponent, ...]:
    """One lock for each object, the strongest that is asked for, by name. None where
    ``hive.support.concurrency`` is off.
    """
    if not settings.flag("hive.support.concurrency"):
        return ()
    strongest: dict[tuple[str, str, str], LockComponent] = {}
    for lock in _wanted(plan, _Rules(settings)):
        name = (lock.database, lock.table or "", lock.partition or "")
        known = strongest.get(name)
        if known is None or is_stronger(lock.type, known.type):
            strongest[name] = lock
    return tuple(strongest[name] for name in sorted(strongest))


def lock_request(plan: Plan, settings: Settings, text: str) -> LockRequest | None:
    """What a statement, ``text``, asks the transaction manager for; None if it needs no lock."""
    components = locks_of(plan, settings)
    if not components:
        return None
    writers_wait = settings.flag("hive.txn.xlock.iow") and settings.flag("hive.txn.xlock.write")
    creates = isinstance(plan, CatalogCommand) and isinstance(plan.action, BoundCreateTableAs)
    return LockRequest(
        components=components,
        statement=text,
        zero_wait_reads=isinstance(plan, ReadPlan) and not writers_wait,
        exclusive_ctas=creates and settings.flag("hive.txn.xlock.ctas"),
    )


def _wanted(plan: Plan, rules: _Rules) -> Iterator[LockComponent]:
    match plan:
        case ReadPlan(query=query):
            yield from rules.reads(query.reads)
        case WritePlan(action=BoundInsert() | BoundLoad() as action):
            yield from rules.insert(action)
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
) -> Iterator[LockComponent]:
    """The locks of DDL, as Hive's types of WriteEntity say. SHOW and DESCRIBE take none."""
    match action:
        case BoundCreateTable(table=table) | BoundCreateView(view=table):
            yield _on_database(table.name.database, LockType.SHARED_READ)
        case BoundCreateTableAs(table=table, query=query):
            yield _on_database(table.name.database, LockType.SHARED_READ)
            yield _on_table(
                table.name,
                LockType.EXCL_WRITE if table.is_transactional else LockType.EXCLUSIVE,
            )
            yield from rules.reads(query.reads)
        case BoundReplaceTable(before=before, query=query):
            yield _on_database(before.name.database, LockType.SHARED_READ)
            yield _on_table(before.name, LockType.EXCLUSIVE)
            yield from rules.reads(() if query is None else query.reads)
        case BoundDropTable(name=TableName() as name):
            yield _on_database(name.database, LockType.SHARED_READ)
            yield _on_table(name, LockType.EXCLUSIVE)
        case BoundAttachTable(table=table):
            yield _on_database(table.name.database, LockType.SHARED_READ)
        case BoundDetachTable(name=TableName() as name):
            yield _on_database(name.database, LockType.SHARED_READ)
            yield _on_table(name, LockType.EXCLUSIVE)
        case BoundAdoptTable(table=table):
            yield _on_database(table.name.database, LockType.SHARED_READ)
            yield _on_table(table.name, LockType.EXCLUSIVE)
        case BoundAttachDatabase(name=database):
            yield _on_database(database, LockType.SHARED_READ)
        case BoundDropDatabase(name=database) | BoundDetachDatabase(name=str() as database):
            yield _on_database(database, LockType.EXCLUSIVE)
        case (
            BoundAlterTable(before=before, words=words)
            | BoundRenameTable(before=before, words=words)
        ) if words in _DDL_LOCKS:
            yield _on_table(before.name, _DDL_LOCKS[words] or rules.definition())
        case BoundConvertTable(before=before):
            yield _on_table(before.name, LockType.EXCLUSIVE)
        case BoundAlterTable(before=before, after=after):
            unset = not before.properties.keys() <= after.properties.keys()
            yield _on_table(before.name, rules.definition() if unset else LockType.SHARED_READ)
        case BoundAddPartitions(table=table, if_not_exists=if_not_exists):
            alone = if_not_exists and table.is_transactional
            yield _on_table(table.name, LockType.EXCL_WRITE if alone else LockType.SHARED_READ)
        case BoundDropPartitions(table=table, partitions=partitions):
            yield from (_on_partition(table, p, rules.definition()) for p in partitions)
        case BoundRenamePartition(table=table, before=before):
            yield _on_partition(table, before, rules.definition())
        case BoundSetPartitionLocation(table=table, before=before):
            yield _on_partition(table, before, LockType.EXCLUSIVE)
        case BoundSetTableLocation(before=before):
            yield _on_table(before.name, LockType.EXCLUSIVE)
        case BoundAnalyze(table=table) if not table.is_transactional:
            yield _on_table(table.name, LockType.SHARED_READ)
        case BoundRepairTable(table=table):
            yield _on_table(
                table.name,
                rules.definition() if table.is_transactional else LockType.SHARED_READ,
            )


def _on_database(database: str, kind: LockType) -> LockComponent:
    return LockComponent(database=database, type=kind)


def _on_table(name: TableName, kind: LockType, partition: str | None = None) -> LockComponent:
    return LockComponent(database=name.database, table=name.table, partition=partition, type=kind)


def _of_rows(table: Table, kind: LockType, partition: str | None = None) -> LockComponent:
    lock = _on_table(table.name, kind, partition)
    return replace(lock, is_transactional=table.is_transactional)


def _on_partition(table: Table, partition: Partition, kind: LockType) -> LockComponent:
    return _on_table(table.name, kind, name_of(table, partition))


_DDL_LOCKS: dict[str, LockType | None] = {
    "TRUNCATE TABLE": LockType.EXCL_WRITE,
    "ALTER TABLE .. ADD COLUMNS": None,
    "ALTER TABLE .. REPLACE COLUMNS": None,
    "ALTER TABLE .. DROP COLUMN": None,
    "ALTER TABLE .. CHANGE COLUMN": None,
    "ALTER TABLE .. RENAME TO": None,
}
"""The lock that each statement takes on its table. None stands for a change of the definition,
whose lock is weaker where reads are lockless.
"""


class _Rules:
    def __init__(self, settings: Settings) -> None:
        self.write_locks = settings.flag("hive.txn.xlock.write")
        self.by_rows = settings.text("acidsql.conflict.granularity") == "row"
        self.overwrite_locks = settings.flag("hive.txn.xlock.iow")
        self.merge_insert_locks = settings.flag("hive.txn.xlock.mergeinsert")
        self.lockless_reads = settings.flag("hive.acid.lockless.reads.enabled")
        self.strict = settings.flag("hive.txn.strict.locking.mode")
        self.read_locks = settings.flag("hive.txn.read.locks")
        self.plain_read_locks = settings.flag("hive.txn.nonacid.read.locks")
        self.external_locks = settings.flag("hive.txn.ext.locking.enabled")

    def definition(self) -> LockType:
        return LockType.EXCL_WRITE if self.lockless_reads else LockType.EXCLUSIVE

    def reads(self, reads: Iterable[BoundRead]) -> Iterator[LockComponent]:
        for read in reads:
            if self._is_lockable(read.table) and self._is_read_locked(read.table):
                yield _of_rows(read.table, LockType.SHARED_READ)

    def _is_lockable(self, table: Table) -> bool:
        """Whether a table is locked at all: views are not, nor are external tables as a rule."""
        return table.kind is TableKind.MANAGED or (
            table.kind is TableKind.EXTERNAL and self.external_locks
        )

    def _is_read_locked(self, table: Table) -> bool:
        if not table.is_transactional:
            return self.read_locks and self.plain_read_locks
        return self.read_locks and not self.lockless_reads

    def insert(self, action: BoundInsert | BoundLoad) -> Iterator[LockComponent]:
        if not self._is_lockable(action.table):
            return
        partition = None
        if action.partition is not None and not action.partition.dynamic:
            columns, values = zip(*action.partition.static, strict=True)
            partition = partition_name(columns, values)
        yield _of_rows(action.table, self._insert_type(action), partition)

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

    def change(self, table: Table) -> LockComponent:
        return _on_table(table.name, self._change_type())

    def _change_type(self) -> LockType:
        """The lock of UPDATE and DELETE: where rows are compared at the commit they may be side by
        side.
        """
        alone = self.write_locks and not self.by_rows
        return LockType.EXCL_WRITE if alone else LockType.SHARED_WRITE

    def merge(self, merge: BoundMerge) -> Iterator[LockComponent]:
        for clause in merge.clauses:
            changes = clause.action is not MergeAction.INSERT or self.merge_insert_locks
            kind = self._change_type() if changes else self._shared()
            yield _on_table(merge.table.name, kind)


# ---- facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """``changes``: the store, or what it knows of. ``repeatable``: if it is a transaction of its
    own, it may be run again after a conflict. ``stoppable``: it takes long, so that Ctrl-C stops it
    on its way; others are done too soon. ``compacts``: it asks for a compaction. ``takes_once``: it
    leaves out what another has taken meanwhile, once it is run again.
    """

    changes: bool = False
    repeatable: bool = False
    stoppable: bool = True
    compacts: bool = False
    takes_once: bool = False


def facts_of(plan: Plan) -> Facts:
    """What is asked of a statement by those that run it."""
    match plan:
        case ReadPlan() | ExplainPlan() | DryRunPlan():
            return Facts()
        case WritePlan() | MergePlan() | MultiInsertPlan():
            return Facts(changes=True, repeatable=True, takes_once=_takes_once(plan))
        case CatalogCommand(action=action):
            return Facts(
                changes=not isinstance(action, READING_ACTIONS),
                stoppable=isinstance(action, _LONG_ACTIONS),
                compacts=isinstance(action, BoundCompact),
            )
        case SessionCommand(action=action):
            return Facts(changes=isinstance(action, BoundCommit))
        case _:
            assert_never(plan)


def _takes_once(plan: ChangePlan) -> bool:
    match legs_of(plan)[0]:
        case WritePlan(action=BoundInsert(copied=BoundCopy(once=once))):
            return once
    return False


_LONG_ACTIONS = (
    BoundAttachDatabase,
    BoundCreateTableAs,
    BoundReplaceTable,
    BoundAnalyze,
    BoundCompact,
)
"""Commands that read rows first, or wait."""

# ---- names


def words_of(plan: Plan) -> str:
    """The statement by its words, with ``..`` for what each one has of its own: INSERT, LOAD DATA,
    ALTER TABLE .. ADD COLUMNS.
    """
    match plan:
        case ReadPlan(into=None, telling=telling):
            return "SELECT" if telling is None else telling.value
        case ReadPlan(into=Destination(in_directory=True, partition_by=())):
            return "INSERT OVERWRITE DIRECTORY"
        case ReadPlan():
            return "COPY"
        case WritePlan():
            return _words_of_write(plan)
        case MultiInsertPlan(legs=legs):
            return words_of(legs[0])
        case MergePlan():
            return "MERGE"
        case CatalogCommand(action=action) | SessionCommand(action=action):
            return _words_of_action(action)
        case ExplainPlan(mode=mode):
            return "EXPLAIN ANALYZE" if mode == "ANALYZE" else "EXPLAIN"
        case DryRunPlan():
            return "DRY RUN"
        case _:
            assert_never(plan)


def name_of_statement(plan: Plan) -> str:
    """The first of its words, which results are named after: ALTER TABLE."""
    return re.split(r" \.\.| from ", words_of(plan))[0]


def title_of(leg: WritePlan | MergePlan) -> str:
    """A statement that changes rows, with its table: INSERT INTO db.t PARTITION (ds='a')."""
    if isinstance(leg, MergePlan):
        return f"MERGE INTO {leg.table.name}"
    match leg.action:
        case BoundInsert(truncate=True):
            return f"TRUNCATE TABLE {leg.table.name}"
        case BoundInsert(copied=BoundCopy(given=given)) as action:
            return f"COPY INTO {leg.table.name}{_partition(action)} FROM '{given}'"
        case BoundInsert(overwrite=overwrite, if_not_exists=if_not_exists) as action:
            verb = "INSERT OVERWRITE" if overwrite else "INSERT INTO"
            unless = " IF NOT EXISTS" if if_not_exists else ""
            return f"{verb} {leg.table.name}{_partition(action)}{unless}"
        case BoundLoad(overwrite=overwrite) as action:
            into = "OVERWRITE INTO" if overwrite else "INTO"
            return f"LOAD DATA {into} {leg.table.name}{_partition(action)}"
        case BoundUpdate():
            return f"UPDATE {leg.table.name}"
        case BoundDelete():
            return f"DELETE FROM {leg.table.name}"
        case _:
            assert_never(leg.action)


def _partition(action: BoundInsert | BoundLoad) -> str:
    if action.partition is None:
        return ""
    static = [f"{name}='{value}'" for name, value in action.partition.static]
    return f" PARTITION ({', '.join([*static, *action.partition.dynamic])})"


def _words_of_write(plan: WritePlan) -> str:
    match plan.action:
        case BoundInsert(truncate=True):
            return "TRUNCATE"
        case BoundInsert(copied=BoundCopy()):
            return "COPY INTO"
        case BoundInsert():
            return "INSERT"
        case BoundLoad():
            return "LOAD DATA"
        case BoundUpdate():
            return "UPDATE"
        case BoundDelete():
            return "DELETE"
        case _:
            assert_never(plan.action)


def _words_of_action(action: CatalogAction | SessionAction) -> str:
    """A class is called as its statement is, but where it has ``words`` of its own."""
    if isinstance(action, BoundShowTableProperties):
        return "SHOW TBLPROPERTIES"
    name = type(action).__name__.removeprefix("Bound")
    spaced = "".join(f" {c}" if c.isupper() else c for c in name)
    return str(getattr(action, "words", "")) or spaced.strip().upper()


# ---- what a statement takes away at once, with the files


Removes = Callable[[TableName], bool]


def removes_files(plan: Plan) -> Removes | None:
    """Tells of which tables a statement takes files away, or moves them; None: of none."""
    match plan:
        case CatalogCommand(
            action=BoundDropDatabase(name=database) | BoundDetachDatabase(name=database)
        ):
            return lambda name: name.database == database
        case CatalogCommand(action=BoundDropTable(name=TableName() as dropped)):
            return lambda name: name == dropped
        case CatalogCommand(action=BoundDetachTable(overlay=Table() as table)):
            return _of(table)
        case CatalogCommand(
            action=BoundDropPartitions(table=table)
            | BoundRenamePartition(table=table)
            | BoundSetPartitionLocation(table=table)
        ):
            return _of(table)
        case CatalogCommand(
            action=BoundRenameTable(before=table)
            | BoundReplaceTable(before=table)
            | BoundConvertTable(before=table)
            | BoundSetTableLocation(before=table)
        ):
            return _of(table)
        case WritePlan() | MultiInsertPlan():
            plain = {leg.table.name for leg in legs_of(plan) if _overwrites_plain(leg)}
            return plain.__contains__ if plain else None
        case _:
            return None


def _of(table: Table) -> Removes:
    return lambda name: name == table.name


def _overwrites_plain(leg: object) -> bool:
    return (
        isinstance(leg, WritePlan)
        and isinstance(leg.action, BoundInsert | BoundLoad)
        and leg.action.overwrite
        and not leg.table.is_transactional
    )


# ---- why a statement needs Spark


def why_spark(action: ChangeAction | BoundMerge, settings: Settings) -> str | None:
    """Why a statement that has a query has no way of the driver; None where it has one, or none is
    wanted by ``acidsql.engine``.
    """
    allowed = engines(settings)
    if not allowed.driver:
        return None
    if isinstance(action, BoundMerge):
        parts: tuple[object, ...] = (action.local,)
    else:
        query = query_of(action)
        if query is None:
            return None
        parts = (query.local, action.stores if isinstance(action, BoundInsert) else None)
    if not allowed.changes_by_driver:
        return "acidsql.write.path=big"
    return next((part.reason for part in parts if isinstance(part, NotHere)), None)


def needed_for(plan: Plan, engine: str) -> str | None:
    """Why Spark carries out a plan under the setting ``acidsql.engine``, if it comes to that; None
    where there is nothing to tell but that it does.
    """
    if not isinstance(plan, ReadPlan | WritePlan | MergePlan):
        return None
    if engine == "spark":
        return "acidsql.engine is spark"
    if any(isinstance(operator, LocalRows) for operator in every(plan.operators)):
        return TOO_HEAVY
    tree = _tree(plan)
    if isinstance(tree, NotHere) and tree is not NOT_LOOKED_INTO:
        return tree.reason
    return f"acidsql.engine is {engine}"


def _tree(plan: ReadPlan | WritePlan | MergePlan) -> object:
    """The statement as the driver knows it, or why it does not."""
    match plan:
        case ReadPlan(query=query):
            return query.local
        case MergePlan(merge=merge):
            return merge.local
        case WritePlan():
            return None if plan.query is None else plan.query.local
