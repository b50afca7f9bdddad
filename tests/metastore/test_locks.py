"""Locks as every transaction manager has them, and what the embedded store adds: those of dead
processes go at once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import text

from acidsql.acid.ids import TxnId
from acidsql.catalog.model import Column, Table, TableName
from acidsql.catalog.types import parse_type
from acidsql.errors import InternalError, MetastoreError, OperationalError, TransactionAbortedError
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.metastore.process import Process
from acidsql.txn.locks import (
    LockAnswer,
    LockComponent,
    LockInfo,
    LockRequest,
    LockState,
    LockType,
)
from acidsql.txn.manager import OperationType, TxnComponent, TxnManager, TxnState
from tests.metastore.conftest import Clock

T, U = TableName("default", "t"), TableName("default", "u")
SHARED_READ, SHARED_WRITE, EXCL_WRITE, EXCLUSIVE = LockType
ACQUIRED, WAITING, NOT_ACQUIRED = LockState
Reopen = Callable[..., EmbeddedMetastore]


def on(
    name: TableName | str, kind: LockType = EXCL_WRITE, partition: str | None = None
) -> LockComponent:
    """A lock on a table, or on a database."""
    if isinstance(name, str):
        return LockComponent(database=name, type=kind)
    return LockComponent(database=name.database, table=name.table, partition=partition, type=kind)


def asking(*components: LockComponent, statement: str = "") -> LockRequest:
    return LockRequest(components=components, statement=statement)


def begin(manager: TxnManager, *components: LockComponent) -> tuple[TxnId, LockAnswer]:
    opened = manager.begin((), asking(*components))
    assert opened.locks is not None
    return opened.txn_id, opened.locks


def ids(answer: LockAnswer) -> list[tuple[int, int]]:
    return [(blocker.lock_id, blocker.part) for blocker in answer.blockers]


def states(manager: TxnManager) -> dict[int, LockState]:
    return {lock.lock_id: lock.state for lock in manager.list_locks()}


# --- asking
# --------------------------------------------------------------------------------------------------


def test_locks_that_are_free_come_with_the_transaction(manager: TxnManager) -> None:
    """So do its write ids and its snapshot, in the one step."""
    opened = manager.begin([T], asking(on(T), on("default", SHARED_READ)))
    assert opened.locks == LockAnswer(lock_id=1, state=ACQUIRED)
    assert opened.write_ids == {T: 1}
    assert [(lock.part, lock.txn_id) for lock in manager.list_locks()] == [
        (2, opened.txn_id),
        (1, opened.txn_id),
    ]


def test_who_waits_has_no_write_id_yet(manager: TxnManager) -> None:
    """It is told what it waits for, until that is gone."""
    first, held = begin(manager, on(T))
    second = manager.begin([T], asking(on(T)))
    assert second.locks is not None
    assert (second.write_ids, second.locks.state) == ({}, WAITING)
    assert ids(second.locks) == [(held.lock_id, 1)]
    assert second.locks.blockers[0].txn_id == first
    waiting = second.locks.lock_id
    assert manager.check_lock(waiting, second.txn_id).state is WAITING
    manager.commit(first)
    assert manager.check_lock(waiting, second.txn_id) == LockAnswer(lock_id=waiting, state=ACQUIRED)
    assert manager.check_lock(waiting).state is ACQUIRED


def test_a_request_is_granted_whole_or_not_at_all(manager: TxnManager) -> None:
    """What is free of it is not held before the rest is, and only what is not free is blocked."""
    _, held = begin(manager, on(U))
    txn_id, asked = begin(manager, on(T, SHARED_READ), on(U))
    assert asked.state is WAITING
    noted = {lock.part: lock.blocked_by for lock in manager.list_locks() if lock.txn_id == txn_id}
    assert noted == {1: None, 2: (held.lock_id, 1)}
    assert states(manager)[asked.lock_id] is WAITING


def test_locks_are_had_in_the_order_of_asking(manager: TxnManager) -> None:
    """One that waits stands in the way of those behind it: no writer starves behind readers."""
    reading = manager.lock(asking(on(T, SHARED_READ)))
    dropping = manager.lock(asking(on(T, EXCLUSIVE)))
    late = manager.lock(asking(on(T, SHARED_READ)))
    assert (reading.state, dropping.state, late.state) == (ACQUIRED, WAITING, WAITING)
    assert ids(late) == [(dropping.lock_id, 1)]
    manager.unlock(reading.lock_id)
    assert manager.check_lock(late.lock_id).state is WAITING
    assert manager.check_lock(dropping.lock_id).state is ACQUIRED
    manager.unlock(dropping.lock_id)
    assert manager.check_lock(late.lock_id).state is ACQUIRED


def test_what_a_lock_waits_for_is_kept_up_to_date(manager: TxnManager) -> None:
    """SHOW LOCKS names the oldest that is still in the way, none once it is free."""
    first, second = (manager.lock(asking(on(T, SHARED_READ))).lock_id for _ in range(2))
    dropping = manager.lock(asking(on(T, EXCLUSIVE))).lock_id
    seen = []
    for free in (first, second):
        seen.append(manager.list_locks()[-1].blocked_by)
        manager.unlock(free)
        manager.check_lock(dropping)
    (last,) = manager.list_locks()
    assert [*seen, last.blocked_by] == [(first, 1), (second, 1), None]


def test_a_transaction_does_not_stand_in_its_own_way(manager: TxnManager) -> None:
    """Its statements may ask for more, and for what they have."""
    txn_id, _ = begin(manager, on(T, SHARED_READ))
    assert manager.lock(asking(on(T, EXCLUSIVE)), txn_id).state is ACQUIRED
    assert manager.lock(asking(on(T, EXCL_WRITE, "p=1")), txn_id).state is ACQUIRED


def test_what_a_transaction_has_it_need_not_queue_for(manager: TxnManager) -> None:
    """Else a second UPDATE would wait for whoever waits for the first: a deadlock."""
    txn_id, _ = begin(manager, on(T))
    _, waiting = begin(manager, on(T))
    assert manager.lock(asking(on(T)), txn_id).state is ACQUIRED
    assert manager.lock(asking(on(T, SHARED_READ, "p=1")), txn_id).state is ACQUIRED
    assert manager.check_lock(waiting.lock_id).state is WAITING


def test_names_are_the_same_in_any_case(manager: TxnManager) -> None:
    """Of databases, tables and partition columns, not of values."""
    big = LockComponent(database="D", table="T", partition="P=A/Q=b", type=EXCLUSIVE)
    manager.lock(asking(big))
    (lock,) = manager.list_locks()
    assert str(lock.component) == "d.t.p=A/q=b"
    assert manager.lock(asking(dataclasses.replace(big, table="t"))).state is WAITING
    assert manager.lock(asking(dataclasses.replace(big, partition="p=a/q=b"))).state is ACQUIRED


def test_a_request_for_nothing_is_a_mistake(manager: TxnManager) -> None:
    """It could never be found again."""
    with pytest.raises(InternalError):
        manager.lock(asking())
    with pytest.raises(InternalError):
        manager.begin([T], asking())
    assert manager.list_txns() == ()


# --- not wanting to wait
# --------------------------------------------------------------------------------------------------


def test_a_reader_may_refuse_to_wait(manager: TxnManager) -> None:
    """Then nothing is left of it, and its transaction is aborted; a writer waits all the same."""
    _, held = begin(manager, on(T, EXCLUSIVE))
    reading = LockRequest(components=(on(T, SHARED_READ),), zero_wait_reads=True)
    refused = manager.begin([T], reading)
    assert refused.locks is not None
    assert (refused.locks.state, refused.write_ids) == (NOT_ACQUIRED, {})
    assert ids(refused.locks) == [(held.lock_id, 1)]
    assert {info.txn_id: info.state for info in manager.list_txns()}[refused.txn_id] is (
        TxnState.ABORTED
    )
    assert manager.lock(reading).state is NOT_ACQUIRED
    open_txn = manager.open_txn()
    assert manager.lock(reading, open_txn).state is NOT_ACQUIRED
    manager.heartbeat(open_txn)
    assert list(states(manager)) == [held.lock_id]
    writing = dataclasses.replace(reading, components=(on(T), on(U, SHARED_READ)))
    assert manager.lock(writing).state is WAITING


def test_create_table_as_refuses_to_wait(manager: TxnManager) -> None:
    """Another one is making the same table."""
    creating = LockRequest(components=(on(T),), exclusive_ctas=True)
    assert manager.lock(creating).state is ACQUIRED
    assert manager.lock(creating).state is NOT_ACQUIRED
    assert len(manager.list_locks()) == 1


# --- deadlocks
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 3, 5])
def test_the_one_who_closes_a_circle_is_told(manager: TxnManager, size: int) -> None:
    """And only that one, so that the others go on when it has given up."""
    tables = [TableName("default", f"t{number}") for number in range(size)]
    txns = [begin(manager, on(table))[0] for table in tables]
    waiting = [
        manager.lock(asking(on(table)), txn_id)
        for txn_id, table in zip(txns[:-1], tables[1:], strict=True)
    ]
    assert [(answer.state, answer.deadlock) for answer in waiting] == [(WAITING, ())] * (size - 1)
    closing = manager.lock(asking(on(tables[0])), txns[-1])
    assert (closing.state, closing.deadlock) == (WAITING, (txns[-1], *txns[:-1]))
    assert manager.check_lock(waiting[0].lock_id).deadlock == ()
    assert manager.check_lock(closing.lock_id).deadlock == closing.deadlock
    manager.unlock(closing.lock_id)
    manager.abort(txns[-1])
    assert manager.check_lock(waiting[-1].lock_id).state is ACQUIRED


def test_a_circle_need_not_go_by_the_first_blocker(manager: TxnManager) -> None:
    """Of several that stand in the way, any may be the one that waits for us."""
    begin(manager, on(T, SHARED_READ))
    other, _ = begin(manager, on(T, SHARED_READ))
    txn_id, _ = begin(manager, on(U))
    manager.lock(asking(on(U)), other)
    assert manager.lock(asking(on(T, EXCLUSIVE)), txn_id).deadlock == (txn_id, other)


def test_waiting_is_no_circle(manager: TxnManager) -> None:
    """A chain of any length, and two who wait for the same."""
    tables = [TableName("default", f"t{number}") for number in range(4)]
    txns = [begin(manager, on(table))[0] for table in tables]
    answers = [
        manager.lock(asking(on(table)), txn_id)
        for txn_id, table in zip(txns[:-1], tables[1:], strict=True)
    ]
    answers.append(begin(manager, on(tables[3]))[1])
    assert [(answer.state, answer.deadlock) for answer in answers] == [(WAITING, ())] * 4


def test_two_readers_who_both_want_to_write_are_a_circle(manager: TxnManager) -> None:
    """Neither gives up its reading before the other."""
    first, _ = begin(manager, on(T, SHARED_READ))
    second, _ = begin(manager, on(T, SHARED_READ))
    assert manager.lock(asking(on(T, EXCLUSIVE)), first).deadlock == ()
    assert manager.lock(asking(on(T, EXCLUSIVE)), second).deadlock == (second, first)


# --- the end of locks
# --------------------------------------------------------------------------------------------------


def ends(manager: EmbeddedMetastore, how: str, txn_id: TxnId) -> None:
    match how:
        case "commit":
            manager.commit(txn_id)
        case "abort":
            manager.abort(txn_id)
        case "ABORT TRANSACTIONS":
            manager.abort_txns([txn_id])
        case "conflict":
            by = TxnComponent(table=T, partition=None, operation=OperationType.UPDATE, write_id=1)  # type: ignore[arg-type]
            manager.commit(manager.open_txn(), [by])
            with pytest.raises(OperationalError, match="write conflict"):
                manager.commit(txn_id, [by])
        case "DROP TABLE":
            table = Table(name=T, columns=(Column(name="a", type=parse_type("int")),), location="")
            manager.create_table(table)
            manager.allocate_write_id(txn_id, T)
            manager.drop_table(T)


@pytest.mark.parametrize("how", ["commit", "abort", "ABORT TRANSACTIONS", "conflict", "DROP TABLE"])
def test_locks_end_with_their_transaction(metastore: EmbeddedMetastore, how: str) -> None:
    """However it ends: those it holds, and those it waits for."""
    _, held = begin(metastore, on(U))
    txn_id, _ = begin(metastore, on(T, SHARED_READ))
    asked = metastore.lock(asking(on(U)), txn_id)
    _, behind = begin(metastore, on(T, EXCLUSIVE))
    ends(metastore, how, txn_id)
    assert states(metastore) == {held.lock_id: ACQUIRED, behind.lock_id: WAITING}
    assert metastore.check_lock(behind.lock_id).state is ACQUIRED
    with pytest.raises(MetastoreError, match=rf"No such lock lockid:{asked.lock_id}\n") as caught:
        metastore.check_lock(asked.lock_id)
    assert caught.value.code == 10270


def test_a_waiting_transaction_that_was_aborted_is_told_so(manager: TxnManager) -> None:
    """Its lock is gone with it; the reason is the transaction's."""
    begin(manager, on(T))
    txn_id, asked = begin(manager, on(T))
    manager.abort_txns([txn_id])
    with pytest.raises(TransactionAbortedError) as caught:
        manager.check_lock(asked.lock_id, txn_id)
    assert caught.value.detail == "by ABORT TRANSACTIONS"
    with pytest.raises(TransactionAbortedError):
        manager.lock(asking(on(T)), txn_id)
    with pytest.raises(TransactionAbortedError):
        manager.renew(txn_id)


