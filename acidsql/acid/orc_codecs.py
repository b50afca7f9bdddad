"""The codecs of ORC files, and how a section of a file is packed and unpacked.

A section of a compressed file is a run of chunks, each behind a header of 3 bytes
(length << 1 | is_original). Chunks flagged original are allowed under every codec.
"""

from __future__ import annotations

import zlib
from enum import IntEnum

import pyarrow as pa

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
