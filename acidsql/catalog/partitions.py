"""Values of partitions as text, and a partition's name: ``day=2024-01-01/hour=5``.

Hive: FileUtils.makePartName, escapePathName, unescapePathName.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from operator import getitem

from acidsql.catalog.model import DEFAULT_PARTITION, Partition, Table
from acidsql.catalog.text import java_double

_ESCAPED = frozenset([*map(chr, range(1, 32)), "\x7f", *"\"#%'*/:=?\\{[]^"])


MAX_NAME_BYTES = 255
"""File systems have room for no longer name of a directory, Hive's metastore for 256 characters of
a value.
"""


def unnameable(column: str, value: str) -> str | None:
    """The reason why no directory can be called after a partition's value, as the end of a
    sentence; None if one can.
    """
    if "\0" in value:
        return "holds the character NUL"
    try:
        size = len(partition_name([column], [value]).encode())
    except UnicodeEncodeError:
        return "is no Unicode text"
    return (
        f"makes a name of {size} bytes, of which {MAX_NAME_BYTES} are allowed"
        if size > MAX_NAME_BYTES
        else None
    )


def partition_name(columns: Sequence[str], values: Sequence[str]) -> str:
    """The name, which is also the path below the table; an empty value stands where NULL does."""
    return "/".join(
        f"{escaped(c)}={escaped(v) or DEFAULT_PARTITION}"
        for c, v in zip(columns, values, strict=True)
    )


def name_of(table: Table, partition: Partition) -> str:
    return partition_name([c.name for c in table.partition_columns], partition.values)


def default_location(table: Table, values: Sequence[str]) -> str:
    """The location of the partition of these values, unless LOCATION says another."""
    name = partition_name([c.name for c in table.partition_columns], values)
    return f"{table.location.rstrip('/')}/{name}"


def own_directories(table: Table, partitions: Iterable[Partition]) -> list[str]:
    """The directories that go with a table: none of an external one, unless it says otherwise."""
    if not table.owns_files:
        return []
    outside = [p.location for p in partitions if not p.location.startswith(f"{table.location}/")]
    return [*outside, table.location]


def partition_values(columns: Sequence[str], path: str) -> tuple[str, ...] | None:
    """The values in a partition's name or path, ``columns`` being those it must name, in any case;
    None for what is no such path.
    """
    parts = [part.split("=") for part in path.split("/")]
    if any(len(part) != 2 or not part[1] for part in parts) or [
        unescape(key).lower() for key, *_ in parts
    ] != list(columns):
        return None
    return tuple(unescape(value) for _, value in parts)


def named_values(columns: Sequence[str], names: Iterable[str]) -> Iterator[tuple[str, ...] | None]:
    """``partition_values`` of many names."""
    starts = [f"{column}=" for column in columns]
    values = [slice(len(start), None) for start in starts]
    for name in names:
        parts = name.split("/")
        if (
            "%" not in name
            and len(parts) == len(starts)
            and all(map(str.startswith, parts, starts))
        ):
            yield tuple(map(getitem, parts, values))
        else:
            yield partition_values(columns, name)


def escaped(text: str) -> str:
    """The text as it stands in a name; ``unescape`` is the way back."""
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in text)


def unescape(text: str) -> str:
    """The text that was escaped: ``%`` and two hexadecimal digits stand for a character; any other
    ``%`` for itself.
    """
    return re.sub("%([0-9A-Fa-f]{2})", lambda match: chr(int(match[1], 16)), text)


def partition_text(value: bool | int | float | str | bytes | Decimal | datetime.date | None) -> str:
    """A value of a partition column as Hive's text, which is what the catalog keeps and the
    directory is named after.
    """
    match value:
        case None:
            return DEFAULT_PARTITION
        case bool():
            return "true" if value else "false"
        case bytes():
            return value.decode(errors="replace")
        case float():
            return java_double(value)
        case Decimal():
            text = f"{value:f}"
            return text.rstrip("0").rstrip(".") if "." in text else text
        case datetime.datetime():
            return str(value).rstrip("0") if value.microsecond else str(value)
        case _:
            return str(value)


_MOST_NAMED = 5


def names_words(names: Sequence[str]) -> str:
    """Partitions, of which a few are named: ``partition ds=a``, ``3 partitions (ds=a, ds=b,
    ds=c)``.
    """
    if len(names) == 1:
        return f"partition {names[0]}"
    more = ", .." if len(names) > _MOST_NAMED else ""
    return f"{len(names)} partitions ({', '.join(names[:_MOST_NAMED])}{more})"
