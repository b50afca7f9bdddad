"""Values of partitions as text, and a partition's name: ``day=2024-01-01/hour=5``. Hive: FileUtils.makePartName, escapePathName."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal

from acidsql.catalog.model import DEFAULT_PARTITION

_ESCAPED = frozenset([*map(chr, range(1, 32)), "\x7f", *"\"#%'*/:=?\\{[]^"])


def partition_name(columns: Sequence[str], values: Sequence[str]) -> str:
    """The name, which is also the path below the table; an empty value stands where NULL does."""
    return "/".join(f"{_escape(c)}={_escape(v) or DEFAULT_PARTITION}" for c, v in zip(columns, values, strict=True))


def _escape(text: str) -> str:
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in text)


def partition_text(value: bool | int | str | bytes | Decimal | datetime.date | None) -> str:
    """A value of a partition column as Hive's text, which is what the catalog keeps and the directory is named after."""
    match value:
        case None:
            return DEFAULT_PARTITION
        case bool():
            return "true" if value else "false"
        case bytes():
            return value.decode(errors="replace")
        case Decimal():
            return f"{value:f}"
        case datetime.datetime():
            return str(value).rstrip("0") if value.microsecond else str(value)
        case _:
            return str(value)
