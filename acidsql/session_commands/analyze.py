"""ANALYZE TABLE: measured under one snapshot, stored in one step, unless somebody has committed in between: then measured again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acidsql import crash_points
from acidsql.planner.bound_catalog import BoundAnalyze
from acidsql.result import Result
from acidsql.session_commands.answers import done
from acidsql.txn.transaction import ReadSnapshot

if TYPE_CHECKING:
    from acidsql.session import Session

ATTEMPTS = 3
"""On a table that is written all the time. What the last one finds is stored without the mark that says it holds."""


def analyze_table(session: Session, action: BoundAnalyze) -> Result:
    """Numbers that hold already are kept right by every commit: they need no ANALYZE, and none takes their mark away."""
    table = action.table
    for attempt in range(ATTEMPTS):
        visible = ReadSnapshot(session.store)
        found = session.engine.analyze(action, session.engine.snapshots(visible))
        crash_points.reached("analyzed")
        write_ids = visible.write_ids(table.name) if table.is_transactional else None
        if session.store.put_statistics(table, found, write_ids, outdated=attempt == ATTEMPTS - 1):
            break
    return done("ANALYZE TABLE")
