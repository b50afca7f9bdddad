"""What statements are called: in results, in messages, and by EXPLAIN. Names are derived here and
nowhere else.
"""

from __future__ import annotations

import re
from typing import assert_never

from acidsql.plan.plans import (
    CatalogCommand,
    DryRunPlan,
    ExplainPlan,
    MergePlan,
    MultiInsertPlan,
    Plan,
    ReadPlan,
    SessionCommand,
    WritePlan,
)
from acidsql.planner.bind.bound import (
    BoundDelete,
    BoundInsert,
    BoundLoad,
    BoundUpdate,
    SessionAction,
)
from acidsql.planner.bind.bound_catalog import BoundShowTableProperties, CatalogAction


def words_of(plan: Plan) -> str:
    """The statement by its words, with ``..`` for what each one has of its own: INSERT, LOAD DATA,
    ALTER TABLE .. ADD COLUMNS.
    """
    match plan:
        case ReadPlan():
            return "SELECT"
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
