"""NULL as a partition's value is a NULL like any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acidsql.session import Session

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STORED = {
    "acid": "STORED AS ORC TBLPROPERTIES ('transactional'='true')",
    "plain": "STORED AS ORC",
    "text": "STORED AS TEXTFILE",
    "parquet": "STORED AS PARQUET",
}


@pytest.mark.parametrize("stored", STORED.values(), ids=STORED)
def test_null_is_not_in_nothing(stored: str, tmp_path: Path, spark: SparkSession) -> None:
    """NULL NOT IN a sub-query without rows is true, also where it is the one partition that is
    read; NOT IN one with rows it is not.
    """
    with Session(tmp_path / "w", spark=spark) as session:
        session.sql(f"CREATE TABLE t (k BIGINT) PARTITIONED BY (p DECIMAL(8,2)) {stored}")
        session.sql("INSERT INTO t PARTITION (p) VALUES (5, NULL), (6, 1.0), (5, 12.34)")
        query = "SELECT k FROM t WHERE p IS NULL AND p NOT IN (SELECT p FROM t WHERE k {})"
        assert list(session.sql(query.format("< 0")).rows()) == [(5,)]
        assert list(session.sql(query.format("= 6")).rows()) == []
        assert list(session.sql("SELECT k, p FROM t WHERE p IS NULL").rows()) == [(5, None)]
