"""Bound statements become plans: which tables are read under which snapshot, which sinks are
written under which statement id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never, cast

from acidsql.acid.ids import StatementId
from acidsql.catalog.model import Table, TableKind, TableName
from acidsql.errors import Span, UnsupportedStatementError
from acidsql.lazy import dataclass
from acidsql.plan.building import (
    MergeJoin,
    change_operators,
    merge_join,
    merge_operators,
    query_of,
    read_operators,
)
from acidsql.plan.engines import SparkAtHand
from acidsql.plan.operators import Operators, PutInPlace, SumUp, WriteOut
from acidsql.planner.bind.bound import (
    BoundCopyInto,
    BoundDelete,
    BoundDryRun,
    BoundExplain,
    BoundInsert,
    BoundLoad,
    BoundMerge,
    BoundMultiInsert,
    BoundQuery,
    BoundRead,
    BoundReset,
    BoundReturning,
    BoundSet,
    BoundStatement,
    BoundTelling,
    BoundUnload,
    BoundUpdate,
    MergeAction,
    SessionAction,
    Telling,
)
from acidsql.planner.bind.bound_catalog import (
    BoundCreateTable,
    BoundCreateTableAs,
    BoundReplaceTable,
    CatalogAction,
)
from acidsql.planner.bind.bound_transactions import (
    BoundAbortCompactions,
    BoundAbortTransactions,
    BoundCommit,
    BoundRollback,
    BoundSetAutocommit,
    BoundShowCompactions,
    BoundShowLocks,
    BoundShowTransaction,
    BoundShowTransactions,
    BoundStartTransaction,
)
from acidsql.planner.bind.tables import loads_files, unenforced, unreadable
from acidsql.settings import Settings

if TYPE_CHECKING:
    from acidsql.storage.unload.destination import Destination


class SinkKind(StrEnum):
    """What a sink writes: whole rows into ``delta_*`` or delete events into ``delete_delta_*``."""

    INSERT = "insert"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """A kind of files that a statement writes under one statement id. ``overwrite``: the rows make
    a ``base_*`` that hides what was there before.
    """

    kind: SinkKind
    statement_id: StatementId
    overwrite: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """A query: all its tables are read under one snapshot. ``operators`` make its rows, ``ending``
    what becomes of those that are to go ``into`` files, or of which something is told instead.
    """

    query: BoundQuery
    operators: Operators
    into: Destination | None = None
    telling: Telling | None = None

    @property
    def ending(self) -> Operators:
        if self.into is None:
            return (SumUp(),) if self.telling is Telling.SUMMARY else ()
        return (WriteOut(into=self.into), PutInPlace(into=self.into))


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePlan:
    """One DML statement on one table. ``sinks`` is empty for a table that is not transactional: its
    files are plain.
    """

    table: Table
    action: BoundInsert | BoundLoad | BoundUpdate | BoundDelete
    sinks: tuple[Sink, ...]
    operators: Operators
    returning: ReadPlan | None = None

    @property
    def query(self) -> BoundQuery | None:
        """What makes the rows; None for literal rows and files."""
        return query_of(self.action)


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiInsertPlan:
    """Legs that read one snapshot and become visible together, each under a statement id of its
    own. ``making``: the table of a leg that is missing, which is to be made before all.
    """

    legs: tuple[WritePlan, ...]
    span: Span
    making: BoundCreateTable | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePlan:
    """One read of the target, one join, and the sinks of each clause, in the order of the clauses.
    ``ansi``: a value that cannot be is an error.
    """

    merge: BoundMerge
    join: MergeJoin
    clause_sinks: tuple[tuple[Sink, ...], ...]
    operators: Operators
    ansi: bool = False
    returning: ReadPlan | None = None

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

    plan: ChangePlan | CatalogCommand | SessionCommand


Plan = ReadPlan | ChangePlan | CatalogCommand | SessionCommand | ExplainPlan | DryRunPlan

_FIRST = StatementId(0)


def carried_out(plan: Plan) -> Plan:
    """What a plan carries out: EXPLAIN ANALYZE does all that its statement does."""
    match plan:
        case ExplainPlan(
            plan=ReadPlan() | WritePlan() | MultiInsertPlan() | MergePlan() as inner,
            mode="ANALYZE",
        ):
            return inner
    return plan


def legs_of(plan: ChangePlan) -> tuple[WritePlan | MergePlan, ...]:
    """The legs of a multi-insert, else the one that the statement is."""
    return plan.legs if isinstance(plan, MultiInsertPlan) else (plan,)


def tables_of(plan: ReadPlan | ChangePlan) -> tuple[Table, ...]:
    """The tables that a plan reads or writes, as they were when it was made; no frames."""
    match plan:
        case ReadPlan(query=query):
            return _tables(query.reads)
        case MergePlan(merge=merge):
            return _tables(merge.reads)
        case WritePlan(table=table, query=query):
            return (table, *_tables(query.reads if query else ()))
        case MultiInsertPlan(legs=legs):
            return tuple(table for leg in legs for table in tables_of(leg))


def _tables(reads: Iterable[BoundRead]) -> tuple[Table, ...]:
    return tuple(read.table for read in reads if read.table.kind is not TableKind.FRAME)


def reads_of(plan: Plan) -> Iterator[BoundRead]:
    """What a plan reads, and what one that is explained would read."""
    match plan:
        case ReadPlan(query=query):
            yield from query.reads
        case WritePlan(query=query):
            yield from query.reads if query else ()
        case MultiInsertPlan(legs=legs):
            for leg in legs:
                yield from reads_of(leg)
        case MergePlan(merge=merge):
            yield from merge.reads
        case CatalogCommand(action=BoundCreateTableAs() | BoundReplaceTable() as action):
            yield from action.query.reads if action.query else ()
        case ExplainPlan(plan=inner) | DryRunPlan(plan=inner):
            yield from reads_of(inner)


def transactional_reads(plan: Plan) -> tuple[TableName, ...]:
    """The transactional tables whose rows a plan reads, its target's too where it looks at them."""
    reads: tuple[BoundRead, ...] = ()
    match plan:
        case ReadPlan(query=query):
            reads = tuple(query.reads)
        case MergePlan(merge=merge):
            reads = tuple(merge.reads)
        case WritePlan() if plan.query is not None:
            reads = tuple(plan.query.reads)
        case MultiInsertPlan(legs=legs):
            return tuple(dict.fromkeys(name for leg in legs for name in transactional_reads(leg)))
        case DryRunPlan(plan=inner) | ExplainPlan(plan=inner):
            return transactional_reads(inner)
    return tuple(dict.fromkeys(r.table.name for r in reads if r.table.is_transactional))


