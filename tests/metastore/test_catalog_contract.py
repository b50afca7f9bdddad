"""What every catalog must do. Knows the protocol only, so each back end runs it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import (
    Bucketing,
    Column,
    Constraint,
    ConstraintKind,
    Database,
    FileFormat,
    Partition,
    Skew,
    SortColumn,
    Storage,
    Table,
    TableKind,
    TableName,
    View,
)
from acidsql.catalog.storage import STORAGES
from acidsql.catalog.types import parse_type
from acidsql.errors import (
    AlreadyExistsError,
    BindError,
    DatabaseNotFoundError,
    TableNotFoundError,
    WriteConflictError,
)

T = TableName("default", "t")


def columns(**types: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, type=parse_type(text)) for name, text in types.items())


def table(name: TableName = T, **facts: object) -> Table:
    return Table(
        **{
            "name": name,
            "columns": columns(a="int", b="string"),
            "location": f"/data/{name}",
            **facts,
        }
    )  # type: ignore[arg-type]


RICH = table(
    columns=(
        Column(name="id", type=parse_type("bigint"), comment="the key"),
        *columns(
            z="decimal(38,18)",
            y="map<string,array<struct<a:int,b:char(3)>>>",
            x="varchar(7)",
            w="timestamp",
        ),
    ),
    partition_columns=(
        *columns(day="date"),
        Column(name="region", type=parse_type("string"), comment="où"),
    ),
    bucketing=Bucketing(
        columns=("z", "id"),
        count=4,
        sorted_by=(SortColumn(name="x", descending=True), SortColumn(name="id")),
    ),
    skew=Skew(columns=("id", "x"), values=(("1", "a"), ("-2", "it's")), directories=True),
    properties={
        "transactional": "true",
        "bucketing_version": "2",
        "orc.compress": "SNAPPY",
        "odd 'key'": 'naïve; "v"',
    },
    constraints=(
        Constraint(
            kind=ConstraintKind.PRIMARY_KEY, name="pk", columns=("id", "day"), enabled=False
        ),
        Constraint(kind=ConstraintKind.UNIQUE, name="a", columns=("x",), enabled=False, rely=False),
        Constraint(kind=ConstraintKind.UNIQUE, name="b", columns=("w", "z"), enabled=False),
        Constraint(kind=ConstraintKind.NOT_NULL, name="nn", columns=("region",)),
        Constraint(kind=ConstraintKind.DEFAULT, name="dc", columns=("x",), expression="'none'"),
        Constraint(kind=ConstraintKind.CHECK, name="cc", expression="id > 0", validated=True),
        Constraint(
            kind=ConstraintKind.CHECK,
            name="cd",
            columns=("id",),
            expression="id < 9",
            enabled=False,
        ),
    ),
    comment="what it's for",
    owner="ann",
    created_at=1_600_000_000,
)


VIEW = table(
    columns=(Column(name="x", type=parse_type("int"), comment="found"),),
    location="",
    kind=TableKind.VIEW,
    view=View(
        original="SELECT a AS x\nFROM t", expanded="SELECT a AS x\nFROM `default`.`t` AS `t`"
    ),
    comment="about",
    properties={"k": "v"},
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
    ids=["plain", "rich", "parquet", "text", "bucketing v1", "classes", "serde properties", "view"],
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
    assert catalog.create_table(table(bucketing=Bucketing(columns=("a",), count=2))).properties == {
        "bucketing_version": "2"
    }


def test_a_database_comes_back_as_it_was_stored(catalog: Catalog) -> None:
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


def test_a_foreign_key_comes_back_and_goes_with_its_parent(catalog: Catalog) -> None:
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


def test_a_foreign_key_needs_its_parent(catalog: Catalog) -> None:
    """Without it nothing is stored."""
    with pytest.raises(TableNotFoundError, match="Parent table not found"):
        catalog.create_table(table(TableName("default", "child"), constraints=(foreign_key(),)))
    assert catalog.list_tables("default") == ()


def test_a_table_is_altered(catalog: Catalog) -> None:
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
    found = catalog.find_table(T)
    assert found is not None
    assert (found.table_id, found.properties, found.comment, found.kind) == (
        before.table_id,
        after.properties,
        None,
        TableKind.EXTERNAL,
    )
    assert found.columns == columns_after


def test_a_view_is_replaced(catalog: Catalog) -> None:
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


def test_a_table_that_changed_meanwhile_is_not_altered(catalog: Catalog) -> None:
    """Two sessions do not overwrite each other's change; a dropped table is not found."""
    before = catalog.create_table(table())
    catalog.alter_table(before, replace(before, properties={"k": "1"}))
    with pytest.raises(WriteConflictError, match="was changed by another session"):
        catalog.alter_table(before, replace(before, properties={"k": "2"}))
    found = catalog.find_table(T)
    assert found is not None
    assert found.properties == {"k": "1"}
    catalog.drop_table(T)
    with pytest.raises(TableNotFoundError):
        catalog.alter_table(found, found)


def test_partitions_come_back_by_name(catalog: Catalog) -> None:
    """With values, location, properties and time; they go with their table."""
    stored = catalog.create_table(RICH)
    first = Partition(
        values=("2024-01-01", "a/b"), location="/data/p1", properties={"k": "v"}, created_at=5
    )
    second = Partition(
        values=("2024-01-02", "__HIVE_DEFAULT_PARTITION__"),
        location="s3a://bucket/p2",
        created_at=6,
    )
    catalog.add_partitions(T, (second, first))
    assert catalog.list_partitions(stored) == (first, second)
    catalog.drop_table(T)
    assert catalog.list_partitions(catalog.create_table(RICH)) == ()


