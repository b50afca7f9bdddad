"""``Session.scan``: the rows of one table as a stream of Arrow's batches, without Spark and without
Java. Its files are kept for it until the last batch has come, or nobody can ask for one any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import finalize

from acidsql.acid.ids import ROW_ID_COLUMN, WriteId
from acidsql.catalog.model import Table, TableName
from acidsql.catalog.types import ROW_ID_TYPE, arrow_type
from acidsql.errors import (
    BindError,
    ExecutionError,
    FormatError,
    InterfaceError,
    Span,
    UnsupportedStatementError,
)
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.pruning import columns_of
from acidsql.expressions.reader import read_expression
from acidsql.expressions.spark_words import identifier
from acidsql.expressions.vectors import vectorized
from acidsql.lazy import dataclass
from acidsql.parser.tokens import placed_in, tokenize
from acidsql.plan.plans import (
    Plan,
    ReadPlan,
    stored_reads,
    tables_of,
    transactional_reads,
)
from acidsql.planner.bind.bound import BoundRead
from acidsql.result import polars_of
from acidsql.session.observing import ObservedScan
from acidsql.session.own_text import check_expression, enclosed, in_own_text
from acidsql.session.spine import Spine
from acidsql.session.transaction import tables_changed
from acidsql.storage.scan.scanner import Scanner, Where
from acidsql.storage.snapshots import Snapshots, TableSnapshot
from acidsql.txn.readers import lost_error
from acidsql.txn.reading import Hold, Reads
from acidsql.utf8 import check_text

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa


_ALL_FROM = "SELECT * FROM "


class TableScan:
    """The visible rows of a table, once: a stream of record batches, in the order of partitions,
    files and rows.

    Whatever reads Arrow streams takes it as it is (``__arrow_c_stream__``: pyarrow, polars, DuckDB,
    pandas). Of the table's files none goes before the last batch has come, ``close`` was called or
    the scan is no more. It may be read in any thread, beside further statements of its session.
    InterfaceError if it is read twice; SnapshotTooOldError where files were not kept; a value that
    only Spark reads is an UnsupportedStatementError, from whichever batch has it.
    """

    def __init__(
        self,
        schema: pa.Schema,
        batches: Iterator[pa.RecordBatch],
        reads: Reads,
        hold: Hold | None,
        observed: ObservedScan,
    ) -> None:
        self.schema = schema
        self._observed = observed
        self._batches = batches
        self._reads = reads
        self._hold = hold
        self._is_begun = False
        if hold is not None:
            finalize(self, reads.drop, hold).atexit = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        if self._is_begun:
            raise InterfaceError("the scan was read before", hint="Scan the table again.")
        self._is_begun = True
        return self._rows()

    def _rows(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._kept()
        except GeneratorExit:
            self._observed.end(whole=False)
            raise
        except BaseException as error:
            self._observed.end(error)
            raise
        self._observed.end()

    def _kept(self) -> Iterator[pa.RecordBatch]:
        try:
            with _of_spark():
                for batch in self._batches:
                    self._observed.read(batch.num_rows)
                    yield batch
        except GeneratorExit:
            self._stop()
            raise
        except (ExecutionError, FormatError) as error:
            if self._hold is not None and self._reads.is_lost(self._hold):
                raise lost_error() from error
            raise
        if self._hold is not None:
            self._reads.finish(self._hold)

    def to_reader(self) -> pa.RecordBatchReader:
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, iter(self))

    def to_arrow(self) -> pa.Table:
        """All rows that are left to be read."""
        return self.to_reader().read_all()

    def to_pandas(self) -> pandas.DataFrame:
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """A polars DataFrame; InterfaceError where polars is not installed."""
        return polars_of(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def close(self) -> None:
        """Gives up what is left to be read; closing twice is no error."""
        self._is_begun = True
        self._stop()
        if self._hold is not None:
            self._reads.drop(self._hold)
        self._observed.end(whole=False)

    def _stop(self) -> None:
        close = getattr(self._batches, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> TableScan:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def _of_spark() -> Iterator[None]:
    """What only Spark can tell as the error of a scan."""
    try:
        yield
    except NotHere as signal:
        raise UnsupportedStatementError(
            f"the table is read by Spark only: {signal.reason}", hint="Query it by session.sql."
        ) from signal


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionScan:
    """Makes the scans of one session."""

    spine: Spine

    def scan(
        self,
        table: str,
        columns: Sequence[str] | None,
        condition: str | None,
        as_of: int | None,
        batch_rows: int,
    ) -> TableScan:
        """See ``Session.scan``."""
        check_text(table, of="the name of a table")
        if isinstance(columns, str):
            raise InterfaceError("columns are a list of names")
        for name in columns or ():
            check_text(name, of="the name of a column")
        if not isinstance(batch_rows, int) or batch_rows < 1:
            raise InterfaceError("a batch has one row at least")
        if not isinstance(as_of, int | None):
            raise InterfaceError(f"a write id is an int, not {type(as_of).__name__}")
        if as_of is not None and as_of < 0:
            raise InterfaceError(f"there is no write id {as_of}")
        observed = ObservedScan(_text(table, columns, condition), self.spine.database)
        own = () if condition is None else (condition,)
        try:
            if condition is not None:
                check_expression(condition)
            with in_own_text(_text(table, None, condition), own):
                return self._scan(table, columns, condition, as_of, batch_rows, observed)
        except BaseException as error:
            observed.end(error)
            raise

    def _scan(
        self,
        table: str,
        columns: Sequence[str] | None,
        condition: str | None,
        as_of: int | None,
        batch_rows: int,
        observed: ObservedScan,
    ) -> TableScan:
        source, plan, read = self._read(table, condition)
        if as_of is not None and not read.table.is_transactional:
            raise UnsupportedStatementError(f"table {read.table.name} keeps no history")
        wanted = _wanted(read.table, columns)
        where = None if condition is None else self._where(read, source, condition)
        holds: list[Hold] = []
        with placed_in(source), self._snapshots(plan, source, as_of, holds) as snapshots:
            with _of_spark():
                queries = self.spine.engine.driver
                snapshot, scanner = queries.table_at(read, snapshots), queries.scanner
                shown = _Shown.of(scanner, snapshot, wanted)
                batches = scanner.batches(
                    snapshot,
                    shown.stored,
                    predicates=read.predicates,
                    where=where,
                    ids=shown.ids,
                    batch_rows=batch_rows,
                    files=snapshots.files,
                )
            batches = shown.batches(batches)
            if any(part.own_inserts or part.own_deletes for part in snapshot.partitions):
                # Its own files have other names once the transaction has ended.
                with _of_spark():
                    batches = iter(list(batches))
        hold = holds[0] if holds else None
        return TableScan(shown.schema, batches, self.spine.reads, hold, observed)

    def _read(self, table: str, condition: str | None) -> tuple[str, ReadPlan, BoundRead]:
        """The query that asks for the same rows, its plan, and how it reads the table."""
        source = _text(table, None, condition)
        plan: Plan
        if condition is None:
            start, end = len(_ALL_FROM), len(source)
            plan = self.spine.plan_all_rows(tuple(table.split(".")), Span(start, end), source)
        else:
            source, plan = self.spine.plan(source)
            if read_expression(condition, tokenize(condition)) is None:
                raise _not_understood("it is not one expression")
        reads = plan.query.reads if isinstance(plan, ReadPlan) else ()
        if (
            not isinstance(plan, ReadPlan)
            or [r.table.name for r in reads] != [self._name(table)]
            or plan.query.views
        ):
            raise UnsupportedStatementError(f"{table} is no table", hint="Query it by session.sql.")
        [read] = reads
        self.spine.transaction.check(plan)
        return source, plan, read

    def _name(self, table: str) -> TableName:
        database, _, name = table.lower().rpartition(".")
        return TableName(database or self.spine.database, name)

    def _where(self, read: BoundRead, source: str, condition: str) -> Where:
        from acidsql.planner.bind.char_literals import without_blank_ends

        table = read.table
        condition = without_blank_ends(condition, lambda _: table)
        tree = read_expression(condition, tokenize(condition))
        assert tree is not None
        types = {c.name: c.type for c in (*table.columns, *table.partition_columns)}
        try:
            vector = vectorized(
                tree, types, ansi=self.spine.settings.flag("acidsql.ansi"), zone="", now=None
            )
        except NotHere as signal:
            raise _not_understood(signal.reason) from None
        if str(vector.type) != "boolean":
            raise BindError("the filter of a scan is no condition")
        names = tuple(name for name in types if name in columns_of(tree))
        return Where(names, vector.run)

    @contextmanager
    def _snapshots(
        self, plan: ReadPlan, source: str, as_of: int | None, holds: list[Hold]
    ) -> Iterator[Snapshots]:
        """What the scan sees; ``holds`` gets what keeps its files."""
        spine = self.spine
        work = None if as_of is not None else spine.transaction.work()
        tables = stored_reads(plan) if work is None else transactional_reads(plan)
        hold = Hold(tables, source)
        if work is not None:
            with spine.locks.around(plan, source, work) as locked:
                _check_same_table(plan, locked)
                spine.reads.hold_in_txn(hold, work.txn)
                if tables:
                    holds.append(hold)
                snapshots = work.snapshots()
                snapshots.files.find_moved = partial(spine.reads.moved, hold)
                yield snapshots
            return
        request = spine.locks.request(plan, source)
        high = None if as_of is None else WriteId(as_of)
        with spine.reads.reading(
            tables, source, request, spine.locks.patience(), holds=holds, as_of=high
        ) as (visible, waited):
            if high is not None:
                visible.check_given(tables, high)
            _check_same_table(plan, spine.locks.current(plan, source, waited=waited))
            snapshots = spine.engine.snapshots(visible)
            snapshots.files.find_moved = partial(spine.reads.moved, hold)
            yield snapshots
            if tables:
                holds.append(hold)


def _text(table: str, columns: Sequence[str] | None, condition: str | None) -> str:
    """The query that a scan stands for."""
    names = None if columns is None else ", ".join(map(identifier, columns))
    select = _ALL_FROM if names is None else f"SELECT {names} FROM "
    where = "" if condition is None else f" WHERE {enclosed(condition)}"
    return f"{select}{'.'.join(map(identifier, table.split('.')))}{where}"


def _check_same_table(plan: ReadPlan, locked: ReadPlan) -> None:
    """Its schema has been given away already, and is that of the plan."""
    if tables_of(locked) != tables_of(plan):
        raise tables_changed()


@dataclass(frozen=True, slots=True)
class _Shown:
    """The columns of a scan as its user sees them: ROW__ID is one struct. ``stored``: the others,
    in their order.
    """

    schema: pa.Schema
    stored: tuple[str, ...]
    ids: bool

    @classmethod
    def of(cls, scanner: Scanner, snapshot: TableSnapshot, columns: Sequence[str]) -> _Shown:
        import pyarrow as pa

        stored = tuple(name for name in columns if name != ROW_ID_COLUMN)
        fields = iter(scanner.schema(snapshot, stored))
        shown = [
            pa.field(ROW_ID_COLUMN, arrow_type(ROW_ID_TYPE))
            if name == ROW_ID_COLUMN
            else next(fields)
            for name in columns
        ]
        return cls(pa.schema(shown), stored, ROW_ID_COLUMN in columns)

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (self._batch(rows) for rows in batches) if self.ids else batches

    def _batch(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow as pa

        ids = pa.StructArray.from_arrays(rows.columns[:3], fields=list(arrow_type(ROW_ID_TYPE)))
        values = iter(rows.columns[3:])
        arrays = [ids if name == ROW_ID_COLUMN else next(values) for name in self.schema.names]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _wanted(table: Table, columns: Sequence[str] | None) -> tuple[str, ...]:
    """The columns asked for, as the table calls them; BindError."""
    known = [c.name for c in (*table.columns, *table.partition_columns)]
    if columns is None:
        return tuple(known)
    wanted = tuple(
        ROW_ID_COLUMN if name.upper() == ROW_ID_COLUMN else name.lower() for name in columns
    )
    if not wanted:
        raise InterfaceError("a scan has one column at least")
    for name in wanted:
        if name == ROW_ID_COLUMN and not table.is_full_acid:
            raise BindError(f"rows of table {table.name} have no ROW__ID")
        if name != ROW_ID_COLUMN and name not in known:
            raise BindError(
                f'table {table.name} has no column "{name}"', hint=f"It has {', '.join(known)}."
            )
    return wanted


def _not_understood(reason: str) -> UnsupportedStatementError:
    return UnsupportedStatementError(
        f"the filter is not understood without Spark: {reason}", hint="Query it by session.sql."
    )
