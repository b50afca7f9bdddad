"""DRY RUN: what a statement would do, as text: the rows it writes, what goes with it, and whether
that can come back. Rows are counted under a snapshot; nothing is written, no write id is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from acidsql.catalog.partitions import name_of
from acidsql.dry_run.going import Around, number, of_overwritten, seen
from acidsql.errors import Warning
from acidsql.expressions.losses import Lost
from acidsql.plan.facts import title_of
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
    Sink,
    SinkKind,
    WritePlan,
    carried_out,
    legs_of,
)
from acidsql.planner.bind.bound import BoundInsert, BoundLoad
from acidsql.planner.bind.bound_catalog import READING_ACTIONS
from acidsql.planner.bind.bound_transactions import BoundAbortCompactions, BoundAbortTransactions
from acidsql.result import Result, Stats, warnings_of
from acidsql.run.flow import Work, truncated_partitions
from acidsql.storage.write.touched import Touched, Touching

_ANY_WRITE_ID = "<w>"


def dry_run(around: Around, plan: ChangePlan | CatalogCommand | SessionCommand) -> Result:
    """The lines of the answer, with the statement's own warnings. Errors are those that the
    statement itself would raise, but for a conflict at its commit, and for what only files say that
    it would come to.
    """
    if isinstance(plan, CatalogCommand | SessionCommand):
        from acidsql.dry_run.commands import of_command

        lines = list(of_command(around, plan))
        if isinstance(plan, CatalogCommand) and around.refuses_definitions:
            lines.append("  refused while the transaction is open: COMMIT or ROLLBACK first")
        return _answer(lines)
    legs = legs_of(plan)
    lines, lost, warnings = [], list[Lost](), list[Warning]()
    for leg in legs:
        touching = _touching(around, leg)
        lines += _of_leg(around, leg, touching.parts)
        table = str(leg.table.name) if len(legs) > 1 else ""
        lost += (replace(one, table=table) for one in touching.lost)
        warnings += touching.warnings
    result = _answer(lines)
    result.warnings = tuple(warnings_of(Stats(lost=tuple(lost), warnings=tuple(warnings))))
    return result


def _answer(lines: Sequence[str]) -> Result:
    return Result.of_text(Stats(), ["Dry run"], [[line] for line in lines])


def _touching(around: Around, leg: WritePlan | MergePlan) -> Touching:
    """What a leg would write; of files that are taken as they are, and of TRUNCATE, nothing."""
    action = leg.action if isinstance(leg, WritePlan) else None
    if isinstance(action, BoundLoad) or (isinstance(action, BoundInsert) and action.truncate):
        return Touching(parts=[])
    return around.engine.touched(leg, Work(snapshots=around.snapshots))


def would(plan: Plan) -> Plan:
    """The plan that stands for a statement while ``acidsql.dry.run`` is on: it is told and not
    carried out.
    """
    carried = carried_out(plan)
    if carried is not plan:
        instead = would(carried)
        return plan if instead is carried else instead
    match plan:
        case WritePlan() | MultiInsertPlan() | MergePlan():
            return DryRunPlan(plan=plan)
        case ReadPlan(into=into) if into is not None:
            return ExplainPlan(plan=plan)
        case SessionCommand(action=BoundAbortCompactions() | BoundAbortTransactions()):
            return DryRunPlan(plan=plan)
        case CatalogCommand(action=action) if not isinstance(action, READING_ACTIONS):
            return DryRunPlan(plan=plan)
        case _:
            return plan


def _of_leg(
    around: Around, leg: WritePlan | MergePlan, touched: Sequence[Touched]
) -> Iterator[str]:
    if isinstance(leg, WritePlan) and isinstance(leg.action, BoundLoad):
        yield from around.explain(leg)
        yield from _overwritten(around, leg, leg.action, ())
        return
    if isinstance(leg, WritePlan) and isinstance(leg.action, BoundInsert) and leg.action.truncate:
        partitions = truncated_partitions(leg.action, around.snapshots)
        goes = seen(around, leg.table, partitions)
        yield f"{title_of(leg)}: {goes} go"
        yield from (f"  {name_of(leg.table, partition)}" for partition in partitions)
        if goes.files:
            yield f"  {of_overwritten(around, leg.table)}"
        return
    yield from _leg(leg, touched)
    if isinstance(leg, WritePlan) and isinstance(leg.action, BoundInsert):
        yield from _overwritten(around, leg, leg.action, touched)


def _overwritten(
    around: Around,
    leg: WritePlan,
    action: BoundInsert | BoundLoad,
    touched: Sequence[Touched],
) -> Iterator[str]:
    """What an overwriting statement takes away: of a partitioned table what lies in the partitions
    that it names or has rows for.
    """
    if not action.overwrite:
        return
    table = leg.table
    known = {partition.values: partition for partition in around.snapshots.partitions(table)}
    named = action.partition.values if action.partition is not None else None
    hit = {t.partition.values for t in touched if t.partition is not None}
    hit |= set() if named is None else {named}
    if isinstance(action, BoundInsert) and action.if_not_exists and hit & known.keys():
        yield "  the partition is there: nothing is done"
        return
    goes = seen(around, table, [known[values] for values in sorted(hit & known.keys())])
    if not goes.files:
        yield "  nothing is there that would go"
        return
    yield f"  what is there: {goes} go"
    yield f"  {of_overwritten(around, table)}"


def _leg(leg: WritePlan | MergePlan, touched: Sequence[Touched]) -> Iterator[str]:
    if isinstance(leg, MergePlan):
        yield f"{title_of(leg)}: {number(sum(t.rows for t in touched), 'row')}"
        for position, (clause, sinks) in enumerate(
            zip(leg.merge.clauses, leg.clause_sinks, strict=True)
        ):
            of_clause = [t for t in touched if t.clause == position]
            rows = sum(t.rows for t in of_clause)
            yield f"  {leg.merge.heading(clause)}: {number(rows, 'row')}"
            yield from (f"  {line}" for line in _partitions(leg, sinks, of_clause))
        return
    yield f"{title_of(leg)}: {number(sum(t.rows for t in touched), 'row')}"
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
        where = f"{partition or leg.table.name}: {number(sum(t.rows for t in parts), 'row')}" + (
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
