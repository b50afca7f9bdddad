"""Compactions as rows of COMPACTION_QUEUE and COMPLETED_COMPACTIONS."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from acidsql.acid.ids import TxnId, WriteId
from acidsql.catalog.model import Partition, Table, TableName
from acidsql.catalog.partitions import name_of
from acidsql.errors import FormatError, MetastoreError
from acidsql.metastore.opening import ended_processes
from acidsql.metastore.rows.partitions import find_location
from acidsql.metastore.rows.tables import find_table
from acidsql.metastore.sql import (
    ColumnElement,
    Connection,
    Row,
    and_,
    delete,
    exists,
    insert,
    or_,
    select,
    update,
)
from acidsql.metastore.tables import (
    COMPACTION_QUEUE,
    COMPLETED_COMPACTIONS,
    COMPLETED_TXN_COMPONENTS,
    NEXT_COMPACTION_QUEUE_ID,
    TXNS,
)
from acidsql.processes import Process
from acidsql.txn.compactions import (
    Compaction,
    CompactionRequest,
    CompactionState,
    CompactionType,
)
from acidsql.txn.manager import TxnState

# ---- properties as one text
#
# Texts and their names in one text, as the metastore keeps the properties of a compaction:
# ``2:1:a2:bc1:d0:`` is {"a": "bc", "d": ""}. Hive: StringableMap.


def text_of(entries: Mapping[str, str]) -> str | None:
    """The text; None for no entries. Lengths are in characters."""
    if not entries:
        return None
    parts = (f"{len(part)}:{part}" for entry in entries.items() for part in entry)
    return f"{len(entries)}:{''.join(parts)}"


def entries_of(text: str | None) -> dict[str, str]:
    """The entries of a text, but for Hive's nulls. ValueError for another text."""
    if not text:
        return {}
    count, rest = _number(text)
    parts: list[str | None] = []
    for _ in range(2 * count):
        length, rest = _number(rest)
        if length > len(rest):
            raise ValueError(f"{length} characters are not there")
        parts.append(None if length < 0 else rest[:length])
        rest = rest[max(length, 0) :]
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return {name: value for name, value in pairs if name is not None and value is not None}


def _number(text: str) -> tuple[int, str]:
    """The number that a text begins with, and what is behind its colon."""
    digits, colon, rest = text.partition(":")
    if not colon:
        raise ValueError("a number has no colon behind it")
    return int(digits), rest


# ---- compactions


_CQ, _CC, _CTC = COMPACTION_QUEUE.c, COMPLETED_COMPACTIONS.c, COMPLETED_TXN_COMPONENTS.c
_KEPT = [
    column.name.removeprefix("CC_")
    for column in COMPLETED_COMPACTIONS.c
    if column.name.replace("CC_", "CQ_", 1) in COMPACTION_QUEUE.c
]
"""The facts of an entry that its history keeps, without their prefix."""

_FAILURES = (
    CompactionState.FAILED,
    CompactionState.DID_NOT_INITIATE,
    CompactionState.REFUSED,
)

Object = tuple[TableName, str | None]
"""A table, and the partition of it or None."""


# ---- the queue


def next_compaction_id(connection: Connection) -> int:
    number = NEXT_COMPACTION_QUEUE_ID.c.NCQ_NEXT
    compaction_id = connection.execute(select(number)).scalar_one()
    connection.execute(update(NEXT_COMPACTION_QUEUE_ID).values(NCQ_NEXT=number + 1))
    return int(compaction_id)


def insert_entry(
    connection: Connection, request: CompactionRequest, *, now: int, version: str
) -> int:
    """Stores an initiated entry; returns its id."""
    compaction_id = next_compaction_id(connection)
    row = _request_row("CQ", request, version) | {
        "CQ_ID": compaction_id,
        "CQ_STATE": CompactionState.INITIATED.value,
        "CQ_ENQUEUE_TIME": now,
        "CQ_CLEANING_ATTEMPTS": 0,
    }
    connection.execute(insert(COMPACTION_QUEUE), row)
    return compaction_id


