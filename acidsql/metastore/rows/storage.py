"""A storage descriptor as rows of SDS, SERDES, SERDE_PARAMS, BUCKETING_COLS, SORT_COLS and the
SKEWED tables, and back.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from acidsql.catalog.model import Bucketing, Skew, SortColumn, Storage, Table, storage_of
from acidsql.metastore.locations import stored_location
from acidsql.metastore.sql import BigInteger, Connection, Row, bindparam, delete, insert, select
from acidsql.metastore.store import insert_row
from acidsql.metastore.tables import (
    BUCKETING_COLS,
    SDS,
    SERDE_PARAMS,
    SERDES,
    SKEWED_COL_NAMES,
    SKEWED_STRING_LIST,
    SKEWED_STRING_LIST_VALUES,
    SKEWED_VALUES,
    SORT_COLS,
)

BUCKETING_VERSION = "bucketing_version"
OLDEST_BUCKETING_VERSION = 1
"""What a bucketed table without the property has, in Hive."""
NO_BUCKETS = -1
ASCENDING, DESCENDING = 1, 0
"""SORT_COLS.ORDER. Hive: DirectionUtils."""


def insert_storage(connection: Connection, table: Table, cd_id: int, warehouse: str) -> int:
    """Returns the id of the new storage descriptor."""
    storage = storage_of(table)
    serde_id = insert_row(connection, SERDES, SLIB=storage.serde)
    params = [
        {"SERDE_ID": serde_id, "PARAM_KEY": k, "PARAM_VALUE": v}
        for k, v in storage.serde_properties.items()
    ]
    if params:
        connection.execute(insert(SERDE_PARAMS), params)
    sd_id = insert_row(
        connection,
        SDS,
        CD_ID=cd_id,
        SERDE_ID=serde_id,
        LOCATION=stored_location(table.location, warehouse) if table.location else "",
        INPUT_FORMAT=storage.input_format,
        OUTPUT_FORMAT=storage.output_format,
        IS_COMPRESSED=False,
        NUM_BUCKETS=table.bucketing.count if table.bucketing else NO_BUCKETS,
        IS_STOREDASSUBDIRECTORIES=table.skew is not None and table.skew.directories,
    )
    if table.bucketing is not None:
        insert_bucketing(connection, sd_id, table.bucketing)
    if table.skew is not None:
        _insert_skew(connection, sd_id, table.skew)
    return sd_id


def delete_storage(connection: Connection, sd_ids: list[int]) -> None:
    """Deletes storage descriptors with the serde of each and its list of skewed values; the columns
    stay.
    """
    serdes = list(connection.scalars(select(SDS.c.SERDE_ID).where(SDS.c.SD_ID.in_(sd_ids))))
    lists = list(
        connection.scalars(
            select(SKEWED_VALUES.c.STRING_LIST_ID_EID).where(SKEWED_VALUES.c.SD_ID_OID.in_(sd_ids))
        )
    )
    connection.execute(delete(SDS).where(SDS.c.SD_ID.in_(sd_ids)))
    connection.execute(delete(SERDES).where(SERDES.c.SERDE_ID.in_(serdes)))
    if lists:
        connection.execute(
            delete(SKEWED_STRING_LIST).where(SKEWED_STRING_LIST.c.STRING_LIST_ID.in_(lists))
        )


def read_storage(connection: Connection, row: Row[*tuple[Any, ...]]) -> Storage:
    """The classes of a row of SDS joined with its SERDES; ``row.HAS_SERDE_PARAMS`` saves a look-up
    where there are none.
    """
    properties = {}
    if row.HAS_SERDE_PARAMS:
        properties = {
            param.PARAM_KEY: param.PARAM_VALUE
            for param in connection.execute(_SERDE_PARAMS, {"id": row.SERDE_ID})
        }
    return Storage(
        input_format=row.INPUT_FORMAT,
        output_format=row.OUTPUT_FORMAT,
        serde=row.SLIB,
        serde_properties=properties,
    )


def read_bucketing(
    connection: Connection, row: Row[*tuple[Any, ...]], version: str | None
) -> Bucketing | None:
    if row.NUM_BUCKETS <= 0:
        return None
    names = tuple(connection.scalars(_BUCKETING_COLS, {"id": row.SD_ID}))
    sorted_by = tuple(
        SortColumn(name=name, descending=order == DESCENDING)
        for name, order in connection.execute(_SORT_COLS, {"id": row.SD_ID})
    )
    bucketing_version = OLDEST_BUCKETING_VERSION if version is None else int(version)
    return Bucketing(
        columns=names, count=row.NUM_BUCKETS, version=bucketing_version, sorted_by=sorted_by
    )


def read_skew(connection: Connection, row: Row[*tuple[Any, ...]]) -> Skew | None:
    """The skew of a table, if it has one. ``row.HAS_SKEW`` saves the look-ups where there is
    none.
    """
    if not row.HAS_SKEW:
        return None
    values: defaultdict[int, list[str]] = defaultdict(list)
    for list_id, value in connection.execute(_SKEWED_VALUES, {"id": row.SD_ID}):
        values[list_id].append(value)
    return Skew(
        columns=tuple(connection.scalars(_SKEWED_COLS, {"id": row.SD_ID})),
        values=tuple(tuple(value) for value in values.values()),
        directories=row.IS_STOREDASSUBDIRECTORIES,
    )


def insert_bucketing(connection: Connection, sd_id: int, bucketing: Bucketing) -> None:
    if bucketing.columns:
        rows = [
            {"SD_ID": sd_id, "INTEGER_IDX": i, "BUCKET_COL_NAME": name}
            for i, name in enumerate(bucketing.columns)
        ]
        connection.execute(insert(BUCKETING_COLS), rows)
    if bucketing.sorted_by:
        orders = [
            {
                "SD_ID": sd_id,
                "INTEGER_IDX": i,
                "COLUMN_NAME": c.name,
                "ORDER": DESCENDING if c.descending else ASCENDING,
            }
            for i, c in enumerate(bucketing.sorted_by)
        ]
        connection.execute(insert(SORT_COLS), orders)


def _insert_skew(connection: Connection, sd_id: int, skew: Skew) -> None:
    names = [
        {"SD_ID": sd_id, "INTEGER_IDX": i, "SKEWED_COL_NAME": name}
        for i, name in enumerate(skew.columns)
    ]
    connection.execute(insert(SKEWED_COL_NAMES), names)
    for ordinal, value in enumerate(skew.values):
        list_id = insert_row(connection, SKEWED_STRING_LIST)
        parts = [
            {"STRING_LIST_ID": list_id, "INTEGER_IDX": i, "STRING_LIST_VALUE": part}
            for i, part in enumerate(value)
        ]
        connection.execute(insert(SKEWED_STRING_LIST_VALUES), parts)
        connection.execute(
            insert(SKEWED_VALUES),
            [{"SD_ID_OID": sd_id, "INTEGER_IDX": ordinal, "STRING_LIST_ID_EID": list_id}],
        )


_ID = bindparam("id", type_=BigInteger)
_SERDE_PARAMS = (
    select(SERDE_PARAMS).where(SERDE_PARAMS.c.SERDE_ID == _ID).order_by(SERDE_PARAMS.c.PARAM_KEY)
)
_BUCKETING_COLS = (
    select(BUCKETING_COLS.c.BUCKET_COL_NAME)
    .where(BUCKETING_COLS.c.SD_ID == _ID)
    .order_by(BUCKETING_COLS.c.INTEGER_IDX)
)
_SORT_COLS = (
    select(SORT_COLS.c.COLUMN_NAME, SORT_COLS.c.ORDER)
    .where(SORT_COLS.c.SD_ID == _ID)
    .order_by(SORT_COLS.c.INTEGER_IDX)
)
_SKEWED_COLS = (
    select(SKEWED_COL_NAMES.c.SKEWED_COL_NAME)
    .where(SKEWED_COL_NAMES.c.SD_ID == _ID)
    .order_by(SKEWED_COL_NAMES.c.INTEGER_IDX)
)
_SKEWED_VALUES = (
    select(SKEWED_VALUES.c.INTEGER_IDX, SKEWED_STRING_LIST_VALUES.c.STRING_LIST_VALUE)
    .join(
        SKEWED_STRING_LIST_VALUES,
        SKEWED_STRING_LIST_VALUES.c.STRING_LIST_ID == SKEWED_VALUES.c.STRING_LIST_ID_EID,
    )
    .where(SKEWED_VALUES.c.SD_ID_OID == _ID)
    .order_by(SKEWED_VALUES.c.INTEGER_IDX, SKEWED_STRING_LIST_VALUES.c.INTEGER_IDX)
)
