"""Aggregates over the rows of a job, computed on their way."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from acidsql.spark.jvm.java import jvm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PATIENCE_SECONDS = 60.0
_BEAT_SECONDS = 0.002
_LONGEST_BEAT_SECONDS = 0.1


def observed(
    frame: DataFrame, aggregates: Sequence[str]
) -> tuple[DataFrame, Callable[[], list[int] | None]]:
    """The frame, and what gives the aggregates (SQL, each a number) of the rows that its first
    action has taken, once that is done. None where Spark has lost them.

    The numbers are sent beside the rows by each task that succeeds; Spark takes those of a job's
    last stage once for each task. It tells of them in an event, which a Spark that is very busy may
    drop. On Spark Connect they come with the answer.
    """
    from pyspark.sql import Observation, functions

    observation = Observation()
    names = [f"acidsql_{number}" for number in range(len(aggregates))]
    metrics = [functions.expr(sql).alias(name) for sql, name in zip(aggregates, names, strict=True)]
    rows = frame.observe(observation, *metrics)

    def numbers() -> list[int] | None:
        if jvm(frame.sparkSession) is not None and not _arrives(observation):
            return None
        given = observation.get
        return [int(given[name]) for name in names]

    return rows, numbers


def _arrives(observation: Any) -> bool:
    """Waits until the event of the job is there; False if it does not come."""
    future, until, beat = observation._jo.future(), time.monotonic() + _PATIENCE_SECONDS, 0.0
    while not future.isCompleted():
        if time.monotonic() > until:
            return False
        beat = min(_LONGEST_BEAT_SECONDS, beat + _BEAT_SECONDS)
        time.sleep(beat)
    return True
