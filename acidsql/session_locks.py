"""The locks of a session's statements: whose they are, how long they are waited for, and what
becomes of a plan that was made before them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from acidsql.changes.transactional import TransactionWork
from acidsql.errors import WriteConflictError
from acidsql.planner.steps.locks import lock_request
from acidsql.planner.steps.plans import (
    CatalogCommand,
    MergePlan,
    MultiInsertPlan,
    Plan,
    ReadPlan,
    WritePlan,
)
from acidsql.settings import Settings
from acidsql.txn.locking import Patience, held
from acidsql.txn.locks import LockRequest
from acidsql.txn.manager import TxnManager

Locked = TypeVar(
    "Locked", bound=ReadPlan | CatalogCommand | WritePlan | MergePlan | MultiInsertPlan
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLocks:
    """``plan_again``: makes and checks the plan of a text once more."""

    open_store: Callable[[], TxnManager]
    settings: Settings
    plan_again: Callable[[str], Plan]

    def request(self, plan: Plan, source: str) -> LockRequest | None:
        return lock_request(plan, self.settings, source)

    @contextmanager
    def around(
        self, plan: Locked, source: str, work: TransactionWork | None = None
    ) -> Iterator[Locked]:
        """A statement with its locks: those of ``work``, to the end of that, and its own. The plan
        to carry out is another one if it had to wait: others have changed its tables meanwhile.
        """
        request, waited = self.request(plan, source), False
        if work is not None and request is not None:
            kept, request = _divided(request)
            waited = kept is not None and work.txn.lock(kept, self.patience())
        with self.held(request) as waited_too:
            yield self.planned_again(plan, source) if waited or waited_too else plan

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

    def planned_again(self, before: Locked, source: str) -> Locked:
        """The plan of a statement that has its locks now. WriteConflictError if it needs others."""
        again = self.plan_again(source)
        if not isinstance(again, type(before)) or self.request(again, source) != self.request(
            before, source
        ):
            raise WriteConflictError(
                "its tables were changed while the statement waited for its locks",
                hint="Run the statement again.",
            )
        return again


def _divided(request: LockRequest) -> tuple[LockRequest | None, LockRequest | None]:
    """What a transaction keeps to its end, and what ends with the statement."""
    parts = [
        tuple(c for c in request.components if c.is_transactional is kept) for kept in (True, False)
    ]
    kept, rest = (replace(request, components=part) if part else None for part in parts)
    return kept, rest
