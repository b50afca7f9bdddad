"""Bound statements become plans: which tables are read under which snapshot, which sinks are written under which statement id."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never, cast

from acidsql.acid.ids import StatementId
from acidsql.catalog.model import Table
from acidsql.errors import Span
from acidsql.parser.statements import Match
from acidsql.planner.bound import (
    BoundDelete,
    BoundDryRun,
    BoundExplain,
    BoundInsert,
    BoundLoad,
    BoundMerge,
    BoundMultiInsert,
    BoundQuery,
    BoundReset,
    BoundSet,
    BoundStatement,
    BoundUpdate,
    MergeAction,
    SessionAction,
)
from acidsql.planner.bound_catalog import CatalogAction
from acidsql.planner.bound_transactions import (
    BoundAbortTransactions,
    BoundCommit,
    BoundRollback,
    BoundSetAutocommit,
    BoundShowTransactions,
    BoundStartTransaction,
)


class SinkKind(StrEnum):
    """What a sink writes: whole rows into ``delta_*`` or delete events into ``delete_delta_*``."""

    INSERT = "insert"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """``overwrite``: the rows make a ``base_*`` that hides what was there before."""

    kind: SinkKind
    statement_id: StatementId
    overwrite: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """A query: all its tables are read under one snapshot."""

    query: BoundQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePlan:
    """One DML statement on one table. ``sinks`` is empty for a table that is not transactional: its files are plain."""

    table: Table
    action: BoundInsert | BoundLoad | BoundUpdate | BoundDelete
    sinks: tuple[Sink, ...]

    @property
    def query(self) -> BoundQuery | None:
        """What Spark evaluates; None for literal rows and files."""
        if isinstance(self.action, BoundInsert):
            return self.action.source if isinstance(self.action.source, BoundQuery) else None
        return None if isinstance(self.action, BoundLoad) else self.action.query


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiInsertPlan:
    """Legs that read one snapshot and become visible together, each under a statement id of its own."""

    legs: tuple[WritePlan, ...]
    span: Span


class MergeJoin(StrEnum):
    """How target and source are joined, the target on the left; ANTI keeps the rows of one side that have no match."""

    INNER = "INNER"
    RIGHT_OUTER = "RIGHT OUTER"
    LEFT_OUTER = "LEFT OUTER"
    FULL_OUTER = "FULL OUTER"
    LEFT_ANTI = "LEFT ANTI"
    RIGHT_ANTI = "RIGHT ANTI"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePlan:
    """One read of the target, one join, and the sinks of each clause, in the order of the clauses."""

    merge: BoundMerge
    join: MergeJoin
    clause_sinks: tuple[tuple[Sink, ...], ...]

    @property
    def table(self) -> Table:
        return self.merge.table

    @property
    def sinks(self) -> tuple[Sink, ...]:
        return tuple(sink for sinks in self.clause_sinks for sink in sinks)


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
    mode: str | None = None


ChangePlan = WritePlan | MultiInsertPlan | MergePlan


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunPlan:
    """What ``plan`` would do is counted; nothing is written."""

    plan: ChangePlan


Plan = ReadPlan | ChangePlan | CatalogCommand | SessionCommand | ExplainPlan | DryRunPlan

_FIRST = StatementId(0)


def plan(bound: BoundStatement) -> Plan:
    """The plan of one bound statement. Statement ids start at 0 in each transaction."""
    match bound:
        case BoundQuery():
            return ReadPlan(query=bound)
        case BoundInsert() | BoundLoad():
            return plan_insert(bound)
        case BoundUpdate():
            return plan_update(bound)
        case BoundDelete():
            return plan_delete(bound)
        case BoundMultiInsert():
            legs = tuple(plan_insert(leg, StatementId(number)) for number, leg in enumerate(bound.legs))
            return MultiInsertPlan(legs=legs, span=bound.span)
        case BoundMerge():
            return plan_merge(bound)
        case BoundDryRun():
            return DryRunPlan(plan=cast(ChangePlan, plan(bound.statement)))
        case BoundExplain():
            return ExplainPlan(plan=plan(bound.statement), mode=bound.mode)
        case BoundSet() | BoundReset() | BoundShowTransactions() | BoundAbortTransactions():
            return SessionCommand(action=bound)
        case BoundStartTransaction() | BoundCommit() | BoundRollback() | BoundSetAutocommit():
            return SessionCommand(action=bound)
        case _:
            return CatalogCommand(action=bound)


def plan_insert(bound: BoundInsert | BoundLoad, statement_id: StatementId = _FIRST) -> WritePlan:
    sink = Sink(kind=SinkKind.INSERT, statement_id=statement_id, overwrite=bound.overwrite)
    return WritePlan(table=bound.table, action=bound, sinks=(sink,) if bound.table.is_transactional else ())


def plan_update(bound: BoundUpdate) -> WritePlan:
    """Split update: a delete event and a new row for each row hit, both under one statement id, as Hive 3 does."""
    sinks = (Sink(kind=SinkKind.DELETE, statement_id=_FIRST), Sink(kind=SinkKind.INSERT, statement_id=_FIRST))
    return WritePlan(table=bound.table, action=bound, sinks=sinks)


def plan_delete(bound: BoundDelete) -> WritePlan:
    return WritePlan(table=bound.table, action=bound, sinks=(Sink(kind=SinkKind.DELETE, statement_id=_FIRST),))


def numbered_from(made: WritePlan | MergePlan, first: StatementId) -> WritePlan | MergePlan:
    """The plan with its statement ids counted from ``first``: those before belong to earlier statements of the transaction."""
    if not first:
        return made
    if isinstance(made, WritePlan):
        return replace(made, sinks=_shifted(made.sinks, first))
    return replace(made, clause_sinks=tuple(_shifted(sinks, first) for sinks in made.clause_sinks))


def _shifted(sinks: tuple[Sink, ...], by: StatementId) -> tuple[Sink, ...]:
    return tuple(replace(sink, statement_id=StatementId(sink.statement_id + by)) for sink in sinks)


_CLAUSE_ORDER = (MergeAction.DELETE, MergeAction.INSERT, MergeAction.UPDATE)


def plan_merge(bound: BoundMerge) -> MergePlan:
    """A statement id for each clause: deletes first, then inserts, then updates, as Hive 3 has it (Context.DestClausePrefix)."""
    order = sorted(range(len(bound.clauses)), key=lambda i: (_CLAUSE_ORDER.index(bound.clauses[i].action), i))
    ids = {place: StatementId(number) for number, place in enumerate(order)}
    sinks = tuple(_merge_sinks(clause.action, ids[place]) for place, clause in enumerate(bound.clauses))
    return MergePlan(merge=bound, join=merge_join(bound), clause_sinks=sinks)


def _merge_sinks(action: MergeAction, statement_id: StatementId) -> tuple[Sink, ...]:
    delete = Sink(kind=SinkKind.DELETE, statement_id=statement_id)
    insert = Sink(kind=SinkKind.INSERT, statement_id=statement_id)
    match action:
        case MergeAction.DELETE:
            return (delete,)
        case MergeAction.INSERT:
            return (insert,)
        case MergeAction.UPDATE:
            return (delete, insert)
        case _:
            assert_never(action)


_JOINS = {
    frozenset({Match.MATCHED}): MergeJoin.INNER,
    frozenset({Match.NOT_MATCHED}): MergeJoin.RIGHT_ANTI,
    frozenset({Match.NOT_MATCHED_BY_SOURCE}): MergeJoin.LEFT_ANTI,
    frozenset({Match.MATCHED, Match.NOT_MATCHED}): MergeJoin.RIGHT_OUTER,
    frozenset({Match.MATCHED, Match.NOT_MATCHED_BY_SOURCE}): MergeJoin.LEFT_OUTER,
}


def merge_join(bound: BoundMerge) -> MergeJoin:
    """The narrowest join that meets every clause."""
    return _JOINS.get(frozenset(clause.match for clause in bound.clauses), MergeJoin.FULL_OUTER)
