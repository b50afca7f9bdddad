"""LOAD DATA by INSERT: the rows of the files, for a table that wants each in its bucket or asks
rules of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from acidsql.expressions.spark_words import identifier, text_literal
from acidsql.planner.bind.bound import BoundLoad
from acidsql.storage.load import Source, found_files
from acidsql.storage.snapshots import PartitionSnapshot, TableSnapshot
from acidsql.storage.write.target import WriteTarget

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from acidsql.spark.read.reader import SnapshotReader


def loaded_rows(
    spark: SparkSession,
    reader: SnapshotReader,
    target: WriteTarget,
    action: BoundLoad,
    sources: Sequence[Source],
) -> DataFrame:
    """What is in the files, in the columns INSERT wants."""
    table = replace(target.table, partition_columns=(), bucketing=None)
    part = PartitionSnapshot(root=target.root, own_inserts=found_files(sources))
    view = reader.view(TableSnapshot(table=table, partitions=(part,)))
    keys = action.partition.static if action.partition is not None else ()
    return spark.table(view).selectExpr(
        "*", *(f"{text_literal(text)} AS {identifier(name)}" for name, text in keys)
    )
