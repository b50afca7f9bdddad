"""Statements of the catalog, which need no Spark, on a clock that stands still."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.catalog.model import Table, TableName
from acidsql.session import Session

NOW = 1_700_000_000


@pytest.fixture
def plain(warehouse: Path) -> Iterator[Session]:
    """A session that must not start Spark."""
    with Session(warehouse, clock=lambda: NOW) as session:
        yield session
        assert not session.spark_started


def found(session: Session, name: str, database: str = "default") -> Table:
    """A table that is there."""
    table = session.store.find_table(TableName(database, name))
    assert table is not None
    return table
