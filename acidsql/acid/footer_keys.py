"""The three user metadata keys of an ACID file's footer. Hive: OrcRecordUpdater.KeyIndexBuilder,
AcidStats, OrcAcidVersion.

Readers trust them: a key index that is too low brings deleted rows back in Hive 4, wrong or missing
stats of a delete file do so (or fail) in Hive 3. So they are always computed from what is in the
file, never from what should be.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from acidsql.acid.row_id import RowId

KEY_INDEX = "hive.acid.key.index"
STATS = "hive.acid.stats"
VERSION = "hive.acid.version"


def last_rows(stripes: Sequence[int]) -> list[int]:
    """The position of the last row of each stripe, from the stripes' row counts."""
    return [end - 1 for end in accumulate(stripes)]


def footer_keys(last_ids: Sequence[RowId], *, inserts: int = 0, deletes: int = 0) -> dict[str, str]:
    """The user metadata of a footer. ``last_ids``: the id of the last row of every stripe, in file
    order.
    """
    index = "".join(f"{i.write_id},{i.bucket_property},{i.row};" for i in last_ids)
    return {KEY_INDEX: index, STATS: f"{inserts},0,{deletes}", VERSION: "2"}


def is_strictly_ascending(
    write_ids: npt.NDArray[np.int64],
    bucket_properties: npt.NDArray[np.int32],
    rows: npt.NDArray[np.int64],
) -> bool:
    """Whether the id triples rise from each row to the next, as every reader of a delta expects."""
    write = np.sign(np.diff(write_ids))
    bucket = np.sign(np.diff(bucket_properties))
    row = np.sign(np.diff(rows))
    return bool(((write > 0) | (write == 0) & ((bucket > 0) | (bucket == 0) & (row > 0))).all())
