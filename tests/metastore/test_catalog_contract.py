"""What every catalog must do. Knows the protocol only, so each back end runs it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Bucketing, Column, Database, FileFormat, Table, TableKind, TableName
from acidsql.catalog.types import parse_type
from acidsql.errors import AlreadyExistsError, BindError, DatabaseNotFoundError, TableNotFoundError

T = TableName("default", "t")


def columns(**types: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, type=parse_type(text)) for name, text in types.items())


def table(name: TableName = T, **facts: object) -> Table:
    return Table(**{"name": name, "columns": columns(a="int", b="string"), "location": f"/data/{name}", **facts})  # type: ignore[arg-type]


RICH = table(
    columns=(
        Column(name="id", type=parse_type("bigint"), comment="the key"),
        *columns(z="decimal(38,18)", y="map<string,array<struct<a:int,b:char(3)>>>", x="varchar(7)", w="timestamp"),
    ),
    partition_columns=(*columns(day="date"), Column(name="region", type=parse_type("string"), comment="où")),
    bucketing=Bucketing(columns=("z", "id"), count=4),
    properties={"transactional": "true", "bucketing_version": "2", "orc.compress": "SNAPPY", "odd 'key'": 'naïve; "v"'},
    comment="what it's for",
    owner="ann",
    created_at=1_600_000_000,
)


def test_there_is_a_default_database(catalog: Catalog) -> None:
    """As in Hive, before anybody created anything."""
    assert catalog.list_databases() == ("default",)
    assert catalog.list_tables("default") == ()


@pytest.mark.parametrize(
    "stored",
    [
        table(),
        RICH,
        table(file_format=FileFormat.PARQUET, kind=TableKind.EXTERNAL, location="s3a://bucket/dir"),
        table(file_format=FileFormat.TEXTFILE),
        table(bucketing=Bucketing(columns=("b",), count=2, version=1), properties={"bucketing_version": "1"}),
    ],
    ids=["plain", "rich", "parquet", "text", "bucketing v1"],
)
def test_a_table_comes_back_as_it_was_stored(catalog: Catalog, stored: Table) -> None:
    """Every fact of it, with the id and time the catalog gave it."""
    created = catalog.create_table(stored)
    assert created == catalog.find_table(T)
    assert created.table_id > 0
    assert created.created_at > 0
    assert replace(created, table_id=0, created_at=stored.created_at) == stored


def test_the_bucketing_version_shows_as_a_property(catalog: Catalog) -> None:
    """Hive keeps it there, and takes a bucketed table without it for an old one."""
    assert catalog.create_table(table(bucketing=Bucketing(columns=("a",), count=2))).properties == {"bucketing_version": "2"}


def test_a_database_comes_back_as_it_was_stored(catalog: Catalog) -> None:
    """With all its facts."""
    sales = Database(name="sales", location="/data/sales", comment="money", owner="ann", properties={"k": "v", "a": ""})
    catalog.create_database(sales)
    assert catalog.find_database("sales") == sales
    assert catalog.list_databases() == ("default", "sales")


def test_names_are_taken_once(catalog: Catalog) -> None:
    """A second database or table of a name is refused, and the first one stays."""
    created = catalog.create_table(table())
    with pytest.raises(AlreadyExistsError, match=r'table "default\.t" already exists'):
        catalog.create_table(replace(RICH, name=T))
    with pytest.raises(AlreadyExistsError, match='database "default" already exists'):
        catalog.create_database(Database(name="default", location="/elsewhere"))
    assert catalog.find_table(T) == created


def test_lists_are_sorted(catalog: Catalog) -> None:
    """By name, each database for itself."""
    catalog.create_database(Database(name="a", location="/a"))
    for name in ("z", "m", "b"):
        catalog.create_table(table(TableName("default", name)))
    catalog.create_table(table(TableName("a", "t")))
    assert catalog.list_tables("default") == ("b", "m", "z")
    assert catalog.list_tables("a") == ("t",)


def test_what_is_not_there(catalog: Catalog) -> None:
    """Finding gives None, everything else names what is missing."""
    missing = TableName("nowhere", "t")
    assert catalog.find_database("nowhere") is None
    assert catalog.find_table(missing) is None
    with pytest.raises(DatabaseNotFoundError, match='database "nowhere" does not exist'):
        catalog.list_tables("nowhere")
    with pytest.raises(DatabaseNotFoundError):
        catalog.create_table(table(missing))
    with pytest.raises(DatabaseNotFoundError):
        catalog.drop_database("nowhere")
    with pytest.raises(TableNotFoundError, match=r'table "nowhere\.t" does not exist') as caught:
        catalog.drop_table(missing)
    assert caught.value.code == 10001


def test_a_dropped_table_is_gone(catalog: Catalog) -> None:
    """It is given back as it was; a new one of that name has an id of its own."""
    created = catalog.create_table(RICH)
    assert catalog.drop_table(T) == created
    assert catalog.find_table(T) is None
    assert catalog.create_table(RICH).table_id > created.table_id


def test_a_database_with_tables_is_dropped_on_demand_only(catalog: Catalog) -> None:
    """CASCADE gives back all its tables; without it nothing changes."""
    catalog.create_database(Database(name="sales", location="/sales"))
    tables = [catalog.create_table(table(TableName("sales", name))) for name in ("a", "b")]
    with pytest.raises(BindError, match='database "sales" is not empty'):
        catalog.drop_database("sales")
    assert catalog.list_tables("sales") == ("a", "b")
    assert catalog.drop_database("sales", cascade=True) == tuple(tables)
    assert catalog.list_databases() == ("default",)


def test_an_empty_database_is_dropped(catalog: Catalog) -> None:
    """And may be made again."""
    for _ in range(2):
        catalog.create_database(Database(name="sales", location="/sales", properties={"a": "b"}))
        assert catalog.drop_database("sales") == ()


def test_the_default_database_stays(catalog: Catalog) -> None:
    """As in Hive."""
    with pytest.raises(BindError, match="cannot be dropped"):
        catalog.drop_database("default", cascade=True)
