"""DESCRIBE and SHOW CREATE TABLE, line by line as Hive 4 prints them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from acidsql.catalog.describe import (
    Row,
    describe,
    describe_column,
    describe_database,
    describe_extended,
    describe_formatted,
    show_create,
)
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
from acidsql.catalog.partitions import partition_name, partition_text, partition_values
from acidsql.catalog.statistics import ColumnStatistics, of_partitions
from acidsql.catalog.types import parse_type

PLAIN = Table(
    name=TableName("sales", "orders"),
    columns=(
        Column(name="id", type=parse_type("bigint"), comment="the key"),
        Column(name="items", type=parse_type("array<struct<sku:string,n:int>>")),
    ),
    location="/data/orders",
    properties={
        "transactional": "true",
        "transactional_properties": "default",
        "bucketing_version": "2",
    },
    owner="ann",
    created_at=1_700_000_000,
)
RICH = replace(
    PLAIN,
    comment="it's sold",
    partition_columns=(
        Column(name="day", type=parse_type("date"), comment="when"),
        Column(name="hr", type=parse_type("int")),
    ),
    bucketing=Bucketing(
        columns=("id", "items"),
        count=4,
        sorted_by=(SortColumn(name="id"), SortColumn(name="items", descending=True)),
    ),
    skew=Skew(columns=("id",), values=(("1",), ("2",)), directories=True),
    constraints=(
        Constraint(
            kind=ConstraintKind.PRIMARY_KEY, name="pk", columns=("id", "day"), enabled=False
        ),
        Constraint(
            kind=ConstraintKind.FOREIGN_KEY,
            name="fk",
            columns=("id",),
            references=TableName("sales", "parents"),
            referenced_columns=("key",),
            enabled=False,
            rely=False,
        ),
        Constraint(kind=ConstraintKind.UNIQUE, name="uk", columns=("id",), enabled=False),
        Constraint(kind=ConstraintKind.NOT_NULL, name="nn", columns=("id",)),
        Constraint(kind=ConstraintKind.DEFAULT, name="dc", columns=("id",), expression="1"),
        Constraint(kind=ConstraintKind.CHECK, name="cc", expression="id > 0"),
    ),
)
VIEW = Table(
    name=TableName("sales", "v"),
    columns=(Column(name="id", type=parse_type("bigint")),),
    location="",
    kind=TableKind.VIEW,
    view=View(
        original="SELECT id FROM orders", expanded="SELECT id FROM `sales`.`orders` AS `orders`"
    ),
    created_at=1_700_000_000,
)


def lines(rows: list[Row]) -> list[str]:
    """Rows as Hive's shell prints them, without the blanks at the end."""
    return ["|".join(cell.rstrip() for cell in row if cell is not None).rstrip("|") for row in rows]


def test_show_create_of_a_plain_table() -> None:
    """Hive's template; the database only where the user named it."""
    assert show_create(PLAIN, qualified=False) == [
        "CREATE TABLE `orders`(",
        "  `id` bigint COMMENT 'the key', ",
        "  `items` array<struct<`sku`:string, `n`:int>>)",
        "ROW FORMAT SERDE ",
        "  'org.apache.hadoop.hive.ql.io.orc.OrcSerde' ",
        "STORED AS INPUTFORMAT ",
        "  'org.apache.hadoop.hive.ql.io.orc.OrcInputFormat' ",
        "OUTPUTFORMAT ",
        "  'org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat'",
        "LOCATION",
        "  '/data/orders'",
        "TBLPROPERTIES (",
        "  'bucketing_version'='2', ",
        "  'transactional'='true', ",
        "  'transactional_properties'='default', ",
        "  'transient_lastDdlTime'='1700000000')",
    ]
    assert show_create(PLAIN, qualified=True)[0] == "CREATE TABLE `sales`.`orders`("


