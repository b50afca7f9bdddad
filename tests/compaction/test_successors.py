"""Tables and partitions of a name that another had before: what was about to happen to the first
one's files never happens to the second one's, whatever comes between two steps.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from acidsql.ddl import tables
from acidsql.errors import BindError, TransactionAbortedError
from acidsql.session import Session
from acidsql.txn.compactions import CompactionType
from tests.compaction.cleaning import clean_all, cleaner_of
from tests.compaction.compacting import (
    MAJOR,
    MINOR,
    clean,
    directories,
    enqueue,
    find,
    work,
    worker,
)
from tests.compaction.conftest import ACID
from tests.contracts import Clock
from tests.meanwhile import at_point


@pytest.fixture
def other(small: Session, warehouse: Path, metastore_url: str, clock: Clock) -> Iterator[Session]:
    """Another session, whose statements wait for no lock."""
    with Session(str(warehouse), metastore=metastore_url, clock=clock) as opened:
        opened.sql("SET hive.support.concurrency = false")
        yield opened


def fill(session: Session, value: str, count: int = 3) -> None:
    for number in range(count):
        session.sql(f"INSERT INTO t VALUES ({number}, '{value}')")


def create(session: Session, value: str, count: int = 3) -> None:
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID.format('')}")
    fill(session, value, count)


def create_anew(session: Session, value: str = "new", count: int = 3) -> Callable[[], None]:
    def action() -> None:
        session.sql("DROP TABLE t")
        create(session, value, count)

    return action


def create_partitioned(session: Session) -> None:
    session.sql(f"CREATE TABLE t (id INT, v STRING) PARTITIONED BY (p INT) {ACID.format('')}")
    for number in range(3):
        session.sql(f"INSERT INTO t PARTITION (p = 1) VALUES ({number}, 'old')")


def values(session: Session, table: str = "t") -> list[tuple[object, ...]]:
    return sorted(session.sql(f"SELECT id, v FROM {table}").rows())


def aborted_write(session: Session) -> None:
    """Rows of an aborted transaction, whose files nobody has taken away yet."""
    table = find(session, "t")
    txn_id = session.store.open_txn()
    write_id = session.store.allocate_write_id(txn_id, table.name)
    session.store.abort_txns([txn_id])
    session.sql(f"CREATE TABLE w (id INT, v STRING) {ACID.format('')}")
    for _ in range(write_id):
        session.sql("INSERT INTO w VALUES (9, 'never')")
    name = f"delta_{write_id:07}_{write_id:07}_0000"
    shutil.copytree(Path(find(session, "w").location) / name, Path(table.location) / name)


NEW = [(0, "new"), (1, "new"), (2, "new")]


@pytest.mark.parametrize("point", ["cleaning claimed", "obsolete hidden"])
@pytest.mark.parametrize("kind", [MINOR, MAJOR])
def test_a_cleaner_takes_nothing_from_a_successor(
    small: Session, other: Session, point: str, kind: CompactionType
) -> None:
    """Directories of the dropped table, which it was about to remove, have the same names as those
    of the next one.
    """
    create(small, "old")
    work(small, "t", kind)
    with at_point(point, create_anew(other)):
        cleaner_of(small).run_once()
    clean_all(small)
    assert values(small) == NEW


def test_a_cleaner_takes_nothing_from_a_partition_made_anew(small: Session, other: Session) -> None:
    """As little as from a table."""
    create_partitioned(small)
    work(small, "t", MAJOR, "p=1")

    def anew() -> None:
        other.sql("ALTER TABLE t DROP PARTITION (p = 1)")
        other.sql("INSERT INTO t PARTITION (p = 1) VALUES (7, 'new')")

    with at_point("cleaning claimed", anew):
        cleaner_of(small).run_once()
    clean_all(small)
    assert values(small) == [(7, "new")]


def test_a_drop_takes_nothing_from_a_partition_made_anew(
    small: Session, other: Session, warehouse: Path
) -> None:
    """Rows that come between the catalog's step and the end of the deletion stay, and none of those
    before come back.
    """
    create_partitioned(small)

    def fill_anew() -> None:
        other.sql("INSERT INTO t PARTITION (p = 1) VALUES (7, 'new')")

    with at_point("partitions dropped", fill_anew):
        small.sql("ALTER TABLE t DROP PARTITION (p = 1)")
    assert values(small) == [(7, "new")]
    assert not [path for path in warehouse.rglob("*") if "dropped" in path.name]


def test_a_cleaner_takes_nothing_from_another_table_of_the_name(
    small: Session, other: Session
) -> None:
    """The table it had looked at goes on under another name."""
    create(small, "old")
    work(small, "t", MAJOR)

    def rename() -> None:
        other.sql("ALTER TABLE t RENAME TO u")
        create(other, "new")

    with at_point("cleaning claimed", rename):
        cleaner_of(small).run_once()
    assert values(small) == NEW
    assert values(small, "u") == [(n, "old") for n in range(3)]


@pytest.mark.parametrize("kind", [MINOR, MAJOR])
def test_a_worker_gives_nothing_to_a_successor(
    small: Session, other: Session, kind: CompactionType
) -> None:
    """Its result is ready to appear when the table is dropped and another one made."""
    create(small, "old")
    enqueue(small, "t", kind)
    with at_point("compaction announced", create_anew(other)):
        assert worker(small).run_once()
    assert [d for d in directories(small, "t") if d.startswith("delta")] == [
        f"delta_{n:07}_{n:07}_0000" for n in (1, 2, 3)
    ]
    assert not [d for d in directories(small, "t") if d.startswith("base")]
    assert values(small) == NEW


def test_a_worker_gives_nothing_to_a_dropped_partition(small: Session, other: Session) -> None:
    """Else its rows would be back with the next one of the name."""
    create_partitioned(small)
    enqueue(small, "t", MAJOR, "p=1")
    drop = "ALTER TABLE t DROP PARTITION (p = 1)"
    with at_point("compaction announced", lambda: other.sql(drop)):
        assert worker(small).run_once()
    small.sql("INSERT INTO t PARTITION (p = 1) VALUES (7, 'new')")
    assert values(small) == [(7, "new")]


@pytest.mark.parametrize("point", ["compaction taken", "compaction opened"])
def test_a_worker_merges_nothing_of_another_table_of_the_name(
    small: Session, other: Session, point: str
) -> None:
    """Its write ids would be those of one table, its rows those of another: aborted ones came
    back.
    """
    create(small, "old", 9)
    enqueue(small, "t", MAJOR)

    def change() -> None:
        if point == "compaction taken":
            other.sql("ALTER TABLE t RENAME TO u")
        else:
            other.sql("DROP TABLE t")
        create(other, "new")
        aborted_write(other)
        assert values(other) == NEW

    with at_point(point, change):
        assert worker(small).run_once()
    while worker(small, "here-2").run_once():
        pass
    assert values(small) == NEW


def test_what_a_drop_takes_away_is_no_new_table(small: Session, other: Session) -> None:
    """A table without files leaves its directory to whoever makes one there before it is gone."""
    create(small, "old", 0)
    with at_point("table dropped", lambda: create(other, "new")):
        small.sql("DROP TABLE t")
    assert values(small) == NEW


def test_a_new_table_waits_for_the_files_of_the_dropped_one(
    small: Session, other: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever drops a table takes its files away after that: a CREATE in between is no error."""
    create(small, "old")
    waiting = threading.Event()
    sleep = time.sleep
    monkeypatch.setattr(tables.time, "sleep", lambda seconds: (waiting.set(), sleep(seconds)))
    with ThreadPoolExecutor(1) as pool:
        made: list[Future[None]] = []

        def begin() -> None:
            made.append(pool.submit(create, other, "new"))
            assert waiting.wait(30)

        with at_point("table dropped", begin):
            small.sql("DROP TABLE t")
        made[0].result(60)
    assert values(small) == NEW


