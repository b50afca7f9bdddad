"""Thrift's binary protocol, as far as a client of Hive's metastore needs it.

A ``Kind`` says how a value lies in a message. A struct is a dict by the names of its fields; fields
that are not set are not in it, and those that a kind does not name are read over. What a server
says of sizes is not believed: nothing is reserved for what is not there yet, and a message has a
limit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from struct import Struct as Packer
from typing import Any

from acidsql.lazy import dataclass

MESSAGE_BYTES = 128 << 20
"""The longest message that is read, with what its values cost in memory."""
_ITEM_BYTES = 32
_STRUCT_BYTES = 64
_DEPTH = 32
_REMEMBERED_BYTES = 64
_TOO_LONG = "its answer is longer than any that is read"
_VERSION = 0x8001_0000
_I16, _I32, _I64 = Packer(">h"), Packer(">i"), Packer(">q")
_COUNT = Packer(">I")
_F64 = Packer(">d")


class WireError(Exception):
    """What came is no message of the protocol, or not the one that was waited for."""


class RefusedError(WireError):
    """The server does not let us in, and has done nothing."""


class Code(IntEnum):
    """The types of the wire."""

    STOP = 0
    BOOL = 2
    BYTE = 3
    DOUBLE = 4
    I16 = 6
    I32 = 8
    I64 = 10
    STRING = 11
    STRUCT = 12
    MAP = 13
    SET = 14
    LIST = 15


class MessageType(IntEnum):
    CALL = 1
    REPLY = 2
    EXCEPTION = 3


_SIZES = {Code.BOOL: 1, Code.BYTE: 1, Code.DOUBLE: 8, Code.I16: 2, Code.I32: 4, Code.I64: 8}
_PACKERS = {Code.I16: _I16, Code.I32: _I32, Code.I64: _I64, Code.DOUBLE: _F64}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """A number, or a string: ``is_text`` if it is UTF-8."""

    code: Code
    is_text: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOf:
    item: Kind
    code: Code = Code.LIST


@dataclass(frozen=True, slots=True, kw_only=True)
class MapOf:
    key: Kind
    value: Kind
    code: Code = Code.MAP


@dataclass(frozen=True, slots=True, kw_only=True)
class Struct:
    """``fields``: name and kind by number."""

    fields: Mapping[int, tuple[str, Kind]]
    code: Code = Code.STRUCT


Kind = Scalar | ListOf | MapOf | Struct
TEXT = Scalar(code=Code.STRING, is_text=True)
BINARY = Scalar(code=Code.STRING)
BOOL = Scalar(code=Code.BOOL)
I16 = Scalar(code=Code.I16)
I32 = Scalar(code=Code.I32)
I64 = Scalar(code=Code.I64)
DOUBLE = Scalar(code=Code.DOUBLE)


# ---- writing


def encode_call(name: str, sequence: int, arguments: Struct, values: Mapping[str, Any]) -> bytes:
    """The message that calls a method."""
    head = _COUNT.pack(_VERSION | MessageType.CALL) + encode(TEXT, name) + _I32.pack(sequence)
    return head + encode(arguments, values)


def encode(kind: Kind, value: Any) -> bytes:
    """A value as bytes. Fields that are missing or None are left out."""
    match kind:
        case Scalar(code=Code.STRING):
            encoded: bytes = value.encode() if kind.is_text else value
            return _I32.pack(len(encoded)) + encoded
        case Scalar(code=Code.BOOL):
            return b"\x01" if value else b"\x00"
        case Scalar():
            return _PACKERS[kind.code].pack(value)
        case ListOf():
            head = bytes([kind.item.code]) + _I32.pack(len(value))
            return head + b"".join(encode(kind.item, one) for one in value)
        case MapOf():
            head = bytes([kind.key.code, kind.value.code]) + _I32.pack(len(value))
            return head + b"".join(
                encode(kind.key, key) + encode(kind.value, one) for key, one in value.items()
            )
        case Struct():
            fields = (
                bytes([of.code]) + _I16.pack(number) + encode(of, value[name])
                for number, (name, of) in kind.fields.items()
                if value.get(name) is not None
            )
            return b"".join(fields) + bytes([Code.STOP])


# ---- reading


class Decoder:
    """Reads one message. ``receive`` returns the next bytes, at least one; ``limit``: of all."""

    def __init__(self, receive: Callable[[], bytes], limit: int = MESSAGE_BYTES) -> None:
        self._receive = receive
        self._left = limit
        self._data = b""
        self._at = 0
        self._fills = 0
        self._skipped = b""

    @property
    def has_more(self) -> bool:
        """Whether bytes came that nobody has read."""
        return self._at < len(self._data)

    def head(self) -> tuple[int, str, int]:
        """The type, name and sequence number of a message. WireError for what is none."""
        first = self.take(4)
        version = _COUNT.unpack(first)[0]
        if version & 0xFFFF_0000 != _VERSION:
            reason = foreign_speech(first) or "what it answers is not Thrift's binary protocol"
            raise WireError(reason)
        return version & 0xFF, self.value(TEXT), self._number(_I32)

    def value(self, kind: Kind, depth: int = 0) -> Any:
        if depth > _DEPTH:
            raise WireError("its answer has too many levels")
        match kind:
            case Scalar(code=Code.STRING):
                return _text(self._string()) if kind.is_text else self._string()
            case Scalar(code=Code.BOOL):
                return self.take(1) != b"\x00"
            case Scalar():
                return self._number(_PACKERS[kind.code])
            case ListOf():
                self._expect(kind.item.code)
                count = self._charged(self._count(), _ITEM_BYTES)
                return [self.value(kind.item, depth + 1) for _ in range(count)]
            case MapOf():
                return self._map(kind, depth)
            case Struct():
                return self._struct(kind, depth)

    def take(self, size: int) -> bytes:
        """The next bytes, exactly so many."""
        end = self._at + size
        if end > len(self._data):
            self._fill(size)
            end = size
        start, self._at = self._at, end
        return self._data[start:end]

    def _fill(self, size: int) -> None:
        parts = [self._data[self._at :]]
        missing = size - len(parts[0])
        if missing > self._left:
            raise WireError(_TOO_LONG)
        while missing > 0:
            part = self._receive()
            self._charged(len(part))
            missing -= len(part)
            parts.append(part)
        self._data, self._at = b"".join(parts), 0
        self._fills += 1

    def _charged(self, count: int, cost: int = 1) -> int:
        self._left -= count * cost
        if self._left < 0:
            raise WireError(_TOO_LONG)
        return count

    def _number(self, packer: Packer) -> int:
        number: int = packer.unpack(self.take(packer.size))[0]
        return number

    def _count(self) -> int:
        """How many bytes or items follow, each of at least one byte."""
        count = self._number(_I32)
        if not 0 <= count <= self._left + len(self._data) - self._at:
            raise WireError(f"its answer holds a value of {count} bytes or items")
        return count

    def _string(self) -> bytes:
        return self.take(self._count())

    def _expect(self, code: Code) -> None:
        came = self.take(1)[0]
        if came != code:
            raise WireError(f"its answer has a value of type {came}, and not {int(code)}")

    def _map(self, kind: MapOf, depth: int) -> dict[Any, Any]:
        key, value = self.take(2)
        count = self._count()
        if count and (key, value) != (kind.key.code, kind.value.code):
            raise WireError("its answer has a map of other types")
        return {
            self.value(kind.key, depth + 1): self.value(kind.value, depth + 1)
            for _ in range(self._charged(count, 2 * _ITEM_BYTES))
        }

    def _struct(self, kind: Struct, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        self._charged(1, _STRUCT_BYTES)
        while (code := self.take(1)[0]) != Code.STOP:
            number = self._number(_I16)
            if number not in kind.fields:
                self._skip(code, depth + 1)
                continue
            name, of = kind.fields[number]
            if code != of.code:
                raise WireError(f'its answer has "{name}" of type {code}, and not {int(of.code)}')
            values[name] = self.value(of, depth + 1)
        return values

    def _skip(self, code: int, depth: int) -> None:
        """Reads over a value."""
        if depth > _DEPTH:
            raise WireError("its answer has too many levels")
        if code in _SIZES:
            self.take(_SIZES[Code(code)])
        elif code == Code.STRING:
            self._string()
        elif code == Code.STRUCT:
            while (of := self.take(1)[0]) != Code.STOP:
                self.take(2)
                self._skip(of, depth + 1)
        elif code in (Code.LIST, Code.SET):
            self._skip_list(depth)
        elif code == Code.MAP:
            key, value = self.take(2)
            for _ in range(self._count()):
                self._skip(key, depth + 1)
                self._skip(value, depth + 1)
        else:
            raise WireError(f"its answer has a value of the unknown type {code}")

    def _skip_list(self, depth: int) -> None:
        """Reads over a list. Each partition repeats the columns of its table: no value's bytes
        begin those of another, so the bytes that were a list before are that list again.
        """
        if self._skipped and self._data.startswith(self._skipped, self._at):
            self._at += len(self._skipped)
            return
        start, fills = self._at, self._fills
        of = self.take(1)[0]
        for _ in range(self._count()):
            self._skip(of, depth + 1)
        if fills == self._fills and self._at - start >= _REMEMBERED_BYTES:
            self._skipped = self._data[start : self._at]


def _text(encoded: bytes) -> str:
    try:
        return encoded.decode()
    except UnicodeDecodeError as error:
        raise WireError("its answer has text that is not UTF-8") from error


def foreign_speech(first: bytes) -> str | None:
    """What a server speaks that begins with four bytes that are no message; None if unknown."""
    if first[0] in (1, 2, 3, 4, 5) and first[1] == 0:
        return (
            "it wants SASL (Kerberos: hive.metastore.sasl.enabled, or a password:"
            " metastore.client.auth.mode=plain)"
        )
    if first[:2] == b"\x15\x03":
        return "it wants TLS: hive.metastore.use.SSL"
    if first == b"HTTP":
        return "it speaks HTTP: metastore.client.thrift.transport.mode=http"
    if first[0] == 0x82:
        return "it speaks Thrift's compact protocol, and only the binary one is spoken here"
    return None
