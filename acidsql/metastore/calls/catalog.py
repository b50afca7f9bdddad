"""The catalog of the embedded metastore: databases and tables. Names come in lower case;
directories are the caller's business.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from acidsql.acid.ids import CONVERSION_SEED, FIRST_WRITE_ID, TxnId, WriteId
from acidsql.catalog.attached import (
    attached_write_ids,
    check_not_on_its_way,
    is_attached,
    is_overlay,
)
from acidsql.catalog.model import DEFAULT_DATABASE, Database, Partition, Table, TableKind, TableName
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
from acidsql.catalog.partitions import lies_elsewhere, name_of, own_directories
from acidsql.catalog.statistics import StatisticsChange
from acidsql.errors import AlreadyExistsError, WriteConflictError
from acidsql.metastore import successors
from acidsql.metastore.locations import WAREHOUSE, given_location, stored_location
from acidsql.metastore.partition_txns import (
    forget_partitions,
    keep_out,
    move_partition,
    refuse_writers,
)
from acidsql.metastore.rows.leftovers import (
    delete_directories,
    insert_directories,
    keep_at,
    mark_stray,
    move_kept,
)
from acidsql.metastore.rows.partitions import (
    count_partitions,
    delete_partitions,
    find_partition,
    insert_partitions,
    read_partitions,
    update_partition,
)
from acidsql.metastore.rows.readers import part_readers, readers_of
from acidsql.metastore.rows.runs import any_taken
from acidsql.metastore.rows.statistics import (
    alter_statistics,
    forget_statistics,
    record_directories,
)
from acidsql.metastore.rows.tables import (
    change_constraints,
    delete_table,
    find_table,
    find_table_id,
    insert_table,
    list_names,
    rename_table,
    table_locations,
    update_bucketing,
    update_location,
    update_table,
)
from acidsql.metastore.rows.txns import forget_transactions, rename_transactions, require_open
from acidsql.metastore.sql import Connection, Row, delete, insert, select
from acidsql.metastore.store import Store, insert_row
from acidsql.metastore.tables import DATABASE_PARAMS, DBS
from acidsql.txn.leftovers import hidden_name

if TYPE_CHECKING:
    from acidsql.catalog.partitions import Among


class EmbeddedCatalog:
    """Implements Catalog."""

    moves_directories = False

    def __init__(self, store: Store) -> None:
        self._store = store

    def create_database(self, database: Database) -> None:
        """Stores a database. Without a location it lies at ``<warehouse>/<name>.db``."""
        with self._store.write() as connection:
            if _db_id(connection, database.name) is not None:
                raise AlreadyExistsError(f'database "{database.name}" already exists')
            self._insert_database(connection, database)

    def planned_table(self, table: Table, *, located: bool) -> Table:
        return table

    def drop_database(
        self, name: str, *, cascade: bool = False, keeps_directory: bool = False
    ) -> tuple[Table, ...]:
        if name == DEFAULT_DATABASE:
            raise default_database_stays()
        with self._store.write() as connection:
            db_id = _require_database(connection, name)
            tables = list_names(connection, db_id)
            if tables and not cascade:
                raise not_empty(name, len(tables))
            database = self._find_database(connection, name)
            names = [TableName(name, table) for table in tables]
            readers = {one for table in names for one in readers_of(connection, table)}
            dropped = tuple(self._drop_table(connection, table) for table in names)
            # a directory of others, read by an external table or an overlay, may lie in it
            keeps_directory |= any(t.kind is TableKind.EXTERNAL or is_overlay(t) for t in dropped)
            if database is not None and not keeps_directory:
                self._leave_directories(connection, [database.location], readers)
            connection.execute(delete(DBS).where(DBS.c.DB_ID == db_id))
            return dropped

    def find_database(self, name: str) -> Database | None:
        with self._store.read() as connection:
            return self._find_database(connection, name)

    def _find_database(self, connection: Connection, name: str) -> Database | None:
        row = connection.execute(select(DBS).where(DBS.c.NAME == name)).first()
        if row is None:
            return None
        params = DATABASE_PARAMS.c
        properties = connection.execute(
            select(params.PARAM_KEY, params.PARAM_VALUE)
            .where(params.DB_ID == row.DB_ID)
            .order_by(params.PARAM_KEY)
        )
        return Database(
            name=row.NAME,
            location=given_location(row.DB_LOCATION_URI, self._store.warehouse),
            comment=row.DESC,
            owner=row.OWNER_NAME or "",
            properties=_mapping(properties),
        )

    def list_databases(self) -> tuple[str, ...]:
        with self._store.read() as connection:
            return tuple(connection.scalars(select(DBS.c.NAME).order_by(DBS.c.NAME)))

    def create_table(self, table: Table) -> Table:
        """Stores a table. Without a location it lies at ``<location of the database>/<name>``."""
        with self._store.write() as connection:
            return self._create_table(connection, table)

    @contextmanager
    def creating_table(
        self,
        table: Table,
        partitions: Iterable[Partition] = (),
        *,
        write_id: WriteId = FIRST_WRITE_ID,
        written: Iterable[StatisticsChange] = (),
    ) -> Iterator[None]:
        with self._store.write() as connection:
            stored = self._create_table(connection, table)
            insert_partitions(
                connection, stored, partitions, self._store.warehouse, if_not_exists=False
            )
            of_others = attached_write_ids(stored)
            if of_others is not None and is_attached(stored):
                successors.begin_attached(connection, stored.name)
            elif of_others is not None:  # an overlay
                successors.begin_behind(connection, stored.name, of_others.high_watermark)
            elif stored.is_transactional:
                successors.begin_with(connection, stored.name, write_id)
            record_directories(connection, stored.table_id, tuple(written))
            yield

    @contextmanager
    def adopting_table(
        self, before: Table, after: Table, *, uncounted: Sequence[WriteId], highest_txn: TxnId
    ) -> Iterator[None]:
        from acidsql.metastore.adoption import adopt

        check_not_on_its_way(after)
        with self._store.write() as connection:
            self._require_unchanged(connection, before)
            adopt(
                self._store,
                connection,
                before,
                after,
                uncounted=uncounted,
                highest_txn=highest_txn,
            )
            yield

    def leave_table(self, before: Table, after: Table) -> None:
        """Has a table be ``after`` from now on, which is attached: nobody here writes it any more.
        WriteConflictError while somebody uses it, or if it or its write ids are others by now.
        """
        from acidsql.metastore.adoption import leave

        with self._store.write() as connection:
            self._require_unchanged(connection, before)
            leave(self._store, connection, before, after)

    def has_taken_files(self, table: Table) -> bool:
        """Whether COPY INTO .. ONCE has put files of its on record."""
        with self._store.read() as connection:
            return any_taken(connection, table.table_id)

    def refresh_attached(
        self, before: Table, after: Table, partitions: Sequence[Partition]
    ) -> Table:
        from acidsql.metastore.refreshing import refresh

        with self._store.write() as connection:
            stored = find_table(connection, before.name, self._store.warehouse)
            if stored is None or stored.table_id != before.table_id or not is_attached(stored):
                raise WriteConflictError(
                    f'table "{before.name}" was changed by another session meanwhile',
                    hint="Run the statement again.",
                )
            refresh(self._store, connection, stored, after, partitions)
            return self._require_table(connection, before.name)

    def clock(self) -> int:
        with self._store.read() as connection:
            return self._store.now(connection)

    def _create_table(self, connection: Connection, table: Table) -> Table:
        db_id = _require_database(connection, table.name.database)
        if find_table_id(connection, db_id, table.name.table) is not None:
            raise table_exists(table.name)
        location = table.location or self._default_location(connection, db_id, table.name.table)
        complete = replace(
            table,
            location="" if table.kind is TableKind.VIEW else location,
            created_at=table.created_at or self._store.now(connection) // 1000,
        )
        # of a writer that had bound a table of that name, dropped since
        forget_transactions(connection, table.name)
        insert_table(connection, complete, db_id, self._store.warehouse)
        if complete.location:
            delete_directories(connection, [complete.location], self._store.warehouse)
        return self._require_table(connection, table.name)

    def drop_table(self, name: TableName) -> Table:
        with self._store.write() as connection:
            return self._drop_table(connection, name)

    def drop_on_its_way(self, name: TableName) -> None:
        """Drops a table that another metastore has: see ``catalog.attached``."""
        with self._store.write() as connection:
            self._drop_table(connection, name, on_its_way=True)

    def alter_table(
        self, before: Table, after: Table, *, move: Callable[[], None] | None = None
    ) -> None:
        with self._store.write() as connection:
            self._require_unchanged(connection, before)
            update_table(connection, after)
            if after.bucketing != before.bucketing:
                update_bucketing(connection, after)
            change_constraints(connection, before, after)
            if after.is_transactional and not before.is_transactional:
                # of a writer that had bound a table of that name, dropped since
                forget_transactions(connection, after.name)
                successors.begin_behind(
                    connection,
                    after.name,
                    CONVERSION_SEED if after.is_full_acid else FIRST_WRITE_ID,
                )
            if after.location != before.location:
                refuse_writers(connection, before.name)
                mark_stray(connection, before.name)
                update_location(connection, after, self._store.warehouse)
            alter_statistics(connection, before, after)
            if move is not None:
                move()

    def rename_table(
        self, before: Table, after: Table, *, move: Callable[[], None] | None = None
    ) -> None:
        with self._store.write() as connection:
            self._rename(connection, before, after)
            if move is not None:
                move()
                self._follow(connection, after.name, before.location, after.location)

    def exchange_tables(self, before: Table, aside: TableName, new: Table) -> None:
        with self._store.write() as connection:
            self._rename(connection, before, replace(before, name=aside))
            self._rename(connection, new, replace(new, name=before.name))

    def _rename(self, connection: Connection, before: Table, after: Table) -> None:
        self._require_unchanged(connection, before)
        db_id = _require_database(connection, after.name.database)
        if find_table_id(connection, db_id, after.name.table) is not None:
            raise AlreadyExistsError(f"new table {after.name} already exists")
        refuse_writers(connection, before.name)
        forget_transactions(connection, after.name)
        successors.rename_write_ids(connection, before.name, after.name)
        rename_transactions(connection, before.name, after.name)
        rename_table(connection, before, after, db_id, self._store.warehouse)

    def add_partitions(
        self,
        name: TableName,
        partitions: Iterable[Partition],
        *,
        if_not_exists: bool = False,
        txn_id: TxnId | None = None,
    ) -> tuple[Partition, ...]:
        with self._store.write() as connection:
            if txn_id is not None:
                require_open(connection, txn_id)
            table = self._require_table(connection, name)
            partitions = tuple(partitions)
            if any(
                len(partition.values) != len(table.partition_columns) for partition in partitions
            ):
                raise other_partition_columns(name)
            added = insert_partitions(
                connection, table, partitions, self._store.warehouse, if_not_exists=if_not_exists
            )
            elsewhere = [p for p in added if lies_elsewhere(table, p)]
            # a writer that began before looks at the default location
            keep_out(connection, name, [name_of(table, p) for p in elsewhere])
            return added

    def drop_partitions(
        self,
        table: Table,
        partitions: Iterable[Partition],
        *,
        take_away: Callable[[tuple[Partition, ...]], Mapping[str, str]] | None = None,
    ) -> tuple[Partition, ...]:
        with self._store.write() as connection:
            self._require_unchanged(connection, table)
            dropped = delete_partitions(connection, table, partitions, self._store.warehouse)
            if dropped:
                forget_partitions(
                    connection,
                    table.name,
                    [name_of(table, p) for p in dropped],
                    [name_of(table, p) for p in dropped if lies_elsewhere(table, p)],
                )
                if take_away is not None:
                    left = take_away(dropped)
                    # noted as moves until now, which would be undone
                    delete_directories(connection, left, self._store.warehouse)
                    self._note_directories(connection, left)
                    hidden = {new: old for new, old in left.items() if new != old}
                    readers = readers_of(connection, table.name)
                    keep_at(connection, hidden, readers, self._store.warehouse, moved=True)
            return dropped

    def alter_partition(
        self,
        table: Table,
        before: Partition,
        after: Partition,
        *,
        move: Callable[[], None] | None = None,
    ) -> None:
        with self._store.write() as connection:
            self._require_unchanged(connection, table)
            update_partition(connection, table, before, after, self._store.warehouse)
            move_partition(connection, table.name, name_of(table, before), name_of(table, after))
            if move is None and after.location != before.location:
                mark_stray(connection, table.name, [name_of(table, after)])
            if after.values == before.values:  # it is other files that lie there
                forget_statistics(connection, table, after)
            if move is not None:
                move()
                self._follow(connection, table.name, before.location, after.location)

    def list_partitions(self, table: Table, among: Among | None = None) -> tuple[Partition, ...]:
        if not table.partition_columns:
            return ()
        with self._store.read() as connection:
            return read_partitions(connection, table.table_id, self._store.warehouse, among)

    def count_partitions(self, table: Table) -> int:
        with self._store.read() as connection:
            return count_partitions(connection, table.table_id)

    def find_partition(self, table: Table, name: str) -> Partition | None:
        with self._store.read() as connection:
            return find_partition(connection, table.table_id, name, self._store.warehouse)

    def find_table(self, name: TableName) -> Table | None:
        with self._store.read() as connection:
            return find_table(connection, name, self._store.warehouse)

    def list_tables(self, database: str, kind: TableKind | None = None) -> tuple[str, ...]:
        with self._store.read() as connection:
            return list_names(connection, _require_database(connection, database), kind)

    def list_locations(self) -> tuple[tuple[TableName, str], ...]:
        with self._store.read() as connection:
            return table_locations(connection, self._store.warehouse)

    def _insert_database(self, connection: Connection, database: Database) -> None:
        location = database.location or os.path.join(self._store.warehouse, f"{database.name}.db")
        db_id = insert_row(
            connection,
            DBS,
            NAME=database.name,
            DESC=database.comment,
            DB_LOCATION_URI=stored_location(location, self._store.warehouse),
            OWNER_NAME=database.owner,
        )
        params = [
            {"DB_ID": db_id, "PARAM_KEY": key, "PARAM_VALUE": value}
            for key, value in database.properties.items()
        ]
        if params:
            connection.execute(insert(DATABASE_PARAMS), params)

    def _default_location(self, connection: Connection, db_id: int, table: str) -> str:
        stored = (
            connection.scalar(select(DBS.c.DB_LOCATION_URI).where(DBS.c.DB_ID == db_id))
            or WAREHOUSE
        )
        return table_location(given_location(stored, self._store.warehouse), table)

    def _drop_table(
        self, connection: Connection, name: TableName, *, on_its_way: bool = False
    ) -> Table:
        table = self._require_table(connection, name)
        if not on_its_way:
            check_not_on_its_way(table)
        partitions = read_partitions(connection, table.table_id, self._store.warehouse)
        readers = readers_of(connection, name)
        self._leave_directories(connection, own_directories(table, partitions), readers)
        successors.leave_write_ids(connection, name)
        forget_transactions(connection, name)
        if readers:
            part_readers(connection, name, table.table_id)
        delete_table(connection, table.table_id)
        return table

    def _leave_directories(
        self, connection: Connection, locations: Iterable[str], readers: Collection[int]
    ) -> None:
        """Notes what is about to be deleted; with readers, once these are done."""
        noted = tuple(locations)
        self._note_directories(connection, noted)
        if readers:
            hidden = {hidden_name(os.path.dirname(one)): one for one in noted}
            keep_at(connection, hidden, readers, self._store.warehouse, moved=False)

    def _note_directories(self, connection: Connection, locations: Iterable[str]) -> None:
        """Notes what is about to be deleted, so that it goes even if this process dies."""
        now = self._store.now(connection)
        insert_directories(connection, locations, self._store.warehouse, now=now)

    def _follow(self, connection: Connection, table: TableName, old: str, new: str) -> None:
        """Notes for those who read a table where files of it have gone, and all that lay there."""
        if new != old:
            move_kept(connection, old, new, self._store.warehouse)
            readers = readers_of(connection, table)
            keep_at(connection, {new: old}, readers, self._store.warehouse, moved=True)

    def _require_unchanged(self, connection: Connection, table: Table) -> None:
        if self._require_table(connection, table.name) != table:
            raise changed_meanwhile(table.name)

    def _require_table(self, connection: Connection, name: TableName) -> Table:
        table = find_table(connection, name, self._store.warehouse)
        if table is None:
            raise no_table(name)
        return table


def _mapping(rows: Iterable[Row[str, str]]) -> dict[str, str]:
    return {row[0]: row[1] for row in rows}


def _db_id(connection: Connection, name: str) -> int | None:
    return connection.scalar(select(DBS.c.DB_ID).where(DBS.c.NAME == name))


def _require_database(connection: Connection, name: str) -> int:
    db_id = _db_id(connection, name)
    if db_id is None:
        raise no_database(name)
    return db_id
