"""What a row is called: ROW__ID and its parts, write ids, and the number in which a row keeps its
bucket and statement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NewType

from acidsql.errors import FormatError
from acidsql.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


# ---- ids
#
# The ids of the field as types of their own: mixing a transaction id with a write id is the bug of
# this trade.


TxnId = NewType("TxnId", int)
"""Global transaction id, from 1."""

WriteId = NewType("WriteId", int)
"""Per table and transaction, from 1; in directory names and rows."""

StatementId = NewType("StatementId", int)
"""0-based leg within a transaction, at most 4095; -1 = none in the name."""

BucketId = NewType("BucketId", int)
"""The plain bucket number, 0..4095, of a file name; the packed int in rows is a *bucket property*.
"""

FIRST_WRITE_ID = WriteId(1)
CONVERSION_SEED = WriteId(10_000_000)
"""A table that becomes full ACID begins above it; the rows it had have write id 0. Hive:
TransactionalValidationListener.
"""
NO_STATEMENT = StatementId(-1)
MAX_BUCKET_ID = 4095
MAX_STATEMENT_ID = 4095
NO_OPEN_WRITE_ID = 9223372036854775807
"""Java's Long.MAX_VALUE: what Hive writes for "nothing is open"."""


# ---- row id
#
# The identity of a row, shown to users as ROW__ID ``{"writeid":..,"bucketid":..,"rowid":..}``.


ROW_ID_COLUMN = "ROW__ID"
"""The hidden column that shows it."""
RETURNED_ROW_ID = "acidsql_row_id"
"""The name of it in rows that a statement gives back, and what those of its parts begin with."""
ROW_ID_PARTS = ("writeid", "bucketid", "rowid")
"""Its fields, as users see them, in the order of ID_FIELDS."""


class RowId(NamedTuple):
    """Ordered as the files are sorted: write id, then the packed bucket property as a signed int,
    then the row number.

    A tuple, not a dataclass: compared and hashed by the million when delete events are matched. All
    three parts count: ``bucket_property`` (see bucket_codec) keeps apart the statements of one
    write id.
    """

    write_id: WriteId
    bucket_property: int
    row: int


# ---- bucket codec
#
# The packed ``bucket`` column of a row: codec version, bucket number and statement id in one 32-bit
# int.
#
#     31..29 version    28 zero    27..16 bucket    15..12 zero    11..0 statement        version 1,
#     all that Hive 3 and 4 write
#     31..29 zero       28..0 bucket                                                      version 0,
#     files of the first ACID format
#
# Hive: BucketCodec. Hive 4 can be told to spill bucket numbers above 4095 into the statement's
# bits; Hive 3 cannot read those and acidsql does not write them.


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
