"""Rows that are equal in some of their values, as Spark compares them with ``=``: NULL equals
nothing, NaN itself, 0.0 equals -0.0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acidsql.expressions.not_here import NotHere
from acidsql.run.driver.values import sortable
from acidsql.storage.key_lookup import SourceKeys

Numbers = npt.NDArray[np.int64]


class Matches:
    """The rows of one side, which those of the other are looked up in. NotHere where their values
    are too many to be numbered.
    """

    def __init__(self, keys: Sequence[pa.Array], rows: int) -> None:
        self.rows = rows
        numbered = SourceKeys.of([_comparable(key) for key in keys]) if rows else None
        if numbered is None and rows:
            raise NotHere("so many different keys")
        self._keys = numbered

    def pairs(self, keys: Sequence[pa.Array]) -> tuple[Numbers, Numbers]:
        """Positions of rows, ascending, and the row that each of them equals; one that equals
        several comes as often.
        """
        if self._keys is None:
            return _NOTHING, _NOTHING
        return self._keys.matches([_comparable(key) for key in keys])

    def mask(self, keys: Sequence[pa.Array], rows: int) -> npt.NDArray[np.bool_]:
        """Which of ``rows`` rows equal any."""
        equal = np.zeros(rows, np.bool_)
        equal[self.pairs(keys)[0]] = True
        return equal


_NOTHING = np.zeros(0, np.int64)


def _comparable(values: pa.Array) -> pa.ChunkedArray:
    return pa.chunked_array([sortable(values)])
