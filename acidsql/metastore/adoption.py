"""A table that was attached becomes one of this warehouse: its ids go on behind those of others. Or
one of this warehouse becomes one that is attached: its ids end here.

Each write id of theirs that does not count becomes one of an aborted transaction, which ended long
ago and of which nothing is known but the table: the cleaner treats its directories as those
of any other. Those that count need no record, since a write id without one is committed.
"""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.acid.ids import TxnId, WriteId
from acidsql.catalog.attached import adopted_up_to, attached_write_ids
from acidsql.catalog.model import Table
from acidsql.catalog.partitions import name_of
from acidsql.errors import WriteConflictError
from acidsql.metastore.calls.locks import select_locks
from acidsql.metastore.calls.txns import find_valid_write_ids
from acidsql.metastore.partition_txns import refuse_writers
from acidsql.metastore.rows.column_statistics import forget_columns_of_partitions
from acidsql.metastore.rows.compactions import read_compactions
from acidsql.metastore.rows.partitions import read_partitions
from acidsql.metastore.rows.readers import any_readers, note_cleaned, txns_that_read
from acidsql.metastore.rows.statistics import change_partitions, forget_statistics, partition_ids
from acidsql.metastore.rows.storage import insert_bucketing
from acidsql.metastore.rows.tables import update_table
from acidsql.metastore.rows.txns import (
    AbortReason,
    forget_transactions,
    lowest_open_txn,
    valid_txns,
)
from acidsql.metastore.sql import Connection, insert, or_, select, update
from acidsql.metastore.store import Store
from acidsql.metastore.successors import begin_anew, end_here
from acidsql.metastore.tables import (
    HIVE_LOCKS,
    PARTITIONS,
    SDS,
    TBLS,
    TXN_COMPONENTS,
    TXN_TO_WRITE_ID,
    TXNS,
    TxnType,
)
from acidsql.txn.compactions import CompactionState
from acidsql.txn.locks import LockType
from acidsql.txn.manager import OperationType, TxnState

_BATCH = 500


def adopt(
    store: Store,
    connection: Connection,
    before: Table,
    after: Table,
    *,
    uncounted: Sequence[WriteId],
    highest_txn: TxnId,
) -> None:
    """``uncounted``: the write ids up to those that ``after`` was adopted with that do not count.
    WriteConflictError while a transaction reads the table.
    """
    _refuse_readers(connection, before)
    if after.is_transactional:
        _insert_txns(store, connection, after, uncounted, highest_txn)
        begin_anew(connection, after.name, adopted_up_to(after))
        if uncounted and (lowest_open_txn(connection) is not None or any_readers(connection)):
            # an older snapshot takes these ids for open ones
            note_cleaned(connection, after.name, max(uncounted))
    update_table(connection, after)
    if after.bucketing is not None and before.bucketing is None:
        _insert_bucketing(connection, after)
    _forget_statistics(store, connection, after)


def leave(store: Store, connection: Connection, before: Table, after: Table) -> None:
    """Has a table of this warehouse give out no more ids, and nobody here write it: ``after`` is an
    attached table, which tells which ids count. WriteConflictError while somebody uses the table,
    or if other ids count by now.
    """
    name = before.name
    refuse_writers(connection, name)
    _refuse_readers(connection, before)
    _refuse_others(connection, before)
    if before.is_transactional:
        now = find_valid_write_ids(connection, name, valid_txns(connection, None))
        if now != attached_write_ids(after):
            raise WriteConflictError(
                f'table "{name}" was written to meanwhile', hint="Run the command again."
            )
        forget_transactions(connection, name)
        end_here(connection, name)
    update_table(connection, after)
    _forget_statistics(store, connection, after)


def _refuse_others(connection: Connection, table: Table) -> None:
    """A table without transactions is written under locks alone; and a compaction publishes what it
    has made when it ends.
    """
    locks = select_locks(
        connection,
        HIVE_LOCKS.c.HL_DB == table.name.database,
        HIVE_LOCKS.c.HL_TABLE == table.name.table,
    )
    held = next((lock for lock in locks if lock.component.type is not LockType.SHARED_READ), None)
    if held is not None:
        raise WriteConflictError(
            f'table "{table.name}" is locked by transaction txnid:{held.txn_id}',
            hint="Run the command again when that has ended. SHOW LOCKS lists who uses it.",
        )
    for one in read_compactions(connection):
        if one.request.table == table.name and one.state is CompactionState.WORKING:
            raise WriteConflictError(
                f'table "{table.name}" is being compacted',
                hint="Run the command again when that has ended. SHOW COMPACTIONS tells.",
            )


