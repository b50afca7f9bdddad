"""CHAR columns beside literals that end in blanks: the rows that Hive 4.0.1 gave, whoever reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acidsql.session import Session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONDITIONS = {
    "c = 'ab  '": [1, 2],
    "c = 'ab      '": [1, 2],
    "c <> 'ab  '": [3, 4],
    "c IN ('ab  ', 'q')": [1, 2],
    "c >= 'ab  ' AND c < 'ab z'": [1, 2],
    "k = '  '": [4],
    "c LIKE 'ab  '": [],
    "c = s": [1, 3, 4],
    "c = k": [1, 2],
    "v = 'ab  '": [2],
}


def _check(session: Session) -> None:
    session.sql(
        "CREATE TABLE t (id INT, c CHAR(4), v VARCHAR(6), s STRING, k CHAR(2)) STORED AS ORC"
        " TBLPROPERTIES ('transactional'='true')"
    )
    session.sql(
        "INSERT INTO t VALUES (1,'ab','ab','ab','ab'), (2,'ab  ','ab  ','ab  ','ab'),"
        " (3,'abc','abc','abc','x'), (4,' ab',' ab',' ab','')"
    )
    for condition, ids in CONDITIONS.items():
        query = f"SELECT id FROM t WHERE {condition} ORDER BY id"
        assert [row for (row,) in session.sql(query).rows()] == ids, condition
        counted = session.sql("SELECT count(*) FROM t WHERE " + condition)
        assert list(counted.rows()) == [(len(ids),)], condition
        scanned = session.scan("t", ["id"], condition).to_arrow()["id"].to_pylist()
        assert sorted(scanned) == ids, condition
    assert session.sql("UPDATE t SET s = 'hit' WHERE c = 'ab   '").stats.rows_updated == 2
    assert session.sql("DELETE FROM t WHERE c = ?", ["abc "]).stats.rows_deleted == 1
    source = "(SELECT * FROM VALUES (4) AS q (id)) s"
    merge = f"MERGE INTO t USING {source} ON t.id = s.id AND t.k = '   ' WHEN MATCHED THEN DELETE"
    assert session.sql(merge).stats.rows_deleted == 1


def test_blanks_at_the_end_of_a_literal_mean_nothing_beside_char_without_spark(
    warehouse: Path,
) -> None:
    """Queries, scans, counts and changes by the driver."""
    with Session(warehouse, settings={"acidsql.engine": "local"}) as session:
        _check(session)


@pytest.mark.spark
def test_blanks_at_the_end_of_a_literal_mean_nothing_beside_char_on_spark(
    warehouse: Path, spark: SparkSession
) -> None:
    """The same by Spark."""
    with Session(warehouse, spark=spark, settings={"acidsql.engine": "spark"}) as session:
        _check(session)
