"""DRY RUN: what a statement would do, as text. Rows are counted under a snapshot; nothing is
written, no write id is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from acidsql.catalog.partitions import name_of
from acidsql.engine import Engine
from acidsql.errors import Warning
from acidsql.expressions.losses import Lost
from acidsql.planner.bind.bound import BoundLoad
from acidsql.planner.bind.bound_catalog import READING_ACTIONS
from acidsql.planner.bind.bound_compactions import BoundAbortCompactions
from acidsql.planner.bind.bound_transactions import BoundAbortTransactions
from acidsql.planner.explain.words import clause_heading
from acidsql.planner.steps.names import title_of
from acidsql.planner.steps.plans import (
    CatalogCommand,
    ChangePlan,
    DryRunPlan,
    ExplainPlan,
    MergePlan,
    MultiInsertPlan,
    Plan,
    SessionCommand,
    Sink,
    SinkKind,
    WritePlan,
    carried_out,
    legs_of,
)
from acidsql.result import Result, Stats, warnings_of
from acidsql.spark.write.targets import Work
from acidsql.storage.snapshots import Snapshots
from acidsql.storage.write.touched import Touched

_ANY_WRITE_ID = "<w>"


def dry_run(engine: Engine, plan: ChangePlan, snapshots: Snapshots) -> Result:
    """The lines of the answer, with the statement's own warnings. Errors are those that the
    statement itself would raise, but for a conflict at its commit.
    """
    legs = legs_of(plan)
    lines: list[str] = []
    lost: list[Lost] = []
    warnings: list[Warning] = []
    for leg in legs:
        touching = engine.touched(leg, Work(snapshots=snapshots))
        lines += _leg(leg, touching.parts)
        table = str(leg.table.name) if len(legs) > 1 else ""
        lost += (replace(one, table=table) for one in touching.lost)
        warnings += touching.warnings
    result = Result.of_text(Stats(), ["Dry run"], [[line] for line in lines])
    result.warnings = tuple(warnings_of(Stats(lost=tuple(lost), warnings=tuple(warnings))))
    return result


def would(plan: Plan) -> Plan:
    """The plan that stands for a statement while ``acidsql.dry.run`` is on: it is counted or
    explained, and changes nothing.
    """
    carried = carried_out(plan)
    if carried is not plan:
        instead = would(carried)
        return plan if instead is carried else instead
    match plan:
        case WritePlan(action=BoundLoad()):
            return ExplainPlan(plan=plan)
        case WritePlan() | MultiInsertPlan() | MergePlan():
            return DryRunPlan(plan=plan)
        case SessionCommand(action=BoundAbortCompactions() | BoundAbortTransactions()):
            return ExplainPlan(plan=plan)
        case CatalogCommand(action=action) if not isinstance(action, READING_ACTIONS):
            return ExplainPlan(plan=plan)
        case _:
            return plan


def _leg(leg: WritePlan | MergePlan, touched: Sequence[Touched]) -> Iterator[str]:
    if isinstance(leg, MergePlan):
        yield f"{title_of(leg)}: {_rows(sum(t.rows for t in touched))}"
        for number, (clause, sinks) in enumerate(
            zip(leg.merge.clauses, leg.clause_sinks, strict=True)
        ):
            of_clause = [t for t in touched if t.clause == number]
            rows = sum(t.rows for t in of_clause)
            yield f"  {clause_heading(leg.merge, clause)}: {_rows(rows)}"
            yield from (f"  {line}" for line in _partitions(leg, sinks, of_clause))
        return
    yield f"{title_of(leg)}: {_rows(sum(t.rows for t in touched))}"
    yield from _partitions(leg, leg.sinks, touched)


def _partitions(
    leg: WritePlan | MergePlan, sinks: Sequence[Sink], touched: Sequence[Touched]
) -> Iterator[str]:
    """Each partition that is written to, its buckets and the directories that would appear."""

    def name(part: Touched) -> str:
        return "" if part.partition is None else name_of(leg.table, part.partition)

    for partition, of_partition in groupby(sorted(touched, key=name), key=name):
        parts = list(of_partition)
        buckets = ", ".join(
            str(b) for b in sorted({t.bucket for t in parts if t.bucket is not None})
        )
        where = f"{partition or leg.table.name}: {_rows(sum(t.rows for t in parts))}" + (
            f" in {'buckets' if ',' in buckets else 'bucket'} {buckets}" if buckets else ""
        )
        yield f"  {where}"
        for sink in sinks:
            yield f"    {partition + '/' if partition else ''}{_directory(sink)}"


def _directory(sink: Sink) -> str:
    """The directory's name with a mark for the write id, which is not known before."""
    if sink.overwrite:
        return f"base_{_ANY_WRITE_ID}"
    prefix = "delete_delta" if sink.kind is SinkKind.DELETE else "delta"
    return f"{prefix}_{_ANY_WRITE_ID}_{_ANY_WRITE_ID}_{sink.statement_id:04d}"


def _rows(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"
