"""Stripes that were encoded apart become one ORC file, byte for byte, with the statistics of all
of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from decimal import Context, Decimal
from functools import reduce
from typing import Any

from google.protobuf.message import DecodeError

from acidsql.acid.orc_footer_pb2 import ColumnStatistics as Message
from acidsql.acid.orc_footer_pb2 import Footer, StripeInformation
from acidsql.acid.orc_tail import (
    MAGIC_SIZE,
    ColumnStatistics,
    OrcTail,
    edited_postscript,
    metadata_length,
    pack,
)
from acidsql.errors import FormatError, InternalError
from acidsql.lazy import dataclass

# ---- column statistics
#
# The statistics of one column in several parts of a file as those of the whole, as ORC's own
# writers add up those of their stripes. What not all parts tell, or what has no room in its type,
# the whole does not tell either.


_Known = Mapping[str, Any]
"""What a message of one kind tells, by its fields."""

_LONG = 1 << 63
_DECIMAL = Context(prec=100)
_DECIMAL_DIGITS = 38
_LAST_NANOS = 999_999
"""The part of a millisecond that a greatest time has which does not tell one."""


def merged(parts: Sequence[ColumnStatistics]) -> ColumnStatistics:
    """The statistics of all ``parts``, which are of one type, in their order. A protobuf error or
    ArithmeticError if one is broken.
    """
    if len(parts) == 1:
        return parts[0]
    messages = [Message.FromString(part) for part in parts]
    whole = Message(numberOfValues=sum(message.numberOfValues for message in messages))
    if all(message.HasField("hasNull") for message in messages):
        whole.hasNull = any(message.hasNull for message in messages)
    if all(message.HasField("bytesOnDisk") for message in messages):
        whole.bytesOnDisk = sum(message.bytesOnDisk for message in messages)
    telling = [message for message in messages if message.numberOfValues] or messages[:1]
    for kind, merge in _MERGES.items():
        if all(message.HasField(kind) for message in telling):
            of_kind = [getattr(message, kind) for message in telling]
            _fill(getattr(whole, kind), of_kind[0] if len(of_kind) == 1 else merge(of_kind))
    return whole.SerializeToString()


def _fill(message: Any, values: Any) -> None:
    message.SetInParent()
    if not isinstance(values, Mapping):
        message.CopyFrom(values)
        return
    for name, value in values.items():
        if isinstance(value, list):
            getattr(message, name)[:] = value
        elif value is not None:
            setattr(message, name, value)


def _all(parts: Sequence[Any], field: str) -> list[Any] | None:
    """The field of each part; None if one does not tell it."""
    values = [getattr(part, field) for part in parts if part.HasField(field)]
    return values if len(values) == len(parts) else None


def _least(values: Sequence[Any] | None, key: Callable[[Any], Any] = lambda value: value) -> Any:
    """The first of those than which none is less: not min(), which NaN would lead astray another
    way than it does ORC's writers.
    """
    return None if values is None else reduce(lambda a, b: b if key(b) < key(a) else a, values)


def _greatest(values: Sequence[Any] | None, key: Callable[[Any], Any] = lambda value: value) -> Any:
    return None if values is None else reduce(lambda a, b: b if key(b) > key(a) else a, values)


def _total(values: Sequence[int] | None) -> int | None:
    total = None if values is None else sum(values)
    return total if total is not None and -_LONG <= total < _LONG else None


def _range(parts: Sequence[Any]) -> dict[str, Any]:
    return {
        "minimum": _least(_all(parts, "minimum")),
        "maximum": _greatest(_all(parts, "maximum")),
    }


def _integers(parts: Sequence[Any]) -> _Known:
    return _range(parts) | {"sum": _total(_all(parts, "sum"))}


def _doubles(parts: Sequence[Any]) -> _Known:
    sums = _all(parts, "sum")
    return _range(parts) | {"sum": None if sums is None else reduce(lambda a, b: a + b, sums)}


def _buckets(parts: Sequence[Any]) -> _Known:
    return {"count": [sum(counts) for counts in zip(*(part.count for part in parts), strict=True)]}


def _decimals(parts: Sequence[Any]) -> _Known:
    sums = _all(parts, "sum")
    return {
        "minimum": _least(_all(parts, "minimum"), Decimal),
        "maximum": _greatest(_all(parts, "maximum"), Decimal),
        "sum": None if sums is None else _decimal_total(sums),
    }


def _decimal_total(sums: Sequence[str]) -> str | None:
    total = reduce(_DECIMAL.add, map(Decimal, sums)).normalize(_DECIMAL)
    return f"{total:f}" if len(total.as_tuple().digits) <= _DECIMAL_DIGITS else None


def _sums(parts: Sequence[Any]) -> _Known:
    return {"sum": _total(_all(parts, "sum"))}


def _times(parts: Sequence[Any]) -> _Known:
    """Parts of a millisecond are kept one higher than they are."""
    values: dict[str, Any] = {}
    for least, greatest in (("minimum", "maximum"), ("minimumUtc", "maximumUtc")):
        if (of_all := _all(parts, least)) is not None:
            nanos = [p.minimumNanos - 1 if p.HasField("minimumNanos") else 0 for p in parts]
            values[least], first = min(zip(of_all, nanos, strict=True))
            values["minimumNanos"] = first + 1 if first else None
        if (of_all := _all(parts, greatest)) is not None:
            nanos = [
                p.maximumNanos - 1 if p.HasField("maximumNanos") else _LAST_NANOS for p in parts
            ]
            values[greatest], last = max(zip(of_all, nanos, strict=True))
            values["maximumNanos"] = last + 1 if last != _LAST_NANOS else None
    return values


def _collections(parts: Sequence[Any]) -> _Known:
    """Arrow's writer counts no children where no value is NULL, and tells of a total of 0."""
    least, greatest = _all(parts, "minChildren"), _all(parts, "maxChildren")
    if least is None or greatest is None:
        return {}
    return {
        "minChildren": _least(least),
        "maxChildren": _greatest(greatest),
        "totalChildren": _total(_all(parts, "totalChildren")),
    }


