"""All tables of one of Hive's databases, as its metastore knows them in one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Select, column, literal, select, text
from sqlalchemy.sql import quoted_name

from acidsql import interrupts
from acidsql.attach.facts import TableFacts
from acidsql.attach.sources.hive_tables import CATALOG, VIEWS
from acidsql.attach.sources.metastore import (
    HiveTables,
    TableRow,
    find_tables,
    kind_of,
    read_facts,
)
from acidsql.errors import BindError
from acidsql.files.urls import path_of
from acidsql.lazy_dataclass import dataclass

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
