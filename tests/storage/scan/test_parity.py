"""Tables that real Hive wrote, read on the driver: the rows that Spark's reader shows, or Spark is
asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acidsql.acid.ids import ValidWriteIdList
from acidsql.catalog.model import Column, Table, TableName
from acidsql.catalog.types import StructType, parse_type
from acidsql.expressions.not_here import NotHere
from acidsql.settings import Settings
from acidsql.spark.read.reader import SnapshotReader
from tests.spark.event_tables import snapshot
from tests.spark.test_reader_vectors import FIXTURES
from tests.storage.scan.reading import by_spark, rows_of, scanned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


ASKS_SPARK = {"hive3/all_types"}
"""Hold dates from before 1582, in the calendar of those days."""


@pytest.fixture(scope="module")
def reader(spark: SparkSession) -> Iterator[SnapshotReader]:
    made = SnapshotReader(spark, Settings())
    yield made
    made.close()


@pytest.mark.parametrize("fixture", FIXTURES)
def test_vectors(spark: SparkSession, reader: SnapshotReader, shared: Path, fixture: str) -> None:
    """Row for row with its id, for every list of valid write ids."""
    folder = shared / "vectors" / "fixtures" / fixture
    expected = json.loads((folder / "expected.json").read_text())
    struct = parse_type(expected["schema"])
    assert isinstance(struct, StructType)
    columns = tuple(Column(name=f.name, type=f.type) for f in struct.fields)
    table = Table(name=TableName("default", "t"), columns=columns, location=str(folder / "table"))
    for read in expected["reads"]:
        seen = snapshot(table, ValidWriteIdList.parse(read["writeids"]))
        wanted = rows_of(by_spark(spark, reader, seen, ids=True))
        try:
            assert rows_of(scanned(seen, ids=True)) == wanted, read["writeids"]
        except NotHere:
            assert fixture in ASKS_SPARK
