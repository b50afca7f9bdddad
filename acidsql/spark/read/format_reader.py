"""Tables stored as Parquet and as text: their files through Spark's own readers, as rows of the
table's columns.

Parquet's columns are found by name, of whatever type they were when the file was written
(parquet_files), those of text by place (text_values). There are no row ids.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import repeat
from typing import TYPE_CHECKING, Self

from acidsql.catalog.model import Column, FileFormat, Table
from acidsql.catalog.text_format import TextFormat, text_format
from acidsql.expressions.spark_words import identifier, spark_ddl, spark_type, store_cast
from acidsql.files.fileio import FileIO
from acidsql.lazy_dataclass import dataclass
from acidsql.spark import jvm
from acidsql.spark.read import text_values
from acidsql.spark.read.parquet_files import ParquetFiles
from acidsql.spark.read.scan_words import (
    PartitionValues,
    file_uri,
    identity_of,
    in_order,
    with_file_number,
    with_hive_types,
    without_first_rows,
)
from acidsql.spark.start.clocks import UTC_CLOCK, FileClock
from acidsql.spark.start.session import EXACT_FILTERS
from acidsql.storage.footers import FoundFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PARQUET_OPTIONS = {
    # Hive writes times before 1582 in the calendar of those days, unless it says otherwise; what
    # Spark wrote tells by itself.
    "datetimeRebaseMode": "LEGACY",
    "int96RebaseMode": "LEGACY",
    "mergeSchema": "false",
    **EXACT_FILTERS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatScan:
    """What a view shows, and so its key. ``text``: of a text table."""

    columns: tuple[Column, ...]
    partitions: PartitionValues
    files: tuple[FoundFile, ...]
    text: TextFormat | None

    @classmethod
    def of(cls, table: Table, partitions: PartitionValues, files: tuple[FoundFile, ...]) -> Self:
        text = text_format(table) if table.file_format is FileFormat.TEXTFILE else None
        return cls(columns=table.columns, partitions=partitions, files=files, text=text)


class FormatReader:
    """Reads tables that are not stored as ORC, in one Spark session."""

    def __init__(self, spark: SparkSession, io: FileIO) -> None:
        self._spark = spark
        self._parquet_files = ParquetFiles(spark, io)

    def clock(self, scan: FormatScan) -> FileClock:
        """The clock of the files' timestamps. FormatError or UnsupportedStatementError names a file
        whose times would be read as others.
        """
        if scan.text is None:
            return self._parquet_files.clock(scan.columns, scan.files)
        return UTC_CLOCK

    def rows(self, scan: FormatScan, clock: FileClock) -> DataFrame:
        """The table's columns, then its partition columns."""
        columns = (*scan.columns, *scan.partitions.columns)
        if not scan.files:
            nothing = ", ".join(
                f"CAST(NULL AS {spark_type(c.type)}) AS {identifier(c.name)}" for c in columns
            )
            return self._spark.sql(f"SELECT {nothing} WHERE false")
        shown = self._parquet(scan, clock) if scan.text is None else self._text(scan, scan.text)
        return with_hive_types(shown, columns)

    def _parquet(self, scan: FormatScan, clock: FileClock) -> DataFrame:
        """Files that have columns of other types than the table has now are scans of their own."""
        groups = self._parquet_files.by_types(scan.columns, scan.files)
        parts = [
            self._parquet_part(replace(scan, files=tuple(files)), columns, clock)
            for columns, files in groups.items()
        ]
        return reduce(lambda rows, more: rows.unionAll(more), parts)

    def _parquet_part(
        self, scan: FormatScan, stored: tuple[Column, ...], clock: FileClock
    ) -> DataFrame:
        uris = [file_uri(file.path) for file in scan.files]
        rows = jvm.read_files(
            self._spark,
            "parquet",
            uris,
            spark_ddl(stored),
            _PARQUET_OPTIONS,
            identity=identity_of(scan.files),
        )
        rows, files = self._located(scan, rows, wanted=scan.partitions.differ)
        shown = map(_shown, scan.columns, stored, repeat(clock))
        return rows.selectExpr(*shown, *scan.partitions.sql(files))

    def _text(self, scan: FormatScan, text: TextFormat) -> DataFrame:
        """The line's cells are found in a step of their own: each is needed several times."""
        uris = [file_uri(file.path) for file in scan.files]
        lines = jvm.read_files(
            self._spark,
            "text",
            uris,
            f"{text_values.LINE} string",
            {"wholetext": "false"},
            identity=identity_of(scan.files),
        )
        lines, files = self._located(
            scan, lines, wanted=scan.partitions.differ or text.header_lines > 0
        )
        if text.header_lines:
            lines = without_first_rows(self._spark, lines, text.header_lines)
        keys = scan.partitions.sql(files)
        names = [identifier(c.name) for c in scan.partitions.columns]
        cells = lines.selectExpr(*text_values.cells(scan.columns, text), *keys)
        texts = cells.selectExpr(*text_values.texts(scan.columns, text), *names)
        return texts.selectExpr(*text_values.values(scan.columns, text), *names)

    def _located(
        self, scan: FormatScan, rows: DataFrame, *, wanted: bool
    ) -> tuple[DataFrame, tuple[FoundFile, ...]]:
        """The rows and the files. If it is ``wanted``, each row has the number of its file, and the
        files come in that order.
        """
        if not wanted:
            return rows, scan.files
        files = in_order(scan.files)
        return with_file_number(self._spark, rows, files), files


def _shown(column: Column, stored: Column, clock: FileClock) -> str:
    """SQL for a column as Hive stores it: texts of other writers may be too long, its times are of
    a ``clock``, and its type may have been another one.
    """
    name = identifier(column.name)
    shown = clock.shown(name, stored.type)
    value = "".join(map(str, store_cast((shown,), column.type)))
    unchanged = (
        stored.type == column.type and value == f"CAST(({name}) AS {spark_type(column.type)})"
    )
    return name if unchanged else f"{value} AS {name}"
