"""The rows of an understood query, made of the batches of its relations: joined, filtered, grouped,
computed, sorted, cut, one batch after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acidsql import interrupts
from acidsql.arrow_arrays import arrow_array, arrow_scalar, filled, numpy_array, row_of_nothing
from acidsql.catalog.types import ROW_ID_TYPE, HiveType, arrow_type
from acidsql.errors import InternalError
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.pruning import columns_of
from acidsql.expressions.tree import ColumnRef, Condition
from acidsql.expressions.vectors import Vector, vectorized
from acidsql.lazy import dataclass
from acidsql.plan.operators import CommonRows, JoinRows, SetRows, SubQueryRows
from acidsql.planner.bind.local.query_trees import (
    ROW_ID,
    ROW_ID_FIELDS,
    Aggregate,
    Columns,
    CommonTable,
    Grouping,
    JoinKind,
    JoinTree,
    LocalQuery,
    LocalSource,
    SetKind,
    SetTree,
    SubQuery,
    SubQueryKind,
    Window,
)
from acidsql.planner.bind.local.scope import vector_of
from acidsql.run.driver.new_rows import gathered, one_batch
from acidsql.run.driver.ordering import (
    Groups,
    Held,
    Key,
    aggregated,
    at_most,
    distinct_rows,
    first_rows,
    normalized,
    sortable,
    whole_array,
)
from acidsql.run.driver.sub_queries import answer_of
from acidsql.run.driver.values_rows import batches_of_values
from acidsql.run.flow import Flow
from acidsql.storage.scan.scanner import Where

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


# ---- relations
#
# Rows of several tables: joins, set operations, WITH, and what all these are made of.


# ---- matching
#
# Rows that are equal in some of their values, as Spark compares them with ``=``: NULL equals
# nothing, NaN itself, 0.0 equals -0.0.


Numbers = npt.NDArray[np.int64]


class Matches:
    """The rows of one side, which those of the other are looked up in. NotHere where their values
    are too many to be numbered.
    """

    def __init__(self, keys: Sequence[pa.Array], rows: int) -> None:
        from acidsql.storage.key_lookup import SourceKeys

        self.rows = rows
        numbered = SourceKeys.of([_comparable(key) for key in keys]) if rows else None
        if numbered is None and rows:
            raise NotHere("so many different keys")
        self._keys = numbered

    def pairs(self, keys: Sequence[pa.Array]) -> tuple[Numbers, Numbers]:
        """Positions of rows, ascending, and the row that each of them equals; one that equals
        several comes as often.
        """
        if self._keys is None:
            return _NOTHING, _NOTHING
        return self._keys.matches([_comparable(key) for key in keys])

    def mask(self, keys: Sequence[pa.Array], rows: int) -> npt.NDArray[np.bool_]:
        """Which of ``rows`` rows equal any."""
        if self._keys is None:
            return np.zeros(rows, np.bool_)
        return self._keys.mask([_comparable(key) for key in keys])


def mask_of(positions: Numbers, rows: int) -> npt.NDArray[np.bool_]:
    """Which of ``rows`` rows are at these positions."""
    mask = np.zeros(rows, np.bool_)
    mask[positions] = True
    return mask


def equal_pairs(left: Sequence[pa.Array], right: Sequence[pa.Array]) -> tuple[Numbers, Numbers]:
    """The places of rows of the left and of the right side that are equal in all these values. Rows
    of the shorter side are those that are looked up in.
    """
    if len(left[0]) < len(right[0]):
        numbers, positions = _hashed(right, left)
    else:
        positions, numbers = _hashed(left, right)
    return positions, numbers


def _hashed(probed: Sequence[pa.Array], built: Sequence[pa.Array]) -> tuple[Numbers, Numbers]:
    names = [f"k{number}" for number in range(len(probed))]
    sides = [
        pa.Table.from_arrays(
            [*map(sortable, columns), arrow_array(np.arange(len(columns[0])), pa.int64())],
            names=[*(f"{side}{name}" for name in names), side],
        )
        for side, columns in (("p", probed), ("b", built))
    ]
    keys = [[f"{side}{name}" for name in names] for side in "pb"]
    try:
        from pyarrow._acero import (  # type: ignore[import-not-found,unused-ignore]
            Declaration,
            HashJoinNodeOptions,
            TableSourceNodeOptions,
        )
    except ImportError:
        joined = sides[0].join(sides[1], *keys, join_type="inner", use_threads=False)
    else:
        options = HashJoinNodeOptions("inner", *keys, ["p"], ["b"])
        inputs = [Declaration("table_source", TableSourceNodeOptions(side)) for side in sides]
        joined = Declaration("hashjoin", options, inputs=inputs).to_table(use_threads=False)
    positions, numbers = (numpy_array(whole_array(joined.column(side))) for side in "pb")
    return positions, numbers


_NOTHING = np.zeros(0, np.int64)


def _comparable(values: pa.Array) -> pa.ChunkedArray:
    return pa.chunked_array([sortable(values)])


# ---- joins
#
# Joins: first the pairs of rows that are equal in their keys, or all pairs, then those of them for
# which the rest of ON is true.


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


# ---- set rows
#
# Set operations. Rows are equal whose values are, NULLs among them.


Counts = npt.NDArray[np.int64]
_LEFT, _RIGHT = "left", "right"


def combined(kind: SetKind, left: pa.Table, right: pa.Table, held: Held) -> pa.Table:
    """The rows of two tables of the same columns, which are called by their places. NotHere."""
    held(left.num_rows + right.num_rows, left.nbytes + right.nbytes)
    match kind:
        case SetKind.UNION_ALL:
            return pa.concat_tables([left, right])
        case SetKind.UNION:
            return next(distinct_rows([left, right], None, held))
    names = left.column_names
    both = pa.concat_tables([_marked(left, (1, 0)), _marked(right, (0, 1))])
    grouped = aggregated(both, names, [(_LEFT, "sum"), (_RIGHT, "sum")])
    counts = (numpy_array(whole_array(grouped.column(f"{n}_sum"))) for n in (_LEFT, _RIGHT))
    copies = _copies(kind, *counts)
    return grouped.select(names).take(pa.array(np.repeat(np.arange(len(copies)), copies)))


def _copies(kind: SetKind, left: Counts, right: Counts) -> Counts:
    """How often each row comes that is so often on the one and on the other side."""
    copies: Counts
    match kind:
        case SetKind.INTERSECT:
            copies = ((left > 0) & (right > 0)).astype(np.int64)
        case SetKind.INTERSECT_ALL:
            copies = np.minimum(left, right)
        case SetKind.EXCEPT:
            copies = ((left > 0) & (right == 0)).astype(np.int64)
        case _:
            copies = np.maximum(left - right, 0)
    return copies


def _marked(rows: pa.Table, marks: tuple[int, int]) -> pa.Table:
    """The rows with what each of them counts on the two sides."""
    arrays = [normalized(whole_array(column)) for column in rows.columns]
    arrays += [pa.repeat(arrow_scalar(mark, pa.int64()), rows.num_rows) for mark in marks]
    return pa.Table.from_arrays(arrays, names=[*rows.column_names, _LEFT, _RIGHT])


# ---- making
#
# The rows of what a query is over: scans, joins, set operations, queries of WITH and behind FROM,
# and what its sub-queries are.


Made = CommonRows | JoinRows | SetRows | SubQueryRows


def rows(query: LocalQuery, flow: Flow, max_bytes: int | None = None) -> pa.Table:
    """The answer of a query. NotHere."""
    return rows_of(_left(query, flow), _source(query, flow), max_bytes, _answers(query, flow))


def stream(query: LocalQuery, flow: Flow) -> Iterator[pa.RecordBatch]:
    """The answer as it comes, of a query that neither groups nor orders. NotHere."""
    return stream_rows(_left(query, flow), _source(query, flow), _answers(query, flow))


def make(operator: Made, flow: Flow) -> pa.Table:
    """The rows of an operator, which others find in the flow. NotHere."""
    match operator:
        case CommonRows(table=table, max_bytes=most):
            result = rows(table.query, flow, most)
            result = result.rename_columns([name.lower() for name, _ in table.columns])
            flow.results[table.number] = result
        case JoinRows(tree=tree, max_bytes=most):
            left, right = _table(tree.left, flow), _table(tree.right, flow)
            result = flow.results[tree.number] = joined(tree, left, right, at_most(most))
        case SetRows(tree=tree, max_bytes=most):
            result = flow.results[tree.number] = _combined(tree, flow, most)
        case SubQueryRows(query=query, max_bytes=most):
            result = flow.results[query.number] = rows(query.query, flow, most)
    return result


def _left(query: LocalQuery, flow: Flow) -> LocalQuery:
    """What of a query is left to do with the rows of its scan."""
    return replace(query, where=None) if query.scan in flow.tested else query


def _source(query: LocalQuery, flow: Flow) -> Iterable[pa.RecordBatch]:
    """The rows of a query's source, in batches as large as the results they are looked up in: for
    each batch these are prepared anew.
    """
    least = 0
    for one in query.sub_queries:
        if one.operand is not None or one.outer:
            least = max(least, flow.results[one.number].num_rows)
    return gathered(_batches(query, flow), least) if least else _batches(query, flow)


def _batches(query: LocalQuery, flow: Flow) -> Iterable[pa.RecordBatch]:
    if query.scan is not None:
        return flow.batches[query.scan]
    if query.values is not None:
        return batches_of_values(query.values, query.names)
    if query.source is None:
        return [row_of_nothing()]
    batches: list[pa.RecordBatch] = (
        _table(query.source, flow).select(list(query.names)).to_batches()
    )
    return batches


def _table(source: LocalSource, flow: Flow) -> pa.Table:
    """The rows of a source, its columns in lower case."""
    match source:
        case LocalQuery():
            result = rows(source, flow)
            return result.rename_columns([name.lower() for name in result.column_names])
        case CommonTable(number=number) | JoinTree(number=number) | SetTree(number=number):
            return flow.results[number]


def _answers(query: LocalQuery, flow: Flow) -> Mapping[str, Answer]:
    return {one.name: _answer(one, flow) for one in query.sub_queries}


def _answer(one: SubQuery, flow: Flow) -> Answer:
    if one.number not in flow.results:
        raise InternalError("a sub-query whose rows are not made")
    ungrouped = replace(one.query, group_by=(), outputs=one.query.outputs[:1])
    return answer_of(one, flow.results[one.number], lambda: rows_of(ungrouped, ()))


def _combined(tree: SetTree, flow: Flow, most: int | None) -> pa.Table:

    names = [name for name, _ in tree.columns]
    left, right = (_table(side, flow) for side in (tree.left, tree.right))
    left, right = left.rename_columns(names), right.rename_columns(names)
    return combined(tree.kind, left, right, at_most(most))
