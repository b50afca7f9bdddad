"""Processes are killed by the dozen while others write: what was committed is there once, nothing
else is, and the next ones that write leave nothing of the dead.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from acidsql.session import Session
from tests.histories.killing import TABLES
from tests.lengths import SEED
from tests.session.transactions.crashes import garbage, rows_of

pytestmark = pytest.mark.processes

ROOT = Path(__file__).resolve().parents[2]
PARTS = {"t": 3, "p": 2, "o": 2}
"""The rows of a batch in each table."""


def batches(folder: Path, word: str, table: str) -> set[int]:
    """The batches that were ``begun``, or are ``done``, as far as a table is concerned."""
    lines = [line.split() for path in folder.iterdir() for line in path.read_text().splitlines()]
    return {int(batch) for what, kind, batch in lines if what == word and table in kind}


@pytest.mark.parametrize("seconds", [3, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("metastore", ["sqlite", "postgresql"])
def test_the_killed_leave_all_or_nothing(
    warehouse: Path,
    tmp_path: Path,
    metastore: str,
    seconds: int,
    request: pytest.FixtureRequest,
) -> None:
    """Each batch that ended well has all its rows, any other all or none; no lock, no hidden name,
    no directory and no record of the dead outlives the statements that come after them.
    """
    url = request.getfixturevalue("postgresql") if metastore == "postgresql" else None
    folder = tmp_path / "notes"
    folder.mkdir()
    with Session(warehouse, metastore=url) as session:
        for statement in TABLES:
            session.sql(statement)
        subprocess.run(
            [
                sys.executable, "-m", "tests.histories.killing",
                str(warehouse), str(folder), str(seconds), str(SEED),
            ],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "ACIDSQL_METASTORE": url or ""},
            check=True,
        )  # fmt: skip
        assert [path.read_text() for path in folder.glob("*.error")] == []
        dead = len(list(folder.iterdir()))
        for _ in range(2 + dead // 20):  # one looks after a hundred writes at most
            for table in ("t", "p", "o"):
                values = "(0, 'a')" if table == "p" else "(0, 0)"
                session.sql(f"INSERT INTO {table} VALUES {values}")
        assert garbage(session) == []
        for table, parts in PARTS.items():
            counts = Counter(row[0] for row in rows_of(session, table))
            counts.pop(0)
            assert set(counts.values()) <= {parts}
            done, begun = (batches(folder, word, table) for word in ("done", "begun"))
            assert set(counts) <= begun
            if table == "o":
                assert len(counts) == 1
            else:
                assert done <= set(counts)
                assert done
