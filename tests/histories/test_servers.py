"""The metastore's server is stopped, crashes and starts while processes write: what was committed is
there once, nothing else is, and errors say whether a statement may be run again.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from acidsql.session import Session
from tests.histories.serving import ROWS, TABLES
from tests.lengths import times
from tests.postgresql_server import PASSWORD, USER, PostgreSQLServer, free_port, postgresql_server
from tests.session.transactions.crashes import garbage, rows_of

pytestmark = [pytest.mark.slow, pytest.mark.processes]

ROOT = Path(__file__).resolve().parents[2]
WRITERS = 3
HOWS = (signal.SIGINT, signal.SIGQUIT)
"""A fast shutdown, and an immediate one, which is a crash to its clients."""


@pytest.fixture
def server() -> Iterator[PostgreSQLServer]:
    with postgresql_server() as one:
        yield one


class Writers:
    """Processes that write until they are stopped, and what they have noted."""

    def __init__(self, warehouse: Path, folder: Path, url: str) -> None:
        folder.mkdir()
        self.folder = folder
        self.processes = [
            subprocess.Popen(
                [
                    *(sys.executable, "-m", "tests.histories.serving"),
                    *(str(warehouse), str(folder), str(number)),
                ],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT), "ACIDSQL_METASTORE": url},
            )
            for number in range(1, WRITERS + 1)
        ]
        self.until(lambda: self.count("ready") == WRITERS)

    def lines(self) -> list[list[str]]:
        texts = [path.read_text() for path in sorted(self.folder.glob("notes*"))]
        return [line.split() for text in texts for line in text.splitlines()]

    def count(self, word: str) -> int:
        return sum(line[0] == word for line in self.lines())

    def batches(self, word: str) -> set[int]:
        return {int(line[1]) for line in self.lines() if line[0] == word}

    def until(self, true: object) -> None:
        pause = threading.Event()
        for _ in range(6000):
            if true():  # type: ignore[operator]
                return
            assert all(process.poll() is None for process in self.processes)
            pause.wait(0.02)
        pytest.fail("it never came true")

    def go_on(self, count: int) -> None:
        """Waits until so many more batches are done."""
        before = self.count("done")
        self.until(lambda: self.count("done") >= before + count)

    def stop(self) -> None:
        (self.folder / "stop").touch()
        assert [process.wait(120) for process in self.processes] == [0] * WRITERS

    def kill(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


def check(session: Session, writers: Writers) -> None:
    """Each batch has all its rows or none, as its process was told; nothing is left."""
    done, unknown = writers.batches("done"), writers.batches("unknown")
    begun, none = writers.batches("begun"), writers.batches("none")
    assert begun == done | unknown | none
    told = [line for line in writers.lines() if line[0] == "none"]
    assert [line for line in told if line[2] != "True"] == []  # each may be run again
    in_t = Counter(batch for batch, part in rows_of(session, "t") if 10 <= part < 10 + ROWS)
    in_p = Counter(batch for batch, _ in rows_of(session, "p"))
    assert in_t == in_p
    assert len(rows_of(session, "t")) == sum(in_t.values())
    assert set(in_t.values()) <= {ROWS}
    assert done <= set(in_t) <= done | unknown
    session.sql("INSERT INTO t VALUES (0, 0)")
    session.sql("INSERT INTO p VALUES (0, 0)")
    assert garbage(session) == []


def test_a_server_that_stops_and_starts(
    warehouse: Path, tmp_path: Path, server: PostgreSQLServer
) -> None:
    """In the middle of statements and of commits, by a shutdown and by crashes."""
    url = server.url(server.make_database())
    settings = {"hive.txn.timeout": "5"}
    with Session(warehouse, metastore=url, settings=settings) as session:
        for statement in TABLES:
            session.sql(statement)
        writers = Writers(warehouse, tmp_path / "notes", url)
        try:
            for number in range(times(20)):
                writers.go_on(1 + number % WRITERS)
                server.stop(HOWS[number % 2])
                if number % 3 == 2:  # longer than a new connection is tried for
                    before = writers.count("none")
                    writers.until(lambda before=before: writers.count("none") > before)
                assert server.start()
            writers.go_on(WRITERS)
            writers.stop()
        finally:
            writers.kill()
        check(session, writers)


def test_another_server_takes_over(
    warehouse: Path, tmp_path: Path, server: PostgreSQLServer
) -> None:
    """The URL names both: sessions go on with the one that is there, without being opened anew."""
    database = server.make_database()
    other_port = free_port()
    hosts = f"127.0.0.1:{server.port},127.0.0.1:{other_port}"
    url = f"postgresql://{USER}:{quote(PASSWORD, safe='')}@{hosts}/{database}"
    with Session(warehouse, metastore=url) as session:
        for statement in TABLES:
            session.sql(statement)
        writers = Writers(warehouse, tmp_path / "notes", url)
        other: PostgreSQLServer | None = None
        try:
            writers.go_on(WRITERS)
            server.stop(signal.SIGQUIT)
            other = server.taking_over(other_port)
            writers.go_on(2 * WRITERS)
            writers.stop()
            check(session, writers)
        finally:
            writers.kill()
            if other is not None:
                other.stop()