def stored_reads(plan: ReadPlan) -> tuple[TableName, ...]:
    """The tables with files of their own whose rows a query reads."""
    tables = (read.table for read in plan.query.reads)
    return tuple(dict.fromkeys(t.name for t in tables if t.kind is not TableKind.FRAME))


def plan(  # noqa: C901 (flat: a case for each kind)
    bound: BoundStatement, settings: Settings, spark: SparkAtHand | None = None
) -> Plan:
    """The plan of one bound statement under these settings. Statement ids start at 0 in each
    transaction. ``spark``: what would load rows in the driver's place.
    """
    match bound:
        case BoundQuery():
            return ReadPlan(query=bound, operators=read_operators(bound, settings))
        case BoundTelling(query=query, telling=telling):
            operators = read_operators(query, settings)
            return ReadPlan(query=query, operators=operators, telling=telling)
        case BoundUnload(query=query, into=into):
            return ReadPlan(query=query, operators=read_operators(query, settings), into=into)
        case BoundInsert() | BoundLoad():
            return plan_insert(bound, settings, spark=spark)
        case BoundUpdate():
            return plan_update(bound, settings)
        case BoundDelete():
            return plan_delete(bound, settings)
        case BoundMultiInsert():
            legs = tuple(
                plan_insert(leg, settings, StatementId(number), spark=spark)
                for number, leg in enumerate(bound.legs)
            )
            return MultiInsertPlan(legs=legs, span=bound.span)
        case BoundCopyInto(legs=inserts, making=making):
            legs = tuple(
                plan_insert(leg, settings, StatementId(number), spark=spark)
                for number, leg in enumerate(inserts)
            )
            return MultiInsertPlan(legs=legs, span=bound.span, making=making)
        case BoundMerge():
            return plan_merge(bound, settings)
        case BoundDryRun():
            inner = plan(bound.statement, settings, spark)
            return DryRunPlan(plan=cast(ChangePlan | CatalogCommand | SessionCommand, inner))
        case BoundExplain():
            return ExplainPlan(plan=plan(bound.statement, settings, spark), mode=bound.mode)
        case BoundSet() | BoundReset():
            return SessionCommand(action=bound)
        case BoundShowTransactions() | BoundShowTransaction() | BoundShowLocks():
            return SessionCommand(action=bound)
        case BoundAbortTransactions() | BoundShowCompactions() | BoundAbortCompactions():
            return SessionCommand(action=bound)
        case BoundStartTransaction() | BoundCommit() | BoundRollback() | BoundSetAutocommit():
            return SessionCommand(action=bound)
        case _:
            return CatalogCommand(action=bound)


