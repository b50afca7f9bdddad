"""Files of plain rows as Spark writes them, one for each task and partition: ORC, Parquet and text,
each as Hive's readers want it.

Parquet is written in the forms Hive itself writes: INT96 timestamps, decimals as bytes, the old
calendar before 1582.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acidsql.catalog.model import FileFormat, Table
from acidsql.catalog.text import text_format
from acidsql.errors import BindError
from acidsql.expressions.spark_words import identifier
from acidsql.files.fileio import spark_url
from acidsql.spark.read import text_values
from acidsql.spark.start.clocks import user_clock
from acidsql.spark.start.session import settings_during
from acidsql.spark.write import sinks
from acidsql.spark.write.stored_sql import refusals
from acidsql.storage.partitions import key_names
from acidsql.storage.stored import data_names
from acidsql.storage.write.target import WriteTarget

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PARQUET_SETTINGS = {
    "spark.sql.parquet.writeLegacyFormat": "true",
    "spark.sql.parquet.outputTimestampType": "INT96",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
}
_PARQUET_CODECS = {
    "uncompressed": "uncompressed",
    "none": "uncompressed",
    "snappy": "snappy",
    "gzip": "gzip",
    "zstd": "zstd",
}


def write_rows(spark: SparkSession, target: WriteTarget, rows: DataFrame, folder: str) -> None:
    """A job that writes rows (``data_names``, ``key_names``), each task's to files of its
    own, to ``folder``.
    """
    table, keys = target.table, key_names(target.table)
    names = data_names(table.columns)
    match table.file_format:
        case FileFormat.PARQUET:
            clock = user_clock(spark)
            named = [
                f"{clock.stored(name, c.type)} AS {identifier(c.name)}"
                for name, c in zip(names, table.columns, strict=True)
            ]
            with settings_during(spark, _PARQUET_SETTINGS):
                written = sinks.staged_writer(target, rows.selectExpr(*named, *keys))
                written = written.option("compression", _parquet_codec(table)).partitionBy(*keys)
                written.parquet(spark_url(folder))
        case FileFormat.TEXTFILE:
            line = text_values.line(names, table.columns, text_format(table))
            lines = sinks.staged_writer(
                target, rows.selectExpr(f"{line} AS {text_values.LINE}", *keys)
            ).partitionBy(*keys)
            lines.options(compression="none", lineSep="\n").text(spark_url(folder))
        case _:
            stored = rows.selectExpr(*sinks.stored_columns(table.columns, rows), *keys)
            with refusals():
                sinks.orc_writer(target, stored).partitionBy(*keys).orc(spark_url(folder))


def _parquet_codec(table: Table) -> str:
    """The codec that the table property ``parquet.compression`` names; without it Hive compresses
    nothing.
    """
    given = next(
        (
            value
            for name, value in table.properties.items()
            if name.lower() == "parquet.compression"
        ),
        "uncompressed",
    )
    if given.strip().lower() not in _PARQUET_CODECS:
        known = ", ".join(name.upper() for name in _PARQUET_CODECS)
        raise BindError(
            f'table property "parquet.compression" has an unknown value "{given}"',
            hint=f"Use one of {known}.",
        )
    return _PARQUET_CODECS[given.strip().lower()]