def insert_note(
    connection: Connection,
    request: CompactionRequest,
    state: CompactionState,
    message: str,
    *,
    now: int,
    version: str,
) -> int:
    """Stores in the history what was never in the queue; returns its id."""
    compaction_id = next_compaction_id(connection)
    row = _request_row("CC", request, version) | {
        "CC_ID": compaction_id,
        "CC_STATE": state.value,
        "CC_ENQUEUE_TIME": now,
        "CC_END": now,
        "CC_ERROR_MESSAGE": message,
        "CC_CLEANING_ATTEMPTS": 0,
    }
    connection.execute(insert(COMPLETED_COMPACTIONS), row)
    return compaction_id


def find_entry(connection: Connection, compaction_id: int) -> Row[Any] | None:
    """A row of the queue."""
    return connection.execute(
        select(COMPACTION_QUEUE).where(_CQ.CQ_ID == compaction_id)
    ).one_or_none()


def find_entries(connection: Connection, *where: ColumnElement[bool]) -> Sequence[Row[Any]]:
    """Rows of the queue that meet all conditions, by id."""
    return connection.execute(select(COMPACTION_QUEUE).where(*where).order_by(_CQ.CQ_ID)).all()


def find_in_the_way(connection: Connection, request: CompactionRequest) -> Row[Any] | None:
    """The entry for which another of the same table or partition is not accepted."""
    rows = find_entries(connection, _of_object(request.table, request.partition))
    for row in rows:
        ready = row.CQ_STATE == CompactionState.READY_FOR_CLEANING
        if not ready or not _written_above(connection, row):
            return row
    return None


def _written_above(connection: Connection, row: Row[Any]) -> bool:
    """Whether something was committed to an entry's table or partition that it did not take in."""
    of_object = and_(
        _CTC.CTC_DATABASE == row.CQ_DATABASE,
        _CTC.CTC_TABLE == row.CQ_TABLE,
        or_(
            _CTC.CTC_PARTITION.is_not_distinct_from(row.CQ_PARTITION), _CTC.CTC_PARTITION.is_(None)
        ),
        _CTC.CTC_WRITEID > (row.CQ_HIGHEST_WRITE_ID or 0),
    )
    return bool(connection.scalar(select(exists().where(of_object))))


def change_entry(connection: Connection, compaction_id: int, **values: object) -> None:
    """Changes columns of an entry, named without their prefix."""
    connection.execute(
        update(COMPACTION_QUEUE)
        .where(_CQ.CQ_ID == compaction_id)
        .values({f"CQ_{name}": value for name, value in values.items()})
    )


def complete(
    connection: Connection,
    row: Row[Any],
    state: CompactionState,
    message: str | None,
    *,
    now: int,
) -> None:
    """Moves an entry into the history."""
    entry = row._asdict()
    facts = {f"CC_{name}": entry[f"CQ_{name}"] for name in _KEPT}
    end = {"CC_STATE": state.value, "CC_ERROR_MESSAGE": message, "CC_END": now}
    connection.execute(insert(COMPLETED_COMPACTIONS), facts | end)
    connection.execute(delete(COMPACTION_QUEUE).where(_CQ.CQ_ID == row.CQ_ID))


def forget_compactions(connection: Connection, table: TableName, partitions: Iterable[str]) -> None:
    """Deletes what is asked for, carried out and known of partitions."""
    for rows, prefix in ((COMPACTION_QUEUE, "CQ"), (COMPLETED_COMPACTIONS, "CC")):
        of_table = and_(
            rows.c[f"{prefix}_DATABASE"] == table.database, rows.c[f"{prefix}_TABLE"] == table.table
        )
        for partition in partitions:
            of_partition = rows.c[f"{prefix}_PARTITION"] == partition
            connection.execute(delete(rows).where(of_table, of_partition))


# ---- what was written


def forget_written(connection: Connection, row: Row[Any]) -> None:
    """Forgets which writes were committed that an entry has taken in."""
    connection.execute(
        delete(COMPLETED_TXN_COMPONENTS).where(
            _CTC.CTC_DATABASE == row.CQ_DATABASE,
            _CTC.CTC_TABLE == row.CQ_TABLE,
            _CTC.CTC_PARTITION.is_not_distinct_from(row.CQ_PARTITION),
            _CTC.CTC_WRITEID <= (row.CQ_HIGHEST_WRITE_ID or 0),
        )
    )


