"""DRY RUN: what a statement would do, as text. Rows are counted under a snapshot; nothing is written, no write id is used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from acidsql.catalog.partitions import name_of
from acidsql.planner.bound import BoundDelete, BoundInsert, BoundLoad, BoundUpdate
from acidsql.planner.bound_catalog import READING_ACTIONS
from acidsql.planner.explain import clause_heading
from acidsql.planner.locks import locks_of
from acidsql.planner.physical import (
    CatalogCommand,
    ChangePlan,
    DryRunPlan,
    ExplainPlan,
    MergePlan,
    MultiInsertPlan,
    Plan,
    Sink,
    SinkKind,
    WritePlan,
)
from acidsql.settings import Settings
from acidsql.spark.engine import Engine
from acidsql.spark.snapshots import Snapshots
from acidsql.spark.touched import Touched
from acidsql.spark.write_targets import Work

_ANY_WRITE_ID = "<w>"


def dry_run(engine: Engine, plan: ChangePlan, snapshots: Snapshots, settings: Settings) -> list[str]:
    """The lines of the answer. Errors as the statement itself would raise them, but for a conflict at its commit."""
    legs = plan.legs if isinstance(plan, MultiInsertPlan) else (plan,)
    lines = [line for leg in legs for line in _leg(leg, engine.touched(leg, Work(snapshots=snapshots)))]
    return [*lines, *(f"lock {lock.name}: {lock.type}" for lock in locks_of(plan, settings))]


def would(plan: Plan) -> Plan:
    """What stands for a statement while ``acidsql.dry.run`` is on: it is counted or explained, and changes nothing."""
    match plan:
        case WritePlan(action=BoundLoad()):
            return ExplainPlan(plan=plan)
        case WritePlan() | MultiInsertPlan() | MergePlan():
            return DryRunPlan(plan=plan)
        case CatalogCommand(action=action) if not isinstance(action, READING_ACTIONS):
            return ExplainPlan(plan=plan)
        case _:
            return plan


def _leg(leg: WritePlan | MergePlan, touched: Sequence[Touched]) -> Iterator[str]:
    if isinstance(leg, MergePlan):
        yield f"MERGE INTO {leg.table.name}: {_rows(sum(t.rows for t in touched))}"
        for number, (clause, sinks) in enumerate(zip(leg.merge.clauses, leg.clause_sinks, strict=True)):
            mine = [t for t in touched if t.clause == number]
            yield f"  {clause_heading(leg.merge, clause)}: {_rows(sum(t.rows for t in mine))}"
            yield from (f"  {line}" for line in _places(leg, sinks, mine))
        return
    yield f"{_title(leg)}: {_rows(sum(t.rows for t in touched))}"
    yield from _places(leg, leg.sinks, touched)


def _title(leg: WritePlan) -> str:
    match leg.action:
        case BoundInsert(truncate=True):
            return f"TRUNCATE TABLE {leg.table.name}"
        case BoundInsert(overwrite=overwrite):
            return f"INSERT {'OVERWRITE' if overwrite else 'INTO'} {leg.table.name}"
        case BoundUpdate():
            return f"UPDATE {leg.table.name}"
        case BoundLoad():
            return f"LOAD DATA INTO {leg.table.name}"
        case BoundDelete():
            return f"DELETE FROM {leg.table.name}"


def _places(leg: WritePlan | MergePlan, sinks: Sequence[Sink], touched: Sequence[Touched]) -> Iterator[str]:
    """Each partition that is written to, its buckets and the directories that would appear."""

    def name(found: Touched) -> str:
        return "" if found.partition is None else name_of(leg.table, found.partition)

    for partition, of_partition in groupby(sorted(touched, key=name), key=name):
        mine = list(of_partition)
        buckets = ", ".join(str(b) for b in sorted({t.bucket for t in mine if t.bucket is not None}))
        where = f"{partition or leg.table.name}: {_rows(sum(t.rows for t in mine))}" + (
            f" in {'buckets' if ',' in buckets else 'bucket'} {buckets}" if buckets else ""
        )
        yield f"  {where}"
        for sink in sinks:
            yield f"    {partition + '/' if partition else ''}{_directory(sink)}"


def _directory(sink: Sink) -> str:
    """With a mark in place of the write id, which is not known before."""
    if sink.overwrite:
        return f"base_{_ANY_WRITE_ID}"
    prefix = "delete_delta" if sink.kind is SinkKind.DELETE else "delta"
    return f"{prefix}_{_ANY_WRITE_ID}_{_ANY_WRITE_ID}_{sink.statement_id:04d}"


def _rows(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"