def test_a_transaction_keeps_what_it_holds(manager: TxnManager) -> None:
    """Only what waits can be given up; what is unknown need not."""
    txn_id, held = begin(manager, on(T))
    with pytest.raises(OperationalError) as caught:
        manager.unlock(held.lock_id)
    assert caught.value.message == (
        "Unlocking locks associated with transaction not permitted.  lockid:1 intLockId:1"
        f" txnid:{txn_id} db:default table:t partition:null state:ACQUIRED type:EXCL_WRITE"
    )
    _, asked = begin(manager, on(T), on(U))
    manager.unlock(asked.lock_id)
    manager.unlock(asked.lock_id)
    assert states(manager) == {held.lock_id: ACQUIRED}


# --- a transaction that has waited begins anew
# --------------------------------------------------------------------------------------------------


def test_who_waited_goes_on_with_a_new_snapshot(manager: TxnManager) -> None:
    """In its place and with its locks: it sees who was before it, and does not conflict with it."""
    first = manager.begin([T], asking(on(T)))
    second, asked = begin(manager, on(T))
    _, third = begin(manager, on(T))
    update = OperationType.UPDATE
    manager.commit(
        first.txn_id,
        [TxnComponent(table=T, partition=None, operation=update, write_id=first.write_ids[T])],
    )
    assert manager.check_lock(asked.lock_id, second).state is ACQUIRED
    renewed = manager.renew(second, [T])
    assert renewed.txn_id > second
    assert (renewed.write_ids, second in renewed.txns.aborted) == ({T: 2}, True)
    assert manager.valid_write_ids(T, renewed.txns).is_valid(first.write_ids[T])
    assert {k.lock_id: k.txn_id for k in manager.list_locks()}[asked.lock_id] == renewed.txn_id
    assert manager.check_lock(third.lock_id).state is WAITING
    manager.commit(
        renewed.txn_id,
        [TxnComponent(table=T, partition=None, operation=update, write_id=renewed.write_ids[T])],
    )
    assert manager.check_lock(third.lock_id).state is ACQUIRED
    with pytest.raises(TransactionAbortedError) as caught:
        manager.commit(second)
    assert caught.value.detail == (
        "it waited for locks, and another transaction went on in its place"
    )


