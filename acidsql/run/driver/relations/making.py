"""The rows of what a query is over: scans, joins, set operations, queries of WITH and behind FROM,
and what its sub-queries are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from acidsql.arrow_arrays import row_of_nothing
from acidsql.errors import InternalError
from acidsql.plan.operators import CommonRows, JoinRows, SetRows, SubQueryRows
from acidsql.planner.bind.local.query_trees import (
    CommonTable,
    JoinTree,
    LocalQuery,
    LocalSource,
    SetTree,
    SubQuery,
)
from acidsql.run.driver.held import at_most
from acidsql.run.driver.new_rows import gathered
from acidsql.run.driver.relations.sub_queries import answer_of
from acidsql.run.driver.rows import rows_of, stream_rows
from acidsql.run.driver.values_rows import batches_of_values
from acidsql.run.flow import Flow

if TYPE_CHECKING:
    import pyarrow as pa

    from acidsql.run.driver.relations.sub_queries import Answer

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
            from acidsql.run.driver.relations.joins import joined

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
    from acidsql.run.driver.relations.set_rows import combined

    names = [name for name, _ in tree.columns]
    left, right = (_table(side, flow) for side in (tree.left, tree.right))
    left, right = left.rename_columns(names), right.rename_columns(names)
    return combined(tree.kind, left, right, at_most(most))
