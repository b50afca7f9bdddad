"""The embedded store keeps every contract there is."""

from __future__ import annotations

from tests.contracts import (
    CatalogContract,
    CompactionContract,
    MetastoreContract,
    TxnManagerContract,
)
from tests.metastore.conftest import Embedded


class TestTxnManager(Embedded, TxnManagerContract):
    """Its transactions and locks."""


class TestCompactions(Embedded, CompactionContract):
    """Its queue of compactions."""


class TestCatalog(Embedded, CatalogContract):
    """Its databases, tables and partitions."""


class TestMetastore(Embedded, MetastoreContract):
    """Both together."""
