"""Slices of a size."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acidsql.batched import batched


@given(st.lists(st.integers()), st.integers(1, 7))
def test_slices_are_all_items_in_their_order(items: list[int], size: int) -> None:
    """Each but the last has that size, and none is empty."""
    slices = list(batched(items, size))
    assert [item for one in slices for item in one] == items
    assert all(len(one) == size for one in slices[:-1])
    assert all(slices)
