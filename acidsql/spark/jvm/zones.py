"""In which time zones Spark's tasks live, and what Java knows of a zone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from weakref import WeakKeyDictionary

from acidsql.expressions.values import is_utc
from acidsql.spark.jvm.java import Jvm, java_class, jvm
from acidsql.spark.jvm.jobs import has_own_processes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_OF_TASK = "reflect('java.time.ZoneId', 'systemDefault')"
_OPTIONS = ("spark.executor.extraJavaOptions", "spark.executor.defaultJavaOptions")
_OPTION = re.compile(r"-Duser\.timezone=(\S+)")
_MOST_TASKS = 1024
_TRANSITION = re.compile(r"Gap at ([-\dT:.]+?)([+-][\d:]+|Z) to ([+-][\d:]+|Z)\]")
_FIRST_OF_REBASE, _LAST_LISTED = -2_208_988_800, 2_145_916_800
"""1900-01-01 and 2038-01-01 in seconds since 1970: between them Java has one view of each zone.
Before, Spark goes by a list of its own; behind, Java's old classes go by rules alone.
"""
_LISTED_LATER = 4_102_444_800
"""2100-01-01: behind it the old classes of newer Javas, of 25 among them, do so."""
_YEAR = 31_556_952

_of_servers: WeakKeyDictionary[SparkSession, tuple[str, ...]] = WeakKeyDictionary()
_of_executors: WeakKeyDictionary[Any, tuple[str, tuple[str, ...]]] = WeakKeyDictionary()
"""By Spark's context: the executors that there were, and their zones."""


class ZoneFacts(NamedTuple):
    """``gaps``: wall clocks that a zone leaves out, as seconds from 1970, those of its rules that
    go on for ever but for the first of each year left out. ``lengths``: of all gaps, in seconds.
    ``sure_past``, ``sure_future``: whether Spark's and Java's ways to tell times before 1900 and
    behind 2037 are of one mind.
    """

    gaps: tuple[tuple[int, int], ...]
    lengths: frozenset[int]
    sure_past: bool
    sure_future: bool


def zones_of_tasks(spark: SparkSession) -> tuple[str, ...]:
    """The default time zones of the Java processes that read and write files, "UTC" for any that
    is like it. More than one where executors differ. Asking executors takes a job, once for each
    set of them, and so does asking a Spark Connect server.
    """
    door = jvm(spark)
    if door is None:
        if spark not in _of_servers:
            _of_servers[spark] = _named(None, _asked(spark, 16))
        return _of_servers[spark]
    if not has_own_processes(spark):
        zone = java_class(door, "java.time.ZoneId").systemDefault().getId()
        return _named(door, [str(zone)])
    context: Any = spark.sparkContext
    for name in _OPTIONS:
        given = _OPTION.findall(str(context.getConf().get(name, "")))
        if given:
            return _named(door, given[-1:])
    executors = context._jsc.sc().getExecutorMemoryStatus().keySet().toString()
    known = _of_executors.get(context)
    if known is None or known[0] != executors:
        zones = _named(door, _asked(spark, min(_MOST_TASKS, 2 * context.defaultParallelism)))
        executors = context._jsc.sc().getExecutorMemoryStatus().keySet().toString()
        _of_executors[context] = known = executors, zones
    return known[1]


def _asked(spark: SparkSession, tasks: int) -> list[str]:
    rows = spark.sql(f"SELECT {_OF_TASK} AS zone FROM range(0, {tasks}, 1, {tasks})").collect()
    return [row[0] for row in rows]


def _named(door: Jvm | None, zones: list[str]) -> tuple[str, ...]:
    return tuple(sorted({"UTC" if _is_utc(door, zone) else zone for zone in zones}))


def _is_utc(door: Jvm | None, zone: str) -> bool:
    if door is None or is_utc(zone):
        return is_utc(zone)
    return bool(_old_zone(door, zone).hasSameRules(_old_zone(door, "UTC")))


def same_time_zone(spark: SparkSession, one: str, other: str) -> bool:
    """Whether two zone names mean the same rules to Java ("UTC" and "Etc/UTC" do).

    On Spark Connect only equal names are known to, and the names of UTC.
    """
    door = jvm(spark)
    if one == other or (is_utc(one) and is_utc(other)):
        return True
    return door is not None and bool(_old_zone(door, one).hasSameRules(_old_zone(door, other)))


def _old_zone(door: Jvm, name: str) -> Any:
    """A ``java.util.TimeZone`` by the name that ``java.time.ZoneId`` knows."""
    zone = java_class(door, "java.time.ZoneId").of(name)
    return java_class(door, "java.util.TimeZone").getTimeZone(zone)


