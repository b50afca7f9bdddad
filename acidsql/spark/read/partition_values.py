"""The partition columns of rows that are read: a plain literal where a scan has one partition, else
looked up by the row's file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from acidsql.catalog.model import DEFAULT_PARTITION, Column, Partition
from acidsql.expressions.spark_words import identifier, spark_type, text_literal
from acidsql.spark import jvm
from acidsql.spark.read.file_constants import Located, of_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class PartitionValues:
    """The partition values of a snapshot's files. ``values``: Hive's text for each partition; one
    () of a table without partitions.
    """

    columns: tuple[Column, ...]
    values: tuple[tuple[str, ...], ...]

    @property
    def differ(self) -> bool:
        """Whether rows of several partitions come together."""
        return len(self.values) > 1

    def sql(self, files: Sequence[Located]) -> list[str]:
        """The partition columns of rows from ``files``, which have FILE if the values differ."""
        return [self._sql(number, column, files) for number, column in enumerate(self.columns)]

    def _sql(self, number: int, column: Column, files: Sequence[Located]) -> str:
        kind = spark_type(column.type)
        if not self.differ:
            text = _value(self.values[0][number])
            shown = "NULL" if text is None else text_literal(text)
            return f"CAST({shown} AS {kind}) AS {identifier(column.name)}"
        return (
            f"{of_file([_value(self.values[f.partition_number][number]) for f in files], kind)} AS"
            f" {identifier(column.name)}"
        )


def _value(text: str) -> str | None:
    return None if text == DEFAULT_PARTITION else text


def key_sql(expression: str) -> str:
    """The text of a partition column's value: never NULL, never empty."""
    return f"coalesce(nullif(CAST({expression} AS string), ''), {text_literal(DEFAULT_PARTITION)})"


def meeting(
    spark: SparkSession,
    columns: Sequence[Column],
    partitions: Sequence[Partition],
    conditions: Sequence[str],
) -> tuple[Partition, ...]:
    """The partitions whose values meet all ``conditions`` (Spark SQL over the columns' names).
    Spark judges without a job.
    """
    import pyarrow as pa

    texts = [
        [None if text == DEFAULT_PARTITION else text for text in of_column]
        for of_column in zip(*(p.values for p in partitions), strict=True)
    ]
    given = pa.table(
        {
            **{f"k{i}": pa.array(t, pa.string()) for i, t in enumerate(texts)},
            "ordinal": pa.array(range(len(partitions))),
        }
    )
    casts = [
        f"CAST(k{i} AS {spark_type(c.type)}) AS {identifier(c.name)}" for i, c in enumerate(columns)
    ]
    frame = jvm.frame_of(spark, given).selectExpr(*casts, "ordinal AS acidsql_ordinal")
    for condition in conditions:
        frame = frame.where(condition)
    return tuple(partitions[row[0]] for row in frame.select("acidsql_ordinal").collect())
