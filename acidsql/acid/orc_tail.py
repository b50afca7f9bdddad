"""ORC files read from their ends: postscript, footer and metadata, and the stripes' own footers."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from acidsql.acid.ids import RowId
from acidsql.acid.orc_footer_pb2 import (
    ColumnEncoding,
    Footer,
    PostScript,
    RowIndex,
    Stream,
    StripeFooter,
    StripeInformation,
    Type,
    UserMetadataItem,
)
from acidsql.acid.orc_footer_pb2 import ColumnStatistics as StatisticsMessage
from acidsql.acid.orc_types import (
    OrcType,
    decode_types,
    encode_types,
    preorder,
    same_storage,
    struct_type,
    text,
)
from acidsql.errors import FormatError, InternalError
from acidsql.lazy import dataclass

# ---- orc tail
#
# The end of an ORC file (footer and postscript): read, and rewritten with the metadata and types of
# a Hive ACID file.
#
# Neither Spark nor pyarrow can set ORC user metadata, char(n) and varchar(n), or write ``row`` as
# fast as flat columns; all three are facts of the footer alone, so they are put right there. The
# bytes before the footer (stripes, their statistics) stay as they are: numbers of types, streams
# and statistics do not change.
#
#     stripes | stripe statistics | footer | postscript | 1 byte: length of the postscript
#                                   ^ TailEdit.offset
#
# Format: orc_proto.proto of Apache ORC, of which grammar/orc_footer.proto has what is needed here;
# fields without a name there stay in an edited tail as they were.


FIRST_READ = 16 * 1024
"""Bytes that hold the tail of all but very wide or very long files."""

_MAGIC = "ORC"
MAGIC_SIZE = 3
"""Bytes before the first stripe."""

_ATTRIBUTES = 7
"""The number of the attributes in Type of orc_proto.proto."""
_PROLEPTIC_GREGORIAN = 2
"""CalendarKind of orc_proto.proto."""


ColumnStatistics = bytes
"""The message of that name in a footer."""


class OrcTail(NamedTuple):
    """What the last bytes of a file say. If ``short``, they were too few: read ``length`` bytes and
    ask again.

    ``offset`` is where the footer begins; ``stripes`` are row counts, ``stripe_offsets`` where they
    begin; ``postscript`` and ``footer`` are messages without compression; ``schema`` is None only
    when ``short``.
    """

    path: str
    codec: OrcCodec
    block_size: int
    offset: int
    length: int
    postscript: bytes
    footer: bytes = b""
    stripes: tuple[int, ...] = ()
    stripe_offsets: tuple[int, ...] = ()
    schema: OrcType | None = None
    row_count: int = 0
    metadata: Sequence[bytes] = ()
    statistics: Sequence[ColumnStatistics] = ()

    @property
    def short(self) -> bool:
        return self.schema is None

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return self.offset + self.length

    @property
    def user_metadata(self) -> dict[str, str]:
        """The metadata by key. FormatError for a value that is not a text."""
        try:
            return dict(map(_name_and_value, self.metadata))
        except _BROKEN as error:
            raise _format_error(self.path, error) from error

    @property
    def attributes(self) -> list[dict[str, str]]:
        """What is said of each type besides, in the order of the types. FormatError as above."""
        try:
            return [_attributes(message) for message in Footer.FromString(self.footer).types]
        except _BROKEN as error:
            raise _format_error(self.path, error) from error

    def integer_range(self, column: int) -> tuple[int, int] | None:
        """Minimum and maximum of an integer column by the file's statistics; None where it keeps
        none.
        """
        return (
            integer_range(self.statistics[column], self.path)
            if column < len(self.statistics)
            else None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TailEdit:
    """Cut the file off at ``offset`` and append ``data``."""

    offset: int
    data: bytes


def read_tail(end: bytes, file_size: int, path: str) -> OrcTail:
    """Reads a tail from ``end``, the last bytes of the file. FormatError naming ``path`` if they
    are not the end of an ORC file.
    """
    try:  # no context manager, which takes longer: a table may have very many files
        return _tail(end, file_size, path)
    except _BROKEN as error:
        raise _format_error(path, error) from error


def _tail(end: bytes, file_size: int, path: str) -> OrcTail:
    postscript_length = end[-1]
    if postscript_length + 1 > len(end):
        raise ValueError("the postscript is longer than the file")
    postscript = end[-1 - postscript_length : -1]
    footer_length, codec, block_size = _read_postscript(postscript)
    length = footer_length + postscript_length + 1
    if length > file_size:
        raise ValueError("the footer is longer than the file")
    offset = file_size - length
    tail = partial(
        OrcTail,
        path=path,
        codec=codec,
        block_size=block_size,
        offset=offset,
        length=length,
        postscript=postscript,
    )
    if length > len(end):
        return tail()
    content = unpack(end[len(end) - length : len(end) - 1 - postscript_length], codec)
    footer = Footer.FromString(content)
    types = tuple(footer.types)
    if not types:
        raise ValueError("the footer has no types")
    rows = _rows_of_stripes(footer, offset)
    return tail(
        footer=content,
        stripes=rows,
        stripe_offsets=tuple([stripe.offset for stripe in footer.stripes]),
        schema=decode_types(types),
        row_count=footer.numberOfRows,
        metadata=tuple(footer.metadata),
        statistics=tuple(footer.statistics),
    )


def load_tail(read: Callable[[int], tuple[bytes, int]], path: str) -> OrcTail:
    """The whole tail. ``read(count)`` gives the last ``count`` bytes (or all) and the file's size;
    asked twice at most.
    """
    tail = read_tail(*read(FIRST_READ), path)
    return read_tail(*read(tail.length), path) if tail.short else tail


def values_counted(statistics: ColumnStatistics, path: str) -> int:
    """How many values of a column of the file at ``path`` are not NULL."""
    try:
        return int(StatisticsMessage.FromString(statistics).numberOfValues)
    except _BROKEN as error:
        raise _format_error(path, error) from error


def integer_range(statistics: ColumnStatistics, path: str) -> tuple[int, int] | None:
    """Minimum and maximum of an integer column of the file at ``path``; None where it
    keeps none.
    """
    try:
        integers = StatisticsMessage.FromString(statistics).intStatistics
        if not integers.HasField("minimum") or not integers.HasField("maximum"):
            return None
        return integers.minimum, integers.maximum
    except _BROKEN as error:
        raise _format_error(path, error) from error


def edit_tail(
    tail: OrcTail,
    metadata: Mapping[str, str],
    schema: OrcType | None = None,
    *,
    proleptic: bool = False,
) -> TailEdit:
    """The tail with these metadata keys set (others stay) and, if given, the types of ``schema``.

    ``schema`` must be the file's own types up to nesting under a struct and what ``same_storage``
    allows; InternalError if it is not. Attributes on types (Spark writes some) are dropped with the
    old types.

    ``proleptic``: times before 1582 are in the calendar of today. A file of Arrow's does not say
    so, and ORC's Java readers but Hive 3.1's take them for the old calendar's unless it does.
    """
    edited = Footer.FromString(tail.footer)
    if schema:
        edited.types[:] = encode_types(_checked(tail, schema))
    kept = [item for item in tail.metadata if _name_and_value(item)[0] not in metadata]
    edited.metadata[:] = [*kept, *(_item(name, value) for name, value in metadata.items())]
    if proleptic:
        edited.calendar = _PROLEPTIC_GREGORIAN
    footer = pack(edited.SerializeToString(), tail.codec, tail.block_size)
    postscript = edited_postscript(tail.postscript, len(footer))
    return TailEdit(offset=tail.offset, data=footer + postscript + bytes([len(postscript)]))


@lru_cache(maxsize=1024)
def _read_postscript(data: bytes) -> tuple[int, OrcCodec, int]:
    """Length of the footer, codec and its block size. Many files of a table have the same one."""
    postscript = PostScript.FromString(data)
    if postscript.magic != _MAGIC:
        raise ValueError("there is no ORC postscript at its end")
    if not postscript.HasField("footerLength"):
        raise ValueError("the postscript does not say how long the footer is")
    return (
        postscript.footerLength,
        OrcCodec(postscript.compression),
        postscript.compressionBlockSize,
    )


def metadata_length(tail: OrcTail) -> int:
    """Bytes of the section before the footer: the statistics of the stripes."""
    return PostScript.FromString(tail.postscript).metadataLength


def edited_postscript(
    data: bytes, footer_length: int, statistics_length: int | None = None
) -> bytes:
    """A postscript with these lengths; None: that of the stripes' statistics stays.

    Java's readers look for the magic in the last bytes, where else fields without a name would
    stand.
    """
    postscript = PostScript.FromString(data)
    postscript.footerLength = footer_length
    if statistics_length is not None:
        postscript.metadataLength = statistics_length
    postscript.ClearField("magic")
    return postscript.SerializeToString() + PostScript(magic=_MAGIC).SerializeToString()


_BROKEN = (
    ValueError,
    IndexError,
    KeyError,
    RecursionError,
    OSError,
    DecodeError,
    zlib.error,
    pa.ArrowException,
)


def _format_error(path: str, error: Exception) -> FormatError:
    return FormatError(f'"{path}" is not a valid ORC file', detail=str(error))


def _checked(tail: OrcTail, schema: OrcType) -> OrcType:
    if tail.schema is None:
        raise InternalError(f'the tail of "{tail.path}" was not read to its end')
    stored, declared = list(preorder(tail.schema)), list(preorder(schema))
    if len(stored) != len(declared) or not all(map(same_storage, stored[1:], declared[1:])):
        raise InternalError(
            f'"{tail.path}" does not hold the columns it was written for',
            detail=f"{tail.schema} is not stored as {schema}",
        )
    return schema


def _rows_of_stripes(footer: Footer, offset: int) -> tuple[int, ...]:
    """Raises ValueError where the stripes contradict the footer, which begins at ``offset``."""
    rows = tuple([stripe.numberOfRows for stripe in footer.stripes])
    if sum(rows) != footer.numberOfRows:
        raise ValueError(f"the footer counts {footer.numberOfRows} rows, its stripes {sum(rows)}")
    if rows and max(map(_end, footer.stripes)) > offset:
        raise ValueError("a stripe ends behind the footer's beginning")
    return rows


def _end(stripe: StripeInformation) -> int:
    """Where the stripe ends: behind its index, its data and its own footer."""
    return stripe.offset + stripe.indexLength + stripe.dataLength + stripe.footerLength


def _item(name: str, value: str) -> bytes:
    return UserMetadataItem(name=name, value=value.encode()).SerializeToString()


def _name_and_value(data: bytes) -> tuple[str, str]:
    item = UserMetadataItem.FromString(data)
    return text(item.name, "replace"), item.value.decode(errors="replace")


def _attributes(message: bytes) -> dict[str, str]:
    """The attributes in a ``Type`` message; each is laid out as an item of metadata."""
    unknown: Any = UnknownFieldSet(Type.FromString(message))
    return dict(_name_and_value(f.data) for f in unknown if f.field_number == _ATTRIBUTES)


# ---- the codecs of ORC files, and how a section of a file is packed and unpacked


CHUNK_HEADER = 3
"""Bytes before each chunk."""

_MAX_CHUNK = (1 << 23) - 1
_MAX_SNAPPY_SIZE = 5
"""Bytes of a number of 32 bits."""
_LZ4_FRAME_HEADER = (
    b"\x04\x22\x4d\x18\x60\x70\x73"  # version 1, independent blocks of up to 4 MB, no checksums
)
_LZ4_FRAME_END = bytes(4)


class OrcCodec(IntEnum):
    """CompressionKind of orc_proto.proto."""

    NONE = 0
    ZLIB = 1
    SNAPPY = 2
    LZO = 3
    LZ4 = 4
    ZSTD = 5


def unpack(data: bytes, codec: OrcCodec) -> bytes:
    """The bytes of a section of a file. ValueError (or a codec's own error) if they are broken."""
    if codec is OrcCodec.NONE:
        return data
    out = []
    at = 0
    while at < len(data):
        header = int.from_bytes(data[at : at + CHUNK_HEADER], "little")
        start = at + CHUNK_HEADER
        at = start + (header >> 1)
        if at > len(data):
            raise ValueError("a compressed chunk ends after its section")
        out.append(data[start:at] if header & 1 else _decompress(data[start:at], codec))
    return b"".join(out)


def unpack_until(data: bytes, codec: OrcCodec, until: tuple[int, int] | None) -> bytes:
    """The bytes of a part of a compressed stream that begins with a chunk; a last one that is cut
    is left out. ``until``: where the chunk begins that holds the last byte asked for, and how far
    into its bytes, or those behind them, that is; ValueError if no chunk begins there.
    """
    parts: list[bytes] = []
    at = size = 0
    enough: int | None = None
    while at + CHUNK_HEADER <= len(data):
        if until is not None and at == until[0]:
            enough = size + until[1]
        if enough is not None and size >= enough:
            break
        length = int.from_bytes(data[at : at + CHUNK_HEADER], "little") >> 1
        end = at + CHUNK_HEADER + length
        if end > len(data):
            break
        parts.append(unpack(data[at:end], codec))
        size += len(parts[-1])
        at = end
    if until is not None and enough is None and at != until[0]:
        raise ValueError("a row group begins where no chunk does")
    return b"".join(parts)


def pack(data: bytes, codec: OrcCodec, block_size: int) -> bytes:
    """A section: chunks of at most ``block_size`` bytes, deflated under ZLIB, original under every
    other codec.
    """
    if codec is OrcCodec.NONE:
        return data
    size = min(block_size, _MAX_CHUNK)
    return b"".join(_chunk(data[at : at + size], codec) for at in range(0, len(data), size))


def _chunk(data: bytes, codec: OrcCodec) -> bytes:
    if codec is OrcCodec.ZLIB:
        deflate = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -zlib.MAX_WBITS)
        packed = deflate.compress(data) + deflate.flush()
        if len(packed) < len(data):
            return (len(packed) << 1).to_bytes(CHUNK_HEADER, "little") + packed
    return (len(data) << 1 | 1).to_bytes(CHUNK_HEADER, "little") + data


