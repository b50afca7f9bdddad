"""Masks of values that a store cast has taken something from; None where that is soon seen to be
none. ``given`` and ``stored`` are arrays of one length.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.arrow_arrays import arrow_scalar, filled
from acidsql.expressions.kernels.comparing import Values

_BEYOND_BIGINT = 2.0**63


def became_null(given: Values, stored: Values) -> Values | None:
    if stored.null_count == given.null_count:  # NULL stays NULL
        return None
    return pc.and_(pc.is_valid(given), pc.is_null(stored))


def longer(texts: Values, length: int) -> Values | None:
    """Texts of more characters, but for blanks at their end."""
    most = pc.max(pc.binary_length(texts)).as_py()
    if most is None or most <= length:
        return None
    return _sure(pc.greater(pc.utf8_length(pc.utf8_rtrim(texts, " ")), length))


def has_point(given: Values, stored: Values) -> Values:
    """Texts of numbers that are no whole ones, which have become some."""
    return _sure(pc.and_(pc.is_valid(stored), pc.match_substring(given, ".")))


def infinite_text(given: Values, stored: Values) -> Values | None:
    """Texts of numbers that are too large."""
    if not pc.any(pc.is_inf(stored)).as_py():
        return None
    named = pc.match_substring(given, "inf", ignore_case=True)
    return _sure(pc.and_(pc.is_inf(stored), pc.invert(named)))


def became_infinite(given: Values, stored: Values) -> Values | None:
    if not pc.any(pc.is_inf(stored)).as_py():
        return None
    return _sure(pc.and_(pc.is_inf(stored), pc.is_finite(given)))


def other_double(given: Values, stored: Values, bits: int) -> Values:
    """Numbers that are not the whole ones of so many bits that are stored; both as DOUBLE."""
    other = pc.not_equal(given, stored)
    if bits == 64:  # the largest BIGINT is this number as a DOUBLE
        other = pc.or_(other, pc.greater_equal(given, arrow_scalar(_BEYOND_BIGINT, pa.float64())))
    return _sure(other)


def other(given: Values, stored: Values) -> Values:
    """Numbers that are not those that are stored, which are NULL where their type is too small."""
    differs = pc.or_kleene(pc.is_null(stored), pc.not_equal(given, stored))
    return pc.and_(pc.is_valid(given), filled(differs, False))


def _sure(mask: Values) -> Values:
    return filled(mask, False)
