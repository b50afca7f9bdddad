"""What a TIMESTAMP is inside Spark, and how it goes into ORC files and comes out of them.

A TIMESTAMP is Hive's: a wall clock without a zone. Spark's type is a moment, shown by the clock of
a zone. So our sessions of Spark have the zone UTC, whatever zone the session has that they are
derived from: there the clock of each moment is one wall clock, with no hour twice and none left
out, and all that Spark computes is what Hive computes.

ORC's Java classes know no other clock than that of the zone of their process: they write the clock
that it shows at a moment, and make the moment again of the clock that they read. Where that zone is
not UTC, a value is brought to its clock on its way (``written``) and back (``shown``). What such a
process cannot tell is refused: wall clocks that summer time leaves out, and times for which Java's
and Spark's rules of a zone differ (before 1900 and behind 2037 in some zones).
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from acidsql.catalog.types import HiveType, holds, is_timestamp
from acidsql.errors import ExecutionError
from acidsql.expressions.spark_words import nested_sql, text_literal
from acidsql.lazy import dataclass
from acidsql.spark import jvm
from acidsql.spark_settings import OUR_ZONE, USER_ZONE

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_MARK = "acidsql: time: "
_MARKED = re.compile(rf"{_MARK}(?P<text>[^\n]*?) in (?P<zone>[\w/+:.-]+)(?=[\s.']|$)")
_SECOND = 1_000_000
_FIRST, _FIRST_SURE, _LAST_SURE = (
    "0002-01-05 00:00:00",  # the first hours of year 1 are of no year to Java, or of the next one
    "1900-01-03 00:00:00",
    "2037-12-30 00:00:00",
)
_USUAL_GAPS = frozenset((1800, 3600, 7200))
HINT = (
    "Start Spark with -Duser.timezone=UTC in spark.driver.extraJavaOptions and"
    " spark.executor.extraJavaOptions; where the driver can do it alone, SET acidsql.engine=local."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileClock:
    """The clock of the Java processes that read and write files. ``gaps``: see ``jvm.ZoneFacts``.
    ``first``, ``last``: the wall clocks between which it can be relied on; None: all.
    """

    zone: str = OUR_ZONE
    gaps: tuple[tuple[int, int], ...] = ()
    lengths: frozenset[int] = frozenset()
    first: str | None = None
    last: str | None = None

    @property
    def is_utc(self) -> bool:
        return self.zone == OUR_ZONE

    def shown(self, expression: str, hive_type: HiveType, *, doubtful: bool = False) -> str:
        """SQL for the value of a column that was read. ``doubtful``: its files may hold times that
        the zone leaves out, which were read as later ones: then those that may be such are refused.
        """
        if self.is_utc:
            return expression
        value = partial(self._shown, doubtful=doubtful)
        return nested_sql(expression, hive_type, is_timestamp, value)

    def _shown(self, sql: str, _: HiveType, *, doubtful: bool) -> str:
        shown = f"from_utc_timestamp({sql}, {text_literal(self.zone)})"
        doubts = self._outside(shown)
        if doubtful:
            for length in sorted(self.lengths):
                before = f"timestamp_micros(unix_micros({shown}) - {length * _SECOND}L)"
                doubts.append(self._is_left_out(before))
        if not doubts:
            return shown
        refused = self._raised(shown, "cannot be told from another one")
        return f"IF({' OR '.join(doubts)}, {refused}, {shown})"

    def stored(self, expression: str, hive_type: HiveType) -> str:
        """SQL for what is given to a writer for the value of a column."""
        if self.is_utc:
            return expression
        return nested_sql(expression, hive_type, is_timestamp, lambda sql, _: self.written(sql))

    def written(self, sql: str) -> str:
        """SQL for what is given to the writer for a TIMESTAMP."""
        if self.is_utc:
            return sql
        given = f"to_utc_timestamp({sql}, {text_literal(self.zone)})"
        doubts = " OR ".join([self._is_left_out(sql), *self._outside(sql)])
        return f"IF({doubts}, {self._raised(sql, 'cannot be written')}, {given})"

    def _is_left_out(self, sql: str) -> str:
        zone = text_literal(self.zone)
        return f"from_utc_timestamp(to_utc_timestamp({sql}, {zone}), {zone}) <> {sql}"

    def _outside(self, sql: str) -> list[str]:
        """Tests of times that are not relied on."""
        first = [] if self.first is None else [f"{sql} < TIMESTAMP '{self.first}'"]
        last = [] if self.last is None else [f"{sql} > TIMESTAMP '{self.last}'"]
        return first + last

    def _raised(self, sql: str, what: str) -> str:
        words = f"{what} in {self.zone}"
        text = f"concat('{_MARK}the timestamp ', CAST({sql} AS string), ' {words}')"
        return f"CAST(raise_error({text}) AS timestamp)"

    def leaves_out(self, values: pa.Array) -> pa.Array:
        """Which wall clocks (timestamps without a zone, in microseconds) the zone leaves out."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        from acidsql.arrow_arrays import arrow_array, numpy_array

        seconds = numpy_array(pc.fill_null(values.cast(pa.int64()), -(1 << 60))) // _SECOND
        in_gaps = np.zeros(len(seconds), np.bool_)
        for first, end in self.gaps:
            in_gaps |= (seconds >= first) & (seconds < end)
        try:
            early, late = (
                pc.assume_timezone(values, self.zone, ambiguous="earliest", nonexistent=choice)
                for choice in ("earliest", "latest")
            )
        except pa.ArrowInvalid:  # a zone that Java alone knows
            return arrow_array(in_gaps)
        return pc.or_(arrow_array(in_gaps), pc.fill_null(pc.not_equal(early, late), False))


