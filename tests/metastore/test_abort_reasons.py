"""What the owner of an aborted transaction is told, and whether trying again is asked for."""

from __future__ import annotations

import pytest

from acidsql.errors import TransactionAbortedError
from acidsql.metastore.embedded import EmbeddedMetastore
from tests.metastore.conftest import Clock


def test_what_was_aborted_by_hand_is_not_to_be_run_again(metastore: EmbeddedMetastore) -> None:
    """ABORT TRANSACTIONS is somebody's will; acidsql.retries heeds it."""
    txn_id = metastore.begin().txn_id
    metastore.abort_txns([txn_id])
    with pytest.raises(TransactionAbortedError) as caught:
        metastore.heartbeat(txn_id)
    assert caught.value.detail == "by ABORT TRANSACTIONS"
    assert not caught.value.retryable


def test_what_timed_out_can_be_run_again(metastore: EmbeddedMetastore, clock: Clock) -> None:
    """A time-out is nobody's will."""
    txn_id = metastore.begin().txn_id
    clock.now += 301
    metastore.begin()
    with pytest.raises(TransactionAbortedError) as caught:
        metastore.heartbeat(txn_id)
    assert caught.value.detail == "its heartbeat timed out"
    assert caught.value.retryable
