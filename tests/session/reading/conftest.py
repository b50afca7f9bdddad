"""What several tests of reading are over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acidsql.session import Session
from tests.session.reading.parity import COLUMNS, ROWS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Session]:
    """The tables of every layout: with delete deltas, partitions, without transactions, empty."""
    root: Path = tmp_path_factory.mktemp("parity") / "warehouse"
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    with Session(str(root), spark=spark, settings={"acidsql.engine": "spark"}) as session:
        acid = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
        session.sql(f"CREATE TABLE acid ({columns}) {acid}")
        session.sql(f"CREATE TABLE empty ({columns}) {acid}")
        session.sql(f"CREATE TABLE other ({columns}) {acid}")
        session.sql(f"CREATE TABLE parted ({columns}) PARTITIONED BY (k int, kc char(3)) {acid}")
        session.sql(f"CREATE TABLE plain ({columns}) STORED AS ORC")
        session.sql(f"INSERT INTO acid VALUES {ROWS}")
        session.sql("INSERT INTO acid SELECT * FROM acid")
        session.sql("DELETE FROM acid WHERE i = 4")
        session.sql("UPDATE acid SET x = 'changed' WHERE i = -3")
        session.sql("INSERT INTO parted PARTITION (k, kc) SELECT *, i % 3, c FROM acid")
        session.sql("INSERT INTO plain SELECT * FROM acid")
        session.sql("INSERT INTO other SELECT * FROM acid WHERE i > 2 OR x IS NULL")
        yield session
