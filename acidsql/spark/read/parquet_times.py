"""Whether times in Parquet files mean to Spark what they mean to Hive.

An INT96 timestamp is a moment in UTC to Spark and a wall clock to Hive, which stores it in the zone
of the process that writes. Hive 3.1 and later name that zone in the file; of other files by
parquet-mr it takes its own zone, of files by anything else the clock of UTC. Dates before 1582 are
in the old calendar unless a file of Hive's says otherwise. What would be read as another time is
refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from acidsql.catalog.model import Column
from acidsql.catalog.types import PrimitiveType, holds
from acidsql.errors import UnsupportedStatementError
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import in_parallel
from acidsql.spark import jvm
from acidsql.spark.start.clocks import UTC_CLOCK, FileClock, user_clock
from acidsql.storage.footers import FileKey, FoundFile
from acidsql.storage.parquet_metadata import read_metadata

if TYPE_CHECKING:
    import pyarrow.parquet as pq
    from pyspark.sql import SparkSession

_ZONE, _PROLEPTIC = b"writer.time.zone", b"writer.date.proleptic"
_TIMES = (PrimitiveType("date"), PrimitiveType("timestamp"))


class ParquetTimes:
    """Checks the times of Parquet files, and looks into each file once."""

    def __init__(self, spark: SparkSession, io: FileIO) -> None:
        self._spark = spark
        self._io = io
        self._sound: dict[tuple[FileKey, str], frozenset[bool]] = {}

    def clock(self, columns: Sequence[Column], files: Iterable[FoundFile]) -> FileClock:
        """The clock by which the timestamps of the files are shown. Refuses a file that is not
        Parquet (FormatError), one whose times would shift, and moments beside wall clocks
        (UnsupportedStatementError).
        """
        if not any(holds(column.type, lambda t: t in _TIMES) for column in columns):
            return UTC_CLOCK
        clock, files = user_clock(self._spark), tuple(files)
        zone = clock.zone
        missing = [file for file in files if (file.key, zone) not in self._sound]
        for file, metadata in zip(
            missing,
            in_parallel(lambda file: read_metadata(self._io, file.path), missing),
            strict=True,
        ):
            self._check(file.path, metadata, zone)
            self._sound[file.key, zone] = _of_clocks(metadata)
        kinds = frozenset[bool]().union(*(self._sound[file.key, zone] for file in files))
        if clock.is_utc or kinds <= {True}:
            return UTC_CLOCK
        if len(kinds) > 1:
            raise UnsupportedStatementError(
                f'some timestamps of "{files[0].path}" or files beside it are moments, others wall'
                " clocks",
                hint="SET spark.sql.session.timeZone=UTC takes the moments for clocks of UTC.",
            )
        return clock

    def _check(self, path: str, metadata: pq.FileMetaData, zone: str) -> None:
        said = metadata.metadata or {}
        if said.get(_PROLEPTIC, b"false").lower() == b"true":
            raise UnsupportedStatementError(
                f'file "{path}" has dates in the calendar of today for all times, which is not'
                " supported yet"
            )
        if not any(
            metadata.schema.column(i).physical_type == "INT96" for i in range(metadata.num_columns)
        ):
            return
        other = "parquet-mr" not in (metadata.created_by or "")
        writer = said[_ZONE].decode() if _ZONE in said else "UTC" if other else zone
        if not jvm.same_time_zone(self._spark, writer, zone):
            raise UnsupportedStatementError(
                f'the timestamps of file "{path}" are of time zone "{writer}", the session\'s is'
                f' "{zone}"',
                hint=f"SET spark.sql.session.timeZone={writer} reads it.",
            )


def _of_clocks(metadata: pq.FileMetaData) -> frozenset[bool]:
    """For the timestamps of a file, whether they are wall clocks, and not moments."""
    kinds = set()
    for number in range(metadata.num_columns):
        column = metadata.schema.column(number)
        if column.physical_type == "INT96":
            kinds.add(False)
        elif column.logical_type.type == "TIMESTAMP":
            kinds.add(not json.loads(column.logical_type.to_json())["isAdjustedToUTC"])
    return frozenset(kinds)
