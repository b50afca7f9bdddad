"""What Spark's tasks make of the timestamps of ORC files, and what of that cannot be relied on.

Where the zone of Spark's Java is not UTC, ORC's readers take a wall clock that this zone leaves out
for a later one, without a word. The driver, whose readers know no zones, looks for such into each
file, once; in a file that has one, or where it cannot tell, a time that may have been read so is
refused when it is met.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.catalog.types import HiveType, parse_type
from acidsql.errors import BindError
from acidsql.expressions.spark_words import identifier
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import in_parallel
from acidsql.lazy import dataclass
from acidsql.spark.read.scan_words import stored_type
from acidsql.spark.start.clocks import UTC_CLOCK, FileClock, file_clock, timed, user_clock
from acidsql.storage.file_layout import FileColumn
from acidsql.storage.footers import FileKey, ScanFile, holds_times, timestamps

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class FileTimes:
    """How the timestamps of some files are read. ``doubtful``: those of the files that hold, or may
    hold, times which the clock leaves out.
    """

    clock: FileClock = UTC_CLOCK
    doubtful: frozenset[FileKey] = frozenset()

    def value(self, column: FileColumn, read: str, files: Sequence[ScanFile]) -> str:
        """SQL for what a column of ``files`` holds, where ``read`` is what Spark makes of it."""
        if self.clock.is_utc:
            return read
        doubtful = any(file.key in self.doubtful for file in files)
        return self.clock.shown(read, _type_read(column), doubtful=doubtful)

    def changes(self, column: FileColumn) -> bool:
        """Whether the value is another one than Spark reads."""
        return not self.clock.is_utc and timed(_type_read(column))


class FileTimesReader:
    """Looks into files, and into each once."""

    def __init__(self, spark: SparkSession, io: FileIO) -> None:
        self._spark = spark
        self._io = io
        self._doubtful: dict[tuple[FileKey, str], bool] = {}

    def times(self, files: Iterable[ScanFile]) -> FileTimes:
        """How the timestamps of files are read. ExecutionError where Spark's executors are of
        several time zones.
        """
        timed_files = [file for file in files if any(map(holds_times, file.columns.children))]
        if not timed_files:
            return FileTimes()
        clock = file_clock(self._spark)
        if not clock.lengths:
            return FileTimes(clock)
        missing = [file for file in timed_files if (file.key, clock.zone) not in self._doubtful]
        doubts = in_parallel(lambda file: _is_doubtful(self._io, file, clock), missing)
        for file, doubt in zip(missing, doubts, strict=True):
            self._doubtful[file.key, clock.zone] = doubt
        keys = (file.key for file in timed_files if self._doubtful[file.key, clock.zone])
        return FileTimes(clock, frozenset(keys))


def _is_doubtful(io: FileIO, file: ScanFile, clock: FileClock) -> bool:
    """Whether a file has timestamps that the clock leaves out, or that cannot be told."""
    try:
        return any(
            pc.any(clock.leaves_out(array.cast(pa.timestamp("us"), safe=False))).as_py()
            for array in timestamps(io, file)
        )
    except pa.ArrowException:  # of far years, or of a zone that only Java knows
        return True


def _type_read(column: FileColumn) -> HiveType:
    if column.same:
        return column.column.type
    # in a way that Hive's types can say, unless it has no timestamps
    return parse_type(stored_type(column.kind) if holds_times(column.kind) else "int")


# ---- files named by their path
#
# Files that a query names by their path, where their timestamps would shift: they are read by
# Spark, whose session of ours is of the zone UTC, by the clock of another zone.
#
# Moments in Parquet are shown by the clock of the user's zone, as his own session of Spark shows
# them. ORC files have wall clocks, of which Spark's Java makes those of its own zone.


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
