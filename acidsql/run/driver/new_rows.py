"""Values as the columns of a table store them, held against its rules; values of partition columns
as Hive's text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from acidsql.arrow_arrays import arrow_array, filled, numpy_array, row_of_nothing
from acidsql.catalog.model import DEFAULT_PARTITION, Table
from acidsql.catalog.partitions import partition_text
from acidsql.catalog.types import HiveType
from acidsql.errors import Span
from acidsql.expressions.losses import Counter, counters_of
from acidsql.expressions.tree import ColumnRef, Condition, Constant, constants_in
from acidsql.expressions.vectors import Vector
from acidsql.expressions.vectors.operators import lost
from acidsql.planner.bind.local.query_trees import LocalMerge, LocalQuery, Semantics, Stored
from acidsql.planner.bind.local.scope import checks_of, stored, vector_of
from acidsql.planner.bind.tables import rules_of
from acidsql.storage.write.driver_writer import Marks

if TYPE_CHECKING:
    import pyarrow as pa


_NOWHERE = Span(0, 0)
_VALUE = "value"
"""What a value is called that was computed before it is stored."""


class Losing:
    """What columns store of the values of several lists of ``Stored``, and what these can lose,
    together: ``counters``.
    """

    def __init__(
        self,
        stores: Sequence[Sequence[Stored]],
        types: Mapping[str, HiveType],
        semantics: Semantics,
    ) -> None:
        """NotHere. ``types``: of what the values name."""
        self._types = types
        self._semantics = semantics
        self._given = [
            [vector_of(one.value, types, semantics) if one.counted else None for one in row]
            for row in stores
        ]
        self.counters = tuple(
            dict.fromkeys(
                counter
                for row, vectors in zip(stores, self._given, strict=True)
                for one, given in zip(row, vectors, strict=True)
                if given is not None
                for counter in counters_of(one.column, given.type)
            )
        )

    def stored(
        self, number: int, stores: Sequence[Stored], batch: pa.RecordBatch
    ) -> tuple[list[pa.Array], list[Marks | None]]:
        """What each column gets of the rows of a batch by the list of this number, and for each
        counter the rows that have its mark. NotHere.
        """
        arrays: list[pa.Array] = []
        marks: dict[Counter, Marks] = {}
        for one, given in zip(stores, self._given[number], strict=True):
            vector = stored(one, self._types, self._semantics)
            counters = () if given is None else counters_of(one.column, given.type)
            if given is None or not counters:
                arrays.append(vector.run(batch))
                continue
            values = given.run(batch)
            arrays.append(self._stored_of(values, given, one))
            for counter in counters:
                mask = lost(
                    counter.loss,
                    values,
                    arrays[-1],
                    (given.type, one.column.type),
                )
                if mask is not None:
                    marks[counter] = numpy_array(mask)
        return arrays, [marks.get(counter) for counter in self.counters]

    def _stored_of(self, values: pa.Array, given: Vector, one: Stored) -> pa.Array:
        """What a column stores of values that are there: they are not computed again."""
        import pyarrow as pa

        batch = pa.RecordBatch.from_arrays([values], names=[_VALUE])
        again = Stored(column=one.column, value=ColumnRef((_VALUE,), _NOWHERE))
        return stored(again, {_VALUE: given.type}, self._semantics).run(batch)


def check_new_rows(table: Table, columns: Sequence[pa.Array], semantics: Semantics) -> None:
    """Raises the error of the first row that breaks a rule. ``columns``: the table's, those of its
    partitions behind the others. NotHere.
    """
    import pyarrow as pa

    rules = rules_of(table)
    if not rules:
        return
    names = [c.name for c in (*table.columns, *table.partition_columns)]
    batch = pa.RecordBatch.from_arrays(list(columns), names=names)
    first: tuple[int, int] | None = None
    for number, (rule, check) in enumerate(
        zip(rules, checks_of(table, semantics, _NOWHERE), strict=True)
    ):
        if check is None:
            assert rule.column is not None
            broken = batch.column(rule.column).is_null()
        else:
            broken = _is_false(check.run(batch))
        row_numbers = np.flatnonzero(numpy_array(broken))
        if len(row_numbers) and (first is None or (int(row_numbers[0]), number) < first):
            first = (int(row_numbers[0]), number)
    if first is not None:
        raise rules[first[1]].violation()


def _is_false(values: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    return pc.invert(filled(values, True))


def key_texts(values: pa.Array) -> pa.Array:
    """Values of a partition column as Hive's text."""
    import pyarrow as pa

    encoded = values.dictionary_encode()
    texts = [partition_text(value) or DEFAULT_PARTITION for value in encoded.dictionary.to_pylist()]
    own = arrow_array([*texts, DEFAULT_PARTITION], pa.string())
    return own.take(filled(encoded.indices, len(texts)))


def one_batch(rows: pa.Table) -> pa.RecordBatch:
    """All rows in one batch."""
    import pyarrow as pa

    columns = [
        column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        for column in rows.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=rows.column_names)


def gathered(batches: Iterable[pa.RecordBatch], least: int) -> Iterator[pa.RecordBatch]:
    """The rows of the batches in batches of ``least`` rows or more, but for the last one."""
    import pyarrow as pa

    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= least:
            yield one_batch(pa.Table.from_batches(waiting))
            waiting, rows = [], 0
    if waiting:
        yield one_batch(pa.Table.from_batches(waiting))


# ---- parts of a statement that are the same for every row


def check_query(query: LocalQuery) -> None:
    """Computes the constants of a query. NotHere."""
    trees = [output.value for output in query.outputs]
    trees += [one.argument for one in query.aggregates if one.argument is not None]
    trees += [one.value for one in query.order]
    trees += [tree for tree in (query.where, query.having) if tree is not None]
    _compute(_vectors(trees, query.semantics))


def check_stores(
    stores: Iterable[Stored], given: dict[str, Condition], semantics: Semantics
) -> None:
    """Computes what columns store of the constants among values: those that the stores themselves
    have, or name as in ``given``. NotHere.
    """
    for one in stores:
        value = one.value
        if isinstance(value, ColumnRef):
            value = given.get(".".join(value.parts), value)
        if isinstance(value, Constant) or value in constants_in(value):
            _compute([stored(Stored(column=one.column, value=value), {}, semantics)])
        else:
            _compute(_vectors([value], semantics))


def check_merge(merge: LocalMerge) -> None:
    """Computes the constants of ON and of the clauses. NotHere."""
    trees = [side for key in merge.keys for side in (key.target, key.source)]
    trees += [c.condition for c in merge.clauses if c.condition is not None]
    trees += [] if merge.rest is None else [merge.rest]
    _compute(_vectors(trees, merge.semantics))
    for clause in merge.clauses:
        check_stores(clause.values, {}, merge.semantics)


def _vectors(trees: Iterable[Condition], semantics: Semantics) -> Iterator[Vector]:
    for tree in trees:
        for constant in constants_in(tree):
            yield vector_of(constant, {}, semantics)


def _compute(vectors: Iterable[Vector]) -> None:
    for vector in vectors:
        nothing = row_of_nothing()
        vector.run(nothing)
