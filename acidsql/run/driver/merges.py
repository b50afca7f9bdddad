"""MERGE on the driver.

The source's rows are numbered; the target's are looked up by their keys (``storage.key_lookup``)
where the source's row alone tells what becomes of one, else read batch by batch and joined.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acidsql.arrow_arrays import arrow_array, numpy_array
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.spark_words import SOURCE_ROW
from acidsql.parser.statements import Match
from acidsql.plan.merge_sql import CLAUSE
from acidsql.plan.operators import CheckOnce, LocalInsertUnmatched, LocalJoin, LookUp
from acidsql.planner.bind.local.merge_trees import LocalMerge
from acidsql.run import merge_source
from acidsql.run.clause_files import once_each
from acidsql.run.driver.merge_rows import LocalSource
from acidsql.run.driver.new_rows import check_merge
from acidsql.run.flow import Merging
from acidsql.run.trace import Figures
from acidsql.storage.key_lookup import KeyLookup
from acidsql.storage.write.target import ID_BYTES

if TYPE_CHECKING:
    from acidsql.run.driver.operators import Driver

Marks = npt.NDArray[np.bool_]
MergeOperator = LookUp | LocalJoin | LocalInsertUnmatched | CheckOnce


def carry_out(driver: Driver, operator: MergeOperator, flow: Merging, figures: Figures) -> None:
    """Carries out an operator of a MERGE."""
    from acidsql.run.driver.operators import reading_files

    match operator:
        case LookUp():
            with reading_files():
                if operator.scan is not None:
                    driver.check_behind(operator.scan, flow)
                _look_up(driver, flow, figures)
        case LocalJoin():
            with reading_files():
                flow.changes = _joined(flow, operator)
            figures.rows, figures.bytes = flow.changes.num_rows, flow.changes.nbytes
        case LocalInsertUnmatched():
            with reading_files():
                flow.inserts = _unmatched(flow)
            figures.rows = flow.inserts.num_rows
        case CheckOnce(check=check):
            assert flow.changes is not None
            figures.rows = flow.changes.num_rows
            flow.changes = once_each(flow.target, flow.changes, check=check)
        case _:
            assert_never(operator)


def take_source(flow: Merging, rows: pa.Table) -> None:
    """Takes the rows of the source, and what their keys tell of the target. NotHere."""
    assert isinstance(flow.plan.merge.local, LocalMerge)
    check_merge(flow.plan.merge.local)
    source = LocalSource(flow.plan, flow.plan.merge.local, rows)
    flow.source, flow.counters = source, source.clauses.counters
    flow.plan = merge_source.narrowed_by(flow.plan, source.table, source.kinds)


# ---- by keys


def _look_up(driver: Driver, flow: Merging, figures: Figures) -> None:
    """The pairs by equal keys, with values that are copies of the source's."""
    source, plan = flow.source, flow.plan
    assert source is not None
    if not merge_source.are_copies(plan, source.kinds):
        raise NotHere("values that are computed", begun=False)
    keys = merge_source.lookup_keys(plan, source.table, source.kinds)
    if keys is None:
        raise NotHere("keys that are not looked up", begun=False)
    taken = driver.table_at(plan.merge.reads[0], flow.snapshots)
    lookup = KeyLookup(driver.known, driver.max_events())
    pairs = lookup.pairs(taken, keys, flow.target.max_bytes // ID_BYTES)
    if pairs is None:
        raise NotHere("so many rows with these keys")
    figures.rows = pairs.num_rows
    numbers = pairs.column(SOURCE_ROW).combine_chunks()
    flow.matched = np.zeros(source.table.num_rows, np.bool_)
    flow.matched[numpy_array(numbers)] = True
    pairs = pairs.append_column(CLAUSE, source.matched_clauses().take(numbers))
    pairs = pairs.filter(pairs.column(CLAUSE).is_valid())
    flow.changes = merge_source.with_copies(plan, pairs, source.table)
    merge_source.check_writable(flow.changes)


# ---- by a join


def _joined(flow: Merging, operator: LocalJoin) -> pa.Table:
    source = _source(flow)
    matched = np.zeros(source.count, np.bool_)
    parts: list[pa.Table] = []
    weight = 0
    for batch in flow.batches[0]:
        for part in _of_batch(flow, batch, source, matched):
            parts.append(part)
            weight += part.nbytes
        if operator.max_bytes is not None and weight > operator.max_bytes:
            raise NotHere("more rows than the driver may hold")
    flow.matched = matched
    changes = source.clauses.table(parts)
    merge_source.check_writable(changes)
    return changes


def _source(flow: Merging) -> LocalSource:
    assert isinstance(flow.source, LocalSource)
    return flow.source


def _of_batch(
    flow: Merging, batch: pa.RecordBatch, source: LocalSource, matched: Marks
) -> Iterator[pa.Table]:
    clauses = source.clauses
    rows = clauses.named(batch)
    positions, numbers = source.matches(rows)
    pairs = source.paired(rows, positions, numbers)
    if source.local.rest is not None:
        kept = clauses.holds(source.local.rest, pairs)
        positions, numbers = positions[kept], numbers[kept]
        pairs = pairs.take(arrow_array(kept))
    matched[numbers] = True
    yield from clauses.of(Match.MATCHED, pairs)
    if any(c.match is Match.NOT_MATCHED_BY_SOURCE for c in flow.plan.merge.clauses):
        alone = np.ones(rows.num_rows, np.bool_)
        alone[positions] = False
        lone = rows.take(arrow_array(np.flatnonzero(alone)))
        yield from clauses.of(Match.NOT_MATCHED_BY_SOURCE, lone)


def _unmatched(flow: Merging) -> pa.Table:
    """The new rows of those of the source that no pair names."""
    source = _source(flow)
    assert flow.matched is not None
    rest = source.taken(np.flatnonzero(~flow.matched))
    inserts = source.clauses.table(list(source.clauses.of(Match.NOT_MATCHED, rest)))
    merge_source.check_writable(inserts)
    return inserts
