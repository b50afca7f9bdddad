"""Which partition a row belongs to, and where that lies: values of partition columns as Hive's
text, and partitions by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from acidsql.arrow_arrays import arrow_array, numpy_array
from acidsql.catalog.model import DEFAULT_PARTITION, Column, Partition, Table
from acidsql.catalog.partitions import default_location, name_of, partition_text, unnameable
from acidsql.errors import DataError, ExecutionError
from acidsql.expressions.stores import typed
from acidsql.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

Values = tuple[str, ...]


def key_names(table: Table) -> list[str]:
    """The partition columns' names in our DataFrames and Arrow tables, where they hold
    Hive's text.
    """
    return [f"k{ordinal}" for ordinal in range(len(table.partition_columns))]


@dataclass(frozen=True, slots=True)
class PartitionIndex:
    """The partitions of a table by their values as one writes them: ``hr=01`` of an int is found
    under 1.
    """

    table: Table
    known: Mapping[Values, tuple[Partition, ...]]

    @classmethod
    def of(cls, table: Table, partitions: Iterable[Partition]) -> PartitionIndex:
        known: dict[Values, tuple[Partition, ...]] = {}
        for partition in partitions:
            values = canonical(table.partition_columns, partition.values)
            known[values] = (*known.get(values, ()), partition)
        return cls(table, known)

    def find(self, texts: Values) -> Partition:
        """The partition of these values; one that is not there yet gets its default location.

        ExecutionError if two have them, DataError if no directory can be called after them.
        """
        values = canonical(self.table.partition_columns, texts)
        equal = self.known.get(values, ())
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


def by_values(table: Table, rows: pa.Table) -> Iterator[tuple[Values, pa.Table]]:
    """The rows of each partition, without the partition columns (``key_names``); all rows of a
    table that has none.
    """
    keys = key_names(table)
    if keys:
        yield from by_texts(rows.select(keys), rows.drop_columns(keys))
    else:
        yield (), rows


def by_texts(keys: pa.Table, rows: pa.Table) -> Iterator[tuple[Values, pa.Table]]:
    """The rows of each combination of the texts in ``keys``, which has as many rows."""
    if not keys.num_rows:
        return
    numbers, values = numbered(keys)
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