def find_written(connection: Connection, time: int) -> set[Object]:
    """The tables and partitions written to since, or not compacted though it was tried last."""
    written = connection.execute(
        select(_CTC.CTC_DATABASE, _CTC.CTC_TABLE, _CTC.CTC_PARTITION)
        .where(_CTC.CTC_TIMESTAMP >= time, _CTC.CTC_TABLE.is_not(None))
        .distinct()
    )
    newest: dict[Object, str] = {}
    for row in _history(connection):
        newest.setdefault(_object_of(row), row.CC_STATE)
    failed = (CompactionState.FAILED, CompactionState.DID_NOT_INITIATE)
    return {(TableName(row[0], row[1]), row[2]) for row in written} | {
        one for one, state in newest.items() if state in failed
    }


# ---- all of them


def read_compactions(connection: Connection) -> tuple[Compaction, ...]:
    """Every entry of the queue and of the history, by id."""
    queued = (_compaction("CQ", row) for row in find_entries(connection))
    over = (_compaction("CC", row) for row in _history(connection))
    return tuple(sorted((*queued, *over), key=lambda one: one.compaction_id))


def find_compaction(connection: Connection, compaction_id: int) -> Compaction | None:
    """The entry of this id, of the queue or of the history; None if there is none."""
    for prefix, table, of_id in (
        ("CQ", COMPACTION_QUEUE, _CQ.CQ_ID),
        ("CC", COMPLETED_COMPACTIONS, _CC.CC_ID),
    ):
        row = connection.execute(select(table).where(of_id == compaction_id)).one_or_none()
        if row is not None:
            return _compaction(prefix, row)
    return None


def find_states(
    connection: Connection, compaction_ids: Collection[int]
) -> dict[int, CompactionState]:
    """The states of those of these entries that there are."""
    of_queue = select(_CQ.CQ_ID, _CQ.CQ_STATE).where(_CQ.CQ_ID.in_(compaction_ids))
    of_history = select(_CC.CC_ID, _CC.CC_STATE).where(_CC.CC_ID.in_(compaction_ids))
    return {
        int(row[0]): CompactionState(row[1])
        for query in (of_queue, of_history)
        for row in connection.execute(query)
    }


def read_entry(row: Row[Any]) -> Compaction:
    """A row of the queue as what it says."""
    return _compaction("CQ", row)


def purge_history(
    connection: Connection, keep: Mapping[CompactionState, int], *, long_ago: int
) -> None:
    """Deletes history. ``keep``: how many of each state, for each table or partition; all of those
    that are not named. ``long_ago``: epoch milliseconds; what failed before then, and before a
    success that made up for it, goes too.
    """
    by_object: defaultdict[Object, list[Row[Any]]] = defaultdict(list)
    for row in _history(connection):
        by_object[_object_of(row)].append(row)
    superfluous = [one for rows in by_object.values() for one in _superfluous(rows, keep, long_ago)]
    if superfluous:
        connection.execute(delete(COMPLETED_COMPACTIONS).where(_CC.CC_ID.in_(superfluous)))


def _superfluous(
    rows: Iterable[Row[Any]], keep: Mapping[CompactionState, int], long_ago: int
) -> Iterator[int]:
    """The ids of what goes of one object's history, which is given newest first."""
    seen: Counter[CompactionState] = Counter()
    made_up_for: set[str] = set()
    for row in rows:
        state = CompactionState(row.CC_STATE)
        seen[state] += 1
        over = row.CC_TYPE in made_up_for and row.CC_END < long_ago
        if seen[state] > keep.get(state, seen[state]) or (state in _FAILURES and over):
            yield int(row.CC_ID)
        if state is CompactionState.SUCCEEDED:
            made_up_for |= {row.CC_TYPE}
            if row.CC_TYPE != CompactionType.MINOR:
                made_up_for |= set(CompactionType)


def _history(connection: Connection) -> Sequence[Row[Any]]:
    """The history, newest first."""
    return connection.execute(select(COMPLETED_COMPACTIONS).order_by(_CC.CC_ID.desc())).all()


def _object_of(row: Row[Any]) -> Object:
    return TableName(row.CC_DATABASE, row.CC_TABLE), row.CC_PARTITION


def _of_object(table: TableName, partition: str | None) -> ColumnElement[bool]:
    return and_(
        _CQ.CQ_DATABASE == table.database,
        _CQ.CQ_TABLE == table.table,
        _CQ.CQ_PARTITION.is_not_distinct_from(partition),
    )


