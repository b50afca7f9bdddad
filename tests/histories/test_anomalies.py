"""The finder of anomalies finds each kind, and nothing in what snapshot isolation allows."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.histories.anomalies import ABORTED, UNKNOWN, Append, Read, Txn, find_anomalies
from tests.histories.simulated import BROKEN, KEYS, Lists


def r(key: str, *values: int) -> Read:
    return Read(key, values)


def a(key: str, value: int) -> Append:
    return Append(key, value)


def txn(name: str, *steps: Read | Append, state: str = "committed") -> Txn:
    return Txn(name, steps, state)


def timed(name: str, began: float, ended: float, *steps: Read | Append) -> Txn:
    return Txn(name, steps, "committed", began, ended)


HISTORIES = {
    # two writers, each before the other on one of two lists
    "G0": [
        txn("A", a("x", 1), a("y", 1)),
        txn("B", a("x", 2), a("y", 2)),
        txn("C", r("x", 1, 2), r("y", 2, 1)),
    ],
    "G1a": [txn("A", a("x", 1), state=ABORTED), txn("B", r("x", 1))],
    "G1b": [txn("A", a("x", 1), a("x", 2)), txn("B", r("x", 1)), txn("C", r("x", 1, 2))],
    # each has read what the other wrote
    "G1c": [txn("A", a("x", 1), r("y", 1)), txn("B", a("y", 1), r("x", 1))],
    # read skew: of one transaction's two changes one is seen
    "G-single": [
        txn("A", a("x", 1), a("y", 1)),
        txn("B", r("x", 1), r("y")),
        txn("C", r("y", 1)),
    ],
    # the long fork: two readers see two changes in different order
    "G-nonadjacent": [
        txn("A", a("x", 1)),
        txn("B", a("y", 1)),
        txn("C", r("x", 1), r("y")),
        txn("D", r("x"), r("y", 1)),
    ],
    "lost update": [
        txn("A", r("x"), a("x", 1)),
        txn("B", r("x"), a("x", 2)),
        txn("C", r("x", 1, 2)),
    ],
    "dirty update": [
        txn("A", a("x", 1), state=ABORTED),
        txn("B", a("x", 2)),
        txn("C", r("x", 1, 2)),
    ],
    "duplicate": [txn("A", a("x", 1)), txn("B", r("x", 1, 1))],
    "garbage": [txn("A", r("x", 7))],
    "internal": [txn("A", a("x", 1)), txn("B", r("x"), r("x", 1))],
    "incompatible order": [
        txn("A", a("x", 1)),
        txn("B", a("x", 2)),
        txn("C", r("x", 1)),
        txn("D", r("x", 2)),
    ],
    "lost append": [
        timed("A", 1, 2, a("x", 1)),
        timed("B", 3, 4, r("x")),
    ],
    # the reader began when the change had ended, and does not see it
    "G-single-realtime": [
        timed("A", 1, 2, a("x", 1)),
        timed("B", 3, 4, r("x")),
        timed("C", 3.5, 6, r("x", 1)),
    ],
}
ALLOWED = {
    "write skew": [
        txn("A", r("x"), r("y"), a("x", 1)),
        txn("B", r("x"), r("y"), a("y", 1)),
        txn("C", r("x", 1), r("y", 1)),
    ],
    "one after the other": [
        timed("A", 1, 2, r("x"), a("x", 1)),
        timed("B", 3, 4, r("x", 1), a("x", 2), r("x", 1, 2)),
        timed("C", 5, 6, r("x", 1, 2)),
    ],
    "an old snapshot": [
        timed("A", 1, 9, r("x"), r("x")),
        timed("B", 2, 3, a("x", 1)),
        timed("C", 4, 5, r("x", 1)),
    ],
    "two values at once": [txn("A", a("x", 1), a("x", 2)), txn("B", r("x", 1, 2))],
    "nobody knows": [txn("A", a("x", 1), state=UNKNOWN), txn("B", r("x", 1))],
    "an abort nobody saw": [txn("A", r("x"), a("x", 1), state=ABORTED), txn("B", r("x"))],
    "nothing": [],
}


@pytest.mark.parametrize("kind", HISTORIES)
def test_each_kind_is_found(kind: str) -> None:
    """In the smallest history that has it, in any order of its transactions."""
    history = HISTORIES[kind]
    for order in (history, history[::-1]):
        assert kind in {anomaly.kind for anomaly in find_anomalies(order)}


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_allowed_is_not_found(name: str) -> None:
    """Write skew above all, which is the price of snapshot isolation."""
    for order in (ALLOWED[name], ALLOWED[name][::-1]):
        assert find_anomalies(order) == []


def test_an_anomaly_names_its_transactions() -> None:
    """In the order of the circle, with what leads from one to the next."""
    (circle,) = find_anomalies(HISTORIES["G-single"])
    assert (set(circle.txns), sorted(circle.what.split())) == ({"A", "B"}, ["rw", "wr"])


STEPS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from(["read", "read", "append", "append", "commit", "commit", "abort"]),
        st.sampled_from(KEYS),
    ),
    max_size=60,
)


@settings(max_examples=200, deadline=None)
@given(STEPS)
def test_nothing_is_found_in_a_store_with_snapshot_isolation(
    steps: list[tuple[int, str, str]],
) -> None:
    """Whatever its clients do: reads of old snapshots, conflicts, write skew."""
    lists = Lists()
    for step in steps:
        lists.act(*step)
    assert find_anomalies(lists.finish()) == []


@pytest.mark.parametrize("broken", BROKEN)
def test_something_is_found_in_a_store_without(broken: str) -> None:
    """Histories of four clients, each of which shows it."""
    for seed in range(5):
        chance = random.Random(seed)
        lists = Lists(broken)
        for _ in range(1000):
            what = chance.choices(["read", "append", "commit", "abort"], [8, 2, 3, 1])[0]
            lists.act(chance.randrange(4), what, chance.choice(KEYS))
        assert find_anomalies(lists.finish()) != [], seed