UTC_CLOCK = FileClock()
_clocks: dict[str, FileClock] = {}


def file_clock(spark: SparkSession) -> FileClock:
    """The clock of the processes that read and write files for ``spark``. ExecutionError where
    they are of several zones.
    """
    zones = jvm.zones_of_tasks(spark)
    if len(zones) > 1:
        names = ", ".join(f'"{zone}"' for zone in zones)
        raise ExecutionError(
            f"Spark's executors are of different time zones: {names}",
            detail="timestamps in ORC files would shift by the difference",
            hint=HINT,
        )
    zone = zones[0] if zones else OUR_ZONE
    if zone == OUR_ZONE:
        return UTC_CLOCK
    if zone not in _clocks:
        _clocks[zone] = _clock(spark, zone)
    return _clocks[zone]


def user_clock(spark: SparkSession) -> FileClock:
    """The clock of the user's zone, which ``current_timestamp()`` shows, and which Parquet files go
    by that name no other: ours is UTC.
    """
    zone = spark.conf.get(USER_ZONE, OUR_ZONE) or OUR_ZONE
    if jvm.same_time_zone(spark, zone, OUR_ZONE):
        return UTC_CLOCK
    return FileClock(zone=zone)


def _clock(spark: SparkSession, zone: str) -> FileClock:
    facts = jvm.zone_facts(spark, zone)
    if facts is None:
        return FileClock(zone=zone, lengths=_USUAL_GAPS, first=_FIRST_SURE, last=_LAST_SURE)
    return FileClock(
        zone=zone,
        gaps=facts.gaps,
        lengths=facts.lengths,
        first=_FIRST if facts.sure_past else _FIRST_SURE,
        last=None if facts.sure_future else _LAST_SURE,
    )


def timed(hive_type: HiveType) -> bool:
    """Whether a column of the type holds timestamps."""
    return holds(hive_type, is_timestamp)


def refused_time(message: str) -> ExecutionError | None:
    """The error for a time that a task has refused, by the message of Spark's; None for others."""
    match = _MARKED.search(message)
    if match is None:
        return None
    return ExecutionError(
        f'{match["text"]} by a Java whose time zone is "{match["zone"]}"',
        detail="ORC's Java classes know no other times than those of their zone's clocks",
        hint=HINT,
    )
