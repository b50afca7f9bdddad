"""A cleaner killed at any step, for real: no reader notices, and the next one ends what it began."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql import crash_points
from acidsql.session import Session
from tests.compaction.cleaning import ACID, clean_all, cleaner_of, queued, states
from tests.compaction.compacting import MAJOR, MINOR, directories
from tests.forks import ended
from tests.session.transactions.crashes import garbage, rows_of

pytestmark = pytest.mark.processes

POINTS = (
    "cleaning claimed",
    "obsolete hidden",
    "obsolete removed",
    "entry succeeded",
)


@pytest.fixture
def opened(warehouse: Path) -> Iterator[Session]:
    """A session without Spark, of a process that outlives the one that is killed."""
    with Session(str(warehouse)) as session:
        yield session


def killed_at(session: Session, point: str, folder: Path) -> None:
    """Cleans in a process that is killed when it comes to ``point``."""
    killed = ended(clean_and_die, session.warehouse, point, folder=folder)
    assert killed.returncode == -signal.SIGKILL, killed.stderr


def clean_and_die(warehouse: str, point: str) -> None:
    def reached(now: str) -> None:
        if now == point:
            os.kill(os.getpid(), signal.SIGKILL)

    with Session(warehouse) as session:
        crash_points.hook = reached
        cleaner_of(session).run_once()


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize(
    "partitioned",
    [
        pytest.param(False, id="a table", marks=pytest.mark.slow),
        pytest.param(True, id="partitions"),
    ],
)
def test_a_killed_cleaner_leaves_nothing(
    opened: Session, tmp_path: Path, point: str, *, partitioned: bool
) -> None:
    """The rows are the same throughout; afterwards the directory holds what the catalog explains,
    and a dead transaction's files are gone as well.
    """
    of = "PARTITIONED BY (k STRING)" if partitioned else ""
    values = "({0}, 'a'), ({0}, 'b')" if partitioned else "({0})"
    opened.sql(f"CREATE TABLE t (id INT) {of} {ACID}")
    for number in range(3):
        opened.sql(f"INSERT INTO t VALUES {values.format(number)}")
    before = rows_of(opened, "t")
    for kind in (MINOR, MAJOR):
        queued(opened, "t", kind)
        killed_at(opened, point, tmp_path)
        assert rows_of(opened, "t") == before
        clean_all(opened)
        assert rows_of(opened, "t") == before
        if kind is MINOR:
            opened.sql(f"INSERT INTO t VALUES {values.format(3)}")
            before = rows_of(opened, "t")
    assert set(states(opened)) == {"succeeded"}
    names = {path.rpartition("/")[2] for path in directories(opened, "t") if "=" not in path[-3:]}
    assert names == {"base_0000004"}
    assert garbage(opened) == []
