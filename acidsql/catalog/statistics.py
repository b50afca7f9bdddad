"""Statistics of a table or partition: what Hive keeps among their parameters, how a change of rows
changes them, and those of columns.

``COLUMN_STATS_ACCURATE`` says which of them hold. What is not known for certain loses its mark and
keeps its number, as in Hive. Hive: StatsSetupConst, BasicStatsTask.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from typing import NamedTuple

from acidsql.catalog.model import Column, Partition, Table
from acidsql.catalog.partitions import name_of
from acidsql.lazy import dataclass

ACCURATE = "COLUMN_STATS_ACCURATE"
ROWS, FILES, BYTES, RAW_BYTES = "numRows", "numFiles", "totalSize", "rawDataSize"
KEYS = frozenset({ACCURATE, ROWS, FILES, BYTES, RAW_BYTES, "numFilesErasureCoded"})
"""Parameters that are statistics and no properties of anybody's."""

PARTITIONS = "numPartitions"
_BASIC, _COLUMNS, _TRUE = "BASIC_STATS", "COLUMN_STATS", "true"
_SUMS = (FILES, ROWS, BYTES, RAW_BYTES)

Parameters = Mapping[str, str]


class Filled(NamedTuple):
    """The files of a directory, and their bytes."""

    files: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenDirectory:
    """An ACID directory, by its name in a table without partitions or in the ``partition`` of this
    name, that a transaction or compaction has made and no cleaner has taken away.
    """

    partition: str | None
    directory: str
    filled: Filled


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsChange:
    """The change by a statement: what it has added to a table without partitions, or to one
    partition; less than nothing for what it took away.

    ``rows``: None if nobody counted them.  ``replaces``: the numbers are those of all there is.
    ``raw_bytes``: None where it is not known.  ``directories``: the ACID directories that are new
    there, by their names.
    """

    table: Table
    partition: Partition | None = None
    rows: int | None
    files: int
    bytes: int
    raw_bytes: int | None = None
    replaces: bool = False
    directories: Mapping[str, Filled] = field(default_factory=dict)

    @property
    def partition_name(self) -> str | None:
        return None if self.partition is None else name_of(self.table, self.partition)


def nothing_yet(columns: Sequence[Column]) -> dict[str, str]:
    """The statistics of an empty table or partition: all is known of it."""
    return {
        ACCURATE: _state([c.name for c in columns]),
        FILES: "0",
        ROWS: "0",
        RAW_BYTES: "0",
        BYTES: "0",
    }


def changed(before: Parameters, change: StatisticsChange) -> dict[str, str]:
    """The statistics after the change. Where there were none, only a change that replaces
    everything makes some.
    """
    if change.replaces:
        known = {
            FILES: change.files,
            ROWS: change.rows,
            BYTES: change.bytes,
            RAW_BYTES: change.raw_bytes,
        }
        state = {} if change.rows is None else {ACCURATE: _state()}
        return state | {key: str(number) for key, number in known.items() if number is not None}
    counted = change.rows is not None and is_accurate(before)
    after = {
        FILES: _sum(before.get(FILES), change.files),
        BYTES: _sum(before.get(BYTES), change.bytes),
        ROWS: _sum(before.get(ROWS), change.rows) if counted else before.get(ROWS),
        RAW_BYTES: _sum(before.get(RAW_BYTES), change.raw_bytes),
    }
    holds = counted and None not in (after[FILES], after[BYTES], after[ROWS])
    return ({ACCURATE: _state()} if holds else {}) | {
        key: text for key, text in after.items() if text is not None
    }


def analyzed(before: Parameters, measured: Analyzed) -> dict[str, str]:
    """The statistics after ANALYZE. Where it has counted no rows their number stays, and is marked
    as it was.
    """
    raw_bytes = {key: before[key] for key in (RAW_BYTES,) if key in before}
    after = {FILES: str(measured.files), BYTES: str(measured.bytes)} | raw_bytes
    if measured.rows is None:
        return after | {key: before[key] for key in (ROWS, ACCURATE) if key in before}
    columns = {*accurate_columns(before), *(one.column.name for one in measured.columns)}
    return after | {ROWS: str(measured.rows), ACCURATE: _state(columns)}


def doubted(before: Parameters) -> dict[str, str]:
    """The statistics with the same numbers, for none of which anybody answers any more."""
    return {key: text for key, text in before.items() if key != ACCURATE}


