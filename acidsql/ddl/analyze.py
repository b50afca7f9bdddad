"""ANALYZE TABLE: measured under one snapshot, stored in one step, unless somebody has committed in
between: then measured again.
"""

from __future__ import annotations

from acidsql import crash_points
from acidsql.ddl.answers import done
from acidsql.ddl.warehouse import Warehouse
from acidsql.planner.bind.bound_catalog import BoundAnalyze
from acidsql.result import Result

ATTEMPTS = 3
"""On a table that is written all the time. What the last one finds is stored without the mark that
says it holds.
"""


def analyze_table(warehouse: Warehouse, action: BoundAnalyze) -> Result:
    """Measures a table and stores its statistics. Numbers that hold already are kept right by every
    commit: they need no ANALYZE, and none takes their mark away.
    """
    table = action.table
    for attempt in range(ATTEMPTS):
        tables = [table.name] if table.is_transactional else []
        with warehouse.reads.reading(tables, f"ANALYZE TABLE {table.name}") as (visible, _):
            measured = warehouse.engine.analyze(action, warehouse.engine.snapshots(visible))
        crash_points.reached("analyzed")
        write_ids = visible.write_ids(table.name) if table.is_transactional else None
        if warehouse.store.put_statistics(
            table, measured, write_ids, outdated=attempt == ATTEMPTS - 1
        ):
            break
    return done()