def test_renewing_keeps_the_turn(manager: TxnManager) -> None:
    """Also of one that still waits."""
    held, _ = begin(manager, on(T))
    second, asked = begin(manager, on(T))
    _, behind = begin(manager, on(T))
    renewed = manager.renew(second).txn_id
    manager.commit(held)
    assert manager.check_lock(behind.lock_id).state is WAITING
    assert manager.check_lock(asked.lock_id, renewed).state is ACQUIRED


def test_who_asks_to_be_renewed_is_alive(metastore: EmbeddedMetastore, clock: Clock) -> None:
    """Late as it may be: nobody else has taken it for dead."""
    txn_id, _ = begin(metastore, on(T))
    clock.now += 1000
    renewed = metastore.renew(txn_id)
    assert [lock.txn_id for lock in metastore.list_locks()] == [renewed.txn_id]
    metastore.heartbeat(renewed.txn_id)


# --- the dead
# --------------------------------------------------------------------------------------------------


def test_a_silent_lock_is_reaped_by_who_is_blocked(
    metastore: EmbeddedMetastore, clock: Clock
) -> None:
    """After the time-out, not before; a heartbeat or a check is a sign of life."""
    held = metastore.lock(asking(on(T)))
    asked = metastore.lock(asking(on(T)))
    for keep_alive in (metastore.heartbeat_lock, metastore.heartbeat_lock):
        clock.now += 299
        keep_alive(held.lock_id)
        assert metastore.check_lock(asked.lock_id).state is WAITING
    clock.now += 300
    assert metastore.check_lock(asked.lock_id).state is WAITING
    clock.now += 0.001
    assert metastore.check_lock(asked.lock_id).state is ACQUIRED
    for call in (metastore.heartbeat_lock, metastore.check_lock):
        with pytest.raises(MetastoreError, match=rf"No such lock lockid:{held.lock_id}\n"):
            call(held.lock_id)


