"""The ids of the rows of a stripe, and with them who of these is visible and alive."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acidsql.acid.orc_types import ID_FIELDS
from acidsql.arrow_arrays import arrow_array, arrow_scalar, numpy_array
from acidsql.lazy_dataclass import dataclass
from acidsql.storage.columns import Longs
from acidsql.storage.delete_events import valid_mask
from acidsql.storage.footers import RowIdRange
from acidsql.storage.scan.file_plan import CURRENT, FileRead

Mask = npt.NDArray[np.bool_]
ID_TYPES = (pa.int64(), pa.int32(), pa.int64())


@dataclass(frozen=True, slots=True)
class Stripe:
    """The rows of a stripe of a file: ``count`` of them, the first of them ``first_row`` of a file
    that is numbered. ``stored``: the id columns that were read.
    """

    plan: FileRead
    number: int
    count: int
    first_row: int
    stored: Mapping[str, pa.Array]

    def alive(self) -> Mask | None:
        """Which rows are visible and alive; None: all."""
        plan = self.plan
        alive = None
        if plan.write_ids is not None:
            alive = valid_mask(_longs(self.stored[CURRENT]), plan.write_ids)
        if plan.dead is None:
            return alive
        partition_number = plan.file.partition_number
        if plan.same_ids is None:
            hit = plan.dead.alive(partition_number, *(_longs(self.stored[n]) for n in ID_FIELDS))
        elif self._is_numbered():
            ids = RowIdRange(*plan.same_ids, self.first_row, self.first_row + self.count - 1)
            hit = plan.dead.alive_within(partition_number, ids)
        else:
            rows = _longs(self.stored[ID_FIELDS[2]])
            hit = plan.dead.alive_of(partition_number, *plan.same_ids, rows)
        return hit if alive is None else alive & hit

    def _is_numbered(self) -> bool:
        plan = self.plan
        if plan.numbered or plan.file.ids is None:
            return plan.numbered
        rows = _longs(self.stored[ID_FIELDS[2]])
        return plan.numbering.note(plan.file, self.number, rows, self.first_row)

    def ids(self) -> list[pa.Array]:
        """The three ids of each row."""
        plan = self.plan
        if plan.same_ids is None:
            columns = (self.stored[name] for name in ID_FIELDS)
            return [array.cast(kind) for array, kind in zip(columns, ID_TYPES, strict=True)]
        numbers = np.arange(self.first_row, self.first_row + self.count, dtype=np.int64)
        rows = arrow_array(numbers) if plan.numbered else self.stored[ID_FIELDS[2]]
        same = zip(plan.same_ids, ID_TYPES, strict=False)
        return [*(pa.repeat(arrow_scalar(value, kind), self.count) for value, kind in same), rows]


def _longs(array: pa.Array) -> Longs:
    longs: Longs = numpy_array(array).astype(np.int64, copy=False)
    return longs
