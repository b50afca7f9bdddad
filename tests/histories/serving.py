"""A process that writes while its metastore's server goes and comes: `python -m
tests.histories.serving WAREHOUSE FOLDER NUMBER`, until the file ``stop`` is in the folder.

It notes each batch before it begins and when it has ended: ``done``, ``none`` where nothing of it
may be there, ``unknown`` where nobody knows.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from acidsql.errors import CommitStateUnknownError, Error
from acidsql.session import Session

TABLES = (
    "CREATE TABLE t (batch INT, part INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')",
    "CREATE TABLE p (batch INT) PARTITIONED BY (part INT) STORED AS ORC"
    " TBLPROPERTIES ('transactional'='true')",
)
ROWS = 3
"""Of a batch, in each table."""


def main() -> None:
    warehouse, folder, number = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    notes = (folder / f"notes{number}").open("a")

    def note(*words: object) -> None:
        notes.write(" ".join(map(str, words)) + "\n")
        notes.flush()

    batch = number * 100_000
    with Session(warehouse, settings={"acidsql.retries": "3"}) as session:
        note("ready")
        while not (folder / "stop").exists():
            batch += 1
            rows = ", ".join(f"({batch}, {part})" for part in range(ROWS))
            note("begun", batch)
            try:
                with session.transaction():
                    session.sql(f"INSERT INTO t VALUES {rows}")
                    session.sql(f"INSERT INTO p VALUES {rows}")
                    session.sql(f"UPDATE t SET part = part + 10 WHERE batch = {batch}")
                note("done", batch)
            except CommitStateUnknownError:
                note("unknown", batch)
            except Error as error:
                note("none", batch, error.retryable, type(error).__name__, error.message)
                time.sleep(0.1)


if __name__ == "__main__":
    main()
