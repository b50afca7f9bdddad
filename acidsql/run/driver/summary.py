"""What SUMMARIZE tells of the columns of rows: their least and greatest value, how many values
there are, how many differ, how many are NULL, and their average. All of it is exact; the values
that differ are held in memory.

Values are compared as Spark compares them: texts by their bytes, NaN behind all numbers and like
itself, -0.0 like 0.0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from acidsql import interrupts
from acidsql.catalog.model import Column
from acidsql.catalog.text import plain_text
from acidsql.catalog.types import (
    ArrayType,
    DecimalType,
    HiveType,
    MapType,
    PrimitiveType,
    StructType,
)
from acidsql.expressions.not_here import NotHere
from acidsql.planner.bind.local.measures import Measuring, measuring
from acidsql.planner.bind.local.query_trees import Semantics
from acidsql.run.driver.operators import Driver, reading_files
from acidsql.run.driver.rows import rows_of

if TYPE_CHECKING:
    from acidsql.storage.snapshots import Snapshots, TableSnapshot


# ---- measuring
#
# What ANALYZE asks of columns, by the driver alone: the aggregates that Spark would be asked for,
# and the different values of a column counted one by one.


Figures = Mapping[str, Any]


def measured(
    driver: Driver,
    snapshot: TableSnapshot,
    snapshots: Snapshots,
    columns: Sequence[Column],
    semantics: Semantics,
    max_bytes: int | None,
) -> list[Figures]:
    """The figures of each partition of ``snapshot``, by their names. NotHere, also for more than
    ``max_bytes`` of files.
    """
    table = snapshot.table
    asked = measuring(table, columns, semantics)
    if isinstance(asked, NotHere):
        raise NotHere(asked.reason)
    parts = [
        snapshot if part.partition is None else snapshots.take(table, [part.partition])
        for part in snapshot.partitions
    ]
    with reading_files():
        if max_bytes is not None and driver.scanner.weigh(snapshot, asked.names) > max_bytes:
            raise NotHere("so many bytes")
        return [dict(_figures(driver, part, asked)) for part in parts]


def _figures(driver: Driver, part: TableSnapshot, asked: Measuring) -> Iterator[tuple[str, Any]]:
    every = asked.every
    [row] = rows_of(every, driver.scanner.batches(part, every.names)).to_pylist()
    yield from row.items()
    for name, query in asked.counts.items():
        column = rows_of(query, driver.scanner.batches(part, query.names)).column(0)
        yield name, len(column) - column.null_count


# ---- summary


COLUMNS = (
    ("column_name", "string"),
    ("column_type", "string"),
    ("min", "string"),
    ("max", "string"),
    ("distinct_count", "bigint"),
    ("avg", "double"),
    ("count", "bigint"),
    ("nulls", "bigint"),
)
_INTEGERS = frozenset(("tinyint", "smallint", "int", "bigint"))
_FLOATS = frozenset(("float", "double"))
_MERGED_FROM = 100_000


def summary_of(
    columns: Sequence[tuple[str, HiveType]], batches: Iterable[pa.RecordBatch]
) -> pa.Table:
    """A row for each column."""
    parts = [_Column(hive_type) for _, hive_type in columns]
    for batch in batches:
        interrupts.check()
        for column, array in zip(parts, batch.columns, strict=True):
            column.add(array)
    rows = [
        (name, str(hive_type), *column.figures())
        for (name, hive_type), column in zip(columns, parts, strict=True)
    ]
    kinds = {"string": pa.string(), "bigint": pa.int64(), "double": pa.float64()}
    arrays = [
        pa.array([row[number] for row in rows], kinds[kind])
        for number, (_, kind) in enumerate(COLUMNS)
    ]
    return pa.Table.from_arrays(arrays, names=[name for name, _ in COLUMNS])


class _Column:
    """What is known of the values of a column so far."""

    def __init__(self, hive_type: HiveType) -> None:
        self._type = hive_type
        self._name = hive_type.name if isinstance(hive_type, PrimitiveType) else ""
        self._is_nested = isinstance(hive_type, ArrayType | MapType | StructType)
        self._count = self._nulls = 0
        self._least: object = None
        self._most: object = None
        self._sum = Fraction(0)
        self._odd = 0.0
        self._distinct: list[pa.Array] = []
        self._merged = 0

    def add(self, array: pa.Array) -> None:
        self._count += len(array)
        self._nulls += array.null_count
        if self._is_nested or self._name == "void" or array.null_count == len(array):
            return
        if self._name in _FLOATS:
            array = pc.add(array, pa.scalar(0, array.type))  # -0.0 becomes 0.0
        values = pc.unique(array.drop_null())
        self._distinct.append(values)
        if sum(map(len, self._distinct)) > max(_MERGED_FROM, 2 * self._merged):
            self._merge()
        self._compare(values)
        self._add_up(array)

    def _merge(self) -> None:
        self._distinct = [pc.unique(pa.chunked_array(self._distinct))]
        self._merged = len(self._distinct[0])

    def _compare(self, values: pa.Array) -> None:
        numbers = values
        if self._name in _FLOATS:
            numbers = values.filter(pc.invert(pc.is_nan(values)))
        least, most = (value.as_py() for value in pc.min_max(numbers).values())
        if len(numbers) < len(values):
            most = math.nan
            least = math.nan if least is None else least
        self._least = least if self._least is None else min(self._least, least, key=_key)
        self._most = most if self._most is None else max(self._most, most, key=_key)

    def _add_up(self, array: pa.Array) -> None:
        if self._name in _INTEGERS:
            self._sum += int(pc.sum(array.cast(pa.decimal128(38, 0))).as_py())
        elif isinstance(self._type, DecimalType):
            self._sum += Fraction(_wide_sum(array))
        elif self._name in _FLOATS:
            total = pc.sum(array.cast(pa.float64())).as_py()
            if math.isfinite(total):
                self._sum += Fraction(total)
            else:
                self._odd += total

    def figures(self) -> tuple[str | None, str | None, int | None, float | None, int, int]:
        """The figures behind name and type."""
        if self._distinct:
            self._merge()
        print_ = plain_text(self._type)
        least, most = (
            None if value is None else print_(value) for value in (self._least, self._most)
        )
        valid = self._count - self._nulls
        numeric = isinstance(self._type, DecimalType) or self._name in _INTEGERS | _FLOATS
        average = None
        if numeric and valid:
            average = self._odd if self._odd else float(self._sum / valid)
        distinct = None if self._is_nested else self._merged
        return least, most, distinct, average, self._count, self._nulls


def _wide_sum(array: pa.Array) -> Decimal:
    return pc.sum(array.cast(pa.decimal256(76, array.type.scale))).as_py()  # type: ignore[no-any-return]


def _key(value: object) -> tuple[bool, object]:
    """An order in which NaN stands behind all numbers, and texts are compared by their bytes."""
    if isinstance(value, float) and math.isnan(value):
        return True, 0.0
    return False, value.encode() if isinstance(value, str) else value
