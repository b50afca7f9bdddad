"""How long the slow tests look, and at what. Those of random cases take counts that end within an
hour, all together; ``ACIDSQL_TEST_LENGTH=10`` has ten times as many, and ``ACIDSQL_TEST_SEED=2``
others (``--hypothesis-seed`` those of Hypothesis).
"""

from __future__ import annotations

import os

LENGTH = float(os.environ.get("ACIDSQL_TEST_LENGTH", "1"))
SEED = int(os.environ.get("ACIDSQL_TEST_SEED", "1"))


def times(count: int) -> int:
    """That many, or as many more or fewer as are asked for."""
    return max(1, round(count * LENGTH))


def seeds(part: int, count: int) -> range:
    """The seeds of one part of a test that is cut into parts, which no other part has."""
    first = 1_000 * part + 100_000 * (SEED - 1)
    return range(first, first + times(count))
