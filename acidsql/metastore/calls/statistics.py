"""Statistics in the embedded metastore: those of statements without a transaction, and what ANALYZE
has found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from acidsql.acid.ids import ValidWriteIdList
from acidsql.catalog import statistics
from acidsql.catalog.model import Column, Partition, Table
from acidsql.catalog.partitions import name_of
from acidsql.catalog.statistics import (
    Analyzed,
    ColumnStatistics,
    Parameters,
    StatisticsChange,
    WrittenDirectory,
)
from acidsql.errors import TableNotFoundError
from acidsql.metastore.calls.txns import find_valid_write_ids
from acidsql.metastore.rows.column_statistics import (
    forget_others,
    put_of_partition,
    put_of_table,
    read_of_partitions,
    read_of_table,
)
from acidsql.metastore.rows.statistics import (
    apply_changes,
    change_partitions,
    change_tables,
    partition_ids,
)
from acidsql.metastore.rows.txns import find_written, forget_written, valid_txns
from acidsql.metastore.sql import Connection, select
from acidsql.metastore.store import Store
from acidsql.metastore.tables import PART_COL_STATS, TAB_COL_STATS, TBLS


class EmbeddedStatistics:
    """Implements the part of Catalog that is about statistics."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def change_statistics(self, changes: Iterable[StatisticsChange]) -> None:
        with self._store.write() as connection:
            apply_changes(connection, changes)

    def written_directories(self, table: Table) -> tuple[WrittenDirectory, ...]:
        with self._store.read() as connection:
            return find_written(connection, table)

    def forget_written(
        self, table: Table, partition: Partition | None, directories: Collection[str]
    ) -> None:
        with self._store.write() as connection:
            names = [] if partition is None else [name_of(table, partition)]
            ids = list(partition_ids(connection, table.table_id, names).values())
            if partition is None or ids:
                part_id = ids[0] if ids else None
                forget_written(connection, table.table_id, part_id, directories)

    def put_statistics(
        self,
        table: Table,
        measured: Sequence[Analyzed],
        write_ids: ValidWriteIdList | None,
        *,
        outdated: bool = False,
    ) -> bool:
        with self._store.write() as connection:
            now = self._store.now(connection) // 1000
            if (
                connection.scalar(select(TBLS.c.TBL_ID).where(TBLS.c.TBL_ID == table.table_id))
                is None
            ):
                raise TableNotFoundError(f'table "{table.name}" was dropped meanwhile')
            fresh = write_ids is None or not _wrote_since(connection, table, write_ids)
            if not fresh and not outdated:
                return False
            if table.partition_columns:
                _put_partitions(connection, table, measured, fresh=fresh, now=now)
            else:
                for one in measured:

                    def change(
                        _: int, before: Parameters, one: Analyzed = one
                    ) -> Mapping[str, str]:
                        return _analyzed(before, one, fresh=fresh)

                    change_tables(connection, [table.table_id], change)
                    put_of_table(connection, table.table_id, one.columns, now=now)
            return True

    def forget_doubted_columns(self, table: Table, partition: Partition | None = None) -> None:
        held: dict[int, list[str]] = {}

        def look(owner: int, before: Parameters) -> Parameters:
            held[owner] = statistics.accurate_columns(before)
            return before

        with self._store.write() as connection:
            if partition is None:
                change_tables(connection, [table.table_id], look)
                forget_others(connection, TAB_COL_STATS, TAB_COL_STATS.c.TBL_ID, held)
            else:
                ids = partition_ids(connection, table.table_id, [name_of(table, partition)])
                change_partitions(connection, list(ids.values()), look)
                forget_others(connection, PART_COL_STATS, PART_COL_STATS.c.PART_ID, held)

    def list_column_statistics(
        self, table: Table, column: Column, partition: Partition | None = None
    ) -> tuple[ColumnStatistics, ...]:
        with self._store.read() as connection:
            if not table.partition_columns:
                return read_of_table(connection, table.table_id, column)
            name = None if partition is None else name_of(table, partition)
            return read_of_partitions(connection, table.table_id, column, name)


def _wrote_since(connection: Connection, table: Table, seen: ValidWriteIdList) -> bool:
    """Whether some write id of the table is committed now that was not ``seen``."""
    now = find_valid_write_ids(connection, table.name, valid_txns(connection, None))
    later = range(seen.high_watermark + 1, now.high_watermark + 1)
    return any(now.is_valid(write_id) for write_id in (*seen.open, *later))


def _put_partitions(
    connection: Connection, table: Table, measured: Sequence[Analyzed], *, fresh: bool, now: int
) -> None:
    """Puts the statistics of partitions; those dropped meanwhile are passed over."""
    named = {name_of(table, one.partition): one for one in measured if one.partition is not None}
    ids = partition_ids(connection, table.table_id, list(named))
    by_id: Mapping[int, Analyzed] = {part_id: named[name] for name, part_id in ids.items()}
    change_partitions(
        connection,
        list(by_id),
        lambda part_id, before: _analyzed(before, by_id[part_id], fresh=fresh),
    )
    for part_id, one in by_id.items():
        put_of_partition(connection, part_id, one.columns, now=now)


def _analyzed(before: Parameters, measured: Analyzed, *, fresh: bool) -> Mapping[str, str]:
    """The statistics after ANALYZE. What is not ``fresh`` replaces nothing that is
    known to hold.
    """
    if not fresh:
        return (
            before
            if statistics.is_accurate(before)
            else statistics.doubted(statistics.analyzed(before, measured))
        )
    return statistics.analyzed(before, measured)
