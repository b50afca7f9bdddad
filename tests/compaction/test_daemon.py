"""``acidsql compactor`` as a process: once, until it is told to stop, killed at work, two at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acidsql import crash_points
from acidsql.cli.main import main
from acidsql.metastore.sql import update
from acidsql.metastore.tables import COMPACTION_QUEUE
from acidsql.session import Session
from acidsql.txn.compactions import CompactionState
from tests.compaction.conftest import ACID
from tests.forks import Ended, ended, program
from tests.session.transactions.crashes import rows_of

pytestmark = pytest.mark.processes

ROOT = Path(__file__).resolve().parents[2]
ROWS = 11


def at_point(point: str, number: int, arguments: list[str]) -> int:
    """A daemon that gets a signal at a point of its work, at which it then stays."""

    def reached(now: str) -> None:
        if now == point:
            os.kill(os.getpid(), number)
            time.sleep(600)

    crash_points.hook = reached
    return main(arguments)


@pytest.fixture
def table(warehouse: Path) -> Iterator[Session]:
    """A session on a warehouse with one table that is due."""
    with Session(str(warehouse)) as session:
        session.sql(f"CREATE TABLE t (id INT) {ACID.format('')}")
        for number in range(ROWS):
            session.sql(f"INSERT INTO t VALUES ({number})")
        yield session


def command(warehouse: Path, *options: str) -> list[str]:
    return ["compactor", "--warehouse", str(warehouse), *options]


def once(warehouse: Path, *options: str) -> Ended:
    arguments = command(warehouse, "--once", *options)
    return ended(main, arguments, folder=warehouse.parent)


@contextmanager
def running(warehouse: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A daemon that has said that it has started; it is killed if it does not end."""
    with subprocess.Popen(
        [sys.executable, "-m", "acidsql", *command(warehouse, *options)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            assert "started: " in process.stderr.readline()
            yield process
        finally:
            process.kill()


def states(session: Session) -> list[CompactionState]:
    return [entry.state for entry in session.store.compactions()]


def check_compacted(session: Session, warehouse: Path) -> None:
    """All rows are there once, in one directory, and nothing else is."""
    assert sorted(rows_of(session, "t")) == [(number,) for number in range(ROWS)]
    assert os.listdir(warehouse / "t") == [f"base_{ROWS:07d}"]


def test_once_does_all_there_is_to_do(table: Session, warehouse: Path) -> None:
    """With --once what is due is asked for, done and cleaned up; each step is a line on stderr with
    its table, time and bytes, and stdout stays empty. A second run finds nothing to do.
    """
    first = subprocess.run(
        [sys.executable, "-m", "acidsql", *command(warehouse, "--once")],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    second = once(warehouse)

    assert (first.returncode, first.stdout) == (0, ""), first.stderr
    assert states(table) == [CompactionState.SUCCEEDED]
    check_compacted(table, warehouse)
    lines = first.stderr.splitlines()
    assert all("default.t" in line for line in lines)
    [done] = [line for line in lines if " done in " in line]
    assert "in 11 directories -> " in done
    assert done.endswith(" in 1 directory")
    assert (second.returncode, second.stderr.count("compaction 1 ")) == (0, 0)


def test_roles_are_apart(table: Session, warehouse: Path) -> None:
    """The Initiator alone asks, a worker alone works, the cleaner alone cleans."""
    assert once(warehouse, "--initiator").returncode == 0
    assert states(table) == [CompactionState.INITIATED]
    assert once(warehouse, "--cleaner").returncode == 0
    assert once(warehouse, "--workers", "1", "--pool", "other").returncode == 0
    assert states(table) == [CompactionState.INITIATED]
    assert once(warehouse, "--workers", "2").returncode == 0
    assert states(table) == [CompactionState.READY_FOR_CLEANING]
    assert len(os.listdir(warehouse / "t")) == ROWS + 1
    assert once(warehouse, "--cleaner").returncode == 0

    assert states(table) == [CompactionState.SUCCEEDED]
    check_compacted(table, warehouse)


def test_a_failure_is_the_exit_code(table: Session, warehouse: Path) -> None:
    """A compaction that fails is an error line and exit code 1; no row is touched."""
    file = next((warehouse / "t" / "delta_0000003_0000003_0000").glob("bucket*"))
    content = file.read_bytes()
    file.write_bytes(content[:-20] + bytes(20))

    failed = once(warehouse)

    assert failed.returncode == 1
    assert " failed: " in failed.stderr
    assert CompactionState.FAILED in states(table)
    file.write_bytes(content)
    assert len(rows_of(table, "t")) == ROWS


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_daemon(table: Session, warehouse: Path, number: int) -> None:
    """A daemon is known while it runs, ends with exit code 0 when it is told to, and is known no
    more.
    """
    with running(warehouse, "--cleaner") as daemon:
        [known] = table.store.compactor_daemons()
        assert known.roles == ("cleaner", "housekeeper")
        daemon.send_signal(number)
        assert daemon.wait(60) == 0
        assert daemon.stderr is not None
        assert daemon.stderr.read().endswith("stopped\n")

    assert table.store.compactor_daemons() == ()


@pytest.mark.parametrize(
    ("point", "how"),
    [
        ("compaction staged", ["--once"]),
        ("compaction opened", []),
        *(
            pytest.param(*variant, marks=pytest.mark.slow)
            for variant in (
                ("compaction taken", ["--once"]),
                ("compaction opened", ["--once"]),
                ("compaction taken", []),
                ("compaction staged", []),
            )
        ),
    ],
)
def test_work_that_does_not_end_is_given_back(
    table: Session, warehouse: Path, tmp_path: Path, point: str, how: list[str]
) -> None:
    """A daemon that is told to stop in the middle of a merge that takes long ends all the same; the
    entry waits for another worker, which finishes it and leaves nothing behind.
    """
    arguments = command(warehouse, *how)
    told = ended(at_point, point, signal.SIGTERM, arguments, folder=tmp_path)

    assert told.returncode == 0, told.stderr
    assert states(table) == [CompactionState.INITIATED]
    assert table.store.compactor_daemons() == ()
    take_up(table, warehouse)


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("compaction opened", marks=pytest.mark.slow),
        "compaction staged",
        "compaction published",
        pytest.param("compaction done", marks=pytest.mark.slow),
    ],
)
def test_the_work_of_the_killed_is_taken_up(
    table: Session, warehouse: Path, tmp_path: Path, point: str
) -> None:
    """Of a daemon that is killed at work nothing is left, and its entry is carried out by the next
    one, which need wait for nothing.
    """
    killed = ended(at_point, point, signal.SIGKILL, command(warehouse), folder=tmp_path)

    assert killed.returncode == -signal.SIGKILL
    assert table.store.compactor_daemons() == ()
    with Session(str(warehouse)) as reader:  # which keeps its files until it is closed
        assert sorted(rows_of(reader, "t")) == [(number,) for number in range(ROWS)]
    take_up(table, warehouse)


def take_up(session: Session, warehouse: Path) -> None:
    """Another daemon does what one has left, when the pause of what was given back is over."""
    with session.store._store.write() as connection:
        connection.execute(update(COMPACTION_QUEUE).values(CQ_RETRY_AFTER=None))
    assert once(warehouse).returncode == 0
    assert states(session) == [CompactionState.SUCCEEDED]
    check_compacted(session, warehouse)


def test_two_at_once_share_the_work(warehouse: Path, tmp_path: Path, table: Session) -> None:
    """Two daemons on one warehouse compact each of many tables once."""
    for number in range(5):
        table.sql(f"CREATE TABLE t{number} (id INT) {ACID.format('')}")
        for value in range(ROWS):
            table.sql(f"INSERT INTO t{number} VALUES ({value})")
    arguments = command(warehouse, "--once", "--workers", "2", "--initiator", "--cleaner")
    with (
        program(main, arguments, folder=tmp_path) as one,
        program(main, arguments, folder=tmp_path) as other,
    ):
        assert [one.wait().returncode, other.wait().returncode] == [0, 0]

    assert once(warehouse).returncode == 0
    assert states(table) == [CompactionState.SUCCEEDED] * 6
    check_compacted(table, warehouse)
    for number in range(5):
        assert len(rows_of(table, f"t{number}")) == ROWS
