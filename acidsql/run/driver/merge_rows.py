"""The pairs of rows of a MERGE as batches: which clause acts on each, and what it makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acidsql.acid.orc_types import ID_FIELDS
from acidsql.arrow_arrays import arrow_array, arrow_scalar, filled, numpy_array
from acidsql.expressions.losses import lost_columns
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.spark_words import SOURCE_ROW, spark_type
from acidsql.expressions.tree import Condition
from acidsql.parser.statements import Match
from acidsql.plan.merge_sql import LEADING_COLUMNS
from acidsql.plan.plans import MergePlan
from acidsql.planner.bind.local.merge_trees import LocalMerge, of_source, of_target
from acidsql.planner.bind.local.stores import vector_of
from acidsql.run.driver.new_rows import Losing, check_new_rows, key_texts, one_batch
from acidsql.storage.key_lookup import SourceKeys
from acidsql.storage.partitions import key_names
from acidsql.storage.scan.orc_file import ID_TYPES
from acidsql.storage.stored import arrow_schema, data_names
from acidsql.storage.write.losses import marked

Numbers = npt.NDArray[np.int64]


class LocalSource:
    """The rows of the source. ``table``: under their own names with SOURCE_ROW behind; ``batch``:
    under those that trees have for them. ``clauses``: what becomes of them.
    """

    def __init__(self, plan: MergePlan, local: LocalMerge, rows: pa.Table) -> None:
        self.local = local
        self.clauses = ClauseRows(plan, local)
        self.kinds = {name: spark_type(kind) for name, kind in local.source_types}
        self.count = rows.num_rows
        numbers = arrow_array(np.arange(self.count), pa.int64())
        names = [name for name, _ in local.source_types]
        self.table = rows.rename_columns(names).append_column(SOURCE_ROW, numbers)
        self.batch = pa.RecordBatch.from_arrays(
            one_batch(self.table).columns, names=[*map(of_source, names), SOURCE_ROW]
        )
        self._targets = [vector_of(k.target, local.types, local.semantics) for k in local.keys]
        keys = [
            pa.chunked_array([vector_of(k.source, local.types, local.semantics).run(self.batch)])
            for k in local.keys
        ]
        wanted = SourceKeys.of(keys)
        if wanted is None:
            raise NotHere("so many different keys")
        self._keys = wanted

    def matched_clauses(self) -> pa.Array:
        """The number of the clause that acts on each row's match; NULL if none does. NotHere."""
        return self.clauses.numbers(Match.MATCHED, self.batch)

    def taken(self, numbers: Numbers) -> pa.RecordBatch:
        return self.batch.take(arrow_array(numbers, pa.int64()))

    def matches(self, rows: pa.RecordBatch) -> tuple[Numbers, Numbers]:
        """Positions of rows of the target, and the row of the source each is equal to by the keys.
        NotHere.
        """
        if not self.count:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        return self._keys.matches([pa.chunked_array([v.run(rows)]) for v in self._targets])

    def paired(self, rows: pa.RecordBatch, positions: Numbers, numbers: Numbers) -> pa.RecordBatch:
        """Rows of the target, each beside one of the source."""
        left, right = rows.take(arrow_array(positions, pa.int64())), self.taken(numbers)
        return pa.RecordBatch.from_arrays(
            [*left.columns, *right.columns], names=[*left.schema.names, *right.schema.names]
        )


