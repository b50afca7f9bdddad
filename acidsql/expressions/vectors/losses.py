"""Which values of a batch have lost something to a store cast: ``expressions.losses`` on Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acidsql.catalog.types import TIMESTAMP_NTZ, CharType, HiveType, PrimitiveType, VarcharType
from acidsql.expressions.losses import Loss
from acidsql.expressions.values import DOUBLE, FLOAT, STRING, TIMESTAMP, bits_of
from acidsql.expressions.vectors.casts import cast
from acidsql.expressions.vectors.vector import Kernels, Vector

if TYPE_CHECKING:
    from acidsql.expressions.kernels import losses
else:
    losses = Kernels("losses")
_BIGINT = PrimitiveType("bigint")


def lost(loss: Loss, given: Any, stored: Any, types: tuple[HiveType, HiveType]) -> Any:
    """A mask of the values that have lost something so, of arrays of these ``types``; None if none
    has. NotHere.
    """
    given_type, wanted = types

    def as_type(array: Any, kind: HiveType, target: HiveType) -> Any:
        import pyarrow as pa

        batch = pa.RecordBatch.from_arrays([array], names=["v"])
        vector = Vector(kind, lambda rows: rows.column(0))
        return cast(vector, target, ansi=False).run(batch)

    match loss:
        case Loss.NULL:
            return losses.became_null(given, stored)
        case Loss.CUT:
            assert isinstance(wanted, VarcharType | CharType)
            return losses.longer(as_type(given, given_type, STRING), wanted.length)
        case Loss.CHANGED if given_type == STRING or isinstance(given_type, CharType | VarcharType):
            if bits_of(wanted):
                return losses.has_point(given, stored)
            return losses.infinite_text(given, stored)
        case Loss.CHANGED if given_type in (FLOAT, DOUBLE):
            if not bits_of(wanted):
                return losses.became_infinite(given, stored)
            numbers = as_type(given, given_type, DOUBLE)
            return losses.other_double(numbers, as_type(stored, wanted, DOUBLE), bits_of(wanted))
        case Loss.CHANGED:
            is_time = given_type in (TIMESTAMP, TIMESTAMP_NTZ)
            whole = as_type(given, given_type, _BIGINT) if is_time else given
            kind = _BIGINT if is_time else given_type
            return losses.other(whole, as_type(stored, wanted, kind))
    raise AssertionError(loss)
