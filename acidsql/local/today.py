"""Partitions that a condition leaves out by today's date, of which pruning knows nothing."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.arrow_arrays import arrow_array
from acidsql.catalog.arrow_types import arrow_type
from acidsql.catalog.model import Column, Partition
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.pruning import columns_of
from acidsql.expressions.tree import PartitionCondition
from acidsql.expressions.vectors import vectorized
from acidsql.planner.bind.local.query_trees import Semantics
from acidsql.storage.scan.scanner import key_value


def meeting(
    columns: Sequence[Column],
    partitions: Sequence[Partition],
    conditions: Sequence[PartitionCondition],
    meaning: Semantics,
) -> Sequence[Partition]:
    """The partitions that meet all ``conditions`` at the moment of a statement, ``meaning.now``. A
    condition that is not understood, or not of these values, leaves none out.
    """
    for condition in conditions:
        partitions = _meeting(columns, partitions, condition, meaning)
    return partitions


def _meeting(
    columns: Sequence[Column],
    partitions: Sequence[Partition],
    condition: PartitionCondition,
    meaning: Semantics,
) -> Sequence[Partition]:
    import pyarrow as pa

    types = {column.name: column.type for column in columns}
    used = columns_of(condition.tree)
    try:
        vector = vectorized(
            condition.tree, types, ansi=meaning.ansi, zone=meaning.zone, now=meaning.now
        )
        arrays = {
            column.name: arrow_array(
                [key_value(column, partition.values[number]) for partition in partitions],
                arrow_type(column.type),
            )
            for number, column in enumerate(columns)
            if column.name in used
        }
        if not arrays or not partitions:
            return partitions
        answers = vector.run(pa.RecordBatch.from_pydict(arrays))
    except NotHere:
        return partitions
    return [p for p, answer in zip(partitions, answers.to_pylist(), strict=True) if answer]