class ClauseRows:
    """What the clauses of one MERGE make of pairs. ``counters``: those of the marks of rows."""

    def __init__(self, plan: MergePlan, local: LocalMerge) -> None:
        self._plan = plan
        self._local = local
        self._table = plan.table
        values = [clause.values for clause in local.clauses]
        self._losing = Losing(values, local.types, local.semantics)
        self.counters = self._losing.counters

    def named(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch of the target, the id fields first, under the names that trees have for its
        columns: a column of the table may be called as an id field is.
        """
        columns = batch.schema.names[len(ID_FIELDS) :]
        return pa.RecordBatch.from_arrays(
            batch.columns, names=[*ID_FIELDS, *map(of_target, columns)]
        )

    def holds(self, condition: Condition, rows: pa.RecordBatch) -> Numbers:
        """The positions of rows for which a condition is true. NotHere."""
        vector = vector_of(condition, self._local.types, self._local.semantics)
        mask = numpy_array(filled(vector.run(rows), False))
        return np.flatnonzero(mask)

    def acting(self, match: Match, rows: pa.RecordBatch) -> Iterator[tuple[int, Numbers]]:
        """The number of each clause about such pairs, with the positions of those that it acts on:
        the first whose condition holds does. NotHere.
        """
        left = np.arange(rows.num_rows)
        for number, clause in enumerate(self._plan.merge.clauses):
            if clause.match is not match or not len(left):
                continue
            condition = self._local.clauses[number].condition
            if condition is None:
                hit = np.arange(len(left))
            else:
                hit = self.holds(condition, _taken(rows, left))
            if len(hit):
                yield number, left[hit]
            left = np.delete(left, hit)

    def numbers(self, match: Match, rows: pa.RecordBatch) -> pa.Array:
        """For each row the number of the clause that acts on it, NULL if none does."""
        numbers = np.full(rows.num_rows, -1, np.int32)
        for number, positions in self.acting(match, rows):
            numbers[positions] = number
        return arrow_array(numbers, pa.int32(), mask=numbers < 0)

    def of(self, match: Match, rows: pa.RecordBatch) -> Iterator[pa.Table]:
        """LEADING_COLUMNS and values of the pairs that the clauses act on. NotHere."""
        for number, positions in self.acting(match, rows):
            yield self._clause_rows(number, _taken(rows, positions))

    def _clause_rows(self, number: int, rows: pa.RecordBatch) -> pa.Table:
        table, count, local = self._table, rows.num_rows, self._local
        values, marks = self._losing.stored(number, local.clauses[number].values, rows)
        values = values or [pa.nulls(count, field.type) for field in arrow_schema(table.columns)]
        if len(values) == len(table.columns):  # a changed row stays in its partition
            values += [rows.column(of_target(c.name)) for c in table.partition_columns]
        if self._plan.merge.clauses[number].makes_rows:
            check_new_rows(table, values, local.semantics)
        has = set(rows.schema.names)
        arrays = [
            rows.column(SOURCE_ROW) if SOURCE_ROW in has else pa.nulls(count, pa.int64()),
            pa.repeat(arrow_scalar(number, pa.int32()), count),
            *(
                rows.column(name) if name in has else pa.nulls(count, kind)
                for name, kind in zip(ID_FIELDS, ID_TYPES, strict=True)
            ),
            *values[: len(table.columns)],
            *map(key_texts, values[len(table.columns) :]),
            *marked(marks, count),
        ]
        return pa.Table.from_arrays(arrays, schema=self._schema())

    def table(self, parts: Sequence[pa.Table]) -> pa.Table:
        """All parts in one table."""
        return pa.concat_tables(parts) if parts else pa.Table.from_batches([], self._schema())

    def _schema(self) -> pa.Schema:
        kinds = [pa.int64(), pa.int32(), *ID_TYPES]
        fields = list(map(pa.field, LEADING_COLUMNS, kinds))
        names = data_names(self._table.columns)
        kinds = [field.type for field in arrow_schema(self._table.columns)]
        fields += map(pa.field, names, kinds)
        fields += (pa.field(name, pa.string()) for name in key_names(self._table))
        return pa.schema([*fields, *(pa.field(n, pa.int64()) for n in lost_columns(self.counters))])


def _taken(rows: pa.RecordBatch, positions: Numbers) -> pa.RecordBatch:
    if len(positions) == rows.num_rows:
        return rows
    return rows.take(arrow_array(positions, pa.int64()))
