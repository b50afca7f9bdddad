"""What every metastore must do when the source of a table of others tells what is so now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acidsql.acid.ids import ValidWriteIdList, WriteId
from acidsql.catalog.attached import ASKED, ATTACHED, READ_ONLY, WRITE_IDS
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Partition, Table, TableKind
from acidsql.errors import WriteConflictError
from acidsql.txn.manager import TxnManager
from tests.contracts.adopting import ACID, DAY, OTHERS, adopting, counted
from tests.contracts.sample_tables import T, columns, table
from tests.contracts.store import OpenStore, StoreContract

NEXT_DAY = Partition(values=("tue",), location="/others/t/ds=tue")
NOW = 1_700_000_000_000


def attach(catalog: Catalog) -> Table:
    """A table of others with one partition, as ATTACH makes it."""
    entry = table(
        partition_columns=columns(ds="string"),
        kind=TableKind.EXTERNAL,
        location="/others/t",
        properties={ATTACHED: READ_ONLY, WRITE_IDS: str(OTHERS), **ACID},
    )
    with catalog.creating_table(entry, [DAY]):
        pass
    stored = catalog.find_table(T)
    assert stored is not None
    return stored


def told(attached: Table, highest: int, *, asked: int) -> Table:
    """The table when all write ids up to ``highest`` count."""
    write_ids = ValidWriteIdList(table=str(T), high_watermark=WriteId(highest))
    properties = {**attached.properties, WRITE_IDS: str(write_ids), ASKED: str(asked)}
    return replace(attached, properties=properties)


class RefreshContract(StoreContract):
    """Whoever reads an attached table finds what its source told last."""

    def test_a_refreshed_table_is_what_its_source_told(
        self, open_store: OpenStore, catalog: Catalog, manager: TxnManager
    ) -> None:
        """Write ids and partitions, for others too; one that lies elsewhere by now is moved, one
        that is gone goes.
        """
        beside = open_store()
        attached = attach(catalog)
        after = told(attached, 9, asked=NOW)
        assert catalog.refresh_attached(attached, after, [DAY, NEXT_DAY]) == after
        assert counted(manager) == list(range(1, 10))
        assert counted(beside) == list(range(1, 10))
        assert [one.values for one in beside.list_partitions(after)] == [("mon",), ("tue",)]
        moved = replace(DAY, location="/elsewhere")
        catalog.refresh_attached(after, told(attached, 10, asked=NOW + 1), [moved])
        assert [one.location for one in beside.list_partitions(after)] == ["/elsewhere"]
        assert counted(manager) == list(range(1, 11))

    def test_all_who_open_it_have_one_clock(self, open_store: OpenStore, catalog: Catalog) -> None:
        """Who asks a source is told apart by it, in whichever process."""
        beside = open_store()
        first, between = catalog.clock(), beside.clock()
        assert first <= between <= catalog.clock()

    def test_what_was_told_later_stays(self, catalog: Catalog, manager: TxnManager) -> None:
        """Whichever session writes it down last; not where the source's clock was set back."""
        attached = attach(catalog)
        later = told(attached, 9, asked=NOW + 50)
        catalog.refresh_attached(attached, later, [DAY, NEXT_DAY])
        assert catalog.refresh_attached(attached, told(attached, 8, asked=NOW), [DAY]) == later
        assert counted(manager) == list(range(1, 10))
        assert len(catalog.list_partitions(later)) == 2
        back = told(attached, 10, asked=NOW - 3_600_000)
        assert catalog.refresh_attached(attached, back, [DAY]) == back

    def test_only_what_is_attached_is_refreshed(self, catalog: Catalog) -> None:
        """Not a table that was dropped, made anew or adopted meanwhile."""
        attached = attach(catalog)
        after = told(attached, 9, asked=NOW)
        catalog.drop_table(T)
        with pytest.raises(WriteConflictError):
            catalog.refresh_attached(attached, after, [DAY])
        again = attach(catalog)
        with pytest.raises(WriteConflictError):
            catalog.refresh_attached(attached, after, [DAY])
        with adopting(catalog, again):
            pass
        with pytest.raises(WriteConflictError):
            catalog.refresh_attached(again, told(again, 9, asked=NOW), [DAY])
