"""Bound statements become plans: which tables are read under which snapshot, which sinks are written under which statement id."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from acidsql.acid.ids import StatementId
from acidsql.catalog.model import Table
from acidsql.planner.bound import (
    BoundDelete,
    BoundExplain,
    BoundInsert,
    BoundQuery,
    BoundReset,
    BoundSet,
    BoundShowTransactions,
    BoundStatement,
    BoundUpdate,
    SessionAction,
)
from acidsql.planner.bound_catalog import CatalogAction


class SinkKind(StrEnum):
    """What a sink writes: whole rows into ``delta_*`` or delete events into ``delete_delta_*``."""

    INSERT = "insert"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    kind: SinkKind
    statement_id: StatementId


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """A query: all its tables are read under one snapshot."""

    query: BoundQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePlan:
    """One DML statement on one table. ``sinks`` is empty for a table that is not transactional: its files are plain."""

    table: Table
    action: BoundInsert | BoundUpdate | BoundDelete
    sinks: tuple[Sink, ...]

    @property
    def query(self) -> BoundQuery | None:
        """What Spark evaluates; None for literal rows."""
        if isinstance(self.action, BoundInsert):
            return self.action.source if isinstance(self.action.source, BoundQuery) else None
        return self.action.query


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogCommand:
    """Asks or changes the catalog only."""

    action: CatalogAction


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCommand:
    """Asks or changes the session or the transaction manager."""

    action: SessionAction


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainPlan:
    plan: Plan


Plan = ReadPlan | WritePlan | CatalogCommand | SessionCommand | ExplainPlan

_FIRST = StatementId(0)


def plan(bound: BoundStatement) -> Plan:
    """The plan of one bound statement. Statement ids start at 0 in each transaction."""
    match bound:
        case BoundQuery():
            return ReadPlan(query=bound)
        case BoundInsert():
            return plan_insert(bound)
        case BoundUpdate():
            return plan_update(bound)
        case BoundDelete():
            return plan_delete(bound)
        case BoundExplain():
            return ExplainPlan(plan=plan(bound.statement))
        case BoundShowTransactions() | BoundSet() | BoundReset():
            return SessionCommand(action=bound)
        case _:
            return CatalogCommand(action=bound)


def plan_insert(bound: BoundInsert) -> WritePlan:
    sinks = (Sink(kind=SinkKind.INSERT, statement_id=_FIRST),) if bound.table.is_full_acid else ()
    return WritePlan(table=bound.table, action=bound, sinks=sinks)


def plan_update(bound: BoundUpdate) -> WritePlan:
    """Split update: a delete event and a new row for each row hit, both under one statement id, as Hive 3 does."""
    sinks = (Sink(kind=SinkKind.DELETE, statement_id=_FIRST), Sink(kind=SinkKind.INSERT, statement_id=_FIRST))
    return WritePlan(table=bound.table, action=bound, sinks=sinks)


def plan_delete(bound: BoundDelete) -> WritePlan:
    return WritePlan(table=bound.table, action=bound, sinks=(Sink(kind=SinkKind.DELETE, statement_id=_FIRST),))
