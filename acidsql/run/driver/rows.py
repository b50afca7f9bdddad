"""The rows of an understood query, made of the batches of its table: filtered, grouped, computed,
sorted, cut, one batch after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING

from acidsql import interrupts
from acidsql.catalog.types import ROW_ID_TYPE, HiveType
from acidsql.errors import InternalError
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.pruning import columns_of
from acidsql.expressions.tree import ColumnRef, Condition
from acidsql.expressions.vectors import Vector, vectorized
from acidsql.lazy_dataclass import dataclass
from acidsql.planner.bind.local.query_trees import (
    ROW_ID,
    ROW_ID_FIELDS,
    Aggregate,
    Grouping,
    LocalQuery,
    SubQuery,
    SubQueryKind,
    Window,
)
from acidsql.run.driver.ordering import Groups, Held, Key, at_most, distinct_rows, first_rows
from acidsql.storage.scan.scanner import Where
from acidsql.storage.stored import arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

    from acidsql.run.driver.sub_queries import Answer

    Batches = Iterable[pa.RecordBatch]
    Answers = Mapping[str, Answer]


def rows_of(
    query: LocalQuery,
    batches: Batches,
    max_bytes: int | None = None,
    answers: Answers = MappingProxyType({}),
) -> pa.Table:
    """The answer. ``batches``: of the query's ``columns``, behind the three id fields where it asks
    for ROW__ID; one row of nothing for a query that reads no table. ``answers``: what each of its
    sub-queries is to the rows of a batch. NotHere.
    """
    return _Rows(query, answers).table(batches, max_bytes)


def stream_rows(
    query: LocalQuery, batches: Batches, answers: Answers = MappingProxyType({})
) -> Iterator[pa.RecordBatch]:
    """The answer as it comes, of a query that neither groups nor orders. Else as ``rows_of``."""
    return _Rows(query, answers).stream(batches)


def early_test(query: LocalQuery) -> Where | None:
    """The query's condition as a scan can test it, before it reads what else of a row is wanted;
    None where it is over ROW__ID, or over nothing.
    """
    if query.where is None:
        return None
    used = columns_of(query.where)
    names = tuple(name for name in query.names if name in used)
    if not names or len(names) < len(used):
        return None
    return Where(names, _compiled(query, query.where, dict(query.columns)).run)


def _compiled(query: LocalQuery, tree: Condition, types: Mapping[str, HiveType]) -> Vector:
    meaning = query.semantics
    try:
        return vectorized(tree, types, ansi=meaning.ansi, zone=meaning.zone, now=meaning.now)
    except NotHere as signal:
        raise InternalError(f"an expression was understood before: {signal.reason}") from signal


@dataclass(slots=True)
class _Rows:
    query: LocalQuery
    answers: Answers
    types: dict[str, HiveType] = field(init=False)
    vectors: dict[Condition, Vector] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.types = dict(self.query.columns)
        if self.query.row_id:
            self.types[ROW_ID] = ROW_ID_TYPE
            self.types |= {name: hive_type for name, (_, hive_type) in ROW_ID_FIELDS.items()}
        query = self.query
        computed: Iterable[Grouping | Aggregate | SubQuery | Window]
        computed = (*query.group_by, *query.aggregates, *query.sub_queries, *query.windows)
        for one in computed:
            self.types[one.name] = one.type

    def table(self, batches: Batches, max_bytes: int | None) -> pa.Table:
        import pyarrow as pa

        query = self.query
        sources = self._filtered(self._answered(self._named(batches)), query.where)
        if query.grouped:
            groups = self._grouped(sources, at_most(max_bytes))
            sources = self._filtered(self._answered(groups, single=True), query.having)
        if query.windows:
            sources = self._windowed(sources, at_most(max_bytes))
        wanted = None if query.limit is None else query.limit + query.offset
        computed, held = self._computed(sources), at_most(max_bytes)
        if query.distinct:
            computed = distinct_rows(computed, None if query.order else wanted, held)
        if query.order:
            table = first_rows(computed, self._keys, wanted, held)
        else:
            table = pa.concat_tables(_until(_within(computed, held), wanted))
        outputs = range(len(query.outputs))
        table = table.select(list(outputs)).slice(query.offset, query.limit)
        return table.rename_columns([output.name for output in query.outputs])

    def stream(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        query = self.query
        names = [output.name for output in query.outputs]
        wanted = None if query.limit is None else query.limit + query.offset
        seen = 0
        for table in _until(
            self._computed(self._filtered(self._answered(self._named(batches)), query.where)),
            wanted,
        ):
            first, seen = seen, seen + table.num_rows
            end = seen if wanted is None else min(seen, wanted)
            begin = max(query.offset, first)
            part = table.slice(begin - first, max(end - begin, 0))
            yield from part.rename_columns(names).to_batches()

    def _named(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """The batches with the names that trees have for ROW__ID and its fields. There is one at
        least.
        """
        import pyarrow as pa

        empty = True
        for batch in batches:
            interrupts.check()
            empty = False
            yield _with_row_id(batch) if self.query.row_id else batch
        if empty:
            kinds = [pa.field(n, arrow_type(self.types[n])) for n in self._source_names]
            yield pa.RecordBatch.from_pylist([], pa.schema(kinds))

    def _windowed(self, batches: Batches, held: Held) -> Iterator[pa.RecordBatch]:
        """All rows, with a column for each window function."""
        import pyarrow as pa

        from acidsql.run.driver.new_rows import one_batch
        from acidsql.run.driver.windows import with_windows

        tables = _within((pa.Table.from_batches([batch]) for batch in batches), held)
        yield with_windows(one_batch(pa.concat_tables(tables)), self.query.windows, self._value)

    def _answered(self, batches: Batches, *, single: bool = False) -> Iterator[pa.RecordBatch]:
        """The batches with a column for each sub-query. ``single``: for each that is one value."""
        asked = [
            one
            for one in self.query.sub_queries
            if not single or (one.kind is SubQueryKind.SCALAR and not one.outer)
        ]
        for batch in batches:
            for one in asked:
                operand = None if one.operand is None else self._value(one.operand, batch)
                outer = [self._value(tree, batch) for tree in one.outer]
                answer = self.answers[one.name](batch.num_rows, operand, outer)
                batch = batch.append_column(one.name, answer)
            yield batch

    @property
    def _source_names(self) -> list[str]:
        ids = [*ROW_ID_FIELDS, ROW_ID] if self.query.row_id else []
        return [*ids, *self.query.names]

    def _filtered(
        self, batches: Iterable[pa.RecordBatch], condition: Condition | None
    ) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch if condition is None else batch.filter(self._value(condition, batch))

    def _value(self, tree: Condition, batch: pa.RecordBatch) -> pa.Array:
        """The values of a tree for the rows of a batch. NotHere."""
        if isinstance(tree, ColumnRef):
            return batch.column(tree.parts[0])
        if tree not in self.vectors:
            self.vectors[tree] = _compiled(self.query, tree, self.types)
        return self.vectors[tree].run(batch)

    def _typed(self, tree: Condition, hive_type: HiveType, batch: pa.RecordBatch) -> pa.Array:
        value, kind = self._value(tree, batch), arrow_type(hive_type)
        return value if value.type == kind else value.cast(kind)

    def _grouped(self, batches: Iterable[pa.RecordBatch], held: Held) -> Iterator[pa.RecordBatch]:
        groups = Groups(
            keys=[(one.name, arrow_type(one.type)) for one in self.query.group_by],
            aggregates=self.query.aggregates,
            held=held,
        )
        for batch in batches:
            arguments = [
                None if one.argument is None else self._value(one.argument, batch)
                for one in self.query.aggregates
            ]
            keys = [self._typed(one.value, one.type, batch) for one in self.query.group_by]
            groups.add(keys, arguments, batch.num_rows)
        yield groups.batch()

    def _computed(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """The outputs of each batch by their places, and behind them what it is sorted by."""
        import pyarrow as pa

        trees = self._trees
        names = [str(i) for i in range(len(trees))]
        for batch in batches:
            arrays = [self._typed(tree, hive_type, batch) for tree, hive_type in trees]
            yield pa.Table.from_arrays(arrays, names=names)

    @property
    def _trees(self) -> list[tuple[Condition, HiveType]]:
        """What is computed of each row: the outputs, and what else the order asks for."""
        trees = [(output.value, output.type) for output in self.query.outputs]
        computed = {tree for tree, _ in trees}
        others = {one.value: one.type for one in self.query.order if one.value not in computed}
        return [*trees, *others.items()]

    @property
    def _keys(self) -> list[Key]:
        trees = [tree for tree, _ in self._trees]
        return [
            Key(
                column=trees.index(one.value),
                descending=one.descending,
                nulls_first=one.nulls_first,
            )
            for one in self.query.order
        ]


def _within(tables: Iterable[pa.Table], held: Held) -> Iterator[pa.Table]:
    """The tables. ``held`` is told how much all of them together are."""
    rows = weight = 0
    for table in tables:
        rows, weight = rows + table.num_rows, weight + table.nbytes
        held(rows, weight)
        yield table


def _until(tables: Iterable[pa.Table], wanted: int | None) -> Iterator[pa.Table]:
    """The tables, as far as they are needed for so many rows; one at least."""
    rows = 0
    for table in tables:
        rows += table.num_rows
        yield table
        if wanted is not None and rows >= wanted:
            return


def _with_row_id(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch with its three id fields, and ROW__ID made of them, under their names in trees."""
    import pyarrow as pa

    ids = batch.columns[: len(ROW_ID_FIELDS)]
    whole = pa.StructArray.from_arrays(ids, fields=list(arrow_type(ROW_ID_TYPE)))
    return pa.RecordBatch.from_arrays(
        [*ids, whole, *batch.columns[len(ids) :]],
        names=[*ROW_ID_FIELDS, ROW_ID, *batch.schema.names[len(ids) :]],
    )