def test_show_create_of_a_rich_table() -> None:
    """Every clause in Hive's order, and the constraints as statements behind it."""
    shown = show_create(RICH, qualified=False)
    assert shown[3:18] == [
        "COMMENT 'it\\'s sold'",
        "PARTITIONED BY ( ",
        "  `day` date COMMENT 'when', ",
        "  `hr` int)",
        "CLUSTERED BY (",
        "  `id`,",
        "  `items`)",
        "SORTED BY ( ",
        "  `id` ASC, ",
        "  `items` DESC) ",
        "INTO 4 BUCKETS",
        "SKEWED BY (`id`)",
        "  ON (('1'),('2'))",
        "  STORED AS DIRECTORIES",
        "ROW FORMAT SERDE ",
    ]
    assert shown[-6:] == [
        "ALTER TABLE `sales`.`orders` ADD CONSTRAINT `pk` PRIMARY KEY (`id`,`day`) DISABLE NOVALIDATE RELY;",
        "ALTER TABLE `sales`.`orders` ADD CONSTRAINT `fk` FOREIGN KEY (`id`) REFERENCES `sales`.`parents`(`key`) DISABLE NOVALIDATE NORELY;",
        "ALTER TABLE `sales`.`orders` ADD CONSTRAINT `uk` UNIQUE (`id`) DISABLE NOVALIDATE RELY;",
        "ALTER TABLE `sales`.`orders` CHANGE COLUMN `id` `id` bigint CONSTRAINT `dc` DEFAULT 1 ENABLE NOVALIDATE RELY;",
        "ALTER TABLE `sales`.`orders` ADD CONSTRAINT `cc` CHECK (id > 0) ENABLE NOVALIDATE RELY;",
        "ALTER TABLE `sales`.`orders` CHANGE COLUMN `id` `id` bigint CONSTRAINT `nn` NOT NULL ENABLE NOVALIDATE RELY;",
    ]


def test_show_create_of_an_external_table_with_a_serde_of_its_own() -> None:
    """EXTERNAL stands in front, not among the properties; the serde's properties have a clause."""
    storage = Storage(
        input_format="in",
        output_format="out",
        serde="serde",
        serde_properties={"field.delim": "'", "serialization.format": "1"},
    )
    table = replace(
        PLAIN,
        kind=TableKind.EXTERNAL,
        file_format=FileFormat.OTHER,
        storage=storage,
        properties={"EXTERNAL": "TRUE"},
    )
    assert show_create(table, qualified=False) == [
        "CREATE EXTERNAL TABLE `orders`(",
        "  `id` bigint COMMENT 'the key', ",
        "  `items` array<struct<`sku`:string, `n`:int>>)",
        "ROW FORMAT SERDE ",
        "  'serde' ",
        "WITH SERDEPROPERTIES ( ",
        "  'field.delim'='\\'') ",
        "STORED AS INPUTFORMAT ",
        "  'in' ",
        "OUTPUTFORMAT ",
        "  'out'",
        "LOCATION",
        "  '/data/orders'",
        "TBLPROPERTIES (",
        "  'transient_lastDdlTime'='1700000000')",
    ]


def test_show_create_of_a_view() -> None:
    """The query with its names qualified."""
    assert show_create(VIEW, qualified=True) == [
        "CREATE VIEW `sales`.`v` AS SELECT id FROM `sales`.`orders` AS `orders`"
    ]


def test_describe_lists_partition_columns_twice() -> None:
    """Among the columns and under a title of their own."""
    assert lines(describe(RICH)) == [
        "id|bigint|the key",
        "items|array<struct<sku:string,n:int>>",
        "day|date|when",
        "hr|int",
        "",
        "# Partition Information",
        "# col_name|data_type|comment",
        "day|date|when",
        "hr|int",
    ]


