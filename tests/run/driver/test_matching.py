"""Rows that are looked up in others: which are equal, and to which."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from acidsql.run.driver.new_rows import gathered
from acidsql.run.driver.rows import Matches, mask_of

SIDES = st.lists(
    st.tuples(st.one_of(st.none(), st.integers(0, 4)), st.sampled_from([None, "", "a", "b"])),
    max_size=12,
)
KINDS = (pa.int64(), pa.string())


@given(source=SIDES, probed=SIDES, width=st.integers(1, 2))
def test_rows_are_found_where_they_have_pairs(
    source: list[tuple[int | None, str | None]],
    probed: list[tuple[int | None, str | None]],
    width: int,
) -> None:
    """Both ways agree with a comparison of each row with each other one; NULL equals nothing."""
    columns, keys = (
        [pa.array([row[at] for row in rows], KINDS[at]) for at in range(width)]
        for rows in (source, probed)
    )
    matches = Matches(columns, len(source))
    expected = [
        (position, number)
        for position, row in enumerate(probed)
        for number, other in enumerate(source)
        if row[:width] == other[:width] and None not in row[:width]
    ]
    positions, numbers = matches.pairs(keys)
    assert sorted(zip(positions.tolist(), numbers.tolist(), strict=True)) == expected
    assert matches.mask(keys, len(probed)).tolist() == mask_of(positions, len(probed)).tolist()


@given(sizes=st.lists(st.integers(0, 5), max_size=8), least=st.integers(1, 9))
def test_batches_are_put_together_until_they_are_large(sizes: list[int], least: int) -> None:
    """All rows come, in their order; only the last batch may be smaller."""
    numbers = iter(range(sum(sizes)))
    batches = [
        pa.record_batch({"n": pa.array([next(numbers) for _ in range(size)], pa.int64())})
        for size in sizes
    ]
    together = list(gathered(batches, least))
    rows = [row for batch in together for row in batch.column(0).to_pylist()]
    assert rows == list(range(sum(sizes)))
    assert all(batch.num_rows >= least for batch in together[:-1])