def test_a_silent_transaction_loses_its_locks(metastore: EmbeddedMetastore, clock: Clock) -> None:
    """To the one who is blocked by it, which is alive because it asks."""
    silent, _ = begin(metastore, on(T))
    asker = metastore.open_txn()
    clock.now += 300.001
    assert metastore.lock(asking(on(T)), asker).state is ACQUIRED
    metastore.heartbeat(asker)
    with pytest.raises(TransactionAbortedError):
        metastore.heartbeat(silent)


def test_waiting_keeps_a_transaction_alive(metastore: EmbeddedMetastore, clock: Clock) -> None:
    """Asking whether it can have its lock is a heartbeat, and so is that of its lock."""
    holder, _ = begin(metastore, on(T))
    txn_id, asked = begin(metastore, on(T))
    for keep_alive in (metastore.check_lock, metastore.heartbeat_lock, metastore.check_lock):
        clock.now += 299
        metastore.heartbeat(holder)
        keep_alive(asked.lock_id)
        metastore.reap()
    metastore.heartbeat(txn_id)
    assert {lock.last_heartbeat for lock in metastore.list_locks()} == {0}


@contextmanager
def opened_by(monkeypatch: pytest.MonkeyPatch, **change: object) -> Iterator[None]:
    """What is done in here, another process did."""
    if not Process.current().machine:
        pytest.skip("this system does not tell when a process started")
    other = dataclasses.replace(Process.current(), **change)  # type: ignore[arg-type]
    with monkeypatch.context() as patch:
        patch.setattr(Process, "current", classmethod(lambda cls: other))
        yield


