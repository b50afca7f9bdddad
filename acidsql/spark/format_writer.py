"""Files of plain rows as Spark writes them, one for each task and partition: ORC, Parquet and text, each as Hive's readers want it.

Parquet is written in the forms Hive itself writes: INT96 timestamps, decimals as bytes, the old calendar before 1582.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from acidsql.acid.orc_tail import edit_tail
from acidsql.catalog.model import FileFormat, Table
from acidsql.catalog.text_format import text_format
from acidsql.errors import BindError
from acidsql.planner.lowering import identifier
from acidsql.spark import sinks, text_values
from acidsql.spark.fileio import FileIO
from acidsql.spark.parquet_times import read_metadata
from acidsql.spark.partition_places import key_names
from acidsql.spark.session import settings_during
from acidsql.spark.sinks import PartFile
from acidsql.spark.stored import refusals
from acidsql.spark.target import StagedFile, WriteTarget
from acidsql.spark.urls import spark_url

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PARQUET_SETTINGS = {
    "spark.sql.parquet.writeLegacyFormat": "true",
    "spark.sql.parquet.outputTimestampType": "INT96",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
}
_PARQUET_CODECS = {"uncompressed": "uncompressed", "none": "uncompressed", "snappy": "snappy", "gzip": "gzip", "zstd": "zstd"}
_CHUNK = 1 << 20


def write_rows(spark: SparkSession, target: WriteTarget, rows: DataFrame, folder: str) -> None:
    """A job that writes rows (``sinks.data_names``, ``key_names``), each task's to files of its own, to ``folder``."""
    table, keys = target.table, key_names(target.table)
    names = sinks.data_names(table.columns)
    match table.file_format:
        case FileFormat.PARQUET:
            named = [f"{name} AS {identifier(c.name)}" for name, c in zip(names, table.columns, strict=True)]
            with settings_during(spark, _PARQUET_SETTINGS):
                written = sinks.staged_writer(rows.selectExpr(*named, *keys)).partitionBy(*keys)
                written.option("compression", _parquet_codec(table)).parquet(spark_url(folder))
        case FileFormat.TEXTFILE:
            line = text_values.line(names, table.columns, text_format(table))
            lines = sinks.staged_writer(rows.selectExpr(f"{line} AS {text_values.LINE}", *keys)).partitionBy(*keys)
            lines.options(compression="none", lineSep="\n").text(spark_url(folder))
        case _:
            stored = rows.selectExpr(*sinks.stored_columns(table.columns), *keys)
            with refusals():
                sinks.orc_writer(target, stored).partitionBy(*keys).orc(spark_url(folder))


def finished(io: FileIO, target: WriteTarget, part: PartFile) -> StagedFile | None:
    """``target``: of the part's partition. Makes a file some task has written one of Hive's; None if it holds no row."""
    match target.table.file_format:
        case FileFormat.PARQUET:
            rows, size = read_metadata(io, part.path).num_rows, io.read_tail(part.path, 0)[1]
        case FileFormat.TEXTFILE:
            rows, size = _lines(io, part.path)
        case _:
            tail = sinks.tail_of(io, part.path)
            rows, size = tail.row_count, 0
            if rows:
                edit = edit_tail(tail, {}, target.row_schema)
                part = replace(part, path=io.replace_tail(part.path, edit.offset, edit.data))
                size = edit.offset + len(edit.data)
    if not rows:
        return None
    return StagedFile(
        path=part.path, directory=target.plain_directory, bucket=part.bucket, rows=rows, size=size, partition=target.partition, raw=True
    )


def _parquet_codec(table: Table) -> str:
    """As the table property ``parquet.compression`` says; Hive compresses nothing without it."""
    given = next((value for name, value in table.properties.items() if name.lower() == "parquet.compression"), "uncompressed")
    if given.strip().lower() not in _PARQUET_CODECS:
        known = ", ".join(name.upper() for name in _PARQUET_CODECS)
        raise BindError(f'table property "parquet.compression" has an unknown value "{given}"', hint=f"Use one of {known}.")
    return _PARQUET_CODECS[given.strip().lower()]


def _lines(io: FileIO, path: str) -> tuple[int, int]:
    """How many lines a text file has, each of which is a row to its readers, and how many bytes."""
    lines = size = 0
    with io.open_input(path) as file:
        while chunk := file.read(_CHUNK):
            lines += chunk.count(b"\n")
            size += len(chunk)
    return lines, size
