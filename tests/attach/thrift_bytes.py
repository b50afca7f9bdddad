"""Thrift's binary protocol for the tests alone: what a server says, byte for byte, and what it was
asked. It shares nothing with the product's.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

STRING, STRUCT, MAP, SET, LIST = 11, 12, 13, 14, 15
NUMBERS = {"bool": (2, ">?"), "byte": (3, ">b"), "double": (4, ">d"), "i16": (6, ">h"), "i32": (8, ">i"), "i64": (10, ">q")}  # fmt: skip


class Said:
    """A value with its type on the wire."""

    def __init__(self, code: int, raw: bytes) -> None:
        self.code = code
        self.raw = raw


def number(kind: str, value: float) -> Said:
    code, form = NUMBERS[kind]
    return Said(code, struct.pack(form, value))


def text(value: str | bytes) -> Said:
    raw = value.encode() if isinstance(value, str) else value
    return Said(STRING, struct.pack(">i", len(raw)) + raw)


def many(items: Sequence[Said], code: int | None = None, of: int = LIST) -> Said:
    """A list or a set; ``code`` tells the type of items of an empty one."""
    first = items[0].code if items else (code or STRING)
    return Said(of, struct.pack(">bi", first, len(items)) + b"".join(one.raw for one in items))


def texts(values: Sequence[str]) -> Said:
    return many([text(one) for one in values], STRING)


def mapping(items: Mapping[str, str]) -> Said:
    pairs = b"".join(text(key).raw + text(value).raw for key, value in items.items())
    return Said(MAP, struct.pack(">bbi", STRING, STRING, len(items)) + pairs)


def record(fields: Mapping[int, Said | None]) -> Said:
    """A struct; fields that are None are not set."""
    parts = [
        struct.pack(">bh", one.code, key) + one.raw
        for key, one in fields.items()
        if one is not None
    ]
    return Said(STRUCT, b"".join(parts) + b"\x00")


def message(kind: int, name: str, sequence: int, body: Said) -> bytes:
    return struct.pack(">I", 0x80010000 | kind) + text(name).raw + struct.pack(">i", sequence) + body.raw  # fmt: skip


class Asked:
    """Reads a message. ``more`` reads exactly so many bytes."""

    def __init__(self, more: Callable[[int], bytes]) -> None:
        self.more = more

    def message(self) -> tuple[str, int, dict[int, Any]]:
        [head] = struct.unpack(">I", self.more(4))
        assert head == 0x80010001, hex(head)
        name = self.value(STRING).decode()
        return name, self.value(8), self.value(STRUCT)

    def value(self, code: int) -> Any:
        for of, form in NUMBERS.values():
            if of == code:
                return struct.unpack(form, self.more(struct.calcsize(form)))[0]
        if code == STRING:
            return self.more(self.value(8))
        if code in (LIST, SET):
            item = self.more(1)[0]
            return [self.value(item) for _ in range(self.value(8))]
        if code == MAP:
            key, value = self.more(2)
            return {self.value(key): self.value(value) for _ in range(self.value(8))}
        assert code == STRUCT, code
        fields = {}
        while (of := self.more(1)[0]) != 0:
            place = self.value(6)
            fields[place] = self.value(of)
        return fields