def test_a_partition_is_added_once(catalog: Catalog) -> None:
    """A batch with one that is there adds none."""
    stored = catalog.create_table(RICH)
    one = Partition(values=("2024-01-01", "x"), location="/data/p1")
    catalog.add_partitions(T, [one])
    with pytest.raises(AlreadyExistsError, match="Partition already exists") as caught:
        catalog.add_partitions(T, [replace(one, values=("2024-01-02", "x")), one])
    assert caught.value.code == 10118
    assert catalog.list_partitions(stored) == (one,)
    with pytest.raises(TableNotFoundError):
        catalog.add_partitions(TableName("default", "nope"), [one])
    with pytest.raises(WriteConflictError, match="has other partition columns"):
        catalog.add_partitions(T, [replace(one, values=("2024-01-03",))])


def test_partitions_that_are_there_are_passed_over_on_demand(catalog: Catalog) -> None:
    """The new ones come back, and what was there stays as it was; the same partition twice counts
    once.
    """
    stored = catalog.create_table(RICH)
    one = Partition(values=("2024-01-01", "x"), location="/data/p1")
    two = Partition(values=("2024-01-02", "x"), location="/data/p2")
    assert catalog.add_partitions(T, [one]) == (one,)
    assert catalog.add_partitions(
        T, [replace(one, location="/elsewhere"), two, two], if_not_exists=True
    ) == (two,)
    assert catalog.list_partitions(stored) == (one, two)
    assert catalog.add_partitions(T, [one, two], if_not_exists=True) == ()


def days(*days: str) -> tuple[Partition, ...]:
    return tuple(Partition(values=(day, "x"), location=f"/data/{day}") for day in days)


def test_dropped_partitions_are_gone(catalog: Catalog) -> None:
    """They are given back as they were stored; those that are not there are passed over; they may
    be added again.
    """
    stored = catalog.create_table(RICH)
    first, second, third = catalog.add_partitions(T, days("2024-01-01", "2024-01-02", "2024-01-03"))
    elsewhere = replace(third, location="/not/here")
    assert catalog.drop_partitions(
        stored, [first, elsewhere, replace(first, values=("2025-01-01", "x"))]
    ) == (first, third)
    assert catalog.list_partitions(stored) == (second,)
    assert catalog.drop_partitions(stored, [first]) == ()
    assert catalog.add_partitions(T, [first]) == (first,)
    assert catalog.list_partitions(stored) == (first, second)


def test_a_partition_gets_another_name_and_place(catalog: Catalog) -> None:
    """Its other facts stay; a name that is taken is refused, and the move is made last."""
    stored = catalog.create_table(RICH)
    one, two = catalog.add_partitions(
        T,
        [replace(days("2024-01-01")[0], properties={"k": "v"}, created_at=7), *days("2024-01-02")],
    )
    moves = []
    after = replace(one, values=("2024-02-01", "a/b"), location="s3a://bucket/p")
    catalog.alter_partition(stored, one, after, move=lambda: moves.append(1))
    assert catalog.list_partitions(stored) == (two, after)
    with pytest.raises(AlreadyExistsError, match="Partition already exists") as caught:
        catalog.alter_partition(
            stored, after, replace(after, values=two.values), move=lambda: moves.append(2)
        )
    assert caught.value.code == 10118
    assert (catalog.list_partitions(stored), moves) == ((two, after), [1])


def test_a_partition_keeps_its_name_if_its_directory_cannot_move(catalog: Catalog) -> None:
    """What the move raises comes out, and nothing is changed."""
    stored = catalog.create_table(RICH)
    (one,) = catalog.add_partitions(T, days("2024-01-01"))

    def fail() -> None:
        raise BindError("no")

    with pytest.raises(BindError, match="no"):
        catalog.alter_partition(stored, one, replace(one, values=("2024-02-01", "x")), move=fail)
    assert catalog.list_partitions(stored) == (one,)


def test_a_partition_that_changed_meanwhile_is_not_altered(catalog: Catalog) -> None:
    """Nor is one of a table that was changed or made anew: the later session runs again."""
    stored = catalog.create_table(RICH)
    (one,) = catalog.add_partitions(T, days("2024-01-01"))
    moved = replace(one, location="/elsewhere")
    catalog.alter_partition(stored, one, moved)
    with pytest.raises(WriteConflictError, match="was changed by another session"):
        catalog.alter_partition(stored, one, replace(one, location="/third"))
    with pytest.raises(WriteConflictError, match="was changed by another session"):
        catalog.alter_partition(stored, replace(one, values=("2030-01-01", "x")), one)
    catalog.alter_table(stored, replace(stored, properties={"k": "v", "bucketing_version": "2"}))
    for change in (
        lambda: catalog.drop_partitions(stored, [moved]),
        lambda: catalog.alter_partition(stored, moved, one),
    ):
        with pytest.raises(WriteConflictError, match="was changed by another session"):
            change()
    now = catalog.find_table(T)
    assert now is not None
    assert catalog.list_partitions(now) == (moved,)


def test_a_table_lies_elsewhere_on_demand(catalog: Catalog) -> None:
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


def test_tables_are_listed_by_kind_and_place(catalog: Catalog) -> None:
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
