"""Old timestamps of files whose writer was of another time zone than UTC.

ORC stores what the clock of its writer's zone shows, as the seconds to a moment. Which offset the
zone had at a moment before 1970, Java's and Arrow's readers often tell differently: Java knows none
before 1900, and Arrow's zones are those of the machine. Files of Hive's servers are of their zone;
those of our driver are of UTC.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.acid.orc_stripes import extents, writer_zone
from acidsql.acid.orc_tail import OrcTail
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.values import is_utc
from acidsql.storage.file_times import timestamps_in

_FIRST_SURE = 86_400 * 10**9
"""1970-01-02: Arrow takes fractions of seconds around 1970-01-01 by another clock than Java."""


def refuse_old_times(
    opened: pa.NativeFile, tail: OrcTail, stripe: int, arrays: Iterable[pa.Array]
) -> None:
    """Raises NotHere if columns of a stripe hold timestamps that only Java's readers tell."""
    if not any(_is_old(times) for array in arrays for times in timestamps_in(array)):
        return
    extent = extents(tail)[0][stripe]
    zone = writer_zone(bytes(opened.read_at(extent.footer_length, extent.footer)), tail.codec)
    if zone and not is_utc(zone):
        raise NotHere(f'a timestamp before 1970 of a file whose writer\'s time zone is "{zone}"')


def _is_old(times: pa.Array) -> bool:
    least = pc.min(times.cast(pa.timestamp("ns")).cast(pa.int64()))
    return bool(least.is_valid and least.as_py() < _FIRST_SURE)
