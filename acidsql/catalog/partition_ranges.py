"""Which names the partitions have that are asked for, so that a store need not list all of a
table's: in which ranges those lie that have certain values, or what else tells them.

A name begins with its first column: ``day=2024-01-01/hour=5``. So values of the leading columns are
ranges of names. A number or a day may be spelled in several ways (``hr=05``, ``day=2024-1-1``), and
what Spark takes for the value must be in one of the ranges; what else is there does no harm,
since partitions are chosen by their values behind it.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from acidsql.catalog.model import DEFAULT_PARTITION, Column
from acidsql.catalog.partitions import escaped
from acidsql.catalog.types import HiveType, PrimitiveType

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
