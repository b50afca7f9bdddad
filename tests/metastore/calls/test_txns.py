"""What the embedded store adds to the contract: dead processes, house-keeping, garbage left for
the cleaner.
"""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from acidsql.catalog.model import Column, Database, Table, TableName
from acidsql.catalog.statistics import StatisticsChange, nothing_yet
from acidsql.catalog.types import parse_type
from acidsql.errors import MetastoreError, SnapshotTooOldError, WriteConflictError
from acidsql.metastore import opening
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.processes import Process
from acidsql.txn.manager import OperationType, TxnState
from tests.contracts.dropping import create
from tests.contracts.store import T, component, insert
from tests.contracts.timeouts import txn_states as states
from tests.metastore.conftest import quoted

OTHER = TableName("default", "other")


def rows(metastore: EmbeddedMetastore, query: str) -> list[tuple[Any, ...]]:
    """As another tool sees the store."""
    with metastore._store.read() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(quoted(query))]


# --- reaping
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "state"),
    [
        # the pid is in use, by a process that started at another time
        (
            {"start": 1},
            TxnState.ABORTED,
        ),
        ({}, TxnState.OPEN),
        ({"start": 1, "machine": "elsewhere"}, TxnState.OPEN),
        ({"start": 0}, TxnState.OPEN),
    ],
    ids=["reused pid", "alive", "other machine", "unknown start"],
)
def test_only_a_process_surely_gone_is_reaped_at_once(
    metastore: EmbeddedMetastore,
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, Any],
    state: TxnState,
) -> None:
    """Pid and start time on this machine decide; where they cannot, the heartbeat does."""
    opener = dataclasses.replace(Process.current(), **change)
    if not Process.current().machine:
        pytest.skip("this system does not tell when a process started")
    with monkeypatch.context() as patch:
        patch.setattr(Process, "current", classmethod(lambda cls: opener))
        txn_id = metastore.open_txn()
    metastore.open_txn()
    assert states(metastore)[txn_id] is state