def plan_insert(
    bound: BoundInsert | BoundLoad,
    settings: Settings,
    statement_id: StatementId = _FIRST,
    *,
    spark: SparkAtHand | None = None,
) -> WritePlan:
    sink = Sink(kind=SinkKind.INSERT, statement_id=statement_id, overwrite=bound.overwrite)
    return _write(bound, (sink,) if bound.table.is_transactional else (), settings, spark)


def plan_update(bound: BoundUpdate, settings: Settings) -> WritePlan:
    """Split update: a delete event and a new row for each row hit, both under one statement id, as
    Hive 3 does.
    """
    sinks = (
        Sink(kind=SinkKind.DELETE, statement_id=_FIRST),
        Sink(kind=SinkKind.INSERT, statement_id=_FIRST),
    )
    return _write(bound, sinks, settings)


def plan_delete(bound: BoundDelete, settings: Settings) -> WritePlan:
    return _write(bound, (Sink(kind=SinkKind.DELETE, statement_id=_FIRST),), settings)


def _write(
    action: BoundInsert | BoundLoad | BoundUpdate | BoundDelete,
    sinks: tuple[Sink, ...],
    settings: Settings,
    spark: SparkAtHand | None = None,
) -> WritePlan:
    operators = change_operators(action, settings, spark)
    returning = None if isinstance(action, BoundLoad) else _returned(action.returning, settings)
    return WritePlan(
        table=action.table, action=action, sinks=sinks, operators=operators, returning=returning
    )


def _returned(returning: BoundReturning | None, settings: Settings) -> ReadPlan | None:
    """What makes the answer of RETURNING of the rows that were written."""
    if returning is None:
        return None
    operators = read_operators(returning.query, settings)
    return ReadPlan(query=returning.query, operators=operators)


def numbered_from(leg: WritePlan | MergePlan, first: StatementId) -> WritePlan | MergePlan:
    """The plan with its statement ids counted from ``first``: those before belong to earlier
    statements of the transaction.
    """
    if not first:
        return leg
    if isinstance(leg, WritePlan):
        return replace(leg, sinks=_shifted(leg.sinks, first))
    return replace(leg, clause_sinks=tuple(_shifted(sinks, first) for sinks in leg.clause_sinks))


def _shifted(sinks: tuple[Sink, ...], by: StatementId) -> tuple[Sink, ...]:
    return tuple(replace(sink, statement_id=StatementId(sink.statement_id + by)) for sink in sinks)


_CLAUSE_ORDER = (MergeAction.DELETE, MergeAction.INSERT, MergeAction.UPDATE)


def plan_merge(bound: BoundMerge, settings: Settings) -> MergePlan:
    """A statement id for each clause: deletes first, then inserts, then updates, as Hive 3 has it
    (Context.DestClausePrefix).
    """
    order = sorted(
        range(len(bound.clauses)), key=lambda i: (_CLAUSE_ORDER.index(bound.clauses[i].action), i)
    )
    ids = {index: StatementId(number) for number, index in enumerate(order)}
    sinks = tuple(
        _merge_sinks(clause.action, ids[index]) for index, clause in enumerate(bound.clauses)
    )
    join = merge_join(bound)
    return MergePlan(
        merge=bound,
        join=join,
        clause_sinks=sinks,
        operators=merge_operators(bound, join, settings),
        ansi=settings.flag("acidsql.ansi"),
        returning=_returned(bound.returning, settings),
    )


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


# ---- runnable
#
# Which plans can be explained alone, because nothing carries them out yet.


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
