"""A session's transaction over several statements, and what of them is run again: when it begins
and ends, and what may be done in it; and the locks of its statements: whose they are, how long they
are waited for, and what becomes of a plan that was made before them.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field, replace
from types import TracebackType
from typing import Generic, Protocol, TypeVar

from acidsql import interrupts
from acidsql.catalog.model import Partition, Table, TableName
from acidsql.commit.transactional import TransactionWork
from acidsql.errors import (
    BindError,
    Error,
    InterfaceError,
    NotRecordableError,
    Warning,
    WriteConflictError,
)
from acidsql.lazy import dataclass
from acidsql.plan.facts import lock_request, words_of
from acidsql.plan.plans import (
    CatalogCommand,
    ChangePlan,
    MergePlan,
    MultiInsertPlan,
    Plan,
    ReadPlan,
    WritePlan,
    legs_of,
    tables_of,
    transactional_reads,
)
from acidsql.planner.bind.bound import BoundInsert, BoundLoad
from acidsql.planner.bind.bound_catalog import READING_ACTIONS, BoundUnbuilt
from acidsql.settings import Settings
from acidsql.txn.locks import LockRequest, Patience, held
from acidsql.txn.manager import TxnManager
from acidsql.txn.runs import RunRequest, Taken
from acidsql.txn.transaction import Transaction, TransactionState

# ---- turn
#
# Whose turn it is to use a session: that of the process that opened it, and of one thread at a
# time.
#
# A forked child has a copy of its parent's session, with its open transaction and its connections
# to the store and to Java. Nothing may be done with it there: both would speak for one transaction.


class Turn:
    """Whose turn it is to use one session. ``cancel`` stops what its statement does in Spark."""

    def __init__(self, cancel: Callable[[], object]) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._cancel = cancel

    @property
    def is_elsewhere(self) -> bool:
        """Whether the session is that of another process, which this one was forked from."""
        return self._pid != os.getpid()

    def check_process(self) -> None:
        """InterfaceError in a forked child."""
        if self.is_elsewhere:
            hint = "Open a session in each process."
            raise InterfaceError("the session belongs to another process", hint=hint)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """A statement. InterfaceError in a forked child, and while another thread has its turn.

        The same thread may take another one inside.
        """
        self.check_process()
        if not self._lock.acquire(blocking=False):
            hint = "Open a session for each thread."
            raise InterfaceError("the session is in use by another thread", hint=hint)
        try:
            with interrupts.heeded(self._cancel):
                yield
        finally:
            self._lock.release()


# ---- transaction


NOT_IN_A_TRANSACTION = 20007
PLAIN_SETTING = "acidsql.plain.in.transaction"


class SessionTransaction:
    """The open transaction of a session. It is opened when a statement first needs it: START
    TRANSACTION, or ``autocommit`` being off, only says that it is wanted. ``outlive``: keeps what
    results of it still need, just before it ends.
    """

    def __init__(
        self,
        begin: Callable[[], TransactionWork],
        settings: Settings,
        outlive: Callable[[Transaction], None] = lambda txn: None,
        *,
        ask_for_run: Callable[[str], RunRequest],
    ) -> None:
        self._begin = begin
        self._settings = settings
        self._outlive = outlive
        self._ask_for_run = ask_for_run
        self.request: RunRequest | None = None
        """What the next commit is recorded as."""
        self._work: TransactionWork | None = None
        self._started = False
        self._read_only = False
        self.autocommit = True
        self.asked: set[TableName] = set()
        """The tables whose sources have been asked for the transaction."""

    @property
    def is_open(self) -> bool:
        """Whether statements are carried out in a transaction that has not ended."""
        return self._started or self._work is not None

    @property
    def is_lost(self) -> bool:
        """Whether others have ended the transaction, so that it can only be rolled back; asks the
        metastore.
        """
        return self._work is not None and (
            self._work.txn.state is not TransactionState.OPEN
            or self._work.txn.find_abort() is not None
        )

    @property
    def takes_statements(self) -> bool:
        """Whether what reads or writes rows becomes part of a transaction that is to be ended."""
        return self.is_open or not self.autocommit

    @property
    def has_changes(self) -> bool:
        """Whether a rollback would take anything back."""
        return self._work is not None and self._work.has_written

    def partitions(self, table: TableName) -> Iterable[Partition]:
        """The partitions of a table that the open transaction has written to."""
        return () if self._work is None else self._work.partitions(table)

    @property
    def taken(self) -> Sequence[Taken]:
        """The files that the open transaction has taken."""
        return () if self._work is None else self._work.taken

    def work(self) -> TransactionWork | None:
        """The transaction to carry a statement out in; None if it is one of its own."""
        if self._work is None and self.takes_statements:
            self._work = self._begin()
            self._work.request = self.request
        return self._work

    def begin(self, *, read_only: bool = False, run_id: str | None = None) -> None:
        """Asks for a transaction; InterfaceError if one is open. ``run_id``: as for ``record``."""
        if self.is_open:
            raise InterfaceError(
                "a transaction is open already",
                hint="COMMIT or ROLLBACK it first.",
                code=NOT_IN_A_TRANSACTION,
            )
        self.request = None if run_id is None else self._ask_for_run(run_id)
        self._started, self._read_only = True, read_only

    def record(self, run_id: str) -> None:
        """Has the open transaction, or the one that the next statement opens, recorded as
        ``run_id``. RunCommittedError if that was done before; InterfaceError if it is too late.
        """
        if not self.takes_statements:
            hint = "Pass run_id to sql, begin or transaction, or turn autocommit off."
            raise InterfaceError("no transaction is open to be recorded as a run", hint=hint)
        if self.request is not None or (self._work is not None and self._work.statements):
            raise InterfaceError("the transaction has a run id, or has changed rows already")
        self.request = self._ask_for_run(run_id)
        if self._work is not None:
            self._work.request = self.request

    @contextmanager
    def recorded(self, run_id: str) -> Iterator[None]:
        """One statement in a transaction of its own, which is recorded as ``run_id``. It fails as
        ``record`` does.
        """
        if self.takes_statements:
            hint = "Pass it to begin, transaction or record: a transaction is recorded as a whole."
            raise InterfaceError("a run id is not for one statement of a transaction", hint=hint)
        self.request = self._ask_for_run(run_id)
        try:
            yield
        finally:
            self.request = None

    def commit(self) -> None:
        work = self._work
        if work is not None:
            self._outlive(work.txn)
            try:
                with work:
                    work.commit()
            finally:
                if work.txn.state is not TransactionState.OPEN:
                    self._end()
        self._end()

    def rollback(self) -> None:
        """Rolls back. Whatever is raised, the session is free for another transaction."""
        try:
            if self._work is not None:
                self._outlive(self._work.txn)
                self._work.rollback()
        finally:
            self._end()

    def set_autocommit(self, on: bool) -> None:
        if on and self.is_open:
            self.commit()
        self.autocommit = on

    def check(self, plan: Plan) -> None:
        """Refuses a statement that cannot be part of the transaction (BindError), and any if others
        ended the transaction (TransactionAbortedError).
        """
        if not self.takes_statements:
            self._check_recordable(plan)
            return
        if self._work is not None and isinstance(
            plan, ReadPlan | WritePlan | MergePlan | MultiInsertPlan
        ):
            self._work.txn.confirm()
        match plan:
            case CatalogCommand(action=action) if not isinstance(
                action, (*READING_ACTIONS, BoundUnbuilt)
            ):
                self._check_definition(words_of(plan))
            case WritePlan() | MergePlan() | MultiInsertPlan():
                if self._read_only:
                    raise BindError("the transaction is READ ONLY", code=NOT_IN_A_TRANSACTION)
                if isinstance(plan, WritePlan):
                    self._check_undoable(plan)
                if isinstance(plan, MultiInsertPlan) and plan.making is not None:
                    self._check_no_new_table(plan)

    def _check_recordable(self, plan: Plan) -> None:
        """Refuses a statement of its own that is to be recorded and has no commit to be recorded
        with.
        """
        if self.request is None or (isinstance(plan, ChangePlan) and legs_of(plan)[0].sinks):
            return
        raise NotRecordableError(
            f"{words_of(plan)} cannot be recorded as a run",
            detail="a run is recorded with the commit of a transaction that changes rows",
        )

    @property
    def refuses_definitions(self) -> bool:
        """Whether DDL would be refused."""
        return self._started or self.has_changes

    def _check_definition(self, operation: str) -> None:
        """Refuses DDL, which takes effect at once, in a transaction that was asked for or has
        written. One that has only read, and was not asked for, ends for it.
        """
        if self.refuses_definitions:
            hint = "COMMIT or ROLLBACK first: its effect could not be rolled back."
            raise self._not_allowed(operation, hint=hint)
        request = self.request
        self.rollback()
        self.request = request

    def _check_no_new_table(self, plan: MultiInsertPlan) -> None:
        """Refuses a table that is to be made for rows of the transaction: it would stay behind a
        ROLLBACK.
        """
        error = self._not_allowed(
            f"{words_of(plan)} .. REJECTS INTO a new table", hint="CREATE the table first."
        )
        error.span = plan.span
        raise error

    def _check_undoable(self, plan: WritePlan) -> None:
        """Refuses rows that others would see before COMMIT, and after ROLLBACK still."""
        plain, action = not plan.sinks, plan.action
        if not plain and not isinstance(action, BoundLoad):
            return
        if plain and self.request is None and self._settings.text(PLAIN_SETTING) == "warn":
            return
        ends = "COMMIT or ROLLBACK" if self.autocommit else "SET AUTOCOMMIT TRUE"
        passes = (
            f", or SET {PLAIN_SETTING}=warn: then it takes effect at once"
            if plain and self.request is None
            else ""
        )
        error = self._not_allowed(words_of(plan), hint=f"{ends} first{passes}.")
        if plain:
            error.detail = (
                f"table {plan.table.name} is not transactional: its rows could not be rolled back"
            )
        error.span = action.span if isinstance(action, BoundInsert | BoundLoad) else None
        raise error

    def _not_allowed(self, operation: str, *, hint: str) -> BindError:
        """An error in Hive's words, without the id of a query (DbTxnManager.verifyState)."""
        message = f"Operation {operation} is not allowed in a transaction"
        if self._work is not None:
            message += f" (txnid:{self._work.txn.txn_id})"
        return BindError(message, code=NOT_IN_A_TRANSACTION, hint=hint)

    def _end(self) -> None:
        self._work, self._started, self._read_only, self.request = None, False, False, None
        self.asked.clear()