def _decompress(data: bytes, codec: OrcCodec) -> bytes:
    match codec:
        case OrcCodec.ZLIB:
            return zlib.decompress(data, -zlib.MAX_WBITS)
        case OrcCodec.SNAPPY:
            return bytes(pa.decompress(data, _snappy_size(data), "snappy", asbytes=True))
        case OrcCodec.LZ4:
            # a bare block does not tell its size; inside a frame the decoder finds it
            frame = _LZ4_FRAME_HEADER + len(data).to_bytes(4, "little") + data + _LZ4_FRAME_END
            return _decompress_stream(frame, "lz4")
        case OrcCodec.ZSTD:
            return _decompress_stream(data, "zstd")
        case _:
            raise ValueError(f"codec {codec.name} is not supported")


def _decompress_stream(data: bytes, codec: str) -> bytes:
    return bytes(pa.CompressedInputStream(pa.BufferReader(data), codec).read())


def _snappy_size(data: bytes) -> int:
    """How many bytes a snappy block holds: it begins with that, seven bits a byte, the lowest
    first.
    """
    size = 0
    for index, byte in enumerate(data[:_MAX_SNAPPY_SIZE]):
        size |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return size
    raise ValueError("a snappy block does not tell its size")


# ---- the three user metadata keys of an ACID file's footer


