"""Functions of text."""

from __future__ import annotations

import pyarrow.compute as pc

from acidsql.expressions.kernels.arrays import Values


def cut(length: int, values: Values) -> Values:
    """The first characters."""
    return pc.utf8_slice_codeunits(values, 0, length)


def cut_char(length: int, values: Values) -> Values:
    return pc.utf8_rtrim(cut(length, values), " ")
