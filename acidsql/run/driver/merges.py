"""MERGE on the driver alone.

The source's rows are numbered; the target's are looked up by their keys (``storage.key_lookup``)
where the source's row alone tells what becomes of one, else read batch by batch and joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acidsql.arrow_arrays import arrow_array, numpy_array
from acidsql.expressions.losses import Counter
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.spark_words import SOURCE_ROW, spark_type
from acidsql.files.fileio import FileIO
from acidsql.parser.statements import Match
from acidsql.plan.merge_sql import CLAUSE, narrowed
from acidsql.plan.operators import (
    CheckOnce,
    Choose,
    InsertUnmatched,
    LocalFiles,
    LocalJoin,
    LocalRows,
    LocalScan,
    LookUp,
    Step,
    WriteFiles,
)
from acidsql.plan.plans import MergePlan
from acidsql.planner.bind.local.merge_trees import LocalMerge
from acidsql.run.driver import merge_source
from acidsql.run.driver.constants import check_merge
from acidsql.run.driver.merge_files import once_each, touched_by_clauses, write_clauses
from acidsql.run.driver.merge_rows import ClauseRows, SourceRows
from acidsql.run.driver.queries import LocalQueries, reading_files
from acidsql.run.trace import UNTRACED, Trace
from acidsql.settings import Settings
from acidsql.storage.key_lookup import KeyLookup
from acidsql.storage.snapshots import Snapshots, TableSnapshot
from acidsql.storage.stored import needs_java_writer
from acidsql.storage.write.target import ID_BYTES, WriteTarget, Written
from acidsql.storage.write.touched import Touching

Marks = npt.NDArray[np.bool_]


class LocalMerges:
    """Carries out the local way of a MERGE's plan for one session."""

    def __init__(self, files: FileIO, queries: LocalQueries, settings: Settings) -> None:
        self._files = files
        self._queries = queries
        self._settings = settings

    def write(
        self,
        plan: MergePlan,
        target: WriteTarget,
        snapshots: Snapshots,
        trace: Trace,
    ) -> Written | None:
        """The files of each clause; None, or NotHere, where another way is to be taken, before
        anything is written. CardinalityError if a row would be changed twice; unless it is not
        checked: then one change wins.
        """
        gathered = self.rows(plan, target, snapshots, trace)
        if gathered is None:
            return None
        [step] = [step for step in plan.local if isinstance(step, WriteFiles)]
        with trace.running(step) as figures:
            changes, inserts, counters = gathered
            written = write_clauses(self._files, plan, target, changes, inserts, counters)
            figures.rows, figures.files = sum(written.clauses), len(written.directories)
        return written

    def touched(
        self, plan: MergePlan, target: WriteTarget, snapshots: Snapshots
    ) -> Touching | None:
        """What ``write`` would write; None, or its errors, as there."""
        gathered = self.rows(plan, target, snapshots)
        return None if gathered is None else touched_by_clauses(plan, target, *gathered)

    def rows(
        self,
        plan: MergePlan,
        target: WriteTarget,
        snapshots: Snapshots,
        trace: Trace = UNTRACED,
    ) -> tuple[pa.Table, pa.Table, tuple[Counter, ...]] | None:
        """LEADING_COLUMNS and values of the rows to change, and of those to insert; the counters of
        their marks.
        """
        keys = KeyLookup(self._queries.known, self._queries.max_events())
        run = _Run(self._queries, keys, plan, target, snapshots, trace)
        with reading_files():
            check_merge(run.local)
            gathered = run.rows()
        if gathered is None:
            return None
        changes, inserts = gathered
        if any(map(needs_java_writer, gathered)):
            raise NotHere("a date or timestamp that only Java writes")
        once = next((step for step in plan.local if isinstance(step, CheckOnce)), None)
        if once is not None:
            with trace.running(once) as figures:
                figures.rows = changes.num_rows
                changes = once_each(target, changes, check=True)
        elif not self._settings.flag("hive.merge.cardinality.check"):
            changes = once_each(target, changes, check=False)
        return changes, inserts, run.clauses.counters


