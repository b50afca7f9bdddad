"""Values of partitions as text, and a partition's name: ``day=2024-01-01/hour=5``; which names are
asked for.

Hive: FileUtils.makePartName, escapePathName, unescapePathName.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from operator import getitem
from typing import Any, Protocol

from acidsql.catalog.model import DEFAULT_PARTITION, Column, Partition, Table
from acidsql.catalog.text import java_double
from acidsql.catalog.types import HiveType, PrimitiveType

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


def lies_elsewhere(table: Table, partition: Partition) -> bool:
    """Whether the partition lies elsewhere than its name says, by LOCATION."""
    return partition.location != default_location(table, partition.values)


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


# ---- ranges of names
#
# Which names the partitions have that are asked for, so that a store need not list all of a
# table's: in which ranges those lie that have certain values, or what else tells them.
#
# A name begins with its first column: ``day=2024-01-01/hour=5``. So values of the leading columns
# are ranges of names. A number or a day may be spelled in several ways (``hr=05``,
# ``day=2024-1-1``), and what Spark takes for the value must be in one of the ranges; what else is
# there does no harm, since partitions are chosen by their values behind it.


NameRanges = tuple[tuple[str, str], ...]
"""The first name of each range and the one behind its last, by the order of code points."""


class NameTest(Protocol):
    """Tells the names of partitions that are asked for from others. It is equal to one that tells
    the same. ``ranges``: all of those names lie in them; None: anywhere.
    """

    @property
    def ranges(self) -> NameRanges | None: ...

    def chosen(self, names: Sequence[str]) -> list[str]:
        """The names that are asked for, in their order."""


Among = NameRanges | NameTest
"""Which partitions are asked for, by their names."""

MOST_VALUES = 32
"""More are no few ranges any more."""
_WHOLE = frozenset(("tinyint", "smallint", "int", "bigint"))
_LAX_STARTS = ("%", " ", "+", ".", "0", "-0")
"""How a number or a day may begin that Hive would write in another way."""
_SLASH, _BEHIND_SLASH = "/", "0"
"""Behind a value stands nothing, or a slash and the next column."""
_BEHIND_NAME = " "
"""No name has a character below the blank: those are escaped."""


def can_be_ranges(hive_type: HiveType) -> bool:
    """Whether it is known how values of a type are spelled."""
    return isinstance(hive_type, PrimitiveType) and (
        hive_type.name in ("string", "date") or hive_type.name in _WHOLE
    )


def ranges_of(names: Iterable[str]) -> NameRanges:
    """The ranges of these names alone."""
    return tuple((name, name + _BEHIND_NAME) for name in names)


def name_ranges(
    columns: Sequence[Column], wanted: Mapping[str, Collection[Any]]
) -> NameRanges | None:
    """The ranges of the names of all partitions that have one of the values ``wanted`` of each
    column in it: text, whole numbers, days. None where the first column has none there, or too many
    values, or is of a type of which this is not known.
    """
    prefixes, ranges = [""], list[tuple[str, str]]()
    for ordinal, column in enumerate(columns):
        values = wanted.get(column.name)
        if values is None or not can_be_ranges(column.type):
            break
        if len(prefixes) * len(values) > MOST_VALUES:
            if ordinal == 0:
                return None
            break
        following = []
        for start in (f"{prefix}{escaped(column.name)}=" for prefix in prefixes):
            for value in values:
                own = start + escaped(value if isinstance(value, str) else str(value))
                ranges += _spelled(start, own, value)
                following.append(own + _SLASH)
        prefixes = following
    else:
        return tuple(ranges)
    if prefixes == [""]:
        return None
    deeper = ((prefix, prefix[:-1] + _BEHIND_SLASH) for prefix in prefixes)
    return tuple(dict.fromkeys((*ranges, *deeper)))


def text_ranges(column: Column, low: str | None, high: str | None) -> NameRanges | None:
    """The ranges of the names of all partitions whose first column, a text, is neither less than
    ``low`` nor greater than ``high``, or is empty; None where these cannot be few.

    Names are in the order of values but where a character is escaped, which the others are not to
    be, or a slash stands behind a value.
    """
    start = f"{escaped(column.name)}="
    least, most = low or "", high or ""
    if any(escaped(bound) != bound or any(c <= "%" for c in bound) for bound in (least, most)):
        return None
    empty = start + DEFAULT_PARTITION
    end = start[:-1] + _behind(start[-1]) if high is None else start + most + _BEHIND_SLASH
    ranges = [(start + least, end), *ranges_of([empty]), (empty + _SLASH, empty + _BEHIND_SLASH)]
    for position in range(len(least)):  # greater, and escaped there
        prefix = start + least[:position]
        ranges.append((prefix + "%", prefix + _behind("%")))
    for position, char in enumerate(most):
        if char < _SLASH:  # less, as it ends there
            prefix = start + most[:position]
            ranges.append((prefix + _SLASH, prefix + _BEHIND_SLASH))
    return tuple(ranges) if len(ranges) <= MOST_VALUES else None


def _behind(char: str) -> str:
    return chr(ord(char) + 1)


def _spelled(start: str, own: str, value: Any) -> Iterator[tuple[str, str]]:
    """The ranges of a value behind ``start``, but for the columns behind ``own``, as Hive spells
    it.
    """
    if isinstance(value, str):
        yield from ranges_of([own])
        return
    yield own, own + _SLASH  # blanks, fractions
    if isinstance(value, datetime.date):
        for text in (start + spelled for spelled in _spelled_days(value)):
            if text != own:
                yield text, text + "-"
                yield text + _SLASH, text + _BEHIND_SLASH
            yield f"{text}T", f"{text}U"
    for text in _LAX_STARTS:
        yield start + text, start + text[:-1] + _behind(text[-1])


def _spelled_days(day: datetime.date) -> Iterator[str]:
    """How a day may be spelled; the first one of a month or a year by that alone."""
    year = f"{day.year:04d}"
    for month in dict.fromkeys((f"{year}-{day.month:02d}", f"{year}-{day.month}")):
        yield from dict.fromkeys((f"{month}-{day.day:02d}", f"{month}-{day.day}"))
        if day.day == 1:
            yield month
    if (day.month, day.day) == (1, 1):
        yield year


def chosen(among: Among, names: Sequence[str]) -> list[str]:
    """The names that are asked for, in their order."""
    if not isinstance(among, tuple):
        return among.chosen(names)
    return [name for name in names if any(low <= name < high for low, high in among)]
