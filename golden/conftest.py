"""Golden scripts run on the Spark of all other tests, which the first that needs it starts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.session import Session
from acidsql.testing.items import THROWN_AWAY
from tests.conftest import REMOTE, SPARK_CONF, pytest_configure, pytest_runtest_setup

__all__ = ["pytest_configure", "pytest_runtest_setup"]

BIG, SPARK = "[acidsql.write.path=big]", "[acidsql.engine=spark]"
ROOT = Path(__file__).parent
DECIDED = ("column_names", "constraints", "dry_run", "losses")
ONE_WAY = ("txn/", *(f"write/{name}.sql" for name in DECIDED))
"""Scripts about what is decided before and after rows are written: who waits, who is refused, what
is told. Every run carries them out without Spark.
"""
LONG = ("write/relations.sql", "write/types.sql")
"""Scripts of values and joins: the tests of rows compare Spark's with the driver's in every run."""
BY_BOTH = ("write/dml.sql", "write/bucketed.sql", "write/overwrite.sql")
"""Scripts of which every run carries out both paths; the tests of rows carry out the rest so."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow group has the other ways of the scripts: the big path, which takes longest, and
    Spark where it decides nothing.
    """
    for item in items:
        if not item.path.is_relative_to(ROOT):
            continue
        script = item.path.relative_to(ROOT).as_posix()
        by_spark = item.name.endswith(SPARK) and script.startswith((*ONE_WAY, *LONG))
        if by_spark or (item.name.endswith(BIG) and script not in BY_BOTH):
            item.add_marker("slow")


@pytest.fixture
def acidsql_session(acidsql_warehouse: Path) -> Iterator[Session]:
    """A session on a new warehouse, with the settings of Spark that suit many small statements."""
    with Session(
        str(acidsql_warehouse),
        metastore="",
        master=os.environ.get(REMOTE, "local[2]"),
        conf={} if REMOTE in os.environ else SPARK_CONF,
        settings=THROWN_AWAY,
    ) as session:
        yield session
