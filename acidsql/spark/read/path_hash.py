"""Spark's ``xxhash64`` of a text, and a file's path as Spark's ``_metadata.file_path`` shows it:
constants of a scan are found by them.
"""

from __future__ import annotations

import re

import xxhash

from acidsql.files.urls import path_of, spark_url, split_url

SEED = 42
"""Spark's."""

_PLAIN = re.compile(r"[a-zA-Z0-9\-_.!~*'():@&=+$,;/]*")


def path_hash(path: str) -> int:
    """``xxhash64(_metadata.file_path)`` of the file at an absolute path or URL."""
    number = xxhash.xxh64_intdigest(metadata_path(path).encode(), SEED)
    return number - (1 << 64) if number >> 63 else number  # as a bigint


def metadata_path(path: str) -> str:
    """Hadoop's ``Path.toUri().toString()``. Java: java.net.URI."""
    if path.startswith("/"):
        return f"file:{_escaped(path)}"
    url = split_url(spark_url(path))
    return f"file:{_escaped(path_of(path))}" if url is None else f"{url.root}{_escaped(url.path)}"


def _escaped(path: str) -> str:
    if _PLAIN.fullmatch(path):
        return path
    return "".join(c if _PLAIN.fullmatch(c) or _is_other(c) else _quoted(c) for c in path)


def _is_other(char: str) -> bool:
    """Java's "other" characters, which a URI may hold as they are: beyond ASCII, neither control
    characters nor blanks.
    """
    return ord(char) >= 0xA0 and not char.isspace() and char not in "\u00a0\u2007\u202f"


def _quoted(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode())
