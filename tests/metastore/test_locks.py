"""What the embedded store adds to the contract of locks: those of dead processes go at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import text

from acidsql.acid.ids import TxnId
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.processes import Process
from acidsql.txn.locks import LockType
from tests.contracts.lock_requests import ACQUIRED, WAITING, asking, on
from tests.contracts.store import T
from tests.metastore.conftest import quoted

Reopen = Callable[..., EmbeddedMetastore]


@contextmanager
def opened_by(monkeypatch: pytest.MonkeyPatch, **change: object) -> Iterator[None]:
    """What is done in here, another process did."""
    if not Process.current().machine:
        pytest.skip("this system does not tell when a process started")
    other = dataclasses.replace(Process.current(), **change)  # type: ignore[arg-type]
    with monkeypatch.context() as patch:
        patch.setattr(Process, "current", classmethod(lambda cls: other))
        yield


@pytest.mark.parametrize(
    ("change", "host", "gone"),
    [
        ({"start": 1}, "here", True),
        ({}, "here", False),
        ({"start": 1, "machine": "elsewhere"}, "here", False),
        ({"start": 1}, "elsewhere", False),
    ],
    ids=["reused pid", "alive", "other machine", "other host"],
)
@pytest.mark.parametrize("in_txn", [True, False], ids=["transaction", "query"])
def test_a_process_surely_gone_holds_nothing_up(
    reopen: Reopen,
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, object],
    host: str,
    gone: bool,
    in_txn: bool,
) -> None:
    """Its locks are free at once for who wants them; where its end is not sure, the heartbeat
    decides.
    """
    with opened_by(monkeypatch, **change):
        other = reopen(host=host)
        other.lock(asking(on(T)), other.open_txn() if in_txn else TxnId(0))
    asked = reopen(host="here").lock(asking(on(T)))
    assert asked.state is (ACQUIRED if gone else WAITING)


def test_locks_are_stored_by_hives_letters(metastore: EmbeddedMetastore) -> None:
    """For whoever looks into HIVE_LOCKS."""
    for number, kind in enumerate(LockType):
        metastore.lock(asking(on(f"d{number}", kind)))
    metastore.lock(asking(on("d3")))
    with metastore._store.read() as connection:
        rows = connection.execute(
            text(
                quoted(
                    "SELECT HL_LOCK_STATE || HL_LOCK_TYPE FROM HIVE_LOCKS ORDER BY HL_LOCK_EXT_ID"
                )
            )
        )
        assert [letters for (letters,) in rows] == ["ar", "aw", "ax", "ae", "wx"]
