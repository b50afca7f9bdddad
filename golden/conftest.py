"""Golden scripts run on the Spark of all other tests, which the first that needs it starts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.session import Session
from acidsql.testing.items import THROWN_AWAY
from tests.conftest import REMOTE, SPARK_CONF


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
