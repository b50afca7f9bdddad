"""What the embedded store keeps of the writers of partitions that are dropped or renamed."""

from __future__ import annotations

import pytest

from acidsql.acid.ids import WriteId
from acidsql.catalog.model import Table
from acidsql.metastore import opening
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.metastore.sql import select
from acidsql.metastore.tables import COMPLETED_TXN_COMPONENTS, TXN_COMPONENTS, WRITE_SET
from acidsql.txn.manager import OperationType
from tests.contracts.written_partitions import (
    ONE,
    T,
    Writer,
    WrittenPartitions,
    renamed,
)
from tests.metastore.conftest import Embedded


def history(metastore: EmbeddedMetastore) -> tuple[list[str | None], list[str | None]]:
    """The partitions that completed components and write sets name."""
    with metastore._store.read() as connection:
        completed = connection.scalars(
            select(COMPLETED_TXN_COMPONENTS.c.CTC_PARTITION).order_by(
                COMPLETED_TXN_COMPONENTS.c.CTC_WRITEID
            )
        )
        written = connection.scalars(
            select(WRITE_SET.c.WS_PARTITION)
            .where(WRITE_SET.c.WS_TXNID > 0)
            .order_by(WRITE_SET.c.WS_TXNID)
        )
        return list(completed), list(written)


def valid(metastore: EmbeddedMetastore, write_id: int) -> bool:
    return metastore.valid_write_ids(T, metastore.valid_txns()).is_valid(WriteId(write_id))


class TestTraces(Embedded, WrittenPartitions):
    """Its rows of components and write sets."""

    def test_a_dropped_partition_has_no_history(
        self, metastore: EmbeddedMetastore, stored: Table, writer: Writer
    ) -> None:
        """Neither for the compactor nor for a conflict; that of others stays."""
        metastore.commit(writer("k=1", operation=OperationType.UPDATE))
        metastore.commit(writer("k=2", operation=OperationType.UPDATE))
        metastore.drop_partitions(stored, [ONE])
        assert history(metastore) == (["k=2"], ["k=2"])

    def test_what_was_aborted_stays_aborted_after_a_drop(
        self,
        metastore: EmbeddedMetastore,
        stored: Table,
        writer: Writer,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """However many transactions come later, until a cleaner has seen that no file is left."""
        aborted, losing = writer("k=1"), writer("k=1")
        metastore.abort(aborted)
        metastore.drop_partitions(stored, [ONE])
        monkeypatch.setattr(opening, "KEPT_TXNS", 1)
        monkeypatch.setattr(opening, "HOUSEKEEPING_INTERVAL", 1)
        for _ in range(5):
            metastore.commit(metastore.open_txn())
        assert [t.txn_id for t in metastore.list_txns()] == [aborted, losing]
        assert not valid(metastore, 1)
        assert not valid(metastore, 2)
        with metastore._store.read() as connection:
            assert list(connection.scalars(select(TXN_COMPONENTS.c.TC_PARTITION))) == ["k=1", "k=1"]

    def test_the_history_of_a_renamed_partition_goes_with_it(
        self, metastore: EmbeddedMetastore, stored: Table, writer: Writer
    ) -> None:
        """What was committed there, and what was aborted there."""
        aborted = writer("k=1")
        metastore.abort(aborted)
        metastore.commit(writer("k=1", "k=2", operation=OperationType.UPDATE))
        metastore.alter_partition(stored, ONE, renamed(ONE))
        assert [sorted(map(str, names)) for names in history(metastore)] == [
            ["k=2", "k=9"],
            ["k=2", "k=9"],
        ]
        with metastore._store.read() as connection:
            assert list(connection.scalars(select(TXN_COMPONENTS.c.TC_PARTITION))) == ["k=9"]
