"""The work of a process of its own that writes or reads while others compact, and its facts about
each thing that ended.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection

from acidsql.errors import Error, SnapshotTooOldError
from acidsql.session import Session

ALONE = {"acidsql.compactor.auto": "false", "acidsql.retries": "5"}
PARTITIONS = ("1", "2")
Facts = dict[str, object]
Act = Callable[[Session, int], Facts]


def count(session: Session, table: str) -> int:
    return int(next(iter(session.sql(f"SELECT count(*) FROM {table}").rows()))[0])


def insert(session: Session, value: int) -> Facts:
    session.sql(f"INSERT INTO t VALUES ({value}, 0)")
    return {"inserted": [value]}


def insert_into_partition(session: Session, value: int) -> Facts:
    key = random.choice(PARTITIONS)
    session.sql(f"INSERT INTO p PARTITION (k={key}) VALUES ({value})")
    return {"inserted_into_p": [value]}


def insert_and_roll_back(session: Session, value: int) -> Facts:
    """What is aborted beside compactions must not appear in what they write."""
    session.begin()
    session.sql(f"INSERT INTO t VALUES ({-value}, 0)")
    session.rollback()
    return {}


def insert_twice(session: Session, value: int) -> Facts:
    """A transaction that stays open for a while: nothing behind it is compacted meanwhile."""
    with session.transaction():
        session.sql(f"INSERT INTO t VALUES ({value}, 0)")
        time.sleep(random.random() / 10)
        session.sql(f"INSERT INTO t VALUES ({value + 1}, 0)")
    return {"inserted": [value, value + 1]}


def overwrite(session: Session, value: int) -> Facts:
    """Three rows take the place of all others."""
    with session.transaction():
        session.sql(f"INSERT OVERWRITE TABLE o VALUES ({value}, 0), ({value}, 1)")
        session.sql(f"INSERT INTO o VALUES ({value}, 2)")
    return {"overwrote": [value]}


def read_overwritten(session: Session, value: int) -> Facts:
    """Which rows of one overwriting are there; of how many there are some."""
    rows = session.sql("SELECT id, n FROM o").rows()
    pairs = [(row[0], row[1]) for row in rows]
    return {"numbers": sorted(n for _, n in pairs), "overwritings": len({v for v, _ in pairs})}


def read_twice(session: Session, value: int) -> Facts:
    """One snapshot, read at its beginning and its end."""
    table = random.choice("tp")
    with session.transaction(read_only=True):
        before = count(session, table)
        time.sleep(random.random() / 2)
        after = count(session, table)
    return {"before": before, "after": after}


def insert_pair(session: Session, value: int) -> Facts:
    """One row into each of two tables, which have as many rows in every snapshot."""
    with session.transaction():
        session.sql(f"INSERT INTO x VALUES ({value})")
        session.sql(f"INSERT INTO y VALUES ({value})")
    return {"inserted_into_pair": [value]}


def read_pair(session: Session, value: int) -> Facts:
    """A snapshot that looks at a second table later: it sees that as it was, or is told that it is
    too old.
    """
    first, second = random.choice(("xy", "yx"))
    with session.transaction(read_only=True):
        before = count(session, first)
        time.sleep(random.random() / 2)
        try:
            after = count(session, second)
        except SnapshotTooOldError:
            return {"too_old": second}
    return {"before": before, "after": after}


def update(session: Session, value: int) -> Facts:
    result = session.sql(f"UPDATE t SET n = n + 1 WHERE id % 7 = {value // 10 % 7}")
    return {"updated": result.stats.rows_updated}


def delete(session: Session, value: int) -> Facts:
    rows = session.sql("SELECT min(id) FROM t WHERE id > 0").rows()
    [(lowest,)] = rows
    if lowest is not None:
        session.sql(f"DELETE FROM t WHERE id = {lowest}")
    return {"deleted": [lowest]}


def read_rows(session: Session, value: int) -> Facts:
    """Every row, which is there once."""
    result = session.sql("SELECT count(*), count(DISTINCT id), min(id) FROM t")
    [(rows, different, lowest)] = result.rows()
    return {"rows": rows, "different": different, "lowest": lowest}


ROLES: dict[str, tuple[Act, ...]] = {
    "insert": (
        insert,
        insert,
        insert_into_partition,
        insert_and_roll_back,
        insert_twice,
        insert_pair,
        overwrite,
    ),
    "read": (read_twice, read_pair, read_overwritten),
    "change": (update, update, delete, insert),
    "look": (read_rows,),
}


LEAST = {"insert": 30, "read": 3, "change": 5, "look": 5}
"""What each does however slow the machine is."""


def acts(session: Session, role: str, number: int, seconds: float) -> Iterator[Facts]:
    value, end, begun = number * 1_000_000, time.monotonic() + seconds, 0
    while time.monotonic() < end or begun < LEAST[role]:
        value, begun = value + 10, begun + 1
        act = random.choice(ROLES[role])
        facts: Facts = {"act": act.__name__}
        try:
            yield facts | act(session, value)
        except Error as error:
            yield facts | {"error": f"{type(error).__name__}: {error}"}


def work(
    test: Connection, warehouse: str, metastore: str | None, role: str, number: int, seconds: float
) -> None:
    with Session(warehouse, metastore=metastore or "", settings=ALONE) as session:
        if role in ("change", "look"):
            session.start_spark()
        test.send("ready")
        test.recv()
        test.send(list(acts(session, role, number, seconds)))
