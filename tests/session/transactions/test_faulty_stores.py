"""An S3 server that refuses, is slow, cuts connections and goes away, in the middle of statements and
compactions: each is there as a whole or not at all, and nothing is left.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acidsql import crash_points
from acidsql.acid.ids import parse_directory
from acidsql.catalog.model import TableName
from acidsql.errors import Error
from acidsql.files.fileio import path_of
from acidsql.session import Session
from acidsql.txn.compactions import CompactionState
from tests.compaction.cleaning import clean_all, cleaner_of
from tests.compaction.compacting import MAJOR, MINOR, work
from tests.files.faulty_s3 import Faults, faulty
from tests.lengths import SEED, times
from tests.spark.stores import BUCKET, S3Server

ROOT = f"s3://{BUCKET}"
ACID = "STORED AS ORC LOCATION '{root}/{name}' TBLPROPERTIES ('transactional'='true')"
LONG = 24 * 3600.0
AWAY_SECONDS = 20.0
Rows = dict[int, str]


class Faulty:
    """A session whose files are behind the faults, what its table must hold, and a session beside
    it that meets none.
    """

    def __init__(self, warehouse: Path, s3: S3Server, endpoint: str, faults: Faults) -> None:
        self.faults = faults
        self.warehouse = warehouse
        self._settings = {"acidsql.engine": "local", "acidsql.compactor.auto": "false"}
        self._direct = {**s3.settings, **self._settings}
        self.session = Session(
            warehouse, settings={**self._settings, "acidsql.s3.endpoint": endpoint}
        )
        self.beside = Session(warehouse, settings=self._direct)
        self.session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID.format(root=ROOT, name='t')}")
        self.session.sql(f"CREATE TABLE s (id INT, v STRING) {ACID.format(root=ROOT, name='s')}")
        self.rows: Rows = {}
        self.failed = self.succeeded = 0

    def close(self) -> None:
        self.session.close()
        self.beside.close()

    def try_to(self, statement: str, after: Rows) -> None:
        """Runs a statement, after which these are the rows of the table unless it failed."""
        try:
            self.session.sql(statement)
        except Error:
            self.failed += 1
        else:
            self.succeeded += 1
            self.rows = after
        self.check()

    def check(self) -> None:
        found = self.beside.sql("SELECT id, v FROM t").rows()
        assert sorted(map(tuple, found)) == sorted(self.rows.items())

    def compact(self, kind: object) -> CompactionState:
        """One that ends, or fails; rows are what they were."""
        done = work(self.session, "t", kind)  # type: ignore[arg-type]
        self.check()
        return done.state

    def left(self) -> list[str]:
        """What is in the table's directory once others have cleaned, and nobody reads."""
        self.session.close()
        later = lambda: time.time() + LONG  # noqa: E731
        with Session(self.warehouse, settings=self._direct, clock=later) as cleaning:
            cleaning.sql("INSERT INTO t VALUES (0, 'last')")
            cleaning.sql("INSERT INTO s VALUES (0, 'last')")
            cleaner_of(cleaning).clean_aborted()
            clean_all(cleaning)
            table = cleaning.store.find_table(TableName("default", "t"))
            assert table is not None
            valid = cleaning.store.valid_write_ids(table.name, cleaning.store.valid_txns())
            names = cleaning.files.names(path_of(table.location))
            shown = cleaning.sql("SELECT id, v FROM t WHERE v <> 'last'").rows()
            assert sorted(map(tuple, shown)) == sorted(self.rows.items())
            assert cleaning.store.aborted_writes(10) == ()
        return [name for name in names if not _is_valid(name, valid)]


def _is_valid(name: str, valid: object) -> bool:
    parsed = parse_directory(name)
    top = getattr(parsed, "max_write_id", None) or getattr(parsed, "write_id", None)
    return top is not None and valid.is_valid(top)  # type: ignore[attr-defined]


@pytest.fixture
def store(warehouse: Path, s3: S3Server) -> Iterator[Faulty]:
    faults = Faults(SEED)
    with faulty(s3.endpoint, faults) as endpoint:
        one = Faulty(warehouse, s3, endpoint, faults)
        yield one
        one.close()


