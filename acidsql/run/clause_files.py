"""What becomes of the rows of a MERGE's clauses on the driver: files, or counts of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.acid.orc_types import ID_FIELDS
from acidsql.arrow_arrays import arrow_array, arrow_scalar
from acidsql.expressions.losses import Lost, added
from acidsql.expressions.losses import counted as counted_losses
from acidsql.expressions.spark_words import SOURCE_ROW
from acidsql.files.fileio import FileIO
from acidsql.plan.merge_sql import CLAUSE
from acidsql.plan.plans import MergePlan
from acidsql.planner.bind.bound import MergeAction
from acidsql.run.flow import Merging
from acidsql.storage.events.row_ids import check_distinct, repeats, row_ids, sort_order
from acidsql.storage.partitions import by_values, key_names, numbered
from acidsql.storage.stored import data_names
from acidsql.storage.write import driver_writer
from acidsql.storage.write.driver_writer import EventFile, counts_of, without_marks
from acidsql.storage.write.target import WritePath, WriteTarget, Written
from acidsql.storage.write.touched import Touched, Touching, by_changes, by_new_rows


def write_clauses(io: FileIO, flow: Merging) -> Written:
    """The files of the rows to change and to insert."""
    lost, changes, inserts = _rows(flow)
    written = _write_clauses(io, flow.plan, flow.target, changes, inserts)
    return replace(written, lost=lost) if lost else written


def _rows(flow: Merging) -> tuple[tuple[Lost, ...], pa.Table, pa.Table]:
    """What the rows have lost; those to change, and those to insert."""
    assert flow.changes is not None
    changes = flow.changes
    inserts = changes.slice(0, 0) if flow.inserts is None else flow.inserts
    counts = added(counts_of(changes, flow.counters), counts_of(inserts, flow.counters))
    lost = counted_losses(flow.counters, counts)
    return lost, without_marks(changes), without_marks(inserts)


def _write_clauses(
    io: FileIO, plan: MergePlan, target: WriteTarget, changes: pa.Table, inserts: pa.Table
) -> Written:
    if not changes.num_rows and not inserts.num_rows:
        return counted(plan, {}, path="small")
    files: list[EventFile] = []
    counts: dict[int, int] = {}
    deleted: list[pa.Table] = []
    for number, sink in _targets(plan, target):
        of_clause = _of_clause(plan, number, changes, inserts)
        counts[number] = of_clause.num_rows
        if target.returns and not plan.merge.clauses[number].makes_rows:
            deleted += driver_writer.old_rows(sink, of_clause)
        for values, part in by_values(target.table, of_clause) if of_clause.num_rows else ():
            files += _files(plan, number, sink.at(values), part)
    written = driver_writer.write_files(io, target, files, counted(plan, counts, path="small"))
    return replace(written, returned=(*written.returned, *deleted)) if deleted else written


def touched_by_clauses(flow: Merging) -> Touching:
    """What ``write_clauses`` would write."""
    lost, changes, inserts = _rows(flow)
    return Touching(parts=list(_touched(flow.plan, flow.target, changes, inserts)), lost=lost)


def _touched(
    plan: MergePlan, target: WriteTarget, changes: pa.Table, inserts: pa.Table
) -> Iterator[Touched]:
    for number, clause in enumerate(plan.merge.clauses):
        rows = _of_clause(plan, number, changes, inserts)
        if clause.action is MergeAction.INSERT:
            values = [*data_names(target.table.columns), *key_names(target.table)]
            yield from by_new_rows(target, rows.select(values), number)
        else:
            yield from by_changes(target, rows, number)


def once_each(target: WriteTarget, changes: pa.Table, *, check: bool) -> pa.Table:
    """Each row of the target once; of several changes the one of the first clause and the first row
    of the source is kept.
    """
    if not changes.num_rows:
        return changes
    first_wins = changes.sort_by([(CLAUSE, "ascending"), (SOURCE_ROW, "ascending")])
    keys = key_names(target.table)
    numbers, partitions = numbered(first_wins.select(keys)) if keys else (None, None)
    ids = row_ids(first_wins, numbers)
    order = sort_order(ids)
    ordered = ids.taken(order)
    if check:
        check_distinct(ordered, partitions)
        return changes
    return first_wins.take(arrow_array(order[~repeats(ordered)]))


def _of_clause(plan: MergePlan, number: int, changes: pa.Table, inserts: pa.Table) -> pa.Table:
    rows = inserts if plan.merge.clauses[number].action is MergeAction.INSERT else changes
    return rows.filter(pc.equal(rows.column(CLAUSE), arrow_scalar(number, pa.int32())))


def _targets(plan: MergePlan, target: WriteTarget) -> Iterator[tuple[int, WriteTarget]]:
    """The number of each clause, with the target that it writes to."""
    for number, clause_sinks in enumerate(plan.clause_sinks):
        yield number, replace(target, statement_id=clause_sinks[0].statement_id)


def _files(plan: MergePlan, number: int, target: WriteTarget, rows: pa.Table) -> list[EventFile]:
    """The files a clause writes of its rows."""
    values = rows.select(data_names(target.table.columns))
    match plan.merge.clauses[number].action:
        case MergeAction.INSERT:
            return driver_writer.inserted_files(target, values)
        case MergeAction.DELETE:
            return driver_writer.deleted_files(target, rows)
        case MergeAction.UPDATE:
            return driver_writer.updated_files(
                target, rows.select([*ID_FIELDS, *values.column_names])
            )


def counted(plan: MergePlan, counts: Mapping[int, int], *, path: WritePath) -> Written:
    totals = dict.fromkeys(MergeAction, 0)
    for number, clause in enumerate(plan.merge.clauses):
        totals[clause.action] += counts.get(number, 0)
    return Written(
        inserted=totals[MergeAction.INSERT],
        updated=totals[MergeAction.UPDATE],
        deleted=totals[MergeAction.DELETE],
        clauses=tuple(counts.get(number, 0) for number in range(len(plan.merge.clauses))),
        path=path,
    )