Locked = TypeVar(
    "Locked", bound=ReadPlan | CatalogCommand | WritePlan | MergePlan | MultiInsertPlan
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLocks:
    """``find_table``: the catalog's. ``plan_again``: makes and checks the plan of a text anew."""

    open_store: Callable[[], TxnManager]
    find_table: Callable[[TableName], Table | None]
    settings: Settings
    plan_again: Callable[[str], Plan]

    def request(self, plan: Plan, source: str) -> LockRequest | None:
        return lock_request(plan, self.settings, source)

    @contextmanager
    def around(
        self, plan: Locked, source: str, work: TransactionWork | None = None
    ) -> Iterator[Locked]:
        """A statement with its locks: those of ``work``, to the end of that, and its own; and the
        plan to carry out, see ``current``.
        """
        request, waited = self.request(plan, source), False
        if work is not None and request is not None:
            kept, request = _divided(request)
            waited = kept is not None and work.txn.lock(kept, self.patience())
        with self.held(request) as waited_too:
            locked = self.current(plan, source, waited=waited or waited_too)
            if work is not None:
                work.txn.look_at(transactional_reads(locked))
            yield locked

    def held(self, request: LockRequest | None) -> AbstractContextManager[bool]:
        """Locks of no transaction; whether they had to be waited for."""
        return held(self.open_store(), request, self.patience(), self.heartbeat_seconds())

    def patience(self) -> Patience:
        return Patience(
            retries=int(self.settings.number("hive.lock.numretries")),
            longest_pause=self.settings.number("hive.lock.sleep.between.retries"),
            dump=self.settings.flag("hive.txn.manager.dump.lock.state.on.acquire.timeout"),
        )

    def heartbeat_seconds(self) -> float:
        return self.settings.number("hive.txn.timeout") / 2

    def current(self, plan: Locked, source: str, *, waited: bool) -> Locked:
        """The plan of a statement that has its locks now: another one if it had to wait for them,
        or if its tables were changed after it was planned and before it asked. WriteConflictError
        if that one needs locks besides.
        """
        return self._planned_again(plan, source) if waited or self._is_stale(plan) else plan

    def _is_stale(self, plan: Locked) -> bool:
        """A change of the catalog is planned once more in any case: it is rare, and its plan holds
        all that it read.
        """
        if isinstance(plan, CatalogCommand):
            return self.request(plan, "") is not None
        tables = tables_of(plan)
        stored = {name: self.find_table(name) for name in {table.name for table in tables}}
        return any(stored[table.name] != table for table in tables)

    def _planned_again(self, before: Locked, source: str) -> Locked:
        again = self.plan_again(source)
        if not isinstance(again, type(before)) or not _covers(
            self.request(before, source), self.request(again, source)
        ):
            raise tables_changed()
        return again


def tables_changed() -> WriteConflictError:
    """The error of a statement whose tables are not what they were when it was planned."""
    return WriteConflictError(
        "its tables were changed before the statement had its locks",
        hint="Run the statement again.",
    )


def _covers(held: LockRequest | None, wanted: LockRequest | None) -> bool:
    """Whether all that is wanted is among what is held."""
    return wanted is None or (held is not None and set(wanted.components) <= set(held.components))


def _divided(request: LockRequest) -> tuple[LockRequest | None, LockRequest | None]:
    """What a transaction keeps to its end, and what ends with the statement."""
    parts = [
        tuple(c for c in request.components if c.is_transactional is kept) for kept in (True, False)
    ]
    kept, rest = (replace(request, components=part) if part else None for part in parts)
    return kept, rest


# ---- statements that run again
#
# Running a statement again after an error that says so, with growing pauses of random length, so
# that those who met once do not meet again.


_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0


@dataclass(slots=True, kw_only=True)
class Attempts:
    """The attempts at one statement, of which the first is followed by ``retries`` at most.

    ``for _ in attempts: with attempts.one(): ..`` ends behind the first one that succeeds.
    ``sleep``: in seconds.
    """

    retries: int
    sleep: Callable[[float], None] = time.sleep
    _failures: list[Error] = field(default_factory=list)
    _succeeded: bool = False

    def __iter__(self) -> Iterator[int]:
        while not self._succeeded:
            yield len(self._failures)

    @contextmanager
    def one(self) -> Iterator[None]:
        """One attempt. A retryable error is kept and waited after, while there are attempts left;
        any other leaves it.
        """
        try:
            yield
        except Error as error:
            if not error.retryable or len(self._failures) >= self.retries:
                raise
            self._failures.append(error)
            self._pause()
        else:
            self._succeeded = True

    def warnings(self) -> list[Warning]:
        """What is to be said of a statement that did not succeed at once."""
        if not self._failures:
            return []
        times = len(self._failures)
        return [
            Warning(
                f"the statement was run again {times} time{'s' * (times > 1)}, the last time"
                f" because: {self._failures[-1].message}"
            )
        ]

    def _pause(self) -> None:
        longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (len(self._failures) - 1))
        with interrupts.at_once():
            self.sleep(longest * random.uniform(0.5, 1.0))


