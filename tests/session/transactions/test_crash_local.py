"""Changes of rows that are carried out without Spark, in processes that are killed at each point
they pass.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from acidsql import crash_points
from acidsql.session import Session
from tests.session.transactions.crashes import garbage, killed

pytestmark = pytest.mark.processes

TABLE = (
    "CREATE TABLE t (id INT, name STRING) CLUSTERED BY (id) INTO 2 BUCKETS STORED AS ORC"
    " TBLPROPERTIES ('transactional'='true')"
)
ROWS = [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
CHANGES = {
    "UPDATE t SET name = upper(name) WHERE id > 2": [(1, "a"), (2, "b"), (3, "C"), (4, "D")],
    "DELETE FROM t WHERE id > 2": [(1, "a"), (2, "b")],
    "MERGE INTO t USING (VALUES (1, 'x'), (2, NULL), (9, 'new')) AS s(id, v) ON t.id = s.id"
    " WHEN MATCHED AND s.v IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET name = s.v"
    " WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v)": [
        (1, "x"), (3, "c"), (4, "d"), (9, "new"),
    ],
}  # fmt: skip
PASSED = {"begun", "staged", "directory made", "file published", "announced", "written"}
"""What is passed on the way to the commit."""


def prepared(warehouse: Path) -> Session:
    """A session without Spark, with the table."""
    session = Session(warehouse, settings={"acidsql.engine": "local"})
    session.sql(TABLE)
    session.sql("INSERT INTO t VALUES " + ", ".join(f"({k}, '{v}')" for k, v in ROWS))
    return session


def points_of(warehouse: Path, statement: str) -> list[tuple[str, int]]:
    """The points that the statement passes, with how many times each was passed then."""
    passed: list[tuple[str, int]] = []
    times: Counter[str] = Counter()

    def note(point: str) -> None:
        times[point] += 1
        passed.append((point, times[point]))

    with prepared(warehouse) as session:
        crash_points.hook = note
        try:
            session.sql(statement)
        finally:
            crash_points.hook = None
        assert rows(session) == CHANGES[statement]
        assert not session.spark_started
    return passed


def rows(session: Session) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in session.sql("SELECT id, name FROM t").rows())


def test_killed_at_points_of_each_name(tmp_path: Path) -> None:
    """All of a MERGE is there or nothing, all from the commit on; the next statement works and
    cleans up.
    """
    [statement] = [text for text in CHANGES if text.startswith("MERGE")]
    points = points_of(tmp_path / "whole", statement)
    killed_at(tmp_path, statement, points, dict(points))


@pytest.mark.slow
@pytest.mark.parametrize("statement", CHANGES, ids=lambda text: text.split()[0])
def test_killed_at_every_point(tmp_path: Path, statement: str) -> None:
    """The same wherever else a statement comes by."""
    points = points_of(tmp_path / "whole", statement)
    killed_at(tmp_path, statement, points, None)


def killed_at(
    folder: Path,
    statement: str,
    points: list[tuple[str, int]],
    only: dict[str, int] | None,
) -> None:
    """Kills the statement at each of its points, or ``only`` at these, and looks what is left."""
    names = [point for point, _ in points]
    assert PASSED <= set(names), names
    commit = names.index("committed")
    for number, (point, times) in enumerate(points):
        if only is not None and only[point] != times:
            continue
        warehouse = folder / str(number)
        with prepared(warehouse) as session:
            settings = {"acidsql.engine": "local"}
            assert killed(warehouse, point, statement, times=times, **settings), point
            is_there = number >= commit
            assert rows(session) == (CHANGES[statement] if is_there else ROWS), (point, times)
            if not is_there:
                session.sql(statement)
                assert rows(session) == CHANGES[statement], (point, times)
            session.sql("INSERT INTO t VALUES (0, NULL)")
            assert rows(session) == [(0, None), *CHANGES[statement]], (point, times)
            assert garbage(session) == [], (point, times)
            assert not session.spark_started
