"""As much of the protobuf wire format as ORC tails need: fields as (number, value, the bytes they came as).

Keeping the raw bytes lets an edit copy every field it does not know. Broken input raises ValueError or IndexError.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_SHIFT = 63


class Field(NamedTuple):
    """``value`` is an int for a varint and bytes for all else; ``raw`` holds tag and value."""

    number: int
    value: int | bytes
    raw: bytes

    @property
    def integer(self) -> int:
        if isinstance(self.value, int):
            return self.value
        raise ValueError(f"field {self.number} is not a number")

    @property
    def content(self) -> bytes:
        if isinstance(self.value, bytes):
            return self.value
        raise ValueError(f"field {self.number} is not a byte string")


def parse_message(data: bytes) -> tuple[Field, ...]:
    return tuple(_fields(data))


def message(*parts: bytes) -> bytes:
    """A message is its fields, one after the other."""
    return b"".join(parts)


def varint_field(number: int, value: int) -> bytes:
    return encode_varint(number << 3 | _VARINT) + encode_varint(value)


def bytes_field(number: int, value: bytes) -> bytes:
    return encode_varint(number << 3 | _BYTES) + encode_varint(len(value)) + value


def packed_field(number: int, values: Iterable[int]) -> bytes:
    """A packed ``repeated uint32``; nothing at all for no values."""
    content = b"".join(map(encode_varint, values))
    return bytes_field(number, content) if content else b""


def repeated_integers(fields: Iterable[Field], number: int) -> tuple[int, ...]:
    """The values of a ``repeated`` integer field, packed or not: writers use both forms."""
    found: list[int] = []
    for field in fields:
        if field.number != number:
            continue
        if isinstance(field.value, int):
            found.append(field.value)
            continue
        at = 0
        while at < len(field.value):
            value, at = decode_varint(field.value, at)
            found.append(value)
    return tuple(found)


def signed(value: int) -> int:
    """The number a ``sint64`` stands for (zigzag)."""
    return value >> 1 ^ -(value & 1)


def encode_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode_varint(data: bytes, at: int) -> tuple[int, int]:
    """The value and the offset after it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > _MAX_SHIFT:
            raise ValueError("a varint is longer than ten bytes")


def _fields(data: bytes) -> Iterator[Field]:
    at, end = 0, len(data)
    while at < end:
        start = at
        value = data[at]
        at += 1
        if value > 0x7F:
            value, at = decode_varint(data, start)
        number, wire = value >> 3, value & 7
        if wire in (_BYTES, _VARINT):
            value = data[at]  # most fit one byte
            at += 1
            if value > 0x7F:
                value, at = decode_varint(data, at - 1)
            if wire == _VARINT:
                yield Field(number, value, data[start:at])
                continue
        elif wire in (_FIXED64, _FIXED32):
            value = 8 if wire == _FIXED64 else 4
        else:
            raise ValueError(f"unknown wire type {wire}")
        if at + value > end:
            raise ValueError(f"field {number} ends after the message")
        yield Field(number, data[at : at + value], data[start : at + value])
        at += value
