"""Golden scripts run on the Spark of all other tests, which the first that needs it starts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.session import Session
from acidsql.testing.items import THROWN_AWAY
from tests.conftest import REMOTE, SPARK_CONF

BIG = "[acidsql.write.path=big]"
ROOT = Path(__file__).parent
ALIKE = (
    *("txn/anomalies", "txn/waiting.sql", "txn/write_set_tracking.sql"),
    *("write/losses.sql", "write/dry_run.sql"),
)
"""Who waits, who loses, and what a dry run tells, is decided before and after rows are written;
what store casts take is counted on both paths by tests/session/rows/test_counted_losses.py, too.
"""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Scripts about that run with Spark and without; the big path, which takes longest, is for the
    slow group.
    """
    for item in items:
        if not item.name.endswith(BIG) or not item.path.is_relative_to(ROOT):
            continue
        if item.path.relative_to(ROOT).as_posix().startswith(ALIKE):
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
