"""A session's transaction over several statements: when it begins and ends, and what may be done in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from acidsql.catalog.model import Partition, TableName
from acidsql.errors import BindError, InterfaceError, UnsupportedStatementError
from acidsql.planner.bound import BoundLoad
from acidsql.planner.bound_catalog import READING_ACTIONS, BoundUnbuilt, CatalogAction
from acidsql.planner.physical import CatalogCommand, MergePlan, MultiInsertPlan, Plan, ReadPlan, WritePlan
from acidsql.txn.transaction import TransactionState
from acidsql.unit_of_work import UnitOfWork

NOT_IN_A_TRANSACTION = 20006


class SessionTransaction:
    """Opens one when a statement first needs it: START TRANSACTION, or ``autocommit`` being off, only says that it is wanted."""

    def __init__(self, begin: Callable[[], UnitOfWork]) -> None:
        self._begin = begin
        self._work: UnitOfWork | None = None
        self._started = False
        self._read_only = False
        self.autocommit = True

    @property
    def is_open(self) -> bool:
        """Whether statements are carried out in a transaction that has not ended."""
        return self._started or self._work is not None

    @property
    def has_changes(self) -> bool:
        """Whether a rollback would take anything back."""
        return self._work is not None and self._work.has_written

    def partitions(self, table: TableName) -> Iterable[Partition]:
        """Those of a table that the open transaction has written to."""
        return () if self._work is None else self._work.partitions(table)

    def work(self) -> UnitOfWork | None:
        """The transaction to carry a statement out in; None if it is one of its own."""
        if self._work is None and (self._started or not self.autocommit):
            self._work = self._begin()
        return self._work

    def begin(self, *, read_only: bool = False) -> None:
        """InterfaceError if one is open."""
        if self.is_open:
            raise InterfaceError("a transaction is open already", hint="COMMIT or ROLLBACK it first.", code=NOT_IN_A_TRANSACTION)
        self._started, self._read_only = True, read_only

    def commit(self) -> None:
        work = self._work
        if work is not None:
            try:
                with work:
                    work.txn.confirm()  # before any file of a transaction that others have aborted gets its name
                    work.commit()
            finally:
                if work.txn.state is not TransactionState.OPEN:
                    self._end()
        self._end()

    def rollback(self) -> None:
        if self._work is not None:
            self._work.rollback()
        self._end()

    def set_autocommit(self, on: bool) -> None:
        if on and self.is_open:
            self.commit()
        self.autocommit = on

    def check(self, plan: Plan) -> None:
        """BindError or UnsupportedStatementError for what cannot be part of the open transaction; TransactionAbortedError if others ended it."""
        if not self.is_open:
            return
        if self._work is not None and isinstance(plan, ReadPlan | WritePlan | MergePlan | MultiInsertPlan):
            self._work.txn.confirm()
        match plan:
            case CatalogCommand(action=action) if not isinstance(action, (*READING_ACTIONS, BoundUnbuilt)):
                self._check_definition(_operation(action))
            case WritePlan(action=BoundLoad()):
                self._check_definition("LOAD DATA")
            case WritePlan() | MergePlan() | MultiInsertPlan():
                if self._read_only:
                    raise BindError("the transaction is READ ONLY", code=NOT_IN_A_TRANSACTION)
                if isinstance(plan, WritePlan) and not plan.sinks:
                    message = (
                        f"writing to table {plan.table.name} inside a transaction: it is not transactional and could not be rolled back"
                    )
                    raise UnsupportedStatementError(message, hint="COMMIT or ROLLBACK first.")

    def _check_definition(self, operation: str) -> None:
        """DDL takes effect at once. A transaction that has only read, and was not asked for, ends for it."""
        if self._started or self.has_changes:
            txn_id = self._work.txn.txn_id if self._work is not None else None
            message = f"Operation {operation} is not allowed in a transaction" + ("" if txn_id is None else f".  TransactionID={txn_id}.")
            raise BindError(message, code=NOT_IN_A_TRANSACTION, hint="COMMIT or ROLLBACK first: its effect could not be rolled back.")
        self.rollback()

    def _end(self) -> None:
        self._work, self._started, self._read_only = None, False, False


def _operation(action: CatalogAction) -> str:
    """A statement by its words: CREATE DATABASE."""
    name = type(action).__name__.removeprefix("Bound")
    return str(getattr(action, "words", "")) or "".join(f" {c}" if c.isupper() else c for c in name).strip().upper()
