"""Puts rows to Vector and to Spark."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from acidsql.catalog.types import HiveType, arrow_type
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.reader import read_expression
from acidsql.expressions.vectors import Vector, vectorized
from acidsql.parser.tokens import tokenize
from tests.expressions.vectors.cases import COLUMNS, NOW

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VIEW = "vector_rows"
UNCERTAIN = "uncertain"
_AT_ONCE = 60


def compiled(
    sql: str,
    *,
    ansi: bool,
    now: datetime.datetime = NOW,
    columns: Mapping[str, HiveType] = COLUMNS,
) -> Vector | NotHere:
    tree = read_expression(sql, tokenize(sql))
    assert tree is not None, sql
    try:
        return vectorized(tree, columns, ansi=ansi, zone="UTC", now=now)
    except NotHere as signal:
        return signal.to_keep()


def batch_of(
    rows: Sequence[dict[str, Any]], columns: Mapping[str, HiveType] = COLUMNS
) -> pa.RecordBatch:
    arrays = {
        name: pa.array([row[name] for row in rows], arrow_type(hive_type))
        for name, hive_type in columns.items()
    }
    return pa.record_batch(arrays)


def local_values(vector: Vector, batch: pa.RecordBatch) -> list[Any]:
    """The shown value of each row, or UNCERTAIN."""
    if not batch.num_rows:
        return []
    try:
        answer = vector.run(batch)
    except NotHere:
        if batch.num_rows == 1:
            return [UNCERTAIN]
        half = batch.num_rows // 2
        return local_values(vector, batch.slice(0, half)) + local_values(vector, batch.slice(half))
    assert answer.type == arrow_type(vector.type)
    assert len(answer) == batch.num_rows
    answer.validate(full=True)
    return shown(answer)


def shown(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Values that are equal only if they are the same: NaN is, -0.0 and 0.0 are not."""
    kind = array.type
    if pa.types.is_date32(kind):
        array = array.cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        array = array.cast(pa.int64())
    return [repr(value) for value in array.to_pylist()]


def kind_of(hive_type: HiveType) -> pa.DataType:
    """The type of a column of Spark's answer."""
    kind = arrow_type(hive_type)
    return pa.timestamp("us", "UTC") if pa.types.is_timestamp(kind) else kind


def view(spark: SparkSession, batch: pa.RecordBatch) -> None:
    """The rows as VIEW, with their numbers."""
    from acidsql.spark import jvm

    table = pa.Table.from_batches([batch])
    for at, field in enumerate(batch.schema):
        if pa.types.is_timestamp(field.type):
            moments = table[field.name].cast(pa.timestamp("us", "UTC"))
            table = table.set_column(at, field.name, moments)
    table = table.append_column("row", pa.array(range(batch.num_rows), pa.int32()))
    jvm.frame_of(spark, table).createOrReplaceTempView(VIEW)


def spark_answers(
    spark: SparkSession, asked: Sequence[tuple[str, Sequence[bool]]]
) -> list[tuple[pa.DataType, list[Any]]]:
    """Of each expression its type and its value for each row it is asked of."""
    from acidsql.spark import jvm

    answers: list[tuple[pa.DataType, list[Any]]] = []
    for start in range(0, len(asked), _AT_ONCE):
        part = asked[start : start + _AT_ONCE]
        masks = {f"ask{i}": pa.array(mask, pa.bool_()) for i, (_, mask) in enumerate(part)}
        given = jvm.arrow_table(spark.table(VIEW))
        for name, mask in masks.items():
            given = given.append_column(name, mask)
        jvm.frame_of(spark, given).createOrReplaceTempView("vector_asked")
        parts = ", ".join(
            f"CASE WHEN ask{i} THEN ({sql}) END AS a{i}" for i, (sql, _) in enumerate(part)
        )
        answer = jvm.arrow_table(spark.sql(f"SELECT {parts} FROM vector_asked ORDER BY row"))
        answers += [(column.type, shown(column)) for column in answer.columns]
    return answers


def moment_answers(
    spark: SparkSession, offsets: Sequence[tuple[int, int]], sqls: Sequence[str]
) -> tuple[datetime.datetime, pa.RecordBatch, list[tuple[pa.DataType, list[Any]]]]:
    """The moment of a statement; rows of a date ``d`` and a timestamp ``t``, so many days and
    microseconds from it; of each expression its type and its value for each row.
    """
    from acidsql.spark import jvm

    days, microseconds = zip(*offsets, strict=True)
    given = pa.table(
        {
            "row": pa.array(range(len(offsets)), pa.int32()),
            "days": pa.array(days, pa.int32()),
            "microseconds": pa.array(microseconds, pa.int64()),
        }
    )
    jvm.frame_of(spark, given).createOrReplaceTempView("moment_offsets")
    asked = ", ".join(f"({sql}) AS a{i}" for i, sql in enumerate(sqls))
    asked_of = spark.sql(
        f"SELECT d, t, current_timestamp() AS now, {asked} FROM (SELECT row,"
        " date_add(current_date(), days) AS d,"
        " timestamp_micros(unix_micros(current_timestamp()) + microseconds) AS t"
        " FROM moment_offsets) ORDER BY row"
    )
    answer = jvm.arrow_table(asked_of)
    rows = pa.record_batch(
        {
            "d": answer["d"].combine_chunks(),
            "t": answer["t"].combine_chunks().cast(pa.timestamp("us")),
        }
    )
    [moment] = set(answer["now"].to_pylist())
    return moment, rows, [(column.type, shown(column)) for column in answer.columns[3:]]
