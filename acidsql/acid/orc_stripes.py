"""What lies inside a stripe of an ORC file: its streams, and where in them each row group begins;
and streams of one column as a small file of their own, which any reader of ORC decodes.

Format: orc_proto.proto of Apache ORC. A position of a row group tells, stream by stream, where the
chunk begins that holds the group's first value, how far into its bytes it is, and for encodings of
runs how many values of the run come before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from acidsql.acid.orc_footer_pb2 import (
    ColumnEncoding,
    Footer,
    PostScript,
    RowIndex,
    Stream,
    StripeFooter,
    StripeInformation,
)
from acidsql.acid.orc_tail import OrcCodec, OrcTail, unpack
from acidsql.acid.orc_types import OrcType, encode_types, preorder, struct_type, text

_HEADER = b"ORC"


class StreamKind(IntEnum):
    """Stream.Kind of orc_proto.proto."""

    PRESENT = 0
    DATA = 1
    LENGTH = 2
    DICTIONARY_DATA = 3
    SECONDARY = 5
    ROW_INDEX = 6


class Encoding(NamedTuple):
    """How a column is stored in a stripe."""

    kind: int
    dictionary_size: int

    @property
    def is_dictionary(self) -> bool:
        """DICTIONARY and DICTIONARY_V2."""
        return self.kind in (1, 3)


class StripeLayout(NamedTuple):
    """``streams``: by column and kind, the bytes of the file that each takes; those that nobody
    asks for are left out. ``encodings``: by column.
    """

    streams: Mapping[tuple[int, StreamKind], range]
    encodings: Sequence[Encoding]


class Extent(NamedTuple):
    """Where a stripe begins and what it consists of, in bytes."""

    offset: int
    index_length: int
    data_length: int
    footer_length: int
    rows: int

    @property
    def footer(self) -> int:
        """Where the stripe's footer begins: behind its index and its data."""
        return self.offset + self.index_length + self.data_length


_KINDS = {kind.value: kind for kind in StreamKind}


def extents(tail: OrcTail) -> tuple[tuple[Extent, ...], int]:
    """The stripes of a file, and how many rows a row group has; 0 where there are none."""
    footer = Footer.FromString(tail.footer)
    stripes = tuple(
        Extent(one.offset, one.indexLength, one.dataLength, one.footerLength, one.numberOfRows)
        for one in footer.stripes
    )
    return stripes, footer.rowIndexStride


def stripe_layout(section: bytes, codec: OrcCodec, extent: Extent) -> StripeLayout:
    """What the footer of a stripe says. ValueError, DecodeError or a codec's error if it is
    broken.
    """
    footer = StripeFooter.FromString(unpack(section, codec))
    streams, at = {}, extent.offset
    for one in footer.streams:
        if one.kind in _KINDS:
            streams[one.column, _KINDS[one.kind]] = range(at, at + one.length)
        at += one.length
    if at != extent.footer:
        raise ValueError("the streams of a stripe do not fill it")
    return StripeLayout(streams, [Encoding(c.kind, c.dictionarySize) for c in footer.columns])


def writer_zone(section: bytes, codec: OrcCodec) -> str:
    """The time zone of the Java that wrote a stripe, from the stripe's footer; empty where it is
    not told. Fails as ``stripe_layout``.
    """
    return text(StripeFooter.FromString(unpack(section, codec)).writerTimezone)


def positions(section: bytes, codec: OrcCodec) -> list[tuple[int, ...]]:
    """The positions of each row group, from the index of a column; fails as ``stripe_layout``."""
    return [tuple(entry.positions) for entry in RowIndex.FromString(unpack(section, codec)).entry]


def column_file(
    kind: OrcType, encoding: Encoding, rows: int, streams: Mapping[StreamKind, bytes]
) -> bytes:
    """An ORC file without compression of one column. ``streams``: its own, not those of columns
    below it.
    """
    root = struct_type(["c"], [kind])
    below = len(list(preorder(kind))) - 1
    encodings = [ColumnEncoding(kind=0)] * (below + 2)
    encodings[1] = ColumnEncoding(kind=encoding.kind, dictionarySize=encoding.dictionary_size)
    stripe_footer = StripeFooter(
        streams=[Stream(kind=k, column=1, length=len(data)) for k, data in streams.items()],
        columns=encodings,
    ).SerializeToString()
    body = b"".join(streams.values())
    stripe = StripeInformation(
        offset=len(_HEADER),
        indexLength=0,
        dataLength=len(body),
        footerLength=len(stripe_footer),
        numberOfRows=rows,
    )
    footer = Footer(
        stripes=[stripe], types=encode_types(root), numberOfRows=rows, rowIndexStride=0
    ).SerializeToString()
    end = PostScript(
        footerLength=len(footer), compression=OrcCodec.NONE, magic=_HEADER.decode()
    ).SerializeToString()
    return b"".join((_HEADER, body, stripe_footer, footer, end, bytes([len(end)])))
