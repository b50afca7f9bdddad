"""Which rows are dead, against a model that looks at each."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from acidsql.storage.events.delete_events import DeadIds, DeleteEvents, _repeated, _slim, pack

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


def _slimmed(ids: list[tuple[int, int, int]], partition: int) -> DeleteEvents:
    """The events as they are kept: columns of one value in the memory of that."""
    write_ids, buckets, rows = _columns(ids)
    return DeleteEvents(
        write_ids=_slim(write_ids),
        bucket_properties=_slim(buckets),
        rows=rows,
        event_write_ids=_repeated(7, len(ids)),
        partition_numbers=_repeated(partition, len(ids)),
    )


@given(
    files=st.lists(st.tuples(st.lists(IDS, max_size=50), st.integers(0, 3)), min_size=1, max_size=4)
)
def test_keys_are_those_of_the_dead(
    files: list[tuple[list[tuple[int, int, int]], int]],
) -> None:
    """Each dead row has one key, which tells its partition and its id; nothing else has one."""
    dead = {(partition, *one) for ids, partition in files for one in ids}
    if not dead:
        return
    packed = pack([_slimmed(ids, partition) for ids, partition in files])
    assert packed is not None
    keys = packed.keys.tolist()
    assert keys == sorted(set(keys))
    told = set()
    for key in keys:
        key, row = divmod(key, 1 << packed.row_bits)
        key, bucket = divmod(key, 1 << packed.bucket_bits)
        partition, write_id = divmod(key, 1 << packed.write_id_bits)
        ids = int(packed.write_ids[write_id]), int(packed.bucket_properties[bucket])
        told.add((partition, *ids, row))
    assert told == dead


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
    assert DeadIds.of([_slimmed(ids, 0) for ids in files]).alive(0, *_columns(rows)).tolist() == (
        dead.alive(0, *_columns(rows)).tolist()
    )
    hit = {one for ids in files for one in ids}
    assert dead.alive(0, *_columns(rows)).tolist() == [row not in hit for row in rows]
