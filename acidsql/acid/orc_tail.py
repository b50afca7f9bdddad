"""The end of an ORC file (footer and postscript): read, and rewritten with the metadata and types of a Hive ACID file.

Neither Spark nor pyarrow can set ORC user metadata, char(n) and varchar(n), or write ``row`` as fast as flat columns; all
three are facts of the footer alone, so they are put right there. The bytes before the footer (stripes, their statistics)
stay as they are: numbers of types, streams and statistics do not change.

    stripes | stripe statistics | footer | postscript | 1 byte: length of the postscript
                                  ^ TailEdit.offset

Format: orc_proto.proto of Apache ORC; sections of a compressed file are chunks with a 3-byte header
(length << 1 | is_original). Chunks flagged original are allowed under every codec.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa

from acidsql.acid import protobuf
from acidsql.acid.orc_types import OrcType, decode_types, encode_types, preorder, same_storage
from acidsql.errors import FormatError, InternalError

FIRST_READ = 16 * 1024
"""Bytes that hold the tail of all but very wide or very long files."""

_MAGIC = b"ORC"
_DEFAULT_BLOCK_SIZE = 256 * 1024
_CHUNK_HEADER = 3
_MAX_CHUNK = (1 << 23) - 1
_LZ4_FRAME_HEADER = b"\x04\x22\x4d\x18\x60\x70\x73"  # version 1, independent blocks of up to 4 MB, no checksums
_LZ4_FRAME_END = bytes(4)

# PostScript, Footer, StripeInformation, UserMetadataItem, ColumnStatistics, IntegerStatistics: field numbers
_PS_FOOTER_LENGTH, _PS_COMPRESSION, _PS_BLOCK_SIZE, _PS_MAGIC = 1, 2, 3, 8000
_STRIPES, _TYPES, _METADATA, _ROW_COUNT, _STATISTICS, _ROW_INDEX_STRIDE, _CALENDAR = 3, 4, 5, 6, 7, 8, 11
_PROLEPTIC_GREGORIAN = 2
_STRIPE_OFFSET, _STRIPE_ROWS = 1, 5
_STRIPE_LENGTHS = (2, 3, 4)  # of its index, its data and its footer
_ITEM_NAME, _ITEM_VALUE = 1, 2
_INTEGER_STATISTICS = 2
_MINIMUM, _MAXIMUM = 1, 2


ColumnStatistics = bytes
"""The message of that name in a footer."""


class OrcCodec(IntEnum):
    """CompressionKind of orc_proto.proto."""

    NONE = 0
    ZLIB = 1
    SNAPPY = 2
    LZO = 3
    LZ4 = 4
    ZSTD = 5


class OrcTail(NamedTuple):
    """What the last bytes of a file say. If ``short``, they were too few: read ``length`` bytes and ask again.

    ``offset`` is where the footer begins; ``stripes`` are row counts, ``stripe_offsets`` where they begin; ``postscript`` and ``footer``
    are messages without compression; ``schema`` is None only when ``short``.
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
    row_index_stride: int = 0
    metadata: Sequence[bytes] = ()
    statistics: Sequence[ColumnStatistics] = ()

    @property
    def short(self) -> bool:
        return self.schema is None

    @property
    def size(self) -> int:
        """Of the file."""
        return self.offset + self.length

    @property
    def user_metadata(self) -> dict[str, str]:
        """FormatError for what is not a text."""
        try:
            return dict(map(_name_and_value, self.metadata))
        except _BROKEN as error:
            raise _format_error(self.path, error) from error

    def integer_range(self, column: int) -> tuple[int, int] | None:
        """Minimum and maximum of an integer column by the file's statistics; None where it keeps none."""
        return integer_range(self.statistics[column], self.path) if column < len(self.statistics) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TailEdit:
    """Cut the file off at ``offset`` and append ``data``."""

    offset: int
    data: bytes


