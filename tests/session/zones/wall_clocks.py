"""Wall clocks at which zones differ: around each change of a zone's clocks, and the ends of time."""

from __future__ import annotations

import datetime
import random
from zoneinfo import ZoneInfo

ZONES = (
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Lord_Howe",  # half an hour of summer time
    "America/Sao_Paulo",  # changes at midnight
    "Pacific/Apia",  # a day left out
    "Europe/Amsterdam",
    "Africa/Casablanca",
    "UTC",
)
_SECOND = datetime.timedelta(seconds=1)
_AROUND = (-90000, -3601, -3600, -1800, -1, 0, 1, 1799, 1800, 1801, 3599, 3600, 5400, 7200, 90000)
ENDS = tuple(
    map(
        datetime.datetime.fromisoformat,
        (
            "1899-12-31 23:59:59",
            "1900-01-01 00:00:00",
            "1969-12-31 12:00:00.5",
            "1970-01-01 00:00:00",
            "1970-01-01 00:30:00.25",
            "2200-01-01 00:00:00",
        ),
    )
)
FAR = tuple(
    map(
        datetime.datetime.fromisoformat,
        (
            "0002-02-03 04:05:06",
            "1500-02-28 12:00:00",
            "1583-01-01 00:00:00",
            "9999-12-31 23:59:59.999999",
        ),
    )
)
"""Of years that Arrow's reader cannot hold: a file of such is not looked into."""


def offset(zone: ZoneInfo, moment: datetime.datetime) -> datetime.timedelta:
    """What clocks of a zone show at a moment beyond those of UTC."""
    shown = moment.replace(tzinfo=datetime.UTC).astimezone(zone).utcoffset()
    assert shown is not None
    return shown


def changes(name: str, first: int, last: int) -> list[datetime.datetime]:
    """The moments at which the clocks of a zone are changed between the years."""
    zone, found = ZoneInfo(name), []
    at, step = datetime.datetime(first, 1, 1), datetime.timedelta(days=5)
    while at.year < last:
        low, high = at, at + step
        if offset(zone, low) != offset(zone, high):
            while high - low > _SECOND:
                middle = low + (high - low) // 2
                middle = middle.replace(microsecond=0)
                if offset(zone, middle) == offset(zone, low):
                    low = middle
                else:
                    high = middle
            found.append(high)
        at += step
    return found


def clocks_around(name: str, moment: datetime.datetime) -> set[datetime.datetime]:
    """The wall clocks before and behind a change, by both of its offsets."""
    zone = ZoneInfo(name)
    sides = (offset(zone, moment - _SECOND), offset(zone, moment))
    return {moment + side + around * _SECOND for side in sides for around in _AROUND}


def is_left_out(name: str, clock: datetime.datetime) -> bool:
    """Whether clocks of a zone never show it."""
    aware = clock.replace(tzinfo=ZoneInfo(name))
    return aware.astimezone(datetime.UTC).astimezone(aware.tzinfo).replace(tzinfo=None) != clock


def sample(name: str, seed: int, count: int = 60) -> list[datetime.datetime]:
    """Wall clocks of all kinds, in random order and with random fractions."""
    chosen = random.Random(seed)
    around: set[datetime.datetime] = set()
    for moment in chosen.sample(
        moments := changes(name, 1971, 2036) or [ENDS[3]], min(6, len(moments))
    ):
        around |= clocks_around(name, moment)
    clocks = sorted(around)
    picked = chosen.sample(clocks, min(count, len(clocks)))
    fractions = (0, 0, 1, 500_000, 999_999)
    return [clock.replace(microsecond=chosen.choice(fractions)) for clock in picked] + list(ENDS)
