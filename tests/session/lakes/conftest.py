"""A user's Spark 4.1 with a catalog of Iceberg's, Delta's for Spark's own, and tables of equal
columns in each. Its jars come from Maven, by Spark's own means; these tests need a process that has
no Spark yet.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acidsql.session import Session
from acidsql.spark import jvm
from acidsql.spark_release import installed_release, release_text
from tests.conftest import INTERPRETED, SPARK_CONF
from tests.spark_packages import spark_packages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RELEASE = (4, 1)
"""The only Spark that both have builds for."""
PACKAGES = (
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    "io.delta:delta-spark_4.1_2.13:4.1.0",
)
EXTENSIONS = (
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "io.delta.sql.DeltaSparkSessionExtension",
)
Row = tuple[int, str, Decimal, date]


def rows(*ids: int, customer: str) -> list[Row]:
    return [(i, customer, Decimal(i) / 4, date(2026, 1, 1 + i % 3)) for i in ids]


ORDERS = {
    "shop.orders": rows(1, 2, 3, 4, 5, customer="acid"),
    "ice.shop.orders": rows(2, 3, 4, 6, customer="iceberg"),
    "spark_catalog.shop.orders": rows(3, 4, 5, 7, customer="delta"),
}
"""The rows of tables of one name and equal columns: acidsql's, Iceberg's and Delta's."""
COLUMNS = "(id INT, customer STRING, amount DECIMAL(10,2), day DATE)"


def values(of: list[Row]) -> str:
    return ", ".join(f"({i}, '{who}', {amount}, DATE '{day}')" for i, who, amount, day in of)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The user's session. Skips where it cannot be had."""
    if installed_release() != RELEASE:
        pytest.skip(
            f"Iceberg and Delta have no builds for Spark {release_text(installed_release())}"
        )
    if jvm.running_session_if_any() is not None:
        pytest.skip("a Spark without Iceberg and Delta runs in this process")
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    home = tmp_path_factory.mktemp("lakes")
    settings = {
        **SPARK_CONF,
        **spark_packages(home, *PACKAGES),
        "spark.sql.extensions": ",".join(EXTENSIONS),
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": (home / "iceberg").as_uri(),
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": (home / "delta").as_uri(),
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        **INTERPRETED,
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        started = builder.getOrCreate()
    except PySparkRuntimeError as error:
        reason = f"the jars of Iceberg and Delta cannot be had: {error}"
    else:
        reason = ""
    if reason:
        with warnings.catch_warnings():  # pyspark leaves a pipe to the Java that ended
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
        pytest.skip(reason)
    yield started
    started.stop()


@pytest.fixture(scope="session")
def lakes(spark: SparkSession) -> SparkSession:
    """The session with the tables of Iceberg's and Delta's, which no test changes."""
    for name, using in {"ice.shop.orders": "iceberg", "spark_catalog.shop.orders": "delta"}.items():
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {name.rpartition('.')[0]}")
        spark.sql(f"CREATE TABLE {name} {COLUMNS} USING {using}")
        spark.sql(f"INSERT INTO {name} VALUES {values(ORDERS[name])}")
    return spark


@pytest.fixture
def session(lakes: SparkSession, tmp_path: Path) -> Iterator[Session]:
    """A session beside them on a new warehouse, with its own table ``shop.orders``."""
    with Session(tmp_path / "warehouse", spark=lakes) as session:
        session.sql("CREATE DATABASE shop")
        session.sql("USE shop")
        session.sql(f"CREATE TRANSACTIONAL TABLE orders {COLUMNS} STORED AS ORC")
        session.sql(f"INSERT INTO orders VALUES {values(ORDERS['shop.orders'])}")
        yield session
