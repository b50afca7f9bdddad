"""What a row is called: ROW__ID and its parts, write ids, and the number in which a row keeps its
bucket and statement; and what its directories and files are called.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import field
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Generic, NamedTuple, NewType, Self, TypeVar

from acidsql.errors import FormatError
from acidsql.lazy import dataclass

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


# ---- write ids
#
# Which transactions and which write ids of a table a reader may see: high watermark plus the open
# and aborted exceptions.
#
# The text forms are Hive's (ValidReadTxnList, ValidReaderWriteIdList, ValidCompactorWriteIdList,
# ValidCleanerWriteIdList, ValidTxnWriteIdList), so that lists can be handed to Hive and taken from
# it::
#
#     db.table:<high watermark>:<lowest open or Long.MAX>:<open,..>:<aborted,..>
#     <high watermark>:<lowest open or Long.MAX>:<open, runs as a-b,..>:<aborted,..>
#     transactions: no table in front
#
# ``min_open`` is kept apart from ``open``: a compactor's list names the lowest open id though its
# high watermark lies below it.


Id = TypeVar("Id", TxnId, WriteId)
_SHORTEST_RUN = 5
"""Hive 4 writes ``a-b`` for runs of at least so many transaction ids (Hive 3 reads no runs at all).
"""


class RangeResponse(Enum):
    """How much of a range of ids fits. Hive: ValidWriteIdList.RangeResponse."""

    NONE = "none"
    SOME = "some"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class _ValidIds(Generic[Id]):
    """What the lists share. ``exceptions``: open and aborted together, ascending."""

    high_watermark: Id
    open: tuple[Id, ...] = ()
    aborted: tuple[Id, ...] = ()
    min_open: Id | None = None
    exceptions: tuple[Id, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        aborted = tuple(sorted(set(self.aborted)))
        still_open = tuple(sorted(set(self.open) - set(aborted)))
        set_field(self, "aborted", aborted)
        set_field(self, "open", still_open)
        set_field(self, "exceptions", tuple(sorted(still_open + aborted)))
        if self.min_open is None and still_open:
            set_field(self, "min_open", still_open[0])

    def is_valid(self, id: Id) -> bool:
        return id <= self.high_watermark and not _contains(self.exceptions, id)

    def is_aborted(self, id: Id) -> bool:
        return _contains(self.aborted, id)

    def range_valid(self, low: Id, high: Id) -> RangeResponse:
        """How many ids of ``low..high`` are valid."""
        top = min(high, self.high_watermark)
        valid = top - low + 1 - _count(self.exceptions, low, top) if top >= low else 0
        return _response(valid, high - low + 1)

    def range_aborted(self, low: Id, high: Id) -> RangeResponse:
        if low > self.high_watermark:
            return RangeResponse.NONE
        return _response(_count(self.aborted, low, high), high - low + 1)

    def all_valid(self, low: Id, high: Id) -> bool:
        """Whether every id of the range is valid, so that rows need not be tested one by one."""
        return high <= self.high_watermark and _count(self.exceptions, low, high) == 0

    def _numbers(self) -> str:
        return (
            f"{self.high_watermark}:{NO_OPEN_WRITE_ID if self.min_open is None else self.min_open}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidTxnList(_ValidIds[TxnId]):
    """The transactions a reader may see. Hive: ValidReadTxnList."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """The list that ``str`` wrote down; FormatError for another text. Runs (``3-9``)
        are read, as Hive 4 writes them.
        """
        high_watermark, min_open, still_open, aborted = _fields(text, text.split(":"))
        return cls(
            high_watermark=TxnId(high_watermark),
            min_open=None if min_open is None else TxnId(min_open),
            open=tuple(TxnId(i) for i in still_open),
            aborted=tuple(TxnId(i) for i in aborted),
        )

    def __str__(self) -> str:
        return f"{self._numbers()}:{','.join(_runs(self.open))}:{','.join(_runs(self.aborted))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidWriteIdList(_ValidIds[WriteId]):
    """The write ids of ``table`` (``db.table``) that a reader may see. Hive:
    ValidReaderWriteIdList.
    """

    table: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """The list that ``str`` wrote down; FormatError for another text."""
        table, *parts = text.split(":")
        high_watermark, min_open, still_open, aborted = _fields(text, parts)
        return cls(
            table=table,
            high_watermark=WriteId(high_watermark),
            min_open=None if min_open is None else WriteId(min_open),
            open=tuple(WriteId(i) for i in still_open),
            aborted=tuple(WriteId(i) for i in aborted),
        )

    def __str__(self) -> str:
        lists = (",".join(map(str, ids)) for ids in (self.open, self.aborted))
        return ":".join([self.table, self._numbers(), *lists])

    def up_to(self, highest: WriteId) -> ValidWriteIdList:
        """The list without the ids above ``highest``."""
        return ValidWriteIdList(
            table=self.table,
            high_watermark=min(self.high_watermark, highest),
            open=tuple(i for i in self.open if i <= highest),
            aborted=tuple(i for i in self.aborted if i <= highest),
        )

    def is_valid_base(self, write_id: WriteId) -> bool:
        """May a compacted base up to ``write_id`` be read? It has forgotten which of its rows came
        from which write id.
        """
        return write_id <= self.high_watermark and (
            self.min_open is None or write_id < self.min_open
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidCompactorWriteIdList(ValidWriteIdList):
    """What a compactor may merge: only ids that are all decided. It takes a directory whole or not
    at all.
    """

    @classmethod
    def of(cls, readers: ValidWriteIdList) -> Self:
        """The list cut below the lowest open id. Hive: TxnUtils.createValidCompactWriteIdList."""
        top = readers.high_watermark
        if readers.min_open is not None:
            top = min(top, WriteId(readers.min_open - 1))
        return cls(
            table=readers.table,
            high_watermark=top,
            min_open=readers.min_open,
            aborted=tuple(i for i in readers.aborted if i <= top),
        )

    def range_valid(self, low: WriteId, high: WriteId) -> RangeResponse:
        return RangeResponse.ALL if high <= self.high_watermark else RangeResponse.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidCleanerWriteIdList(ValidWriteIdList):
    """What a cleaner looks at: a directory that reaches above the high watermark is none of its
    business.
    """

    def range_valid(self, low: WriteId, high: WriteId) -> RangeResponse:
        if high > self.high_watermark:
            return RangeResponse.NONE
        return ValidWriteIdList.range_valid(self, low, high)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidTxnWriteIdList:
    """The write id lists of all tables of one transaction: ``<txn>$<list>$<list>``."""

    txn_id: TxnId
    lists: tuple[ValidWriteIdList, ...]

    @classmethod
    def parse(cls, text: str) -> ValidTxnWriteIdList:
        txn_id, *lists = text.split("$")
        return cls(
            txn_id=TxnId(_number(text, txn_id)),
            lists=tuple(ValidWriteIdList.parse(one) for one in lists),
        )

    def __str__(self) -> str:
        return "$".join([str(self.txn_id), *map(str, self.lists)])


def _contains(ids: Sequence[Id], id: Id) -> bool:
    index = bisect_left(ids, id)
    return index < len(ids) and ids[index] == id


def _count(ids: Sequence[Id], low: Id, high: Id) -> int:
    return bisect_right(ids, high) - bisect_left(ids, low)


def _response(hits: int, total: int) -> RangeResponse:
    if hits <= 0:
        return RangeResponse.NONE
    return RangeResponse.ALL if hits == total else RangeResponse.SOME


def _fields(text: str, parts: Sequence[str]) -> tuple[int, int | None, list[int], list[int]]:
    """High watermark, lowest open, open, aborted; Hive drops empty parts at the end."""
    if not 2 <= len(parts) <= 4:
        raise _malformed(text)
    high_watermark, lowest, still_open, aborted = (*parts, "", "")[:4]
    min_open = _number(text, lowest)
    return (
        _number(text, high_watermark),
        None if min_open == NO_OPEN_WRITE_ID else min_open,
        list(_ids(text, still_open)),
        list(_ids(text, aborted)),
    )


def _ids(text: str, part: str) -> Iterator[int]:
    for item in part.split(",") if part else ():
        first, dash, last = item.partition("-")
        start = _number(text, first)
        yield from range(start, (_number(text, last) if dash else start) + 1)


def _number(text: str, part: str) -> int:
    if not (part.isascii() and part.isdigit()):
        raise _malformed(text)
    return int(part)


def _malformed(text: str) -> FormatError:
    return FormatError(f'"{text}" is not a list of valid transactions or write ids')


def _runs(ids: Sequence[int]) -> Iterator[str]:
    start = 0
    while start < len(ids):
        end = start
        while end + 1 < len(ids) and ids[end + 1] == ids[end] + 1:
            end += 1
        if end - start + 1 >= _SHORTEST_RUN:
            yield f"{ids[start]}-{ids[end]}"
        else:
            yield from map(str, ids[start : end + 1])
        start = end + 1


# ---- names
#
# Names of directories and files in a Hive ACID table, written canonically and read leniently.
#
# ``grammar/names.lark`` is the same language as a grammar. Writing pads numbers as Hive does;
# reading accepts any padding, Hive 4's visibility suffix (``_v0000021``, a *transaction* id) and
# its attempt suffix on bucket files (``bucket_00000_0``), which we never write: Hive 3 cannot read
# it. Nor can it read the visibility suffix, which only our compactions on object stores write.
# Hive: AcidUtils.{baseDir, deltaSubdir, deleteDeltaSubdir, parseBase, parsedDelta,
# BUCKET_PATTERN}.


ACID_VERSION_FILE = "_orc_acid_version"
ACID_VERSION = b"2"
METADATA_FILE = "_metadata_acid"
FLUSH_LENGTH_SUFFIX = "_flush_length"

NO_VISIBILITY = TxnId(0)
"""No ``_v`` in the name: visible as soon as the write ids are."""

BEFORE_ALL_WRITES = WriteId(-(2**63))
"""Java's Long.MIN_VALUE: the base that Hive makes when it compacts nothing but original files."""

