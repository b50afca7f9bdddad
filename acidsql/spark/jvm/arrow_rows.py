"""Arrow's tables as Spark's rows, and back: PySpark has both from version 4 on. Before, it has the
parts of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from acidsql.arrow_arrays import with_offsets
from acidsql.spark.jvm.scans import struct_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession


def arrow_table(frame: DataFrame) -> pa.Table:
    """All rows of a DataFrame, on Spark Connect too. The types are those of ``arrow_schema``."""
    import pyarrow as pa

    if hasattr(frame, "toArrow"):
        return _table_with_offsets(frame.toArrow())
    schema = arrow_schema(frame)
    batches = cast(Any, frame)._collect_as_arrow()
    if not batches:
        return schema.empty_table()
    return _table_with_offsets(pa.Table.from_batches(batches)).cast(schema)


def _table_with_offsets(rows: pa.Table) -> pa.Table:
    import pyarrow as pa

    columns = [
        pa.chunked_array(map(with_offsets, column.chunks), column.type) for column in rows.columns
    ]
    return pa.Table.from_arrays(columns, schema=rows.schema)


def arrow_schema(frame: DataFrame) -> pa.Schema:
    """The schema that PySpark's ``toArrow`` gives the rows, on Spark Connect too."""
    from pyspark.sql.pandas.types import to_arrow_schema

    large = frame.sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false")
    asked = {
        "error_on_duplicated_field_names_in_struct": True,
        "timezone": "UTC",
        "prefers_large_types": large == "true",
    }
    known = inspect.signature(to_arrow_schema).parameters
    given: Any = {name: value for name, value in asked.items() if name in known}
    return to_arrow_schema(frame.schema, **given)


def frame_of_table(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """``spark.createDataFrame(rows)`` in a session whose time zone is UTC, also where PySpark does
    that for pandas alone. On Spark Connect it does so by itself.
    """
    from pyspark.sql.pandas import conversion

    mixin = conversion.SparkConversionMixin
    if not rows.num_rows:  # PySpark asks the chunks for the type
        rows = rows.schema.empty_table()
    if hasattr(mixin, "_create_from_arrow_table") or not isinstance(spark, mixin):
        return spark.createDataFrame(rows)
    return _frame_of_batches(spark, rows)


def _frame_of_batches(spark: Any, rows: pa.Table) -> DataFrame:
    from pyspark.sql import DataFrame
    from pyspark.sql.pandas.serializers import ArrowStreamSerializer
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    schema = from_arrow_schema(rows.schema)
    size = int(spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch"))
    batches = rows.cast(to_arrow_schema(schema)).to_batches(max_chunksize=size)
    of_java = spark._jvm.PythonSQLUtils
    read = spark._sc._serialize_to_jvm(
        batches,
        ArrowStreamSerializer(),
        lambda path: of_java.readArrowStreamFromFile(path),
        lambda: spark._jvm.ArrowIteratorServer(),
    )
    return DataFrame(of_java.toDataFrame(read, schema.json(), spark._jsparkSession), spark)


def with_arrow_function(
    rows: DataFrame, name: str, kind: str, function: Callable[..., pa.Array], sources: Sequence[str]
) -> tuple[DataFrame, Column]:
    """The rows and, as a column of them, what ``function`` makes of ``sources`` (SQL) as Arrow's
    arrays, on Spark Connect too. ``kind``: its type.

    Spark 4.1 has functions of such arrays. Before, it has those of whole rows, which then have one
    more column, ``name``.
    """
    from pyspark.sql import functions as F

    if hasattr(F, "arrow_udf"):
        in_arrow = cast(Any, F).arrow_udf(function, returnType=kind)
        return rows, in_arrow(*map(F.expr, sources))
    return _mapped(rows, name, kind, function, sources), F.col(name)


def _mapped(
    rows: DataFrame, name: str, kind: str, function: Callable[..., pa.Array], sources: Sequence[str]
) -> DataFrame:
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructField, StructType

    columns = rows.columns
    texts = [f"{name}_{at}" for at in range(len(sources))]
    given = rows.select(
        "*", *(F.expr(sql).alias(text) for sql, text in zip(sources, texts, strict=True))
    )
    names = [f"c{at}" for at in range(len(columns))]
    fields = [
        StructField(new, field.dataType, field.nullable, field.metadata)
        for new, field in zip(names, rows.schema.fields, strict=True)
    ]
    schema = StructType([*fields, *struct_of(f"{name} {kind}").fields])
    width = len(columns)

    def computed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow

        for batch in batches:
            value = function(*batch.columns[width:])
            yield pyarrow.RecordBatch.from_arrays([*batch.columns[:width], value], [*names, name])

    return given.toDF(*names, *texts).mapInArrow(computed, schema).toDF(*columns, name)