def test_another_host_is_not_judged(
    reopen: Callable[..., EmbeddedMetastore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pid means nothing there."""
    opener = dataclasses.replace(Process.current(), start=1)
    with monkeypatch.context() as patch:
        patch.setattr(Process, "current", classmethod(lambda cls: opener))
        txn_id = reopen(host="elsewhere").open_txn()
    metastore = reopen(host="here")
    metastore.open_txn()
    assert states(metastore)[txn_id] is TxnState.OPEN


def test_transactions_name_their_opener(reopen: Callable[..., EmbeddedMetastore]) -> None:
    """User, host and process, in Hive's columns."""
    metastore = reopen(user="ann", host="node1")
    metastore.open_txn()
    (row,) = rows(metastore, "SELECT TXN_USER, TXN_HOST, TXN_AGENT_INFO FROM TXNS WHERE TXN_ID = 1")
    assert row[:2] == ("ann", "node1")
    assert Process.parse(row[2]) == Process.current()
    assert f"pid={os.getpid()} " in row[2]


# --- what is left behind
# ---------------------------------------------------------------------------------------------


def test_an_abort_leaves_its_components_for_the_cleaner(metastore: EmbeddedMetastore) -> None:
    """What was recorded, and for a write id nothing was recorded of, the whole table: there may be
    files.
    """
    txn_id = metastore.begin([T, OTHER]).txn_id
    metastore.add_components(txn_id, [component(T, 1, partition="p=1")])
    metastore.abort(txn_id)
    found = rows(
        metastore,
        "SELECT TC_TABLE, TC_PARTITION, TC_OPERATION_TYPE, TC_WRITEID FROM TXN_COMPONENTS ORDER BY 1 DESC",
    )
    assert found == [("t", "p=1", "i", 1), ("other", None, "i", 1)]


def test_a_commit_turns_components_into_history(metastore: EmbeddedMetastore) -> None:
    """One row for each object and kind, the newest; no trace of reads."""
    for operation in (OperationType.INSERT, OperationType.UPDATE, OperationType.INSERT):
        insert(metastore, operation=operation)
    reader = metastore.begin([OTHER]).txn_id
    metastore.commit(reader, [component(OTHER, 1, OperationType.SELECT)])
    found = rows(
        metastore,
        "SELECT CTC_TABLE, CTC_WRITEID, CTC_UPDATE_DELETE FROM COMPLETED_TXN_COMPONENTS ORDER BY 2",
    )
    assert found == [("t", 2, "Y"), ("t", 3, "N")]
    assert rows(metastore, "SELECT count(*) FROM TXN_COMPONENTS") == [(0,)]
    assert rows(metastore, "SELECT count(*) FROM MIN_HISTORY_LEVEL") == [(0,)]


def test_ten_thousand_commits_leave_a_thousand_rows(
    metastore: EmbeddedMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """House-keeping bounds what a statement has to look through (here with small numbers)."""
    monkeypatch.setattr(opening, "KEPT_TXNS", 10)
    monkeypatch.setattr(opening, "HOUSEKEEPING_INTERVAL", 4)
    for number in range(60):
        insert(metastore, operation=OperationType.UPDATE if number % 2 else OperationType.INSERT)
        metastore.abort(metastore.open_txn())
    for name, most in (
        ("TXNS", 20),
        ("TXN_TO_WRITE_ID", 10),
        ("WRITE_SET", 4),
        ("COMPLETED_TXN_COMPONENTS", 2),
        ("TXN_COMPONENTS", 0),
    ):
        ((count,),) = rows(metastore, f"SELECT count(*) FROM {name}")
        assert count <= most, name
    assert (
        str(metastore.valid_write_ids(T, metastore.valid_txns()))
        == "default.t:60:9223372036854775807::"
    )


def test_garbage_of_an_aborted_transaction_is_never_forgotten(
    metastore: EmbeddedMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its write id stays invalid for as long as the cleaner has not removed its components."""
    monkeypatch.setattr(opening, "KEPT_TXNS", 2)
    monkeypatch.setattr(opening, "HOUSEKEEPING_INTERVAL", 1)
    insert(metastore)
    metastore.abort(metastore.begin([T]).txn_id)
    for _ in range(20):
        insert(metastore)
    assert (
        str(metastore.valid_write_ids(T, metastore.valid_txns()))
        == "default.t:22:9223372036854775807::2"
    )


def test_a_late_write_id_of_an_early_transaction_survives_house_keeping(
    metastore: EmbeddedMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The high watermark is the highest id given out, though the row of it may be purged before
    lower ones are.
    """
    monkeypatch.setattr(opening, "KEPT_TXNS", 1)
    monkeypatch.setattr(opening, "HOUSEKEEPING_INTERVAL", 1)
    early = metastore.open_txn()
    aborted = metastore.begin([T])
    late = metastore.begin([T])
    metastore.commit(late.txn_id, [component(T, 2)])
    metastore.allocate_write_id(early, T)
    metastore.commit(early, [component(T, 3)])
    metastore.abort(aborted.txn_id)
    for _ in range(5):
        insert(metastore, OTHER)
    assert (
        str(metastore.valid_write_ids(T, metastore.valid_txns()))
        == "default.t:3:9223372036854775807::1"
    )


def test_a_snapshot_older_than_the_store_remembers_is_refused(
    metastore: EmbeddedMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rather than told that what was open then had been committed; an open transaction keeps what
    it needs.
    """
    monkeypatch.setattr(opening, "KEPT_TXNS", 2)
    monkeypatch.setattr(opening, "HOUSEKEEPING_INTERVAL", 1)
    undecided = metastore.begin([T])
    snapshot = metastore.valid_txns()
    holder = metastore.begin()
    metastore.commit(undecided.txn_id, [component(T, 1)])
    for _ in range(10):
        insert(metastore)
    for txns in (snapshot, holder.txns):
        assert not any(
            metastore.valid_write_ids(T, txns).is_valid(write_id) for write_id in range(1, 12)
        )  # type: ignore[arg-type]
    metastore.commit(holder.txn_id)
    for _ in range(3):
        insert(metastore)
    with pytest.raises(SnapshotTooOldError, match=r'the snapshot is too old to read "default\.t"'):
        metastore.valid_write_ids(T, snapshot)


def test_house_keeping_keeps_what_an_open_transaction_may_conflict_with(
    metastore: EmbeddedMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last one: a commit id that is the open transaction's own id still overlaps with it."""
    monkeypatch.setattr(opening, "HOUSEKEEPING_INTERVAL", 1)
    first, second = metastore.begin([T]), metastore.begin([T])
    metastore.commit(first.txn_id, [component(T, 1, OperationType.UPDATE)])
    metastore.begin()
    with pytest.raises(WriteConflictError, match=r"committed by \[txnid:1,2\]"):
        metastore.commit(second.txn_id, [component(T, 2, OperationType.UPDATE)])


@pytest.mark.parametrize("older", [True, False])
def test_house_keeping_keeps_the_write_id_of_an_overlapping_change(
    metastore: EmbeddedMetastore, monkeypatch: pytest.MonkeyPatch, older: bool
) -> None:
    """As long as the change may be compared, whichever of the two began first; all others go."""
    monkeypatch.setattr(opening, "HOUSEKEEPING_INTERVAL", 1)
    monkeypatch.setattr(opening, "KEPT_TXNS", 0)
    insert(metastore)
    one, two = metastore.begin([T]), metastore.begin([T])
    other, waiting = (one, two) if older else (two, one)
    metastore.commit(
        other.txn_id, [component(T, other.write_ids[T], OperationType.UPDATE)], harmless=()
    )
    for _ in range(5):
        insert(metastore)
    mine = [component(T, waiting.write_ids[T], OperationType.DELETE)]
    (overlap,) = metastore.commit(waiting.txn_id, mine, harmless=())
    assert overlap.write_id == other.write_ids[T]
    assert (1,) not in rows(metastore, "SELECT T2W_TXNID FROM TXN_TO_WRITE_ID")
    metastore.commit(waiting.txn_id, mine, harmless=[overlap])
    insert(metastore)
    assert rows(metastore, "SELECT 1 FROM WRITE_SET WHERE WS_OPERATION_TYPE = 'u'") == []


def test_a_change_whose_write_id_is_not_known(metastore: EmbeddedMetastore) -> None:
    """It is told without one: nobody can say then which rows it changed."""
    first, second = metastore.begin([T]), metastore.begin([T])
    metastore.commit(first.txn_id, [component(T, 1, OperationType.UPDATE)])
    with metastore._store.write() as connection:
        connection.exec_driver_sql(quoted("DELETE FROM TXN_TO_WRITE_ID WHERE T2W_TXNID = 1"))
    (overlap,) = metastore.commit(
        second.txn_id, [component(T, 2, OperationType.UPDATE)], harmless=()
    )
    assert overlap.write_id is None


# --- dropped tables
# --------------------------------------------------------------------------------------------------


def test_what_a_writer_of_a_dropped_table_did_elsewhere_is_garbage(
    metastore: EmbeddedMetastore,
) -> None:
    """It stays known for the cleaner; of the dropped table itself nothing does."""
    for name in (T, OTHER):
        create(metastore, name)
    writer = metastore.begin([T, OTHER]).txn_id
    metastore.drop_table(T)
    assert rows(metastore, "SELECT TC_TXNID, TC_TABLE FROM TXN_COMPONENTS") == [(writer, "other")]


def test_nothing_is_left_of_a_dropped_database(metastore: EmbeddedMetastore) -> None:
    """Neither columns nor write ids of its tables."""
    metastore.create_database(Database(name="sales", location=""))
    orders = TableName("sales", "orders")
    create(metastore, orders)
    insert(metastore, orders)
    metastore.drop_database("sales", cascade=True)
    for name in ("COLUMNS_V2", "NEXT_WRITE_ID", "TXN_TO_WRITE_ID", "COMPLETED_TXN_COMPONENTS"):
        assert rows(metastore, f"SELECT count(*) FROM {name}") == [(0,)], name


# --- statistics
# --------------------------------------------------------------------------------------------------


def test_a_commit_that_fails_changes_no_statistics(
    metastore: EmbeddedMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statistics and commit are one transaction of the store: what stops the one stops the other."""
    columns = (Column(name="a", type=parse_type("int")),)
    table = metastore.create_table(
        Table(name=T, columns=columns, location="", statistics=nothing_yet(columns))
    )
    opened = metastore.begin([T])
    change = StatisticsChange(table=table, rows=3, files=1, bytes=9)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    # after the statistics, before the state
    monkeypatch.setattr("acidsql.metastore.committing.free_locks", fail)
    with pytest.raises(MetastoreError, match="disk full"):
        metastore.commit(opened.txn_id, [component(T, 1)], [change])
    monkeypatch.undo()
    now = metastore.find_table(T)
    assert now is not None
    assert now.statistics["numRows"] == "0"
    assert not metastore.valid_txns().is_valid(opened.txn_id)


def test_a_forked_child_uses_its_own_connections(metastore: EmbeddedMetastore) -> None:
    """A connection must not cross a fork: those of the parent stay the parent's."""
    txn_id = metastore.open_txn()
    # newer Pythons dislike a fork beside threads
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if metastore.begin().txns.open == (txn_id,) else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert metastore.open_txn() == txn_id + 2