def _request_row(prefix: str, request: CompactionRequest, version: str) -> dict[str, object]:
    return {
        f"{prefix}_DATABASE": request.table.database,
        f"{prefix}_TABLE": request.table.table,
        f"{prefix}_PARTITION": request.partition,
        f"{prefix}_TYPE": request.type.value,
        f"{prefix}_TBLPROPERTIES": text_of(request.properties),
        f"{prefix}_INITIATOR_ID": request.initiator,
        f"{prefix}_INITIATOR_VERSION": version,
        f"{prefix}_POOL_NAME": request.pool,
        f"{prefix}_NUMBER_OF_BUCKETS": request.buckets,
        f"{prefix}_ORDER_BY": request.order_by,
    }


def _compaction(prefix: str, row: Row[Any]) -> Compaction:
    fact = {name.removeprefix(f"{prefix}_"): value for name, value in row._asdict().items()}
    number, txn, next_txn = (fact[n] for n in ("HIGHEST_WRITE_ID", "TXN_ID", "NEXT_TXN_ID"))
    return Compaction(
        compaction_id=fact["ID"],
        request=CompactionRequest(
            table=TableName(fact["DATABASE"], fact["TABLE"]),
            partition=fact["PARTITION"],
            type=CompactionType(fact["TYPE"]),
            initiator=fact["INITIATOR_ID"],
            properties=_properties(fact["TBLPROPERTIES"]),
            pool=fact["POOL_NAME"],
            buckets=fact["NUMBER_OF_BUCKETS"],
            order_by=fact["ORDER_BY"],
        ),
        state=CompactionState(fact["STATE"]),
        enqueued=fact["ENQUEUE_TIME"],
        started=fact["START"],
        ended=fact.get("END"),
        worker=fact["WORKER_ID"],
        worker_version=fact["WORKER_VERSION"],
        initiator_version=fact["INITIATOR_VERSION"],
        highest_write_id=None if number is None else WriteId(number),
        txn_id=None if txn is None else TxnId(txn),
        next_txn_id=None if next_txn is None else TxnId(next_txn),
        committed=fact["COMMIT_TIME"],
        message=fact["ERROR_MESSAGE"],
        attempts=fact["CLEANING_ATTEMPTS"],
        retry_after=fact.get("RETRY_AFTER"),
        lease=fact.get("LEASE"),
    )


def _properties(text: str | None) -> dict[str, str]:
    """What CQ_TBLPROPERTIES says. FormatError for another text."""
    try:
        return entries_of(text)
    except ValueError as error:
        raise FormatError(f'"{text}" is not what a compaction says of its properties') from error


# ---- whose an entry is
#
# Whose an entry of the queue of compactions is: who takes it, gives it back, or has lost it.


_ENTRIES = COMPACTION_QUEUE.c


def find_free(
    connection: Connection, pool: str | None, only: int | None, *, now: int, unserved: int
) -> Row[Any] | None:
    """The next entry that a worker of ``pool`` may take: ``only`` that, if given, whosever it is.
    Who works for no pool takes those of a pool, too, that wait since before ``unserved``; epoch
    milliseconds.
    """
    of_pool = (
        or_(_ENTRIES.CQ_POOL_NAME.is_(None), _ENTRIES.CQ_ENQUEUE_TIME < unserved)
        if pool is None
        else _ENTRIES.CQ_POOL_NAME == pool
    )
    rows = find_entries(
        connection,
        _ENTRIES.CQ_STATE == CompactionState.INITIATED.value,
        of_pool if only is None else _ENTRIES.CQ_ID == only,
        or_(_ENTRIES.CQ_RETRY_AFTER.is_(None), _ENTRIES.CQ_RETRY_AFTER <= now),
    )
    return rows[0] if rows else None


def take_entry(
    connection: Connection, row: Row[Any], worker: str, *, host: str, now: int, version: str
) -> None:
    """Gives a free entry to this process, under a lease of its own."""
    change_entry(
        connection,
        row.CQ_ID,
        STATE=CompactionState.WORKING.value,
        WORKER_ID=worker,
        WORKER_VERSION=version,
        WORKER_HOST=host,
        AGENT_INFO=str(Process.current()),
        LAST_HEARTBEAT=now,
        LEASE=(row.CQ_LEASE or 0) + 1,
        START=now,
        RETRY_AFTER=None,
    )