@pytest.mark.parametrize(
    ("change", "host", "gone"),
    [
        ({"start": 1}, "here", True),
        ({}, "here", False),
        ({"start": 1, "machine": "elsewhere"}, "here", False),
        ({"start": 1}, "elsewhere", False),
    ],
    ids=["reused pid", "alive", "other machine", "other host"],
)
@pytest.mark.parametrize("in_txn", [True, False], ids=["transaction", "query"])
def test_a_process_surely_gone_holds_nothing_up(
    reopen: Reopen,
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, object],
    host: str,
    gone: bool,
    in_txn: bool,
) -> None:
    """Its locks are free at once for who wants them; where its end is not sure, the heartbeat
    decides.
    """
    with opened_by(monkeypatch, **change):
        other = reopen(host=host)
        other.lock(asking(on(T)), other.open_txn() if in_txn else TxnId(0))
    asked = reopen(host="here").lock(asking(on(T)))
    assert asked.state is (ACQUIRED if gone else WAITING)


def test_the_dead_leave_the_queue_too(metastore: EmbeddedMetastore, clock: Clock) -> None:
    """Nobody waits for one who waited and is no more."""
    held = metastore.lock(asking(on(T, SHARED_READ)))
    metastore.lock(asking(on(T, EXCLUSIVE)))
    clock.now += 200
    metastore.heartbeat_lock(held.lock_id)
    clock.now += 200
    assert metastore.lock(asking(on(T, SHARED_READ))).state is ACQUIRED


