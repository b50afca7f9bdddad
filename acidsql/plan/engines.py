"""Who may carry a statement out: ``acidsql.engine`` and ``acidsql.write.path``, read when a plan is
built, and why it is Spark.
"""

from __future__ import annotations

from acidsql.errors import UnsupportedStatementError
from acidsql.expressions.not_here import NotHere
from acidsql.lazy_dataclass import dataclass
from acidsql.settings import Settings

INSERT_SHARE = 4
"""An INSERT's share of the bytes that the small path may bring to the driver: its rows go to one
file, which one thread compresses.
"""

TOO_HEAVY = "more bytes are read than acidsql.local.max.bytes allows"
"""Why the driver leaves to Spark what it might have read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engines:
    """What the two settings say together.

    ``read_bytes``: the most bytes of files that the driver alone reads; ``row_bytes``: of rows
    that it changes. None is as many as there are. ``fetched_bytes``: of changed rows that Spark
    hands to the driver.
    """

    engine: str
    path: str
    read_bytes: int | None
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


def engines(settings: Settings) -> Engines:
    """What the settings allow. No other module decides by these two."""
    engine, path = settings.text("acidsql.engine"), settings.text("acidsql.write.path")
    either = engine == "auto"
    fetched = int(settings.number("acidsql.write.driver.max.bytes"))
    return Engines(
        engine=engine,
        path=path,
        read_bytes=int(settings.number("acidsql.local.max.bytes")) if either else None,
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
