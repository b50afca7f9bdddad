"""A table in the tables of Hive's metastore, as its schemas from 3.1 on have them; and all tables
of a database.

DataNucleus' tables (TBLS, SDS ..) have upper-case names in every database. In PostgreSQL those of
transactions have lower-case ones up to schema 3.2 and upper-case ones from 4.0 on; so names are
taken as the database has them. Which tables Hive's own statements look at: ObjectStore,
MetaStoreDirectSql, TxnHandler.getValidWriteIdsForTable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    column,
    func,
    inspect,
    literal,
    select,
    table,
    text,
)
from sqlalchemy.sql import quoted_name

from acidsql import interrupts
from acidsql.acid.ids import TxnId, ValidTxnList, WriteId
from acidsql.attach.facts import PartitionFacts, TableFacts
from acidsql.attach.sources.database import (
    CATALOG,
    NAME_IT,
    VIEWS,
    attachable_location,
    hive_column,
    hive_partition,
    spellings,
)
from acidsql.catalog.model import Bucketing, Column, SortColumn, TableName
from acidsql.errors import BindError, MetastoreError
from acidsql.files.fileio import path_of
from acidsql.lazy import dataclass

_COLUMNS = {
    "DBS": "DB_ID NAME CTLG_NAME DB_LOCATION_URI",
    "TBLS": "TBL_ID DB_ID SD_ID TBL_NAME TBL_TYPE",
    "SDS": "SD_ID CD_ID SERDE_ID LOCATION INPUT_FORMAT NUM_BUCKETS",
    "SERDES": "SERDE_ID SLIB",
    "COLUMNS_V2": "CD_ID COLUMN_NAME TYPE_NAME COMMENT INTEGER_IDX",
    "PARTITION_KEYS": "TBL_ID PKEY_NAME PKEY_TYPE PKEY_COMMENT INTEGER_IDX",
    "TABLE_PARAMS": "TBL_ID PARAM_KEY PARAM_VALUE",
    "BUCKETING_COLS": "SD_ID BUCKET_COL_NAME INTEGER_IDX",
    "SORT_COLS": "SD_ID COLUMN_NAME ORDER INTEGER_IDX",
    "PARTITIONS": "PART_ID TBL_ID SD_ID",
    "PARTITION_KEY_VALS": "PART_ID PART_KEY_VAL INTEGER_IDX",
    "NEXT_WRITE_ID": "NWI_DATABASE NWI_TABLE NWI_NEXT",
    "TXN_TO_WRITE_ID": "T2W_TXNID T2W_DATABASE T2W_TABLE T2W_WRITEID",
    "TXNS": "TXN_ID TXN_STATE TXN_STARTED",
    "NEXT_TXN_ID": "NTXN_NEXT",
}
"""What is read of each table. NEXT_TXN_ID is there up to schema 3.2 only."""
OPTIONAL = ("NEXT_TXN_ID",)
TABLES: Mapping[str, tuple[str, ...]] = {name: tuple(c.split()) for name, c in _COLUMNS.items()}
_CLOCKS = {
    "postgresql": "SELECT extract(epoch FROM now())",
    "mysql": "SELECT unix_timestamp(now(6))",
    "mariadb": "SELECT unix_timestamp(now(6))",
}
_IN_FLIGHT_MILLISECONDS = 2000
"""A transaction gets its number before it is to be seen; Hive allows it a second for that."""
_LATEST = 1000
"""How many transactions below the highest are looked at for such numbers."""


class HiveTables:
    """The tables of one metastore, in one transaction. MetastoreError where they are not there."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        known = {name.upper(): name for name in inspect(connection).get_table_names()}
        missing = [name for name in TABLES if name not in known and name not in OPTIONAL]
        if missing:
            raise MetastoreError(
                f"the database is no metastore of Hive 3 or 4: it has no table {missing[0]}"
            )
        self._tables = {
            name: named_table(known[name], columns)
            for name, columns in TABLES.items()
            if name in known
        }

    def __getitem__(self, name: str) -> FromClause:
        return self._tables[name]

    def __contains__(self, name: str) -> bool:
        return name in self._tables

    def rows(self, query: Select[Any]) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.connection.execute(query)]

    def clock(self) -> int | None:
        """When the transaction began, by the server's clock; epoch milliseconds. None for exports,
        which are asked once.
        """
        seconds = _CLOCKS.get(self.connection.dialect.name)
        return None if seconds is None else int(self.connection.scalar(text(seconds)) * 1000)

    def catalog_columns(self, name: str) -> list[ColumnElement[Any]]:
        """The column that tells the catalog of what a table of transactions has, if it does: some
        schemas between the releases, and those after 4.2.
        """
        query = select(text("*")).select_from(self[name]).where(literal(False))
        keys = self.connection.execute(query).keys()
        return [column(quoted_name(one, True)) for one in keys if one.upper().endswith("CATALOG")]