def test_describe_formatted() -> None:
    """Every block, the constraints last."""
    assert lines(describe_formatted(RICH)) == [
        "# col_name|data_type|comment",
        "id|bigint|the key",
        "items|array<struct<sku:string,n:int>>",
        "",
        "# Partition Information",
        "# col_name|data_type|comment",
        "day|date|when",
        "hr|int",
        "",
        "# Detailed Table Information",
        "Database:|sales",
        "OwnerType:|USER",
        "Owner:|ann",
        "CreateTime:|Tue Nov 14 22:13:20 UTC 2023",
        "LastAccessTime:|UNKNOWN",
        "Retention:|0",
        "Location:|/data/orders",
        "Table Type:|MANAGED_TABLE",
        "Table Parameters:",
        "|bucketing_version|2",
        "|comment|it's sold",
        "|transactional|true",
        "|transactional_properties|default",
        "|transient_lastDdlTime|1700000000",
        "",
        "# Storage Information",
        "SerDe Library:|org.apache.hadoop.hive.ql.io.orc.OrcSerde",
        "InputFormat:|org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
        "OutputFormat:|org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
        "Compressed:|No",
        "Num Buckets:|4",
        "Bucket Columns:|[id, items]",
        "Sort Columns:|[Order(col:id, order:1), Order(col:items, order:0)]",
        "Stored As SubDirectories:|Yes",
        "Skewed Columns:|[id]",
        "Skewed Values:|[[1], [2]]",
        "",
        "# Constraints",
        "",
        "# Primary Key",
        "Table:|sales.orders",
        "Constraint Name:|pk",
        "Column Name:|id",
        "Column Name:|day",
        "",
        "# Foreign Keys",
        "Table:|sales.orders",
        "Constraint Name:|fk",
        "Parent Column Name:sales.parents.key|Column Name:id|Key Sequence:1",
        "",
        "",
        "# Unique Constraints",
        "Table:|sales.orders",
        "Constraint Name:|uk",
        "Column Name:id|Key Sequence:1",
        "",
        "",
        "# Not Null Constraints",
        "Table:|sales.orders",
        "Constraint Name:|nn",
        "Column Name:|id",
        "",
        "",
        "# Default Constraints",
        "Table:|sales.orders",
        "Constraint Name:|dc",
        "Column Name:id|Default Value:1",
        "",
        "",
        "# Check Constraints",
        "Table:|sales.orders",
        "Constraint Name:|cc",
        "Column Name:null|Check Value:id > 0",
        "",
    ]


def test_cells_are_padded() -> None:
    """To 20 characters, as in Hive."""
    assert describe_formatted(PLAIN)[1] == ("id".ljust(20), "bigint".ljust(20), "the key".ljust(20))


def test_describe_formatted_of_a_view_and_a_partition() -> None:
    """A view has no location but its texts; a partition has its own block."""
    assert lines(describe_formatted(VIEW))[-5:] == [
        "Sort Columns:|[]",
        "",
        "# View Information",
        "Original Query:|SELECT id FROM orders",
        "Expanded Query:|SELECT id FROM `sales`.`orders` AS `orders`",
    ]
    assert not any(line.startswith("Location") for line in lines(describe_formatted(VIEW)))
    partition = Partition(
        values=("2024-01-01", "3"),
        location="/data/p",
        properties={"k": "v"},
        created_at=1_700_000_000,
    )
    shown = lines(describe_formatted(RICH, partition))
    assert shown[9:20] == [
        "# Detailed Partition Information",
        "Partition Value:|[2024-01-01, 3]",
        "Database:|sales",
        "Table:|orders",
        "CreateTime:|Tue Nov 14 22:13:20 UTC 2023",
        "LastAccessTime:|UNKNOWN",
        "Location:|/data/p",
        "Partition Parameters:",
        "|k|v",
        "",
        "# Storage Information",
    ]


