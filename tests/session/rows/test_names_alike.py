"""Tables of two databases that are called the same: each column is that table's which its name
says, whoever makes the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acidsql.session import Session
from tests.session.rows.ways import WAYS, take

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
IN_THE_OTHER = (
    "EXISTS (SELECT 1 FROM other.orders WHERE other.orders.id = shop.orders.id)"
    " AND id NOT IN (SELECT orders.id FROM other.orders WHERE shop.orders.name = 'c')"
)


@pytest.fixture
def session(spark: SparkSession, tmp_path: Path) -> Iterator[Session]:
    """Tables shop.orders and other.orders of equal columns, which share the ids 2 and 3."""
    with Session(tmp_path / "w", spark=spark) as session:
        for database, rows in {
            "shop": "(1, 'a'), (2, 'b'), (3, 'c')",
            "other": "(2, 'x'), (3, 'y'), (4, 'z')",
        }.items():
            session.sql(f"CREATE DATABASE {database}")
            session.sql(f"CREATE TABLE {database}.orders (id INT, name STRING) {ACID}")
            session.sql(f"INSERT INTO {database}.orders VALUES {rows}")
        yield session


@pytest.mark.parametrize("way", WAYS)
def test_queries(session: Session, way: str) -> None:
    """A condition on the outer table inside of a query on its namesake is one on the outer table."""
    take(session, way)
    found = session.sql(f"SELECT shop.orders.id, name FROM shop.orders WHERE {IN_THE_OTHER}")
    assert list(found) == [(2, "b")]
    joined = session.sql(
        "SELECT shop.orders.name, other.orders.name FROM shop.orders JOIN other.orders"
        " ON shop.orders.id = other.orders.id ORDER BY shop.orders.id"
    )
    assert list(joined) == [("b", "x"), ("c", "y")]


@pytest.mark.parametrize("way", WAYS)
def test_changes(session: Session, way: str) -> None:
    """UPDATE and DELETE change the rows that have a partner among the namesake's, and no others."""
    take(session, way)
    session.sql(
        "UPDATE shop.orders SET name = (SELECT max(other.orders.name) FROM other.orders"
        f" WHERE other.orders.id = shop.orders.id) WHERE {IN_THE_OTHER}"
    )
    rows = "SELECT id, name FROM shop.orders ORDER BY id"
    assert list(session.sql(rows)) == [(1, "a"), (2, "x"), (3, "c")]
    session.sql(f"DELETE FROM shop.orders WHERE {IN_THE_OTHER}")
    assert list(session.sql(rows)) == [(1, "a"), (3, "c")]
