"""Statements with long chains of terms, carried out: Spark gets lists and finds the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from acidsql.session import Session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_VALUES = (None, -1, 0, 1, 30)
_DAYS = (None, "2024-01-01", "2024-01-02")


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """``t`` has every combination of a few values and NULLs, ``u`` the same rows."""
    with Session(tmp_path_factory.mktemp("long") / "warehouse", spark=spark) as session:
        session.sql(
            "CREATE TABLE t (i TINYINT, b BIGINT, s STRING, d DATE) STORED AS ORC"
            " TBLPROPERTIES ('transactional'='true')"
        )
        rows = [
            f"({i}, {b}, {s}, {d})".replace("None", "NULL")
            for i in _VALUES
            for b in _VALUES
            for s in ("NULL", "'1'", "'x'")
            for d in (f"DATE '{day}'" if day else "NULL" for day in _DAYS)
        ]
        session.sql(f"INSERT INTO t VALUES {', '.join(rows)}")
        yield session


def _days(count: int) -> list[str]:
    return [f"DATE '2024-{month:02}-{day:02}'" for month in (1, 2) for day in range(1, 29)][:count]


N = 25
PAIRS = " OR ".join(f"(i = {n - 12} AND b = {n - 12})" for n in range(N))
CONDITIONS = [
    " OR ".join(f"i = {n - 12}" for n in range(N)),
    " AND ".join(f"b <> {n - 12}" for n in range(N)),
    "NOT (" + " OR ".join(f"b = {n - 12}" for n in range(N)) + ")",
    " OR ".join(f"s = '{n}'" for n in range(N)) + " OR i > 1",
    " OR ".join(f"d = {day}" for day in _days(N)),
    PAIRS,
    f"({PAIRS}) AND s IS NOT NULL",
    f"NOT ({PAIRS})",
    " OR ".join(f"(d = {day} AND s = '{n}')" for n, day in enumerate(_days(N))),
    " OR ".join(f"(i = {n - 12} AND b > {n - 12})" for n in range(N)),
]


@pytest.mark.parametrize("condition", CONDITIONS, ids=range(len(CONDITIONS)))
def test_lists_find_the_rows_of_chains(
    session: Session, monkeypatch: pytest.MonkeyPatch, condition: str
) -> None:
    """Every row is in the answer whether Spark gets the user's chain or a list for it."""
    sql = f"SELECT * FROM t WHERE {condition} ORDER BY i, b, s, d"
    listed = session.sql(sql).to_arrow()
    with monkeypatch.context() as patch:
        patch.setattr("acidsql.expressions.shortening.FEWEST_TERMS", 1000)
        assert session.sql(sql).to_arrow() == listed
    assert 0 < len(listed) < 225
