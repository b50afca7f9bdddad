"""Ids as runs, against the same ids one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from acidsql.storage.events.delete_events import DeadIds, DeleteEvents, IdColumns, IdRuns
from acidsql.storage.footers import Kept

RUNS = st.lists(
    st.tuples(st.integers(1, 30), st.integers(0, 3), st.integers(0, 60), st.integers(16, 40)),
    min_size=1,
    max_size=8,
)
DEAD = st.sets(st.tuples(st.integers(1, 30), st.integers(0, 3), st.integers(0, 99)), max_size=60)


def _columns(runs: list[tuple[int, int, int, int]]) -> IdColumns:
    ids = [(w, b, first + i) for w, b, first, count in runs for i in range(count)]
    return IdColumns(*(np.array([one[i] for one in ids], np.int64) for i in range(3)))


def _dead(ids: set[tuple[int, int, int]]) -> DeadIds:
    write_ids, buckets, rows = (np.array([i[n] for i in sorted(ids)], np.int64) for n in range(3))
    nothing = np.zeros(len(ids), np.int64)
    events = DeleteEvents(
        write_ids=write_ids,
        bucket_properties=buckets,
        rows=rows,
        event_write_ids=nothing,
        partition_numbers=nothing + 3,
    )
    return DeadIds.of([events])


@given(runs=RUNS, dead=DEAD, modulo=st.integers(1, 50))
def test_runs_tell_what_their_ids_tell(
    runs: list[tuple[int, int, int, int]], dead: set[tuple[int, int, int]], modulo: int
) -> None:
    """Who is alive, in whichever partition, and the ids of all rows or of some."""
    columns, dead_ids = _columns(runs), _dead(dead)
    own = IdRuns.of(columns.write_ids, columns.bucket_properties, columns.rows)
    assert own is not None
    for partition_number in (3, 4):
        expected = columns.alive(partition_number, dead_ids)
        alive = own.alive(partition_number, dead_ids)
        assert expected is not None
        assert expected.all() if alive is None else (alive == expected).all()
    some = np.arange(own.count) % modulo == 0
    for wanted in (None, some, ~some):
        for mine, theirs in zip(own.ids(wanted), columns.ids(wanted), strict=True):
            assert mine.tolist() == theirs.tolist()


def test_ids_without_order_are_no_runs() -> None:
    """Keeping each of them would take more than the file."""
    rows = np.arange(0, 200, 2, dtype=np.int64)
    same = np.ones(len(rows), np.int64)
    assert IdRuns.of(same, same, rows) is None
    assert IdRuns.of(same[:0], same[:0], rows[:0]) is None


def test_what_was_not_asked_for_the_longest_goes() -> None:
    """As soon as all together weigh too much; what weighs too much by itself is not kept, and puts
    nothing out of its place.
    """
    kept: Kept[str, int] = Kept(10)
    kept.keep("a", 1, 4)
    kept.keep("b", 2, 4)
    assert kept.find("a") == 1
    kept.keep("c", 3, 4)
    assert [kept.find(key) for key in "abc"] == [1, None, 3]
    kept.keep("d", 4, 11)
    assert [kept.find(key) for key in "acd"] == [1, 3, None]