# ---- blocks
#
# Blocks of statements that are one transaction: ``with`` runs them once, a loop or a function runs
# them again after an error that allows it.


Value = TypeVar("Value")


class _Turn(Protocol):
    @property
    def is_elsewhere(self) -> bool: ...


class _Session(Protocol):
    @property
    def turn(self) -> _Turn: ...
    def begin(self, *, read_only: bool = False, run_id: str | None = None) -> None: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...


S = TypeVar("S", bound=_Session)


class Block(Generic[S]):
    """A transaction around a ``with``: it commits at the end, and rolls back if an error leaves it.

    A child that was forked inside leaves it to its parent. With ``retries`` it is iterated over,
    since no ``with`` can run its block again.
    """

    def __init__(
        self, session: S, *, read_only: bool, retries: int = 0, run_id: str | None = None
    ) -> None:
        if not isinstance(retries, int) or retries < 0:
            raise InterfaceError("retries is a number of further attempts, 0 or more")
        self._session = session
        self._read_only = read_only
        self._retries = retries
        self._run_id = run_id

    def __enter__(self) -> S:
        if self._retries:
            raise InterfaceError(
                "a with block cannot be run again",
                hint="Write: for attempt in session.transaction(retries=3): with attempt: ..",
            )
        return self._begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        self._end(failed=error is not None)

    def __iter__(self) -> Iterator[Attempt[S]]:
        """The attempts, of which the one that succeeds is the last: each is a ``with`` block.

        A retryable error is kept to the attempt while there are further ones, after a rollback and
        a growing pause; any other leaves the loop.
        """
        attempts = Attempts(retries=self._retries)
        for _ in attempts:
            attempt = Attempt(self, attempts)
            yield attempt
            if not attempt.entered:
                raise InterfaceError(
                    "an attempt at a transaction is a with block: with attempt: .."
                )

    def _begin(self) -> S:
        self._session.begin(read_only=self._read_only, run_id=self._run_id)
        return self._session

    def _end(self, *, failed: bool) -> None:
        if self._session.turn.is_elsewhere:
            return
        if failed:
            self._session.rollback()
        else:
            self._session.commit()


class Attempt(Generic[S]):
    """One attempt at a block. ``entered``: whether it was begun."""

    def __init__(self, block: Block[S], attempts: Attempts) -> None:
        self._block = block
        self._one = attempts.one()
        self.entered = False

    def __enter__(self) -> S:
        if self.entered:
            raise InterfaceError("an attempt is entered once")
        self.entered = True
        return self._block._begin()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """Whether the error is kept here, and another attempt follows."""
        with self._one:
            try:
                raise_again(error)
            except BaseException:
                self._block._end(failed=True)
                raise
            self._block._end(failed=False)
        return True


def raise_again(error: BaseException | None) -> None:
    """Raises an error that was caught, if there is one."""
    if error is not None:
        raise error


def run_again(block: Block[S], work: Callable[[S], Value]) -> Value:
    """The value of ``work`` in the first attempt that succeeds."""
    if not callable(work):
        raise InterfaceError(f"what is run again is a function, not {type(work).__name__}")
    for attempt in block:
        with attempt as session:
            value = work(session)
    return value