def test_an_emptied_table_is_in_the_way_until_it_is_gone(
    small: Session, other: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its base has hidden files alone, and would hide the rows of a new table there."""
    monkeypatch.setattr(tables, "_SECONDS_TO_DELETE", 0)
    create(small, "old")
    small.sql("TRUNCATE TABLE t")
    clean(small, "t")
    assert directories(small, "t") == ["base_0000004"]
    refused: list[BindError] = []

    def make() -> None:
        with pytest.raises(BindError) as error:
            create(other, "new")
        refused.append(error.value)

    with at_point("table dropped", make):
        small.sql("DROP TABLE t")
    assert "is not empty" in refused[0].message
    create(small, "new", 5)
    small.sql("TRUNCATE TABLE t")
    assert values(small) == []


def test_a_rollback_takes_nothing_from_a_successor(small: Session, other: Session) -> None:
    """A transaction that others have aborted finds directories of its names in a new table."""
    create(small, "old", 2)

    def anew() -> None:
        txn_id = max(t.txn_id for t in other.store.list_txns())
        other.store.abort_txns([txn_id])
        create_anew(other)()

    with at_point("written", anew), pytest.raises(TransactionAbortedError):
        small.sql("INSERT INTO t VALUES (9, 'old')")
    small.sql("CREATE TABLE IF NOT EXISTS u (id INT)")
    assert values(small) == NEW
