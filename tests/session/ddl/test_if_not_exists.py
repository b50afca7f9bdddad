"""IF NOT EXISTS, said by several sessions at once. No Java."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
SESSIONS = 4
ROUNDS = 10


def test_one_makes_it_and_nobody_fails(warehouse: Path) -> None:
    """Whoever comes second, though it had seen no table when it began, has what it asked for, also
    if that has rows already.
    """
    start = threading.Barrier(SESSIONS, timeout=30)  # not for one who failed

    def make() -> None:
        with Session(warehouse) as session:
            for number in range(ROUNDS):
                start.wait()
                session.sql(f"CREATE DATABASE IF NOT EXISTS d{number}")
                session.sql(f"CREATE TABLE IF NOT EXISTS d{number}.t (id INT) {ACID}")
                session.sql(f"INSERT INTO d{number}.t VALUES (1)")

    with ThreadPoolExecutor(SESSIONS) as pool:
        for done in [pool.submit(make) for _ in range(SESSIONS)]:
            done.result()
    with Session(warehouse) as session:
        for number in range(ROUNDS):
            [(count,)] = session.sql(f"SELECT count(*) FROM d{number}.t").rows()
            assert count == SESSIONS
