"""INSERT .. SELECT, UPDATE and DELETE on the driver alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from acidsql.acid.orc_types import ID_FIELDS
from acidsql.errors import InternalError
from acidsql.expressions.losses import Counter, lost_columns
from acidsql.expressions.not_here import NotHere
from acidsql.files.fileio import FileIO
from acidsql.plan.operators import Check, Effect, LocalRows, WriteFiles
from acidsql.plan.plans import WritePlan
from acidsql.planner.bind.bound import BoundDelete, BoundInsert, BoundLoad, BoundUpdate
from acidsql.planner.bind.local.changes import given_value
from acidsql.planner.bind.local.query_trees import LocalQuery, LocalValues, Stored
from acidsql.run.driver.constants import check_stores
from acidsql.run.driver.new_rows import Losing, check_new_rows, key_texts, one_batch
from acidsql.run.driver.queries import LocalQueries, reading_files
from acidsql.run.driver.values_rows import counters_of_values
from acidsql.run.trace import UNTRACED, Trace
from acidsql.storage.partitions import key_names
from acidsql.storage.snapshots import Snapshots
from acidsql.storage.stored import data_names, needs_java_writer
from acidsql.storage.write import driver_writer
from acidsql.storage.write.losses import lost_of, marked, without_marks
from acidsql.storage.write.target import WriteTarget, Written
from acidsql.storage.write.touched import Touching, by_changes, by_new_rows

if TYPE_CHECKING:
    import pyarrow as pa


class LocalChanges:
    """Carries out the local way of a plan for one session."""

    def __init__(self, files: FileIO, queries: LocalQueries) -> None:
        self._files = files
        self._queries = queries

    def write(
        self, plan: WritePlan, target: WriteTarget, snapshots: Snapshots, trace: Trace
    ) -> Written | None:
        """The files of the statement; None, or NotHere, where another way is to be taken, before
        anything is written.
        """
        given_rows = self._queries.rows(plan.local, snapshots, trace)
        if given_rows is None:
            return None
        step = plan.local[-1]
        assert isinstance(step, WriteFiles)
        with trace.running(step) as figures:
            rows, counters = _new_rows(plan, given_rows, trace)
            written = write_files(self._files, target, rows, step.effect, counters)
            figures.rows = written.inserted + written.updated + written.deleted
            figures.files = len(written.directories) or None
        return written

    def touched(
        self, plan: WritePlan, target: WriteTarget, snapshots: Snapshots
    ) -> Touching | None:
        """What ``write`` would write; None, or NotHere, as there."""
        given_rows = self._queries.rows(plan.local, snapshots)
        if given_rows is None:
            return None
        rows, counters = _new_rows(plan, given_rows, UNTRACED)
        inserts = isinstance(plan.action, BoundInsert)
        lost = lost_of(rows, counters)
        rows = without_marks(rows)
        parts = by_new_rows(target, rows) if inserts else by_changes(target, rows)
        return Touching(parts=list(parts), lost=lost)


def _new_rows(
    plan: WritePlan, given_rows: pa.Table, trace: Trace
) -> tuple[pa.Table, tuple[Counter, ...]]:
    """What is written of the rows that the query has given, with marks. NotHere."""
    with reading_files():
        return _stored_rows(plan, given_rows, trace)


def _stored_rows(
    plan: WritePlan, given_rows: pa.Table, trace: Trace
) -> tuple[pa.Table, tuple[Counter, ...]]:
    """The given rows as the table stores them, held against its rules. NotHere."""
    import pyarrow as pa

    table, batch = plan.table, one_batch(without_marks(given_rows))
    [query] = [step.query.local for step in plan.local if isinstance(step, LocalRows)]
    assert not isinstance(query, NotHere)
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
    for step in plan.local:
        if isinstance(step, Check):
            with trace.running(step):
                check_new_rows(table, values, query.semantics)
    data, keys = values[: len(values) - key_count], values[len(values) - key_count :]
    names = [*leading, *data_names(table.columns)[: len(data)], *key_names(table)]
    arrays = [*batch.columns[: len(leading)], *data, *map(key_texts, keys)]
    counters, lost = losing.counters, marked(marks, batch.num_rows)
    if isinstance(query, LocalValues) and query.stored:  # each value was stored by itself before
        counters = counters_of_values(query)
        lost = [given_rows.column(name) for name in lost_columns(counters)]
    rows = pa.Table.from_arrays([*arrays, *lost], names=[*names, *lost_columns(counters)])
    if needs_java_writer(rows):
        raise NotHere("a date or timestamp that only Java writes")
    return rows, counters


def _stores(plan: WritePlan) -> tuple[Stored, ...]:
    """What columns store of the values of the statement's query."""
    match plan.action:
        case BoundUpdate(stores=stores):
            return stores
        case BoundInsert(stores=stores) if not isinstance(stores, NotHere):
            return stores
        case BoundDelete():
            return ()
        case BoundLoad() | BoundInsert():
            raise InternalError("this statement has no local way")


def write_files(
    files: FileIO,
    target: WriteTarget,
    rows: pa.Table,
    effect: Effect,
    counters: Sequence[Counter] = (),
) -> Written:
    """The files of rows on the driver. ``counters``: those of their marks."""
    lost = lost_of(rows, counters)
    written = _write_files(files, target, without_marks(rows), effect)
    return replace(written, lost=lost) if lost else written


def _write_files(files: FileIO, target: WriteTarget, rows: pa.Table, effect: Effect) -> Written:
    match effect:
        case Effect.INSERT:
            return driver_writer.insert_rows(files, target, rows)
        case Effect.UPDATE:
            return driver_writer.write_update(files, target, rows)
        case Effect.DELETE:
            return driver_writer.write_delete(files, target, rows)
        case Effect.MERGE:
            raise InternalError("a MERGE writes the rows of each clause")
        case _:
            assert_never(effect)
