"""The work of a process of its own on one warehouse, and its facts about each statement or
transaction that ended.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection

from acidsql.errors import BindError, Error, TableNotFoundError
from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
ACCOUNTS = ("account0", "account1", "account2", "account3")
REGISTERS = ("register0", "register1", "register2")
SHARED = ("shared0", "shared1", "shared2")
SPARK_ACCOUNTS = 6
Facts = dict[str, object]


def count(session: Session, table: str, where: str = "") -> int:
    return int(next(iter(session.sql(f"SELECT count(*) FROM {table} {where}").rows()))[0])


def overwrite(session: Session, table: str, rows: int) -> None:
    values = ", ".join(f"({number})" for number in range(rows))
    session.sql(f"INSERT OVERWRITE TABLE {table} VALUES {values}")


def statement(session: Session, text: str, *values: int, table: str = "default.t") -> Facts:
    stats = session.sql(text).stats
    return {"values": values, "write_id": stats.write_ids[table]}


# ---- rows of one table


def insert(session: Session, chance: random.Random, value: int) -> Facts:
    return {"kind": "rows", "overwrites": False} | statement(
        session, f"INSERT INTO t VALUES ({value})", value
    )


def insert_twice(session: Session, chance: random.Random, value: int) -> Facts:
    """Two INSERTs and what is seen before, between and behind them."""
    with session.transaction():
        counts = [count(session, "t")]
        for number in (value, value + 1):
            write_ids = session.sql(f"INSERT INTO t VALUES ({number})").stats.write_ids
            counts.append(count(session, "t"))
    facts = {"values": [value, value + 1], "write_id": write_ids["default.t"], "counts": counts}
    return {"kind": "rows", "overwrites": False} | facts


def overwrite_rows(session: Session, chance: random.Random, value: int) -> Facts:
    text = f"INSERT OVERWRITE TABLE t VALUES ({value})"
    return {"kind": "rows", "overwrites": True} | statement(session, text, value)


def truncate(session: Session, chance: random.Random, value: int) -> Facts:
    return {"kind": "rows", "overwrites": True} | statement(session, "TRUNCATE TABLE t")


# ---- a bank: an account's balance is its number of rows, which needs no Java


def transfer(session: Session, chance: random.Random, value: int) -> Facts:
    one, other = chance.sample(ACCOUNTS, 2)
    with session.transaction():
        balances = {account: count(session, account) for account in (one, other)}
        amount = chance.randint(1, 3)
        if balances[one] <= amount:  # no account is ever empty: VALUES has at least one row
            return {"kind": "declined"}
        overwrite(session, one, balances[one] - amount)
        overwrite(session, other, balances[other] + amount)
    return {"kind": "transfer"}


def audit(session: Session, chance: random.Random, value: int) -> Facts:
    """All balances in one snapshot."""
    with session.transaction(read_only=True):
        balances = [count(session, account) for account in chance.sample(ACCOUNTS, len(ACCOUNTS))]
    return {"kind": "audit", "total": sum(balances)}


# ---- registers: the n-th version of one has n rows, so its count is the list of all versions


def append(session: Session, chance: random.Random, value: int) -> Facts:
    """Reads some registers, and makes the next version of one or two of them."""
    keys = chance.sample(REGISTERS, chance.randint(1, 3))
    steps: list[tuple[str, str, int]] = []
    with session.transaction():
        for key in keys:
            steps.append(("read", key, count(session, key)))
        for key in keys[: chance.randint(0, 2)]:
            version = next(n for what, name, n in steps if name == key) + 1
            overwrite(session, key, version)
            steps += [("append", key, version), ("read", key, count(session, key))]
    return {"kind": "append", "steps": steps}


# ---- DDL beside DML


class Partition:
    """Rows of a process's own partition, of which it knows each, and rows of shared ones."""

    def __init__(self, number: int) -> None:
        self.own = f"own{number}"
        self.rows = 0

    def insert(self, session: Session, chance: random.Random, value: int) -> Facts:
        key = chance.choice((self.own, *SHARED))
        text = f"INSERT INTO p PARTITION (k='{key}') (id) VALUES ({value})"
        facts = statement(session, text, value, table="default.p")
        self.rows += key == self.own
        return {"kind": "insert", "key": key} | facts

    def look(self, session: Session, chance: random.Random, value: int) -> Facts:
        counted = count(session, "p", f"WHERE k = '{self.own}'")
        return {"kind": "own count", "counted": counted, "expected": self.rows}

    def insert_in_transaction(self, session: Session, chance: random.Random, value: int) -> Facts:
        with session.transaction():
            before = count(session, "p", f"WHERE k = '{self.own}'")
            text = f"INSERT INTO p PARTITION (k='{self.own}') (id) VALUES ({value})"
            facts = statement(session, text, value, table="default.p")
            after = count(session, "p", f"WHERE k = '{self.own}'")
        expected, self.rows = [self.rows, self.rows + 1], self.rows + 1
        facts |= {"counted": [before, after], "expected": expected}
        return {"kind": "insert", "key": self.own} | facts


def clear(session: Session, chance: random.Random, value: int) -> Facts:
    """Drops or empties a shared partition, or makes it anew."""
    key = chance.choice(SHARED)
    match chance.choice(["drop", "drop", "truncate", "add"]):
        case "drop":
            session.sql(f"ALTER TABLE p DROP IF EXISTS PARTITION (k='{key}')")
            return {"kind": "cleared", "key": key}
        case "truncate":
            with suppress(BindError):  # it is not there
                facts = session.sql(f"TRUNCATE TABLE p PARTITION (k='{key}')").stats
                return {"kind": "cleared", "key": key, "write_id": facts.write_ids["default.p"]}
            return {"kind": "nothing to clear"}
        case _:
            session.sql(f"ALTER TABLE p ADD IF NOT EXISTS PARTITION (k='{key}')")
            return {"kind": "added"}