KEY_INDEX = "hive.acid.key.index"
STATS = "hive.acid.stats"
VERSION = "hive.acid.version"


def last_rows(stripes: Sequence[int]) -> list[int]:
    """The position of the last row of each stripe, from the stripes' row counts."""
    return [end - 1 for end in accumulate(stripes)]


def footer_keys(last_ids: Sequence[RowId], *, inserts: int = 0, deletes: int = 0) -> dict[str, str]:
    """The user metadata of a footer. ``last_ids``: the id of the last row of every stripe, in file
    order.
    """
    index = "".join(f"{i.write_id},{i.bucket_property},{i.row};" for i in last_ids)
    return {KEY_INDEX: index, STATS: f"{inserts},0,{deletes}", VERSION: "2"}


def is_strictly_ascending(
    write_ids: npt.NDArray[np.int64],
    bucket_properties: npt.NDArray[np.int32],
    rows: npt.NDArray[np.int64],
) -> bool:
    """Whether the id triples rise from each row to the next, as every reader of a delta expects."""
    write = np.sign(np.diff(write_ids))
    bucket = np.sign(np.diff(bucket_properties))
    row = np.sign(np.diff(rows))
    return bool(((write > 0) | (write == 0) & ((bucket > 0) | (bucket == 0) & (row > 0))).all())


# ---- orc stripes
#
# What lies inside a stripe of an ORC file: its streams, and where in them each row group begins;
# and streams of one column as a small file of their own, which any reader of ORC decodes.
#
# Format: orc_proto.proto of Apache ORC. A position of a row group tells, stream by stream, where
# the chunk begins that holds the group's first value, how far into its bytes it is, and for
# encodings of runs how many values of the run come before it.


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
