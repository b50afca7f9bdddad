"""The packed ``bucket`` column of a row: codec version, bucket number and statement id in one
32-bit int.

    31..29 version    28 zero    27..16 bucket    15..12 zero    11..0 statement        version 1,
    all that Hive 3 and 4 write
    31..29 zero       28..0 bucket                                                      version 0,
    files of the first ACID format

Hive: BucketCodec. Hive 4 can be told to spill bucket numbers above 4095 into the statement's bits;
Hive 3 cannot read those and acidsql does not write them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acidsql.acid.ids import MAX_BUCKET_ID, MAX_STATEMENT_ID, NO_STATEMENT, BucketId, StatementId
from acidsql.errors import FormatError
from acidsql.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_VERSION_SHIFT = 29
_BUCKET_SHIFT = 16
_BUCKET_MASK = MAX_BUCKET_ID << _BUCKET_SHIFT
_MAX_VALUE = (2 << _VERSION_SHIFT) - 1
"""Above it, and below zero, lie the versions nobody has defined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketProperty:
    version: int
    bucket: BucketId
    statement: StatementId


def encode(bucket: BucketId, statement: StatementId) -> int:
    """The version 1 value. ``NO_STATEMENT`` is stored as 0, as Hive does. FormatError when a part
    does not fit 12 bits.
    """
    if not 0 <= bucket <= MAX_BUCKET_ID:
        raise FormatError(f"bucket number {bucket} is not within 0..{MAX_BUCKET_ID}")
    if not NO_STATEMENT <= statement <= MAX_STATEMENT_ID:
        raise FormatError(f"statement id {statement} is not within 0..{MAX_STATEMENT_ID}")
    return 1 << _VERSION_SHIFT | bucket << _BUCKET_SHIFT | max(0, statement)


def decode(value: int) -> BucketProperty:
    """The parts of a packed value. FormatError for a version other than 0 and 1. The bits that
    should be zero are not looked at, as in Hive.
    """
    version = value >> _VERSION_SHIFT
    if version == 0:
        return BucketProperty(version=0, bucket=BucketId(value), statement=StatementId(0))
    if version != 1:
        raise _invalid(value)
    return BucketProperty(
        version=1,
        bucket=BucketId((value & _BUCKET_MASK) >> _BUCKET_SHIFT),
        statement=StatementId(value & MAX_STATEMENT_ID),
    )


def bucket_ids(values: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """The bucket number of each value, as ``decode`` finds it. FormatError names the first value
    that is none.
    """
    versioned = values >> _VERSION_SHIFT == 1
    wrong = (values < 0) | (values > _MAX_VALUE)
    if wrong.any():
        raise _invalid(int(values[wrong.argmax()]))
    buckets: npt.NDArray[np.int32] = values.copy()
    buckets[versioned] = (values[versioned] & _BUCKET_MASK) >> _BUCKET_SHIFT
    return buckets


def statement_ids(values: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """The statement id of each value, which must be one that ``bucket_ids`` takes."""
    statements: npt.NDArray[np.int32] = values & MAX_STATEMENT_ID
    statements[values >> _VERSION_SHIFT != 1] = 0
    return statements


def _invalid(value: int) -> FormatError:
    return FormatError(
        f"bucket property {value} has an unknown codec version",
        detail=f"bits {value & 0xFFFFFFFF:032b}",
    )
