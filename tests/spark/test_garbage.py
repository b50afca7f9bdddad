"""Python's collector is left as it was found."""

from __future__ import annotations

import contextlib
import gc

import pytest

from acidsql.run.spark.operators import collector_paused


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_rests_inside_and_is_as_before_after_an_error(*, enabled: bool) -> None:
    """Whoever has switched it off finds it off."""
    inside = []
    (gc.enable if enabled else gc.disable)()
    try:
        with contextlib.suppress(ValueError), collector_paused():
            inside.append(gc.isenabled())
            raise ValueError
        assert [*inside, gc.isenabled()] == [False, enabled]
    finally:
        gc.enable()