def is_accurate(parameters: Parameters) -> bool:
    """Whether numRows, numFiles and totalSize hold. Hive: StatsSetupConst.areBasicStatsUptoDate."""
    return _read_state(parameters).get(_BASIC) == _TRUE


def shows_less(statistics: Parameters, seen: Filled) -> bool:
    """Whether a reader sees less of a table or partition than its statistics say; False where they
    say nothing.
    """
    files, size = (whole_number(statistics.get(key)) for key in (FILES, BYTES))
    return (files is not None and seen.files < files) or (size is not None and seen.bytes < size)


def accurate_columns(parameters: Parameters) -> list[str]:
    """The columns whose statistics hold, sorted."""
    columns = _read_state(parameters).get(_COLUMNS)
    return (
        sorted(name for name, state in columns.items() if state == _TRUE)
        if isinstance(columns, dict)
        else []
    )


def only_columns(parameters: Parameters, names: Collection[str]) -> dict[str, str]:
    """The statistics with no other columns than these marked as accurate."""
    state = _state(
        (name for name in accurate_columns(parameters) if name in names),
        basic=is_accurate(parameters),
    )
    return doubted(parameters) | ({} if state == "{}" else {ACCURATE: state})


def of_partitions(partitions: Sequence[Partition]) -> dict[str, str]:
    """The statistics that DESCRIBE shows of a partitioned table: the sums over its partitions,
    which hold if all do. Hive: DescTableOperation.
    """
    sums = {
        key: str(sum(whole_number(p.statistics.get(key)) or 0 for p in partitions)) for key in _SUMS
    }
    holds = all(is_accurate(p.statistics) for p in partitions)
    return sums | {PARTITIONS: str(len(partitions))} | ({ACCURATE: _state()} if holds else {})


def _state(columns: Iterable[str] = (), *, basic: bool = True) -> str:
    names = dict.fromkeys(sorted(columns), _TRUE)
    state: dict[str, object] = ({_BASIC: _TRUE} if basic else {}) | (
        {_COLUMNS: names} if names else {}
    )
    return json.dumps(state, separators=(",", ":"), ensure_ascii=False)


def _read_state(parameters: Parameters) -> dict[str, object]:
    try:
        state = json.loads(parameters.get(ACCURATE, "{}"))
    except ValueError:
        return {}
    return state if isinstance(state, dict) else {}


def whole_number(text: str | None) -> int | None:
    """The number that a text of ASCII digits is; None for any other."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else None


def _sum(before: str | None, more: int | None) -> str | None:
    """The sum as text; None where either is not known, or the sum cannot be right."""
    known = whole_number(before)
    return None if known is None or more is None or known + more < 0 else str(known + more)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStatistics:
    """The statistics of one column of a table or partition. ``low``, ``high``: its least and
    greatest value; days since 1970 for a DATE, seconds for a TIMESTAMP.

    Lengths are characters, or bytes of a BINARY; the average counts NULL as 0. None: Hive keeps no
    such number for the type, or all is NULL.
    """

    column: Column
    nulls: int
    distinct: int | None = None
    low: int | float | Decimal | None = None
    high: int | float | Decimal | None = None
    average_length: float | None = None
    longest: int | None = None
    trues: int | None = None
    falses: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Analyzed:
    """The numbers that ANALYZE has measured of a table without partitions, or of one partition.
    ``rows`` None: they were not counted.
    """

    partition: Partition | None = None
    rows: int | None
    files: int
    bytes: int
    columns: tuple[ColumnStatistics, ...] = field(default=())


def merged(parts: Sequence[ColumnStatistics]) -> ColumnStatistics:
    """A column's statistics in several partitions together, at least one. Distinct values are at
    least those of one partition. Hive: aggrColStats.
    """
    first = parts[0]
    return ColumnStatistics(
        column=first.column,
        nulls=sum(part.nulls for part in parts),
        distinct=_greatest(part.distinct for part in parts),
        low=min((part.low for part in parts if part.low is not None), default=None),
        high=max((part.high for part in parts if part.high is not None), default=None),
        average_length=max(
            (part.average_length for part in parts if part.average_length is not None), default=None
        ),
        longest=_greatest(part.longest for part in parts),
        trues=_total(part.trues for part in parts),
        falses=_total(part.falses for part in parts),
    )


def _greatest(numbers: Iterable[int | None]) -> int | None:
    return max((number for number in numbers if number is not None), default=None)


def _total(numbers: Iterable[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
