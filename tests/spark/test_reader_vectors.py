"""The reader on tables written by real Hive 3 and 4: every row and every ROW__ID that Hive's own
readers gave.
"""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acidsql.acid.ids import ValidWriteIdList
from acidsql.catalog.model import Column, Table, TableName
from acidsql.catalog.types import (
    ArrayType,
    CharType,
    DecimalType,
    HiveType,
    MapType,
    PrimitiveType,
    StructType,
    parse_type,
)
from acidsql.settings import Settings
from acidsql.spark.read.reader import SnapshotReader
from tests.spark.event_tables import rows, snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FIXTURES = (
    *(
        f"hive3/{name}"
        for name in "aborted_open add_columns all_types base_delta buckets delete_only extremes".split()
    ),
    *(f"hive3/{name}" for name in "insert_delete load_data statements stripes update".split()),
    *(
        f"hive4/{name}"
        for name in "add_columns attempt_suffix buckets insert insert_delete load_data originals statements stripes update visibility".split()
    ),
)


@pytest.fixture(scope="module", params=["filter", "join"])
def reader(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[SnapshotReader]:
    made = SnapshotReader(spark, Settings({"acidsql.read.deletes": request.param}))
    yield made
    made.close()


@pytest.mark.parametrize("fixture", FIXTURES)
def test_reads_what_hive_reads(
    spark: SparkSession, reader: SnapshotReader, shared: Path, fixture: str
) -> None:
    """Row for row with its id, for every list of valid write ids. Dates before 1582 in files of
    Hive 3 read as Hive 4 reads them.
    """
    folder = shared / "vectors" / "fixtures" / fixture
    expected = json.loads((folder / "expected.json").read_text())
    struct = parse_type(expected["schema"])
    assert isinstance(struct, StructType)
    table_columns = tuple(Column(name=f.name, type=f.type) for f in struct.fields)
    table = Table(
        name=TableName("default", "t"), columns=table_columns, location=str(folder / "table")
    )
    for read in expected["reads"]:
        wanted = [
            (tuple(ids), shown(values, struct))
            for *ids, values in read.get("rows") or read.get("hive4_rows", [])
        ]
        seen = snapshot(table, ValidWriteIdList.parse(read["writeids"]))
        found = [(i, shown(values, struct)) for i, values in rows(spark, reader, seen)]
        assert found == wanted, read["writeids"]


def shown(value: Any, hive_type: HiveType) -> Any:
    """A value of the vectors or of Spark as both can be compared: a char without its blanks, a
    timestamp in microseconds.
    """
    if value is None:
        return None
    match hive_type:
        case PrimitiveType("float" | "double"):
            number = float(value)
            return (
                "NaN"
                if math.isnan(number)
                else repr(float(f"{number:.7g}"))
                if hive_type.name == "float"
                else repr(number)
            )
        case PrimitiveType("binary"):
            return bytes(value).hex() if isinstance(value, bytes | bytearray) else value
        case PrimitiveType("date"):
            return value.isoformat() if isinstance(value, datetime.date) else value
        case PrimitiveType("timestamp"):
            return (
                value.strftime("%Y-%m-%d %H:%M:%S.%f")
                if isinstance(value, datetime.datetime)
                else f"{value}{'' if '.' in value else '.'}000000"[:26]
            )
        case DecimalType():
            return Decimal(value)
        case CharType():
            return value.rstrip(" ")
        case ArrayType(element):
            return [shown(item, element) for item in value]
        case MapType(key, item):
            pairs = value.items() if isinstance(value, dict) else value
            return sorted((shown(k, key), shown(v, item)) for k, v in pairs)
        case StructType(fields):
            return {f.name: shown(value[f.name], f.type) for f in fields}
        case _:
            return value
