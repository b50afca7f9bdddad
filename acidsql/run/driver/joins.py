"""Joins: the rows of the right side are held, those of the left are looked up in them batch by
batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from acidsql.arrow_arrays import filled, numpy_array
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import Condition
from acidsql.planner.bind.local.query_trees import Columns, JoinKind, JoinTree
from acidsql.planner.bind.local.stores import vector_of
from acidsql.run.driver.held import Held
from acidsql.run.driver.matching import Matches, Numbers
from acidsql.run.driver.new_rows import one_batch
from acidsql.storage.stored import arrow_type

MAX_PAIRS = 1 << 22
"""The most pairs of rows of one batch that are looked at for a condition that is no equality."""

Batches = Iterable[pa.RecordBatch]


def joined(tree: JoinTree, left: pa.Table, right: pa.Table, held: Held) -> pa.Table:
    """The rows of a join. ``held`` is told what is in memory after each batch. NotHere."""
    columns = [name for name, _ in tree.columns[1]]
    join = _Join(tree, one_batch(right.select(columns).cast(_schema(tree.columns[1]))))
    parts: list[pa.Table] = []
    rows, weight = join.right.num_rows, join.right.nbytes
    for part in join.parts(left.cast(_schema(tree.columns[0])).to_batches()):
        parts.append(pa.Table.from_batches([part]))
        rows, weight = rows + part.num_rows, weight + part.nbytes
        held(rows, weight)
    return pa.concat_tables(parts) if parts else join.schema.empty_table()


def _schema(columns: Columns) -> pa.Schema:
    return pa.schema([pa.field(name, arrow_type(kind)) for name, kind in columns])


class _Join:
    def __init__(self, tree: JoinTree, right: pa.RecordBatch) -> None:
        self.tree = tree
        self.right = right
        self.types = dict((*tree.columns[0], *tree.columns[1]))
        only_left = tree.kind in (JoinKind.SEMI, JoinKind.ANTI)
        self.schema = _schema((*tree.columns[0], *(() if only_left else tree.columns[1])))
        keys = [self._value(key, right) for _, key in tree.keys]
        self._matches = Matches(keys, right.num_rows) if keys else None
        self._matched = np.zeros(right.num_rows, np.bool_)

    def _value(self, tree: Condition, rows: pa.RecordBatch) -> pa.Array:
        return vector_of(tree, self.types, self.tree.semantics).run(rows)

    def parts(self, left: Batches) -> Iterator[pa.RecordBatch]:
        """The rows of the join, of one batch of the left side after the other."""
        kind = self.tree.kind
        for batch in left:
            positions, numbers = self._pairs(batch)
            self._matched[numbers] = True
            has_match = np.zeros(batch.num_rows, np.bool_)
            has_match[positions] = True
            match kind:
                case JoinKind.SEMI:
                    yield batch.filter(pa.array(has_match))
                case JoinKind.ANTI:
                    yield batch.filter(pa.array(~has_match))
                case _:
                    yield self._beside(batch, positions, numbers)
                    if kind in (JoinKind.LEFT, JoinKind.FULL) and not has_match.all():
                        yield self._beside(batch, np.flatnonzero(~has_match), None)
        if kind in (JoinKind.RIGHT, JoinKind.FULL) and not self._matched.all():
            yield self._beside(None, None, np.flatnonzero(~self._matched))

    def _pairs(self, batch: pa.RecordBatch) -> tuple[Numbers, Numbers]:
        """The rows of a batch, and those of the right side, for which ON is true."""
        rest = self.tree.rest
        if self._matches is not None:
            positions, numbers = self._matches.pairs(
                [self._value(key, batch) for key, _ in self.tree.keys]
            )
        else:
            if batch.num_rows * self.right.num_rows > MAX_PAIRS:
                raise NotHere("a join of so many pairs of rows")
            positions = np.repeat(np.arange(batch.num_rows), self.right.num_rows)
            numbers = np.tile(np.arange(self.right.num_rows), batch.num_rows)
        if rest is None:
            return positions, numbers
        pairs = self._pair(batch, positions, numbers)
        kept = numpy_array(filled(self._value(rest, pairs), False))
        return positions[kept], numbers[kept]

    def _pair(self, batch: pa.RecordBatch, positions: Numbers, numbers: Numbers) -> pa.RecordBatch:
        left, right = batch.take(pa.array(positions)), self.right.take(pa.array(numbers))
        return pa.RecordBatch.from_arrays(
            [*left.columns, *right.columns], names=[*left.schema.names, *right.schema.names]
        )

    def _beside(
        self, batch: pa.RecordBatch | None, positions: Numbers | None, numbers: Numbers | None
    ) -> pa.RecordBatch:
        """Rows of both sides beside each other; None is NULL in place of a side's."""
        given = positions if numbers is None else numbers
        assert given is not None
        nulls = [pa.nulls(len(given), field.type) for field in self.schema]
        width = len(self.tree.columns[0])
        left = nulls[:width] if batch is None else batch.take(pa.array(positions)).columns
        right = nulls[width:] if numbers is None else self.right.take(pa.array(numbers)).columns
        return pa.RecordBatch.from_arrays([*left, *right], schema=self.schema)