def test_describe_extended_dumps_the_object() -> None:
    """In one row behind the columns."""
    *_, (title, text, _) = describe_extended(PLAIN)
    assert title == "Detailed Table Information"
    assert text is not None
    assert text.startswith(
        "Table(tableName:orders, dbName:sales, owner:ann, createTime:1700000000, "
    )
    assert text.endswith(
        "viewOriginalText:null, viewExpandedText:null, tableType:MANAGED_TABLE, rewriteEnabled:false)"
    )
    *_, (title, text, _) = describe_extended(RICH, Partition(values=("a", "1"), location="/p"))
    assert title == "Detailed Partition Information"
    assert text is not None
    assert text.startswith("Partition(values:[a, 1], dbName:sales, tableName:orders, ")


def test_describe_of_a_column_and_a_database() -> None:
    """Facts and values; a database's parameters only where they are asked for."""
    shown = lines(describe_column(PLAIN, PLAIN.columns[0]))
    assert shown[:3] == ["col_name|id", "data_type|bigint", "min"]
    assert shown[-2:] == ["comment|the key", "COLUMN_STATS_ACCURATE|{}"]
    database = Database(
        name="d", location="/d", comment="c", owner="ann", properties={"b": "2", "a": "1"}
    )
    assert describe_database(database, extended=False) == ("d", "c", "/d", "ann", "USER", "")
    assert describe_database(database, extended=True)[-1] == "{a=1, b=2}"


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (("2024-01-01", "5"), "day=2024-01-01/hr=5"),
        (("a/b c", "é%"), "day=a%2Fb c/hr=é%25"),
        (("x=y:z", "{[]^"), "day=x%3Dy%3Az/hr=%7B%5B%5D%5E"),
        (("", "tab\there"), "day=__HIVE_DEFAULT_PARTITION__/hr=tab%09here"),
        (("}|&", "\x7f"), "day=}|&/hr=%7F"),
    ],
)
def test_names_of_partitions_are_escaped_as_hive_does(values: tuple[str, str], name: str) -> None:
    """The characters of Hive's list and no others."""
    assert partition_name(("day", "hr"), values) == name

    assert partition_values(("day", "hr"), name) == tuple(
        value or "__HIVE_DEFAULT_PARTITION__" for value in values
    )


@pytest.mark.parametrize(
    "path",
    [
        "day=1",
        "day=1/hr=2/x=3",
        "day=1/hour=2",
        "hr=1/day=2",
        "day=/hr=2",
        "day=1=2/hr=3",
        "day/hr=3",
        "",
    ],
)
def test_a_path_without_the_columns_is_no_partition(path: str) -> None:
    """Each must be there, in order, with one value."""
    assert partition_values(("day", "hr"), path) is None


def test_paths_are_unescaped_as_hive_does() -> None:
    """Digits in either case; what is no escape stays; the names of columns have no case."""
    assert partition_values(("day", "hr"), "Day=100%/HR=%2f%2G%e9%") == ("100%", "/%2Gé%")


def test_values_of_partitions_are_texts() -> None:
    """As Hive writes them: they become directory names."""
    import datetime
    from decimal import Decimal

    moment = datetime.datetime(2024, 1, 2, 3, 4, 5)
    texts = [
        True,
        7,
        "x",
        Decimal("1E+2"),
        Decimal("1.50"),
        Decimal("3.00"),
        0.5,
        1e7,
        datetime.date(2024, 1, 2),
        moment,
        moment.replace(microsecond=120000),
        b"ab",
        None,
    ]
    assert [partition_text(value) for value in texts] == [
        "true",
        "7",
        "x",
        "100",
        "1.5",
        "3",
        "0.5",
        "1.0E7",
        "2024-01-02",
        "2024-01-02 03:04:05",
        "2024-01-02 03:04:05.12",
        "ab",
        "__HIVE_DEFAULT_PARTITION__",
    ]


ID = PLAIN.columns[0]
MEASURED = replace(
    PLAIN,
    statistics={
        "COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true","COLUMN_STATS":{"id":"true"}}',
        "numRows": "3",
    },
)


