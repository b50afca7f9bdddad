"""ATTACH TABLE and DETACH TABLE: names and given columns are checked. What lies at the location is
found out when the statement runs.
"""

from __future__ import annotations

from dataclasses import replace

from acidsql.acid.ids import WriteId
from acidsql.catalog.attached import Assumed, is_attached
from acidsql.catalog.model import Table, TableKind
from acidsql.errors import BindError
from acidsql.parser import statements as ast
from acidsql.planner.bind.bound_catalog import BoundAttachTable, BoundDetachTable
from acidsql.planner.bind.ddl.columns import bind_columns, bind_partition_columns
from acidsql.planner.bind.ddl.create import absolute, new_name
from acidsql.planner.bind.names import Names


def bind_attach(names: Names, statement: ast.AttachTable) -> BoundAttachTable:
    name, _, existing = new_name(names, statement.name, statement.if_not_exists)
    columns = bind_columns(statement.columns)
    table = Table(
        name=name,
        columns=columns,
        location=absolute(statement.location, statement.location_span),
        partition_columns=bind_partition_columns(statement.partitioned_by, columns),
        kind=TableKind.EXTERNAL,
        owner=names.around.user,
        created_at=names.around.now,
    )
    return BoundAttachTable(
        table=table if existing is None else replace(existing),
        assumed=_assumed(statement.assumption),
        exists=existing is not None,
        span=statement.location_span,
    )


def _assumed(given: ast.Assumption | None) -> Assumed | None:
    if given is None:
        return None
    ids = None if given.write_ids is None else tuple(map(WriteId, given.write_ids))
    if given.excepted or ids is None:
        return Assumed(committed=None, aborted=ids or (), span=given.span)
    return Assumed(committed=ids, aborted=(), span=given.span)


def bind_detach(names: Names, statement: ast.DetachTable) -> BoundDetachTable:
    name = names.table_name(statement.name)
    table = names.catalog.find_table(name)
    if table is None:
        if names.may_be_missing(statement.if_exists):
            return BoundDetachTable(name=None)
        raise names.not_found(name, statement.name.span)
    if not is_attached(table):
        raise BindError(
            f"table {name} is not attached",
            hint="DROP TABLE drops a table of this warehouse.",
            span=statement.name.span,
        )
    return BoundDetachTable(name=name)
