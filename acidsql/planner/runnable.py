"""Plans that can be made and explained, and cannot be carried out yet: refused before anything is opened."""

from __future__ import annotations

from collections.abc import Iterable

from acidsql.catalog.model import FileFormat, Table, TableKind
from acidsql.errors import Span, UnsupportedStatementError
from acidsql.planner.bound import BoundInsert, BoundRead
from acidsql.planner.physical import MergePlan, MultiInsertPlan, Plan, ReadPlan, WritePlan


def check_runnable(plan: Plan) -> None:
    """UnsupportedStatementError that says what of the plan is not supported yet."""
    match plan:
        case ReadPlan(query=query):
            _check_reads(query.reads)
        case WritePlan(table=table, action=action):
            place = action.span if isinstance(action, BoundInsert) else None
            _check_table(table, place)
            _check_reads(plan.query.reads if plan.query else ())
        case MultiInsertPlan(legs=legs, span=span):
            if not all(leg.sinks for leg in legs):
                raise _unsupported("INSERT into several tables of which one is not transactional", span)
            for leg in legs:
                check_runnable(leg)
        case MergePlan(merge=merge):
            _check_table(merge.table, merge.span)
            _check_reads(merge.reads)


def unreadable(table: Table) -> str | None:
    """What of the table the readers and writers cannot do yet; None if nothing."""
    if table.kind is TableKind.VIEW:
        return "a view"
    if table.partition_columns:
        return "a partitioned table"
    if table.is_insert_only:
        return "an insert-only table"
    if table.file_format is not FileFormat.ORC:
        return f"a table stored as {table.file_format}"
    return None


def _check_reads(reads: Iterable[BoundRead]) -> None:
    for read in reads:
        _check_table(read.table, read.span)


def _check_table(table: Table, span: Span | None) -> None:
    if (what := unreadable(table)) is not None:
        raise _unsupported(f"reading or writing {what} ({table.name})", span)


def _unsupported(words: str, span: Span | None) -> UnsupportedStatementError:
    return UnsupportedStatementError(f"{words} is not supported yet", span=span)
