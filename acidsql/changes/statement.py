"""The one way of every statement that changes rows: through its steps in a unit of work, to the
commit of that; and what is to be said of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.changes.unit_of_work import Done, Leg, UnitOfWork
from acidsql.files.urls import relative_to
from acidsql.planner.steps.plans import MergePlan
from acidsql.planner.steps.step import Ran
from acidsql.result import Stats


def carry_out(legs: Sequence[Leg], work: UnitOfWork, *, ends: bool, warehouse: str) -> Stats:
    """Carries out the legs of one statement. ``ends``: the unit of work is the statement's own and
    ends with it; else others follow before it is committed.
    """
    if not ends:
        return _stats(work, work.run(legs), (), warehouse)
    with work:
        done = work.run(legs)
        ran = work.commit()
    return _stats(work, done, ran, warehouse)


def _stats(work: UnitOfWork, done: Sequence[Done], ended: tuple[Ran, ...], warehouse: str) -> Stats:
    written = [one.written for one in done]
    known, tables = work.write_ids, [one.leg.table.name for one in done]
    several = len(done) > 1 or isinstance(done[0].leg, MergePlan)
    directories = (directory for one in written for directory in one.directories)
    return Stats(
        rows_inserted=sum(one.inserted for one in written),
        rows_updated=sum(one.updated for one in written),
        rows_deleted=sum(one.deleted for one in written),
        clauses=tuple(clause for one in done for clause in one.clauses) if several else (),
        txn_id=work.txn_id,
        write_ids={str(table): known[table] for table in tables if table in known},
        directories=tuple(relative_to(directory, warehouse) for directory in directories),
        path="big" if any(one.path == "big" for one in written) else "small",
        steps=(*(ran for one in done for ran in one.ran), *ended),
    )
