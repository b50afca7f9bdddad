"""Rows about the ACID directories that committed transactions and compactions have made, and that
nobody has taken away: what is on record of files, so that lost ones are missed.

They come with the statistics of a commit, and go before a cleaner removes what they speak of, with
their table or partition, and when other files lie there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from sqlalchemy import Connection, and_, bindparam, delete, insert, select

from acidsql.acid.ids import WriteId
from acidsql.acid.paths import base_name
from acidsql.catalog.model import Table, TableName
from acidsql.catalog.partitions import name_of
from acidsql.catalog.statistics import Filled, StatisticsChange, WrittenDirectory
from acidsql.metastore.tables import DBS, PARTITIONS, TBLS, WRITTEN_DIRECTORIES

_WD = WRITTEN_DIRECTORIES.c
_INSERT = insert(WRITTEN_DIRECTORIES)
_OF_TABLE = (
    select(PARTITIONS.c.PART_NAME, _WD.WD_DIRECTORY, _WD.WD_FILES, _WD.WD_BYTES)
    .join_from(
        WRITTEN_DIRECTORIES, PARTITIONS, PARTITIONS.c.PART_ID == _WD.WD_PART_ID, isouter=True
    )
    .where(_WD.WD_TBL_ID == bindparam("table"))
)
_FORGET_BASE = delete(WRITTEN_DIRECTORIES).where(
    _WD.WD_TBL_ID
    == select(TBLS.c.TBL_ID)
    .join_from(TBLS, DBS, DBS.c.DB_ID == TBLS.c.DB_ID)
    .where(DBS.c.NAME == bindparam("database"), TBLS.c.TBL_NAME == bindparam("table"))
    .scalar_subquery(),
    _WD.WD_DIRECTORY == bindparam("directory"),
)
_IS_THERE = select(TBLS.c.TBL_ID).where(TBLS.c.TBL_ID == bindparam("table"))


def insert_written(
    connection: Connection,
    table_id: int,
    changes: Iterable[StatisticsChange],
    ids: Mapping[str, int],
) -> None:
    """Stores the directories of changes of one table. ``ids``: of its partitions that are there, by
    their names; those of others are passed over.
    """
    rows = [
        {
            "WD_TBL_ID": table_id,
            "WD_PART_ID": None if partition is None else ids[partition],
            "WD_DIRECTORY": directory,
            "WD_FILES": filled.files,
            "WD_BYTES": filled.bytes,
        }
        for change in changes
        for partition in [_name(change)]
        if partition is None or partition in ids
        for directory, filled in change.directories.items()
    ]
    if rows and connection.execute(_IS_THERE, {"table": table_id}).first() is not None:
        connection.execute(_INSERT, rows)


def _name(change: StatisticsChange) -> str | None:
    return None if change.partition is None else name_of(change.table, change.partition)


def find_written(connection: Connection, table: Table) -> tuple[WrittenDirectory, ...]:
    """The directories on record of a table."""
    return tuple(
        WrittenDirectory(
            partition=row.PART_NAME,
            directory=row.WD_DIRECTORY,
            filled=Filled(row.WD_FILES, row.WD_BYTES),
        )
        for row in connection.execute(_OF_TABLE, {"table": table.table_id})
    )


def forget_written(
    connection: Connection,
    table_id: int,
    partition_id: int | None,
    directories: Collection[str] | None = None,
) -> None:
    """Forgets these directories of a table without partitions, or of one partition; None: all."""
    root = and_(_WD.WD_TBL_ID == table_id, _WD.WD_PART_ID.is_not_distinct_from(partition_id))
    if directories is None:
        connection.execute(delete(WRITTEN_DIRECTORIES).where(root))
    elif directories:
        named = _WD.WD_DIRECTORY == bindparam("name")
        connection.execute(
            delete(WRITTEN_DIRECTORIES).where(root, named),
            [{"name": directory} for directory in directories],
        )


def forget_base(connection: Connection, table: TableName, write_id: WriteId) -> None:
    """Forgets the base of a write id, in whatever partition of the table."""
    named = {"database": table.database, "table": table.table, "directory": base_name(write_id)}
    connection.execute(_FORGET_BASE, named)
