"""Texts and their names in one text, as the metastore keeps the properties of a compaction:
``2:1:a2:bc1:d0:`` is {"a": "bc", "d": ""}. Hive: StringableMap.
"""

from __future__ import annotations

from collections.abc import Mapping


def text_of(entries: Mapping[str, str]) -> str | None:
    """The text; None for no entries. Lengths are in characters."""
    if not entries:
        return None
    parts = (f"{len(part)}:{part}" for entry in entries.items() for part in entry)
    return f"{len(entries)}:{''.join(parts)}"


def entries_of(text: str | None) -> dict[str, str]:
    """The entries of a text, but for Hive's nulls. ValueError for another text."""
    if not text:
        return {}
    count, rest = _number(text)
    parts: list[str | None] = []
    for _ in range(2 * count):
        length, rest = _number(rest)
        if length > len(rest):
            raise ValueError(f"{length} characters are not there")
        parts.append(None if length < 0 else rest[:length])
        rest = rest[max(length, 0) :]
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return {name: value for name, value in pairs if name is not None and value is not None}


def _number(text: str) -> tuple[int, str]:
    """The number that a text begins with, and what is behind its colon."""
    digits, colon, rest = text.partition(":")
    if not colon:
        raise ValueError("a number has no colon behind it")
    return int(digits), rest
