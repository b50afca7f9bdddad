"""Statistics of columns as rows of TAB_COL_STATS and PART_COL_STATS, and back.

Whole numbers, days and seconds lie in the LONG columns, DECIMAL as text in the BIG_DECIMAL ones, as
in Hive's metastore.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from acidsql.catalog.model import Column
from acidsql.catalog.statistics import ColumnStatistics
from acidsql.metastore.sql import Column as SqlColumn
from acidsql.metastore.sql import (
    Connection,
    Row,
    Select,
    and_,
    delete,
    false,
    insert,
    not_,
    or_,
    select,
)
from acidsql.metastore.sql import Table as SqlTable
from acidsql.metastore.tables import PART_COL_STATS, PARTITIONS, TAB_COL_STATS

_KINDS = {int: "LONG", float: "DOUBLE", Decimal: "BIG_DECIMAL"}


def put_of_table(
    connection: Connection, table_id: int, columns: Sequence[ColumnStatistics], *, now: int
) -> None:
    """Stores statistics of columns instead of what is known of them. ``now``: in seconds, here and
    below.
    """
    _put(connection, TAB_COL_STATS, TAB_COL_STATS.c.TBL_ID, table_id, columns, now)


def put_of_partition(
    connection: Connection, part_id: int, columns: Sequence[ColumnStatistics], *, now: int
) -> None:
    _put(connection, PART_COL_STATS, PART_COL_STATS.c.PART_ID, part_id, columns, now)


def read_of_table(
    connection: Connection, table_id: int, column: Column
) -> tuple[ColumnStatistics, ...]:
    """The statistics of one column of a table: one, or none."""
    of_table = select(TAB_COL_STATS).where(
        TAB_COL_STATS.c.TBL_ID == table_id, TAB_COL_STATS.c.COLUMN_NAME == column.name
    )
    return _read(connection, of_table, column)


def read_of_partitions(
    connection: Connection, table_id: int, column: Column, name: str | None
) -> tuple[ColumnStatistics, ...]:
    """A column's statistics in every partition that has any, or in the one of this name."""
    of_partition = (
        select(PART_COL_STATS)
        .join(PARTITIONS, PARTITIONS.c.PART_ID == PART_COL_STATS.c.PART_ID)
        .where(PARTITIONS.c.TBL_ID == table_id, PART_COL_STATS.c.COLUMN_NAME == column.name)
        .order_by(PARTITIONS.c.PART_NAME)
    )
    return _read(
        connection,
        of_partition if name is None else of_partition.where(PARTITIONS.c.PART_NAME == name),
        column,
    )


def forget_columns(connection: Connection, table_id: int, kept: Iterable[Column]) -> None:
    """Deletes statistics of a table and its partitions on columns that are not there any more, or
    have another type.
    """
    columns = list(kept)

    def gone(stats: SqlTable) -> Any:
        return not_(
            or_(
                false(),
                *(
                    and_(stats.c.COLUMN_NAME == c.name, stats.c.COLUMN_TYPE == str(c.type))
                    for c in columns
                ),
            )
        )

    parts = select(PARTITIONS.c.PART_ID).where(PARTITIONS.c.TBL_ID == table_id)
    connection.execute(
        delete(TAB_COL_STATS).where(TAB_COL_STATS.c.TBL_ID == table_id, gone(TAB_COL_STATS))
    )
    connection.execute(
        delete(PART_COL_STATS).where(PART_COL_STATS.c.PART_ID.in_(parts), gone(PART_COL_STATS))
    )


def forget_others(
    connection: Connection, stats: SqlTable, key: SqlColumn[int], kept: Mapping[int, Sequence[str]]
) -> None:
    """Deletes the statistics of these tables or partitions but for those on the ``kept`` columns of
    each.
    """
    for owner, names in kept.items():
        connection.execute(delete(stats).where(key == owner, stats.c.COLUMN_NAME.not_in(names)))


def forget_columns_of_table(connection: Connection, table_id: int) -> None:
    connection.execute(delete(TAB_COL_STATS).where(TAB_COL_STATS.c.TBL_ID == table_id))


def forget_columns_of_partitions(connection: Connection, part_ids: Sequence[int]) -> None:
    connection.execute(delete(PART_COL_STATS).where(PART_COL_STATS.c.PART_ID.in_(part_ids)))


def _put(
    connection: Connection,
    stats: SqlTable,
    key: SqlColumn[int],
    owner: int,
    columns: Sequence[ColumnStatistics],
    now: int,
) -> None:
    if not columns:
        return
    connection.execute(
        delete(stats).where(
            key == owner, stats.c.COLUMN_NAME.in_([one.column.name for one in columns])
        )
    )
    connection.execute(
        insert(stats), [{key.name: owner, "LAST_ANALYZED": now, **_row(one)} for one in columns]
    )


def _row(one: ColumnStatistics) -> dict[str, object]:
    ends: dict[str, object] = {
        f"{kind}_{end}_VALUE": None for kind in _KINDS.values() for end in ("LOW", "HIGH")
    }
    for end, value in (("LOW", one.low), ("HIGH", one.high)):
        if value is not None:
            ends[f"{_KINDS[type(value)]}_{end}_VALUE"] = (
                str(value) if isinstance(value, Decimal) else value
            )
    return ends | {
        "COLUMN_NAME": one.column.name,
        "COLUMN_TYPE": str(one.column.type),
        "NUM_NULLS": one.nulls,
        "NUM_DISTINCTS": one.distinct,
        "AVG_COL_LEN": one.average_length,
        "MAX_COL_LEN": one.longest,
        "NUM_TRUES": one.trues,
        "NUM_FALSES": one.falses,
    }


def _read(
    connection: Connection, query: Select[*tuple[Any, ...]], column: Column
) -> tuple[ColumnStatistics, ...]:
    return tuple(
        ColumnStatistics(
            column=column,
            nulls=row.NUM_NULLS,
            distinct=row.NUM_DISTINCTS,
            low=_end(row, "LOW"),
            high=_end(row, "HIGH"),
            average_length=row.AVG_COL_LEN,
            longest=row.MAX_COL_LEN,
            trues=row.NUM_TRUES,
            falses=row.NUM_FALSES,
        )
        for row in connection.execute(query)
    )


def _end(row: Row[*tuple[Any, ...]], end: str) -> int | float | Decimal | None:
    for kind in _KINDS.values():
        value: Any = getattr(row, f"{kind}_{end}_VALUE")
        if value is not None:
            return Decimal(value) if kind == "BIG_DECIMAL" else value
    return None
