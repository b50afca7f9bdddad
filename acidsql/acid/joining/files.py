"""ORC files of one writer, one behind the other, as one file: their stripes as they are, byte for
byte. Nothing in a stripe tells where in the file it is; Java: OrcFile.mergeFiles.

    stripes of all | stripe statistics of all | footer | postscript | 1 byte
"""

from __future__ import annotations

from dataclasses import field

from google.protobuf.message import DecodeError

from acidsql.acid.joining.column_statistics import merged
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
from acidsql.lazy_dataclass import dataclass


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
