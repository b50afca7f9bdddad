"""Rows that are equal in some of their values, as Spark compares them with ``=``: NULL equals
nothing, NaN itself, 0.0 equals -0.0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acidsql.arrow_arrays import arrow_array, numpy_array
from acidsql.expressions.not_here import NotHere
from acidsql.run.driver.values import sortable, whole_array
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
        if self._keys is None:
            return np.zeros(rows, np.bool_)
        return self._keys.mask([_comparable(key) for key in keys])


def mask_of(positions: Numbers, rows: int) -> npt.NDArray[np.bool_]:
    """Which of ``rows`` rows are at these positions."""
    mask = np.zeros(rows, np.bool_)
    mask[positions] = True
    return mask


def equal_pairs(left: Sequence[pa.Array], right: Sequence[pa.Array]) -> tuple[Numbers, Numbers]:
    """The places of rows of the left and of the right side that are equal in all these values. Rows
    of the shorter side are those that are looked up in.
    """
    if len(left[0]) < len(right[0]):
        numbers, positions = _hashed(right, left)
    else:
        positions, numbers = _hashed(left, right)
    return positions, numbers


def _hashed(probed: Sequence[pa.Array], built: Sequence[pa.Array]) -> tuple[Numbers, Numbers]:
    names = [f"k{number}" for number in range(len(probed))]
    sides = [
        pa.Table.from_arrays(
            [*map(sortable, columns), arrow_array(np.arange(len(columns[0])), pa.int64())],
            names=[*(f"{side}{name}" for name in names), side],
        )
        for side, columns in (("p", probed), ("b", built))
    ]
    keys = [[f"{side}{name}" for name in names] for side in "pb"]
    try:
        from pyarrow._acero import (  # type: ignore[import-not-found,unused-ignore]
            Declaration,
            HashJoinNodeOptions,
            TableSourceNodeOptions,
        )
    except ImportError:
        joined = sides[0].join(sides[1], *keys, join_type="inner", use_threads=False)
    else:
        options = HashJoinNodeOptions("inner", *keys, ["p"], ["b"])
        inputs = [Declaration("table_source", TableSourceNodeOptions(side)) for side in sides]
        joined = Declaration("hashjoin", options, inputs=inputs).to_table(use_threads=False)
    positions, numbers = (numpy_array(whole_array(joined.column(side))) for side in "pb")
    return positions, numbers


_NOTHING = np.zeros(0, np.int64)


def _comparable(values: pa.Array) -> pa.ChunkedArray:
    return pa.chunked_array([sortable(values)])
