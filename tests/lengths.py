"""How long the slow tests look. Those of random cases take counts that end within an hour, all
together; ``ACIDSQL_TEST_LENGTH=10`` has ten times as many.
"""

from __future__ import annotations

import os

LENGTH = float(os.environ.get("ACIDSQL_TEST_LENGTH", "1"))


def times(count: int) -> int:
    """That many, or as many more or fewer as are asked for."""
    return max(1, round(count * LENGTH))


def seeds(part: int, count: int) -> range:
    """The seeds of one part of a test that is cut into parts, which no other part has."""
    return range(1000 * part, 1000 * part + times(count))
