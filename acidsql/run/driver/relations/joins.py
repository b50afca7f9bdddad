"""Joins: first the pairs of rows that are equal in their keys, or all pairs, then those of them for
which the rest of ON is true.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from acidsql import interrupts
from acidsql.arrow_arrays import arrow_array, filled, numpy_array
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import Condition
from acidsql.planner.bind.local.query_trees import Columns, JoinKind, JoinTree
from acidsql.planner.bind.local.stores import vector_of
from acidsql.run.driver.held import Held
from acidsql.run.driver.new_rows import one_batch
from acidsql.run.driver.relations.matching import Numbers, equal_pairs, mask_of
from acidsql.storage.stored import arrow_type

MAX_PAIRS = 1 << 22
"""The most pairs of rows that are looked at where no values must be equal."""
_AT_ONCE = 1 << 18
"""Pairs of which the rest of ON is computed at once."""


def joined(tree: JoinTree, left: pa.Table, right: pa.Table, held: Held) -> pa.Table:
    """The rows of a join. ``held`` is told what is in memory. NotHere."""
    sides = [
        one_batch(table.select([name for name, _ in columns]).cast(_schema(columns)))
        for table, columns in zip((left, right), tree.columns, strict=True)
    ]
    join = _Join(tree, sides[0], sides[1])
    parts: list[pa.Table] = []
    rows = weight = 0
    for part in join.parts():
        parts.append(pa.Table.from_batches([part]))
        rows, weight = rows + part.num_rows, weight + part.nbytes
        held(rows, weight)
    return pa.concat_tables(parts)


def _schema(columns: Columns) -> pa.Schema:
    return pa.schema([pa.field(name, arrow_type(kind)) for name, kind in columns])


class _Join:
    def __init__(self, tree: JoinTree, left: pa.RecordBatch, right: pa.RecordBatch) -> None:
        self.tree = tree
        self.left = left
        self.right = right
        self.types = dict((*tree.columns[0], *tree.columns[1]))
        self.schema = _schema((*tree.columns[0], *tree.columns[1]))

    def _value(self, tree: Condition, rows: pa.RecordBatch) -> pa.Array:
        return vector_of(tree, self.types, self.tree.semantics).run(rows)

    def parts(self) -> Iterator[pa.RecordBatch]:
        """The rows of the join."""
        kind = self.tree.kind
        positions, numbers = self._pairs()
        if kind in (JoinKind.SEMI, JoinKind.ANTI):
            matched = mask_of(positions, self.left.num_rows)
            yield self.left.filter(pa.array(matched if kind is JoinKind.SEMI else ~matched))
            return
        yield self._beside(positions, numbers)
        if kind in (JoinKind.LEFT, JoinKind.FULL):
            yield self._beside(np.flatnonzero(~mask_of(positions, self.left.num_rows)), None)
        if kind in (JoinKind.RIGHT, JoinKind.FULL):
            yield self._beside(None, np.flatnonzero(~mask_of(numbers, self.right.num_rows)))

    def _pairs(self) -> tuple[Numbers, Numbers]:
        """The rows of the left side, and those of the right side, for which ON is true."""
        tree, left, right = self.tree, self.left, self.right
        if tree.keys:
            positions, numbers = equal_pairs(
                [self._value(key, left) for key, _ in tree.keys],
                [self._value(key, right) for _, key in tree.keys],
            )
        else:
            if left.num_rows * right.num_rows > MAX_PAIRS:
                raise NotHere("a join of so many pairs of rows")
            positions = np.repeat(np.arange(left.num_rows), right.num_rows)
            numbers = np.tile(np.arange(right.num_rows), left.num_rows)
        if tree.rest is None:
            return positions, numbers
        kept = [np.zeros(0, np.bool_)]
        for begin in range(0, len(positions), _AT_ONCE):
            interrupts.check()
            some = slice(begin, begin + _AT_ONCE)
            truths = self._value(tree.rest, self._beside(positions[some], numbers[some]))
            kept.append(numpy_array(filled(truths, False)))
        mask = np.concatenate(kept)
        return positions[mask], numbers[mask]

    def _beside(self, positions: Numbers | None, numbers: Numbers | None) -> pa.RecordBatch:
        """Rows of both sides beside each other; None is NULL in place of a side's."""
        given = positions if numbers is None else numbers
        assert given is not None
        nulls = [pa.nulls(len(given), field.type) for field in self.schema]
        width = self.left.num_columns
        left = nulls[:width] if positions is None else _taken(self.left, positions)
        right = nulls[width:] if numbers is None else _taken(self.right, numbers)
        return pa.RecordBatch.from_arrays([*left, *right], schema=self.schema)


def _taken(rows: pa.RecordBatch, indices: Numbers) -> list[pa.Array]:
    columns: list[pa.Array] = rows.take(arrow_array(indices, pa.int64())).columns
    return columns
