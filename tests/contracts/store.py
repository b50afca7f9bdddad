"""What a store gives the contracts: a way to open it, and a clock, if one can be moved."""

from __future__ import annotations

from typing import Any, Protocol, cast

import pytest

from acidsql.acid.ids import TxnId
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import TableName
from acidsql.txn.manager import OperationType, TxnComponent, TxnManager

T = TableName("default", "t")
OTHER = TableName("sales", "orders")


class Clock:
    """Epoch seconds in ``now``; it stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


class OpenStore(Protocol):
    """Opens the test's one store, once more with each call, as another process would. It is empty
    when it is opened first, but for the database "default"; who opened it closes it.

    ``options``: any of ``user`` and ``host``, who opens transactions and locks;
    ``txn_timeout_seconds``, 300 unless it is said; ``max_open_txns``, 100,000;
    ``worker_timeout_seconds``, a day; ``pool_timeout_seconds``, half a day.
    """

    def __call__(self, **options: Any) -> TxnManager: ...


class StoreContract:
    """The fixtures of all contracts. A class that is to pass one overrides ``open_store``."""

    @pytest.fixture
    def clock(self) -> Clock:
        """The clock by which the store tells the time. A store that goes by another one overrides
        this with a fixture that skips: what is promised of time-outs is not tried then.
        """
        return Clock()

    @pytest.fixture
    def open_store(self) -> OpenStore:
        """See OpenStore."""
        raise NotImplementedError("override the fixture open_store: see docs/testing.md")

    @pytest.fixture
    def manager(self, open_store: OpenStore) -> TxnManager:
        """A transaction manager on the empty store."""
        return open_store()

    @pytest.fixture
    def catalog(self, manager: TxnManager) -> Catalog:
        """The catalog of the same store. Unless this is overridden, the manager itself is it."""
        return cast(Catalog, manager)


def component(
    table: TableName,
    write_id: int,
    operation: OperationType = OperationType.INSERT,
    partition: str | None = None,
) -> TxnComponent:
    return TxnComponent(table=table, partition=partition, operation=operation, write_id=write_id)  # type: ignore[arg-type]


def write(
    manager: TxnManager,
    txn_id: TxnId,
    operation: OperationType = OperationType.INSERT,
    table: TableName = T,
    partition: str | None = None,
) -> TxnComponent:
    """What an open transaction is to have written, with the write id that it has for it."""
    return component(table, manager.allocate_write_id(txn_id, table), operation, partition)


def insert(
    manager: TxnManager,
    table: TableName = T,
    operation: OperationType = OperationType.INSERT,
) -> TxnId:
    """A transaction that wrote to one table and has committed."""
    opened = manager.begin([table])
    manager.commit(opened.txn_id, [component(table, opened.write_ids[table], operation)])
    return opened.txn_id
