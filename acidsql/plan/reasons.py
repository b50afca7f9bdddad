"""Why a statement needs Spark: for EXPLAIN, and for who waits until it has started."""

from __future__ import annotations

from acidsql.expressions.not_here import NotHere
from acidsql.plan.building import ChangeAction, query_of
from acidsql.plan.engines import TOO_HEAVY, engines
from acidsql.plan.operators import LocalRows, every
from acidsql.plan.plans import MergePlan, Plan, ReadPlan, WritePlan
from acidsql.planner.bind.bound import BoundInsert, BoundMerge
from acidsql.planner.bind.local.query_trees import NOT_LOOKED_INTO
from acidsql.settings import Settings


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
