"""Tables to store: a plain one, one that has everything, a view."""

from __future__ import annotations

from typing import Any

from acidsql.catalog.model import (
    Bucketing,
    Column,
    Constraint,
    ConstraintKind,
    Partition,
    Skew,
    SortColumn,
    Table,
    TableKind,
    TableName,
    View,
)
from acidsql.catalog.types import parse_type

T = TableName("default", "t")


def columns(**types: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, type=parse_type(text)) for name, text in types.items())


def table(name: TableName = T, **facts: Any) -> Table:
    return Table(
        **{
            "name": name,
            "columns": columns(a="int", b="string"),
            "location": f"/data/{name}",
            **facts,
        }
    )


def days(*days: str) -> tuple[Partition, ...]:
    return tuple(Partition(values=(day, "x"), location=f"/data/{day}") for day in days)


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