def named_table(name: str, columns: Iterable[str]) -> FromClause:
    """A table under the name that the database has for it; its columns are found under theirs in
    upper case.
    """
    lower = name == name.lower()
    clauses = []
    for key in columns:
        clause: Any = column(quoted_name(key.lower() if lower else key, True))
        clause.key = key
        clauses.append(clause)
    return table(quoted_name(name, True), *clauses)


# ---- which table


class TableRow:
    """A row of TBLS with its storage."""

    def __init__(self, row: tuple[Any, ...]) -> None:
        self.name = TableName(row[0], row[1])
        self.catalog, self.kind = row[2], row[3]
        self.table_id, self.storage_id, self.columns_id = row[4], row[5], row[6]
        self.location, self.input_format, self.serde = row[7], row[8], row[9]
        self.buckets = row[10]


def find_tables(hive: HiveTables, where: ColumnElement[bool]) -> list[TableRow]:
    """The tables for which a condition on DBS, TBLS and SDS holds, by their names."""
    tbls, dbs, sds, serdes = hive["TBLS"].c, hive["DBS"].c, hive["SDS"].c, hive["SERDES"].c
    joined = (
        hive["TBLS"]
        .join(hive["DBS"], tbls.DB_ID == dbs.DB_ID)
        .outerjoin(hive["SDS"], tbls.SD_ID == sds.SD_ID)
        .outerjoin(hive["SERDES"], sds.SERDE_ID == serdes.SERDE_ID)
    )
    query = select(
        dbs.NAME, tbls.TBL_NAME, dbs.CTLG_NAME, tbls.TBL_TYPE, tbls.TBL_ID, tbls.SD_ID, sds.CD_ID,
        sds.LOCATION, sds.INPUT_FORMAT, serdes.SLIB, sds.NUM_BUCKETS,
    )  # fmt: skip
    rows = hive.rows(query.select_from(joined).where(where))
    return sorted(map(TableRow, rows), key=lambda one: (one.name, one.table_id))


def find_named(hive: HiveTables, name: TableName) -> TableRow:
    """BindError if there is no such table in Hive's own catalog."""
    dbs, tbls = hive["DBS"].c, hive["TBLS"].c
    named = find_tables(hive, (dbs.NAME == name.database) & (tbls.TBL_NAME == name.table))
    own = [one for one in named if one.catalog == CATALOG]
    if own:
        return own[0]
    elsewhere = f', only in its catalog "{named[0].catalog}"' if named else ""
    raise BindError(f"the metastore has no table {name}{elsewhere}", hint=NAME_IT)


def find_at(hive: HiveTables, location: str) -> TableRow:
    """The one table that lies at a location. BindError if there is none, or several."""
    sds = hive["SDS"].c
    near = find_tables(hive, sds.LOCATION.in_(spellings(location)))
    tables = [one for one in near if one.catalog == CATALOG and one.kind not in VIEWS]
    if len(tables) == 1:
        return tables[0]
    if not tables:
        raise BindError(f'the metastore has no table at "{location}"', hint=NAME_IT)
    names = ", ".join(str(one.name) for one in tables)
    raise BindError(f'several tables of the metastore lie at "{location}": {names}', hint=NAME_IT)


