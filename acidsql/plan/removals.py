"""What a statement takes away at once, with the files: nobody who reads these later finds them.
Files of transactional tables that rows alone are taken out of go later, when nobody reads them.
"""

from __future__ import annotations

from collections.abc import Callable

from acidsql.catalog.model import Table, TableName
from acidsql.plan.plans import CatalogCommand, MultiInsertPlan, Plan, WritePlan, legs_of
from acidsql.planner.bind.bound import BoundInsert, BoundLoad
from acidsql.planner.bind.bound_catalog import (
    BoundConvertTable,
    BoundDetachDatabase,
    BoundDetachTable,
    BoundDropDatabase,
    BoundDropPartitions,
    BoundDropTable,
    BoundRenamePartition,
    BoundRenameTable,
    BoundSetPartitionLocation,
    BoundSetTableLocation,
)

Removes = Callable[[TableName], bool]


def removes_files(plan: Plan) -> Removes | None:
    """Tells of which tables a statement takes files away, or moves them; None: of none."""
    match plan:
        case CatalogCommand(
            action=BoundDropDatabase(name=database) | BoundDetachDatabase(name=database)
        ):
            return lambda name: name.database == database
        case CatalogCommand(action=BoundDropTable(name=TableName() as dropped)):
            return lambda name: name == dropped
        case CatalogCommand(action=BoundDetachTable(overlay=Table() as table)):
            return _of(table)
        case CatalogCommand(
            action=BoundDropPartitions(table=table)
            | BoundRenamePartition(table=table)
            | BoundSetPartitionLocation(table=table)
        ):
            return _of(table)
        case CatalogCommand(
            action=BoundRenameTable(before=table)
            | BoundConvertTable(before=table)
            | BoundSetTableLocation(before=table)
        ):
            return _of(table)
        case WritePlan() | MultiInsertPlan():
            plain = {leg.table.name for leg in legs_of(plan) if _overwrites_plain(leg)}
            return plain.__contains__ if plain else None
        case _:
            return None


def _of(table: Table) -> Removes:
    return lambda name: name == table.name


def _overwrites_plain(leg: object) -> bool:
    return (
        isinstance(leg, WritePlan)
        and isinstance(leg.action, BoundInsert | BoundLoad)
        and leg.action.overwrite
        and not leg.table.is_transactional
    )
