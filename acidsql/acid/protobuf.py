"""As much of the protobuf wire format as ORC tails need: a message by its fields' numbers to read, as a list of raw fields to edit.

Keeping the raw bytes lets an edit copy every field it does not know. Broken input raises ValueError or IndexError.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: 8, _FIXED32: 4}
_MAX_SHIFT = 63


class Message:
    """The values of a message's fields by their numbers: ints of varints, bytes of all else."""

    __slots__ = ("_values",)

    def __init__(self, data: bytes) -> None:
        self._values = _read(data)

    def integer(self, number: int, default: int = 0) -> int:
        """The last one, as protobuf wants it."""
        found = self._values.get(number)
        if found is None:
            return default
        if isinstance(found[-1], int):
            return found[-1]
        raise ValueError(f"field {number} is not a number")

    def content(self, number: int) -> bytes:
        """The last one, empty if there is none."""
        found = self.contents(number)
        return found[-1] if found else b""

    def contents(self, number: int) -> list[bytes]:
        found = self._values.get(number, [])
        if int in map(type, found):
            raise ValueError(f"field {number} is not a byte string")
        return found  # type: ignore[return-value]

    def integers(self, number: int) -> tuple[int, ...]:
        """The values of a ``repeated`` field, packed or not: writers use both forms."""
        found: list[int] = []
        for value in self._values.get(number, []):
            if isinstance(value, int):
                found.append(value)
                continue
            at = 0
            while at < len(value):
                element, at = decode_varint(value, at)
                found.append(element)
        return tuple(found)

    def __contains__(self, number: int) -> bool:
        return number in self._values


class Field(NamedTuple):
    """``raw`` holds tag and value."""

    number: int
    value: int | bytes
    raw: bytes


def split_message(data: bytes) -> list[Field]:
    fields: list[Field] = []
    _read(data, fields)
    return fields


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


def _read(data: bytes, fields: list[Field] | None = None) -> dict[int, list[int | bytes]]:
    """The values by number; all there is is appended to ``fields``, too. One loop without a call for most fields: many files are read."""
    found: dict[int, list[int | bytes]] = {}
    at, end = 0, len(data)
    while at < end:
        start = at
        tag = data[at]
        at += 1
        if tag > 0x7F:
            tag, at = decode_varint(data, start)
        number, wire = tag >> 3, tag & 7
        value: int | bytes
        if wire in (_BYTES, _VARINT):
            value = data[at]  # most fit one byte
            at += 1
            if value > 0x7F:
                value, at = decode_varint(data, at - 1)
        elif wire in _FIXED:
            value = _FIXED[wire]
        else:
            raise ValueError(f"unknown wire type {wire}")
        if wire != _VARINT:
            after = at + value
            if after > end:
                raise ValueError(f"field {number} ends after the message")
            value, at = data[at:after], after
        if number in found:
            found[number].append(value)
        else:
            found[number] = [value]
        if fields is not None:
            fields.append(Field(number, value, data[start:at]))
    return found
