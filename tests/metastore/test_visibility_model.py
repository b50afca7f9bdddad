"""Random histories against Hive's rules written down in the plainest way."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from unittest.mock import patch

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, multiple, rule

from acidsql.acid.ids import TxnId
from acidsql.acid.write_ids import ValidTxnList
from acidsql.catalog.model import TableName
from acidsql.errors import WriteConflictError
from acidsql.metastore import opening
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.txn.manager import OperationType, TxnComponent

TABLES = (TableName("default", "a"), TableName("default", "b"))
PARTITIONS = (None, "p=1")
MEMORY = "/dev/shm"
"""Durability is not what is looked at here."""
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
        return {(table, partition) for table, partition, operation in self.wrote if operation in CHANGES}


class Histories(RuleBasedStateMachine):
    """Transactions begin, take write ids and end in any order, with house-keeping as eager as it can be."""

    open_txns: Bundle[ModelTxn] = Bundle("open_txns")

    @initialize()
    def start(self) -> None:
        self.patches = [patch.object(opening, "KEPT_TXNS", 1), patch.object(opening, "HOUSEKEEPING_INTERVAL", 2)]
        for one in self.patches:
            one.start()
        self.folder = tempfile.mkdtemp(dir=MEMORY if os.path.isdir(MEMORY) else None)
        self.metastore = EmbeddedMetastore(self.folder)
        self.model: dict[int, ModelTxn] = {}
        self.write_ids: dict[TableName, list[int]] = {table: [] for table in TABLES}  # the owner of each, in order

    def teardown(self) -> None:
        if hasattr(self, "metastore"):
            self.metastore.close()
            shutil.rmtree(self.folder)
            for one in self.patches:
                one.stop()

    @rule(target=open_txns, tables=st.sets(st.sampled_from(TABLES)))
    def begin(self, tables: set[TableName]) -> ModelTxn:
        committed = frozenset(txn.txn_id for txn in self.model.values() if txn.state == "committed")
        opened = self.metastore.begin(sorted(tables))
        assert opened.txn_id == len(self.model) + 1
        txn = ModelTxn(opened.txn_id, opened.txns, committed)
        self.model[txn.txn_id] = txn
        for table in sorted(tables):
            self.write_ids[table].append(txn.txn_id)
            assert opened.write_ids[table] == len(self.write_ids[table])
        return txn

    @rule(txn=open_txns, table=st.sampled_from(TABLES))
    def allocate(self, txn: ModelTxn, table: TableName) -> None:
        owners = self.write_ids[table]
        if txn.txn_id not in owners:
            owners.append(txn.txn_id)
        assert self.metastore.allocate_write_id(txn.txn_id, table) == owners.index(txn.txn_id) + 1

    @rule(
        txn=open_txns,
        table=st.sampled_from(TABLES),
        partition=st.sampled_from(PARTITIONS),
        operation=st.sampled_from([OperationType.INSERT, OperationType.UPDATE, OperationType.DELETE]),
    )
    def write(self, txn: ModelTxn, table: TableName, partition: str | None, operation: OperationType) -> None:
        self.allocate(txn, table)
        write_id = self.metastore.allocate_write_id(txn.txn_id, table)
        self.metastore.add_components(txn.txn_id, [TxnComponent(table=table, partition=partition, operation=operation, write_id=write_id)])
        txn.wrote.add((table, partition, operation))

    @rule(target=open_txns, txn=consumes(open_txns))
    def commit(self, txn: ModelTxn) -> ModelTxn:
        winners = [other for other in self.model.values() if other.state == "committed" and other.txn_id not in txn.sees]
        conflicts = any(txn.changed & other.changed for other in winners)
        try:
            self.metastore.commit(txn.txn_id)
            txn.state = "committed"
        except WriteConflictError:
            txn.state = "aborted"
        assert (txn.state == "aborted") == conflicts
        return multiple()

    @rule(target=open_txns, txn=consumes(open_txns))
    def abort(self, txn: ModelTxn) -> ModelTxn:
        self.metastore.abort(txn.txn_id)
        txn.state = "aborted"
        return multiple()

    @rule(txn=open_txns)
    def read_in_a_transaction(self, txn: ModelTxn) -> None:
        """Now as ever: what was committed when it began, and its own."""
        for table in TABLES:
            self.compare(table, txn.txns, {*txn.sees, txn.txn_id})

    @rule()
    def read_now(self) -> None:
        """All that is committed; and the aborted are called so, as long as they may have left files."""
        txns = self.metastore.valid_txns()
        for table in TABLES:
            self.compare(table, txns, {txn.txn_id for txn in self.model.values() if txn.state == "committed"})
            listed = self.metastore.valid_write_ids(table, txns)
            for write_id, owner in enumerate(self.write_ids[table], start=1):
                assert (write_id in listed.aborted) == (self.model[owner].state == "aborted")
                assert write_id not in listed.open or self.model[owner].state == "open"

    def compare(self, table: TableName, txns: ValidTxnList, visible: set[int]) -> None:
        listed = self.metastore.valid_write_ids(table, txns)
        owners = self.write_ids[table]
        assert [listed.is_valid(w) for w in range(1, len(owners) + 3)] == [owner in visible for owner in owners] + [False, False]  # type: ignore[arg-type]


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=20, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
