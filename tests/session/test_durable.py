"""Commits that wait for the disk, and those of warehouses that nobody keeps."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def synced(warehouse: Path, monkeypatch: pytest.MonkeyPatch, durable: str) -> tuple[int, set[int]]:
    """How often a session that changes rows waits for a file or directory, and SQLite's
    ``synchronous`` of its connections.
    """
    waits: list[int] = []
    monkeypatch.setattr(os, "fsync", waits.append)
    with Session(str(warehouse), metastore="", settings={"acidsql.durable": durable}) as session:
        session.sql(f"CREATE TABLE t (id INT, v INT) {ACID}")
        session.sql("INSERT INTO t VALUES (1, 1), (2, 2)")
        session.sql("UPDATE t SET v = 3 WHERE id = 1")
        session.sql("ALTER TABLE t RENAME TO u")
        levels = set()
        for lasting in (True, False):
            with session.store._store.write(durable=lasting) as connection:
                levels.add(connection.scalar(text("PRAGMA synchronous")))
    return len(waits), levels


def test_commits_wait_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and directories are synced, and the metastore is: FULL, or NORMAL for locks alone."""
    waits, levels = synced(tmp_path / "warehouse", monkeypatch, "true")
    assert waits > 0
    assert levels == {1, 2}


def test_nothing_waits_for_a_disk_that_is_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With acidsql.durable=false no file is synced and SQLite syncs nothing."""
    assert synced(tmp_path / "warehouse", monkeypatch, "false") == (0, {0})


@pytest.mark.processes
def test_a_process_that_ends_at_once_loses_nothing(tmp_path: Path) -> None:
    """Without waiting for the disk a commit is still there for whoever comes after a killed
    process.
    """
    script = f"""
import os
from acidsql.session import Session

session = Session({str(tmp_path)!r}, metastore="", settings={{"acidsql.durable": "false"}})
session.sql("CREATE TABLE t (id INT) {ACID}")
session.sql("INSERT INTO t VALUES (1), (2)")
os.kill(os.getpid(), 9)
"""
    ended = subprocess.run([sys.executable, "-c", script], check=False)
    assert ended.returncode == -9
    with Session(str(tmp_path), metastore="") as session:
        assert list(session.sql("SELECT id FROM t ORDER BY id").rows()) == [(1,), (2,)]
