"""What a statement gives back: columns, rows in several shapes, and what it did."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn

from acidsql.catalog.model import TableName
from acidsql.catalog.types import HiveType, PrimitiveType
from acidsql.errors import DataError, InterfaceError, LossWarning, Warning
from acidsql.expressions.losses import Lost
from acidsql.lazy import dataclass
from acidsql.plan.operators import Ran

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from acidsql.plan.plans import Plan


_PRINTED_ROWS = 20
_WIDEST_CELL = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultColumn:
    name: str
    type: HiveType


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The numbers of what a statement did. ``directories`` are relative to the warehouse; ``path``
    says how rows were written (small, big).

    ``clauses``: of a MERGE the rows of each WHEN clause, of a multi-insert those of each leg:
    ("WHEN MATCHED AND s.n > 0 THEN UPDATE", 3). ``rows_copied``: into files that no table has.
    ``rows_rejected``, ``files_taken``, ``files_skipped``: of COPY INTO.
    ``steps``: of the plan that ran, with what each came to. ``lost``: values that were stored, and
    are not what they were; ``warnings``: what else the user should know.
    """

    statement: str = ""
    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0
    rows_copied: int = 0
    rows_rejected: int = 0
    files_taken: int = 0
    files_skipped: int = 0
    clauses: tuple[tuple[str, int], ...] = ()
    txn_id: int | None = None
    write_ids: Mapping[str, int] = field(default_factory=dict)
    directories: tuple[str, ...] = ()
    path: str | None = None
    steps: tuple[Ran, ...] = field(default=(), compare=False, repr=False)
    lost: tuple[Lost, ...] = ()
    warnings: tuple[Warning, ...] = field(default=(), compare=False, repr=False)
    seconds: float = 0.0

    @property
    def rows_changed(self) -> int:
        return self.rows_inserted + self.rows_updated + self.rows_deleted

    @property
    def counts(self) -> tuple[tuple[int, str, str], ...]:
        """Each number, with what is counted and what became of it: (3, "row", "inserted")."""
        return (
            (self.rows_inserted, "row", "inserted"),
            (self.rows_updated, "row", "updated"),
            (self.rows_deleted, "row", "deleted"),
            (self.rows_copied, "row", "written"),
            (self.rows_rejected, "row", "rejected"),
            (self.files_taken, "file", "taken"),
            (self.files_skipped, "file", "skipped"),
        )


def warnings_of(stats: Stats) -> list[Warning]:
    """What a user is told of values that their columns could not hold, and the like."""
    return [*stats.warnings, *(LossWarning(str(one)) for one in stats.lost)]


def _values(column: pa.Array) -> list[Any]:
    """The values of a column. Text that is not UTF-8, as a file of another program's may hold,
    comes with marks instead of the bytes that are no characters. DataError for a time that Python
    has not.
    """
    import pyarrow as pa

    try:
        values: list[Any] = column.to_pylist()
    except OverflowError:
        raise DataError(
            "a day or moment lies outside of the years 1 to 9999, which Python ends with",
            hint="Cast it to STRING, or take the rows as Arrow.",
            sqlstate="22008",
        ) from None
    except UnicodeDecodeError:
        if not pa.types.is_string(column.type):
            raise DataError(
                "a text inside an array, map or struct is not UTF-8", hint="Ask for its parts."
            ) from None
        values = [
            None if text is None else text.decode(errors="replace")
            for text in column.cast(pa.binary()).to_pylist()
        ]
    return values


