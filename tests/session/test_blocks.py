"""Blocks of statements that are run again: what is kept, what is not, and what cannot be meant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from acidsql.errors import Error, InterfaceError, LockTimeoutError, NotNullError
from acidsql.session import Session
from acidsql.session.transaction import Attempts

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Session]:
    """A session without Spark that waits for no lock, with a table."""
    settings = {"acidsql.engine": "local", "hive.lock.numretries": "0"}
    with Session(tmp_path / "w", settings=settings) as session:
        session.sql(f"CREATE TABLE t (id INT NOT NULL) {ACID}")
        yield session


@pytest.fixture
def blocked(alone: Session, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Another session has rows of the table in an open transaction; each pause before a further
    attempt is counted, and the second one ends that.
    """
    pauses: list[int] = []
    with alone.open_beside() as other:

        def pause(attempts: Attempts) -> None:
            pauses.append(1)
            if len(pauses) == 2:
                other.rollback()

        monkeypatch.setattr(Attempts, "_pause", pause)
        other.begin()
        other.sql("INSERT INTO t VALUES (0)")
        yield pauses


def _ids(session: Session) -> list[int]:
    return sorted(row[0] for row in session.sql("SELECT id FROM t"))


def test_a_function_is_called_again(alone: Session, blocked: list[int]) -> None:
    """After retryable errors, in a new transaction each: nothing of a failed one stays."""
    calls: list[bool] = []

    def work(session: Session) -> str:
        calls.append(session.in_transaction)
        session.table("t").append(pa.table({"id": [len(calls)]}))
        session.sql("INSERT OVERWRITE TABLE t VALUES (10)")
        return "done"

    assert alone.retry(work) == "done"
    assert (calls, len(blocked)) == ([True] * 3, 2)
    assert (_ids(alone), alone.in_transaction) == ([10], False)


def test_a_loop_runs_its_block_again(alone: Session, blocked: list[int]) -> None:
    """And ends behind the attempt that succeeds; ``break`` and ``return`` commit."""
    attempts = 0
    for attempt in alone.transaction(retries=3):
        with attempt as session:
            attempts += 1
            session.sql("INSERT OVERWRITE TABLE t VALUES (1)")
    assert (attempts, _ids(alone)) == (3, [1])
    for attempt in alone.transaction(retries=3):
        with attempt:
            alone.sql("INSERT INTO t VALUES (2)")
            break
    assert _ids(alone) == [1, 2]


def test_attempts_come_to_an_end(alone: Session, blocked: list[int]) -> None:
    """The last error is the user's; the session is free."""
    with pytest.raises(LockTimeoutError) as caught:
        alone.retry(lambda session: session.sql("INSERT OVERWRITE TABLE t VALUES (1)"), retries=1)
    assert (len(blocked), caught.value.retryable) == (1, True)
    assert not alone.in_transaction


def test_other_errors_are_not_met_with_another_attempt(alone: Session) -> None:
    """Neither acidsql's that say so, nor those of the block."""
    calls: list[int] = []

    def refused(session: Session) -> None:
        calls.append(1)
        session.sql("INSERT INTO t VALUES (1)")
        session.sql("INSERT INTO t VALUES (NULL)")

    with pytest.raises(NotNullError):
        alone.retry(refused)
    with pytest.raises(ZeroDivisionError):
        alone.retry(lambda session: calls.append(1 // 0))
    assert (calls, _ids(alone), alone.in_transaction) == ([1], [], False)


def test_each_attempt_reads_again(alone: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another session has committed meanwhile is what the next attempt works on."""
    monkeypatch.setattr(Attempts, "_pause", lambda attempts: None)
    alone.sql("INSERT INTO t VALUES (1)")
    seen: list[list[int]] = []
    with alone.open_beside() as other:
        for attempt in alone.transaction(retries=1):
            with attempt:
                seen.append(_ids(alone))
                alone.sql(f"UPDATE t SET id = {seen[-1][0] + 10} WHERE id > 0")
                if len(seen) == 1:
                    other.sql("SET hive.txn.xlock.write=false")
                    other.sql("SET hive.lock.numretries=0")
                    try:
                        other.sql("UPDATE t SET id = 2 WHERE id = 1")
                    except LockTimeoutError:
                        alone.rollback()
                        other.sql("UPDATE t SET id = 2 WHERE id = 1")
                        raise
    assert (seen, _ids(alone)) == ([[1], [2]], [12])


def test_what_cannot_be_meant_is_refused(alone: Session) -> None:
    """A ``with`` alone cannot be run again; an attempt without one would never end."""
    with pytest.raises(InterfaceError, match="cannot be run again"), alone.transaction(retries=1):
        pass
    with pytest.raises(InterfaceError, match="with attempt"):
        for _ in alone.transaction(retries=1):
            pass
    with pytest.raises(InterfaceError, match="0 or more"):
        alone.transaction(retries=-1)
    with alone.transaction() as session, pytest.raises(Error):
        session.retry(lambda inner: None)
    assert not alone.in_transaction
