"""One call of ``AcidSqlHook.run``: its statements, each carried out once however often the task is.

With autocommit off, as the operators have it, the changes of a call are one transaction, which is
recorded as the call's run id. A task that runs again after its commit, because nobody heard of it,
finds that on record and skips what changes something; its queries are carried out, as others need
their answers. With autocommit on each statement that changes rows has a run id of its own,
``<run id>/1``, ``<run id>/2``, and those on record are skipped.

A run on record with other statements is refused: what the task is to do now was not done, and what
it did must not be done again under the same name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, Any

from acidsql.errors import (
    Error,
    NotRecordableError,
    ParseError,
    ProgrammingError,
    RunCommittedError,
)
from acidsql.lazy import dataclass
from acidsql.parser.parameters import bind_parameters
from acidsql.parser.parse import parse
from acidsql.parser.statements import (
    AnalyzeTable,
    Commit,
    Copy,
    CopyInto,
    Delete,
    Describe,
    DescribeChanges,
    DescribeDatabase,
    DescribeHealth,
    DescribeQuery,
    DryRun,
    Explain,
    Insert,
    InsertDirectory,
    LoadData,
    Merge,
    MultiInsert,
    Query,
    ResetVariable,
    Rollback,
    SetAutocommit,
    SetVariable,
    ShowColumns,
    ShowCompactions,
    ShowCreateTable,
    ShowDatabases,
    ShowLocks,
    ShowPartitions,
    ShowTableProperties,
    ShowTables,
    ShowTransaction,
    ShowTransactions,
    ShowViews,
    StartTransaction,
    Statement,
    Summarize,
    TruncateTable,
    Update,
    UseDatabase,
)
from acidsql.plan.plans import ExplainPlan
from acidsql.txn.runs import LONGEST_RUN_ID, CommittedRun, digest_of

if TYPE_CHECKING:
    from logging import Logger

    from acidsql.dbapi import Cursor
    from acidsql.parser.parameters import Params
    from acidsql.plan.plans import Plan
    from acidsql.session import Session


# ---- statements
#
# The statements of a task's SQL, and what is done with each when the task is run again.


_CHANGES = (Insert, MultiInsert, CopyInto, Update, Delete, Merge, LoadData, TruncateTable)
_TRANSACTIONS = (StartTransaction, Commit, Rollback, SetAutocommit)
_HARMLESS = (
    Query,
    Copy,
    InsertDirectory,
    DescribeQuery,
    Summarize,
    Explain,
    DryRun,
    SetVariable,
    ResetVariable,
    UseDatabase,
    AnalyzeTable,
    Describe,
    DescribeDatabase,
    DescribeChanges,
    DescribeHealth,
    ShowColumns,
    ShowCompactions,
    ShowCreateTable,
    ShowDatabases,
    ShowLocks,
    ShowPartitions,
    ShowTableProperties,
    ShowTables,
    ShowTransaction,
    ShowTransactions,
    ShowViews,
)


class Kind(Enum):
    """CHANGE: rows. DEFINITION: the catalog, at once. TRANSACTION: begins or ends one. HARMLESS:
    may be carried out as often as one likes.
    """

    CHANGE = "change"
    DEFINITION = "definition"
    TRANSACTION = "transaction"
    HARMLESS = "harmless"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStatement:
    """``text``: as it was given; ``source``: with its parameters in it."""

    text: str
    source: str
    kind: Kind


def task_statements(
    texts: Iterable[str], parameters: Sequence[Any] | Mapping[str, Any] | None
) -> tuple[TaskStatement, ...]:
    """What a task is to carry out; errors as of a session's statements."""
    return tuple(_task_statement(text, parameters) for text in texts)


def _task_statement(
    text: str, parameters: Sequence[Any] | Mapping[str, Any] | None
) -> TaskStatement:
    source = bind_parameters(text, parameters) if parameters else text
    try:
        kind = _kind_of(parse(source))
    except ParseError as error:
        raise error.at(source) from None
    return TaskStatement(text=text, source=source, kind=kind)


def _kind_of(statement: Statement) -> Kind:
    if isinstance(statement, Explain) and statement.mode == "ANALYZE":
        return _kind_of(statement.statement)
    if isinstance(statement, _CHANGES):
        return Kind.CHANGE
    if isinstance(statement, _TRANSACTIONS):
        return Kind.TRANSACTION
    return Kind.HARMLESS if isinstance(statement, _HARMLESS) else Kind.DEFINITION