# ---- its facts


def read_facts(hive: HiveTables, hive_table: TableRow) -> TableFacts:
    """What the metastore knows of a table. BindError for one that cannot be attached."""
    home = attachable_location(
        hive_table.name,
        hive_table.kind,
        hive_table.location,
        hive_table.input_format,
        hive_table.serde,
    )
    properties = _properties(hive, hive_table)
    columns = _columns(hive, hive_table)
    keys = _partition_columns(hive, hive_table)
    transactional = properties.get("transactional", "").lower() == "true"
    still_open, aborted = _exceptions(hive, hive_table.name) if transactional else ((), ())
    kind = properties.get("transactional_properties", "").lower()
    return TableFacts(
        columns=columns,
        partition_columns=keys,
        bucketing=_bucketing(hive, hive_table, int(properties.get("bucketing_version") or 1)),
        transactional=transactional,
        insert_only=kind == "insert_only",
        location=home,
        high_watermark=_high_watermark(hive, hive_table.name) if transactional else WriteId(0),
        open=still_open,
        aborted=aborted,
        partitions=tuple(_partitions(hive, hive_table, home, len(keys))) if keys else (),
        txns=_txns(hive) if transactional else None,
        name=hive_table.name,
        table_id=hive_table.table_id,
        asked=hive.clock(),
    )


def _properties(hive: HiveTables, hive_table: TableRow) -> dict[str, str]:
    params = hive["TABLE_PARAMS"].c
    wanted = select(params.PARAM_KEY, params.PARAM_VALUE).where(
        params.TBL_ID == hive_table.table_id
    )
    return {key.lower(): value or "" for key, value in hive.rows(wanted)}


def _columns(hive: HiveTables, hive_table: TableRow) -> tuple[Column, ...]:
    cols = hive["COLUMNS_V2"].c
    query = select(cols.COLUMN_NAME, cols.TYPE_NAME, cols.COMMENT)
    query = query.where(cols.CD_ID == hive_table.columns_id).order_by(cols.INTEGER_IDX)
    return tuple(hive_column(hive_table.name, *row) for row in hive.rows(query))


def _partition_columns(hive: HiveTables, hive_table: TableRow) -> tuple[Column, ...]:
    keys = hive["PARTITION_KEYS"].c
    query = select(keys.PKEY_NAME, keys.PKEY_TYPE, keys.PKEY_COMMENT)
    query = query.where(keys.TBL_ID == hive_table.table_id).order_by(keys.INTEGER_IDX)
    return tuple(hive_column(hive_table.name, *row) for row in hive.rows(query))


def _bucketing(hive: HiveTables, hive_table: TableRow, version: int) -> Bucketing | None:
    cols, sorts = hive["BUCKETING_COLS"].c, hive["SORT_COLS"].c
    if not hive_table.buckets or hive_table.buckets < 1:
        return None
    names = select(cols.BUCKET_COL_NAME).where(cols.SD_ID == hive_table.storage_id)
    columns = [name.lower() for (name,) in hive.rows(names.order_by(cols.INTEGER_IDX))]
    if not columns:
        return None
    order = select(sorts.COLUMN_NAME, sorts.ORDER).where(sorts.SD_ID == hive_table.storage_id)
    return Bucketing(
        columns=tuple(columns),
        count=hive_table.buckets,
        version=version,
        sorted_by=tuple(
            SortColumn(name=name.lower(), descending=not ascending)
            for name, ascending in hive.rows(order.order_by(sorts.INTEGER_IDX))
        ),
    )


