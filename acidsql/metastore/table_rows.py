"""A table as rows of TBLS, SDS, CDS, COLUMNS_V2, SERDES, BUCKETING_COLS, PARTITION_KEYS and TABLE_PARAMS, and back.

Hive keeps a table's comment and its bucketing version among the table's parameters; the former comes back as ``Table.comment``,
the latter stays visible as the property it is.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, Select, delete, insert, select

from acidsql.catalog.model import Bucketing, Column, FileFormat, Table, TableKind, TableName
from acidsql.catalog.types import parse_type
from acidsql.errors import MetastoreError
from acidsql.metastore.locations import given_location, stored_location
from acidsql.metastore.store import insert_row
from acidsql.metastore.tables import BUCKETING_COLS, CDS, COLUMNS_V2, DBS, PARTITION_KEYS, SDS, SERDES, TABLE_PARAMS, TBLS

COMMENT = "comment"
BUCKETING_VERSION = "bucketing_version"
OLDEST_BUCKETING_VERSION = 1
"""What a bucketed table without the property has, in Hive."""
NO_BUCKETS = -1

_ORC = "org.apache.hadoop.hive.ql.io.orc."
_PARQUET = "org.apache.hadoop.hive.ql.io.parquet."
CLASSES = {
    FileFormat.ORC: (f"{_ORC}OrcInputFormat", f"{_ORC}OrcOutputFormat", f"{_ORC}OrcSerde"),
    FileFormat.PARQUET: (
        f"{_PARQUET}MapredParquetInputFormat",
        f"{_PARQUET}MapredParquetOutputFormat",
        f"{_PARQUET}serde.ParquetHiveSerDe",
    ),
    FileFormat.TEXTFILE: (
        "org.apache.hadoop.mapred.TextInputFormat",
        "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
        "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
    ),
}
"""Input format, output format and serde as Hive names them."""


def insert_table(connection: Connection, table: Table, db_id: int, warehouse: str) -> int:
    """Returns the new table id."""
    tbl_id = insert_row(
        connection,
        TBLS,
        DB_ID=db_id,
        SD_ID=_insert_storage(connection, table, warehouse),
        TBL_NAME=table.name.table,
        TBL_TYPE=table.kind.value,
        OWNER=table.owner,
        CREATE_TIME=table.created_at,
    )
    keys = [
        {"TBL_ID": tbl_id, "PKEY_NAME": c.name, "PKEY_TYPE": str(c.type), "PKEY_COMMENT": c.comment, "INTEGER_IDX": i}
        for i, c in enumerate(table.partition_columns)
    ]
    if keys:
        connection.execute(insert(PARTITION_KEYS), keys)
    params = [{"TBL_ID": tbl_id, "PARAM_KEY": key, "PARAM_VALUE": value} for key, value in _params(table).items()]
    if params:
        connection.execute(insert(TABLE_PARAMS), params)
    return tbl_id


def delete_table(connection: Connection, table_id: int) -> None:
    ids = connection.execute(
        select(SDS.c.SD_ID, SDS.c.CD_ID, SDS.c.SERDE_ID).join(TBLS, TBLS.c.SD_ID == SDS.c.SD_ID).where(TBLS.c.TBL_ID == table_id)
    ).one()
    connection.execute(delete(TBLS).where(TBLS.c.TBL_ID == table_id))
    connection.execute(delete(SDS).where(SDS.c.SD_ID == ids.SD_ID))
    connection.execute(delete(CDS).where(CDS.c.CD_ID == ids.CD_ID))
    connection.execute(delete(SERDES).where(SERDES.c.SERDE_ID == ids.SERDE_ID))


def find_table(connection: Connection, name: TableName, warehouse: str) -> Table | None:
    row = connection.execute(_head().where(DBS.c.NAME == name.database, TBLS.c.TBL_NAME == name.table)).first()
    if row is None:
        return None
    params = {found.PARAM_KEY: found.PARAM_VALUE for found in connection.execute(_params_of(row.TBL_ID))}
    return Table(
        name=name,
        columns=_columns(connection, select(COLUMNS_V2).where(COLUMNS_V2.c.CD_ID == row.CD_ID).order_by(COLUMNS_V2.c.INTEGER_IDX)),
        location=given_location(row.LOCATION, warehouse),
        partition_columns=_partition_columns(connection, row.TBL_ID),
        bucketing=_bucketing(connection, row, params),
        file_format=_file_format(name, row.INPUT_FORMAT),
        kind=TableKind(row.TBL_TYPE),
        comment=params.pop(COMMENT, None),
        properties=params,
        owner=row.OWNER or "",
        created_at=row.CREATE_TIME,
        table_id=row.TBL_ID,
    )


def _insert_storage(connection: Connection, table: Table, warehouse: str) -> int:
    cd_id = insert_row(connection, CDS)
    connection.execute(
        insert(COLUMNS_V2),
        [
            {"CD_ID": cd_id, "COLUMN_NAME": c.name, "TYPE_NAME": str(c.type), "COMMENT": c.comment, "INTEGER_IDX": i}
            for i, c in enumerate(table.columns)
        ],
    )
    input_format, output_format, serde = CLASSES[table.file_format]
    sd_id = insert_row(
        connection,
        SDS,
        CD_ID=cd_id,
        SERDE_ID=insert_row(connection, SERDES, SLIB=serde),
        LOCATION=stored_location(table.location, warehouse),
        INPUT_FORMAT=input_format,
        OUTPUT_FORMAT=output_format,
        IS_COMPRESSED=False,
        NUM_BUCKETS=table.bucketing.count if table.bucketing else NO_BUCKETS,
    )
    if table.bucketing and table.bucketing.columns:
        connection.execute(
            insert(BUCKETING_COLS),
            [{"SD_ID": sd_id, "INTEGER_IDX": i, "BUCKET_COL_NAME": name} for i, name in enumerate(table.bucketing.columns)],
        )
    return sd_id


def _params(table: Table) -> dict[str, str]:
    params = dict(table.properties)
    if table.bucketing:
        params[BUCKETING_VERSION] = str(table.bucketing.version)
    if table.comment is not None:
        params[COMMENT] = table.comment
    return params


def _head() -> Select[*tuple[Any, ...]]:
    return (
        select(TBLS, SDS.c.CD_ID, SDS.c.LOCATION, SDS.c.INPUT_FORMAT, SDS.c.NUM_BUCKETS)
        .join(DBS, DBS.c.DB_ID == TBLS.c.DB_ID)
        .join(SDS, SDS.c.SD_ID == TBLS.c.SD_ID)
    )


def _params_of(table_id: int) -> Select[str, str]:
    params = TABLE_PARAMS.c
    return select(params.PARAM_KEY, params.PARAM_VALUE).where(params.TBL_ID == table_id).order_by(params.PARAM_KEY)


def _columns(connection: Connection, query: Select[*tuple[Any, ...]]) -> tuple[Column, ...]:
    return tuple(Column(name=row.COLUMN_NAME, type=parse_type(row.TYPE_NAME), comment=row.COMMENT) for row in connection.execute(query))


def _partition_columns(connection: Connection, table_id: int) -> tuple[Column, ...]:
    keys = PARTITION_KEYS.c
    query = select(keys.PKEY_NAME, keys.PKEY_TYPE, keys.PKEY_COMMENT).where(keys.TBL_ID == table_id).order_by(keys.INTEGER_IDX)
    return tuple(Column(name=row.PKEY_NAME, type=parse_type(row.PKEY_TYPE), comment=row.PKEY_COMMENT) for row in connection.execute(query))


def _bucketing(connection: Connection, row: Row[*tuple[Any, ...]], params: dict[str, str]) -> Bucketing | None:
    if row.NUM_BUCKETS <= 0:
        return None
    cols = BUCKETING_COLS.c
    names = connection.scalars(select(cols.BUCKET_COL_NAME).where(cols.SD_ID == row.SD_ID).order_by(cols.INTEGER_IDX))
    version = int(params.get(BUCKETING_VERSION, OLDEST_BUCKETING_VERSION))
    return Bucketing(columns=tuple(names), count=row.NUM_BUCKETS, version=version)


def _file_format(name: TableName, input_format: str) -> FileFormat:
    for file_format, classes in CLASSES.items():
        if classes[0] == input_format:
            return file_format
    raise MetastoreError(f'table "{name}" has the unknown input format "{input_format}"')