def read_tail(end: bytes, file_size: int, path: str) -> OrcTail:
    """``end``: the last bytes of the file. FormatError naming ``path`` if they are not the end of an ORC file."""
    try:  # no context manager, which takes longer: a table may have very many files
        postscript_length = end[-1]
        if postscript_length + 1 > len(end):
            raise ValueError("the postscript is longer than the file")
        postscript = end[-1 - postscript_length : -1]
        footer_length, codec, block_size = _read_postscript(postscript)
        length = footer_length + postscript_length + 1
        if length > file_size:
            raise ValueError("the footer is longer than the file")
        offset = file_size - length
        if length > len(end):
            return OrcTail(path=path, codec=codec, block_size=block_size, offset=offset, length=length, postscript=postscript)
        content = unpack(end[len(end) - length : len(end) - 1 - postscript_length], codec)
        footer = protobuf.Message(content)
        types = footer.contents(_TYPES)
        if not types:
            raise ValueError("the footer has no types")
        row_count = footer.integer(_ROW_COUNT)
        stripes = [_stripe(stripe) for stripe in footer.contents(_STRIPES)]
        rows = tuple([stripe.rows for stripe in stripes])
        if sum(rows) != row_count:
            raise ValueError(f"the footer counts {row_count} rows, its stripes {sum(rows)}")
        if stripes and max([stripe.end for stripe in stripes]) > offset:
            raise ValueError("a stripe ends behind the footer's beginning")
        return OrcTail(
            path=path,
            codec=codec,
            block_size=block_size,
            offset=offset,
            length=length,
            postscript=postscript,
            footer=content,
            stripes=rows,
            stripe_offsets=tuple([stripe.offset for stripe in stripes]),
            schema=decode_types(tuple(types)),
            row_count=row_count,
            row_index_stride=footer.integer(_ROW_INDEX_STRIDE),
            metadata=footer.contents(_METADATA),
            statistics=footer.contents(_STATISTICS),
        )
    except _BROKEN as error:
        raise _format_error(path, error) from error


def load_tail(read: Callable[[int], tuple[bytes, int]], path: str) -> OrcTail:
    """The whole tail. ``read(count)`` gives the last ``count`` bytes (or all) and the file's size; asked twice at most."""
    tail = read_tail(*read(FIRST_READ), path)
    return read_tail(*read(tail.length), path) if tail.short else tail


def integer_range(statistics: ColumnStatistics, path: str) -> tuple[int, int] | None:
    """Minimum and maximum of an integer column of the file at ``path``; None where it keeps none."""
    try:
        found = protobuf.Message(protobuf.Message(statistics).content(_INTEGER_STATISTICS))
        if _MINIMUM not in found or _MAXIMUM not in found:
            return None
        return protobuf.signed(found.integer(_MINIMUM)), protobuf.signed(found.integer(_MAXIMUM))
    except _BROKEN as error:
        raise _format_error(path, error) from error


def edit_tail(tail: OrcTail, metadata: Mapping[str, str], schema: OrcType | None = None, *, proleptic: bool = False) -> TailEdit:
    """The tail with these metadata keys set (others stay) and, if given, the types of ``schema``.

    ``schema`` must be the file's own types up to nesting under a struct and what ``same_storage`` allows; InternalError if it is not.
    Attributes on types (Spark writes some) are dropped with the old types.

    ``proleptic``: times before 1582 are in the calendar of today. A file of Arrow's does not say so, and ORC's Java readers but Hive 3.1's
    take them for the old calendar's unless it does.
    """
    types = [protobuf.bytes_field(_TYPES, t) for t in encode_types(_checked(tail, schema))] if schema else None
    items = [protobuf.bytes_field(_METADATA, _item(name, value)) for name, value in metadata.items()]
    calendar = [protobuf.varint_field(_CALENDAR, _PROLEPTIC_GREGORIAN)] if proleptic else []
    footer = pack(protobuf.message(*_edited(tail, types, items, metadata), *calendar), tail.codec, tail.block_size)
    fields = protobuf.split_message(tail.postscript)
    postscript = protobuf.message(
        *(protobuf.varint_field(_PS_FOOTER_LENGTH, len(footer)) if f.number == _PS_FOOTER_LENGTH else f.raw for f in fields)
    )
    return TailEdit(offset=tail.offset, data=footer + postscript + bytes([len(postscript)]))


def unpack(data: bytes, codec: OrcCodec) -> bytes:
    """The bytes of a section of a file. ValueError (or a codec's own error) if they are broken."""
    if codec is OrcCodec.NONE:
        return data
    out = []
    at = 0
    while at < len(data):
        header = int.from_bytes(data[at : at + _CHUNK_HEADER], "little")
        start = at + _CHUNK_HEADER
        at = start + (header >> 1)
        if at > len(data):
            raise ValueError("a compressed chunk ends after its section")
        out.append(data[start:at] if header & 1 else _decompress(data[start:at], codec))
    return b"".join(out)


