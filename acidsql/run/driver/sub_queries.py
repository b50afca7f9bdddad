"""What the queries inside of expressions are to the rows around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from acidsql.catalog.types import arrow_type
from acidsql.expressions.not_here import NotHere
from acidsql.planner.bind.local.query_trees import SubQuery, SubQueryKind
from acidsql.run.driver.ordering import whole_array

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    Answer = Callable[[int, pa.Array | None, Sequence[pa.Array]], pa.Array]
    Mask = npt.NDArray[np.bool_]


def answer_of(sub_query: SubQuery, rows: pa.Table, of_nothing: Callable[[], pa.Table]) -> Answer:
    """What gives the values of a sub-query for so many rows, of its operand and of the values it
    is compared with. ``rows``: of the sub-query; ``of_nothing``: what it gives of no rows. NotHere.
    """
    columns = [whole_array(column) for column in rows.columns]
    keys = columns[len(columns) - len(sub_query.outer) :]
    match sub_query.kind:
        case SubQueryKind.EXISTS:
            return _exists(keys, rows.num_rows)
        case SubQueryKind.IN:
            return _Contained(columns[0], keys).answer
        case SubQueryKind.SCALAR if keys:
            return _looked_up(columns[0], keys, _single(of_nothing(), sub_query))
        case SubQueryKind.SCALAR:
            return _repeated(_single(rows, sub_query))


def _single(rows: pa.Table, sub_query: SubQuery) -> pa.Scalar:
    """The value of a query of one row, NULL of none."""
    import pyarrow as pa

    if rows.num_rows > 1:
        raise NotHere("a scalar sub-query of several rows")
    kind = arrow_type(sub_query.type)
    return rows.column(0)[0].cast(kind) if rows.num_rows else pa.scalar(None, kind)


def _repeated(value: pa.Scalar) -> Answer:
    import pyarrow as pa

    return lambda count, operand, outer: pa.repeat(value, count)


def _looked_up(values: pa.Array, keys: Sequence[pa.Array], of_nothing: pa.Scalar) -> Answer:
    """The value of the group of equal keys, that of no rows where there is none."""
    import numpy as np
    import pyarrow as pa

    from acidsql.run.driver.rows import Matches

    matches = Matches(keys, len(values))
    every = pa.concat_arrays([values, pa.repeat(of_nothing, 1).cast(values.type)])

    def answer(count: int, operand: pa.Array | None, outer: Sequence[pa.Array]) -> pa.Array:
        positions, rows = matches.pairs(outer)
        indices = np.full(count, len(values), np.int64)
        indices[positions] = rows
        return every.take(pa.array(indices))

    return answer


def _exists(keys: Sequence[pa.Array], rows: int) -> Answer:
    import pyarrow as pa

    from acidsql.run.driver.rows import Matches

    if not keys:
        return _repeated(pa.scalar(rows > 0))
    matches = Matches(keys, rows)
    return lambda count, operand, outer: pa.array(matches.mask(outer, count))


class _Contained:
    """IN: NULL where the value, or one of those it is looked up in, is not known and nothing
    equals.
    """

    def __init__(self, values: pa.Array, keys: Sequence[pa.Array]) -> None:
        from acidsql.run.driver.rows import Matches

        self._equal = Matches([values, *keys], len(values))
        unknown = values.is_null()
        self._any: Callable[[Sequence[pa.Array], int], Mask]
        self._unknown: Callable[[Sequence[pa.Array], int], Mask]
        if keys:
            nulls = [key.filter(unknown) for key in keys]
            self._any = Matches(keys, len(values)).mask
            self._unknown = Matches(nulls, values.null_count).mask
        else:
            self._any = _all(len(values) > 0)
            self._unknown = _all(values.null_count > 0)

    def answer(self, count: int, operand: pa.Array | None, outer: Sequence[pa.Array]) -> pa.Array:
        import pyarrow as pa

        from acidsql.arrow_arrays import numpy_array

        assert operand is not None
        equal = self._equal.mask([operand, *outer], count)
        unsure = numpy_array(operand.is_null()) | self._unknown(outer, count)
        return pa.array(equal, mask=~equal & unsure & self._any(outer, count))


def _all(value: bool) -> Callable[[Sequence[pa.Array], int], Mask]:
    import numpy as np

    return lambda keys, rows: np.full(rows, value, np.bool_)
