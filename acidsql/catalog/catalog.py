"""The protocol of a catalog: what the planner may ask and what DDL may do. Names come in lower case."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from acidsql.catalog.model import Database, Partition, Table, TableKind, TableName


class Catalog(Protocol):
    def create_database(self, database: Database) -> None:
        """AlreadyExistsError if there is one of that name."""

    def drop_database(self, name: str, *, cascade: bool = False) -> tuple[Table, ...]:
        """Drops it and returns the tables dropped with it. DatabaseNotFoundError; BindError if not empty and not cascade."""

    def find_database(self, name: str) -> Database | None: ...

    def list_databases(self) -> tuple[str, ...]:
        """Sorted by name."""

    def create_table(self, table: Table) -> Table:
        """Stores it and returns it with its ``table_id``. AlreadyExistsError, DatabaseNotFoundError."""

    def drop_table(self, name: TableName) -> Table:
        """Drops it with its write ids; open transactions that wrote to it are aborted. Returns what it was. TableNotFoundError."""

    def find_table(self, name: TableName) -> Table | None: ...

    def alter_table(self, before: Table, after: Table) -> None:
        """Kind, properties, comment, columns and view text become those of ``after``.

        WriteConflictError if the table is not what ``before`` says any more, TableNotFoundError.
        """

    def list_tables(self, database: str, kind: TableKind | None = None) -> tuple[str, ...]:
        """Tables and views, or those of one kind, sorted by name. DatabaseNotFoundError."""

    def list_locations(self) -> tuple[tuple[TableName, str], ...]:
        """Every table that has files, and where they lie."""

    def add_partitions(self, name: TableName, partitions: Iterable[Partition]) -> None:
        """All or none. TableNotFoundError, AlreadyExistsError."""

    def list_partitions(self, table: Table) -> tuple[Partition, ...]:
        """Those of a stored table, sorted by name."""