# ---- runs


OTHER_ID = "Pass another run_id to the hook (hook_params of an operator) to have them done."


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What a call has changed, in this attempt of the task or (``done_before``) an earlier one."""

    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0
    txn_ids: list[int] = field(default_factory=list)
    write_ids: dict[str, int] = field(default_factory=dict)
    done_before: bool = False

    def add(self, rows: tuple[int, int, int], txn_id: int | None, ids: Mapping[str, int]) -> None:
        """Counts the rows that a statement or a run has inserted, updated and deleted."""
        self.rows_inserted += rows[0]
        self.rows_updated += rows[1]
        self.rows_deleted += rows[2]
        if txn_id is not None and txn_id not in self.txn_ids:
            self.txn_ids.append(txn_id)
        self.write_ids.update(ids)


@dataclass(slots=True, kw_only=True)
class TaskRun:
    """A call's statements. ``run_id``: None if nothing is to be recorded; ``is_default``: nobody
    has asked for it, so that what cannot be recorded may be done all the same.
    """

    statements: tuple[TaskStatement, ...]
    run_id: str | None
    is_default: bool
    autocommit: bool
    log: Logger
    outcome: Outcome = field(default_factory=Outcome)
    plans: list[Plan] = field(default_factory=list)
    _index: int = 0
    _changes: int = 0
    _before: CommittedRun | None = None
    _is_recorded: bool = False

    @property
    def has_changes(self) -> bool:
        return any(one.kind is Kind.CHANGE for one in self.statements)

    def check(self) -> None:
        """ProgrammingError for statements that would divide the transaction of the run."""
        for one in self.statements:
            if self.run_id is not None and one.kind is Kind.TRANSACTION:
                hint = (
                    "Leave it out: the statements of a task are one transaction, or with"
                    " autocommit=True one each. Or turn run ids off by idempotent=False."
                )
                raise ProgrammingError(
                    f'"{one.source.strip()}" cannot be part of a task with a run id', hint=hint
                )

    def begin(self) -> None:
        """Before each attempt."""
        self.outcome, self.plans = Outcome(), []
        self._index, self._changes, self._before, self._is_recorded = 0, 0, None, False

    def carry_out(self, cursor: Cursor, params: Params | None) -> None:
        """Carries out the next statement, or skips it if that was done before. A skipped one leaves
        a cursor without rows.
        """
        session = cursor.connection.session
        if self._index == 0:
            self._look(session)
        statement = self.statements[self._index]
        self._index += 1
        match statement.kind:
            case Kind.CHANGE:
                self._changes += 1
                self._change(cursor, statement, params)
            case Kind.DEFINITION if self._is_past(session):
                self._skip(cursor, statement, params)
            case _:
                self._execute(cursor, statement, params)

    def _look(self, session: Session) -> None:
        """Finds out whether the transaction was committed by an earlier attempt."""
        if self.run_id is None or self.autocommit or not self.has_changes:
            return
        self._before = session.find_run(self.run_id)
        if self._before is not None:
            self._note_before(self._before, [one.source for one in self._all_changes()])

    def _all_changes(self) -> Iterator[TaskStatement]:
        return (one for one in self.statements if one.kind is Kind.CHANGE)

    def _is_past(self, session: Session) -> bool:
        """Whether an earlier attempt has come to the end of what follows a DDL statement: then it
        has carried that out, too.
        """
        if self.run_id is None or not self.autocommit:
            return self._before is not None
        follows = any(one.kind is Kind.CHANGE for one in self.statements[self._index :])
        return follows and session.find_run(self._own_id(self._changes + 1)) is not None

    def _own_id(self, number: int) -> str:
        return f"{self.run_id}/{number}"

    def _change(self, cursor: Cursor, statement: TaskStatement, params: Params | None) -> None:
        if self._before is not None:
            self._skip(cursor, statement, params)
        elif self.run_id is not None and self.autocommit:
            self._change_alone(cursor, statement, params)
        else:
            if self.run_id is not None and not self._is_recorded:
                cursor.connection.session.record_run(self.run_id)
                self._is_recorded = True
            self._execute(cursor, statement, params)

    def _change_alone(
        self, cursor: Cursor, statement: TaskStatement, params: Params | None
    ) -> None:
        own = self._own_id(self._changes)
        try:
            self._execute(cursor, statement, params, run_id=own)
        except RunCommittedError:
            before = cursor.connection.session.find_run(own)
            if before is None:  # forgotten between two breaths
                raise
            self._note_before(before, [statement.source])
            self._skip(cursor, statement, params)
        except NotRecordableError as error:
            if not self.is_default:
                raise
            self.log.warning(
                "%s: if this task is run again, so is the statement: %s", error.message, own
            )
            self._execute(cursor, statement, params)

    def _note_before(self, before: CommittedRun, sources: list[str]) -> None:
        if before.digest != digest_of(sources):
            raise ProgrammingError(
                f'run "{before.run_id}" was committed before, by transaction'
                f" txnid:{before.txn_id}, with other statements",
                hint=OTHER_ID,
            )
        rows = (before.rows_inserted, before.rows_updated, before.rows_deleted)
        self.outcome.done_before = True
        self.outcome.add(rows, before.txn_id, before.write_ids)
        self.log.warning(
            'Run "%s" was committed before, by transaction txnid:%d: what changes rows is not done'
            " again.",
            before.run_id,
            before.txn_id,
        )

    def _skip(self, cursor: Cursor, statement: TaskStatement, params: Params | None) -> None:
        self.log.info("Skipped, as it was done before: %s", statement.text)
        self._note_plan(cursor.connection.session, statement, params)
        cursor.executemany(statement.text, [])

    def _note_plan(self, session: Session, statement: TaskStatement, params: Params | None) -> None:
        """What is told of a statement that was done before is what its plan would be now; nothing
        if there is none any more, as of a table that was dropped since.
        """
        try:
            plan = session.sql(f"EXPLAIN {statement.text}", params).plan
        except Error as error:
            self.log.info("What it has read and written is not told: %s", error.message)
            return
        if isinstance(plan, ExplainPlan):
            self.plans.append(plan.plan)

    def _execute(
        self,
        cursor: Cursor,
        statement: TaskStatement,
        params: Params | None,
        *,
        run_id: str | None = None,
    ) -> None:
        cursor.execute(statement.text, params, run_id=run_id)
        result = cursor.result
        if result is None:
            return
        if result.plan is not None:
            self.plans.append(result.plan)
        if statement.kind is Kind.CHANGE:
            stats = result.stats
            rows = (stats.rows_inserted, stats.rows_updated, stats.rows_deleted)
            self.outcome.add(rows, stats.txn_id, stats.write_ids)
        for warning in (*result.warnings, *result.notes):
            self.log.warning("%s", warning)


class RunIds:
    """The run ids of the calls of one task, in their order: a second call with the same id has
    ``#2`` behind it.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def next_key(self, key: str) -> str:
        """The key of the next call's XCom; no # is in it, as keys are parts of URLs."""
        return self.number(key).replace("#", "_")

    def number(self, run_id: str) -> str:
        count = self._counts[run_id] = self._counts.get(run_id, 0) + 1
        return run_id if count == 1 else f"{run_id}#{count}"


_last: tuple[Mapping[str, Any], RunIds] | None = None
"""The context of the task that this process carries out, and its ids."""


def ids_of_task(context: Mapping[str, Any]) -> RunIds:
    """The ids of the task whose context this is, whichever of its hooks asks."""
    global _last
    if _last is None or _last[0] is not context:
        _last = context, RunIds()
    return _last[1]


def default_run_id(context: Mapping[str, Any]) -> str:
    """The name of a task's work, the same in all its attempts: dag, run, task, map index."""
    ti = context["ti"]
    name = f"airflow/{ti.dag_id}/{ti.run_id}/{ti.task_id}/{ti.map_index}"
    if len(name) <= LONGEST_RUN_ID - 20:  # what is put behind it has room
        return name
    return f"airflow/{hashlib.sha256(name.encode()).hexdigest()}"


def current_context() -> Mapping[str, Any] | None:
    """The context of the task that runs here; None outside of tasks."""
    from airflow.sdk import get_current_context

    with suppress(RuntimeError):
        context: Mapping[str, Any] = get_current_context()
        return context
    return None
