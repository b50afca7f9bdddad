"""The catalog of a Hive metastore. What stands in a lock's way is kept out by locks, which the
statements of the catalog have: the metastore has no step of its own for several calls.

Hive 4 makes of a table what it thinks right: a managed one without transactions an external one,
in another directory, whose files go with it. So it is asked first what it would make (see
``planned_table``), and a table that would not be the one that was asked for then is refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

from acidsql.acid.ids import FIRST_WRITE_ID, TxnId, WriteId
from acidsql.batched import batched
from acidsql.catalog.attached import is_attached, is_overlay
from acidsql.catalog.model import (
    DEFAULT_DATABASE,
    Constraint,
    ConstraintKind,
    Database,
    Partition,
    Table,
    TableKind,
    TableName,
)
from acidsql.catalog.names import (
    changed_meanwhile,
    default_database_stays,
    no_database,
    no_table,
    not_empty,
    other_partition_columns,
    table_exists,
    table_location,
)
from acidsql.catalog.partitions import Among, chosen, name_of
from acidsql.catalog.statistics import StatisticsChange
from acidsql.errors import (
    AlreadyExistsError,
    DatabaseNotFoundError,
    NotSupportedError,
    TableNotFoundError,
    WriteConflictError,
)
from acidsql.metastore.hive.calls.catalog import (
    ADD_CHECK,
    ADD_FOREIGN_KEY,
    ADD_PARTITIONS,
    ADD_PRIMARY_KEY,
    ADD_UNIQUE,
    CREATE_CONSTRAINED,
    CREATE_DATABASE,
    CREATE_TABLE,
    CREATE_TABLE_REQ,
    DROP_CONSTRAINT,
    DROP_DATABASE,
    DROP_PARTITION,
    DROP_TABLE,
    GET_ALL_CONSTRAINTS,
    GET_ALL_DATABASES,
    GET_ALL_TABLES,
    GET_CHECK,
    GET_DATABASE,
    GET_DEFAULT,
    GET_FOREIGN_KEYS,
    GET_NOT_NULL,
    GET_PARTITION_FACTS,
    GET_PRIMARY_KEYS,
    GET_TABLES_BY_TYPE,
    GET_TABLES_WITH_LOCATION,
    GET_UNIQUE,
    RENAME_PARTITION,
    RENAME_PARTITION_REQ,
    TRANSLATE_TABLE,
)
from acidsql.metastore.hive.calls.reading import (
    ALREADY_EXISTS,
    GET_PARTITION_NAMES,
    INSERT_ONLY_TABLES,
    NO_LIMIT,
    NO_SUCH_OBJECT,
)
from acidsql.metastore.hms.analyzing import HiveAnalyzing
from acidsql.metastore.hms.server import AGENT, CAPABILITIES
from acidsql.metastore.hms.statistics import AT_ONCE
from acidsql.metastore.hms.tables import (
    CATALOG,
    Struct,
    constraint_structs,
    constraints_of,
    database_of,
    database_struct,
    given_path,
    partition_of,
    partition_struct,
    real_path,
    table_of,
    table_struct,
)
from acidsql.txn.manager import OperationType, TxnComponent

_TABLES_AT_ONCE = 200
_OF_LOCATION = ["dbName", "tableName", "tableType", "sd.location"]
"""What is asked of each of many tables: a sixth of the time that whole ones took."""


class HiveCatalog(HiveAnalyzing):
    """Implements Catalog."""

    moves_directories = True

    # ---- databases

    @cached_property
    def warehouse(self) -> str:
        """The directory of managed tables."""
        return self._configured("warehouse.dir")

    @cached_property
    def _external(self) -> str:
        """The directory of external tables; that of managed ones in Hive 3."""
        return "" if self.is_hive_3 else self._configured("warehouse.external.dir")

    def _configured(self, name: str) -> str:
        return given_path(self._config(name))

    def create_database(self, database: Database) -> None:
        self._ask(
            CREATE_DATABASE,
            refusals={ALREADY_EXISTS: AlreadyExistsError},
            database=database_struct(database),
        )

    def drop_database(
        self, name: str, *, cascade: bool = False, keeps_directory: bool = False
    ) -> tuple[Table, ...]:
        """Drops the tables one by one, and then the database, whose directories the metastore
        deletes with all that is in them: so they stay where something may be another's.
        """
        if name == DEFAULT_DATABASE:
            raise default_database_stays()
        names = self.list_tables(name)
        if names and not cascade:
            raise not_empty(name, len(names))
        dropped = tuple(self.drop_table(TableName(name, table)) for table in names)
        is_shared = any(table.kind is TableKind.EXTERNAL for table in dropped)
        keeps_directory |= is_shared or self._holds_others(name)
        self._ask(DROP_DATABASE, name=name, deleteData=not keeps_directory, cascade=False)
        return dropped

    def _holds_others(self, name: str) -> bool:
        """Whether a table, another database or the warehouse lies in a directory of a database that
        has no tables.
        """
        structs = {one: self._ask_for(GET_DATABASE, name=one) for one in self.list_databases()}
        own = {real_path(path) for path in _directories(structs.pop(name, None))}
        others = [self.warehouse, self._external, *(path for _, path in self.list_locations())]
        others += [path for struct in structs.values() for path in _directories(struct)]
        return any(
            f"{real_path(one)}/".startswith(f"{path}/") for one in others if one for path in own
        )

    def find_database(self, name: str) -> Database | None:
        struct = self._ask_for(GET_DATABASE, name=name)
        if struct is None:
            return None
        return database_of(struct, managed=self.warehouse, external=self._external)

    def list_databases(self) -> tuple[str, ...]:
        return tuple(sorted(self._ask(GET_ALL_DATABASES, again=True)))

    def _require_database(self, name: str) -> Database:
        database = self.find_database(name)
        if database is None:
            raise no_database(name)
        return database

    # ---- tables

    def planned_table(self, table: Table, *, located: bool) -> Table:
        is_managed = table.kind is TableKind.MANAGED
        if self.is_hive_3 or not is_managed or table.is_transactional:
            return table
        asked = table if located else replace(table, location="")
        planned = table_of(self._ask(TRANSLATE_TABLE, **self._creation(asked)))
        if planned.kind is not TableKind.EXTERNAL:
            return table
        return replace(
            table,
            kind=planned.kind,
            location=planned.location or table.location,
            properties=planned.properties,
        )

    def create_table(self, table: Table) -> Table:
        return self._create_table(self._prepared(table))

    def _prepared(self, table: Table) -> Table:
        """The table with a location. NotSupportedError for one that the metastore would not make as
        it is.
        """
        database = self._require_database(table.name.database)
        is_view = table.kind is TableKind.VIEW
        location = table.location or table_location(database.location, table.name.table)
        prepared = replace(
            table,
            location="" if is_view else location,
            created_at=table.created_at or int(time.time()),
        )
        if not self.is_hive_3 and not is_view:
            translated = self._ask(TRANSLATE_TABLE, **self._creation(prepared))
            _check_same(prepared, table_of(translated))
        return prepared

    def _creation(self, table: Table) -> dict[str, Any]:
        struct, constraints = table_struct(table), constraint_structs(table.name, table.constraints)
        if self.is_hive_3:
            return {"tbl": struct} | constraints
        request = {
            "table": struct,
            "processorCapabilities": CAPABILITIES,
            "processorIdentifier": AGENT,
        }
        return {"request": request | constraints}

    def _create_table(self, table: Table) -> Table:
        of_hive_3 = CREATE_CONSTRAINED if table.constraints else CREATE_TABLE
        self._ask(
            of_hive_3 if self.is_hive_3 else CREATE_TABLE_REQ,
            refusals={
                ALREADY_EXISTS: AlreadyExistsError,
                NO_SUCH_OBJECT: DatabaseNotFoundError,
            },
            **self._creation(table),
        )
        stored = self._require_table(table.name)
        try:
            _check_same(table, stored)
        except NotSupportedError:
            self._drop(table.name, delete=False)
            raise
        return stored

    def creating_table(
        self,
        table: Table,
        partitions: Iterable[Partition] = (),
        *,
        write_id: WriteId = FIRST_WRITE_ID,
        written: Iterable[StatisticsChange] = (),
    ) -> AbstractContextManager[None]:
        """Does as CREATE TABLE AS does in Hive 4: the write id is a transaction's, which commits
        once the table is there. Should the process die in between there is a table without rows.
        """
        if is_attached(table) or is_overlay(table):
            self._cannot("have attached tables")
        if table.is_transactional:
            return self._creating_with_rows(self._prepared(table), tuple(partitions), write_id)
        return self._creating(self._prepared(table), tuple(partitions))

    @contextmanager
    def _creating(self, table: Table, partitions: tuple[Partition, ...]) -> Iterator[None]:
        if self.find_table(table.name) is not None:
            raise table_exists(table.name)
        yield
        self._create_table(table)
        self._add_first_partitions(table, partitions)

    @contextmanager
    def _creating_with_rows(
        self, table: Table, partitions: tuple[Partition, ...], write_id: WriteId
    ) -> Iterator[None]:
        with self._own_txn() as txn_id:
            if self.find_table(table.name) is not None:
                raise table_exists(table.name)
            if self.allocate_write_id(txn_id, table.name) != write_id:
                raise WriteConflictError(
                    f'another session makes a table "{table.name}", or has dropped one meanwhile',
                    hint="Run the statement again.",
                )
            names: list[str | None] = [name_of(table, one) for one in partitions]
            self.add_components(
                txn_id,
                [
                    TxnComponent(
                        table=table.name,
                        partition=name,
                        operation=OperationType.INSERT,
                        write_id=write_id,
                    )
                    for name in names or [None]
                ],
            )
            yield
            self._create_table(table)
            self._add_first_partitions(table, partitions)

    def _add_first_partitions(self, table: Table, partitions: tuple[Partition, ...]) -> None:
        if partitions:
            self.add_partitions(table.name, partitions)

    def drop_table(self, name: TableName) -> Table:
        """Drops a table; the metastore deletes its directories."""
        table = self._require_table(name)
        self._drop(name, delete=table.owns_files)
        return table

    def _drop(self, name: TableName, *, delete: bool) -> None:
        self._ask(
            DROP_TABLE,
            refusals={NO_SUCH_OBJECT: TableNotFoundError},
            dbname=name.database,
            name=name.table,
            deleteData=delete,
        )

    def find_table(self, name: TableName) -> Table | None:
        self._check_policies()
        struct = self._whole_table(name)
        if struct is None:
            return None
        is_view = struct.get("tableType") == TableKind.VIEW
        return table_of(struct, () if is_view else self._constraints(name))

    def _constraints(self, name: TableName) -> tuple[Constraint, ...]:
        if not self.is_hive_3:
            of_table = {"dbName": name.database, "tblName": name.table, "catName": CATALOG}
            answer = self._ask_for(GET_ALL_CONSTRAINTS, request=of_table) or {}
            return constraints_of(answer.get("allTableConstraints", {}))
        request = {"catName": CATALOG, "db_name": name.database, "tbl_name": name.table}
        child = {
            "catName": CATALOG,
            "foreign_db_name": name.database,
            "foreign_tbl_name": name.table,
        }
        return constraints_of(
            {
                fields: (self._ask_for(method, request=of) or {}).get("all", [])
                for fields, method, of in (
                    ("primaryKeys", GET_PRIMARY_KEYS, request),
                    ("foreignKeys", GET_FOREIGN_KEYS, child),
                    ("uniqueConstraints", GET_UNIQUE, request),
                    ("notNullConstraints", GET_NOT_NULL, request),
                    ("defaultConstraints", GET_DEFAULT, request),
                    ("checkConstraints", GET_CHECK, request),
                )
            }
        )

    def _require_table(self, name: TableName) -> Table:
        table = self.find_table(name)
        if table is None:
            raise no_table(name)
        return table

    def _require_unchanged(self, table: Table) -> Struct:
        """The struct of a table that is what it was. WriteConflictError if it is not."""
        struct = self._whole_table(table.name)
        if struct is None:
            raise no_table(table.name)
        if table_of(struct, table.constraints) != table:
            raise changed_meanwhile(table.name)
        return struct

    def alter_table(
        self, before: Table, after: Table, *, move: Callable[[], None] | None = None
    ) -> None:
        if move is not None:
            self._cannot("move the files of a table along with its entry")
        if after.constraints != before.constraints:
            self._change_constraints(before, after)
            return
        struct = table_struct(after, self._require_unchanged(before))
        if not before.is_transactional or self.is_hive_3:
            self._write_table(before.name, struct, None)
            return
        with self._own_txn() as txn_id:
            self._write_table(before.name, struct, txn_id)

    def _change_constraints(self, before: Table, after: Table) -> None:
        """Adds and drops constraints: each is a call of its own, and a statement has one."""
        if replace(after, constraints=before.constraints) != before:
            self._cannot(
                "change a table together with its constraints",
                "a constraint speaks of a column that is changed: DROP CONSTRAINT before",
            )
        self._require_unchanged(before)
        for one in before.constraints:
            if one not in after.constraints:
                request = {
                    "dbname": before.name.database,
                    "tablename": before.name.table,
                    "constraintname": one.name,
                    "catName": CATALOG,
                }
                self._ask(DROP_CONSTRAINT, req=request)
        for one in after.constraints:
            if one not in before.constraints:
                method, columns = _ADDED[one.kind]
                (structs,) = constraint_structs(before.name, [one]).values()
                self._ask(method, req={columns: structs})

    def rename_table(
        self, before: Table, after: Table, *, move: Callable[[], None] | None = None
    ) -> None:
        """Renames a table, and what transactions know of it; the metastore moves its directory and
        those of its partitions where its database gives it. Hive: HiveAlterHandler.alterTable.
        """
        if self.find_table(after.name) is not None:
            raise AlreadyExistsError(f"new table {after.name} already exists")
        struct = self._require_unchanged(before)
        sent = table_struct(replace(after, location=before.location), struct)
        self._write_table(before.name, sent, None)

    def exchange_tables(self, before: Table, aside: TableName, new: Table) -> None:
        self._cannot("exchange two tables in one step", "DROP the table, and CREATE it anew")

    def adopting_table(
        self, before: Table, after: Table, *, uncounted: Sequence[WriteId], highest_txn: TxnId
    ) -> AbstractContextManager[None]:
        self._cannot("take over a table that another store tells of")

    def refresh_attached(
        self, before: Table, after: Table, partitions: Sequence[Partition]
    ) -> Table:
        self._cannot("have attached tables")

    def list_tables(self, database: str, kind: TableKind | None = None) -> tuple[str, ...]:
        self._require_database(database)
        if kind is None:
            return tuple(sorted(self._ask(GET_ALL_TABLES, again=True, db_name=database)))
        names = self._ask(
            GET_TABLES_BY_TYPE, again=True, db_name=database, pattern="*", tableType=kind.value
        )
        return tuple(sorted(names))

    def list_locations(self) -> tuple[tuple[TableName, str], ...]:
        """Tables alone: partitions that lie elsewhere are too many to be asked for."""
        return tuple(
            (TableName(database, struct["tableName"]), path)
            for database in self.list_databases()
            for struct in self._located(database)
            if (path := given_path(struct.get("sd", {}).get("location")))
            and struct.get("tableType") != TableKind.VIEW
        )

    def _located(self, database: str) -> Iterator[Struct]:
        names = self._ask(GET_ALL_TABLES, again=True, db_name=database)
        for batch in batched(names, _TABLES_AT_ONCE):
            request = {
                "dbName": database,
                "tblNames": batch,
                "capabilities": {"values": [INSERT_ONLY_TABLES]},
                "catName": CATALOG,
                "projectionSpec": {"fieldList": _OF_LOCATION},
            }
            yield from self._ask(GET_TABLES_WITH_LOCATION, again=True, req=request)["tables"]

    # ---- partitions

    def add_partitions(
        self,
        name: TableName,
        partitions: Iterable[Partition],
        *,
        if_not_exists: bool = False,
        txn_id: TxnId | None = None,
    ) -> tuple[Partition, ...]:
        if txn_id is not None:
            self._beat_txn(txn_id)
        struct = self._whole_table(name)
        if struct is None:
            raise no_table(name)
        table, wanted = table_of(struct), tuple(partitions)
        if any(len(one.values) != len(table.partition_columns) for one in wanted):
            raise other_partition_columns(name)
        if if_not_exists:
            known = {one.values for one in self._partitions(table, wanted)}
            wanted = tuple(one for one in wanted if one.values not in known)
        if wanted:
            request = {
                "dbName": name.database,
                "tblName": name.table,
                "parts": [partition_struct(struct, one) for one in wanted],
                "ifNotExists": if_not_exists,
                "needResult": False,
                "catName": CATALOG,
            }
            self._ask(
                ADD_PARTITIONS, refusals={ALREADY_EXISTS: AlreadyExistsError}, request=request
            )
        return wanted

    def drop_partitions(
        self,
        table: Table,
        partitions: Iterable[Partition],
        *,
        take_away: Callable[[tuple[Partition, ...]], Mapping[str, str]] | None = None,
    ) -> tuple[Partition, ...]:
        """Drops partitions one by one; the metastore deletes their directories."""
        self._require_unchanged(table)
        known = self._partitions(table, tuple(partitions))
        for one in known:
            self._ask(
                DROP_PARTITION,
                db_name=table.name.database,
                tbl_name=table.name.table,
                part_vals=list(one.values),
                deleteData=table.owns_files,
            )
        return known

    def alter_partition(
        self,
        table: Table,
        before: Partition,
        after: Partition,
        *,
        move: Callable[[], None] | None = None,
    ) -> None:
        if before.values == after.values:
            self._cannot("have a partition moved by acidsql", "ALTER TABLE in Hive does it")
        self._require_unchanged(table)
        structs = self._whole_partitions(table.name, [name_of(table, before)])
        if not structs or partition_of(structs[0]) != before:
            raise changed_meanwhile(table.name)
        if self._partitions(table, [after]):
            raise AlreadyExistsError(f"partition {name_of(table, after)} already exists")
        sent = structs[0] | {"values": list(after.values)}
        if self.is_hive_3:
            self._ask(
                RENAME_PARTITION,
                db_name=table.name.database,
                tbl_name=table.name.table,
                part_vals=list(before.values),
                new_part=sent,
            )
            return
        request = {
            "catName": CATALOG,
            "dbName": table.name.database,
            "tableName": table.name.table,
            "partVals": list(before.values),
            "newPart": sent,
        }
        if table.is_transactional:
            request["validWriteIdList"] = str(self.valid_write_ids(table.name, self.valid_txns()))
        self._ask(RENAME_PARTITION_REQ, req=request)

    def list_partitions(self, table: Table, among: Among | None = None) -> tuple[Partition, ...]:
        names = self._listed_names(table)
        if among is not None:
            names = chosen(among, names)
        return self._named_partitions(table, names)

    def count_partitions(self, table: Table) -> int:
        return len(self._listed_names(table))

    def _listed_names(self, table: Table) -> list[str]:
        if not table.partition_columns:
            return []
        names = self._ask(
            GET_PARTITION_NAMES,
            again=True,
            db_name=table.name.database,
            tbl_name=table.name.table,
            max_parts=NO_LIMIT,
        )
        return sorted(names)

    def find_partition(self, table: Table, name: str) -> Partition | None:
        return next(iter(self._named_partitions(table, [name])), None)

    def _partitions(self, table: Table, partitions: Sequence[Partition]) -> tuple[Partition, ...]:
        """The ones of the partitions that are there."""
        return self._named_partitions(table, [name_of(table, one) for one in partitions])

    def _named_partitions(self, table: Table, names: Sequence[str]) -> tuple[Partition, ...]:
        """The partitions of these names that are there, in their order."""
        by_name: dict[str, Partition] = {}
        for batch in batched(names, AT_ONCE):
            structs = self._ask(
                GET_PARTITION_FACTS,
                again=True,
                db_name=table.name.database,
                tbl_name=table.name.table,
                names=list(batch),
            )
            for partition in map(partition_of, structs):
                by_name[name_of(table, partition)] = partition
        return tuple(by_name[name] for name in names if name in by_name)

    # ---- the rest

    def clock(self) -> int:
        return int(time.time() * 1000)


_ADDED = {
    ConstraintKind.PRIMARY_KEY: (ADD_PRIMARY_KEY, "primaryKeyCols"),
    ConstraintKind.FOREIGN_KEY: (ADD_FOREIGN_KEY, "foreignKeyCols"),
    ConstraintKind.UNIQUE: (ADD_UNIQUE, "uniqueConstraintCols"),
    ConstraintKind.CHECK: (ADD_CHECK, "checkConstraintCols"),
}
"""The kinds that ALTER TABLE adds."""


def _directories(database: Struct | None) -> list[str]:
    """The directories of a database: of external tables, and of managed ones."""
    if database is None:
        return []
    locations = (database.get("locationUri"), database.get("managedLocationUri"))
    return [path for path in map(given_path, locations) if path]


def _check_same(asked: Table, result: Table) -> None:
    """NotSupportedError for a table that the metastore would not make as it was asked to."""
    if result.kind is not asked.kind:
        raise NotSupportedError(
            f"the metastore would make table {asked.name} {result.kind}, not {asked.kind}",
            detail="it makes managed tables without transactions external ones",
            hint="Say CREATE EXTERNAL TABLE, or TBLPROPERTIES ('transactional'='true').",
        )
    if result.is_transactional != asked.is_transactional:
        raise NotSupportedError(
            f"the metastore would not make table {asked.name} as transactional as asked for"
        )
    if asked.location and real_path(result.location) != real_path(asked.location):
        raise NotSupportedError(
            f'the metastore would put table {asked.name} into "{result.location}", not'
            f' "{asked.location}"',
            hint="LOCATION says where a table lies that the metastore lets lie there.",
        )
