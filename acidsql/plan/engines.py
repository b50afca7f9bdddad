"""Who may carry a statement out: ``acidsql.engine`` and ``acidsql.write.path``, read when a plan is
built, and why it is Spark; and who loads rows quicker, where both may.
"""

from __future__ import annotations

from acidsql.errors import UnsupportedStatementError
from acidsql.expressions.not_here import NotHere
from acidsql.files.parallel import THREADS
from acidsql.lazy import dataclass
from acidsql.settings import Settings

INSERT_SHARE = 4
"""An INSERT's share of the bytes that Spark may hand to the driver: its tasks write as well, and no
row has to come.
"""

TOO_HEAVY = "more bytes are read than acidsql.local.max.bytes allows"
"""Why the driver leaves to Spark what it might have read."""
QUICKER = "Spark, which runs, loads so many bytes quicker"

_DRIVER_READS, _DRIVER_WRITES = 0.006, 0.022
_SPARK_LOADS = 0.065
_SPARK_JOB, _SPARK_START = 0.5, 6.0
"""Seconds of a processor that a load takes for a megabyte of the files that it reads: the driver
reads in one thread and writes in all of them, Spark's tasks do both. And what Spark takes besides:
for a job, and until the first one has ended in a new process. Measured on two processors with
Parquet files of 0.1 to 4 million rows (those of ``tests/bench/loads.py``) that go into a table of
ZLIB: 0.7 and 1.9 seconds of Spark's for the first and a million, 0.08 and 0.68 of the driver's.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkAtHand:
    """The Spark of a session when a statement is planned. ``tasks``: how many it runs at once."""

    runs: bool = False
    tasks: int = THREADS


def driver_is_quicker_up_to(spark: SparkAtHand, threads: int = THREADS) -> int | None:
    """Bytes of files that the driver loads in less time than Spark, in whole megabytes; None where
    it does whatever they weigh.
    """
    lost = _DRIVER_READS + _DRIVER_WRITES / threads - _SPARK_LOADS / spark.tasks
    if lost <= 0:
        return None
    saved = _SPARK_JOB if spark.runs else _SPARK_JOB + _SPARK_START
    return max(1, int(saved / lost)) << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Engines:
    """What the two settings say together.

    ``read_bytes``: the most bytes of files that the driver alone reads; ``load_bytes``: that it
    reads for an INSERT; ``row_bytes``: of rows that it changes. None is as many as there are.
    ``fetched_bytes``: of changed rows that Spark hands to the driver.
    """

    engine: str
    path: str
    read_bytes: int | None
    load_bytes: int | None
    row_bytes: int | None
    fetched_bytes: int

    @property
    def driver(self) -> bool:
        """Whether the driver alone may make rows."""
        return self.engine != "spark"

    @property
    def spark(self) -> bool:
        """Whether Spark may."""
        return self.engine != "local"

    @property
    def changes_by_driver(self) -> bool:
        """Whether rows may be changed without Spark. What is to go the big path is Spark's, unless
        there is to be no Spark.
        """
        return not self.spark or (self.driver and self.small)

    @property
    def small(self) -> bool:
        """Whether Spark may hand changed rows to the driver, which writes them."""
        return self.path != "big"

    @property
    def forced_small(self) -> bool:
        """Whether it does so however many they are."""
        return self.path == "small"

    @property
    def size_words(self) -> str:
        """What decides between the small path and the big one. Where the setting forces the small
        path, only rows that Arrow's writer cannot write take the other.
        """
        return "what Arrow can write" if self.forced_small else "size"


def engines(settings: Settings, spark: SparkAtHand | None = None) -> Engines:
    """What the settings allow. No other module decides by these two. ``spark``: what would load
    rows else, where that matters.
    """
    engine, path = settings.text("acidsql.engine"), settings.text("acidsql.write.path")
    either = engine == "auto"
    fetched = int(settings.number("acidsql.write.driver.max.bytes"))
    most = int(settings.number("acidsql.local.max.bytes"))
    quicker = None if spark is None else driver_is_quicker_up_to(spark)
    return Engines(
        engine=engine,
        path=path,
        read_bytes=most if either else None,
        load_bytes=min(most, quicker or most) if either else None,
        row_bytes=fetched if either and path == "auto" else None,
        fetched_bytes=fetched,
    )


def only_spark(why: NotHere) -> UnsupportedStatementError:
    """The error of a statement that the driver alone is to carry out, and cannot."""
    return UnsupportedStatementError(
        f"acidsql.engine=local does not carry this out: {why.reason}",
        hint="SET acidsql.engine=auto leaves it to Spark.",
        span=why.span,
    )