_MERGES: Mapping[str, Callable[[Sequence[Any]], _Known]] = {
    "intStatistics": _integers,
    "doubleStatistics": _doubles,
    "stringStatistics": _integers,
    "bucketStatistics": _buckets,
    "decimalStatistics": _decimals,
    "dateStatistics": _range,
    "binaryStatistics": _sums,
    "timestampStatistics": _times,
    "collectionStatistics": _collections,
}


# ---- files
#
# ORC files of one writer, one behind the other, as one file: their stripes as they are, byte for
# byte. Nothing in a stripe tells where in the file it is; Java: OrcFile.mergeFiles.
#
#     stripes of all | stripe statistics of all | footer | postscript | 1 byte


@dataclass(slots=True, kw_only=True)
class JoinedFile:
    """A file that grows by whole files. ``path``: what errors call it. ``size``: the bytes that it
    has so far.
    """

    path: str
    size: int = 0
    _first: OrcTail | None = None
    _stripes: list[StripeInformation] = field(default_factory=list)
    _stripe_statistics: list[bytes] = field(default_factory=list)
    _statistics: list[tuple[ColumnStatistics, ...]] = field(default_factory=list)

    def add(self, data: memoryview, tail: OrcTail) -> memoryview:
        """What a file of these bytes adds to this one. InternalError if it is of other types or
        another codec than those before it.
        """
        if self._first is None:
            self._first = tail
        self._check_like(self._first, tail)
        begin = MAGIC_SIZE if self.size else 0
        end = tail.offset - metadata_length(tail)
        for stripe in Footer.FromString(tail.footer).stripes:
            stripe.offset += self.size - begin
            self._stripes.append(stripe)
        self._stripe_statistics.append(bytes(data[end : tail.offset]))
        self._statistics.append(tuple(tail.statistics))
        self.size += end - begin
        return data[begin:end]

    def end(self) -> bytes:
        """The bytes behind the stripes. Metadata and types are those of the first file. FormatError
        if the statistics of one are broken.
        """
        first = self._first
        if first is None:
            raise InternalError(f'nothing was added to "{self.path}"')
        footer = Footer.FromString(first.footer)
        del footer.stripes[:]
        footer.stripes.extend(self._stripes)
        footer.numberOfRows = sum(stripe.numberOfRows for stripe in self._stripes)
        footer.contentLength = sum(map(_length, self._stripes))
        try:
            columns = zip(*self._statistics, strict=True)
            footer.statistics[:] = [merged(of_column) for of_column in columns]
        except (ValueError, ArithmeticError, DecodeError) as error:
            raise FormatError(
                f'the statistics of "{self.path}" are broken', detail=str(error)
            ) from error
        packed = pack(footer.SerializeToString(), first.codec, first.block_size)
        # Sections that follow on each other are one: a message's parts may stand anywhere.
        statistics = b"".join(self._stripe_statistics)
        postscript = edited_postscript(first.postscript, len(packed), len(statistics))
        return statistics + packed + postscript + bytes([len(postscript)])

    def _check_like(self, first: OrcTail, tail: OrcTail) -> None:
        if (first.schema, first.codec, first.block_size) != (
            tail.schema,
            tail.codec,
            tail.block_size,
        ):
            raise InternalError(
                f'files that differ cannot be joined to "{self.path}"',
                detail=f"{first.schema} {first.codec.name}, {tail.schema} {tail.codec.name}",
            )


def _length(stripe: StripeInformation) -> int:
    return stripe.indexLength + stripe.dataLength + stripe.footerLength
