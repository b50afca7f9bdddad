"""Random histories against Hive's rules written down in the plainest way."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from acidsql.acid.ids import TxnId, ValidTxnList
from acidsql.catalog.model import TableName
from acidsql.errors import WriteConflictError
from acidsql.metastore import opening
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.txn.manager import OperationType, TxnComponent
from tests.metastore.conftest import MEMORY

TABLES = (TableName("default", "a"), TableName("default", "b"))
PARTITIONS = (None, None, "p=1")
OPERATIONS = (*[OperationType.INSERT] * 3, OperationType.UPDATE, OperationType.DELETE)
CHANGES = {OperationType.UPDATE, OperationType.DELETE}


@dataclass
class ModelTxn:
    """``sees``: the transactions that were committed when it began."""

    txn_id: TxnId
    txns: ValidTxnList
    sees: frozenset[int]
    wrote: set[tuple[TableName, str | None, OperationType]] = field(default_factory=set)
    state: str = "open"
    commit_id: int = 0

    @property
    def changed(self) -> set[tuple[TableName, str | None]]:
        return {
            (table, partition) for table, partition, operation in self.wrote if operation in CHANGES
        }


class History:
    """Transactions that begin, take write ids and end in any order, on the store and in
    the model.
    """

    def __init__(self, metastore: EmbeddedMetastore) -> None:
        self.metastore = metastore
        self.model: dict[int, ModelTxn] = {}
        self.owners: dict[TableName, list[int]] = {table: [] for table in TABLES}
        """The transaction of each write id, from 1."""

    def pick(self, number: int) -> ModelTxn | None:
        still_open = [txn for txn in self.model.values() if txn.state == "open"]
        return still_open[number % len(still_open)] if still_open else None

    def committed(self) -> frozenset[int]:
        return frozenset(txn.txn_id for txn in self.model.values() if txn.state == "committed")

    def begin(self, number: int) -> None:
        committed = self.committed()
        tables = TABLES[: number % 3]
        opened = self.metastore.begin(tables)
        assert opened.txn_id == len(self.model) + 1
        self.model[opened.txn_id] = ModelTxn(opened.txn_id, opened.txns, committed)
        for table in tables:
            self.owners[table].append(opened.txn_id)
            assert opened.write_ids[table] == len(self.owners[table])

    def write(self, number: int) -> None:
        txn = self.pick(number)
        if txn is None:
            return
        table, partition, operation = (
            TABLES[number % 2],
            PARTITIONS[number % 3],
            OPERATIONS[number % 5],
        )
        owners = self.owners[table]
        if txn.txn_id not in owners:
            owners.append(txn.txn_id)
        write_id = self.metastore.allocate_write_id(txn.txn_id, table)
        assert write_id == owners.index(txn.txn_id) + 1
        self.metastore.add_components(
            txn.txn_id,
            [
                TxnComponent(
                    table=table, partition=partition, operation=operation, write_id=write_id
                )
            ],
        )
        txn.wrote.add((table, partition, operation))

    def commit(self, number: int) -> None:
        txn = self.pick(number)
        if txn is None:
            return
        unseen = self.committed() - txn.sees
        conflicts = any(txn.changed & self.model[other].changed for other in unseen)
        try:
            self.metastore.commit(txn.txn_id)
            txn.state = "committed"
        except WriteConflictError:
            txn.state = "aborted"
        assert (txn.state == "aborted") == conflicts

    def abort(self, number: int) -> None:
        txn = self.pick(number)
        if txn is not None:
            self.metastore.abort(txn.txn_id)
            txn.state = "aborted"

    def read_in_a_transaction(self, number: int) -> None:
        """Now as ever: what was committed when it began, and its own."""
        txn = self.pick(number)
        if txn is not None:
            for table in TABLES:
                self.compare(table, txn.txns, txn.sees | {txn.txn_id})

    def read_now(self, number: int) -> None:
        """All that is committed; and the aborted are called so, as they may have left files."""
        txns = self.metastore.valid_txns()
        for table in TABLES:
            self.compare(table, txns, self.committed())
            listed = self.metastore.valid_write_ids(table, txns)
            aborted = [
                w
                for w, owner in enumerate(self.owners[table], start=1)
                if self.model[owner].state == "aborted"
            ]
            assert list(listed.aborted) == aborted

    def compare(self, table: TableName, txns: ValidTxnList, visible: frozenset[int]) -> None:
        listed = self.metastore.valid_write_ids(table, txns)
        owners = self.owners[table]
        assert [listed.is_valid(w) for w in range(1, len(owners) + 3)] == [
            owner in visible for owner in owners
        ] + [False, False]  # type: ignore[arg-type]


STEPS: tuple[Callable[[History, int], None], ...] = (
    *[History.begin] * 3,
    *[History.write] * 3,
    *[History.commit] * 3,
    History.abort,
    History.read_in_a_transaction,
    History.read_now,
)


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 29)), min_size=60, max_size=90))
def test_the_store_agrees_with_the_rules(
    steps: list[tuple[Callable[[History, int], None], int]],
) -> None:
    """Whatever happens, with house-keeping as eager as it can be: ids, visibility, conflicts."""
    with (
        patch.object(opening, "KEPT_TXNS", 1),
        patch.object(opening, "HOUSEKEEPING_INTERVAL", 2),
        tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as folder,
        EmbeddedMetastore(folder) as metastore,
    ):
        history = History(metastore)
        for step, number in steps:
            step(history, number)
            history.read_in_a_transaction(number)
        history.read_now(0)
