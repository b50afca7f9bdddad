"""What a statement is: how it is called, whether it changes the store and takes files away, whether
it may be run again or stopped, and why it needs Spark. It is told here and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import assert_never

from acidsql.catalog.model import Table, TableName
from acidsql.expressions.not_here import NotHere
from acidsql.lazy_dataclass import dataclass
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
    BoundUpdate,
    SessionAction,
)
from acidsql.planner.bind.bound_catalog import (
    READING_ACTIONS,
    BoundAnalyze,
    BoundAttachDatabase,
    BoundConvertTable,
    BoundCreateTableAs,
    BoundDetachDatabase,
    BoundDetachTable,
    BoundDropDatabase,
    BoundDropPartitions,
    BoundDropTable,
    BoundRenamePartition,
    BoundRenameTable,
    BoundReplaceTable,
    BoundSetPartitionLocation,
    BoundSetTableLocation,
    BoundShowTableProperties,
    CatalogAction,
)
from acidsql.planner.bind.bound_compactions import BoundCompact
from acidsql.planner.bind.bound_transactions import BoundCommit
from acidsql.planner.bind.local.query_trees import NOT_LOOKED_INTO
from acidsql.settings import Settings
from acidsql.storage.unload.destination import Destination


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
