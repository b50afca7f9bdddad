"""CREATE and DROP VIEW. The engine finds the types of the query's columns; nothing is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from acidsql.catalog.model import Column, Table
from acidsql.catalog.types import HiveType
from acidsql.errors import BindError
from acidsql.planner.bind_columns import VIRTUAL_COLUMNS, duplicate
from acidsql.planner.bind_view import wrong_width
from acidsql.planner.bound_catalog import BoundCreateView, BoundDropView
from acidsql.planner.lowering import identifier
from acidsql.planner.physical import ReadPlan
from acidsql.planner.runnable import check_runnable
from acidsql.result import Result
from acidsql.session_commands.answers import done
from acidsql.txn.transaction import ReadSnapshot

if TYPE_CHECKING:
    from acidsql.session import Session


def create_view(session: Session, action: BoundCreateView) -> Result:
    if action.exists:
        return done("CREATE VIEW")
    check_runnable(ReadPlan(query=action.query))
    given = session.engine.query(action.query, session.engine.snapshots(ReadSnapshot(session.store))).columns
    view = _with_columns(action, given)
    if action.replaced is None:
        session.store.create_table(view)
    else:
        session.store.alter_table(action.replaced, replace(view, table_id=action.replaced.table_id))
    return done("CREATE VIEW")


def drop_view(session: Session, action: BoundDropView) -> Result:
    if action.name is not None:
        session.store.drop_table(action.name)
    return done("DROP VIEW")


def _with_columns(action: BoundCreateView, given: Sequence[tuple[str, HiveType]]) -> Table:
    names = [name.lower() for name, _ in given]
    for name in names:
        if names.count(name) > 1:
            raise duplicate(name, action.span)
    if not action.names:
        for name in names:
            if name in VIRTUAL_COLUMNS:
                raise BindError(f"Invalid column name {name}", code=10328, hint="Give it another name with AS.", span=action.span)
        return replace(action.view, columns=tuple(Column(name=n, type=t) for n, (_, t) in zip(names, given, strict=True)))
    if len(action.names) != len(given):
        raise wrong_width(action.span)
    columns = tuple(Column(name=c.name, type=t, comment=c.comment) for c, (_, t) in zip(action.names, given, strict=True))
    assert action.view.view is not None
    renamed = ", ".join(identifier(c.name) for c in columns)  # by place: the names of expressions are the engine's business
    text = f"SELECT * FROM ({action.view.view.expanded}) AS {identifier(action.view.name.table)}({renamed})"
    return replace(action.view, columns=columns, view=replace(action.view.view, expanded=text))