def zone_facts(spark: SparkSession, zone: str) -> ZoneFacts | None:
    """What Java knows of a zone; None on Spark Connect, where nothing is known."""
    door = jvm(spark)
    if door is None:
        return None
    rules = java_class(door, "java.time.ZoneId").of(zone).getRules()
    if rules.isFixedOffset():
        return ZoneFacts((), frozenset(), sure_past=True, sure_future=True)
    gaps = [*_gaps(rules.getTransitions().toString()), *_later_gaps(door, rules)]
    clocks = _Clocks(door, zone, rules)
    past = [first - 1 for first, _ in gaps if first < _FIRST_OF_REBASE]
    past += [-12_000_000_000 + number * 25 * _YEAR // 2 for number in range(25)]
    future = chain.from_iterable(_changes(door, rules, at) for at in (_LAST_LISTED, _LISTED_LATER))
    return ZoneFacts(
        tuple(gaps),
        frozenset(end - first for first, end in gaps),
        sure_past=all(map(clocks.agree_in_the_past, past)),
        sure_future=all(map(clocks.agree, future)),
    )


def _gaps(transitions: str) -> Iterator[tuple[int, int]]:
    import numpy as np

    for clock, before, after in _TRANSITION.findall(transitions):
        first = int(np.datetime64(clock, "s").astype(np.int64))
        yield first, first + _seconds(after) - _seconds(before)


def _seconds(offset: str) -> int:
    if offset == "Z":
        return 0
    parts = [*map(int, offset[1:].split(":")), 0, 0][:3]
    seconds = parts[0] * 3600 + parts[1] * 60 + parts[2]
    return -seconds if offset[0] == "-" else seconds


def _later_gaps(door: Jvm, rules: Any) -> Iterator[tuple[int, int]]:
    """The next gaps of the rules that hold for ever."""
    for transition in islice(_transitions(door, rules, _LAST_LISTED + 100 * _YEAR), 2):
        yield from _gaps(transition.toString())


def _changes(door: Jvm, rules: Any, second: int) -> Iterator[int]:
    """The moments around thirty years of changes of the clock from ``second`` on, and one in each
    month of the first year: who has other rules is seen to differ at one of them.
    """
    for month in range(12):
        yield second + month * _YEAR // 12
    for transition in islice(_transitions(door, rules, second), 60):
        at = int(transition.getInstant().getEpochSecond())
        yield from (at - 1, at)


def _transitions(door: Jvm, rules: Any, second: int) -> Iterator[Any]:
    """Java's ZoneOffsetTransitions behind a moment, without end where a rule holds for ever."""
    transition = rules.nextTransition(java_class(door, "java.time.Instant").ofEpochSecond(second))
    while transition is not None:
        yield transition
        transition = rules.nextTransition(transition.getInstant())


class _Clocks:
    """The ways in which Java and Spark tell the time in a zone."""

    def __init__(self, door: Jvm, zone: str, rules: Any) -> None:
        self._zone = zone
        self._rules = rules
        self._old = _old_zone(door, zone)
        self._instant = java_class(door, "java.time.Instant")
        self._rebase = java_class(door, "org.apache.spark.sql.catalyst.util.RebaseDateTime")

    def agree(self, second: int) -> bool:
        return self._offset(second) == int(self._old.getOffset(second * 1000)) // 1000

    def agree_in_the_past(self, second: int) -> bool:
        """Whether what Java shows is what Spark makes of it, which goes by a list of its own."""
        micros = self._rebase.rebaseJulianToGregorianMicros(self._zone, second * 1_000_000)
        shown = int(micros) // 1_000_000
        old = second + int(self._old.getOffset(second * 1000)) // 1000
        return shown + self._offset(shown) == old

    def _offset(self, second: int) -> int:
        offset = self._rules.getOffset(self._instant.ofEpochSecond(second))
        return cast(int, offset.getTotalSeconds())


def wall_clocks(frame: DataFrame, *, to: str = "timestamp_ntz") -> DataFrame:
    """``frame`` with its moments as the wall clocks that its session shows, also inside lists, maps
    and structs. ``to`` "timestamp": its wall clocks as the moments at which its session shows them.
    The same on Spark Connect.
    """
    from pyspark.sql import functions as F
    from pyspark.sql import types as t

    moment, clock = t.TimestampType(), t.TimestampNTZType()
    old, new = (clock, moment) if to == "timestamp" else (moment, clock)

    def changed(kind: Any) -> Any:
        match kind:
            case t.ArrayType():
                return t.ArrayType(changed(kind.elementType), kind.containsNull)
            case t.MapType():
                kinds = changed(kind.keyType), changed(kind.valueType)
                return t.MapType(*kinds, kind.valueContainsNull)
            case t.StructType():
                fields = (
                    t.StructField(f.name, changed(f.dataType), f.nullable, f.metadata)
                    for f in kind.fields
                )
                return t.StructType(list(fields))
        return new if kind == old else kind

    fields = frame.schema.fields
    kinds = [changed(field.dataType) for field in fields]
    if all(kind == field.dataType for kind, field in zip(kinds, fields, strict=True)):
        return frame
    names = [f"c{number}" for number in range(len(fields))]  # several columns may have one name
    shown = [
        F.col(name).alias(field.name, metadata=field.metadata or {})
        if kind == field.dataType
        else F.col(name).cast(kind).alias(field.name)
        for name, field, kind in zip(names, fields, kinds, strict=True)
    ]
    return frame.toDF(*names).select(*shown)
