"""Tables whose source can be asked at any time: what counts is asked anew for each statement, and
once for a transaction.

What the source tells goes into the catalog, where all that reads a table finds it. If the source
does not answer, the statement fails: what it told last is never taken for what it would tell now.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from acidsql.acid.ids import TxnId
from acidsql.attach.facts import TableFacts, entry_of, partitions_of, with_txns
from acidsql.attach.sources.database import asking
from acidsql.attach.sources.metastore import HiveTables, find_named, read_facts
from acidsql.attach.sources.service import ask_service
from acidsql.attach.sources.urls import (
    DatabaseUrl,
    ServiceUrl,
    parse_database_url,
    parse_service_url,
)
from acidsql.catalog.attached import (
    ASKED,
    HIVE_LOCATION,
    MOVED,
    OLD_EVENTS,
    SOURCE,
    TABLE_ID,
    is_service,
    unfinished_txns,
)
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Column, Partition, Table, TableName
from acidsql.errors import BindError, MetastoreError
from acidsql.settings import Settings

_KEPT = (OLD_EVENTS, MOVED)
"""What is found out once, when a table is attached."""
_AGAIN = "DETACH TABLE, and ATTACH TABLE it anew."


Source = DatabaseUrl | ServiceUrl


class LiveTables:
    """The sources of one session's tables. It knows the passwords of those that it has attached,
    which are kept nowhere else; ``settings``: how services are reached.
    """

    def __init__(self, open_store: Callable[[], Catalog], settings: Settings) -> None:
        self._open_store = open_store
        self.settings = settings
        self._passwords: dict[str, Source] = {}

    def remember(self, source: Source) -> None:
        """Has later statements of the session use the password of a source."""
        self._passwords[source.shown] = source

    def refreshed(self, table: Table) -> Table:
        """The table as its source tells it now, which the catalog has then. MetastoreError if the
        source does not answer, or tells of another table by now.
        """
        store = self._open_store()
        after, partitions = self._asked(table, store)
        is_same = _comparable(after) == _comparable(table)
        if is_same and _located(partitions) == _located(store.list_partitions(table)):
            return table
        return store.refresh_attached(table, after, partitions)

    def _asked(self, table: Table, store: Catalog) -> tuple[Table, tuple[Partition, ...]]:
        source = parse_source(table.properties[SOURCE])
        assert source.table is not None
        # a service tells no time; it is asked behind this moment
        now = store.clock() if isinstance(source, ServiceUrl) else None
        try:
            facts = self._facts(self._passwords.get(source.shown, source), source.table)
        except MetastoreError as error:
            error.detail = f"which rows of {table.name} count is asked for each statement"
            raise
        except BindError as error:
            raise MetastoreError(
                f"table {table.name} cannot be read any more: {error.message}", hint=_AGAIN
            ) from error
        if now is not None:
            facts = replace(facts, asked=now)
        _check_same(table, facts)
        after = entry_of(facts, table, table.properties[SOURCE])
        kept = {key: table.properties[key] for key in _KEPT if key in table.properties}
        after = replace(after, properties={**after.properties, **kept})
        carried = dict.fromkeys(unfinished_txns(table), "")
        return with_txns(after, facts, TxnId(0), carried), partitions_of(facts, table)

    def _facts(self, source: Source, name: TableName) -> TableFacts:
        match source:
            case ServiceUrl():
                return ask_service(source, name, self.settings)
            case DatabaseUrl():
                with asking(source, self.settings) as connection:
                    hive = HiveTables(connection)
                    return read_facts(hive, find_named(hive, name))


def parse_source(text: str) -> Source:
    """BindError for what is wrong with the URL of a metastore or of its database."""
    return parse_service_url(text) if is_service(text) else parse_database_url(text)


def _check_same(table: Table, facts: TableFacts) -> None:
    """Raises MetastoreError for a table that is not any more what was attached."""
    known = table.properties.get(TABLE_ID), table.properties.get(HIVE_LOCATION)
    if known[0] != str(facts.table_id):
        what = "was dropped and made anew in Hive"
    elif known[1] != facts.location:
        what = f'lies at "{facts.location}" in Hive by now'
    elif _definition(table) != _definition(entry_of(facts, table, "")):
        what = "was altered in Hive"
    else:
        return
    raise MetastoreError(
        f"table {table.name} cannot be read any more: {facts.name} {what}", hint=_AGAIN
    )


def _definition(table: Table) -> tuple[object, ...]:
    def listed(columns: Sequence[Column]) -> list[tuple[str, str]]:
        return [(column.name, str(column.type)) for column in columns]

    kinds = table.is_transactional, table.is_insert_only
    return listed(table.columns), listed(table.partition_columns), table.bucketing, kinds


def _comparable(table: Table) -> dict[str, str]:
    return {key: value for key, value in table.properties.items() if key != ASKED}


def _located(partitions: Sequence[Partition]) -> dict[tuple[str, ...], str]:
    return {one.values: one.location for one in partitions}
