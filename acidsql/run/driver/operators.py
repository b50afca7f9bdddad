"""Operators of the driver: what a statement reads, makes and writes without Java."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from acidsql.acid.orc_types import ID_FIELDS
from acidsql.arrow_arrays import arrow_array
from acidsql.catalog.model import TableKind
from acidsql.catalog.types import HiveType
from acidsql.errors import FormatError, InterfaceError
from acidsql.expressions.not_here import NotHere
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import in_parallel
from acidsql.lazy import dataclass
from acidsql.plan.engines import QUICKER, TOO_HEAVY, engines
from acidsql.plan.operators import (
    CheckOnce,
    CommonRows,
    CountChanges,
    CountRows,
    DriverOperator,
    FindFiles,
    JoinRows,
    Literals,
    LocalCheck,
    LocalFiles,
    LocalInsertUnmatched,
    LocalJoin,
    LocalRows,
    LocalScan,
    LookUp,
    SetRows,
    SubQueryRows,
    TakeFiles,
    WriteFiles,
)
from acidsql.planner.bind.bound import BoundRead
from acidsql.planner.bind.local.query_trees import (
    LocalQuery,
    LocalValues,
    Semantics,
    shown_columns,
)
from acidsql.run.driver.new_rows import check_query
from acidsql.run.driver.rows import early_test, make, rows, stream
from acidsql.run.driver.values_rows import rows_of_values
from acidsql.run.flow import Change, Figures, Flow, Merging
from acidsql.settings import Settings
from acidsql.storage.counting import RowCounter
from acidsql.storage.known_files import KnownFiles
from acidsql.storage.scan.orc_file import ID_TYPES, holds_times, refuse_old_times
from acidsql.storage.scan.scanner import Scanner
from acidsql.storage.snapshots import Snapshots, TableSnapshot
from acidsql.storage.stored import data_names, needs_java_writer
from acidsql.storage.write import driver_writer
from acidsql.storage.write.pending import PendingRoot
from acidsql.storage.write.target import StagedFile

if TYPE_CHECKING:
    import pyarrow as pa


class Driver:
    """What carries the driver's operators out for one session, each under the snapshots of its
    flow. ``known``: what footers and delete events have told.
    """

    def __init__(self, settings: Settings, files: FileIO, known: KnownFiles) -> None:
        self.settings = settings
        self.files = files
        self.known = known
        self.scanner = Scanner(known, self.max_events)
        self._counter = RowCounter(known)

    def max_events(self) -> int:
        """How many delete events may be kept in memory."""
        return int(self.settings.number("acidsql.read.deletes.max.events"))

    def carry_out(self, operator: DriverOperator, flow: Flow, figures: Figures) -> None:
        """Carries an operator out. NotHere where another way is to be taken, before anything is
        written.
        """
        match operator:
            case CountRows():
                self._count(operator, flow, figures)
            case LocalScan():
                self._scan(operator, flow, figures)
            case LocalFiles():
                self._read_files(operator, flow, figures)
            case CommonRows() | JoinRows() | SetRows() | SubQueryRows():
                with reading_files():
                    table = make(operator, flow)
                figures.rows, figures.bytes = table.num_rows, table.nbytes
            case LocalRows():
                self._make_rows(operator, flow, figures)
            case LookUp() | LocalJoin() | LocalInsertUnmatched() | CheckOnce():
                from acidsql.run.driver import merges

                assert isinstance(flow, Merging)
                merges.carry_out(self, operator, flow, figures)
            case (
                Literals()
                | FindFiles()
                | TakeFiles()
                | LocalCheck()
                | WriteFiles()
                | CountChanges()
            ):
                from acidsql.run.driver import changes

                assert isinstance(flow, Change)
                changes.carry_out(self, operator, flow, figures)

    # ---- which files are read

    def _count(self, operator: CountRows, flow: Flow, figures: Figures) -> None:
        import pyarrow as pa

        read, count = operator.read, operator.count
        number = self._counter.answer(read.table, count.condition, flow.snapshots, self.settings)
        if number is None:
            raise NotHere("neither statistics nor footers tell")
        flow.rows = pa.table({count.name: arrow_array([number], pa.int64())})

    def _scan(self, operator: LocalScan, flow: Flow, figures: Figures) -> None:
        """Settles which files are read; none is read yet."""
        if self._waiting(operator, flow, figures):
            return
        names, query = operator.names, operator.query
        read, meaning = flow.read_of(operator), None if query is None else query.semantics
        with reading_files():
            taken = self.table_at(read, flow.snapshots, meaning)
            figures.files = len(taken.insert_files)
            figures.bytes = self.scanner.weigh(taken, names)
            self._check_weight(operator, flow, figures.bytes)
            where = None if query is None else early_test(query)
            batches = self.scanner.batches(
                taken,
                names,
                predicates=read.predicates,
                where=where,
                ids=len(names) < len(operator.columns),
                files=flow.snapshots.files,
            )
        if where is not None:
            flow.tested.add(operator.number)
        flow.batches[operator.number] = _Once(batches)

    def _waiting(self, operator: LocalScan, flow: Flow, figures: Figures) -> bool:
        """Whether the rows are those of a frame that lie in memory: they are taken from there."""
        table = flow.read_of(operator).table
        if table.kind is not TableKind.FRAME or len(operator.names) < len(operator.columns):
            return False
        from acidsql.storage.waiting_rows import waiting_rows

        rows = waiting_rows(table)
        if rows is None:
            return False
        ordinals = {column.name: ordinal for ordinal, column in enumerate(table.columns)}
        wanted = [ordinals[name.lower()] for name in operator.names]
        timed = [
            at for at, ordinal in enumerate(wanted) if holds_times(table.columns[ordinal].type)
        ]
        batches = [batch.select(wanted).rename_columns(operator.names) for batch in rows]
        figures.bytes = sum(batch.nbytes for batch in batches)
        self._check_weight(operator, flow, figures.bytes)
        flow.batches[operator.number] = _Once(_without_old_times(batches, timed))
        return True

    def _check_weight(self, operator: LocalScan | LocalFiles, flow: Flow, weight: int) -> None:
        """NotHere where the files of all scans weigh too much together, that of the one ``behind``
        among them.
        """
        flow.weight += weight
        if operator.behind is not None:
            self.check_behind(operator.behind, flow)
        elif operator.max_bytes is not None and flow.weight > operator.max_bytes:
            allowed = engines(self.settings).read_bytes or 0
            raise NotHere(TOO_HEAVY if operator.max_bytes >= allowed else QUICKER)

    def check_behind(self, scan: LocalScan, flow: Flow) -> None:
        """NotHere where the files of a scan that comes later weigh too much with those before."""
        if scan.max_bytes is None:
            return
        table = self.table_at(flow.read_of(scan), flow.snapshots)
        if flow.weight + self.scanner.weigh(table, scan.names) > scan.max_bytes:
            raise NotHere(TOO_HEAVY)

    def _read_files(self, operator: LocalFiles, flow: Flow, figures: Figures) -> None:
        """The batches of files that are named by their path, as those of a table."""
        from acidsql.storage.by_path.relations import batches_of

        relation = operator.relation
        figures.files, figures.bytes = len(relation.files), relation.size
        with reading_files():
            self._check_weight(operator, flow, relation.size)
            flow.batches[operator.number] = _Once(batches_of(relation, operator.columns))

    def table_at(
        self, read: BoundRead, snapshots: Snapshots, meaning: Semantics | None = None
    ) -> TableSnapshot:
        """A table, without the partitions that the conditions on it are known to leave out.
        ``meaning``: what they mean where they speak of the moment of the statement.
        """
        if not read.table.partition_columns:
            return snapshots.take(read.table)
        ansi = self.settings.flag("acidsql.ansi")
        zone, now = (meaning.zone, meaning.now) if meaning else ("", None)
        wanted = read.wanted(ansi=ansi, zone=zone, now=now)
        listed = snapshots.partitions(read.table, wanted.among)
        return snapshots.take(read.table, wanted.prune(listed).kept)

    # ---- rows

    def columns(self, operator: LocalRows) -> tuple[tuple[str, HiveType], ...]:
        """The names and types of the columns of rows that are made."""
        return shown_columns(_tree(operator))

    def _make_rows(self, operator: LocalRows, flow: Flow, figures: Figures) -> None:
        """The rows of a query; of a statement that changes rows what it makes of them."""
        if operator.streams and self.streams(operator, flow):
            from acidsql.run.driver.changes import begin

            assert isinstance(flow, Change)
            with reading_files():
                begin(flow, _tree(operator), self.stream(operator, flow, figures), figures)
            return
        with reading_files():
            rows = _rows_of(operator, flow)
            figures.rows, figures.bytes = rows.num_rows, rows.nbytes
            match flow:
                case Merging():
                    from acidsql.run.driver.merges import take_source

                    take_source(flow, rows)
                case Change():
                    from acidsql.run.driver.changes import store

                    store(flow, _tree(operator), rows)
                case _:
                    flow.rows = rows

    def streams(self, operator: LocalRows, flow: Flow) -> bool:
        """Whether ``stream`` gives the rows as they come: if they may be as many as they like, so
        that no other way would be taken because of their weight.
        """
        query = _tree(operator)
        return (
            operator.max_bytes is None
            and isinstance(query, LocalQuery)
            and query.scan in flow.batches
            and not (query.grouped or query.windows or query.distinct or query.order)
        )

    def stream(self, operator: LocalRows, flow: Flow, figures: Figures) -> Iterator[pa.RecordBatch]:
        """The rows that stream, one batch after the other. NotHere from whichever batch has a
        value that is Spark's.
        """
        query = _tree(operator)
        assert isinstance(query, LocalQuery)
        with reading_files():
            _check(operator)
            for batch in stream(query, flow):
                figures.rows = (figures.rows or 0) + batch.num_rows
                yield batch


@dataclass(slots=True)
class _Once:
    """Batches that are gone once they are read. Asked for again, behind an error or Ctrl-C, they
    are an InterfaceError, not as few as are left.
    """

    batches: Iterator[pa.RecordBatch]
    begun: bool = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        if self.begun:
            raise InterfaceError("the rows were not read to their end", hint="Run the query again.")
        self.begun = True
        return self.batches


def _without_old_times(
    batches: Iterable[pa.RecordBatch], timed: Sequence[int]
) -> Iterator[pa.RecordBatch]:
    """The batches. NotHere where a scan of a file with them would say so. ``timed``: the ordinals
    of columns with times.
    """
    for batch in batches:
        for ordinal in timed:
            refuse_old_times(batch.column(ordinal))
        yield batch


def _tree(operator: LocalRows) -> LocalQuery | LocalValues:
    tree = operator.query.local
    assert not isinstance(tree, NotHere)
    return tree


def _rows_of(operator: LocalRows, flow: Flow) -> pa.Table:
    """The rows of the query of an operator. NotHere."""
    query = _tree(operator)
    if isinstance(query, LocalValues):
        return rows_of_values(query)
    _check(operator)
    return rows(query, flow, operator.max_bytes)


def _check(operator: LocalRows) -> None:
    """Computes the constants of a query. NotHere."""
    tree = _tree(operator)
    if isinstance(tree, LocalQuery):
        check_query(tree)


@contextmanager
def reading_files() -> Iterator[None]:
    """Turns what pyarrow says of a file into NotHere: Spark may read it, or says what is wrong
    with it.
    """
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise NotHere(f"a file that cannot be read: {error}") from error
    except FormatError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        raise NotHere(f"a file that cannot be read: {error.message}") from error


# ---- a transaction's own rows
#
# Rows that a transaction has written and not taken back: what its commit writes anew.


def live_rows(driver: Driver, snapshot: TableSnapshot) -> pa.Table | None:
    """ID_FIELDS and ``data_names`` of the rows of a snapshot without partition columns; None where
    they are Spark's to read or to write.
    """
    allowed = engines(driver.settings)
    if not allowed.changes_by_driver:
        return None
    try:
        with reading_files():
            rows = _read(driver, snapshot, allowed.read_bytes, allowed.row_bytes)
    except NotHere:
        return None
    return None if rows is None or needs_java_writer(rows) else rows


def _read(
    driver: Driver, snapshot: TableSnapshot, files: int | None, most: int | None
) -> pa.Table | None:
    """The rows; None if the files weigh more than ``files`` bytes, or they themselves more than
    ``most``. NotHere.
    """
    import pyarrow as pa

    names = [column.name for column in snapshot.table.columns]
    if files is not None and driver.scanner.weigh(snapshot, names) > files:
        return None
    parts, weight = [], 0
    for batch in driver.scanner.batches(snapshot, names, ids=True):
        parts.append(batch)
        weight += batch.nbytes
        if most is not None and weight > most:
            return None
    schema = driver.scanner.schema(snapshot, names)
    kinds = [pa.field(name, kind) for name, kind in zip(ID_FIELDS, ID_TYPES, strict=True)]
    table = pa.Table.from_batches(parts, pa.schema([*kinds, *schema]))
    return table.rename_columns([*ID_FIELDS, *data_names(snapshot.table.columns)])


def stage_rows(
    files: FileIO, root: PendingRoot, rows: pa.Table, directory: str
) -> list[StagedFile]:
    """The rows in new files of a directory."""
    kept = driver_writer.kept_files(root.target, rows, one_base=root.overwritten)
    return in_parallel(lambda file: driver_writer.stage_file(files, directory, file), kept)
