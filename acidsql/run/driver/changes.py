"""INSERT, LOAD DATA, UPDATE and DELETE on the driver: what is stored of rows, and their files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, repeat
from operator import add
from typing import TYPE_CHECKING, assert_never

from acidsql.acid.orc_types import ID_FIELDS
from acidsql.catalog.types import arrow_type
from acidsql.errors import InternalError
from acidsql.expressions.losses import counted, lost_columns
from acidsql.expressions.not_here import NotHere
from acidsql.plan.operators import (
    CountChanges,
    Effect,
    FindFiles,
    Literals,
    LocalCheck,
    TakeFiles,
    WriteFiles,
)
from acidsql.plan.plans import WritePlan
from acidsql.planner.bind.bound import BoundDelete, BoundInsert, BoundLoad, BoundUpdate
from acidsql.planner.bind.local.changes import given_value
from acidsql.planner.bind.local.query_trees import LocalQuery, LocalValues, Stored
from acidsql.run.driver.new_rows import Losing, check_new_rows, check_stores, key_texts, one_batch
from acidsql.run.driver.operators import reading_files
from acidsql.run.driver.values_rows import counters_of_values, literal_table
from acidsql.run.flow import Change, Figures, Merging, note_written
from acidsql.storage.partitions import key_names
from acidsql.storage.stored import data_names, needs_java_writer
from acidsql.storage.write import driver_writer
from acidsql.storage.write.driver_writer import counts_of, lost_of, marked, without_marks
from acidsql.storage.write.target import Written
from acidsql.storage.write.touched import Touching, by_changes, by_new_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from acidsql.run.driver.operators import Driver

ChangeOperator = Literals | FindFiles | TakeFiles | LocalCheck | WriteFiles | CountChanges


def carry_out(driver: Driver, operator: ChangeOperator, flow: Change, figures: Figures) -> None:
    """Carries out an operator of a statement that changes rows."""
    match operator:
        case Literals(source=source):
            assert isinstance(flow.leg, WritePlan)
            assert isinstance(flow.leg.action, BoundInsert)
            flow.rows = literal_table(flow.leg.action, source)
            figures.rows = flow.rows.num_rows
        case FindFiles(load=load):
            from acidsql.storage.load import sources_of

            flow.sources = sources_of(driver.files, load.table, load.path, load.span)
            figures.files = len(flow.sources)
            figures.bytes = sum(source.size for source in flow.sources)
        case TakeFiles(load=load):
            from acidsql.storage.load import write_load

            moving = not load.local
            flow.written = write_load(
                driver.files, flow.target, flow.sources, load.span, moving=moving
            )
            note_written(flow.written, figures)
        case LocalCheck():
            _check(operator, flow)
        case WriteFiles(effect=effect):
            flow.written = _written(driver, flow, effect)
            note_written(flow.written, figures)
        case CountChanges(effect=effect):
            flow.touching = _touching(flow, effect)
        case _:
            assert_never(operator)


def _check(operator: LocalCheck, flow: Change) -> None:
    """Raises the error of a row that breaks a rule; of literal rows none is asked but NOT NULL."""
    assert isinstance(flow.leg, WritePlan)
    if flow.coming is not None:
        flow.coming = _checked(flow, flow.coming)
        return
    if flow.values:
        _check_values(flow)
        return
    assert flow.rows is not None
    for rule in operator.rules:
        if rule.column is not None and flow.rows.column(rule.column).null_count:
            raise rule.violation()


def _checked(flow: Change, coming: Iterator[pa.Table]) -> Iterator[pa.Table]:
    for rows in coming:
        _check_values(flow)
        yield rows


def _check_values(flow: Change) -> None:
    assert isinstance(flow.leg, WritePlan)
    query = flow.leg.query
    assert query is not None
    assert not isinstance(query.local, NotHere)
    check_new_rows(flow.leg.table, flow.values, query.local.semantics)


# ---- what is stored


def begin(
    flow: Change,
    query: LocalQuery | LocalValues,
    batches: Iterator[pa.RecordBatch],
    figures: Figures,
) -> None:
    """Stores the rows of a query, if they are few; else those that come first, and the others when
    they are asked for. NotHere, then, too.
    """
    import pyarrow as pa

    first: list[pa.RecordBatch] = []
    weight = 0
    for batch in batches:
        first.append(batch)
        weight += batch.nbytes
        if weight >= driver_writer.MANY_BYTES:
            flow.coming = _stored(flow, query, chain(first, batches))
            return
    kinds = [(one.name, arrow_type(one.type)) for one in query.outputs]
    rows = pa.Table.from_batches(first, None if first else pa.schema(kinds))
    figures.rows, figures.bytes = rows.num_rows, weight
    store(flow, query, rows)


def _stored(
    flow: Change, query: LocalQuery | LocalValues, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.Table]:
    import pyarrow as pa

    for batch in batches:
        with reading_files():
            store(flow, query, pa.Table.from_batches([batch]))
        assert flow.rows is not None
        rows, flow.rows = flow.rows, None
        yield rows


def store(flow: Change, query: LocalQuery | LocalValues, given_rows: pa.Table) -> None:
    """The rows that a query has given as the table stores them. NotHere."""
    import pyarrow as pa

    assert isinstance(flow.leg, WritePlan)
    plan, table, batch = flow.leg, flow.leg.table, one_batch(without_marks(given_rows))
    leading = ID_FIELDS[: 0 if isinstance(plan.action, BoundInsert) else len(ID_FIELDS)]
    types = {given_value(i): one.type for i, one in enumerate(query.outputs[len(leading) :])}
    named = pa.RecordBatch.from_arrays(batch.columns, names=[*leading, *types])
    stores = _stores(plan)
    if isinstance(query, LocalQuery):
        outputs = zip(types, query.outputs[len(leading) :], strict=False)
        check_stores(stores, {n: one.value for n, one in outputs}, query.semantics)
    losing = Losing([stores], types, query.semantics)
    values, marks = losing.stored(0, stores, named)
    key_count = len(table.partition_columns)
    if not isinstance(plan.action, BoundInsert):  # a changed row stays in its partition
        values += batch.columns[batch.num_columns - key_count :]
    data, keys = values[: len(values) - key_count], values[len(values) - key_count :]
    names = [*leading, *data_names(table.columns)[: len(data)], *key_names(table)]
    arrays = [*batch.columns[: len(leading)], *data, *map(key_texts, keys)]
    counters, lost = losing.counters, marked(marks, batch.num_rows)
    if isinstance(query, LocalValues) and query.stored:  # each value was stored by itself before
        counters = counters_of_values(query)
        lost = [given_rows.column(name) for name in lost_columns(counters)]
    flow.rows = pa.Table.from_arrays([*arrays, *lost], names=[*names, *lost_columns(counters)])
    flow.values, flow.counters = values, counters
    if needs_java_writer(flow.rows):
        raise NotHere("a date or timestamp that only Java writes")


def _stores(plan: WritePlan) -> tuple[Stored, ...]:
    """What columns store of the values of the statement's query."""
    match plan.action:
        case BoundUpdate(stores=stores) | BoundDelete(stores=stores):
            return stores
        case BoundInsert(stores=stores) if not isinstance(stores, NotHere):
            return stores
        case BoundLoad() | BoundInsert():
            raise InternalError("this statement has no local way")


