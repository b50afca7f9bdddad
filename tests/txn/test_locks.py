"""Which locks stand in each other's way, and who waits in a circle."""

from __future__ import annotations

from itertools import product

import pytest

from acidsql.acid.ids import TxnId
from acidsql.txn.locks import (
    LockComponent,
    LockInfo,
    LockQueue,
    LockState,
    LockType,
    blocks,
    is_stronger,
)
from tests.contracts.lock_requests import stands_in_the_way

OBJECTS = (
    ("d",),
    ("e",),
    ("d", "t"),
    ("d", "u"),
    ("e", "t"),
    ("d", "t", "p=1"),
    ("d", "t", "p=2"),
    ("d", "u", "p=1"),
    ("e", "t", "p=1"),
)
COMPONENTS = [
    LockComponent(
        database=names[0],
        table=names[1] if len(names) > 1 else None,
        partition=names[2] if len(names) > 2 else None,
        type=kind,
    )
    for names, kind in product(OBJECTS, LockType)
]


@pytest.mark.parametrize("wanted", COMPONENTS, ids=lambda c: f"{c}-{c.type}")
def test_locks_are_compatible_as_in_hive_4(wanted: LockComponent) -> None:
    """Each type on each level against each other one, on the same object, a part of it, or another
    of its name.
    """
    expected = [stands_in_the_way(wanted, other) for other in COMPONENTS]
    assert [blocks(wanted, other) for other in COMPONENTS] == expected
    assert [wanted.covers(o) for o in COMPONENTS] == [o.covers(wanted) for o in COMPONENTS]


def test_the_exceptions_are_only_for_a_database_that_is_read() -> None:
    """CREATE TABLE in a database and DROP of another table of it do not wait for each other; DROP
    DATABASE waits for both.
    """
    creating = LockComponent(database="d", type=LockType.SHARED_READ)
    dropping = LockComponent(database="d", table="t", type=LockType.EXCLUSIVE)
    dropping_all = LockComponent(database="d", type=LockType.EXCLUSIVE)
    assert not blocks(creating, dropping)
    assert not blocks(dropping, creating)
    for small in (creating, dropping):
        assert blocks(small, dropping_all)
        assert blocks(dropping_all, small)


def test_what_a_lock_settles_needs_no_other_lock() -> None:
    """Whatever stands in the way of the second, or it in the way of, is kept out by the first."""
    settled = [(h, w) for h, w in product(COMPONENTS, COMPONENTS) if h.settles(w)]
    assert len(settled) == len(OBJECTS) * 10 + 4 * 10  # + the partitions of a table that is locked
    for held, wanted in settled:
        assert not is_stronger(wanted.type, held.type)
        for other in COMPONENTS:
            assert blocks(held, other) or not blocks(wanted, other)
            assert blocks(other, held) or not blocks(other, wanted)


def test_types_are_ordered_from_weak_to_strong() -> None:
    """As SHOW LOCKS sorts them."""
    kinds = list(LockType)
    for one, other in product(kinds, kinds):
        assert is_stronger(one, other) == (kinds.index(one) > kinds.index(other))


def lock(lock_id: int, table: str, txn_id: int, *, waits: bool = False) -> LockInfo:
    return LockInfo(
        lock_id=lock_id,
        part=1,
        component=LockComponent(database="d", table=table, type=LockType.EXCL_WRITE),
        state=LockState.WAITING if waits else LockState.ACQUIRED,
        txn_id=TxnId(txn_id),
        blocked_by=None,
        last_heartbeat=0,
        acquired_at=0,
        user="ann",
        host="node1",
        agent=None,
        statement="",
    )


def test_a_circle_is_told_in_its_order() -> None:
    """Beginning with who asks; who only waits for its members is none of them."""
    queue = LockQueue(
        [
            lock(1, "a", 1),
            lock(2, "b", 2),
            lock(3, "c", 3),
            lock(4, "b", 1, waits=True),
            lock(5, "c", 2, waits=True),
            lock(6, "a", 3, waits=True),
            lock(7, "a", 9, waits=True),
        ]
    )
    assert queue.deadlock(TxnId(3)) == (3, 1, 2)
    assert queue.deadlock(TxnId(9)) == ()


def test_a_circle_may_pass_through_who_has_no_transaction() -> None:
    """A query in the queue holds nothing, but stands in the way."""
    queue = LockQueue(
        [
            lock(1, "a", 1),
            lock(2, "a", 0, waits=True),
            lock(3, "b", 2),
            lock(4, "b", 1, waits=True),
            lock(5, "a", 2, waits=True),
        ]
    )
    assert queue.deadlock(TxnId(2)) == (2, 1)


def test_a_lock_prints_as_in_hive() -> None:
    """The words of TxnHandler.LockInfo, in errors that name a lock."""
    assert str(lock(7, "t", 3)) == (
        "lockid:7 intLockId:1 txnid:3 db:d table:t partition:null state:ACQUIRED type:EXCL_WRITE"
    )
