"""The session's catalog for completion."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from acidsql.catalog.model import Table, TableName
from acidsql.errors import Error
from acidsql.session import Session


class SessionNames:
    """The session's catalog for completion; a catalog that cannot be read offers nothing."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def databases(self) -> Sequence[str]:
        with suppress(Error):
            return self._session.store.list_databases()
        return ()

    def tables(self, database: str | None) -> Sequence[str]:
        with suppress(Error):
            return self._session.store.list_tables(database or self._session.database)
        return ()

    def columns(self, table: str) -> Sequence[str]:
        stored = self._find(table)
        return (
            () if stored is None else [c.name for c in (*stored.columns, *stored.partition_columns)]
        )

    def partition_columns(self, table: str) -> Sequence[str]:
        stored = self._find(table)
        return () if stored is None else [c.name for c in stored.partition_columns]

    def _find(self, table: str) -> Table | None:
        database, _, name = table.rpartition(".")
        with suppress(Error):
            return self._session.store.find_table(
                TableName(database or self._session.database, name)
            )
        return None