# ---- what becomes of it


def _written(driver: Driver, flow: Change, effect: Effect) -> Written:
    """The files of rows on the driver."""
    if isinstance(flow, Merging):
        from acidsql.run.clause_files import write_clauses

        return write_clauses(driver.files, flow)
    if flow.coming is not None:
        return _coming(driver, flow, flow.coming)
    assert flow.rows is not None
    lost = lost_of(flow.rows, flow.counters)
    written = _files(driver, flow, without_marks(flow.rows), effect)
    return replace(written, lost=lost) if lost else written


def _coming(driver: Driver, flow: Change, coming: Iterator[pa.Table]) -> Written:
    """The file of rows that come while it is written."""
    from acidsql.storage.write.streaming import insert_batches

    counts: list[int] = []

    def counted_rows() -> Iterator[pa.Table]:
        for rows in coming:
            counts[:] = map(add, counts or repeat(0), counts_of(rows, flow.counters))
            yield without_marks(rows)

    written = insert_batches(driver.files, flow.target, counted_rows())
    lost = counted(flow.counters, counts)
    return replace(written, lost=lost) if lost else written


def _files(driver: Driver, flow: Change, rows: pa.Table, effect: Effect) -> Written:
    match effect:
        case Effect.INSERT:
            return driver_writer.insert_rows(driver.files, flow.target, rows)
        case Effect.UPDATE:
            return driver_writer.write_update(driver.files, flow.target, rows)
        case Effect.DELETE:
            return driver_writer.write_delete(driver.files, flow.target, rows)
        case Effect.MERGE:
            raise InternalError("a MERGE writes the rows of each clause")
        case _:
            assert_never(effect)


def _touching(flow: Change, effect: Effect) -> Touching:
    """What ``_written`` would write."""
    if isinstance(flow, Merging):
        from acidsql.run.clause_files import touched_by_clauses

        return touched_by_clauses(flow)
    assert flow.rows is not None
    lost, rows = lost_of(flow.rows, flow.counters), without_marks(flow.rows)
    inserts = effect is Effect.INSERT
    parts = by_new_rows(flow.target, rows) if inserts else by_changes(flow.target, rows)
    return Touching(parts=list(parts), lost=lost)