def pack(data: bytes, codec: OrcCodec, block_size: int) -> bytes:
    """A section: chunks of at most ``block_size`` bytes, deflated under ZLIB, original under every other codec."""
    if codec is OrcCodec.NONE:
        return data
    size = min(block_size, _MAX_CHUNK)
    return b"".join(_chunk(data[at : at + size], codec) for at in range(0, len(data), size))


@lru_cache(maxsize=1024)
def _read_postscript(data: bytes) -> tuple[int, OrcCodec, int]:
    """Length of the footer, codec and its block size. Many files of a table have the same one."""
    postscript = protobuf.Message(data)
    if postscript.content(_PS_MAGIC) != _MAGIC:
        raise ValueError("there is no ORC postscript at its end")
    if _PS_FOOTER_LENGTH not in postscript:
        raise ValueError("the postscript does not say how long the footer is")
    codec = OrcCodec(postscript.integer(_PS_COMPRESSION))
    return postscript.integer(_PS_FOOTER_LENGTH), codec, postscript.integer(_PS_BLOCK_SIZE, _DEFAULT_BLOCK_SIZE)


_BROKEN = (ValueError, IndexError, KeyError, RecursionError, OSError, zlib.error, pa.ArrowException)


def _format_error(path: str, error: Exception) -> FormatError:
    return FormatError(f'"{path}" is not a valid ORC file', detail=str(error))


def _edited(tail: OrcTail, types: list[bytes] | None, items: list[bytes], names: Mapping[str, str]) -> Iterator[bytes]:
    """The footer's fields, still in the order of their numbers."""
    waiting = items
    for field in protobuf.split_message(tail.footer):
        if field.number > _METADATA and waiting:
            yield from waiting
            waiting = []
        if field.number == _TYPES and types is not None:
            yield from types
            types = []
        elif field.number != _METADATA or not isinstance(field.value, bytes) or _name_and_value(field.value)[0] not in names:
            yield field.raw
    yield from waiting


def _checked(tail: OrcTail, schema: OrcType) -> OrcType:
    if tail.schema is None:
        raise InternalError(f'the tail of "{tail.path}" was not read to its end')
    stored, declared = list(preorder(tail.schema)), list(preorder(schema))
    if len(stored) != len(declared) or not all(map(same_storage, stored[1:], declared[1:])):
        raise InternalError(
            f'"{tail.path}" does not hold the columns it was written for', detail=f"{tail.schema} is not stored as {schema}"
        )
    return schema


class _Stripe(NamedTuple):
    offset: int
    end: int
    rows: int


def _stripe(data: bytes) -> _Stripe:
    found = protobuf.Message(data)
    offset = found.integer(_STRIPE_OFFSET)
    return _Stripe(offset, offset + sum(map(found.integer, _STRIPE_LENGTHS)), found.integer(_STRIPE_ROWS))


def _item(name: str, value: str) -> bytes:
    return protobuf.bytes_field(_ITEM_NAME, name.encode()) + protobuf.bytes_field(_ITEM_VALUE, value.encode())


def _name_and_value(data: bytes) -> tuple[str, str]:
    found = protobuf.Message(data)
    return found.content(_ITEM_NAME).decode(), found.content(_ITEM_VALUE).decode(errors="replace")


def _chunk(data: bytes, codec: OrcCodec) -> bytes:
    if codec is OrcCodec.ZLIB:
        deflate = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -zlib.MAX_WBITS)
        packed = deflate.compress(data) + deflate.flush()
        if len(packed) < len(data):
            return (len(packed) << 1).to_bytes(_CHUNK_HEADER, "little") + packed
    return (len(data) << 1 | 1).to_bytes(_CHUNK_HEADER, "little") + data


def _decompress(data: bytes, codec: OrcCodec) -> bytes:
    match codec:
        case OrcCodec.ZLIB:
            return zlib.decompress(data, -zlib.MAX_WBITS)
        case OrcCodec.SNAPPY:
            size, _ = protobuf.decode_varint(data, 0)
            return bytes(pa.decompress(data, size, "snappy", asbytes=True))
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
