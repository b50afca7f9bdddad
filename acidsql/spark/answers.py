"""What a query gives back, in Hive's types and with Hive's clocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from acidsql.catalog.types import HiveType, PrimitiveType, parse_type
from acidsql.errors import BindError
from acidsql.planner.counting import RowCount
from acidsql.spark.scan_files import HIVE_TYPE

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


@dataclass(slots=True, kw_only=True)
class Answer:
    """A query's DataFrame (None if it was answered without Spark) and the columns it gives; ``fetch`` runs it."""

    df: DataFrame | None
    columns: tuple[tuple[str, HiveType], ...]
    fetch: Callable[[], pa.Table]


def count_answer(count: RowCount, rows: int) -> Answer:
    """The answer to a count that needed no Spark."""

    def fetch() -> pa.Table:
        import pyarrow as pa

        return pa.table({count.name: pa.array([rows], pa.int64())})

    return Answer(df=None, columns=((count.name, PrimitiveType("bigint")),), fetch=fetch)


def columns_of(df: DataFrame) -> tuple[tuple[str, HiveType], ...]:
    """Names and types, where Spark can tell also the lengths of char and varchar."""
    return tuple((f.name, hive_type((f.metadata or {}).get(HIVE_TYPE) or f.dataType.simpleString())) for f in df.schema.fields)


def hive_type(spark_name: str) -> HiveType:
    """Spark's name of a type as Hive's; a type Hive has not keeps Spark's name."""
    name = spark_name.replace("timestamp_ntz", "timestamp")
    try:
        return parse_type("string" if name == "void" else name)
    except BindError:
        return PrimitiveType(name)


def wall_clock(table: pa.Table) -> pa.Table:
    """Timestamps without a zone, as Hive's are: the session's zone is where their clock stands."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for column in table.columns:
        zoned = pa.types.is_timestamp(column.type) and column.type.tz is not None
        columns.append(pc.local_timestamp(column) if zoned else column)
    return pa.Table.from_arrays(columns, names=table.column_names)
