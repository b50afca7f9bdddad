"""Which rows are dead, against a model that looks at each."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from acidsql.storage.events.delete_events import DeadIds, DeleteEvents

IDS = st.tuples(st.integers(1, 9), st.integers(0, 3), st.integers(0, 40))


def _columns(ids: list[tuple[int, int, int]]) -> list[np.ndarray]:
    return [np.array([one[i] for one in ids], np.int64) for i in range(3)]


def _events(ids: list[tuple[int, int, int]]) -> DeleteEvents:
    write_ids, buckets, rows = _columns(ids)
    nothing = np.zeros(len(ids), np.int64)
    return DeleteEvents(
        write_ids=write_ids,
        bucket_properties=buckets,
        rows=rows,
        event_write_ids=nothing,
        partition_numbers=nothing,
    )


@given(
    files=st.lists(st.lists(IDS, max_size=150), max_size=3),
    rows=st.lists(IDS, max_size=300),
    in_order=st.booleans(),
)
def test_a_row_is_dead_if_an_event_has_its_id(
    files: list[list[tuple[int, int, int]]], rows: list[tuple[int, int, int]], in_order: bool
) -> None:
    """Whether events and rows come in few runs of one write id and bucket, or in many."""
    if in_order:
        files, rows = [sorted(ids) for ids in files], sorted(rows)
    dead = DeadIds.of([_events(ids) for ids in files])
    hit = {one for ids in files for one in ids}
    assert dead.alive(0, *_columns(rows)).tolist() == [row not in hit for row in rows]
