"""Files that tables take once: each is taken by one transaction, whoever tries how often."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acidsql.acid.ids import TxnId
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Table
from acidsql.errors import WriteConflictError
from acidsql.txn.manager import TxnManager
from acidsql.txn.runs import Taken, TakenFile
from tests.contracts.sample_tables import table
from tests.contracts.store import OpenStore, StoreContract, T, component

ACID = {"transactional": "true"}

A, B = (TakenFile(path=f"/in/{name}", size=3, mtime_ns=10**18 + 1) for name in ("a.csv", "b.csv"))


def take(manager: TxnManager, into: Table, *files: TakenFile) -> TxnId:
    """Commits a transaction of its own that takes the files."""
    opened = manager.begin([into.name])
    written = component(into.name, opened.write_ids[into.name])
    manager.commit(opened.txn_id, [written], taken=[taken(into, *files)])
    return opened.txn_id


def taken(into: Table, *files: TakenFile) -> Taken:
    return Taken(table=into.name, table_id=into.table_id, files=files)


class TakenContract(StoreContract):
    """What is on record of files, and what becomes of the second who takes one."""

    def test_files_are_on_record_with_the_commit(
        self, manager: TxnManager, catalog: Catalog
    ) -> None:
        """By path, size and time, for one table."""
        into = catalog.create_table(table(properties=ACID))
        assert manager.find_taken(into.table_id, [A, B]) == frozenset()
        take(manager, into, A)
        others = [replace(A, size=4), replace(A, mtime_ns=5), replace(A, path="/in/A.csv")]
        assert manager.find_taken(into.table_id, [A, B, *others]) == {A}
        assert manager.find_taken(into.table_id + 1, [A]) == frozenset()
        take(manager, into, B, *others)
        assert manager.find_taken(into.table_id, [A, B, *others]) == {A, B, *others}

    def test_the_second_who_takes_a_file_is_aborted(
        self, manager: TxnManager, catalog: Catalog, open_store: OpenStore
    ) -> None:
        """And takes none of its other files; it may be run again."""
        into = catalog.create_table(table(properties=ACID))
        other = open_store()
        early, late = manager.begin([T]), other.begin([T])
        other.commit(late.txn_id, [component(T, late.write_ids[T])], taken=[taken(into, A)])
        with pytest.raises(WriteConflictError, match=r"a\.csv") as caught:
            manager.commit(
                early.txn_id, [component(T, early.write_ids[T])], taken=[taken(into, B, A)]
            )
        assert caught.value.retryable is True
        assert manager.valid_txns().is_aborted(early.txn_id)
        assert manager.find_taken(into.table_id, [A, B]) == {A}
        other.close()  # type: ignore[attr-defined]

    def test_an_aborted_transaction_takes_nothing(
        self, manager: TxnManager, catalog: Catalog
    ) -> None:
        """Its files may be taken by another; a commit asked for again takes them once."""
        into = catalog.create_table(table(properties=ACID))
        opened = manager.begin([T])
        manager.abort(opened.txn_id)
        assert manager.find_taken(into.table_id, [A]) == frozenset()
        txn_id = take(manager, into, A)
        manager.commit(txn_id, taken=[taken(into, A)])
        assert manager.find_taken(into.table_id, [A]) == {A}

    def test_what_a_table_has_taken_goes_with_it(
        self, manager: TxnManager, catalog: Catalog
    ) -> None:
        """Another of its name takes the files again; one that is gone takes none."""
        into = catalog.create_table(table(properties=ACID))
        take(manager, into, A)
        catalog.drop_table(into.name)
        assert manager.find_taken(into.table_id, [A]) == frozenset()
        take(manager, into, A)
        again = catalog.create_table(table(properties=ACID))
        assert manager.find_taken(again.table_id, [A]) == frozenset()
