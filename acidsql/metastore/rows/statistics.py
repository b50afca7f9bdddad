"""Statistics of tables and partitions as rows of TABLE_PARAMS and PARTITION_PARAMS, beside the
properties, which these functions leave alone.

Every change reads the numbers and writes them again under the store's write lock: of two that
commit at once neither is lost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

from acidsql.batched import batched
from acidsql.catalog import statistics
from acidsql.catalog.model import Partition
from acidsql.catalog.model import Table as Stored
from acidsql.catalog.partitions import name_of
from acidsql.catalog.statistics import KEYS, Parameters, StatisticsChange
from acidsql.lazy import dataclass
from acidsql.metastore.rows.column_statistics import (
    forget_columns,
    forget_columns_of_partitions,
    forget_columns_of_table,
)
from acidsql.metastore.rows.txns import forget_written, insert_written
from acidsql.metastore.sql import (
    Column,
    Connection,
    Delete,
    Insert,
    Select,
    Table,
    Update,
    and_,
    bindparam,
    delete,
    insert,
    select,
    update,
)
from acidsql.metastore.tables import PARTITION_PARAMS, PARTITIONS, TABLE_PARAMS, TBLS

BATCH = 500
"""The most ids in one IN list."""

Change = Callable[[int, Parameters], Mapping[str, str]]
"""What becomes of the statistics of the table or partition with this id."""


def apply_changes(connection: Connection, changes: Iterable[StatisticsChange]) -> None:
    """Applies changes of statistics, with the directories they speak of; tables and partitions that
    are there no more are passed over.
    """
    of_table: defaultdict[int, list[StatisticsChange]] = defaultdict(list)
    of_partition: defaultdict[int, list[StatisticsChange]] = defaultdict(list)
    for table_id, group in groupby(sorted(changes, key=_table_id), key=_table_id):
        of_one = list(group)
        ids = record_directories(connection, table_id, of_one)
        for change in of_one:
            name = change.partition_name
            if name is None:
                of_table[table_id].append(change)
            elif name in ids:
                of_partition[ids[name]].append(change)
    change_tables(
        connection, list(of_table), lambda table_id, before: _after(before, of_table[table_id])
    )
    change_partitions(
        connection,
        list(of_partition),
        lambda part_id, before: _after(before, of_partition[part_id]),
    )


def record_directories(
    connection: Connection, table_id: int, changes: Sequence[StatisticsChange]
) -> Mapping[str, int]:
    """Puts the directories of changes of one table on record; returns the ids of the partitions
    that these are of, by name.
    """
    names = [name for change in changes if (name := change.partition_name) is not None]
    ids = partition_ids(connection, table_id, names)
    insert_written(connection, table_id, changes, ids)
    return ids


def _after(before: Parameters, changes: Iterable[StatisticsChange]) -> Parameters:
    for change in changes:
        before = statistics.changed(before, change)
    return before


def _table_id(change: StatisticsChange) -> int:
    return change.table.table_id


def partition_ids(connection: Connection, table_id: int, names: Sequence[str]) -> dict[str, int]:
    """The ids of the partitions of these names that exist, by name."""
    ids: dict[str, int] = {}
    for batch in batched(names, BATCH):
        rows = connection.execute(_PARTITION_IDS, {"table": table_id, "names": batch})
        ids |= {row.PART_NAME: row.PART_ID for row in rows}
    return ids


def change_tables(connection: Connection, table_ids: Sequence[int], change: Change) -> None:
    _change(connection, _OF_TABLES, table_ids, change)


def change_partitions(connection: Connection, part_ids: Sequence[int], change: Change) -> None:
    _change(connection, _OF_PARTITIONS, part_ids, change)


def change_all(
    connection: Connection, table_id: int, change: Callable[[Parameters], Mapping[str, str]]
) -> None:
    """Changes the statistics of a table and of all its partitions."""
    parts = connection.scalars(
        select(PARTITIONS.c.PART_ID).where(PARTITIONS.c.TBL_ID == table_id)
    ).all()
    change_tables(connection, [table_id], lambda _, before: change(before))
    change_partitions(connection, parts, lambda _, before: change(before))


def alter_statistics(connection: Connection, before: Stored, after: Stored) -> None:
    """Changes statistics after ALTER TABLE: other files are other numbers, and a column of another
    type or name has none.

    When a table becomes transactional nobody knows whether a plain INSERT was under way.
    """
    if after.location != before.location:
        forget_statistics(connection, after)
    if after.is_transactional != before.is_transactional:
        change_all(connection, after.table_id, statistics.doubted)
    kept = [
        column
        for column in after.columns
        if any((column.name, column.type) == (old.name, old.type) for old in before.columns)
    ]
    if len(kept) < len(before.columns):
        names = {column.name for column in kept}
        forget_columns(connection, after.table_id, kept)
        change_all(connection, after.table_id, lambda held: statistics.only_columns(held, names))


def forget_statistics(
    connection: Connection, table: Stored, partition: Partition | None = None
) -> None:
    """Deletes the statistics of a table (not of its partitions) or of one partition, and of their
    columns."""
    if partition is None:
        forget_columns_of_table(connection, table.table_id)
        change_tables(connection, [table.table_id], lambda _, __: {})
        forget_written(connection, table.table_id, None)
    else:
        ids = list(partition_ids(connection, table.table_id, [name_of(table, partition)]).values())
        forget_columns_of_partitions(connection, ids)
        change_partitions(connection, ids, lambda _, __: {})
        for part_id in ids:
            forget_written(connection, table.table_id, part_id)


# ---- rows


@dataclass(frozen=True, slots=True)
class _Statements:
    """The statements on the parameters of tables, or of partitions; built once, so that the store
    need not compile them anew.
    """

    read: Select[int, str | None, str | None]
    put: Update
    drop: Delete
    insert: Insert
    key: str


def _statements(owner: Column[int], params: Table, key: Column[int]) -> _Statements:
    held = and_(key == owner, params.c.PARAM_KEY.in_(sorted(KEYS)))
    of_owner = and_(key == bindparam("owner"), params.c.PARAM_KEY == bindparam("name"))
    read = select(owner, params.c.PARAM_KEY, params.c.PARAM_VALUE).join_from(
        owner.table, params, held, isouter=True
    )
    return _Statements(
        read=read.where(owner.in_(bindparam("owners", expanding=True))),
        put=update(params).where(of_owner).values(PARAM_VALUE=bindparam("text")),
        drop=delete(params).where(of_owner),
        insert=insert(params),
        key=key.name,
    )


_PARTITION_IDS = select(PARTITIONS.c.PART_NAME, PARTITIONS.c.PART_ID).where(
    PARTITIONS.c.TBL_ID == bindparam("table"),
    PARTITIONS.c.PART_NAME.in_(bindparam("names", expanding=True)),
)
_OF_TABLES = _statements(TBLS.c.TBL_ID, TABLE_PARAMS, TABLE_PARAMS.c.TBL_ID)
_OF_PARTITIONS = _statements(PARTITIONS.c.PART_ID, PARTITION_PARAMS, PARTITION_PARAMS.c.PART_ID)


def _change(
    connection: Connection, statements: _Statements, ids: Sequence[int], change: Change
) -> None:
    for batch in batched(ids, BATCH):
        by_owner: dict[int, dict[str, str]] = {}
        for owner, name, text in connection.execute(statements.read, {"owners": batch}):
            of_owner = by_owner.setdefault(owner, {})
            if name is not None:
                of_owner[name] = text or ""
        _write(
            connection,
            statements,
            {owner: (before, change(owner, before)) for owner, before in by_owner.items()},
        )


def _write(
    connection: Connection,
    statements: _Statements,
    changes: Mapping[int, tuple[Parameters, Parameters]],
) -> None:
    """Writes what differs between the parameters before and after, for each owner."""
    put, new, gone = [], [], []
    for owner, (before, after) in changes.items():
        gone += [{"owner": owner, "name": name} for name in before.keys() - after.keys()]
        for name, text in after.items():
            if name not in before:
                new.append({statements.key: owner, "PARAM_KEY": name, "PARAM_VALUE": text})
            elif before[name] != text:
                put.append({"owner": owner, "name": name, "text": text})
    for statement, rows in (
        (statements.put, put),
        (statements.drop, gone),
        (statements.insert, new),
    ):
        if rows:
            connection.execute(statement, rows)