def give_back(connection: Connection, compaction_id: int, *, retry_after: int | None) -> None:
    """Makes an entry what it was before a worker took it. ``retry_after``: nobody takes it before
    then; epoch milliseconds.
    """
    change_entry(
        connection,
        compaction_id,
        STATE=CompactionState.INITIATED.value,
        WORKER_ID=None,
        WORKER_VERSION=None,
        WORKER_HOST=None,
        AGENT_INFO=None,
        LAST_HEARTBEAT=None,
        START=None,
        TXN_ID=None,
        HIGHEST_WRITE_ID=None,
        RETRY_AFTER=retry_after,
    )


def require_entry(connection: Connection, compaction_id: int) -> Row[Any]:
    row = find_entry(connection, compaction_id)
    if row is None:
        raise MetastoreError(f"compaction {compaction_id} is not in the queue (any more)")
    return row


def require_own(connection: Connection, compaction_id: int, lease: int | None = None) -> Row[Any]:
    """An entry that this process works on, under this lease if one is given; MetastoreError for
    another.
    """
    row = require_entry(connection, compaction_id)
    own = row.CQ_AGENT_INFO == str(Process.current()) and lease in (None, row.CQ_LEASE)
    if row.CQ_STATE != CompactionState.WORKING or not own:
        raise MetastoreError(
            f"compaction {compaction_id} is not this worker's any more",
            detail=f"it is {CompactionState(row.CQ_STATE).words}",
        )
    return row


def require_ready(connection: Connection, compaction_id: int) -> Row[Any]:
    row = require_entry(connection, compaction_id)
    if row.CQ_STATE != CompactionState.READY_FOR_CLEANING:
        words = CompactionState(row.CQ_STATE).words
        raise MetastoreError(f"compaction {compaction_id} is {words}, not ready for cleaning")
    return row


def require_same(
    connection: Connection,
    row: Row[Any],
    table: Table,
    partition: Partition | None,
    warehouse: str,
) -> None:
    """Raises MetastoreError unless an entry is of this very table or partition, which is where it
    was: another may have its name by now, or its directory.
    """
    name = None if partition is None else name_of(table, partition)
    asked = (TableName(row.CQ_DATABASE, row.CQ_TABLE), row.CQ_PARTITION)
    stored = find_table(connection, table.name, warehouse)
    same = (
        stored is not None
        and (stored.table_id, stored.location) == (table.table_id, table.location)
        and asked == (table.name, name)
    )
    if same and partition is not None and name is not None:
        same = find_location(connection, table.table_id, name, warehouse) == partition.location
    if not same:
        what = table.name if name is None else f"{table.name} {name}"
        raise MetastoreError(f"{what} is not there any more, or not what it was")


def find_lost(
    connection: Connection, *, host: str, process: Process, cutoff: int, before_beginning: int
) -> list[Row[Any]]:
    """The entries whose worker is gone, as ``process`` on ``host`` sees it: its process has ended,
    its transaction is over, or it gave no sign of life since ``cutoff``, or since
    ``before_beginning`` where it has no transaction yet; epoch milliseconds.
    """
    rows = find_entries(connection, _ENTRIES.CQ_STATE == CompactionState.WORKING.value)
    agents = (row.CQ_AGENT_INFO for row in rows if row.CQ_WORKER_HOST == host)
    gone = ended_processes(agents, process)
    txn_ids = [row.CQ_TXN_ID for row in rows if row.CQ_TXN_ID is not None]
    is_open = TXNS.c.TXN_STATE == TxnState.OPEN.value
    still_open = set(
        connection.scalars(select(TXNS.c.TXN_ID).where(TXNS.c.TXN_ID.in_(txn_ids), is_open))
    )

    def is_lost(row: Row[Any]) -> bool:
        if row.CQ_WORKER_HOST == host and row.CQ_AGENT_INFO in gone:
            return True
        if row.CQ_TXN_ID is None:
            return bool(row.CQ_LAST_HEARTBEAT < before_beginning)
        return row.CQ_TXN_ID not in still_open or row.CQ_LAST_HEARTBEAT < cutoff

    return [row for row in rows if is_lost(row)]
