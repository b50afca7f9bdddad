"""Which wall clocks a zone leaves out, and the words for now in the clock of a zone. No Spark."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.catalog.types import parse_type
from acidsql.errors import Span
from acidsql.planner.bind.columns import moment_edits, moments_shown
from acidsql.spark.start.clocks import UTC_CLOCK, FileClock, refused_time
from acidsql.spark.write.stored_sql import wall_clock_type
from tests.session.zones.wall_clocks import ZONES, changes, clocks_around, is_left_out

CHANGES = {zone: changes(zone, 1971, 2036) for zone in ZONES}


@given(st.data())
def test_what_the_clocks_of_a_zone_leave_out(data: st.DataObject) -> None:
    """It is told for whole columns, at every change of a zone's clocks."""
    zone = data.draw(st.sampled_from([zone for zone in ZONES if CHANGES[zone]]))
    moment = data.draw(st.sampled_from(CHANGES[zone]))
    clocks = sorted(clocks_around(zone, moment))
    told = FileClock(zone=zone).leaves_out(pa.array([*clocks, None], pa.timestamp("us")))
    assert told.to_pylist() == [*(is_left_out(zone, clock) for clock in clocks), False]


def test_gaps_that_java_knows_are_told_for_zones_that_arrow_does_not_know() -> None:
    """And beside those that it knows."""
    for zone in ("GMT+05:30", "UTC"):
        clock = FileClock(zone=zone, gaps=((10, 20),))
        values = pa.array([9_999_999, 10_000_000, 19_999_999, 20_000_000], pa.int64())
        told = clock.leaves_out(values.cast(pa.timestamp("us")))
        assert told.to_pylist() == [False, True, True, False]


def test_a_clock_of_utc_changes_nothing() -> None:
    """Scans and files of a Java in UTC are as if there were no zones."""
    assert UTC_CLOCK.shown("c", parse_type("array<timestamp>")) == "c"
    assert UTC_CLOCK.stored("c", parse_type("timestamp")) == "c"


def test_nested_times_are_shown_where_they_are() -> None:
    """The names of fields are left alone, and what holds no times."""
    clock = FileClock(zone="Asia/Kolkata")
    shown = clock.shown("c", parse_type("struct<timestamp:timestamp,n:int>"))
    assert shown == (
        "CASE WHEN c IS NOT NULL THEN named_struct('timestamp',"
        " from_utc_timestamp(c.`timestamp`, 'Asia/Kolkata'), 'n', c.`n`) END"
    )
    assert clock.shown("c", parse_type("map<string,int>")) == "c"
    assert wall_clock_type(parse_type("struct<timestamp:timestamp>")) == (
        "struct<`timestamp`:timestamp_ntz>"
    )


def test_a_refusal_of_a_task_is_an_error_of_ours() -> None:
    """It names the time and the zone, whatever Spark writes around them."""
    words = "acidsql: time: the timestamp 2024-03-31 02:30:00 cannot be written in Europe/Berlin"
    error = refused_time(f"[USER_RAISED_EXCEPTION] {words} SQLSTATE: P0001")
    assert error is not None
    assert error.message == (
        'the timestamp 2024-03-31 02:30:00 cannot be written by a Java whose time zone is "Europe/Berlin"'
    )
    assert refused_time("anything else") is None


NOW = "from_utc_timestamp(current_timestamp(), 'Asia/Tokyo')"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("SELECT current_date", f"SELECT CAST({NOW} AS date) AS `current_date()`"),
        ("SELECT a, now() AS n", f"SELECT a, {NOW} AS n"),
        ("a < current_timestamp AND b", f"a < {NOW} AND b"),
        ("f(CURRENT_TIMESTAMP())", f"f({NOW})"),
        ("localtimestamp", f"CAST({NOW} AS timestamp_ntz)"),
        ("SELECT current_timezone()", "SELECT 'Asia/Tokyo' AS `current_timezone()`"),
        ("SELECT x AS current_date FROM t", None),
        ("SELECT x current_date FROM t", None),
        ("SELECT t.current_date", None),
        ("SELECT current_date.x", None),
        ("'current_date'", None),
        ("now", None),
        ("`current_date`", None),
    ],
)
def test_now_is_shown_by_the_sessions_clock(text: str, shown: str | None) -> None:
    """Only where the words mean now; in UTC Spark's own do."""
    assert moments_shown(text, "Asia/Tokyo") == (text if shown is None else shown)
    assert moments_shown(text, "UTC") == text


def test_a_column_may_be_called_as_today() -> None:
    """Then the bare word is the column."""
    text = "current_date > current_timestamp"
    edits = moment_edits(text, Span(0, len(text)), "Asia/Tokyo", {"current_date"})
    assert [edit.span.cut(text) for edit in edits] == ["current_timestamp"]


def test_the_clocks_around_a_change_are_what_they_are_said_to_be() -> None:
    """The night of summer time in Berlin."""
    [moment] = [m for m in CHANGES["Europe/Berlin"] if (m.year, m.month) == (2024, 3)]
    assert moment == datetime.datetime(2024, 3, 31, 1)
    assert datetime.datetime(2024, 3, 31, 2, 30) in clocks_around("Europe/Berlin", moment)
    assert is_left_out("Europe/Berlin", datetime.datetime(2024, 3, 31, 2, 30))
