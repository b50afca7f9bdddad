"""Why a statement needs Spark, in a few words for whoever waits until it has started."""

from __future__ import annotations

from acidsql.expressions.not_here import NotHere
from acidsql.plan.local_changes import query_of
from acidsql.plan.operators import Choose
from acidsql.plan.plans import MergePlan, Plan, ReadPlan, WritePlan
from acidsql.planner.bind.local.query_trees import NOT_LOOKED_INTO


def why_spark(plan: Plan, engine: str) -> str | None:
    """Why Spark carries out a plan under the setting ``acidsql.engine``, if it comes to that; None
    where there is nothing to tell but that it does.
    """
    if not isinstance(plan, ReadPlan | WritePlan | MergePlan):
        return None
    if engine == "spark":
        return "acidsql.engine is spark"
    if isinstance(plan.steps[0], Choose) and _has_local_way(plan):
        return "more bytes are read than acidsql.run.driver.max.bytes allows"
    local = _local(plan)
    if isinstance(local, NotHere) and local is not NOT_LOOKED_INTO:
        return local.reason
    return f"acidsql.engine is {engine}"


def _has_local_way(plan: ReadPlan | WritePlan | MergePlan) -> bool:
    return isinstance(plan, ReadPlan) or bool(plan.local)


def _local(plan: ReadPlan | WritePlan | MergePlan) -> object:
    """What the local way of a plan would be, or why it has none."""
    match plan:
        case ReadPlan(query=query):
            return query.local
        case MergePlan(merge=merge):
            return merge.local
        case WritePlan(action=action):
            source = query_of(action)
            return None if source is None else source.local
