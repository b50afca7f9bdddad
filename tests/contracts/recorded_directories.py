"""What every metastore must do about the directories that transactions have written: they are on
record while they are there, and whoever compares both is alone.
"""

from __future__ import annotations

import threading
from dataclasses import replace

from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Table
from acidsql.catalog.partitions import name_of
from acidsql.catalog.statistics import Filled, WrittenDirectory
from acidsql.txn.manager import TxnManager
from tests.contracts.statistics import DAY, MeasuredTables, inserted, numbers, written
from tests.contracts.store import OpenStore, T


class RecordContract(MeasuredTables):
    """Directories are on record from their commit on, until somebody takes them away."""

    def test_directories_are_on_record_until_they_go(
        self, manager: TxnManager, catalog: Catalog, table: Table
    ) -> None:
        """From the commit on; an aborted transaction has none. What is taken off is missed no
        more, and a dropped table leaves nothing to the next of its name.
        """
        directories = {"delta_0000001_0000001_0000": Filled(2, 300)}
        for ends in (manager.abort, None):
            opened = manager.begin([T])
            change = inserted(table, 3, directories=directories)
            assert catalog.written_directories(table) == ()
            if ends is not None:
                ends(opened.txn_id)
            else:
                manager.commit(opened.txn_id, written(manager, opened.txn_id), [change])
        [one] = catalog.written_directories(table)
        assert one == WrittenDirectory(
            partition=None, directory="delta_0000001_0000001_0000", filled=Filled(2, 300)
        )
        catalog.forget_written(table, None, ["delta_0000002_0000002_0000"])
        assert catalog.written_directories(table) == (one,)
        catalog.forget_written(table, None, [one.directory])
        assert catalog.written_directories(table) == ()
        catalog.change_statistics([inserted(table, 3, directories=directories)])
        catalog.drop_table(T)
        again = catalog.create_table(replace(table, table_id=0))
        assert catalog.written_directories(again) == ()
        assert catalog.written_directories(table) == ()

    def test_directories_of_partitions_are_on_record(
        self, catalog: Catalog, partitioned: Table
    ) -> None:
        """They follow a partition to another name, and go with it."""
        directories = {"base_0000001": Filled(1, 300)}
        catalog.change_statistics([inserted(partitioned, 3, DAY, directories=directories)])
        [one] = catalog.written_directories(partitioned)
        assert (one.partition, one.directory) == (name_of(partitioned, DAY), "base_0000001")
        later = replace(DAY, values=("later",), location="/data/t/ds=later")
        catalog.alter_partition(partitioned, DAY, later, move=lambda: None)
        [moved] = catalog.written_directories(partitioned)
        assert moved.partition == "ds=later"
        elsewhere = replace(later, location="/data/elsewhere")
        catalog.alter_partition(partitioned, later, elsewhere)
        assert catalog.written_directories(partitioned) == ()
        catalog.change_statistics([inserted(partitioned, 3, elsewhere, directories=directories)])
        catalog.drop_partitions(partitioned, [elsewhere])
        assert catalog.written_directories(partitioned) == ()

    def test_nobody_else_changes_the_store(
        self, open_store: OpenStore, catalog: Catalog, table: Table
    ) -> None:
        """Of two sessions the one that is alone sees what it saw before, however often it looks; the
        other one commits when it has left.
        """
        other, is_at_it = open_store(), threading.Event()
        txn_id = other.open_txn()
        components = written(other, txn_id)

        def commit() -> None:
            is_at_it.set()
            other.commit(
                txn_id,
                components,
                [inserted(table, 3, directories={"base_0000001": Filled(1, 300)})],
            )

        thread = threading.Thread(target=commit)
        with catalog.alone():
            thread.start()
            is_at_it.wait()
            for _ in range(100):
                assert catalog.written_directories(table) == ()
                assert numbers(catalog)[0] == "0"
        thread.join()
        assert len(catalog.written_directories(table)) == 1
        assert numbers(catalog)[0] == "3"
