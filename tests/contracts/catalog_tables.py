"""What a catalog keeps of databases, tables and views."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import (
    STORAGES,
    Bucketing,
    Column,
    Constraint,
    ConstraintKind,
    Database,
    FileFormat,
    Partition,
    Storage,
    Table,
    TableKind,
    TableName,
    View,
)
from acidsql.catalog.types import parse_type
from acidsql.errors import (
    AlreadyExistsError,
    BindError,
    DatabaseNotFoundError,
    TableNotFoundError,
    WriteConflictError,
)
from tests.contracts.sample_tables import RICH, VIEW, T, columns, table
from tests.contracts.store import StoreContract


def foreign_key(
    *,
    columns: tuple[str, ...] = ("a",),
    referenced_columns: tuple[str, ...] = ("id",),
    name: str = "fk",
) -> Constraint:
    return Constraint(
        kind=ConstraintKind.FOREIGN_KEY,
        name=name,
        columns=columns,
        references=T,
        referenced_columns=referenced_columns,
        enabled=False,
        rely=False,
    )


class CatalogTableContract(StoreContract):
    """Databases and tables come back as they were stored."""

    def test_there_is_a_default_database(self, catalog: Catalog) -> None:
        """It is there as in Hive, before anybody created anything."""
        assert catalog.list_databases() == ("default",)
        assert catalog.list_tables("default") == ()

    def test_a_table_becomes_what_was_planned(self, catalog: Catalog) -> None:
        """Asked before it is made, the catalog says of which kind it will be, and where."""
        planned = catalog.planned_table(table(properties={}), located=False)
        assert catalog.list_tables("default") == ()
        stored = catalog.create_table(planned)
        assert stored.kind is planned.kind
        assert planned.location in ("", stored.location)
        assert catalog.planned_table(planned, located=True) == planned

    @pytest.mark.parametrize(
        "stored",
        [
            table(),
            RICH,
            table(
                file_format=FileFormat.PARQUET, kind=TableKind.EXTERNAL, location="s3a://bucket/dir"
            ),
            table(file_format=FileFormat.TEXTFILE),
            table(
                bucketing=Bucketing(columns=("b",), count=2, version=1),
                properties={"bucketing_version": "1"},
            ),
            table(
                file_format=FileFormat.OTHER,
                storage=Storage(input_format="i", output_format="o", serde="s"),
            ),
            table(
                file_format=FileFormat.TEXTFILE,
                storage=replace(
                    STORAGES[FileFormat.TEXTFILE],
                    serde_properties={"field.delim": ",", "line.delim": "\n"},
                ),
            ),
            VIEW,
        ],
        ids=[
            "plain",
            "rich",
            "parquet",
            "text",
            "bucketing v1",
            "classes",
            "serde properties",
            "view",
        ],
    )
    def test_a_table_comes_back_as_it_was_stored(self, catalog: Catalog, stored: Table) -> None:
        """Every fact of it, with the id and time the catalog gave it."""
        created = catalog.create_table(stored)
        assert created == catalog.find_table(T)
        assert created.table_id > 0
        assert created.created_at > 0
        assert replace(created, table_id=0, created_at=stored.created_at) == stored

    def test_the_bucketing_version_shows_as_a_property(self, catalog: Catalog) -> None:
        """Hive keeps it there, and takes a bucketed table without it for an old one."""
        assert catalog.create_table(
            table(bucketing=Bucketing(columns=("a",), count=2))
        ).properties == {"bucketing_version": "2"}

    def test_a_database_comes_back_as_it_was_stored(self, catalog: Catalog) -> None:
        """With all its facts."""
        sales = Database(
            name="sales",
            location="/data/sales",
            comment="money",
            owner="ann",
            properties={"k": "v", "a": ""},
        )
        catalog.create_database(sales)
        assert catalog.find_database("sales") == sales
        assert catalog.list_databases() == ("default", "sales")

    def test_names_are_taken_once(self, catalog: Catalog) -> None:
        """A second database or table of a name is refused, and the first one stays."""
        created = catalog.create_table(table())
        with pytest.raises(AlreadyExistsError, match=r'table "default\.t" already exists'):
            catalog.create_table(replace(RICH, name=T))
        with pytest.raises(AlreadyExistsError, match='database "default" already exists'):
            catalog.create_database(Database(name="default", location="/elsewhere"))
        assert catalog.find_table(T) == created

    def test_lists_are_sorted(self, catalog: Catalog) -> None:
        """By name, each database for itself."""
        catalog.create_database(Database(name="a", location="/a"))
        for name in ("z", "m", "b"):
            catalog.create_table(table(TableName("default", name)))
        catalog.create_table(table(TableName("a", "t")))
        assert catalog.list_tables("default") == ("b", "m", "z")
        assert catalog.list_tables("a") == ("t",)

    def test_what_is_not_there(self, catalog: Catalog) -> None:
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
        with pytest.raises(
            TableNotFoundError, match=r'table "nowhere\.t" does not exist'
        ) as caught:
            catalog.drop_table(missing)
        assert caught.value.code == 10001

    def test_a_dropped_table_is_gone(self, catalog: Catalog) -> None:
        """It is given back as it was; a new one of that name has an id of its own."""
        created = catalog.create_table(RICH)
        assert catalog.drop_table(T) == created
        assert catalog.find_table(T) is None
        assert catalog.create_table(RICH).table_id > created.table_id

    def test_a_database_with_tables_is_dropped_on_demand_only(self, catalog: Catalog) -> None:
        """CASCADE gives back all its tables; without it nothing changes."""
        catalog.create_database(Database(name="sales", location="/sales"))
        tables = [catalog.create_table(table(TableName("sales", name))) for name in ("a", "b")]
        with pytest.raises(BindError, match='database "sales" is not empty'):
            catalog.drop_database("sales")
        assert catalog.list_tables("sales") == ("a", "b")
        assert catalog.drop_database("sales", cascade=True) == tuple(tables)
        assert catalog.list_databases() == ("default",)

    def test_an_empty_database_is_dropped(self, catalog: Catalog) -> None:
        """And may be made again."""
        for _ in range(2):
            catalog.create_database(
                Database(name="sales", location="/sales", properties={"a": "b"})
            )
            assert catalog.drop_database("sales") == ()

    def test_the_default_database_stays(self, catalog: Catalog) -> None:
        """Not even CASCADE drops it, as in Hive."""
        with pytest.raises(BindError, match="cannot be dropped"):
            catalog.drop_database("default", cascade=True)

    def test_a_foreign_key_comes_back_and_goes_with_its_parent(self, catalog: Catalog) -> None:
        """It belongs to the child; the parent's own constraints are not touched by it."""
        parent = catalog.create_table(RICH)
        key = foreign_key(columns=("a", "b"), referenced_columns=("id", "region"))
        child = catalog.create_table(
            table(TableName("default", "child"), constraints=(key, foreign_key(name="other")))
        )
        assert child.constraints == (key, foreign_key(name="other"))
        assert catalog.find_table(T) == parent
        catalog.drop_table(T)
        assert catalog.find_table(child.name) == replace(child, constraints=())

    def test_a_foreign_key_needs_its_parent(self, catalog: Catalog) -> None:
        """Without it nothing is stored."""
        with pytest.raises(TableNotFoundError, match="Parent table not found"):
            catalog.create_table(table(TableName("default", "child"), constraints=(foreign_key(),)))
        assert catalog.list_tables("default") == ()

    def test_a_table_is_altered(self, catalog: Catalog) -> None:
        """Kind, properties, comment and columns change, the table stays the same one."""
        before = catalog.create_table(RICH)
        columns_after = (
            *before.columns[:-1],
            Column(name="new", type=parse_type("int"), comment="late"),
        )
        after = replace(
            before,
            properties={"k": "v", "bucketing_version": "2"},
            comment=None,
            kind=TableKind.EXTERNAL,
            columns=columns_after,
        )
        catalog.alter_table(before, after)
        stored = catalog.find_table(T)
        assert stored is not None
        assert (stored.table_id, stored.properties, stored.comment, stored.kind) == (
            before.table_id,
            after.properties,
            None,
            TableKind.EXTERNAL,
        )
        assert stored.columns == columns_after

    def test_a_view_is_replaced(self, catalog: Catalog) -> None:
        """Its columns and texts are others then."""
        before = catalog.create_table(VIEW)
        after = replace(
            before,
            columns=columns(y="string", z="int"),
            view=View(original="SELECT 2", expanded="SELECT 2"),
            comment=None,
        )
        catalog.alter_table(before, after)
        assert catalog.find_table(T) == after

    def test_a_table_that_changed_meanwhile_is_not_altered(self, catalog: Catalog) -> None:
        """Two sessions do not overwrite each other's change; a dropped table is not found."""
        before = catalog.create_table(table())
        catalog.alter_table(before, replace(before, properties={"k": "1"}))
        with pytest.raises(WriteConflictError, match="was changed by another session"):
            catalog.alter_table(before, replace(before, properties={"k": "2"}))
        stored = catalog.find_table(T)
        assert stored is not None
        assert stored.properties == {"k": "1"}
        catalog.drop_table(T)
        with pytest.raises(TableNotFoundError):
            catalog.alter_table(stored, stored)

    def test_a_table_lies_elsewhere_on_demand(self, catalog: Catalog) -> None:
        """Its partitions stay where they were, and their places are listed beside its own."""
        before = catalog.create_table(RICH)
        inside, outside = (
            Partition(values=(d, "x"), location=p)
            for d, p in (("2024-01-01", f"{before.location}/p"), ("2024-01-02", "/data/q"))
        )
        catalog.add_partitions(T, (inside, outside))
        assert list(catalog.list_locations()) == [(T, before.location), (T, "/data/q")]
        after = replace(before, location=f"{before.location}2")
        catalog.alter_table(before, after)
        assert catalog.find_table(T) == after
        assert catalog.list_partitions(after) == (inside, outside)
        assert sorted(catalog.list_locations()) == sorted(
            [(T, after.location), (T, inside.location), (T, "/data/q")]
        )

    def test_tables_are_listed_by_kind_and_place(self, catalog: Catalog) -> None:
        """A view has a name but no place."""
        catalog.create_table(VIEW)
        catalog.create_table(
            table(TableName("default", "e"), kind=TableKind.EXTERNAL, location="/data/e")
        )
        catalog.create_table(table(TableName("default", "m")))
        assert catalog.list_tables("default") == ("e", "m", "t")
        assert catalog.list_tables("default", TableKind.VIEW) == ("t",)
        assert catalog.list_tables("default", TableKind.MANAGED) == ("m",)
        assert dict(catalog.list_locations()) == {
            TableName("default", "e"): "/data/e",
            TableName("default", "m"): "/data/default.m",
        }