def changes(rows: Rows, dice: random.Random, number: int) -> tuple[str, Rows]:
    """A statement, and what becomes of the rows."""
    new, ids = 10 * number, sorted(rows) or [0]
    some = dice.choice(ids)
    match dice.randrange(4):
        case 0:
            return (
                f"INSERT INTO t VALUES ({new}, 'i'), ({new + 1}, 'j')",
                {**rows, new: "i", new + 1: "j"},
            )
        case 1:
            return (
                f"UPDATE t SET v = 'u{number}' WHERE id >= {some}",
                {k: f"u{number}" if k >= some else v for k, v in rows.items()},
            )
        case 2:
            return (
                f"DELETE FROM t WHERE id = {some}",
                {k: v for k, v in rows.items() if k != some},
            )
    return (
        f"MERGE INTO t USING (SELECT {some} AS k UNION ALL SELECT {new}) x ON t.id = x.k"
        f" WHEN MATCHED THEN UPDATE SET v = 'm{number}' WHEN NOT MATCHED THEN INSERT"
        " VALUES (x.k, 'n')",
        {
            **{k: f"m{number}" if k == some else v for k, v in rows.items()},
            **({} if some in rows else {some: "n"}),
            **({} if new == some else {new: "n"}),
        },
    )


@pytest.mark.slow
def test_requests_that_go_wrong(store: Faulty) -> None:
    """INSERT, UPDATE, DELETE, MERGE and compactions, where many requests go wrong: none is lost,
    doubled or left.
    """
    dice = random.Random(SEED)
    for number in range(1, times(40) + 4):
        store.faults.one_in = dice.choice((3, 12))
        statement, after = changes(store.rows, dice, number)
        store.try_to(statement, after)
        if number % 4 == 0:
            store.compact(dice.choice((MINOR, MAJOR)))
    assert store.faults.met
    store.faults.one_in = 0
    assert store.left() == []


@pytest.mark.slow
@pytest.mark.parametrize("point", ["announced", "directory made"])
def test_a_server_that_goes_away_in_a_commit(store: Faulty, point: str) -> None:
    """For so long that requests are given up: the statement fails, and the next one is as if it
    had never been.
    """
    store.try_to("INSERT INTO t VALUES (1, 'a'), (2, 'b')", {1: "a", 2: "b"})
    with reaching(point, lambda: setattr(store.faults, "away", True)):
        store.try_to("UPDATE t SET v = 'x'", {1: "x", 2: "x"})
    assert (store.failed, store.succeeded) == (1, 1)
    store.faults.away = False
    store.try_to("UPDATE t SET v = 'y' WHERE id = 1", {1: "y", 2: "b"})
    assert store.succeeded == 2
    assert store.left() == []


@pytest.mark.slow
def test_a_server_that_comes_back(store: Faulty) -> None:
    """It is away for 20 seconds in the middle of a commit: whatever the statement says is so."""
    store.try_to("INSERT INTO t VALUES (1, 'a'), (2, 'b')", {1: "a", 2: "b"})

    def go_away() -> None:
        store.faults.away = True
        threading.Timer(AWAY_SECONDS, setattr, (store.faults, "away", False)).start()

    with reaching("directory made", go_away):
        store.try_to("UPDATE t SET v = 'x'", {1: "x", 2: "x"})
    while store.faults.away:
        threading.Event().wait(0.1)
    store.try_to("DELETE FROM t WHERE id = 2", {k: v for k, v in store.rows.items() if k != 2})
    assert store.left() == []


@pytest.mark.slow
def test_a_server_that_goes_away_in_a_compaction(store: Faulty) -> None:
    """It fails; what it has copied is seen by nobody, goes, and another one succeeds."""
    kind = MAJOR if SEED % 2 else MINOR
    for number in range(4):
        store.try_to(f"INSERT INTO t VALUES ({number}, 'a')", {**store.rows, number: "a"})
    store.try_to("DELETE FROM t WHERE id = 1", {k: v for k, v in store.rows.items() if k != 1})
    with reaching("compaction file copied", lambda: setattr(store.faults, "away", True)):
        done = work(store.session, "t", kind)
    store.faults.away = False
    assert done.state is CompactionState.FAILED
    store.check()
    assert store.compact(kind) is CompactionState.READY_FOR_CLEANING
    assert store.left() == []


class reaching:
    """Does something when a point in the code is first reached."""

    def __init__(self, point: str, action: Callable[[], object]) -> None:
        self._point, self._action = point, action

    def __enter__(self) -> None:
        def hook(point: str) -> None:
            if point == self._point:
                crash_points.hook = None
                self._action()

        crash_points.hook = hook

    def __exit__(self, *_: object) -> None:
        crash_points.hook = None
