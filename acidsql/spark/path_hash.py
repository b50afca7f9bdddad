"""Spark's ``xxhash64`` of a text, and a file's path as Spark's ``_metadata.file_path`` shows it: constants of a scan are found by them."""

from __future__ import annotations

import functools

from acidsql.spark.urls import path_of, spark_url, split_url

SEED = 42
"""Spark's."""

_MASK = (1 << 64) - 1
_P1, _P2, _P3, _P4, _P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_PLAIN_IN_PATH = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.!~*'():@&=+$,;/")


@functools.lru_cache(maxsize=200_000)
def path_hash(path: str) -> int:
    """``xxhash64(_metadata.file_path)`` of the file at an absolute path or URL."""
    return xxhash64(metadata_path(path))


def metadata_path(path: str) -> str:
    """Hadoop's ``Path.toUri().toString()``. Java: java.net.URI."""
    if path.startswith("/"):
        return f"file:{_escaped(path)}"
    url = split_url(spark_url(path))
    return f"file:{_escaped(path_of(path))}" if url is None else f"{url.root}{_escaped(url.path)}"


def _escaped(path: str) -> str:
    return "".join(c if c in _PLAIN_IN_PATH or _is_other(c) else _quoted(c) for c in path)


def xxhash64(text: str) -> int:
    """As a bigint."""
    data = text.encode()
    length, at = len(data), 0
    if length >= 32:
        lanes = [(SEED + _P1 + _P2) & _MASK, (SEED + _P2) & _MASK, SEED, (SEED - _P1) & _MASK]
        while at <= length - 32:
            for lane in range(4):
                lanes[lane] = _round(lanes[lane], int.from_bytes(data[at : at + 8], "little"))
                at += 8
        total = sum(_rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            total = ((total ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        total = (SEED + _P5) & _MASK
    total = (total + length) & _MASK
    while at + 8 <= length:
        total = (_rotated(total ^ _round(0, int.from_bytes(data[at : at + 8], "little")), 27) * _P1 + _P4) & _MASK
        at += 8
    if at + 4 <= length:
        total = (_rotated(total ^ (int.from_bytes(data[at : at + 4], "little") * _P1 & _MASK), 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in data[at:]:
        total = (_rotated(total ^ (byte * _P5 & _MASK), 11) * _P1) & _MASK
    total = (total ^ total >> 33) * _P2 & _MASK
    total = (total ^ total >> 29) * _P3 & _MASK
    total ^= total >> 32
    return total - (1 << 64) if total >> 63 else total


def _round(lane: int, word: int) -> int:
    return _rotated((lane + word * _P2) & _MASK, 31) * _P1 & _MASK


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> (64 - by)) & _MASK


def _is_other(char: str) -> bool:
    """Java's "other" characters, which a URI may hold as they are: beyond ASCII, neither control characters nor blanks."""
    return ord(char) >= 0xA0 and not char.isspace() and char not in "\u00a0\u2007\u202f"


def _quoted(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode())
