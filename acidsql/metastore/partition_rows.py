"""The partitions of a table as rows of PARTITIONS, PARTITION_KEY_VALS, PARTITION_PARAMS and SDS, and back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from sqlalchemy import BigInteger, Connection, bindparam, insert, select

from acidsql.catalog.model import Partition, Table
from acidsql.catalog.partitions import partition_name
from acidsql.errors import AlreadyExistsError
from acidsql.metastore.locations import given_location
from acidsql.metastore.storage_rows import insert_storage
from acidsql.metastore.store import insert_row
from acidsql.metastore.tables import PARTITION_KEY_VALS, PARTITION_PARAMS, PARTITIONS, SDS, TBLS

PARTITION_EXISTS = 10118


def insert_partitions(connection: Connection, table: Table, partitions: Iterable[Partition], warehouse: str) -> None:
    """Of a stored table. AlreadyExistsError if one of them is there."""
    cd_id = connection.scalar(_COLUMNS_OF_TABLE, {"id": table.table_id})
    keys = [c.name for c in table.partition_columns]
    for partition in partitions:
        name = partition_name(keys, partition.values)
        if connection.scalar(_BY_NAME, {"id": table.table_id, "name": name}) is not None:
            raise AlreadyExistsError(f"Partition already exists: {table.name} {name}", code=PARTITION_EXISTS)
        place = replace(table, location=partition.location)
        part_id = insert_row(
            connection,
            PARTITIONS,
            TBL_ID=table.table_id,
            SD_ID=insert_storage(connection, place, cd_id or 0, warehouse),
            PART_NAME=name,
            CREATE_TIME=partition.created_at,
        )
        values = [{"PART_ID": part_id, "INTEGER_IDX": i, "PART_KEY_VAL": value} for i, value in enumerate(partition.values)]
        connection.execute(insert(PARTITION_KEY_VALS), values)
        params = [{"PART_ID": part_id, "PARAM_KEY": k, "PARAM_VALUE": v} for k, v in partition.properties.items()]
        if params:
            connection.execute(insert(PARTITION_PARAMS), params)


def read_partitions(connection: Connection, table_id: int, warehouse: str) -> tuple[Partition, ...]:
    """By name."""
    values: defaultdict[int, list[str]] = defaultdict(list)
    for part_id, value in connection.execute(_VALUES, {"id": table_id}):
        values[part_id].append(value)
    params: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for part_id, key, value in connection.execute(_PARAMS, {"id": table_id}):
        params[part_id][key] = value
    return tuple(
        Partition(
            values=tuple(values[row.PART_ID]),
            location=given_location(row.LOCATION, warehouse),
            properties=params[row.PART_ID],
            created_at=row.CREATE_TIME,
        )
        for row in connection.execute(_PARTITIONS, {"id": table_id})
    )


_ID = bindparam("id", type_=BigInteger)
_COLUMNS_OF_TABLE = select(SDS.c.CD_ID).join(TBLS, TBLS.c.SD_ID == SDS.c.SD_ID).where(TBLS.c.TBL_ID == _ID)
_BY_NAME = select(PARTITIONS.c.PART_ID).where(PARTITIONS.c.TBL_ID == _ID, PARTITIONS.c.PART_NAME == bindparam("name"))
_PARTITIONS = (
    select(PARTITIONS, SDS.c.LOCATION)
    .join(SDS, SDS.c.SD_ID == PARTITIONS.c.SD_ID)
    .where(PARTITIONS.c.TBL_ID == _ID)
    .order_by(PARTITIONS.c.PART_NAME)
)
_VALUES = (
    select(PARTITION_KEY_VALS.c.PART_ID, PARTITION_KEY_VALS.c.PART_KEY_VAL)
    .join(PARTITIONS, PARTITIONS.c.PART_ID == PARTITION_KEY_VALS.c.PART_ID)
    .where(PARTITIONS.c.TBL_ID == _ID)
    .order_by(PARTITION_KEY_VALS.c.PART_ID, PARTITION_KEY_VALS.c.INTEGER_IDX)
)
_PARAMS = (
    select(PARTITION_PARAMS)
    .join(PARTITIONS, PARTITIONS.c.PART_ID == PARTITION_PARAMS.c.PART_ID)
    .where(PARTITIONS.c.TBL_ID == _ID)
    .order_by(PARTITION_PARAMS.c.PARAM_KEY)
)
