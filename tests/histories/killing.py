"""Processes that write to one warehouse and are killed at any moment: ``python -m
tests.histories.killing WAREHOUSE FOLDER SECONDS SEED``. Each writes down in a file of FOLDER of its
own what it begins and what has ended well. One process imports acidsql, and forks the others.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from acidsql.errors import Error
from acidsql.session import Session

AT_ONCE = 5
"""The number of processes."""
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
TABLES = (
    f"CREATE TABLE t (batch INT, part INT) {ACID}",
    f"CREATE TABLE p (batch INT) PARTITIONED BY (k STRING) {ACID}",
    f"CREATE TABLE o (batch INT, part INT) {ACID}",
)


def insert(session: Session, batch: int) -> None:
    session.sql(f"INSERT INTO t VALUES ({batch}, 0), ({batch}, 1), ({batch}, 2)")


def insert_into_partitions(session: Session, batch: int) -> None:
    """Two of them, the one often new."""
    session.sql(f"INSERT INTO p VALUES ({batch}, 'a'), ({batch}, 'n{batch % 7}')")


def insert_into_both(session: Session, batch: int) -> None:
    with session.transaction():
        insert(session, batch)
        insert_into_partitions(session, batch)


def overwrite(session: Session, batch: int) -> None:
    session.sql(f"INSERT OVERWRITE TABLE o VALUES ({batch}, 0), ({batch}, 1)")


KINDS: dict[str, Callable[[Session, int], None]] = {
    "t": insert,
    "p": insert_into_partitions,
    "tp": insert_into_both,
    "o": overwrite,
}
"""Statements by the tables they write to."""


def work(warehouse: str, folder: Path, life: int, seed: int) -> None:
    """Writes until it is killed; batches of no two lives are the same."""
    chance = random.Random(f"{seed}/{life}")
    notes = os.open(folder / str(life), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    batch = life * 1000
    # killed compactions are tried by tests of their own, with somebody who cleans up behind them
    with Session(warehouse, settings={"acidsql.compactor.auto": "false"}) as session:
        while True:
            batch += 1
            kind = chance.choice(list(KINDS))
            os.write(notes, f"begun {kind} {batch}\n".encode())
            try:
                KINDS[kind](session, batch)
            except Error as error:
                if not error.retryable:
                    raise
                continue
            os.write(notes, f"done {kind} {batch}\n".encode())


def start(warehouse: str, folder: Path, life: int, seed: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        work(warehouse, folder, life, seed)
    except BaseException as error:
        (folder / f"{life}.error").write_text(repr(error))
    finally:
        os._exit(1)


def failed(folder: Path) -> bool:
    """Whether one has ended by himself."""
    return any(folder.glob("*.error"))


def another_ended(folder: Path, before: Counter[str]) -> Counter[str]:
    """How many statements of each kind have ended well, once it is one more than ``before``: where
    the machine is slow nobody is killed before he has come to anything.
    """
    while True:
        notes = [line for file in folder.iterdir() for line in file.read_text().splitlines()]
        ended = Counter(line.split()[1] for line in notes if line.startswith("done "))
        if ended.total() > before.total() or failed(folder):
            return ended
        time.sleep(0.01)


def main() -> None:
    warehouse, folder, seconds, seed = sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:])
    with Session(warehouse):  # what is imported now, no fork need import
        pass
    with tempfile.TemporaryDirectory() as scratch, Session(scratch, metastore="") as session:
        for statement in TABLES:
            session.sql(statement)
        for write in KINDS.values():
            write(session, 1)
    chance = random.Random(seed)
    lives = AT_ONCE
    running = [start(warehouse, folder, life, seed) for life in range(1, lives + 1)]
    end, ended = time.monotonic() + seconds, Counter[str]()
    while not failed(folder) and (time.monotonic() < end or ended.keys() < KINDS.keys()):
        ended = another_ended(folder, ended)
        time.sleep(chance.uniform(0.0, 0.25))
        victim = chance.randrange(AT_ONCE)
        os.kill(running[victim], signal.SIGKILL)
        os.waitpid(running[victim], 0)
        lives += 1
        running[victim] = start(warehouse, folder, lives, seed)
    for child in running:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
