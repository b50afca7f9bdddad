"""The database of a Hive metastore, as Hive's schemas make it and Hive fills it: the tables that hold
tables, partitions and transactions. In PostgreSQL the tables of transactions have lower-case names
before schema 4.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, create_engine, text

from acidsql.attach.facts import TableFacts
from acidsql.attach.sources.metastore import TABLES
from acidsql.catalog.model import TableName

if TYPE_CHECKING:
    from tests.attach.hive_service import HiveService

ORC = "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"
ORC_SERDE = "org.apache.hadoop.hive.ql.io.orc.OrcSerde"
TEXT = "org.apache.hadoop.mapred.TextInputFormat"
TEXT_SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"

NUCLEUS = {
    "CTLGS": "CTLG_ID bigint PRIMARY KEY, NAME varchar(256), LOCATION_URI varchar(4000) NOT NULL",
    "DBS": "DB_ID bigint PRIMARY KEY, DB_LOCATION_URI varchar(4000) NOT NULL, NAME varchar(128), CTLG_NAME varchar(256) NOT NULL",
    "TBLS": "TBL_ID bigint PRIMARY KEY, CREATE_TIME bigint NOT NULL, DB_ID bigint, LAST_ACCESS_TIME bigint NOT NULL, OWNER varchar(767),"
    " RETENTION bigint NOT NULL, SD_ID bigint, TBL_NAME varchar(256), TBL_TYPE varchar(128), VIEW_EXPANDED_TEXT text,"
    " IS_REWRITE_ENABLED boolean NOT NULL",
    "SDS": "SD_ID bigint PRIMARY KEY, INPUT_FORMAT varchar(4000), IS_COMPRESSED boolean NOT NULL, LOCATION varchar(4000),"
    " NUM_BUCKETS bigint NOT NULL, OUTPUT_FORMAT varchar(4000), SERDE_ID bigint, CD_ID bigint, IS_STOREDASSUBDIRECTORIES boolean NOT NULL",
    "SERDES": "SERDE_ID bigint PRIMARY KEY, NAME varchar(128), SLIB varchar(4000)",
    "CDS": "CD_ID bigint PRIMARY KEY",
    "COLUMNS_V2": "CD_ID bigint NOT NULL, COMMENT varchar(4000), COLUMN_NAME varchar(767) NOT NULL, TYPE_NAME text, INTEGER_IDX integer NOT NULL",
    "TABLE_PARAMS": "TBL_ID bigint NOT NULL, PARAM_KEY varchar(256) NOT NULL, PARAM_VALUE text",
    "BUCKETING_COLS": "SD_ID bigint NOT NULL, BUCKET_COL_NAME varchar(256), INTEGER_IDX bigint NOT NULL",
    "SORT_COLS": "SD_ID bigint NOT NULL, COLUMN_NAME varchar(767), ORDER bigint NOT NULL, INTEGER_IDX bigint NOT NULL",
    "PARTITION_KEYS": "TBL_ID bigint NOT NULL, PKEY_COMMENT varchar(4000), PKEY_NAME varchar(128) NOT NULL, PKEY_TYPE varchar(767) NOT NULL,"
    " INTEGER_IDX bigint NOT NULL",
    "PARTITIONS": "PART_ID bigint PRIMARY KEY, CREATE_TIME bigint NOT NULL, LAST_ACCESS_TIME bigint NOT NULL, PART_NAME varchar(767),"
    " SD_ID bigint, TBL_ID bigint",
    "PARTITION_KEY_VALS": "PART_ID bigint NOT NULL, PART_KEY_VAL varchar(256), INTEGER_IDX bigint NOT NULL",
}  # fmt: skip
TRANSACTIONS = {
    "TXNS": "TXN_ID bigint PRIMARY KEY, TXN_STATE char(1) NOT NULL, TXN_STARTED bigint NOT NULL, TXN_LAST_HEARTBEAT bigint NOT NULL,"
    " TXN_USER varchar(128) NOT NULL, TXN_HOST varchar(128) NOT NULL, TXN_TYPE integer",
    "TXN_TO_WRITE_ID": "T2W_TXNID bigint NOT NULL, {t2w}T2W_DATABASE varchar(128) NOT NULL, T2W_TABLE varchar(256) NOT NULL, T2W_WRITEID bigint NOT NULL",
    "NEXT_WRITE_ID": "{nwi}NWI_DATABASE varchar(128) NOT NULL, NWI_TABLE varchar(256) NOT NULL, NWI_NEXT bigint NOT NULL",
}  # fmt: skip


class HiveMetastore:
    """``version``: of the schema, "3.1", "4.0", "4.2" or "4.3", which is the one with catalogs in the
    tables of transactions. All times are in milliseconds; transactions are a minute apart.
    ``service``: one that tells of it.
    """

    def __init__(self, url: str, version: str) -> None:
        self.engine: Engine = create_engine(url)
        self.version = version
        self.ids = count(1)
        self.partitions: dict[int, tuple[int, int]] = {}
        self.service: HiveService | None = None

    @property
    def is_old(self) -> bool:
        return self.version.startswith("3")

    @property
    def has_catalogs(self) -> bool:
        return self.version == "4.3"

    def close(self) -> None:
        self.engine.dispose()

    # ---- SQL

    def _lower(self, table: str) -> bool:
        of_txns = table in TRANSACTIONS or table == "NEXT_TXN_ID"
        return self.is_old and self.engine.dialect.name == "postgresql" and of_txns

    def quoted(self, table: str, name: str) -> str:
        mark = "`" if self.engine.dialect.name == "mysql" else '"'
        return f"{mark}{name.lower() if self._lower(table) else name}{mark}"

    def make_tables(self) -> None:
        with self.engine.begin() as connection:
            for table, definition in self.definitions().items():
                columns = ", ".join(
                    f"{self.quoted(table, name)} {rest}"
                    for name, _, rest in (one.strip().partition(" ") for one in definition.split(", "))
                )  # fmt: skip
                connection.execute(text(f"CREATE TABLE {self.quoted(table, table)} ({columns})"))

    def definitions(self) -> dict[str, str]:
        of_catalog = {
            mark: f"{mark.upper()}_CATALOG varchar(256) NOT NULL, " if self.has_catalogs else ""
            for mark in ("t2w", "nwi")
        }
        named = {name: definition.format(**of_catalog) for name, definition in TRANSACTIONS.items()}
        nucleus = dict(NUCLEUS)
        if not self.is_old:
            nucleus["DBS"] += ", DB_MANAGED_LOCATION_URI varchar(4000)"
        sequence = {"NEXT_TXN_ID" if self.is_old else "TXN_LOCK_TBL": "NTXN_NEXT bigint NOT NULL"}
        return {**nucleus, **named, **sequence}

    def empty(self) -> None:
        with self.engine.begin() as connection:
            for table in self.definitions():
                connection.execute(text(f"DELETE FROM {self.quoted(table, table)}"))
        self.insert("CTLGS", CTLG_ID=1, NAME="hive", LOCATION_URI="file:/warehouse")
        if self.is_old:
            self.insert("NEXT_TXN_ID", NTXN_NEXT=1)
        else:
            self.txn_row(0, "c", started=0)

    def insert(self, table: str, **values: Any) -> None:
        columns = ", ".join(self.quoted(table, name) for name in values)
        marks = ", ".join(f":{name}" for name in values)
        with self.engine.begin() as connection:
            query = f"INSERT INTO {self.quoted(table, table)} ({columns}) VALUES ({marks})"
            connection.execute(text(query), values)

    def update(self, table: str, change: Mapping[str, Any], **where: Any) -> None:
        changed = ", ".join(f"{self.quoted(table, name)} = :{name}" for name in change)
        held = " AND ".join(f"{self.quoted(table, name)} = :w_{name}" for name in where)
        values = {**change, **{f"w_{name}": value for name, value in where.items()}}
        with self.engine.begin() as connection:
            connection.execute(
                text(f"UPDATE {self.quoted(table, table)} SET {changed} WHERE {held}"), values
            )

    def delete(self, table: str, **where: Any) -> None:
        held = " AND ".join(f"{self.quoted(table, name)} = :{name}" for name in where)
        with self.engine.begin() as connection:
            connection.execute(text(f"DELETE FROM {self.quoted(table, table)} WHERE {held}"), where)

    def export(self, directory: Path) -> None:
        """Writes what is read of the tables as Derby's exports have it."""
        directory.mkdir()
        for table, columns in TABLES.items():
            if table not in self.definitions():
                continue
            listed = ", ".join(self.quoted(table, name) for name in columns)
            with self.engine.begin() as connection, open(
                directory / f"{table}.csv", "w", encoding="utf-8", newline=""
            ) as file:  # fmt: skip
                rows = connection.execute(text(f"SELECT {listed} FROM {self.quoted(table, table)}"))
                csv.writer(file, quoting=csv.QUOTE_NONNUMERIC).writerows(map(tuple, rows))

    # ---- tables

    def add_database(
        self, name: str, catalog: str = "hive", location: str | None = None, managed: str | None = None
    ) -> int:  # fmt: skip
        """``managed``: where managed tables are made, of Hive 4."""
        number = next(self.ids)
        of_managed = {} if self.is_old else {"DB_MANAGED_LOCATION_URI": managed}
        self.insert(
            "DBS", DB_ID=number, DB_LOCATION_URI=location or f"file:/warehouse/{name}.db", NAME=name, CTLG_NAME=catalog, **of_managed
        )  # fmt: skip
        return number

    def _storage(self, location: str | None, orc: bool, columns: int | None, buckets: int) -> int:
        number = next(self.ids)
        self.insert("SERDES", SERDE_ID=number, NAME=None, SLIB=ORC_SERDE if orc else TEXT_SERDE)
        self.insert(
            "SDS", SD_ID=number, INPUT_FORMAT=ORC if orc else TEXT, IS_COMPRESSED=False, LOCATION=location, NUM_BUCKETS=buckets,
            OUTPUT_FORMAT="", SERDE_ID=number, CD_ID=columns, IS_STOREDASSUBDIRECTORIES=False,
        )  # fmt: skip
        return number

    def add_table(
        self, database: int, name: str, location: str | None, facts: TableFacts, *,
        kind: str = "MANAGED_TABLE", orc: bool = True, properties: Mapping[str, str] | None = None,
    ) -> int:  # fmt: skip
        """``facts``: columns, keys, buckets, kind of transactions. Its write ids are another
        matter.
        """
        table = next(self.ids)
        self.insert("CDS", CD_ID=table)
        for place, column in reversed(list(enumerate(facts.columns))):
            self.insert(
                "COLUMNS_V2", CD_ID=table, COMMENT=column.comment, COLUMN_NAME=column.name, TYPE_NAME=str(column.type), INTEGER_IDX=place
            )  # fmt: skip
        for place, column in enumerate(facts.partition_columns):
            self.insert(
                "PARTITION_KEYS", TBL_ID=table, PKEY_COMMENT=column.comment, PKEY_NAME=column.name, PKEY_TYPE=str(column.type),
                INTEGER_IDX=place,
            )  # fmt: skip
        bucketing = facts.bucketing
        storage = self._storage(location, orc, table, bucketing.count if bucketing else -1)
        if bucketing is not None:
            for place, one in enumerate(bucketing.columns):
                self.insert("BUCKETING_COLS", SD_ID=storage, BUCKET_COL_NAME=one, INTEGER_IDX=place)
            for place, key in enumerate(bucketing.sorted_by):
                self.insert(
                    "SORT_COLS", SD_ID=storage, COLUMN_NAME=key.name, ORDER=int(not key.descending), INTEGER_IDX=place
                )  # fmt: skip
        of_kind = {"bucketing_version": str(bucketing.version)} if bucketing else {}
        if facts.transactional:
            of_kind["transactional"] = "true"
            of_kind["transactional_properties"] = "insert_only" if facts.insert_only else "default"
        for key, value in {
            **of_kind,
            **(properties or {}),
            "comment": "it's a \N{SNOWMAN}",
        }.items():
            self.insert("TABLE_PARAMS", TBL_ID=table, PARAM_KEY=key, PARAM_VALUE=value)
        self.insert(
            "TBLS", TBL_ID=table, CREATE_TIME=1_700_000_000 + table, DB_ID=database, LAST_ACCESS_TIME=0, OWNER="hive", RETENTION=0, SD_ID=storage,
            TBL_NAME=name, TBL_TYPE=kind, VIEW_EXPANDED_TEXT=None, IS_REWRITE_ENABLED=False,
        )  # fmt: skip
        return table

    def add_partition(
        self, table: int, name: str, values: Sequence[str], location: str, *, orc: bool = True
    ) -> int:
        number, storage = next(self.ids), self._storage(location, orc, None, -1)
        self.insert(
            "PARTITIONS", PART_ID=number, CREATE_TIME=1, LAST_ACCESS_TIME=0, PART_NAME=name, SD_ID=storage, TBL_ID=table
        )  # fmt: skip
        for place, value in reversed(list(enumerate(values))):
            self.insert("PARTITION_KEY_VALS", PART_ID=number, PART_KEY_VAL=value, INTEGER_IDX=place)
        return number

    # ---- transactions

    def txn_row(
        self, txn_id: int, state: str, *, started: int | None = None, kind: int = 0
    ) -> None:
        at = 1_700_000_000_000 + 60_000 * txn_id if started is None else started
        self.insert(
            "TXNS", TXN_ID=txn_id, TXN_STATE=state, TXN_STARTED=at, TXN_LAST_HEARTBEAT=at, TXN_USER="hive", TXN_HOST="h", TXN_TYPE=kind
        )  # fmt: skip

    def txn(
        self, txn_id: int, state: str, written: Mapping[TableName, int] | None = None, *, kind: int = 0, started: int | None = None
    ) -> None:  # fmt: skip
        """A transaction with its write ids. Hive 3 deletes the row of one that has committed."""
        if state != "c" or not self.is_old:
            self.txn_row(txn_id, state, kind=kind, started=started)
        if self.is_old:
            self.delete_all("NEXT_TXN_ID")
            self.insert("NEXT_TXN_ID", NTXN_NEXT=txn_id + 1)
        for name, write_id in (written or {}).items():
            catalog = {"T2W_CATALOG": "hive"} if self.has_catalogs else {}
            self.insert(
                "TXN_TO_WRITE_ID", T2W_TXNID=txn_id, **catalog, T2W_DATABASE=name.database, T2W_TABLE=name.table, T2W_WRITEID=write_id
            )  # fmt: skip
            self.next_write_id(name, write_id + 1)

    def delete_all(self, table: str) -> None:
        with self.engine.begin() as connection:
            connection.execute(text(f"DELETE FROM {self.quoted(table, table)}"))

    def next_write_id(self, name: TableName, following: int) -> None:
        catalog = {"NWI_CATALOG": "hive"} if self.has_catalogs else {}
        self.delete("NEXT_WRITE_ID", NWI_DATABASE=name.database, NWI_TABLE=name.table)
        self.insert(
            "NEXT_WRITE_ID", **catalog, NWI_DATABASE=name.database, NWI_TABLE=name.table, NWI_NEXT=following
        )  # fmt: skip

    def end(self, txn_id: int, state: str) -> None:
        """An open transaction ends. Hive 3 deletes the row of one that commits."""
        if state == "c" and self.is_old:
            self.delete("TXNS", TXN_ID=txn_id)
        else:
            self.update("TXNS", {"TXN_STATE": state}, TXN_ID=txn_id)

    def fill(
        self, database: str, name: str, location: str, facts: TableFacts, *, first_txn: int = 10,
        open: Iterable[int] = (), aborted: Iterable[int] = (), known: Iterable[int] = (),
    ) -> int:  # fmt: skip
        """A table with all that a dump tells of it: each open and each aborted write id in a
        transaction, and committed ones whose rows are still there.
        """
        db_id = (
            self.add_database(database)
            if not self.has_database(database)
            else self.database(database)
        )
        table = self.add_table(db_id, name, location, facts)
        for one in facts.partitions:
            shown = "/".join(
                f"{c.name}={v}" for c, v in zip(facts.partition_columns, one.values, strict=True)
            )
            path = one.path if one.path.startswith("/") else f"{location}/{one.path}"
            self.add_partition(table, shown, one.values, path)
        full = TableName(database, name)
        states = dict.fromkeys(open, "o") | dict.fromkeys(aborted, "a") | dict.fromkeys(known, "c")
        for number, write_id in enumerate(sorted(states), first_txn):
            self.txn(number, states[write_id], {full: write_id})
        if facts.transactional:
            self.next_write_id(full, facts.high_watermark + 1)
        return table

    def has_database(self, name: str) -> bool:
        return bool(self._database_ids(name))

    def database(self, name: str) -> int:
        return self._database_ids(name)[0]

    def _database_ids(self, name: str) -> list[int]:
        with self.engine.begin() as connection:
            query = f"SELECT {self.quoted('DBS', 'DB_ID')} FROM {self.quoted('DBS', 'DBS')} WHERE {self.quoted('DBS', 'NAME')} = :name"
            return list(connection.scalars(text(query), {"name": name}))
