"""A plan as text for people: the same SQL against the same catalog always gives the same lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from acidsql.catalog.model import Table
from acidsql.planner.bound import BoundDelete, BoundInsert, BoundQuery, BoundRows, BoundUpdate
from acidsql.planner.bound_catalog import BoundUnbuilt
from acidsql.planner.physical import CatalogCommand, ExplainPlan, Plan, ReadPlan, SessionCommand, Sink, SinkKind, WritePlan


def explain(plan: Plan) -> list[str]:
    """The lines EXPLAIN prints. ``<w>`` stands for the write id, which is allocated when the statement runs."""
    return list(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    match plan:
        case ReadPlan(query=query):
            yield "SELECT under one snapshot"
            yield from _query(query)
        case WritePlan():
            yield from _write(plan)
        case CatalogCommand(action=BoundUnbuilt() as action):
            yield action.words
            yield from (f"  {name}: {value}" for name, value in action.facts)
        case CatalogCommand(action=action) | SessionCommand(action=action):
            words = type(action).__name__.removeprefix("Bound")
            yield "".join(f" {c}" if c.isupper() else c for c in words).strip().upper()
            yield "  metadata only: no data is read or written"
        case ExplainPlan(plan=inner):
            yield from _lines(inner)
        case _:
            assert_never(plan)


def _write(plan: WritePlan) -> Iterator[str]:
    action = plan.action
    match action:
        case BoundInsert():
            yield f"INSERT INTO {plan.table.name}"
            if len(action.columns) != len(plan.table.columns):
                yield f"  columns: {', '.join(c.name for c in action.columns)}; the others are NULL"
            yield from (
                [f"  {len(action.source.rows)} literal rows, no Spark"] if isinstance(action.source, BoundRows) else _query(action.source)
            )
        case BoundUpdate():
            yield f"UPDATE {plan.table.name}"
            yield f"  set: {', '.join(c.name for c in action.changed)}"
            yield from _query(action.query)
        case BoundDelete():
            yield f"DELETE FROM {plan.table.name}"
            yield from _query(action.query)
        case _:
            assert_never(action)
    for sink in plan.sinks:
        yield f"  write statement {sink.statement_id}: {_sink(sink, plan.table)}"
    if not plan.sinks:
        yield "  write plain ORC files: the table is not transactional, there is no roll-back"


def _sink(sink: Sink, table: Table) -> str:
    prefix = "delete_delta" if sink.kind is SinkKind.DELETE else "delta"
    directory = f"{prefix}_<w>_<w>_{sink.statement_id:04d}"
    if sink.kind is SinkKind.DELETE:
        return f"{directory}, delete events by the bucket of each row"
    if table.bucketing:
        columns = ", ".join(table.bucketing.columns)
        return f"{directory}, rows by bucket ({columns}) of {table.bucketing.count}"
    return f"{directory}, rows"


def _query(query: BoundQuery) -> Iterator[str]:
    for read in query.reads:
        kind = "merge on read" if read.table.is_full_acid else "plain files"
        yield f"  read {read.table.name}: {kind}{', with ROW__ID' if read.row_id else ''}"
        if read.predicates:
            yield f"    pushed down: {' AND '.join(str(p) for p in read.predicates)}"
    names = [f"<{r.table.name}>" for r in query.reads]
    yield f"  spark: {' '.join(query.text.render(names).split())}"