_WRITE_ID = "[0-9]{1,18}"
_VISIBILITY = "(?:_v([0-9]{1,18}))?"
_BASE = re.compile(f"base_(-[0-9]{{1,19}}|{_WRITE_ID}){_VISIBILITY}")
_DELTA = re.compile(f"(delete_)?delta_({_WRITE_ID})_({_WRITE_ID})(?:_([0-9]{{1,9}}))?{_VISIBILITY}")
_BUCKET = re.compile("bucket_([0-9]{1,9})(?:_[0-9]{1,9})?")
_ORIGINAL = re.compile("([0-9]{1,9})_[0-9]{1,9}(?:_copy_[0-9]{1,9})?")
_RESERVED_PREFIXES = ("base_", "delta_", "delete_delta_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """All rows up to ``write_id``; ``str()`` is the canonical name."""

    write_id: WriteId
    visibility_txn_id: TxnId = NO_VISIBILITY

    def __str__(self) -> str:
        return f"base_{_padded(self.write_id)}{_visibility(self.visibility_txn_id)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _DeltaName:
    min_write_id: WriteId
    max_write_id: WriteId
    statement_id: StatementId = NO_STATEMENT
    visibility_txn_id: TxnId = NO_VISIBILITY

    def _tail(self) -> str:
        statement = "" if self.statement_id == NO_STATEMENT else f"_{self.statement_id:04d}"
        ids = f"{_padded(self.min_write_id)}_{_padded(self.max_write_id)}"
        return f"delta_{ids}{statement}{_visibility(self.visibility_txn_id)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta(_DeltaName):
    """Insert events of the write ids ``min`` to ``max``; ``str()`` is the canonical name."""

    def __str__(self) -> str:
        return self._tail()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteDelta(_DeltaName):
    """Delete events of the write ids ``min`` to ``max``; ``str()`` is the canonical name."""

    def __str__(self) -> str:
        return f"delete_{self._tail()}"


DirectoryName = Base | Delta | DeleteDelta


def base_name(write_id: WriteId) -> str:
    return str(Base(write_id=write_id))


def delta_name(
    min_write_id: WriteId, max_write_id: WriteId, statement_id: StatementId = NO_STATEMENT
) -> str:
    """The canonical name of a delta; one without statement id is a compactor's."""
    return str(
        Delta(min_write_id=min_write_id, max_write_id=max_write_id, statement_id=statement_id)
    )


def delete_delta_name(
    min_write_id: WriteId, max_write_id: WriteId, statement_id: StatementId = NO_STATEMENT
) -> str:
    return str(
        DeleteDelta(min_write_id=min_write_id, max_write_id=max_write_id, statement_id=statement_id)
    )


def bucket_file_name(bucket: BucketId) -> str:
    return f"bucket_{bucket:05d}"


def is_hidden(name: str) -> bool:
    """Hive's hiddenFileFilter, for files and directories alike."""
    return name.startswith(("_", "."))


def is_reserved(name: str) -> bool:
    """A directory of such a name must be ACID: if ``parse_directory`` does not know it, nobody can
    tell what it holds.
    """
    return name.startswith(_RESERVED_PREFIXES)


@lru_cache(maxsize=4096)  # each statement meets the same names again
def parse_directory(name: str) -> DirectoryName | None:
    """The directory of this name; None if it is not that of an ACID directory (though it may be
    reserved, see ``is_reserved``).
    """
    if base := _BASE.fullmatch(name):
        return Base(write_id=WriteId(int(base[1])), visibility_txn_id=TxnId(int(base[2] or 0)))
    match = _DELTA.fullmatch(name)
    if match is None:
        return None
    kind = DeleteDelta if match[1] else Delta
    return kind(
        min_write_id=WriteId(int(match[2])),
        max_write_id=WriteId(int(match[3])),
        statement_id=NO_STATEMENT if match[4] is None else StatementId(int(match[4])),
        visibility_txn_id=TxnId(int(match[5] or 0)),
    )


def parse_bucket_file(name: str) -> BucketId | None:
    """The bucket number of ``bucket_N`` or ``bucket_N_A`` (A: the attempt, Hive 4); None for any
    other name.
    """
    match = _BUCKET.fullmatch(name)
    return BucketId(int(match[1])) if match else None


def original_bucket(name: str) -> BucketId | None:
    """The bucket number of ``000001_0`` and ``000001_0_copy_2``, files written before the table was
    ACID or by LOAD DATA.
    """
    match = _ORIGINAL.fullmatch(name)
    return BucketId(int(match[1])) if match else None


def _padded(number: int) -> str:
    return f"{number:07d}"


def _visibility(txn_id: TxnId) -> str:
    return "" if txn_id == NO_VISIBILITY else f"_v{_padded(txn_id)}"
