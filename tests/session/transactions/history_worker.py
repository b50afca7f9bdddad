"""A process of its own on one table: ``python -m tests.session.transactions.history_worker WAREHOUSE
NUMBER SECONDS``. Says "ready", starts when it gets a line, and prints one line of JSON for each
statement or transaction that ended.
"""

from __future__ import annotations

import json
import random
import sys
import time

from acidsql.errors import Error, TransactionAbortedError, WriteConflictError
from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def count(session: Session) -> int:
    return int(next(iter(session.sql("SELECT count(*) FROM t").rows()))[0])


def transfer(session: Session, value: int) -> dict[str, object]:
    """Two INSERTs and what is seen before, between and behind them."""
    with session.transaction():
        counts = [count(session)]
        for number in (value, value + 1):
            write_ids = session.sql(f"INSERT INTO t VALUES ({number})").stats.write_ids
            counts.append(count(session))
    return {"values": [value, value + 1], "write_id": write_ids["default.t"], "counts": counts}


def statement(session: Session, text: str, *values: int) -> dict[str, object]:
    stats = session.sql(text).stats
    return {"values": values, "write_id": stats.write_ids["default.t"]}


def act(session: Session, chance: random.Random, value: int) -> dict[str, object]:
    match chance.choices(["insert", "transfer", "overwrite", "truncate"], [60, 25, 10, 5])[0]:
        case "insert":
            return {"overwrites": False} | statement(
                session, f"INSERT INTO t VALUES ({value})", value
            )
        case "transfer":
            return {"overwrites": False} | transfer(session, value)
        case "overwrite":
            text = f"INSERT OVERWRITE TABLE t VALUES ({value})"
            return {"overwrites": True} | statement(session, text, value)
        case _:
            return {"overwrites": True} | statement(session, "TRUNCATE TABLE t")


def main() -> None:
    warehouse, number, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    chance = random.Random(number)
    with Session(warehouse) as session:
        # whatever is imported and built by the first statements is not what is tried here
        session.sql(f"CREATE TABLE warm{number} (id INT) {ACID}")
        session.sql(f"INSERT INTO warm{number} VALUES (1)")
        count(session)
        print("ready", flush=True)
        sys.stdin.readline()
        end, value = time.monotonic() + seconds, 1_000_000 * number
        while (began := time.monotonic()) < end:
            value += 10
            try:
                facts = act(session, chance, value) | {"committed": True}
            except (WriteConflictError, TransactionAbortedError):
                facts = {"committed": False, "values": [value]}
            except Error as error:
                facts = {"committed": False, "values": [value], "error": str(error)}
            print(json.dumps(facts | {"began": began, "ended": time.monotonic()}), flush=True)


if __name__ == "__main__":
    main()
