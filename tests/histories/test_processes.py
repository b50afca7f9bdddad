"""Real processes on one warehouse: what they were told fits together, and nothing is lost or
doubled. $ACIDSQL_TEST_SEED repeats what the processes choose to do, though not who is faster.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyarrow import orc

from acidsql.session import Session
from acidsql.txn.manager import TxnState
from tests.forks import side_by_side
from tests.histories.anomalies import ABORTED, COMMITTED, Append, Read, Txn, find_anomalies
from tests.histories.worker import ACCOUNTS, ACID, REGISTERS, SPARK_ACCOUNTS, work

pytestmark = pytest.mark.processes

History = list[dict[str, Any]]
OPENING = 10
"""Rows of each account at the beginning."""
LONG = pytest.param(30, marks=pytest.mark.slow)


@pytest.fixture
def seed() -> int:
    """It is shown where a test fails."""
    number = int(os.environ.get("ACIDSQL_TEST_SEED") or random.randrange(1 << 32))
    print(f"ACIDSQL_TEST_SEED={number}")
    return number


@pytest.fixture(params=["sqlite", "postgresql"])
def metastore(request: pytest.FixtureRequest) -> str | None:
    """The URL of the metastore, None for the file in the warehouse."""
    return request.getfixturevalue("postgresql") if request.param == "postgresql" else None


def history_of(
    warehouse: Path, metastore: str | None, roles: Sequence[str], seed: int, seconds: float
) -> History:
    """What all processes say, each in its own order; no one had an error that is none of those that
    say to try again.
    """
    of_each = [
        (str(warehouse), metastore, role, number, seed, seconds)
        for number, role in enumerate(roles, start=1)
    ]
    history: History = side_by_side(work, of_each)
    print(Counter((facts["act"], facts["committed"]) for facts in history))
    assert [facts for facts in history if "error" in facts] == []
    return history


def committed(history: History, *kinds: str) -> History:
    return [facts for facts in history if facts["committed"] and facts["kind"] in kinds]


def count(session: Session, table: str, where: str = "") -> int:
    [(number,)] = session.sql(f"SELECT count(*) FROM {table} {where}").rows()
    return int(number)


def values_on_disk(directory: Path, committed_ids: set[int]) -> Counter[int]:
    """The values of the newest committed base and of committed deltas behind it."""
    if not directory.is_dir():
        return Counter()
    named = []
    for path in directory.iterdir():
        kind, _, rest = path.name.partition("_")
        if kind in ("base", "delta") and (write_id := int(rest.split("_")[0])) in committed_ids:
            named.append((kind, write_id, path))
    base = max((write_id for kind, write_id, _ in named if kind == "base"), default=0)
    values: Counter[int] = Counter()
    for kind, write_id, path in named:
        if write_id > base or (kind == "base" and write_id == base):
            for file in path.glob("bucket*"):
                values.update(row["id"] for row in orc.read_table(file).column("row").to_pylist())
    return values


def nothing_is_left_open(session: Session) -> None:
    assert session.store.list_locks() == ()
    assert [t for t in session.store.list_txns() if t.state is TxnState.OPEN] == []


# ---- transactions


@pytest.mark.parametrize("seconds", [2, LONG])
def test_transactions_side_by_side(
    warehouse: Path, metastore: str | None, seed: int, seconds: float
) -> None:
    """Eight processes that insert, overwrite and truncate, transfer between accounts, and append to
    registers what they have read: no row is lost or doubled, no money, no append.
    """
    with Session(warehouse, metastore=metastore) as session:
        for table in ("t", *ACCOUNTS, *REGISTERS):
            session.sql(f"CREATE TABLE {table} (id INT) {ACID}")
        for account in ACCOUNTS:
            session.sql(f"INSERT INTO {account} VALUES {', '.join(['(0)'] * OPENING)}")
        history = history_of(warehouse, metastore, ["transactions"] * 8, seed, seconds)
        check_rows(session, warehouse, history)
        check_bank(session, history)
        check_registers(session, history)
        nothing_is_left_open(session)


def check_rows(session: Session, warehouse: Path, history: History) -> None:
    """The table holds what was acknowledged since the last overwriting, once; what began behind an
    overwriting is never hidden by it; a transaction sees its own rows and one snapshot.
    """
    done = committed(history, "rows")
    assert len(done) > 8
    assert len({facts["write_id"] for facts in done}) == len(done)
    last = max((facts["write_id"] for facts in done if facts["overwrites"]), default=0)
    expected = Counter(
        value for facts in done if facts["write_id"] >= last for value in facts["values"]
    )
    assert count(session, "t") == expected.total()
    assert values_on_disk(warehouse / "t", {facts["write_id"] for facts in done}) == expected
    for facts in done:
        if "counts" in facts:
            first = facts["counts"][0]
            assert facts["counts"] == [first, first + 1, first + 2]
    for over in (facts for facts in done if facts["overwrites"]):
        later = [facts["write_id"] for facts in done if facts["began"] > over["ended"]]
        assert all(write_id > over["write_id"] for write_id in later)


def check_bank(session: Session, history: History) -> None:
    """The total is the same in each snapshot that anybody saw."""
    total = OPENING * len(ACCOUNTS)
    assert {facts["total"] for facts in committed(history, "audit")} <= {total}
    assert sum(count(session, account) for account in ACCOUNTS) == total
    assert committed(history, "transfer")
    assert committed(history, "audit")


def check_registers(session: Session, history: History) -> None:
    """No circle, no lost update: snapshot isolation, in real time."""
    appends = [facts for facts in history if facts["act"] == "append"]
    assert committed(appends, "append")
    final = [Read(key, versions(count(session, key))) for key in REGISTERS]
    txns = [txn_of(facts, number, versions) for number, facts in enumerate(appends)]
    assert find_anomalies([*txns, Txn("final", tuple(final))]) == []
    # each version has one maker
    made = Counter(
        (key, number)
        for facts in committed(appends, "append")
        for what, key, number in facts["steps"]
        if what == "append"
    )
    assert made == Counter((read.key, number) for read in final for number in read.values)


def txn_of(facts: dict[str, Any], number: int, list_of: Callable[[Any], tuple[int, ...]]) -> Txn:
    """``list_of``: the values that a read, as it was noted, says a key had."""
    steps = tuple(
        Read(key, list_of(value)) if what == "read" else Append(key, value)
        for what, key, value in facts.get("steps", ())
    )
    state = COMMITTED if facts["committed"] else ABORTED
    return Txn(f"T{number}", steps, state, facts["began"], facts["ended"])


def versions(number: int) -> tuple[int, ...]:
    return tuple(range(1, number + 1))


# ---- DDL beside DML


@pytest.mark.parametrize(
    ("metastore", "seconds"),
    [
        ("sqlite", 3),
        pytest.param("sqlite", 30, marks=pytest.mark.slow),
        pytest.param("postgresql", 30, marks=pytest.mark.slow),
    ],
    indirect=["metastore"],
)
def test_definitions_beside_changes(
    warehouse: Path, metastore: str | None, seed: int, seconds: float
) -> None:
    """Six processes insert and count, two add, drop and empty partitions, rename the table, add
    columns to it, make and drop another: nobody has an error that is not clean, and no row is lost
    but those of partitions that were dropped or emptied after it.
    """
    with Session(warehouse, metastore=metastore) as session:
        session.sql(f"CREATE TABLE p (id INT) PARTITIONED BY (k STRING) {ACID}")
        history = history_of(warehouse, metastore, ["partition"] * 6 + ["ddl"] * 2, seed, seconds)
        for facts in history:
            assert facts.get("counted") == facts.get("expected"), facts
        inserts = committed(history, "insert")
        clearings = committed(history, "cleared")
        assert inserts
        assert clearings
        ids = {facts["write_id"] for facts in [*inserts, *clearings] if "write_id" in facts}
        for key in sorted({facts["key"] for facts in inserts}):
            of_key = [facts for facts in inserts if facts["key"] == key]
            check_partition(
                values_on_disk(warehouse / "p" / f"k={key}", ids),
                of_key,
                [facts for facts in clearings if facts["key"] == key],
            )
            on_disk = values_on_disk(warehouse / "p" / f"k={key}", ids)
            assert count(session, "p", f"WHERE k = '{key}'") == on_disk.total()
        nothing_is_left_open(session)


def check_partition(values: Counter[int], inserts: History, clearings: History) -> None:
    """Each value is there once; whoever began behind the last clearing is, whoever had ended before
    it is not. Those beside it may have been first or second.
    """
    assert all(number == 1 for number in values.values())
    assert values.keys() <= {value for facts in inserts for value in facts["values"]}
    began = max((facts["began"] for facts in clearings), default=0.0)
    ended = max((facts["ended"] for facts in clearings), default=0.0)
    assert ids_of(facts for facts in inserts if facts["began"] > ended) <= values.keys()
    if clearings:
        assert not ids_of(facts for facts in inserts if facts["ended"] < began) & values.keys()


def ids_of(inserts: Iterable[dict[str, Any]]) -> set[int]:
    return {value for facts in inserts for value in facts["values"]}


# ---- with Spark


@pytest.mark.slow
@pytest.mark.spark
def test_updates_side_by_side(warehouse: Path, seed: int) -> None:
    """Three processes with a Spark of their own transfer money and append to lists by UPDATE, five
    without count: the money is all there in every snapshot, and the lists tell no circle.
    """
    with Session(warehouse) as session:
        session.sql(f"CREATE TABLE bank (id INT, balance INT) {ACID}")
        accounts = ", ".join(f"({number}, 100)" for number in range(SPARK_ACCOUNTS))
        session.sql(f"INSERT INTO bank VALUES {accounts}")
        session.sql(f"CREATE TABLE lists (k INT, v STRING) {ACID}")
        session.sql("INSERT INTO lists VALUES (0, ''), (1, ''), (2, '')")
        history = history_of(warehouse, None, ["spark"] * 3 + ["count"] * 5, seed, 45)
        audits = committed(history, "audit")
        assert {(facts["total"], facts["rows"]) for facts in audits} == {(600, SPARK_ACCOUNTS)}
        assert {facts["rows"] for facts in committed(history, "rows")} == {SPARK_ACCOUNTS}
        assert committed(history, "transfer")
        assert committed(history, "append")
        [(total,)] = session.sql("SELECT sum(balance) FROM bank").rows()
        assert total == 600
        appends = [facts for facts in history if facts["act"] == "spark_append"]
        lists = session.sql("SELECT k, v FROM lists").rows()
        final = Txn("final", tuple(Read(str(key), list_of(text)) for key, text in lists))
        txns = [txn_of(facts, number, list_of) for number, facts in enumerate(appends)]
        assert find_anomalies([*txns, final]) == []
        acknowledged = {
            (key, value)
            for facts in committed(appends, "append")
            for what, key, value in facts["steps"]
            if what == "append"
        }
        assert acknowledged == {(read.key, value) for read in final.reads for value in read.values}
        nothing_is_left_open(session)


def list_of(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split()))
