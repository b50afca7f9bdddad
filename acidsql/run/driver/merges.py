"""MERGE on the driver: pairs of rows, which clause acts on each, and which row of the target would
be changed twice.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acidsql.acid.ids import decode
from acidsql.acid.orc_types import ID_FIELDS
from acidsql.arrow_arrays import arrow_array, arrow_scalar, filled, numpy_array
from acidsql.errors import CardinalityError, Error
from acidsql.expressions.losses import lost_columns
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.spark_words import SOURCE_ROW, spark_type
from acidsql.expressions.tree import Condition
from acidsql.parser.statements import Match
from acidsql.plan.merge_sql import CLAUSE, LEADING_COLUMNS
from acidsql.plan.operators import CheckOnce, LocalInsertUnmatched, LocalJoin, LookUp
from acidsql.plan.plans import MergePlan
from acidsql.planner.bind.local.query_trees import LocalMerge, of_source, of_target
from acidsql.planner.bind.local.scope import vector_of
from acidsql.run import merge_source
from acidsql.run.clause_files import once_each
from acidsql.run.driver.new_rows import Losing, check_merge, check_new_rows, key_texts, one_batch
from acidsql.run.flow import Figures, Merging
from acidsql.storage.events.row_ids import hit_words
from acidsql.storage.footers import FoundFile
from acidsql.storage.key_lookup import KeyLookup, SourceKeys
from acidsql.storage.partitions import key_names
from acidsql.storage.scan.orc_file import ID_TYPES
from acidsql.storage.scan.scanner import Scanner
from acidsql.storage.snapshots import Snapshots, TableSnapshot
from acidsql.storage.stored import arrow_schema, data_names
from acidsql.storage.write.driver_writer import marked
from acidsql.storage.write.target import ID_BYTES

if TYPE_CHECKING:
    from acidsql.run.driver.operators import Driver


# ---- violations
#
# Which row of the target a MERGE would change twice: its values in the columns that ON asks for,
# read on the driver, whichever engine met it.


_LONGEST_VALUE = 60


def add_key_values(
    error: CardinalityError,
    plan: MergePlan,
    snapshots: Snapshots,
    scanner: Scanner,
    max_bytes: int,
) -> None:
    """Puts the values into the error's detail. It stays as it is where more than ``max_bytes``
    would be read for them, or they are not found.
    """
    columns = plan.merge.on_columns
    if error.row_id is None or not columns:
        return
    with contextlib.suppress(Error, NotHere, OSError):
        snapshot = _narrowed(snapshots.take(plan.table, snapshots.partitions(plan.table)), error)
        if scanner.weigh(snapshot, columns) > max_bytes:
            return
        batches = scanner.batches(snapshot, columns, ids=True)
        row = next(_hit(batches, error.row_id), None)
        if row is not None:
            values = " and ".join(f"{name} = {_shown(row[name])}" for name in columns)
            error.detail = hit_words(error.rows_hit, error.changes, f"the row with {values}")


def _narrowed(snapshot: TableSnapshot, error: CardinalityError) -> TableSnapshot:
    """The snapshot with the files that may hold the row. It is there: no delete event matters."""
    assert error.row_id is not None
    write_id, bucket_property, _ = error.row_id
    bucket = decode(bucket_property).bucket

    def may_hold(one: FoundFile) -> bool:
        file = one.file
        if file.original:  # rows are numbered through all of them
            return True
        return file.min_write_id <= write_id <= file.max_write_id and file.bucket in (None, bucket)

    partitions = []
    for number, part in enumerate(snapshot.partitions):
        values = part.partition.values if part.partition is not None else ()
        if not error.partition or values == error.partition:
            kept = tuple(file for file in part.insert_files(number) if may_hold(file))
            partitions.append(
                replace(part, directory=None, files=(), own_inserts=kept, own_deletes=())
            )
    return replace(snapshot, partitions=tuple(partitions))


def _hit(
    batches: Iterator[pa.RecordBatch], row_id: tuple[int, int, int]
) -> Iterator[dict[str, object]]:
    for batch in batches:
        # by their places: a column of the table may be called as an id field is
        columns = map(numpy_array, batch.columns[: len(ID_FIELDS)])
        same = np.logical_and.reduce(
            [column == wanted for column, wanted in zip(columns, row_id, strict=True)]
        )
        for position in np.flatnonzero(same):
            names = batch.schema.names[len(ID_FIELDS) :]
            values = batch.columns[len(ID_FIELDS) :]
            yield {
                name: column[int(position)].as_py()
                for name, column in zip(names, values, strict=True)
            }


def _shown(value: object) -> str:
    """A value as a user would write it, cut where it is long."""
    text = "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}.."


# ---- merge rows
#
# The pairs of rows of a MERGE as batches: which clause acts on each, and what it makes of it.


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


# ---- merges
#
# MERGE on the driver.
#
# The source's rows are numbered; the target's are looked up by their keys (``storage.key_lookup``)
# where the source's row alone tells what becomes of one, else read batch by batch and joined.


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
