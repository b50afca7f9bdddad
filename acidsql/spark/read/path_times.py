"""Files that a query names by their path, where their timestamps would shift: they are read by
Spark, whose session of ours is of the zone UTC, by the clock of another zone.

Moments in Parquet are shown by the clock of the user's zone, as his own session of Spark shows
them. ORC files have wall clocks, of which Spark's Java makes those of its own zone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from acidsql.catalog.types import parse_type
from acidsql.errors import BindError
from acidsql.expressions.spark_words import identifier
from acidsql.spark.start.clocks import FileClock, file_clock, timed, user_clock

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NAMED = re.compile(
    r"(?P<before>\b(?:FROM|JOIN|USING|TABLE)\s+|,\s*)(?P<kind>orc|parquet)\s*\.\s*"
    r"(?P<path>`(?:[^`]|``)+`)",
    re.IGNORECASE,
)


@contextmanager
def paths_replaced(spark: SparkSession, text: str) -> Iterator[str]:
    """A query's text, in which views stand for such files. The views go in the end, and a query
    that was analysed inside stays good.
    """
    views: dict[str, str] = {}

    def replaced(match: re.Match[str]) -> str:
        kind = match["kind"].lower()
        clock = user_clock(spark) if kind == "parquet" else file_clock(spark)
        if clock.is_utc:
            return match[0]
        name = f"{kind}.{match['path']}"
        if name not in views:
            view = f"acidsql_p{len(views)}"
            _shown(spark.table(name), clock, doubtful=kind == "orc").createOrReplaceTempView(view)
            views[name] = view
        # as long as what it stands for, so that errors keep their places
        words = match[0].removeprefix(match["before"])
        return match["before"] + views[name].ljust(len(words))

    try:
        yield _NAMED.sub(replaced, text) if _NAMED.search(text) else text
    finally:
        for view in views.values():
            spark.catalog.dropTempView(view)


def _shown(frame: DataFrame, clock: FileClock, *, doubtful: bool) -> DataFrame:
    columns = []
    for field in frame.schema.fields:
        name = identifier(field.name)
        try:
            hive_type = parse_type(field.dataType.simpleString())
        except BindError:  # a type that Hive has not
            columns.append(name)
            continue
        shown = clock.shown(name, hive_type, doubtful=doubtful) if timed(hive_type) else name
        columns.append(f"{shown} AS {name}" if shown != name else name)
    return frame.selectExpr(*columns)