class _Run:
    """One MERGE."""

    def __init__(
        self,
        queries: LocalQueries,
        keys: KeyLookup,
        plan: MergePlan,
        target: WriteTarget,
        snapshots: Snapshots,
        trace: Trace,
    ) -> None:
        assert isinstance(plan.merge.local, LocalMerge)
        self.queries = queries
        self.keys = keys
        self.plan = plan
        self.local = plan.merge.local
        self.target = target
        self.snapshots = snapshots
        self.trace = trace
        self.matches = {clause.match for clause in plan.merge.clauses}
        self.clauses = ClauseRows(plan, self.local)
        self.beside = 0

    def rows(self) -> tuple[pa.Table, pa.Table] | None:
        steps = self.plan.local
        last = next(n for n, step in enumerate(steps) if isinstance(step, LocalRows))
        if self._is_too_heavy(steps[:last]):
            return None
        gathered = self.queries.rows(steps[: last + 1], self.snapshots, self.trace)
        if gathered is None:
            return None
        source = SourceRows(self.local, gathered)
        matched = np.zeros(source.count, np.bool_)
        changes = self._changes(source, matched)
        if changes is None:
            return None
        inserts = self.clauses.table([])
        for step in self.plan.local:
            if isinstance(step, InsertUnmatched):
                with self.trace.running(step) as figures:
                    rest = source.taken(np.flatnonzero(~matched))
                    inserts = self.clauses.table(list(self.clauses.of(Match.NOT_MATCHED, rest)))
                    figures.rows = inserts.num_rows
        return changes, inserts

    def _is_too_heavy(self, sources: Sequence[Step]) -> bool:
        """Whether both tables weigh too much, which is told before anything is read unless only the
        source's rows tell what of the target is.
        """
        self.beside = sum(
            self.queries.weigh(step, self.snapshots)
            for step in sources
            if isinstance(step, LocalScan | LocalFiles)
        )
        keys = {c.name for c in self.plan.table.partition_columns}
        scan = next((s for s in self.plan.local if isinstance(s, LocalScan) and not s.number), None)
        if scan is None or scan.max_bytes is None or keys & {k for k, _ in self.plan.merge.keys}:
            return False
        weight = self.queries.weigh(scan, self.snapshots)
        if weight + self.beside <= scan.max_bytes:
            return False
        with self.trace.running(scan) as figures:
            figures.bytes, figures.in_vain = weight, True
        return True

    def _changes(self, source: SourceRows, matched: Marks) -> pa.Table | None:
        """The rows that clauses change; notes in ``matched`` which rows of the source have some."""
        kinds = {name: spark_type(kind) for name, kind in self.local.source_types}
        plan = self.plan
        if Match.NOT_MATCHED_BY_SOURCE not in self.matches:
            plan = narrowed(plan, *merge_source.key_predicates(plan, source.table, kinds))
        taken = self.queries.table_at(plan.merge.reads[0], self.snapshots)
        for steps in _ways(self.plan.local):
            match steps[0]:
                case LookUp() as step:
                    changes = self._looked_up(step, source, kinds, taken, matched)
                case LocalScan() as scan:
                    join = next(step for step in steps if isinstance(step, LocalJoin))
                    changes = self._joined(scan, join, plan, source, matched)
                case _:
                    continue
            if changes is not None:
                return changes
        return None

    # ---- by keys

    def _looked_up(
        self,
        step: LookUp,
        source: SourceRows,
        kinds: merge_source.Kinds,
        taken: TableSnapshot,
        matched: Marks,
    ) -> pa.Table | None:
        plan = self.plan
        if not merge_source.are_copies(plan, kinds):
            return None
        keys = merge_source.lookup_keys(plan, source.table, kinds)
        if keys is None:
            return None
        with self.trace.running(step) as figures:
            pairs = self.keys.pairs(taken, keys, self.target.max_bytes // ID_BYTES)
            figures.in_vain = pairs is None
            figures.rows = None if pairs is None else pairs.num_rows
        if pairs is None:
            return None
        numbers = numpy_array(pairs.column(SOURCE_ROW))
        matched[numbers] = True
        clause = self.clauses.numbers(Match.MATCHED, source.batch)
        pairs = pairs.append_column(CLAUSE, clause.take(pairs.column(SOURCE_ROW).combine_chunks()))
        return self.clauses.copied(pairs.filter(pairs.column(CLAUSE).is_valid()), source.table)

    # ---- by a join

    def _joined(
        self,
        scan: LocalScan,
        step: LocalJoin,
        plan: MergePlan,
        source: SourceRows,
        matched: Marks,
    ) -> pa.Table | None:
        batches = self.queries.batches(
            scan, plan.merge.reads[0], self.snapshots, self.trace, beside=self.beside
        )
        if batches is None:
            return None
        with self.trace.running(step) as figures:
            parts: list[pa.Table] = []
            weight = 0
            for batch in batches:
                for part in self._of_batch(batch, source, matched):
                    parts.append(part)
                    weight += part.nbytes
                if step.max_bytes is not None and weight > step.max_bytes:
                    figures.in_vain = True
                    return None
            changes = self.clauses.table(parts)
            figures.rows, figures.bytes = changes.num_rows, changes.nbytes
        return changes

    def _of_batch(
        self, batch: pa.RecordBatch, source: SourceRows, matched: Marks
    ) -> Iterator[pa.Table]:
        rows = self.clauses.named(batch)
        positions, numbers = source.matches(rows)
        pairs = source.paired(rows, positions, numbers)
        if self.local.rest is not None:
            kept = self.clauses.holds(self.local.rest, pairs)
            positions, numbers = positions[kept], numbers[kept]
            pairs = pairs.take(arrow_array(kept))
        matched[numbers] = True
        yield from self.clauses.of(Match.MATCHED, pairs)
        if Match.NOT_MATCHED_BY_SOURCE in self.matches:
            alone = np.ones(rows.num_rows, np.bool_)
            alone[positions] = False
            lone = rows.take(arrow_array(np.flatnonzero(alone)))
            yield from self.clauses.of(Match.NOT_MATCHED_BY_SOURCE, lone)


def _ways(steps: Sequence[Step]) -> Iterator[tuple[Step, ...]]:
    """The ways of finding the rows of the target, in the order in which they are tried."""
    for step in steps:
        if isinstance(step, Choose):
            yield from (way.steps for way in step.ways)
    at = next((n for n, step in enumerate(steps) if isinstance(step, LocalJoin)), None)
    if at is not None:
        yield tuple(steps[at - 1 : at + 1])
