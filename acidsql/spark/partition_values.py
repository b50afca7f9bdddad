"""The partition columns of rows that are read: a plain literal where a scan has one partition, else looked up by the row's file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acidsql.catalog.model import DEFAULT_PARTITION, Column
from acidsql.planner.lowering import identifier, spark_type, text_literal
from acidsql.spark.file_constants import Located, of_file


@dataclass(frozen=True, slots=True)
class PartitionValues:
    """``places``: the values of each place of a snapshot, Hive's text; one () of a table without partitions."""

    columns: tuple[Column, ...]
    places: tuple[tuple[str, ...], ...]

    @property
    def differ(self) -> bool:
        """Whether rows of several partitions come together."""
        return len(self.places) > 1

    def sql(self, files: Sequence[Located]) -> list[str]:
        """The partition columns of rows from ``files``, which have FILE if the values differ."""
        return [self._sql(number, column, files) for number, column in enumerate(self.columns)]

    def _sql(self, number: int, column: Column, files: Sequence[Located]) -> str:
        kind = spark_type(column.type)
        if not self.differ:
            text = _value(self.places[0][number])
            shown = "NULL" if text is None else text_literal(text)
            return f"CAST({shown} AS {kind}) AS {identifier(column.name)}"
        return f"{of_file([_value(self.places[f.place][number]) for f in files], kind)} AS {identifier(column.name)}"


def _value(text: str) -> str | None:
    return None if text == DEFAULT_PARTITION else text
