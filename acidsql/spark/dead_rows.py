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

MOST_FOLDED_BITS = 23
"""A bitmap of row numbers takes a megabyte at most: it travels with each task."""

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
        spark = self._spark
        how = classic.NumberSet.of(dead.keys)
        folded_bits = min(MOST_FOLDED_BITS, dead.row_bits)
        objects = {
            "dead_rows": classic.bits(spark, dead.keys & ((1 << folded_bits) - 1)),
            "write_ids": classic.longs(spark, dead.write_ids),
            "buckets": classic.longs(spark, dead.bucket_properties),
            "dead": classic.held(spark, dead.keys, how),
        }
        widths = (dead.place_bits if places else 0, dead.write_id_bits, dead.bucket_bits, dead.row_bits, folded_bits)
        return classic.with_objects(spark, f"alive {how} {widths}", lambda: _alive(spark, how, *widths), objects)

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


def _alive(
    spark: SparkSession, how: classic.NumberSet, place_bits: int, write_id_bits: int, bucket_bits: int, row_bits: int, folded_bits: int
) -> classic.JavaObject:
    """The test of ``DeadRows``, where their parts are called dead_rows (a bitmap of row numbers, folded), write_ids, buckets and dead.

    ``place_bits``: 0 where the rows lie in one place.
    """

    def sql(text: str, **parts: classic.JavaObject) -> classic.JavaObject:
        return classic.expression(spark, text, **parts)

    write_id = classic.position(spark, sql("write_ids"), sql("originalTransaction"))
    bucket = classic.position(spark, sql("buckets"), sql("CAST(bucket AS bigint)"))
    place = f"shiftleft(CAST({PLACE} AS bigint), {write_id_bits}) | " if place_bits else ""
    with_bucket = f"shiftleft({place}CAST(write_id AS bigint), {bucket_bits}) | CAST(bucket_id AS bigint)"
    # Of a row whose write id or bucket no event has it is negative, because a position is then.
    key = sql(f"shiftleft({with_bucket}, {row_bits}) | rowId", write_id=write_id, bucket_id=bucket)
    fits = f"rowId <= {(1 << row_bits) - 1}L" + (f" AND {PLACE} <= {(1 << place_bits) - 1}" if place_bits else "")
    # Most rows are told by one look at a bitmap; only for those whose number is among the dead of some file is the key made.
    maybe = classic.bit(spark, sql("dead_rows"), sql(f"CAST(rowId & {(1 << folded_bits) - 1}L AS int)"))
    member = classic.is_member(spark, how, sql("dead"), key)
    return sql(f"NOT (maybe AND {fits} AND member)", maybe=maybe, member=member)


def where(rows: DataFrame, condition: str, alive: SparkColumn | None = None) -> DataFrame:
    from pyspark.sql import functions as F

    # One filter and not two: each is a round trip and an analysis.
    return rows.where(condition if alive is None else F.expr(condition) & alive)