def rename(session: Session, chance: random.Random, value: int) -> Facts:
    """Away and back; nobody finds it in between."""
    session.sql("ALTER TABLE p RENAME TO away")
    while True:
        try:
            session.sql("ALTER TABLE away RENAME TO p")
        except Error as error:
            if not error.retryable:
                raise
        else:
            return {"kind": "renamed"}


def widen(session: Session, chance: random.Random, value: int) -> Facts:
    session.sql(f"ALTER TABLE p ADD COLUMNS (c{value} INT)")
    return {"kind": "widened"}


def come_and_go(session: Session, chance: random.Random, value: int) -> Facts:
    """A table that is made, filled, counted and dropped, while others make it too."""
    session.sql(f"CREATE TABLE IF NOT EXISTS passing (id INT) {ACID}")
    session.sql(f"INSERT INTO passing VALUES ({value})")
    assert count(session, "passing") >= 0
    session.sql("DROP TABLE IF EXISTS passing")
    return {"kind": "passed"}


# ---- with Spark


def spark_transfer(session: Session, chance: random.Random, value: int) -> Facts:
    one, other = chance.sample(range(SPARK_ACCOUNTS), 2)
    amount = chance.randint(1, 9)
    with session.transaction():
        session.sql(f"SELECT balance FROM bank WHERE id IN ({one}, {other})").rows()
        session.sql(f"UPDATE bank SET balance = balance - {amount} WHERE id = {one}")
        session.sql(f"UPDATE bank SET balance = balance + {amount} WHERE id = {other}")
    return {"kind": "transfer"}


def spark_audit(session: Session, chance: random.Random, value: int) -> Facts:
    [(total, rows)] = session.sql("SELECT sum(balance), count(*) FROM bank").rows()
    return {"kind": "audit", "total": int(total), "rows": int(rows)}


def spark_append(session: Session, chance: random.Random, value: int) -> Facts:
    """Reads two lists and appends to one of them."""
    keys = chance.sample(range(3), 2)
    steps: list[tuple[str, str, object]] = []
    with session.transaction():
        for key in keys:
            [(text,)] = session.sql(f"SELECT v FROM lists WHERE k = {key}").rows()
            steps.append(("read", str(key), text))
        session.sql(f"UPDATE lists SET v = concat(v, ' {value}') WHERE k = {keys[0]}")
        steps.append(("append", str(keys[0]), value))
    return {"kind": "append", "steps": steps}


def spark_count(session: Session, chance: random.Random, value: int) -> Facts:
    time.sleep(0.2)  # the processors are for those with Spark
    return {"kind": "rows", "rows": count(session, "bank")}


Act = Callable[[Session, random.Random, int], Facts]


def acts(role: str, number: int) -> dict[Act, int]:
    """What processes of a role do, and how often."""
    partition = Partition(number)
    dml: dict[Act, int] = {insert: 30, insert_twice: 12, overwrite_rows: 5, truncate: 3}
    match role:
        case "transactions":
            return dml | {transfer: 20, audit: 10, append: 30}
        case "partition":
            return {partition.insert: 50, partition.insert_in_transaction: 20, partition.look: 30}
        case "ddl":
            return {clear: 60, rename: 10, widen: 3, come_and_go: 20}
        case "spark":
            return {spark_transfer: 40, spark_audit: 15, spark_append: 45}
        case _:
            return {spark_count: 1}


LEAST = {
    "transactions": Counter(rows=2, transfer=1, audit=1, append=1),
    "partition": Counter(insert=1),
    "ddl": Counter(cleared=1),
    "spark": Counter(transfer=1, audit=1, append=1),
    "count": Counter(rows=1),
}
"""What each process of a role has committed in the end, however slow the machine is."""


def run(
    session: Session, role: str, number: int, chance: random.Random, seconds: float
) -> list[Facts]:
    chosen, done = acts(role, number), Counter[object]()
    history: list[Facts] = []
    end, value = time.monotonic() + seconds, 1_000_000 * number
    while (began := time.monotonic()) < end or not done >= LEAST[role]:
        value += 10
        [act] = chance.choices(list(chosen), list(chosen.values()))
        facts: Facts = {"act": act.__name__, "committed": False, "values": [value]}
        try:
            facts |= act(session, chance, value) | {"committed": True}
            done[facts["kind"]] += 1
        except Error as error:
            clean = error.retryable or (
                role in ("partition", "ddl") and isinstance(error, TableNotFoundError)
            )
            facts |= {"refused": type(error).__name__} if clean else {"error": str(error)}
        history.append(facts | {"began": began, "ended": time.monotonic()})
    return history


def warm_up(session: Session, role: str, number: int) -> None:
    """Whatever is imported and built by the first statements is not what is tried here."""
    session.sql(f"CREATE TABLE warm{number} (id INT) {ACID}")
    session.sql(f"INSERT INTO warm{number} VALUES (1)")
    count(session, f"warm{number}")
    if role == "spark":
        session.sql(f"UPDATE warm{number} SET id = 2")


def work(
    test: Connection,
    warehouse: str,
    metastore: str | None,
    role: str,
    number: int,
    seed: int,
    seconds: float,
) -> None:
    with Session(warehouse, metastore=metastore or "") as session:
        warm_up(session, role, number)
        test.send("ready")
        test.recv()
        test.send(run(session, role, number, random.Random(f"{seed} {number}"), seconds))
