"""A session looks after what it writes by the way, and nobody notices."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acidsql.catalog.model import TableName
from acidsql.compaction.background import MOST_RETURNS
from acidsql.errors import Warning
from acidsql.session import Session
from acidsql.txn.compactions import CompactionState
from acidsql.txn.reading import ReadSnapshot
from tests.compaction.conftest import ACID
from tests.session.transactions.crashes import rows_of

ON = {"acidsql.compactor.auto": "true"}
MANY = 100


@pytest.fixture
def open_session(warehouse: Path) -> Iterator[Callable[..., Session]]:
    """Opens sessions that compact by the way, unless settings say otherwise."""
    opened: list[Session] = []

    def open_one(**settings: str) -> Session:
        given = {name.replace("_", "."): value for name, value in settings.items()}
        opened.append(Session(str(warehouse), settings=ON | given))
        return opened[-1]

    yield open_one
    for session in opened:
        session.close()


def make(session: Session, properties: str = "") -> None:
    session.sql(f"CREATE TABLE t (id INT) {ACID.format(properties)}")


def insert(session: Session, numbers: range) -> list[Warning]:
    return [
        warning
        for number in numbers
        for warning in session.sql(f"INSERT INTO t VALUES ({number})").warnings
    ]


def directories(warehouse: Path) -> list[str]:
    return [name for name in os.listdir(warehouse / "t") if not name.startswith(".")]


def wait(session: Session) -> None:
    session._background.wait()


def states(session: Session) -> list[CompactionState]:
    return [entry.state for entry in session.store.compactions()]


def test_directories_stay_few(open_session: Callable[..., Session], warehouse: Path) -> None:
    """Of a hundred small writes a few directories are left, though nobody has asked for a
    compaction; each row is there, and no statement has warned of anything.
    """
    session = open_session()
    make(session)

    warnings = insert(session, range(MANY))
    wait(session)

    assert warnings == []
    assert len(directories(warehouse)) < 30
    assert sorted(rows_of(session, "t")) == [(number,) for number in range(MANY)]
    assert set(states(session)) == {CompactionState.SUCCEEDED}
    assert not session.spark_started


def test_a_daemon_is_left_to_it(open_session: Callable[..., Session], warehouse: Path) -> None:
    """As long as a daemon is registered a session compacts nothing; afterwards it does."""
    session = open_session()
    make(session)
    daemon = session.store.register_daemon(["worker"], [""])
    insert(session, range(20))
    wait(session)
    assert states(session) == []
    session.store.end_daemon(daemon)

    insert(session, range(20, 30))
    wait(session)

    assert CompactionState.SUCCEEDED in states(session)


@pytest.mark.parametrize(
    "settings",
    [{"acidsql_compactor_auto": "false"}, {"hive_compactor_delta_num_threshold": "100"}],
    ids=["off", "below the threshold"],
)
def test_what_need_not_be_is_not_compacted(
    open_session: Callable[..., Session], warehouse: Path, settings: dict[str, str]
) -> None:
    """Nothing is compacted where it is turned off, or where no threshold is crossed."""
    session = open_session(**settings)
    make(session)

    insert(session, range(30))
    wait(session)

    assert states(session) == []
    assert len(directories(warehouse)) == 30


def test_large_tables_are_left_to_others(
    open_session: Callable[..., Session], warehouse: Path
) -> None:
    """A table above the limit has no entry that nobody would take."""
    session = open_session()
    session.sql("SET acidsql.compactor.auto.max.bytes=1000")
    make(session)

    insert(session, range(30))
    wait(session)

    assert states(session) == []
    assert len(directories(warehouse)) == 30


def test_failures_are_told_by_show_compactions_alone(
    open_session: Callable[..., Session], warehouse: Path
) -> None:
    """A file that cannot be read fails the compaction, whose entry says so; whoever writes on is
    not told.
    """
    session = open_session()
    make(session)
    insert(session, range(4))
    wait(session)
    file = next((warehouse / "t" / "delta_0000002_0000002_0000").glob("bucket*"))
    content = file.read_bytes()
    file.write_bytes(content[:-20] + bytes(20))

    warnings = insert(session, range(4, 20))
    wait(session)

    assert warnings == []
    failed = [c for c in session.store.compactions() if c.state is CompactionState.FAILED]
    assert failed
    assert all(entry.message for entry in failed)
    file.write_bytes(content)
    assert len(rows_of(session, "t")) == 20


def test_what_a_closed_session_leaves_is_harmless(
    open_session: Callable[..., Session], warehouse: Path
) -> None:
    """Sessions that are closed at once, whatever their thread was at, lose no row; the next one
    takes up what they have left.
    """
    make(open_session())
    for first in range(0, 60, 12):
        session = open_session()
        insert(session, range(first, first + 12))
        session.close()
    last = open_session()

    insert(last, range(60, 80))
    wait(last)

    assert sorted(rows_of(last, "t")) == [(number,) for number in range(80)]
    assert len(directories(warehouse)) < 30
    assert not {CompactionState.INITIATED, CompactionState.FAILED} & set(states(last))


class Later:
    """Timers that the test lets run out."""

    def __init__(self, session: Session) -> None:
        self.pauses: list[float] = []
        self._due: list[Callable[[], None]] = []
        session._background.call_later = self._call_later

    def _call_later(self, seconds: float, action: Callable[[], None]) -> Later:
        self.pauses.append(seconds)
        self._due = [action]
        return self

    def cancel(self) -> None:
        self._due = []

    @property
    def is_due(self) -> bool:
        return bool(self._due)

    def run_out(self) -> None:
        (action,) = self._due
        action()


def test_it_comes_back_for_what_a_reader_kept(
    open_session: Callable[..., Session], warehouse: Path
) -> None:
    """Nothing is committed any more, and when the reader is gone its files go: after pauses that
    grow. Then nobody comes back.
    """
    session = open_session()
    later = Later(session)
    make(session)
    insert(session, range(3))
    table = session.store.find_table(TableName("default", "t"))
    assert table is not None
    with ReadSnapshot(session.store) as reader:
        session.engine.snapshots(reader).take(table, [])
        session.sql("ALTER TABLE t COMPACT 'major'")
        wait(session)
        later.run_out()
        wait(session)
        assert states(session) == [CompactionState.READY_FOR_CLEANING]
        assert len(directories(warehouse)) == 4
        assert later.is_due
        first, second = later.pauses
        assert second == 2 * first

    later.run_out()
    wait(session)

    assert states(session) == [CompactionState.SUCCEEDED]
    assert directories(warehouse) == ["base_0000003"]
    assert not later.is_due


def test_it_does_not_come_back_for_ever(
    open_session: Callable[..., Session], warehouse: Path
) -> None:
    """Of files that are to be kept for long it makes so many attempts; a commit begins anew, and a
    session that is closed ends it.
    """
    session = open_session(acidsql_history_retention="1d")
    later = Later(session)
    make(session)
    insert(session, range(3))
    session.sql("ALTER TABLE t COMPACT 'major'")
    wait(session)
    while later.is_due:
        later.run_out()
        wait(session)
    assert len(later.pauses) == MOST_RETURNS

    insert(session, range(3, 9))
    wait(session)

    assert later.is_due
    session.close()
    assert not later.is_due


def test_a_request_is_carried_out_by_the_way(
    open_session: Callable[..., Session], warehouse: Path
) -> None:
    """ALTER TABLE .. COMPACT returns at once; soon it is done, though nothing is due."""
    session = open_session()
    make(session)
    insert(session, range(3))

    session.sql("ALTER TABLE t COMPACT 'major'")
    wait(session)

    assert states(session) == [CompactionState.SUCCEEDED]
    assert directories(warehouse) == ["base_0000003"]


def test_waiting_needs_no_daemon(open_session: Callable[..., Session], warehouse: Path) -> None:
    """COMPACT .. AND WAIT is carried out by the session itself where nobody else would, and is
    cleaned up.
    """
    session = open_session(acidsql_compactor_auto="false")
    make(session)
    insert(session, range(3))

    result = session.sql("ALTER TABLE t COMPACT 'major' AND WAIT")

    assert result.notes[-1].startswith("Compaction with id 1 finished with status: ")
    assert states(session) == [CompactionState.SUCCEEDED]
    assert directories(warehouse) == ["base_0000003"]
    assert len(rows_of(session, "t")) == 3


@pytest.mark.processes
@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_forked_child_leaves_it_to_its_parent(
    open_session: Callable[..., Session], warehouse: Path
) -> None:
    """A child has no thread and starts none; its parent's goes on."""
    session = open_session()
    make(session)
    insert(session, range(12))
    child = os.fork()
    if not child:
        code = 1
        try:
            session._background.committed(requested=True)
            session._background.stop()
            session.close()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)

    insert(session, range(12, 30))
    wait(session)

    assert os.waitstatus_to_exitcode(status) == 0
    assert CompactionState.SUCCEEDED in states(session)
    assert len(rows_of(session, "t")) == 30