@pytest.mark.parametrize(
    ("kind", "facts", "shown"),
    [
        (
            "bigint",
            {"distinct": 2, "low": -1, "high": 9},
            ["min|-1", "max|9", "num_nulls|1", "distinct_count|2"],
        ),
        (
            "double",
            {"low": 1.5, "high": 1e10},
            ["min|1.5", "max|1.0E10", "num_nulls|1", "distinct_count"],
        ),
        (
            "decimal(4,2)",
            {"low": Decimal("1.50"), "high": Decimal("2.00")},
            ["min|1.5", "max|2", "num_nulls|1", "distinct_count"],
        ),
        (
            "date",
            {"low": -1, "high": 18263},
            ["min|1969-12-31", "max|2020-01-02", "num_nulls|1", "distinct_count"],
        ),
        (
            "timestamp",
            {"low": -1, "high": 60},
            ["min|1969-12-31 23:59:59", "max|1970-01-01 00:01:00", "num_nulls|1", "distinct_count"],
        ),
        (
            "string",
            {"average_length": 2.0, "longest": 5},
            ["min", "max", "num_nulls|1", "distinct_count", "avg_col_len|2.0", "max_col_len|5"],
        ),
    ],
)
def test_statistics_of_a_column_as_hive_prints_them(
    kind: str, facts: dict[str, Any], shown: list[str]
) -> None:
    """Days as dates, seconds as wall clocks; what there is no number for is empty."""
    column = replace(ID, type=parse_type(kind))
    rows = lines(
        describe_column(MEASURED, column, ColumnStatistics(column=column, nulls=1, **facts))
    )
    assert rows[2 : 2 + len(shown)] == shown
    assert (
        rows[-1]
        == r"COLUMN_STATS_ACCURATE|{\"BASIC_STATS\":\"true\",\"COLUMN_STATS\":{\"id\":\"true\"}}"
    )


def test_statistics_of_a_boolean() -> None:
    """Trues and falses in place of ends; of a partition's column Hive does not say what is
    accurate.
    """
    column = replace(ID, type=parse_type("boolean"))
    found = ColumnStatistics(column=column, nulls=0, trues=1, falses=0)
    rows = lines(describe_column(MEASURED, column, found, Partition(values=("x",), location="/p")))
    assert rows[-4:] == ["num_trues|1", "num_falses|0", "bit_vector", "comment|the key"]


def test_statistics_stand_among_the_parameters() -> None:
    """Sorted with them and escaped, in both forms of DESCRIBE; SHOW CREATE TABLE hides them."""
    shown = lines(describe_formatted(MEASURED))
    start = shown.index("Table Parameters:")
    mark = r"|COLUMN_STATS_ACCURATE|{\"BASIC_STATS\":\"true\",\"COLUMN_STATS\":{\"id\":\"true\"}}"
    assert shown[start + 1 : start + 4] == [mark, "|bucketing_version|2", "|numRows|3"]
    assert "numRows=3" in (describe_extended(MEASURED)[-1][1] or "")
    assert show_create(MEASURED, qualified=False) == show_create(PLAIN, qualified=False)
    partition = Partition(values=("a", "1"), location="/p", statistics={"numRows": "7"})
    assert "|numRows|7" in lines(describe_formatted(RICH, partition))


def test_a_partitioned_table_shows_sums() -> None:
    """Over its partitions; they are accurate if all are."""
    known = Partition(
        values=("a",),
        location="/a",
        statistics={
            "COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true"}',
            "numRows": "7",
            "numFiles": "2",
        },
    )
    unknown = Partition(values=("b",), location="/b", statistics={"numRows": "1"})
    sums = {
        "numFiles": "2",
        "numRows": "7",
        "totalSize": "0",
        "rawDataSize": "0",
        "numPartitions": "1",
    }
    assert of_partitions([known]) == sums | {"COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true"}'}
    assert of_partitions([known, unknown]) == sums | {"numRows": "8", "numPartitions": "2"}
