"""Rows in the tasks whose numbers they have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_MASK = 0xFFFFFFFF
_SEED = 42
"""Where Spark begins a hash."""
_C1, _C2, _F1, _F2 = 0xCC9E2D51, 0x1B873593, 0x85EBCA6B, 0xC2B2AE35
"""Factors of Murmur3."""
_TASK = "acidsql_task_of_row"
_ASTRAY = "acidsql: Spark has put a row into another task than that of its number"


def in_numbered_tasks(frame: DataFrame, tasks: int, number: Column) -> DataFrame:
    """The rows in so many tasks, each in that of its ``number`` (int, not negative), or what is
    left of it when it is divided by ``tasks``. On Spark Connect too.

    Spark 4.1 has a way for it. Before, Spark goes by the hash of what it is told: it is told the
    int whose hash the number is. Each row looks whether it has come there.
    """
    if hasattr(frame, "repartitionById"):
        return cast("DataFrame", cast(Any, frame).repartitionById(tasks, number))
    return hashed_to_tasks(frame, tasks, number)


def hashed_to_tasks(frame: DataFrame, tasks: int, number: Column) -> DataFrame:
    """``in_numbered_tasks`` by Spark's hash, on Spark Connect too."""
    from pyspark.sql import functions as F

    task = F.coalesce(F.pmod(number, F.lit(tasks)), F.lit(0)).cast("int")
    keys = F.expr(f"array({', '.join(str(hashed_as(each)) for each in range(tasks))})")
    placed = frame.withColumn(_TASK, task).repartition(tasks, F.get(keys, F.col(_TASK)))
    astray = f"IF({_TASK} = spark_partition_id(), true, CAST(raise_error('{_ASTRAY}') AS boolean))"
    return placed.where(astray).drop(_TASK)


def hashed_as(number: int) -> int:
    """The int whose hash, by Spark's ``hash``, is ``number`` (32 bits, not negative): Murmur3 from
    its end to its beginning.
    """
    state = number ^ number >> 16
    state = _divided(state, _F2)
    state = _divided(state ^ state >> 13 ^ state >> 26, _F1)
    state = _divided((state ^ state >> 16 ^ 4) - 0xE6546B64, 5)
    block = _divided(_rotated(state, 32 - 13) ^ _SEED, _C2)
    value = _divided(_rotated(block, 32 - 15), _C1)
    return value - (1 << 32) if value >> 31 else value


def _divided(product: int, factor: int) -> int:
    """What gives ``product`` in 32 bits when it is multiplied by an odd factor."""
    return product * pow(factor, -1, 1 << 32) & _MASK


def _rotated(bits: int, count: int) -> int:
    return (bits << count | bits >> (32 - count)) & _MASK
