"""Tables stored as Parquet and as text: their files through Spark's own readers, as rows of the
table's columns.

Parquet's columns are found by name, of whatever type they were when the file was written
(below), those of text by place (text_values). There are no row ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import repeat
from typing import TYPE_CHECKING, Self

from acidsql.catalog.model import Column, FileFormat, Table
from acidsql.catalog.text import TextFormat, text_format
from acidsql.catalog.types import (
    PRIMITIVES,
    DecimalType,
    HiveType,
    PrimitiveType,
    arrow_type,
    convertible,
    holds,
    is_text,
)
from acidsql.errors import UnsupportedStatementError
from acidsql.expressions.spark_words import identifier, spark_ddl, spark_type, store_cast
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import in_parallel
from acidsql.lazy import dataclass
from acidsql.spark import jvm
from acidsql.spark.read import text_values
from acidsql.spark.read.scan_words import (
    PartitionValues,
    file_uri,
    identity_of,
    in_order,
    with_file_number,
    with_hive_types,
    without_first_rows,
)
from acidsql.spark.start.clocks import UTC_CLOCK, FileClock, user_clock
from acidsql.spark.start.session import EXACT_FILTERS
from acidsql.storage.footers import FileKey, FoundFile
from acidsql.storage.parquet_metadata import read_metadata

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.sql import DataFrame, SparkSession


# ---- types of Parquet files
#
# What Parquet files say of their own columns: of which types they are, and whether their times
# mean to Spark what they mean to Hive.
#
# A file keeps the types it was written with when a column is given another one (ALTER TABLE ..
# CHANGE). Spark's reader converts few of them, another few in each release: such columns are read
# as they are stored, and cast.
#
# An INT96 timestamp is a moment in UTC to Spark and a wall clock to Hive, which stores it in the
# zone of the process that writes. Hive 3.1 and later name that zone in the file; of other files by
# parquet-mr it takes its own zone, of files by anything else the clock of UTC. Dates before 1582
# are in the old calendar unless a file of Hive's says otherwise. What would be read as another
# time is refused.


_ZONE, _PROLEPTIC = b"writer.time.zone", b"writer.date.proleptic"
_TIMES = (PrimitiveType("date"), PrimitiveType("timestamp"))
_INT32 = tuple(map(PrimitiveType, ("tinyint", "smallint", "int")))
"""One of these is read as a wider one by every Spark: their numbers are stored alike."""


Types = tuple[tuple[str, HiveType], ...]
"""The types of columns, by name."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What a file says of its columns. ``types``: of the columns whose type is one of Hive's and
    not nested, by their names in lower case. ``clocks``: for its timestamps, whether they are wall
    clocks, and not moments. ``writer_zone``: that of its INT96 timestamps; "" for that of the
    session, None where it has none.
    """

    types: Types
    clocks: frozenset[bool]
    writer_zone: str | None
    is_proleptic: bool

    @classmethod
    def of(cls, metadata: pq.FileMetaData) -> FileFacts:
        said = metadata.metadata or {}
        leaves = [metadata.schema.column(number) for number in range(metadata.num_columns)]
        zone = None
        if any(leaf.physical_type == "INT96" for leaf in leaves):
            other = "parquet-mr" not in (metadata.created_by or "")
            zone = said[_ZONE].decode() if _ZONE in said else "UTC" if other else ""
        return cls(
            types=_types(metadata.schema.to_arrow_schema()),
            clocks=frozenset(_clocks(leaves)),
            writer_zone=zone,
            is_proleptic=said.get(_PROLEPTIC, b"false").lower() == b"true",
        )


class ParquetFiles:
    """Looks into each Parquet file once."""

    def __init__(self, spark: SparkSession, io: FileIO) -> None:
        self._spark = spark
        self._io = io
        self._known: dict[FileKey, FileFacts] = {}
        self._types: dict[Types, Types] = {}  # one of each: mostly all files have the same
        self._alike: dict[tuple[str, str], bool] = {}

    def by_types(
        self, columns: Sequence[Column], files: Iterable[FoundFile]
    ) -> dict[tuple[Column, ...], list[FoundFile]]:
        """The files by the types that ``columns`` are to be read as in them. FormatError for a file
        that is not Parquet.
        """
        files = tuple(files)
        alike: dict[int, tuple[Types, list[FoundFile]]] = {}
        for file, facts in zip(files, self._facts(files), strict=True):
            alike.setdefault(id(facts.types), (facts.types, []))[1].append(file)
        groups: dict[tuple[Column, ...], list[FoundFile]] = {}
        for types, members in alike.values():
            groups.setdefault(_as_read(columns, dict(types)), []).extend(members)
        return groups

    def clock(self, columns: Sequence[Column], files: Iterable[FoundFile]) -> FileClock:
        """The clock by which the timestamps of the files are shown. FormatError for a file that is
        not Parquet; UnsupportedStatementError for one whose times would shift, and for moments
        beside wall clocks.
        """
        groups = self.by_types(columns, files)
        timed = [
            file
            for stored, members in groups.items()
            if any(holds(column.type, lambda t: t in _TIMES) for column in stored)
            for file in members
        ]
        if not timed:
            return UTC_CLOCK
        clock = user_clock(self._spark)
        kinds: set[bool] = set()
        for file, facts in zip(timed, self._facts(timed), strict=True):
            self._check(file.path, facts, clock.zone)
            kinds |= facts.clocks
        if clock.is_utc or kinds <= {True}:
            return UTC_CLOCK
        if len(kinds) > 1:
            raise UnsupportedStatementError(
                f'some timestamps of "{timed[0].path}" or files beside it are moments, others wall'
                " clocks",
                hint="SET spark.sql.session.timeZone=UTC takes the moments for clocks of UTC.",
            )
        return clock

    def _facts(self, files: Sequence[FoundFile]) -> list[FileFacts]:
        missing = [file for file in files if file.key not in self._known]
        read = in_parallel(lambda file: FileFacts.of(read_metadata(self._io, file.path)), missing)
        for file, facts in zip(missing, read, strict=True):
            types = self._types.setdefault(facts.types, facts.types)
            self._known[file.key] = replace(facts, types=types)
        return [self._known[file.key] for file in files]

    def _check(self, path: str, facts: FileFacts, zone: str) -> None:
        if facts.is_proleptic:
            raise UnsupportedStatementError(
                f'file "{path}" has dates in the calendar of today for all times, which is not'
                " supported yet"
            )
        writer = facts.writer_zone
        if writer and not self._same_zone(writer, zone):
            raise UnsupportedStatementError(
                f'the timestamps of file "{path}" are of time zone "{writer}", the session\'s is'
                f' "{zone}"',
                hint=f"SET spark.sql.session.timeZone={writer} reads it.",
            )

    def _same_zone(self, writer: str, zone: str) -> bool:
        if (writer, zone) not in self._alike:
            self._alike[writer, zone] = jvm.same_time_zone(self._spark, writer, zone)
        return self._alike[writer, zone]


def _as_read(columns: Sequence[Column], stored: Mapping[str, HiveType]) -> tuple[Column, ...]:
    """``columns``, those with their stored type that Spark would not read as what they are now."""
    return tuple(
        column
        if column.name not in stored or _read_by_spark(stored[column.name], column.type)
        else replace(column, type=stored[column.name])
        for column in columns
    )


def _read_by_spark(stored: HiveType, wanted: HiveType) -> bool:
    """Whether Spark reads it, or is to say that it does not."""
    if is_text(stored) and is_text(wanted):
        return True
    if stored in _INT32 and wanted in _INT32:
        return True
    return stored == wanted or not convertible(stored, wanted)


def _types(schema: pa.Schema) -> Types:
    """A name that is there twice, but for its case, is Spark's to judge."""
    import pyarrow as pa

    of_arrow = {arrow_type(PrimitiveType(name)): PrimitiveType(name) for name in PRIMITIVES}
    types: dict[str, HiveType] = {}
    names = [field.name.lower() for field in schema]
    for name, kind in zip(names, schema.types, strict=True):
        if names.count(name) > 1:
            continue
        if kind in of_arrow:
            types[name] = of_arrow[kind]
        elif pa.types.is_timestamp(kind):
            types[name] = PrimitiveType("timestamp")
        elif pa.types.is_decimal128(kind):
            types[name] = DecimalType(kind.precision, kind.scale)
    return tuple(types.items())


def _clocks(leaves: Iterable[pq.ColumnSchema]) -> Iterable[bool]:
    for leaf in leaves:
        if leaf.physical_type == "INT96":
            yield False
        elif leaf.logical_type.type == "TIMESTAMP":
            yield not json.loads(leaf.logical_type.to_json())["isAdjustedToUTC"]


# ---- format reader


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
