"""Takes out of a scan the rows that a visible delete event hits.

The dead are told by the whole id (write id, all 32 bits of the bucket property, row) and the partition. Their keys stand in the filter as
objects and not as text, so that the code Spark generates is the same for every snapshot. Without a Java handle, or above a number of
events, the filter becomes an anti-join with the delete files.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from acidsql.acid.write_ids import ValidWriteIdList
from acidsql.planner.lowering import identifier
from acidsql.settings import Settings
from acidsql.spark import classic
from acidsql.spark.deletes import DeadRows, DeleteEventReader, DeleteEvents, pack
from acidsql.spark.file_constants import in_order, of_file, with_file_number
from acidsql.spark.file_layout import stored_type
from acidsql.spark.footers import ScanFile
from acidsql.spark.orc_scan import scan_of
from acidsql.spark.scan_files import IDS, META_DDL, META_NEEDED, visible_sql

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

Filter = Callable[["DataFrame", str], "DataFrame"]
"""Filters a frame of rows with their ids by a condition, and takes out the dead."""

PLACE = "acidsql_place"
"""The column that tells the rows of partitions apart, where there are several."""

MAX_ARRAY = 200_000
"""Dead rows up to this number are a sorted array that travels with each task; more are a bitmap, sent once."""

MAX_KEPT_FILTERS = 8
"""Filters of delete events kept for the next view of the same snapshot."""


class DeadRowFilters:
    """Makes and keeps the filters of one Spark session."""

    def __init__(self, spark: SparkSession, settings: Settings, events: DeleteEventReader) -> None:
        self._spark = spark
        self._settings = settings
        self._events = events
        self._alive: OrderedDict[Hashable, SparkColumn | None] = OrderedDict()

    def close(self) -> None:
        self._alive.clear()

    def without_dead(self, deletes: tuple[ScanFile, ...], write_ids: ValidWriteIdList | None, *, places: bool) -> Filter:
        """``places``: whether the frames have a column PLACE. ``write_ids``: None if no file holds events of a write id that is not valid."""
        if not deletes:
            return where
        kind = self._settings.get("acidsql.read.deletes")
        most = int(self._settings.number("acidsql.read.deletes.max.events"))
        count = sum(file.rows for file in deletes)
        if kind == "join" or classic.jvm(self._spark) is None or (kind == "auto" and count > most):
            return self._anti_join(deletes, write_ids, places=places)
        key = (deletes, write_ids, places)
        if key not in self._alive:
            self._alive[key] = self._alive_column(self._events.read(deletes, write_ids, keep=max(most, count)), places=places)
            while len(self._alive) > MAX_KEPT_FILTERS:
                self._alive.popitem(last=False)
        alive = self._alive[key]
        return self._anti_join(deletes, write_ids, places=places) if alive is None else partial(where, alive=alive)

    def _alive_column(self, events: DeleteEvents, *, places: bool) -> SparkColumn | None:
        """True for the rows that no event kills; None if the ids are too wide for such a test."""
        from pyspark.sql import functions as F

        if not len(events):
            return F.lit(True)
        dead = pack(events)
        return None if dead is None else self._test(dead, places=places)

    def _test(self, dead: DeadRows, *, places: bool) -> SparkColumn:
        from pyspark.sql import functions as F

        spark = self._spark
        write_id = classic.position_in(spark, classic.longs(spark, dead.write_ids), F.col("originalTransaction"))
        bucket = classic.position_in(spark, classic.longs(spark, dead.bucket_properties), F.col("bucket").cast("bigint"))
        row = F.col("rowId")
        write_id_key = write_id.cast("bigint")
        if places:
            write_id_key = F.shiftleft(F.col(PLACE).cast("bigint"), dead.write_id_bits).bitwiseOR(write_id_key)
        bucket_key = F.shiftleft(write_id_key, dead.bucket_bits).bitwiseOR(bucket.cast("bigint"))
        key = F.shiftleft(bucket_key, dead.row_bits).bitwiseOR(row)
        if len(dead.keys) <= MAX_ARRAY:
            hit = classic.position_in(spark, classic.longs(spark, dead.keys), key) >= 0
        else:
            hit = classic.is_in_bitmap(spark, dead.keys, key)
        # Only a row whose write id and bucket occur among the dead has a key at all.
        has_key = (write_id >= 0) & (bucket >= 0) & row.between(0, (1 << dead.row_bits) - 1)
        return ~F.when(has_key, hit).otherwise(F.lit(False))

    def _anti_join(self, deletes: Sequence[ScanFile], write_ids: ValidWriteIdList | None, *, places: bool) -> Filter:
        """The delete files as a relation; Spark chooses how to join."""
        files = in_order(deletes) if places else tuple(deletes)
        first = files[0].columns
        ddl = f"{META_DDL}, row struct<{identifier(first.names[0])}:{stored_type(first.children[0])}>"
        # The last condition holds for every event and needs the column "row", which is null in all of them.
        condition = f"{META_NEEDED} AND (row IS NULL OR operation >= 0)" + visible_sql(write_ids, files)
        events = scan_of(self._spark, files, ddl, {})
        if places:
            events = with_file_number(self._spark, events, files)
        shown = [f"{name} AS _dead_{name}" for name in IDS]
        if places:
            shown.append(f"{of_file([file.place for file in files], 'int')} AS _dead_{PLACE}")
        dead = events.where(condition).selectExpr(*shown)

        def without(rows: DataFrame, condition: str) -> DataFrame:
            keys = [*IDS, PLACE] if places else IDS
            return rows.where(condition).join(dead, [rows[name] == dead[f"_dead_{name}"] for name in keys], "left_anti")

        return without


def where(rows: DataFrame, condition: str, alive: SparkColumn | None = None) -> DataFrame:
    from pyspark.sql import functions as F

    # One filter and not two: each is a round trip and an analysis.
    return rows.where(condition if alive is None else F.expr(condition) & alive)
