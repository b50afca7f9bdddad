"""Work ahead: its order, its errors, and the threads that do it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import count

import pytest

from acidsql.files.parallel import THREADS, Workers


@pytest.fixture
def workers() -> Iterator[Workers]:
    made = Workers()
    yield made
    made.close()


def test_results_come_in_the_order_of_items(workers: Workers) -> None:
    """However many scans are read at once, and however few items one has."""
    for items in (0, 1, 2, 3, 50):
        pairs = zip(
            workers.ahead(str, range(items)), workers.ahead(lambda n: -n, range(items)), strict=True
        )
        assert list(pairs) == [(str(n), -n) for n in range(items)]


def test_an_error_comes_in_its_place(workers: Workers) -> None:
    """What was done before it is given first."""
    results = workers.ahead(lambda n: 6 // n, [3, 2, 1, 0, 1])
    assert [next(results) for _ in range(3)] == [2, 3, 6]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_threads_stay_between_scans(workers: Workers) -> None:
    """No scan begins threads of its own: there are as many as processors, for all of them."""
    seen = set()
    for _ in range(20):
        seen.update(workers.ahead(lambda _: threading.current_thread(), range(6)))
    assert len(seen) <= THREADS


def test_no_more_is_begun_than_waits_to_be_fetched(workers: Workers) -> None:
    """A scan without end is read as far as it is asked for, and no further once it is closed."""
    begun = count()
    results = workers.ahead(lambda n: next(begun), count())
    for _ in range(3):
        next(results)
    results.close()  # type: ignore[attr-defined]
    list(workers.ahead(str, range(4 * THREADS)))  # behind what was begun before
    assert next(begun) <= 3 + 2 * THREADS


def test_who_reads_goes_on_when_the_threads_are_gone(workers: Workers) -> None:
    """The rows of a scan that outlives its session are read by the thread that asks for them."""
    results = workers.ahead(lambda n: (n, threading.current_thread()), range(4 * THREADS))
    assert next(results)[0] == 0
    workers.close()
    rest = list(results)
    assert [n for n, _ in rest] == list(range(1, 4 * THREADS))
    assert rest[-1][1] is threading.current_thread()
