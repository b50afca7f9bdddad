"""COPY INTO .. ONCE in processes that are killed at each point they pass: a file is neither lost nor
taken twice.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from acidsql import crash_points
from acidsql.session import Session
from tests.session.transactions.crashes import garbage, killed

pytestmark = pytest.mark.processes

SETTINGS = {"acidsql.engine": "local"}
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def prepared(folder: Path) -> tuple[Session, str]:
    """A session without Spark, with a table, and the statement that takes two files."""
    folder.mkdir()
    for number in (1, 2):
        (folder / f"{number}.csv").write_text(f"id,name\n{number},a\nx,{number}\n")
    session = Session(folder / "w", settings=SETTINGS)
    session.sql(f"CREATE TABLE t (id INT, name STRING) {ACID}")
    session.sql(f"CREATE TABLE r (file STRING, line INT, text STRING, reason STRING) {ACID}")
    return session, f"COPY INTO t FROM '{folder}/*.csv' ONCE REJECTS INTO r"


def counts(session: Session) -> tuple[int, int]:
    """The rows that were taken, and those that were not."""
    [(rows,)] = session.sql("SELECT count(*) FROM t")
    [(rejects,)] = session.sql("SELECT count(*) FROM r")
    return rows, rejects


def points(folder: Path) -> list[tuple[str, int]]:
    """The points that the statement passes, with how many times each was passed then."""
    passed: list[tuple[str, int]] = []
    times: Counter[str] = Counter()

    def note(point: str) -> None:
        times[point] += 1
        passed.append((point, times[point]))

    session, statement = prepared(folder)
    with session:
        crash_points.hook = note
        try:
            session.sql(statement)
        finally:
            crash_points.hook = None
    return passed


def test_killed_at_points_of_each_name(tmp_path: Path) -> None:
    """What is not there before the commit is taken by the next one, what is there is left alone:
    rows, rejects and what is on record come together.
    """
    passed = points(tmp_path / "whole")
    names = [point for point, _ in passed]
    last, commit = dict(passed), names.index("committed")
    assert {"begun", "announced", "written", "commit prepared"} <= set(names)
    for number, (point, times) in enumerate(passed):
        if last[point] != times:
            continue
        session, statement = prepared(tmp_path / str(number))
        with session:
            assert killed(tmp_path / str(number) / "w", point, statement, times=times, **SETTINGS)
            is_there = number >= commit
            assert counts(session) == ((2, 2) if is_there else (0, 0)), point
            done = session.sql(statement)
            assert done.stats.files_taken == (0 if is_there else 2), point
            assert done.stats.files_skipped == (2 if is_there else 0), point
            assert counts(session) == (2, 2), point
            session.sql("INSERT INTO t VALUES (0, NULL)")
            assert garbage(session) == [], point
