"""An embedded metastore in a directory of its own, on a clock that the test moves; once in a file
there, and once in PostgreSQL.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acidsql.metastore.embedded import EmbeddedMetastore
from tests.contracts import Clock, OpenStore, StoreContract

MEMORY = "/dev/shm"


def quoted(query: str) -> str:
    """SQL with Hive's names in quotes, which are as they are in every database."""
    return re.sub(r"\b([A-Z0-9]+_[A-Z0-9_]+|TXNS)\b", r'"\1"', query)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """In memory where there is such a place: waiting for disks is most of the time otherwise, and
    durability is not tested.
    """
    with tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as folder:
        yield Path(folder).resolve()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "postgresql"])
def metastore_url(request: pytest.FixtureRequest) -> str | None:
    """Where the metastore is: None in the warehouse. Modules about one store have one of their
    own.
    """
    return request.getfixturevalue("postgresql") if request.param == "postgresql" else None


@pytest.fixture
def reopen(
    warehouse: Path, clock: Clock, metastore_url: str | None
) -> Iterator[Callable[..., EmbeddedMetastore]]:
    """Opens the warehouse once more, as another process would."""
    opened: list[EmbeddedMetastore] = []

    def open_again(**options: object) -> EmbeddedMetastore:
        opened.append(
            EmbeddedMetastore(
                str(warehouse), **{"metastore": metastore_url, "clock": clock, **options}
            )
        )  # type: ignore[arg-type]
        return opened[-1]

    yield open_again
    for metastore in opened:
        metastore.close()


@pytest.fixture
def metastore(reopen: Callable[..., EmbeddedMetastore]) -> EmbeddedMetastore:
    return reopen()


class Embedded(StoreContract):
    """Opens the embedded store for a contract."""

    @pytest.fixture
    def open_store(self, reopen: Callable[..., EmbeddedMetastore]) -> OpenStore:
        return reopen
