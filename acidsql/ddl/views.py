"""CREATE and DROP VIEW. The engine finds the types of the query's columns; nothing is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acidsql.catalog.model import Column, Table
from acidsql.catalog.types import HiveType
from acidsql.ddl.answers import done
from acidsql.ddl.warehouse import Warehouse
from acidsql.errors import AlreadyExistsError, BindError
from acidsql.expressions.spark_words import identifier
from acidsql.plan.building import read_operators
from acidsql.plan.plans import ReadPlan, check_runnable
from acidsql.planner.bind.bound_catalog import BoundCreateView, BoundDropView
from acidsql.planner.bind.ddl.columns import VIRTUAL_COLUMNS, duplicate
from acidsql.planner.bind.ddl.view import wrong_width
from acidsql.result import Result
from acidsql.run.flow import UNTRACED


def create_view(warehouse: Warehouse, action: BoundCreateView) -> Result:
    if action.exists:
        return done()
    query = ReadPlan(query=action.query, operators=read_operators(action.query, warehouse.settings))
    check_runnable(query)
    with warehouse.reads.reading((), f"CREATE VIEW {action.view.name}") as (visible, _):
        snapshots = warehouse.engine.snapshots(visible)
        given = warehouse.engine.answer(query, snapshots, UNTRACED).columns
    view = _with_columns(action, given)
    if action.replaced is None:
        try:
            warehouse.store.create_table(view)
        except AlreadyExistsError:  # since the statement was bound
            if not action.if_not_exists:
                raise
    else:
        warehouse.store.alter_table(
            action.replaced, replace(view, table_id=action.replaced.table_id)
        )
    return done()


def drop_view(warehouse: Warehouse, action: BoundDropView) -> Result:
    if action.name is not None:
        warehouse.store.drop_table(action.name)
    return done(filter(None, [action.note]))


def _with_columns(action: BoundCreateView, given: Sequence[tuple[str, HiveType]]) -> Table:
    names = [name.lower() for name, _ in given]
    for name in names:
        if names.count(name) > 1:
            raise duplicate(name, action.span)
    if not action.names:
        for name in names:
            if name in VIRTUAL_COLUMNS:
                raise BindError(
                    f"Invalid column name {name}",
                    code=10328,
                    hint="Give it another name with AS.",
                    span=action.span,
                )
        return replace(
            action.view,
            columns=tuple(Column(name=n, type=t) for n, (_, t) in zip(names, given, strict=True)),
        )
    if len(action.names) != len(given):
        raise wrong_width(action.span)
    columns = tuple(
        Column(name=c.name, type=t, comment=c.comment)
        for c, (_, t) in zip(action.names, given, strict=True)
    )
    assert action.view.view is not None
    # by position: the names of expressions are the engine's business
    renamed = ", ".join(identifier(c.name) for c in columns)
    text = (
        f"SELECT * FROM ({action.view.view.expanded}) AS"
        f" {identifier(action.view.name.table)}({renamed})"
    )
    return replace(action.view, columns=columns, view=replace(action.view.view, expanded=text))
