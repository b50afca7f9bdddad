"""Contracts as pytest classes: what a transaction manager and a catalog must do to be used by
acidsql, whoever has written them. They know the protocols alone (``txn.manager.TxnManager``,
``catalog.catalog.Catalog``).

A test class inherits a contract and says how its store is opened; tests/metastore/test_contracts.py does so
for our own.
"""

from __future__ import annotations

from tests.contracts.adopting import AdoptContract
from tests.contracts.altering import AlterContract
from tests.contracts.catalog_partitions import CatalogPartitionContract
from tests.contracts.catalog_tables import CatalogTableContract
from tests.contracts.compactions.leases import CompactionLeaseContract
from tests.contracts.compactions.queue import CompactionQueueContract
from tests.contracts.compactions.txns import CompactionTxnContract
from tests.contracts.conflicts import ConflictContract
from tests.contracts.dropping import DropContract
from tests.contracts.lock_ends import LockEndContract
from tests.contracts.locks import LockContract
from tests.contracts.readers import ReaderContract, ReaderTableContract
from tests.contracts.recorded_directories import RecordContract
from tests.contracts.refreshing import RefreshContract
from tests.contracts.runs import RunContract
from tests.contracts.statistics import StatisticsContract
from tests.contracts.store import Clock, OpenStore, StoreContract
from tests.contracts.taken import TakenContract
from tests.contracts.threads import ThreadContract
from tests.contracts.timeouts import TimeoutContract
from tests.contracts.transactions import EndContract, SnapshotContract
from tests.contracts.written_partitions import WrittenPartitionContract

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
    AdoptContract,
    RefreshContract,
    WrittenPartitionContract,
    StatisticsContract,
    RecordContract,
    ReaderTableContract,
    TakenContract,
):
    """What a catalog and a transaction manager on one store must do together: transactions follow
    the tables that are dropped, renamed and altered, statistics follow the transactions.
    """