def _partitions(
    hive: HiveTables, hive_table: TableRow, home: str, width: int
) -> Iterator[PartitionFacts]:
    parts, vals, sds = hive["PARTITIONS"].c, hive["PARTITION_KEY_VALS"].c, hive["SDS"].c
    joined = hive["PARTITIONS"].join(hive["PARTITION_KEY_VALS"], parts.PART_ID == vals.PART_ID)
    query = select(parts.PART_ID, vals.PART_KEY_VAL).select_from(joined)
    query = query.where(parts.TBL_ID == hive_table.table_id).order_by(
        parts.PART_ID, vals.INTEGER_IDX
    )
    values: dict[int, list[str]] = {}
    for part_id, value in hive.rows(query):
        values.setdefault(part_id, []).append(value or "")
    stored = hive["PARTITIONS"].outerjoin(hive["SDS"], parts.SD_ID == sds.SD_ID)
    where = select(parts.PART_ID, sds.LOCATION, sds.INPUT_FORMAT).select_from(stored)
    where = where.where(parts.TBL_ID == hive_table.table_id).order_by(parts.PART_ID)
    for part_id, location, input_format in hive.rows(where):
        texts = tuple(values.get(part_id, ()))
        if len(texts) != width or not location:
            raise BindError(
                f"partition {part_id} of {hive_table.name} is not whole in the metastore"
            )
        yield hive_partition(hive_table.name, home, texts, location, input_format)


# ---- its transactions


def _high_watermark(hive: HiveTables, name: TableName) -> WriteId:
    nwi = hive["NEXT_WRITE_ID"].c
    query = select(nwi.NWI_NEXT)
    query = query.where(nwi.NWI_DATABASE == name.database, nwi.NWI_TABLE == name.table)
    query = query.where(*(one == CATALOG for one in hive.catalog_columns("NEXT_WRITE_ID")))
    rows = hive.rows(query)
    return WriteId(rows[0][0] - 1 if rows else 0)


def _exceptions(
    hive: HiveTables, name: TableName
) -> tuple[tuple[WriteId, ...], tuple[WriteId, ...]]:
    """The write ids of open and of aborted transactions. One whose transaction has no row any more
    was committed, as Hive forgets an aborted one only when nothing of it is left.
    """
    t2w, txns = hive["TXN_TO_WRITE_ID"].c, hive["TXNS"].c
    joined = hive["TXN_TO_WRITE_ID"].join(hive["TXNS"], t2w.T2W_TXNID == txns.TXN_ID)
    query = select(t2w.T2W_WRITEID, txns.TXN_STATE).select_from(joined)
    query = query.where(
        t2w.T2W_DATABASE == name.database, t2w.T2W_TABLE == name.table, txns.TXN_STATE != "c"
    ).order_by(t2w.T2W_WRITEID)
    query = query.where(*(one == CATALOG for one in hive.catalog_columns("TXN_TO_WRITE_ID")))
    rows = hive.rows(query)
    aborted = tuple(WriteId(write_id) for write_id, state in rows if state == "a")
    return tuple(WriteId(write_id) for write_id, state in rows if state != "a"), aborted


def _txns(hive: HiveTables) -> ValidTxnList:
    """The valid transactions. A number just below the highest that has no row may be of one that is
    about to appear: it counts as open. Hive: GetOpenTxnsListHandler.
    """
    txns = hive["TXNS"].c
    highest = hive.rows(select(func.max(txns.TXN_ID)))[0][0] or 0
    is_old = "NEXT_TXN_ID" in hive  # rows of committed ones are deleted there, numbers locked
    if is_old:
        following = hive.rows(select(hive["NEXT_TXN_ID"].c.NTXN_NEXT))
        highest = max(highest, following[0][0] - 1 if following else 0)
    query = select(txns.TXN_ID, txns.TXN_STATE).where(txns.TXN_STATE != "c")
    rows = hive.rows(query)
    missing = () if is_old else _in_flight(hive, highest)
    return ValidTxnList(
        high_watermark=TxnId(highest),
        open=tuple(TxnId(one) for one in (*(t for t, state in rows if state != "a"), *missing)),
        aborted=tuple(TxnId(txn_id) for txn_id, state in rows if state == "a"),
    )


