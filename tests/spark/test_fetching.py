"""What the small path takes to the driver: all rows, or none where they weigh too much."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acidsql.spark import jvm
from acidsql.spark.write import fetching
from tests.spark.written import make_table, target

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

WIDTH = 1000


@pytest.fixture(scope="module", params=[1, 3, 6])
def texts(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> DataFrame:
    """100 rows with texts of WIDTH letters that are not the same, in so many tasks."""
    text = f"substring(repeat(sha2(CAST(id AS STRING), 512), 8), 1, {WIDTH})"
    folder, parts = tmp_path_factory.mktemp("texts"), []
    for number in range(request.param):
        rows = spark.range(100).where(f"id % {request.param} = {number}")
        rows = rows.selectExpr(
            "id", f"{text} AS text", f"array({text}, NULL) AS listed", "id * 2 AS twice"
        )
        rows.coalesce(1).write.parquet(str(folder / f"texts{number}"))
        parts.append(spark.read.parquet(str(folder / f"texts{number}")))
    whole = reduce(lambda one, other: one.union(other), parts)
    assert jvm.task_count(whole) == request.param
    return whole


def test_wide_values_are_weighed(texts: DataFrame, tmp_path: Path) -> None:
    """Values are all there if they fit, whatever their types are taken to weigh; if not there are
    no rows at all.
    """
    place = target(make_table(tmp_path / "t", {"k": "int"}), 1)
    whole = jvm.arrow_table(texts).sort_by("id")
    assert whole.nbytes > 200 * WIDTH
    for max_bytes in (200 * WIDTH, 100 * WIDTH, 4 * WIDTH, 1):
        assert fetching.fetch(place, texts, max_bytes) is None
    for max_bytes in (300 * WIDTH, 100 * whole.nbytes, None):
        found = fetching.fetch(place, texts, max_bytes)
        assert found is not None
        assert found.sort_by("id").equals(whole)


def test_rows_are_counted(texts: DataFrame, tmp_path: Path) -> None:
    """Rows of a fixed width are no more than fit; a single row always fits."""
    place = target(make_table(tmp_path / "t", {"k": "int"}), 1)
    numbers = texts.select("id", "twice")
    assert fetching.fetch(place, numbers, 1599) is None
    assert fetching.fetch(place, numbers, 16 * 99) is None
    found = fetching.fetch(place, numbers, 2000)
    assert found is not None
    assert found.num_rows == 100
    one = fetching.fetch(place, texts.where("id = 7"), 1)
    assert one is not None
    assert one.column("twice").to_pylist() == [14]
    assert len(one.column("text")[0].as_py()) == WIDTH


def test_more_than_memory_holds_is_cut_in_its_task(texts: DataFrame) -> None:
    """A task sends no more wide values than it may: behind them come NULLs, and a mark."""
    sent = jvm.arrow_table(fetching._weighed(texts.coalesce(1), 10 * WIDTH))
    over = sent.column(fetching._OVER).to_pylist()
    kept = over.index(True)
    assert 3 <= kept <= 11
    assert all(over[kept:])
    assert all(
        value is None
        for value in (
            *sent.column("text").to_pylist()[kept:],
            *sent.column("listed").to_pylist()[kept:],
        )
    )
    assert None not in sent.column("text").to_pylist()[:kept]
    assert sent.column("twice").null_count == 0
