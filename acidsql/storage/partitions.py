"""Which partition a row belongs to, and where that lies: values of partition columns as Hive's
text, and partitions by them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from acidsql.arrow_arrays import arrow_array, numpy_array
from acidsql.catalog.model import DEFAULT_PARTITION, Column, Partition, Table
from acidsql.catalog.partitions import default_location, name_of, partition_text, unnameable
from acidsql.errors import DataError, ExecutionError
from acidsql.expressions.stores import typed

if TYPE_CHECKING:
    import pyarrow as pa

    from acidsql.catalog.partitions import NameRanges

Values = tuple[str, ...]


def key_names(table: Table) -> list[str]:
    """The partition columns' names in our DataFrames and Arrow tables, where they hold
    Hive's text.
    """
    return [f"k{ordinal}" for ordinal in range(len(table.partition_columns))]


Listing = Callable[["NameRanges | None"], Iterable[Partition]]
"""Lists the partitions of a table, or those in some ranges of names."""
_FEW = 8
"""For so many values the store is asked one by one, before all partitions are listed."""
_MANY = 200
"""For so many values it is asked at once."""


class PartitionIndex:
    """The partitions of a table by their values as one writes them: ``hr=01`` of an int is found
    under 1. They are listed when they are asked for.
    """

    def __init__(self, table: Table, listing: Listing) -> None:
        self.table = table
        self._listing = listing
        self._by_values: dict[Values, tuple[Partition, ...]] = {}
        self._is_whole = False
        self._looks = 0

    @classmethod
    def of(cls, table: Table, partitions: Iterable[Partition]) -> PartitionIndex:
        """The index of partitions that are listed already."""
        index = cls(table, lambda _: partitions)
        index._list_all()
        return index

    def _equal(self, values: Values) -> tuple[Partition, ...]:
        """The partitions of these values, as Hive writes them."""
        if values not in self._by_values and not self._is_whole:
            self._looks += 1
            self._look_for({values}, at_once=self._looks <= _FEW)
        return self._by_values.get(values, ())

    def look_up(self, many: Iterable[Values]) -> None:
        """Asks for the partitions of all these texts at once, which ``find`` is to be asked for."""
        if not self._is_whole:
            wanted = {canonical(self.table.partition_columns, texts) for texts in many}
            wanted -= self._by_values.keys()
            self._look_for(wanted, at_once=len(wanted) <= _MANY)

    def _look_for(self, wanted: Collection[Values], *, at_once: bool) -> None:
        """Lists the partitions of these values; all, if they are not to be asked for ``at_once`` or
        may have any name.
        """
        if not wanted:
            return
        columns = self.table.partition_columns
        among = [ranges_with(columns, values) for values in wanted] if at_once else []
        known = [ranges for ranges in among if ranges is not None]
        if len(known) < len(wanted):
            self._list_all()
        else:
            listed = self._listed(tuple(sorted(set(chain(*known)))))
            self._by_values |= {values: listed.get(values, ()) for values in wanted}

    def _list_all(self) -> None:
        self._by_values, self._is_whole = self._listed(None), True

    def _listed(self, among: NameRanges | None) -> dict[Values, tuple[Partition, ...]]:
        listed: dict[Values, tuple[Partition, ...]] = {}
        for partition in self._listing(among):
            values = canonical(self.table.partition_columns, partition.values)
            listed[values] = (*listed.get(values, ()), partition)
        return listed

    def find(self, texts: Values) -> Partition:
        """The partition of these values; one that is not there yet gets its default location.

        ExecutionError if two have them, DataError if no directory can be called after them.
        """
        values = canonical(self.table.partition_columns, texts)
        equal = self._equal(values)
        if len(equal) > 1:
            names = " and ".join(f'"{name_of(self.table, partition)}"' for partition in equal)
            raise ExecutionError(
                f"the values of partitions {names} of {self.table.name} are equal",
                hint="Drop or rename one of them.",
            )
        if equal:
            return equal[0]
        for ordinal, value in enumerate(values):
            check_nameable(self.table, ordinal, value)
        return Partition(values=values, location=default_location(self.table, values))


def ranges_with(columns: Sequence[Column], texts: Values) -> NameRanges | None:
    """The ranges of names of all partitions with these values, texts that Hive has written; None if
    they may be anywhere.
    """
    from acidsql.catalog.partitions import name_ranges

    wanted: dict[str, list[Any]] = {}
    for column, text in zip(columns, texts, strict=True):
        value = typed(text, column.type)
        wanted[column.name] = [text if value is None or isinstance(value, str) else value]
    return name_ranges(columns, wanted)


def check_nameable(table: Table, ordinal: int, value: str) -> None:
    """Raises DataError if no directory can be called after a value of the partition column at
    ``ordinal``.
    """
    name = table.partition_columns[ordinal].name
    if (problem := unnameable(name, value)) is not None:
        raise DataError(f'a value of partition column "{name}" of {table.name} {problem}')


def canonical(columns: Sequence[Column], texts: Values) -> Values:
    """Each text as Hive writes the value it means; a text that means none stays."""
    return tuple(_canonical(column, text) for column, text in zip(columns, texts, strict=True))


def _canonical(column: Column, text: str) -> str:
    value = typed(text, column.type)
    return text if value is None else partition_text(value) or DEFAULT_PARTITION


def by_values(
    table: Table, rows: pa.Table, expect: Callable[[list[Values]], object] | None = None
) -> Iterator[tuple[Values, pa.Table]]:
    """The rows of each partition, without the partition columns (``key_names``); all rows of a
    table that has none. ``expect``: is told all values of these before the first rows come.
    """
    keys = key_names(table)
    if keys:
        yield from by_texts(rows.select(keys), rows.drop_columns(keys), expect)
    else:
        yield (), rows


def by_texts(
    keys: pa.Table, rows: pa.Table, expect: Callable[[list[Values]], object] | None = None
) -> Iterator[tuple[Values, pa.Table]]:
    """The rows of each combination of the texts in ``keys``, which has as many rows; ``expect`` as
    above.
    """
    if not keys.num_rows:
        return
    numbers, values = numbered(keys)
    if expect is not None:
        expect(values)
    if len(values) == 1:
        yield values[0], rows
        return
    order = np.argsort(numbers, kind="stable")
    ends = np.searchsorted(numbers[order], np.arange(len(values) + 1))
    for number, key in enumerate(values):
        yield key, _take(rows, order[ends[number] : ends[number + 1]])


def numbered(keys: pa.Table) -> tuple[npt.NDArray[np.int64], list[Values]]:
    """The number of each row's combination of values, and the combinations; in no particular order.
    There must be rows.
    """
    codes = np.zeros(keys.num_rows, np.int64)
    dictionaries = []
    for column in keys.columns:
        encoded = column.combine_chunks().dictionary_encode()
        dictionaries.append(encoded.dictionary.to_pylist())
        codes = codes * len(encoded.dictionary) + numpy_array(encoded.indices)
    distinct, numbers = np.unique(codes, return_inverse=True)
    return numbers, [_combination(int(code), dictionaries) for code in distinct]


def _combination(code: int, dictionaries: Sequence[list[str]]) -> Values:
    values = []
    for dictionary in reversed(dictionaries):
        code, index = divmod(code, len(dictionary))
        values.append(dictionary[index])
    return tuple(reversed(values))


def _take(rows: pa.Table, positions: npt.NDArray[np.int64]) -> pa.Table:
    return rows.take(arrow_array(positions))