def _in_flight(hive: HiveTables, highest: int) -> list[int]:
    txns = hive["TXNS"].c
    query = select(txns.TXN_ID, txns.TXN_STARTED).where(txns.TXN_ID > highest - _LATEST)
    rows = hive.rows(query.order_by(txns.TXN_ID))
    latest = max((started for _, started in rows), default=0)
    missing: list[int] = []
    for (before, _), (after, started) in pairwise(rows):
        if started > latest - _IN_FLIGHT_MILLISECONDS:
            missing += range(before + 1, after)
    return missing


# ---- any table


def kind_of(hive: HiveTables, hive_table: TableRow) -> str:
    """The transactions of a table, whether it can be attached or not: acid, insert-only, plain."""
    properties = _properties(hive, hive_table)
    if properties.get("transactional", "").lower() != "true":
        return "plain"
    is_insert_only = properties.get("transactional_properties", "").lower() == "insert_only"
    return "insert-only" if is_insert_only else "acid"


# ---- databases
#
# All tables of one of Hive's databases, as its metastore knows them in one transaction.


_MANAGED = "DB_MANAGED_LOCATION_URI"
_NAME_IT = "USING '..?database=sales' says which database of Hive it is."


@dataclass(frozen=True, slots=True, kw_only=True)
class HiveTable:
    """``kind``: acid, insert-only, plain, or a view. ``facts``: or why it cannot be attached."""

    name: str
    kind: str
    facts: TableFacts | BindError


@dataclass(frozen=True, slots=True, kw_only=True)
class HiveDatabase:
    """``directories``: where Hive makes tables of it, one for each kind where these differ."""

    name: str
    directories: tuple[str, ...]
    tables: tuple[HiveTable, ...]


def read_database(hive: HiveTables, name: str) -> HiveDatabase:
    """What the metastore knows of a database and its tables. BindError if there is none of that
    name in Hive's own catalog.
    """
    directories = tuple(_directories(hive, name))
    own = hive["DBS"].c
    rows = find_tables(hive, (own.NAME == name) & (own.CTLG_NAME == CATALOG))
    tables = tuple(_table(hive, row) for row in rows)
    return HiveDatabase(name=name, directories=directories, tables=tables)


def _directories(hive: HiveTables, name: str) -> Iterator[str]:
    own = hive["DBS"].c
    rows = hive.rows(select(own.CTLG_NAME, own.DB_LOCATION_URI).where(own.NAME == name))
    locations = {row[0]: row[1] for row in rows}
    if CATALOG not in locations:
        elsewhere = f', only in its catalog "{next(iter(locations))}"' if locations else ""
        raise BindError(f"the metastore has no database {name}{elsewhere}", hint=_NAME_IT)
    for location in (locations[CATALOG], _managed(hive, name)):
        if location:
            yield path_of(location).rstrip("/")


def _managed(hive: HiveTables, name: str) -> str | None:
    """Where Hive 4 makes managed tables of a database, if elsewhere than external ones."""
    dbs, own = hive["DBS"], hive["DBS"].c
    keys = hive.connection.execute(select(text("*")).select_from(dbs).where(literal(False))).keys()
    managed = next((key for key in keys if key.upper() == _MANAGED), None)
    if managed is None:
        return None
    query: Select[Any] = select(column(quoted_name(managed, True))).select_from(dbs)
    rows = hive.rows(query.where(own.NAME == name, own.CTLG_NAME == CATALOG))
    return rows[0][0] if rows else None


def _table(hive: HiveTables, row: TableRow) -> HiveTable:
    facts: TableFacts | BindError
    interrupts.check()
    try:
        facts = read_facts(hive, row)
    except BindError as error:
        facts = error
    kind = VIEWS.get(row.kind, "").partition(" ")[2] or kind_of(hive, row)
    return HiveTable(name=row.name.table, kind=kind, facts=facts)
