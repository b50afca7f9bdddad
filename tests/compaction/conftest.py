"""A session on a store of either kind, whose clock the test moves; small writes need no Java."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.session import Session
from tests.contracts import Clock

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true'{})"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "postgresql"])
def metastore_url(request: pytest.FixtureRequest) -> str:
    """Where the metastore is: "" in the warehouse."""
    return str(request.getfixturevalue("postgresql")) if request.param == "postgresql" else ""


@pytest.fixture
def small(warehouse: Path, metastore_url: str, clock: Clock) -> Iterator[Session]:
    with Session(str(warehouse), metastore=metastore_url, clock=clock) as opened:
        yield opened
