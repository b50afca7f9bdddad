"""The dialect on the tables of a Hive metastore."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import registry
from sqlalchemy.engine import URL

from tests.metastore.hms.service import HiveService

registry.register("acidsql", "acidsql.sqlalchemy.dialect", "AcidSqlDialect")

METADATA = sa.MetaData()
T = sa.Table(
    "t",
    METADATA,
    sa.Column("id", sa.Integer),
    sa.Column("name", sa.String(20)),
    sa.Column("day", sa.Date),
    acidsql_partition_by=["day"],
)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sa.Engine]:
    served = HiveService(tmp_path / "hive")
    query = {"metastore": served.url, "acidsql.engine": "local"}
    opened = sa.create_engine(URL.create("acidsql", query=query))
    yield opened
    opened.dispose()
    served.close()


def test_tables_are_made_changed_and_reflected(engine: sa.Engine) -> None:
    """DDL, a transaction of several statements, one that is rolled back, and what is told of it."""
    METADATA.create_all(engine)
    rows = [{"id": n, "name": f"n{n}", "day": date(2024, 1, 1 + n)} for n in range(3)]
    with engine.begin() as connection:
        connection.execute(T.insert(), rows)
        connection.execute(T.update().where(T.c.id == 1).values(name="one"))
        connection.execute(T.delete().where(T.c.id == 2))
    with engine.connect() as connection:
        connection.execute(T.delete())
        connection.rollback()
        left = connection.execute(sa.select(T.c.id, T.c.name).order_by(T.c.id)).all()
    assert left == [(0, "n0"), (1, "one")]
    inspector = sa.inspect(engine)
    assert inspector.get_table_names() == ["t"]
    assert inspector.get_schema_names() == ["default"]
    assert [one["name"] for one in inspector.get_columns("t")] == ["id", "name", "day"]
    METADATA.drop_all(engine)
    assert not sa.inspect(engine).has_table("t")
