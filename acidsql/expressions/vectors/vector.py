"""What an expression is compiled to for whole batches, and what is said of one that is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any

from acidsql.catalog.types import HiveType
from acidsql.expressions.tree import Constant
from acidsql.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Vector:
    """``type``: Spark's type of the result; of a mere column its own, with the length of char and
    varchar.

    ``evaluate`` gives an Array, or a Scalar for a column of one value. ``literal``: where the
    expression is no more than one.
    """

    type: HiveType
    evaluate: Callable[[pa.RecordBatch], Any] = field(compare=False, repr=False)
    literal: Constant | None = None

    def run(self, batch: pa.RecordBatch) -> pa.Array:
        """A value for each row, of the Arrow type of ``type`` (``catalog.arrow_types``); a
        timestamp is a wall clock. NotHere.
        """
        from acidsql.expressions.kernels import arrays

        return arrays.result(self.evaluate, batch, self.type)