def tuples_of(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    """The rows of a batch as tuples of Python values, as ``Result.rows`` gives them."""
    return zip(*map(_values, batch.columns), strict=True)


def _tuples(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    return chain.from_iterable(map(tuples_of, table.to_batches()))


def polars_of(rows: pa.Table) -> Any:
    """The rows as a polars DataFrame. InterfaceError where polars is not installed."""
    try:
        polars = import_module("polars")
    except ImportError as error:
        raise InterfaceError("polars is not installed") from error
    return polars.from_arrow(rows)


class Result:
    """The outcome of one statement. Rows are fetched when first asked for, and then kept.

    ``columns`` is empty for statements that give no rows. ``df`` is Spark's DataFrame over the
    statement's snapshot; the same rows come as Arrow (``to_arrow``, ``__arrow_c_stream__``: polars,
    DuckDB and pandas take the result as it is), as pandas, as tuples. ``warnings``: what the user
    should know though nothing failed, such as literals that their columns cannot hold.
    ``notes``: the lines that Hive prints beside rows, such as "Compaction enqueued with id 3".
    ``text``: the statement as it ran, its parameters filled in.
    ``reads``: the tables that rows come from when they are asked for.
    """

    def __init__(
        self,
        columns: Sequence[ResultColumn],
        stats: Stats,
        *,
        fetch: Callable[[], pa.Table] | None = None,
        make_df: Callable[[], DataFrame | None] | None = None,
        stream: Callable[[], Iterator[pa.RecordBatch]] | None = None,
        warnings: Iterable[Warning] = (),
        notes: Iterable[str] = (),
    ) -> None:
        self.columns = tuple(columns)
        self.stats = stats
        self.warnings: tuple[Warning, ...] = tuple(warnings)
        self.notes: tuple[str, ...] = tuple(notes)
        self.text = ""
        self._fetch = fetch
        self._make_df = make_df
        self._stream = stream
        self._is_streamed = False
        self._is_handed_out = False
        self.plan: Plan | None = None
        """What was carried out, as it was bound; None of a result that is no statement's."""
        self._frame_of: Callable[[pa.Table], DataFrame] | None = None
        self.reads: tuple[TableName, ...] = ()
        self._kept: tuple[object, Callable[[], object]] | None = None

    @classmethod
    def of_text(
        cls, stats: Stats, names: Sequence[str], rows: Sequence[Sequence[str | None]]
    ) -> Result:
        """A result of string columns, as SHOW and DESCRIBE give."""

        def fetch() -> pa.Table:
            import pyarrow as pa

            from acidsql.arrow_arrays import arrow_array

            columns = [
                arrow_array([row[i] for row in rows], pa.string()) for i in range(len(names))
            ]
            return pa.Table.from_arrays(columns, names=list(names))

        return cls(
            [ResultColumn(name=n, type=PrimitiveType("string")) for n in names], stats, fetch=fetch
        )

    @cached_property
    def _table(self) -> pa.Table:
        if self._fetch is None:
            raise InterfaceError("the statement gives no rows")
        if self._is_streamed:
            raise InterfaceError("the rows have been streamed", hint="Run the query again.")
        return self._fetch()

    def to_arrow(self) -> pa.Table:
        """All rows. InterfaceError if the statement gives none."""
        return self._table

    def to_pandas(self, *, arrow_types: bool = False) -> pandas.DataFrame:
        """All rows, in NumPy's types: a BIGINT with NULLs becomes a double. ``arrow_types``: each
        column in the Arrow type it has, which keeps every value.
        """
        if not arrow_types:
            return self._table.to_pandas()
        import pandas

        return self._table.to_pandas(types_mapper=pandas.ArrowDtype)

    def to_polars(self) -> Any:
        """All rows, as a polars DataFrame. InterfaceError where polars is not installed."""
        return polars_of(self._table)

    def over_spark(self, frame_of: Callable[[pa.Table], DataFrame]) -> Result:
        """This result, with a ``df`` made from the rows if it has none of its own."""
        self._frame_of = frame_of
        return self

    @property
    def df(self) -> DataFrame:
        """Spark's DataFrame. For results made without Spark, or whose rows have been fetched, it is
        built from the rows, which starts Spark. It may be used until the session is closed,
        for acidsql.reader.lease at most. Asked for again after another session has dropped or
        renamed a table of it, it is another one, which reads the files where they are kept.
        """
        if self._fetch is None:
            raise InterfaceError("the statement gives no rows")
        if self._kept is not None and not self._is_handed_out:
            self._kept[1]()
        if "_frame_of_rows" not in vars(self):
            frame = None if self._make_df is None else self._make_df()
            if frame is not None:
                self._is_handed_out = True
                return frame
        return self._frame_of_rows

    @cached_property
    def _frame_of_rows(self) -> DataFrame:
        if self._frame_of is None:
            raise InterfaceError("the result has no session to make a DataFrame in")
        return self._frame_of(self._table)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Rows as tuples of Python values: Decimal, date, datetime, list, dict for a struct, list
        of pairs for a map.
        """
        return _tuples(self._table)

    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        """The rows as record batches. Those that were not fetched before are read as they are asked
        for and not kept, so that more may come than memory holds; that can be done once, and no
        other statement of the session may run before the end. InterfaceError as for ``to_arrow``.
        """
        if self._stream is None or self._is_streamed or self.is_fetched:
            yield from self._table.to_batches()
        else:
            self._is_streamed = True
            yield from self._stream()

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """All rows, from the first one on each time: see ``rows``."""
        return self.rows()

    def __len__(self) -> int:
        """How many rows there are. InterfaceError if the statement gives none, whose counts are in
        ``stats``.
        """
        return int(self._table.num_rows)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a result cannot be sent to another process: send its to_arrow()")

    def __bool__(self) -> bool:
        """A result is true, also one without rows."""
        return True

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, None behind the last one."""
        return next(self._unread, None)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows that ``fetchone`` has not given yet."""
        return list(self._unread)

    @cached_property
    def _unread(self) -> Iterator[tuple[Any, ...]]:
        return self.rows()

    @property
    def is_unread(self) -> bool:
        """Whether nobody has asked for the rows yet, nor for Spark's DataFrame of them."""
        return not (self._is_handed_out or self.is_fetched)

    @property
    def is_fetched(self) -> bool:
        """Whether the rows are here."""
        return "_table" in vars(self)

    def keep(self, rows_of: object, handed_out: Callable[[], object]) -> None:
        """Keeps what the rows are read from as long as there is the result. ``handed_out``: called
        once Spark's DataFrame is asked for, which may be there for longer.
        """
        self._kept = (rows_of, handed_out)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        names = ", ".join(c.name for c in self.columns)
        return (
            f"<Result of {self.stats.statement}:"
            f" {names or f'{self.stats.rows_changed} rows changed'}>"
        )

    def __str__(self) -> str:
        """The first rows as a table; of a statement that gives none what it did."""
        if not self.columns:
            return self._what_was_done()
        from acidsql.rendering.formats import Format, Layout, table_lines

        widest = _WIDEST_CELL if len(self.columns) > 1 else None  # lone columns are plans and such
        layout = Layout(format=Format.TABLE, widest_cell=widest)
        shown = min(len(self), _PRINTED_ROWS)
        lines = table_lines(self.columns, _tuples(self._table.slice(0, shown)), layout)
        count = "1 row" if len(self) == 1 else f"{len(self):,} rows"
        more = len(self) - shown
        return "".join(lines) + (f"{count}, {more:,} of them not shown" if more else count)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What IPython shows of it."""
        printer.text(repr(self) if cycle else str(self))

    def _repr_html_(self) -> str:
        from acidsql.result_html import SHOWN_ROWS, line_html, rows_html

        if self.columns:
            table = self._table
            shown = zip(*map(_values, table.slice(0, SHOWN_ROWS).columns), strict=True)
            text = rows_html([(c.name, c.type) for c in self.columns], shown, table.num_rows)
        else:
            text = line_html(self._what_was_done())
        return text + "".join(
            line_html(line) for line in (*self.notes, *(f"warning: {w}" for w in self.warnings))
        )

    def _what_was_done(self) -> str:
        """The statement's name, and the rows it changed."""
        from acidsql.result_html import count_of

        stats = self.stats
        parts = [f"{count_of(n, what)} {became}" for n, what, became in stats.counts if n]
        if not parts:
            changes = stats.statement in ("INSERT", "UPDATE", "DELETE", "MERGE")
            parts = ["no rows changed" if changes else "done"]
        legs = [f"{leg}: {number:,}" for leg, number in stats.clauses]
        return f"{stats.statement}: {', '.join(parts)}" + "".join(f"; {leg}" for leg in legs)
