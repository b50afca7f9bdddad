"""Rows about what aborted transactions have left, until it is cleaned.

A transaction records what it writes to just before its files get their names. That record does not
wait for the disk: a process that dies does not take it along. A loss of power may; then the
machine's boot is another than that of the process, and files may lie anywhere in the table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from acidsql.acid.ids import TxnId, WriteId
from acidsql.catalog.model import TableName
from acidsql.metastore.locations import given_location, stored_location
from acidsql.metastore.rows.readers import delete_readers, registered
from acidsql.metastore.rows.txns import AbortReason, forget_base
from acidsql.metastore.sql import (
    Connection,
    Integer,
    Row,
    and_,
    bindparam,
    delete,
    exists,
    insert,
    not_,
    or_,
    select,
    true,
    update,
)
from acidsql.metastore.tables import (
    DIRECTORIES_TO_DELETE,
    KEPT_DIRECTORIES,
    READERS,
    TXN_COMPONENTS,
    TXN_TO_WRITE_ID,
    TXNS,
)
from acidsql.processes import Process
from acidsql.txn.leftovers import (
    OF_COMPACTION,
    AbortedWrite,
    NotedDirectory,
    RecordedWriteIds,
)
from acidsql.txn.manager import OperationType, TxnState

BY_ITSELF = frozenset(
    str(reason.value)
    for reason in (
        AbortReason.ROLLBACK,
        AbortReason.WRITE_CONFLICT,
        AbortReason.RENEWED,
        AbortReason.ADOPTED,
        AbortReason.COMPACTION_FAILED,
    )
)
"""TXN_META_INFO of transactions that were given up by those who had opened them."""

_TC = TXN_COMPONENTS.c
_STATE = select(TXNS.c.TXN_STATE).where(TXNS.c.TXN_ID == _TC.TC_TXNID).scalar_subquery()
_RECORDED = (
    select(
        _TC.TC_TXNID,
        _TC.TC_DATABASE,
        _TC.TC_TABLE,
        _TC.TC_PARTITION,
        _TC.TC_WRITEID,
    )
    .where(
        _STATE == TxnState.ABORTED.value,
        _TC.TC_TABLE.is_not(None),
        _TC.TC_WRITEID.is_not(None),
        _TC.TC_OPERATION_TYPE != OperationType.STRAY.value,
        or_(_TC.TC_OPERATION_TYPE != OperationType.COMPACT.value, _TC.TC_WRITEID == OF_COMPACTION),
    )
    .distinct()
    .order_by(_TC.TC_TXNID)
)

_FIRST = _RECORDED.limit(bindparam("limit", type_=Integer))


def find_aborted(
    connection: Connection, observer: Process, *, cutoff: int, long_ago: int, limit: int
) -> tuple[AbortedWrite, ...]:
    """The first aborted writes by transaction. ``cutoff``: who gave no sign of life since is
    late; ``long_ago``: writes nothing any more; epoch milliseconds.
    """
    rows = connection.execute(_FIRST, {"limit": limit}).all()
    if not rows:
        return ()
    of_rows = select(TXNS).where(TXNS.c.TXN_ID.in_({r.TC_TXNID for r in rows}))
    txns = {row.TXN_ID: row for row in connection.execute(of_rows)}
    return tuple(
        _aborted_write(row, txns[row.TC_TXNID], observer, cutoff, long_ago) for row in rows
    )


def _aborted_write(
    row: Any, txn: Row[Any], observer: Process, cutoff: int, long_ago: int
) -> AbortedWrite:
    process = Process.parse(txn.TXN_AGENT_INFO)
    gone = process is not None and process.is_gone(observer)
    beat = txn.TXN_LAST_HEARTBEAT
    is_over = gone or txn.TXN_META_INFO in BY_ITSELF or beat < long_ago
    return AbortedWrite(
        txn_id=TxnId(row.TC_TXNID),
        table=TableName(row.TC_DATABASE, row.TC_TABLE),
        partition=row.TC_PARTITION,
        write_id=WriteId(row.TC_WRITEID),
        is_over=is_over,
        is_long_over=is_over and beat < cutoff,
        record_is_whole=process is not None and process.is_of_boot(observer),
    )


def recorded(connection: Connection, writes: Collection[AbortedWrite]) -> tuple[AbortedWrite, ...]:
    """The ones of ``writes`` that are still on record, under the names their tables have."""
    wanted = {write.txn_id for write in writes}
    rows = connection.execute(_RECORDED.where(_TC.TC_TXNID.in_(wanted)))
    known = {(r.TC_TXNID, r.TC_DATABASE, r.TC_TABLE, r.TC_PARTITION, r.TC_WRITEID) for r in rows}
    return tuple(
        w
        for w in writes
        if (w.txn_id, w.table.database, w.table.table, w.partition, w.write_id) in known
    )


def forget(connection: Connection, writes: Sequence[AbortedWrite]) -> None:
    """Deletes what is on record of these writes; with the last of a transaction on a table goes its
    write id. The transaction's own row is left to house-keeping.

    A compaction puts a base under a write id of its own on record before it is committed: from now
    on nothing would tell that it was aborted, and the base would be missed.
    """
    for write in recorded(connection, writes):
        of_table = and_(
            _TC.TC_TXNID == write.txn_id,
            _TC.TC_DATABASE == write.table.database,
            _TC.TC_TABLE == write.table.table,
        )
        connection.execute(
            delete(TXN_COMPONENTS).where(
                of_table,
                _TC.TC_PARTITION.is_not_distinct_from(write.partition),
                _TC.TC_WRITEID == write.write_id,
                _TC.TC_OPERATION_TYPE != OperationType.STRAY.value,
            )
        )
        forget_base(connection, write.table, write.write_id)
        t2w = TXN_TO_WRITE_ID.c
        connection.execute(
            delete(TXN_TO_WRITE_ID).where(
                t2w.T2W_TXNID == write.txn_id,
                t2w.T2W_DATABASE == write.table.database,
                t2w.T2W_TABLE == write.table.table,
                ~exists().where(of_table),
            )
        )


def find_recorded(
    connection: Connection, table: TableName, purged_below: TxnId
) -> RecordedWriteIds | None:
    """The write ids of a table that are on record. ``purged_below``: records of committed
    transactions below it are deleted.
    """
    t2w = TXN_TO_WRITE_ID.c
    rows = connection.execute(
        select(t2w.T2W_WRITEID, t2w.T2W_TXNID).where(
            t2w.T2W_DATABASE == table.database, t2w.T2W_TABLE == table.table
        )
    ).all()
    kept = [row.T2W_WRITEID for row in rows if row.T2W_TXNID >= purged_below]
    if not kept:
        return None
    return RecordedWriteIds(
        since=WriteId(min(kept)),
        ids=frozenset(WriteId(row.T2W_WRITEID) for row in rows),
        is_certain=not purged_below,
    )


def mark_txn_stray(connection: Connection, txn_id: TxnId) -> None:
    """Does ``mark_stray`` for all that one aborted transaction has on record."""
    connection.execute(
        update(TXN_COMPONENTS)
        .where(_TC.TC_TXNID == txn_id, _STATE == TxnState.ABORTED.value)
        .values(TC_OPERATION_TYPE=OperationType.STRAY.value)
    )


def mark_stray(
    connection: Connection, table: TableName, partitions: Collection[str] | None = None
) -> None:
    """Notes that what aborted transactions have left in a table, or in these partitions of it, lies
    where nobody will look for it: so it is never forgotten that their write ids were aborted.
    """
    aborted = select(TXNS.c.TXN_ID).where(TXNS.c.TXN_STATE == TxnState.ABORTED.value)
    if partitions is not None and not partitions:
        return
    concerned = (
        true()
        if partitions is None
        else or_(_TC.TC_PARTITION.in_(partitions), _TC.TC_PARTITION.is_(None))
    )
    connection.execute(
        update(TXN_COMPONENTS)
        .where(
            _TC.TC_DATABASE == table.database,
            _TC.TC_TABLE == table.table,
            _TC.TC_TXNID.in_(aborted),
            concerned,
        )
        .values(TC_OPERATION_TYPE=OperationType.STRAY.value)
    )


# ---- directories that are to go


_DD = DIRECTORIES_TO_DELETE.c
_ALL = select(DIRECTORIES_TO_DELETE).order_by(_DD.DD_ID)
_ANY = select(_DD.DD_ID).limit(1)


def insert_directories(
    connection: Connection, locations: Iterable[str], warehouse: str, *, now: int
) -> None:
    """Notes directories that the current process will delete, or is to have deleted should it
    die.
    """
    _insert(connection, [(one, None) for one in locations], warehouse, now)


def insert_moves(
    connection: Connection, moves: Mapping[str, str], warehouse: str, *, now: int
) -> None:
    """Notes directories that the current process moves, each from the second place to the first."""
    _insert(connection, moves.items(), warehouse, now)


def _insert(
    connection: Connection, moves: Iterable[tuple[str, str | None]], warehouse: str, now: int
) -> None:
    agent = str(Process.current())
    rows = [
        {
            "DD_LOCATION": stored_location(location, warehouse),
            "DD_MOVED_FROM": moved_from and stored_location(moved_from, warehouse),
            "DD_AGENT_INFO": agent,
            "DD_TIME": now,
        }
        for location, moved_from in moves
    ]
    if rows:
        connection.execute(insert(DIRECTORIES_TO_DELETE), rows)


def delete_directories(connection: Connection, locations: Iterable[str], warehouse: str) -> None:
    """Forgets directories: they are gone, or somebody uses them now."""
    stored = [stored_location(one, warehouse) for one in locations]
    connection.execute(delete(DIRECTORIES_TO_DELETE).where(_DD.DD_LOCATION.in_(stored)))


def is_directory_noted(connection: Connection, location: str, warehouse: str) -> bool:
    """Whether a directory is noted, by a process that lives or by another."""
    stored = stored_location(location, warehouse)
    noted = select(_DD.DD_ID).where(_DD.DD_LOCATION == stored, _DD.DD_MOVED_FROM.is_(None))
    return connection.execute(noted.limit(1)).first() is not None


def any_directories(connection: Connection) -> bool:
    """Whether any is noted."""
    return connection.execute(_ANY).first() is not None


def find_directories(
    connection: Connection,
    warehouse: str,
    observer: Process,
    *,
    long_ago: int,
    late: int,
    one_host: bool,
    kept: Mapping[str, bool],
) -> tuple[NotedDirectory, ...]:
    """The directories whose process is gone. ``long_ago``: of a process that cannot be seen from
    here, those noted before; ``late``: moves noted before, whose process may stand still; epoch
    milliseconds. ``one_host``: none runs on another machine.
    ``kept``: whether those that are kept for readers still have some, by their stored locations:
    nothing else decides of them.
    """
    noted: dict[NotedDirectory, None] = {}
    for row in connection.execute(_ALL):
        is_over = (
            not kept[row.DD_LOCATION]
            if row.DD_LOCATION in kept
            else _is_left(
                Process.parse(row.DD_AGENT_INFO),
                observer,
                is_old=row.DD_TIME < long_ago,
                one_host=one_host,
            )
        )
        if is_over or (row.DD_MOVED_FROM is not None and row.DD_TIME < late):
            one = NotedDirectory(
                location=given_location(row.DD_LOCATION, warehouse),
                moved_from=row.DD_MOVED_FROM and given_location(row.DD_MOVED_FROM, warehouse),
                is_over=is_over,
            )
            noted[one] = None
    return tuple(noted)


def _is_left(process: Process | None, observer: Process, *, is_old: bool, one_host: bool) -> bool:
    """Whether nobody is at it any more. Where all processes run on one machine, what another boot
    of it has left is nobody's; else another boot is another machine's.
    """
    if process is None:
        return is_old
    if process.machine and process.machine == observer.machine:
        return process.is_gone(observer)
    rebooted = bool(process.boot and observer.boot) and not process.is_of_boot(observer)
    return is_old or (one_host and rebooted)


# ---- directories that are kept
#
# Directories that others have moved away from their readers: where they are now, and for whom. Of
# what was dropped a directory is one of DIRECTORIES_TO_DELETE all the time: by its old place until
# it is moved away, then by its hidden one.


_KD = KEPT_DIRECTORIES.c
_OF_READER = (
    select(_KD.KD_READ_AT, _KD.KD_LOCATION)
    .where(_KD.KD_READER == bindparam("reader"))
    .order_by(_KD.KD_ID)
)
_ALL_KEPT = select(KEPT_DIRECTORIES).order_by(_KD.KD_ID)


def keep_at(
    connection: Connection,
    kept: Mapping[str, str],
    readers: Collection[int],
    warehouse: str,
    *,
    moved: bool,
) -> None:
    """Notes for whom directories are kept. ``kept``: where each was, by where it is to be, or is
    already, if they are ``moved``.
    """
    if not readers or not kept:
        return
    _purge(connection)
    known = connection.execute(_ALL_KEPT).all()
    rows = []
    for new, old in (
        (stored_location(n, warehouse), stored_location(o, warehouse)) for n, o in kept.items()
    ):
        looked_for = {(reader, old) for reader in readers}
        for row in known:  # it was moved before
            if row.KD_READER in readers and f"{old}/".startswith(f"{row.KD_LOCATION}/"):
                looked_for.add((row.KD_READER, row.KD_READ_AT + old.removeprefix(row.KD_LOCATION)))
        rows += [
            {"KD_LOCATION": new, "KD_READ_AT": at, "KD_READER": reader, "KD_MOVED": moved}
            for reader, at in sorted(looked_for)
        ]
    connection.execute(insert(KEPT_DIRECTORIES), rows)


def _purge(connection: Connection) -> None:
    """Forgets what nobody reads any more of tables and partitions that live on elsewhere."""
    noted = select(_DD.DD_LOCATION)
    living = select(READERS.c.RD_ID)
    gone = and_(_KD.KD_LOCATION.not_in(noted), _KD.KD_READER.not_in(living), _KD.KD_MOVED)
    connection.execute(delete(KEPT_DIRECTORIES).where(gone))


def find_kept(connection: Connection, reader_id: int, warehouse: str) -> dict[str, str]:
    """Where what a reader reads is kept, by where that was; the last such place of each."""
    rows = connection.execute(_OF_READER, {"reader": reader_id})
    return {
        given_location(row.KD_READ_AT, warehouse): given_location(row.KD_LOCATION, warehouse)
        for row in rows
    }


def find_hidden_names(
    connection: Connection, locations: Collection[str], warehouse: str
) -> dict[str, str]:
    """The hidden names that directories are to have which were not moved yet, by their places."""
    wanted = {stored_location(one, warehouse): one for one in locations}
    return {
        wanted[row.KD_READ_AT]: given_location(row.KD_LOCATION, warehouse)
        for row in connection.execute(_ALL_KEPT.where(not_(_KD.KD_MOVED)))
        if row.KD_READ_AT in wanted
    }


def kept_locations(connection: Connection, dead: Collection[int] = ()) -> dict[str, bool]:
    """The stored locations of all kept directories, and whether anybody who is not ``dead`` still
    reads them.
    """
    rows = connection.execute(_ALL_KEPT).all()
    living = registered(connection, [row.KD_READER for row in rows]).difference(dead)
    kept: dict[str, bool] = {}
    for row in rows:
        kept[row.KD_LOCATION] = kept.get(row.KD_LOCATION, False) or row.KD_READER in living
    return kept


def move_kept(connection: Connection, old: str, new: str, warehouse: str) -> None:
    """Follows a directory that has got another place, with all that is kept below it."""
    before, after = stored_location(old, warehouse), stored_location(new, warehouse)
    arrived = update(KEPT_DIRECTORIES).where(_KD.KD_LOCATION == after)
    connection.execute(arrived.values(KD_MOVED=True))
    for table, column in (
        (KEPT_DIRECTORIES, "KD_LOCATION"),
        (DIRECTORIES_TO_DELETE, "DD_LOCATION"),
    ):
        for location in set(connection.scalars(select(table.c[column]))):
            if location.startswith(f"{before}/"):
                of_this = update(table).where(table.c[column] == location)
                moved = {column: after + location.removeprefix(before)}
                connection.execute(of_this.values(moved))


def forget_kept(connection: Connection, locations: Collection[str], warehouse: str) -> list[str]:
    """Forgets directories, but for those that somebody reads; returns the ones forgotten."""
    kept = kept_locations(connection)
    stored = {stored_location(one, warehouse): one for one in locations}
    forgotten = [one for one in stored if not kept.get(one)]
    if not kept.keys().isdisjoint(forgotten):
        connection.execute(delete(KEPT_DIRECTORIES).where(_KD.KD_LOCATION.in_(forgotten)))
    return [stored[one] for one in forgotten]


def lose_kept(connection: Connection, hidden: Collection[str], warehouse: str) -> None:
    """Gives up those for whom directories should have been kept that cannot be."""
    stored = [stored_location(one, warehouse) for one in hidden]
    of_these = _KD.KD_LOCATION.in_(stored)
    delete_readers(connection, set(connection.scalars(select(_KD.KD_READER).where(of_these))))
    forget_kept(connection, hidden, warehouse)