def _refuse_readers(connection: Connection, table: Table) -> None:
    """A transaction that has read the table would see other write ids from then on."""
    readers = txns_that_read(connection, table.name)
    if readers:
        raise WriteConflictError(
            f'table "{table.name}" is being read by transaction txnid:{readers[0]}',
            hint=(
                f"Run the statement again when it has ended, or ABORT TRANSACTIONS {readers[0]}."
            ),
        )


def _insert_txns(
    store: Store,
    connection: Connection,
    table: Table,
    uncounted: Sequence[WriteId],
    highest_txn: TxnId,
) -> None:
    """The adoption as a committed transaction, above all that compacted the table; and those of
    the write ids that do not count behind it.
    """
    first = max(store.highest_key(connection, TXNS), highest_txn) + 1
    now = store.now(connection)
    row = {
        "TXN_STATE": TxnState.COMMITTED.value,
        "TXN_STARTED": now,
        "TXN_LAST_HEARTBEAT": 0,
        "TXN_USER": table.owner,
        "TXN_HOST": "",
        "TXN_AGENT_INFO": None,
        "TXN_META_INFO": None,
        "TXN_TYPE": TxnType.DEFAULT.value,
    }
    aborted = {
        "TXN_STATE": TxnState.ABORTED.value,
        "TXN_META_INFO": str(AbortReason.ADOPTED.value),
    }
    connection.execute(insert(TXNS), [{"TXN_ID": first, **row}])
    for begin in range(0, len(uncounted), _BATCH):
        ids = list(enumerate(uncounted[begin : begin + _BATCH], first + 1 + begin))
        connection.execute(insert(TXNS), [{"TXN_ID": t, **row, **aborted} for t, _ in ids])
        connection.execute(
            insert(TXN_TO_WRITE_ID),
            [
                {
                    "T2W_TXNID": txn_id,
                    "T2W_DATABASE": table.name.database,
                    "T2W_TABLE": table.name.table,
                    "T2W_WRITEID": write_id,
                }
                for txn_id, write_id in ids
            ],
        )
        connection.execute(
            insert(TXN_COMPONENTS),
            [
                {
                    "TC_TXNID": txn_id,
                    "TC_DATABASE": table.name.database,
                    "TC_TABLE": table.name.table,
                    "TC_PARTITION": None,
                    "TC_OPERATION_TYPE": OperationType.INSERT.value,
                    "TC_WRITEID": write_id,
                }
                for txn_id, write_id in ids
            ],
        )
    store.set_highest_key(connection, TXNS, first + len(uncounted))


def _insert_bucketing(connection: Connection, table: Table) -> None:
    """Gives buckets to the storage of a table, and to those of its partitions."""
    assert table.bucketing is not None
    of_table = select(TBLS.c.SD_ID).where(TBLS.c.TBL_ID == table.table_id)
    of_partitions = select(PARTITIONS.c.SD_ID).where(PARTITIONS.c.TBL_ID == table.table_id)
    concerned = or_(SDS.c.SD_ID.in_(of_table), SDS.c.SD_ID.in_(of_partitions))
    ids = list(connection.scalars(select(SDS.c.SD_ID).where(concerned)))
    connection.execute(update(SDS).where(concerned).values(NUM_BUCKETS=table.bucketing.count))
    for sd_id in ids:
        insert_bucketing(connection, sd_id, table.bucketing)


def _forget_statistics(store: Store, connection: Connection, table: Table) -> None:
    """They are of what others had written when somebody last measured it."""
    forget_statistics(connection, table)
    partitions = read_partitions(connection, table.table_id, store.warehouse)
    names = [name_of(table, partition) for partition in partitions]
    ids = list(partition_ids(connection, table.table_id, names).values())
    for begin in range(0, len(ids), _BATCH):
        forget_columns_of_partitions(connection, ids[begin : begin + _BATCH])
    change_partitions(connection, ids, lambda _, __: {})
