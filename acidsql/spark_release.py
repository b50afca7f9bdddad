"""Which release of Spark is installed, told without importing it. What a Spark does can be asked of
it where it runs (``spark/jvm``); the driver computes without it, and its values are those of the
Spark that would else compute them.
"""

from __future__ import annotations

import re
import sys
from functools import cache

OLDEST, NEWEST = (3, 5), (4, 3)
"""The releases that acidsql is tried with, from the first to the last: those of pyproject.toml."""


_JAVAS = {(3, 5): (11, 17), (4, 0): (17, 21), (4, 1): (17, 21)}
_JAVAS_SINCE = (17, 21, 25)


def release_of(version: str) -> tuple[int, int]:
    """(4, 1) of "4.1.4" and "4.1.0.dev0"."""
    major, minor = (int(number) for number in re.findall(r"\d+", f"{version}.0")[:2])
    return major, minor


@cache
def installed_release() -> tuple[int, int]:
    """The release of pyspark in this environment; the newest one known where there is none."""
    # a thread may be about to import it
    imported = getattr(sys.modules.get("pyspark"), "__version__", None)
    if imported is not None:
        return release_of(imported)
    from importlib.metadata import PackageNotFoundError, version

    try:
        return release_of(version("pyspark"))
    except PackageNotFoundError:
        return NEWEST


def release_text(release: tuple[int, int]) -> str:
    return ".".join(map(str, release))


def releases_text() -> str:
    """The range in words."""
    return f"{release_text(OLDEST)} to {release_text(NEWEST)}"


def javas() -> tuple[int, ...]:
    """The major versions of Java that the installed Spark runs on."""
    return _JAVAS.get(installed_release(), _JAVAS_SINCE)


def has_colon_casts() -> bool:
    """Whether the installed Spark takes ``x::int`` for a cast."""
    return installed_release() >= (4, 0)


def names_between() -> bool:
    """Whether the installed Spark calls a column of ``x BETWEEN 1 AND 2`` so; before, it names the
    two comparisons.
    """
    return installed_release() >= (4, 0)


def has_star_except() -> bool:
    """Whether the installed Spark knows ``* EXCEPT (a)``."""
    return installed_release() >= (4, 0)


def whole_decimals_take_text() -> bool:
    """Whether the installed Spark, without ANSI semantics, compares a DECIMAL(p,0) and a text as
    such decimals, which rounds the text; before, it takes both for doubles.
    """
    return installed_release() >= (4, 0)