def test_reaping_on_demand_ends_locks_too(metastore: EmbeddedMetastore, clock: Clock) -> None:
    """Those of no transaction, that nobody waits for."""
    metastore.lock(asking(on(T)))
    metastore.reap()
    assert len(metastore.list_locks()) == 1
    clock.now += 300.001
    metastore.reap()
    assert metastore.list_locks() == ()


# --- what is shown
# --------------------------------------------------------------------------------------------------


def test_locks_are_shown_with_all_that_is_known(reopen: Reopen, clock: Clock) -> None:
    """Who asked for them, when, in which process and for which statement."""
    metastore = reopen(user="ann", host="node1")
    now = int(clock.now * 1000)
    held = metastore.lock(asking(on(T, SHARED_READ, "p=1"), statement="SELECT 1 " * 1000))
    clock.now += 1
    txn_id, asked = begin(metastore, on(T, EXCLUSIVE))
    who = {"user": "ann", "host": "node1", "agent": str(Process.current())}
    assert metastore.list_locks() == (
        LockInfo(
            lock_id=held.lock_id,
            part=1,
            component=on(T, SHARED_READ, "p=1"),
            state=ACQUIRED,
            txn_id=TxnId(0),
            blocked_by=None,
            last_heartbeat=now,
            acquired_at=now,
            statement=("SELECT 1 " * 1000)[:1000],
            **who,
        ),
        LockInfo(
            lock_id=asked.lock_id,
            part=1,
            component=on(T, EXCLUSIVE),
            state=WAITING,
            txn_id=txn_id,
            blocked_by=(held.lock_id, 1),
            last_heartbeat=0,
            acquired_at=0,
            statement="",
            **who,
        ),
    )
    assert asked.blockers == metastore.list_locks()[:1]
    metastore.unlock(held.lock_id)
    metastore.check_lock(asked.lock_id)
    assert metastore.list_locks()[0].acquired_at == now + 1000


def test_locks_are_shown_in_hives_order(manager: TxnManager) -> None:
    """Those that are held first, then the weak before the strong, then by age."""
    manager.lock(asking(on(T, EXCL_WRITE), on(U, SHARED_READ)))
    manager.lock(asking(on("other", SHARED_WRITE)))
    manager.lock(asking(on(T, EXCLUSIVE), on(T, SHARED_WRITE)))
    manager.lock(asking(on(U, SHARED_READ, "p=1")))
    assert [(lock.lock_id, lock.part) for lock in manager.list_locks()] == [
        (1, 2),
        (4, 1),
        (2, 1),
        (1, 1),
        (3, 2),
        (3, 1),
    ]


def test_locks_are_stored_by_hives_letters(metastore: EmbeddedMetastore) -> None:
    """For whoever looks into HIVE_LOCKS."""
    for number, kind in enumerate(LockType):
        metastore.lock(asking(on(f"d{number}", kind)))
    metastore.lock(asking(on("d3")))
    with metastore._store.read() as connection:
        rows = connection.execute(
            text("SELECT HL_LOCK_STATE || HL_LOCK_TYPE FROM HIVE_LOCKS ORDER BY HL_LOCK_EXT_ID")
        )
        assert list(rows.scalars()) == ["ar", "aw", "ax", "ae", "wx"]
