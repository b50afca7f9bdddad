"""The thread that keeps a transaction alive."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.acid.ids import TxnId
from acidsql.catalog.model import TableName
from acidsql.errors import Error, MetastoreError, TransactionAbortedError
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.txn.transaction import Transaction

SOON = 0.001
LONG = 60.0


class Watched(EmbeddedMetastore):
    """Tells when it was beaten, and answers the first beats with the errors given."""

    def __init__(self, warehouse: str, metastore: str | None) -> None:
        super().__init__(warehouse, metastore=metastore)
        self.beats = threading.Semaphore(0)
        self.errors: list[Error] = []

    def heartbeat(self, txn_id: TxnId) -> None:
        try:
            if self.errors:
                raise self.errors.pop(0)
            super().heartbeat(txn_id)
        finally:
            self.beats.release()

    def wait_for_beats(self, count: int) -> None:
        for _ in range(count):
            assert self.beats.acquire(timeout=LONG)


@pytest.fixture
def manager(warehouse: Path, metastore_url: str | None) -> Iterator[Watched]:
    with Watched(str(warehouse), metastore_url) as metastore:
        yield metastore


def test_beats_go_on_until_the_end(manager: Watched) -> None:
    """The store sees them; none comes after the commit."""
    with Transaction.begin(manager, heartbeat_seconds=SOON) as txn:
        manager.wait_for_beats(3)
        (info,) = manager.list_txns()
        assert info.last_heartbeat >= info.started
        txn.commit()
    while manager.beats.acquire(blocking=False):
        pass
    assert not manager.beats.acquire(timeout=20 * SOON)


def test_a_short_transaction_is_never_beaten(manager: Watched) -> None:
    """The first beat comes after one interval."""
    with Transaction.begin(manager, heartbeat_seconds=LONG) as txn:
        txn.commit()
    assert not manager.beats.acquire(blocking=False)


def test_a_lost_transaction_is_noticed(manager: Watched) -> None:
    """By the thread; the next call on the transaction raises, so that work ends early."""
    with Transaction.begin(manager, heartbeat_seconds=SOON) as txn:
        manager.abort(txn.txn_id)
        txn._heartbeat._thread.join(LONG)
        with pytest.raises(TransactionAbortedError, match="txnid:1 already aborted"):
            txn.write_id(TableName("default", "t"))


def test_a_store_out_of_reach_is_tried_again(manager: Watched) -> None:
    """A failed beat is not a lost transaction."""
    manager.errors = [MetastoreError("busy"), MetastoreError("busy")]
    with Transaction.begin(manager, heartbeat_seconds=SOON) as txn:
        manager.wait_for_beats(4)
        txn.commit()
    assert manager.list_txns() == ()
