"""Which plans can be explained alone, because nothing carries them out yet."""

from __future__ import annotations

from collections.abc import Iterable

from acidsql.catalog.model import Table
from acidsql.errors import Span, UnsupportedStatementError
from acidsql.plan.plans import (
    CatalogCommand,
    DryRunPlan,
    MergePlan,
    MultiInsertPlan,
    Plan,
    ReadPlan,
    WritePlan,
)
from acidsql.planner.bind.bound import BoundDelete, BoundInsert, BoundLoad, BoundRead
from acidsql.planner.bind.bound_catalog import BoundCreateTableAs, BoundReplaceTable
from acidsql.planner.bind.tables import loads_files, unenforced, unreadable


def check_runnable(plan: Plan) -> None:  # noqa: C901 (flat: a case for each kind)
    """UnsupportedStatementError that says what of the plan is not supported yet."""
    match plan:
        case ReadPlan(query=query):
            _check_reads(query.reads)
        case WritePlan():
            _check_write(plan)
        case CatalogCommand(action=BoundReplaceTable(new=new)):
            check_runnable(CatalogCommand(action=new))
        case CatalogCommand(action=BoundCreateTableAs(table=table, query=query, span=span)):
            _check_table(table, span)
            _check_reads(query.reads)
            _check_enforced(table, span)
        case DryRunPlan(plan=inner):
            check_runnable(inner)
        case MultiInsertPlan(legs=legs, span=span):
            if not all(leg.sinks for leg in legs):
                raise _unsupported(
                    "INSERT into several tables of which one is not transactional", span
                )
            for leg in legs:
                check_runnable(leg)
        case MergePlan(merge=merge):
            _check_table(merge.table, merge.span)
            _check_reads(merge.reads)
            if any(clause.makes_rows for clause in merge.clauses):
                _check_enforced(merge.table, merge.span)


def _check_write(plan: WritePlan) -> None:
    table, action = plan.table, plan.action
    span = action.span if isinstance(action, BoundInsert | BoundLoad) else None
    _check_table(table, span)
    _check_reads(plan.query.reads if plan.query else ())
    if not isinstance(action, BoundDelete) and not (
        isinstance(action, BoundLoad) and loads_files(table)
    ):
        _check_enforced(table, span)


def _check_reads(reads: Iterable[BoundRead]) -> None:
    for read in reads:
        _check_table(read.table, read.span)


def _check_enforced(table: Table, span: Span | None) -> None:
    """Refuses to write rows past a rule that nothing here checks."""
    if (promise := unenforced(table)) is not None:
        raise _unsupported(f"writing rows of {table.name} under its {promise}", span)


def _check_table(table: Table, span: Span | None) -> None:
    if (what := unreadable(table)) is not None:
        raise _unsupported(f"reading or writing {what} ({table.name})", span)


def _unsupported(words: str, span: Span | None) -> UnsupportedStatementError:
    return UnsupportedStatementError(f"{words} is not supported yet", span=span)
