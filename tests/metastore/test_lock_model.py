"""Random histories of locks against a list of requests and the plain rules."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidsql.acid.ids import TxnId
from acidsql.errors import MetastoreError, OperationalError
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.txn.locks import LockAnswer, LockComponent, LockRequest, LockState, LockType
from acidsql.txn.manager import TxnState
from tests.contracts.lock_requests import stands_in_the_way
from tests.metastore.conftest import MEMORY
from tests.txn.lock_rules import ModelRequest, blockers, reachable

OBJECTS = ((None, None), ("t", None), ("u", None), ("t", "p=1"), ("t", "p=2"), ("u", "p=1"))
COMPONENTS = st.builds(
    lambda names, kind: LockComponent(database="d", table=names[0], partition=names[1], type=kind),
    st.sampled_from(OBJECTS),
    st.sampled_from(LockType),
)
REQUESTS = st.builds(
    lambda components, zero_wait, ctas: LockRequest(
        components=tuple(components), zero_wait_reads=zero_wait == 0, exclusive_ctas=ctas == 0
    ),
    st.lists(COMPONENTS, min_size=1, max_size=3),
    st.integers(0, 7),
    st.integers(0, 7),
)


@dataclass
class History:
    """Transactions and requests without one, on the store and in the model."""

    metastore: EmbeddedMetastore
    queue: list[ModelRequest] = field(default_factory=list)
    open: list[TxnId] = field(default_factory=list)

    def begin(self, number: int, request: LockRequest) -> None:
        opened = self.metastore.begin((), request)
        assert opened.locks is not None
        self.answered(request, opened.txn_id, opened.locks)
        refused = opened.locks.state is LockState.NOT_ACQUIRED
        state = {info.txn_id: info.state for info in self.metastore.list_txns()}[opened.txn_id]
        assert state is (TxnState.ABORTED if refused else TxnState.OPEN)
        if not refused:
            self.open.append(opened.txn_id)

    def lock_in_a_transaction(self, number: int, request: LockRequest) -> None:
        if self.open:
            txn_id = self.open[number % len(self.open)]
            self.answered(request, txn_id, self.metastore.lock(request, txn_id))

    def lock(self, number: int, request: LockRequest) -> None:
        self.answered(request, TxnId(0), self.metastore.lock(request))

    def check(self, number: int, request: LockRequest) -> None:
        if self.queue:
            asked = self.queue[number % len(self.queue)]
            answer = self.metastore.check_lock(asked.lock_id, TxnId(asked.txn_id))
            waits = {} if asked.granted else blockers(self.queue, asked)
            asked.granted = not waits
            self.compare(asked, answer, waits)

    def unlock(self, number: int, request: LockRequest) -> None:
        if not self.queue:
            return
        asked = self.queue[number % len(self.queue)]
        if asked.txn_id and asked.granted:
            with pytest.raises(OperationalError, match=r"^Unlocking locks associated with"):
                self.metastore.unlock(asked.lock_id)
            return
        self.metastore.unlock(asked.lock_id)
        self.queue.remove(asked)
        with pytest.raises(MetastoreError, match=f"No such lock lockid:{asked.lock_id}"):
            self.metastore.check_lock(asked.lock_id)

    def commit(self, number: int, request: LockRequest) -> None:
        if self.open:
            txn_id = self.open.pop(number % len(self.open))
            self.metastore.commit(txn_id)
            self.queue = [asked for asked in self.queue if asked.txn_id != txn_id]

    def abort(self, number: int, request: LockRequest) -> None:
        if self.open:
            txn_id = self.open.pop(number % len(self.open))
            if number % 2:
                self.metastore.abort(txn_id)
            else:
                self.metastore.abort_txns([txn_id])
            self.queue = [asked for asked in self.queue if asked.txn_id != txn_id]

    def renew(self, number: int, request: LockRequest) -> None:
        if self.open:
            at = number % len(self.open)
            old, self.open[at] = self.open[at], self.metastore.renew(self.open[at]).txn_id
            for asked in self.queue:
                if asked.txn_id == old:
                    asked.txn_id = self.open[at]

    def answered(self, request: LockRequest, txn_id: TxnId, answer: LockAnswer) -> None:
        asked = ModelRequest(answer.lock_id, txn_id, request.components)
        assert all(other.lock_id < asked.lock_id for other in self.queue)
        waits = blockers(self.queue, asked)
        reads = any(request.components[p - 1].type is LockType.SHARED_READ for p in waits)
        if (request.exclusive_ctas and waits) or (request.zero_wait_reads and reads):
            assert answer.state is LockState.NOT_ACQUIRED
            return
        asked.granted = not waits
        self.queue.append(asked)
        self.compare(asked, answer, waits)

    def compare(self, asked: ModelRequest, answer: LockAnswer, waits: dict[int, set[int]]) -> None:
        assert answer.state is (LockState.WAITING if waits else LockState.ACQUIRED)
        owners = [lock.txn_id or -lock.lock_id for lock in answer.blockers]
        assert [own in allowed for own, allowed in zip(owners, waits.values(), strict=True)] == [
            True
        ] * len(waits)
        newest = asked.lock_id
        circle = bool(waits) and asked.owner in reachable(self.queue, asked.owner, newest)
        assert bool(answer.deadlock) == circle
        for txn_id in answer.deadlock:
            assert txn_id in reachable(self.queue, asked.owner, newest)
            assert asked.owner in reachable(self.queue, txn_id, newest)
        assert answer.deadlock[:1] == ((asked.txn_id,) if circle else ())

    def compare_all(self) -> None:
        """The store has what the model has, and nobody holds what another's lock forbids."""
        locks = self.metastore.list_locks()
        assert sorted((k.lock_id, k.part, k.component, k.state, k.txn_id) for k in locks) == [
            (
                asked.lock_id,
                part,
                component,
                LockState.ACQUIRED if asked.granted else LockState.WAITING,
                asked.txn_id,
            )
            for asked in self.queue
            for part, component in enumerate(asked.components, start=1)
        ]
        held = [asked for asked in self.queue if asked.granted]
        for one in held:
            for other in held:
                if one.owner != other.owner and one.lock_id > other.lock_id:
                    assert not any(
                        stands_in_the_way(wanted, taken)
                        for wanted in one.components
                        for taken in other.components
                    )

    def end(self) -> None:
        """When all who hold something have ended, the first who waits has it: so on to the last."""
        while self.queue:
            for asked in [asked for asked in self.queue if asked.granted]:
                if asked.txn_id in self.open:
                    self.commit(self.open.index(TxnId(asked.txn_id)), LockRequest(components=()))
                elif not asked.txn_id:
                    self.unlock(self.queue.index(asked), LockRequest(components=()))
            if self.queue:
                self.check(0, LockRequest(components=()))
                assert self.queue[0].granted
        assert self.metastore.list_locks() == ()


Step = Callable[[History, int, LockRequest], None]
STEPS: tuple[Step, ...] = (
    *[History.begin] * 3,
    *[History.lock_in_a_transaction] * 3,
    History.lock,
    *[History.check] * 3,
    History.unlock,
    History.commit,
    History.abort,
    History.renew,
)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(STEPS), st.integers(0, 29), REQUESTS), min_size=20, max_size=50
    )
)
def test_the_store_answers_as_the_rules_do(steps: list[tuple[Step, int, LockRequest]]) -> None:
    """First come, first served, all or nothing; no two locks are held that exclude each other,
    circles are seen, nobody waits for ever and nothing is left.
    """
    with (
        tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as folder,
        EmbeddedMetastore(folder, clock=lambda: 0.0) as metastore,
    ):
        history = History(metastore)
        for step, number, request in steps:
            step(history, number, request)
            history.compare_all()
        history.end()
