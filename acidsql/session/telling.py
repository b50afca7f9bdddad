"""What is told of a query's rows in place of them: DESCRIBE and SUMMARIZE."""

from __future__ import annotations

from acidsql.catalog.types import PrimitiveType
from acidsql.plan.plans import ReadPlan
from acidsql.planner.bind.bound import Telling
from acidsql.result import Result, ResultColumn, Stats
from acidsql.run.trace import Trace


def answer_about(rows: Result, plan: ReadPlan, trace: Trace) -> Result:
    """The answer about the ``rows`` of a plan, which are read for SUMMARIZE alone. ``trace`` noted
    how they were made.
    """
    if plan.telling is Telling.COLUMNS:
        names = ["col_name", "data_type", "comment"]
        answer = Result.of_text(Stats(), names, [[c.name, str(c.type), ""] for c in rows.columns])
    else:
        from acidsql.run.driver.summary import COLUMNS, summary_of

        with trace.running(plan.ending[0]):
            table = summary_of([(c.name, c.type) for c in rows.columns], rows.batches())
        columns = [ResultColumn(name=name, type=PrimitiveType(kind)) for name, kind in COLUMNS]
        answer = Result(columns, Stats(steps=tuple(trace.ran)), fetch=lambda: table)
    answer.warnings = rows.warnings
    return answer
