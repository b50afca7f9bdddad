"""Contracts as pytest classes: what a transaction manager and a catalog must do to be used by
acidsql, whoever has written them. They know the protocols alone (``txn.manager.TxnManager``,
``catalog.catalog.Catalog``); importing them takes pytest and nothing else besides acidsql.

A test class inherits a contract and says how its store is opened; docs/testing.md has an example.
"""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(__name__)  # else a broken promise would not say by what

from acidsql.testing.contracts.altering import AlterContract  # noqa: E402
from acidsql.testing.contracts.catalog_partitions import CatalogPartitionContract  # noqa: E402
from acidsql.testing.contracts.catalog_tables import CatalogTableContract  # noqa: E402
from acidsql.testing.contracts.compactions.leases import CompactionLeaseContract  # noqa: E402
from acidsql.testing.contracts.compactions.queue import CompactionQueueContract  # noqa: E402
from acidsql.testing.contracts.compactions.txns import CompactionTxnContract  # noqa: E402
from acidsql.testing.contracts.conflicts import ConflictContract  # noqa: E402
from acidsql.testing.contracts.dropping import DropContract  # noqa: E402
from acidsql.testing.contracts.lock_ends import LockEndContract  # noqa: E402
from acidsql.testing.contracts.locks import LockContract  # noqa: E402
from acidsql.testing.contracts.readers import ReaderContract, ReaderTableContract  # noqa: E402
from acidsql.testing.contracts.runs import RunContract  # noqa: E402
from acidsql.testing.contracts.statistics import StatisticsContract  # noqa: E402
from acidsql.testing.contracts.store import Clock, OpenStore, StoreContract  # noqa: E402
from acidsql.testing.contracts.threads import ThreadContract  # noqa: E402
from acidsql.testing.contracts.timeouts import TimeoutContract  # noqa: E402
from acidsql.testing.contracts.transactions import EndContract, SnapshotContract  # noqa: E402
from acidsql.testing.contracts.written_partitions import WrittenPartitionContract  # noqa: E402

__all__ = [
    "CatalogContract",
    "Clock",
    "CompactionContract",
    "MetastoreContract",
    "OpenStore",
    "StoreContract",
    "TxnManagerContract",
]


class TxnManagerContract(
    SnapshotContract,
    EndContract,
    ConflictContract,
    TimeoutContract,
    LockContract,
    LockEndContract,
    ThreadContract,
    ReaderContract,
    RunContract,
):
    """What every transaction manager must do, by Hive's rules."""


class CompactionContract(CompactionQueueContract, CompactionLeaseContract, CompactionTxnContract):
    """What a queue of compactions must do, on the store of a catalog and a transaction manager."""


class CatalogContract(CatalogTableContract, CatalogPartitionContract):
    """What every catalog must do."""


class MetastoreContract(
    DropContract,
    AlterContract,
    WrittenPartitionContract,
    StatisticsContract,
    ReaderTableContract,
):
    """What a catalog and a transaction manager on one store must do together: transactions follow
    the tables that are dropped, renamed and altered, statistics follow the transactions.
    """
