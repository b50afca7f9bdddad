"""An embedded metastore in a directory of its own, on a clock that the test moves."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acidsql.catalog.catalog import Catalog
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.txn.manager import TxnManager

MEMORY = "/dev/shm"


class Clock:
    """Epoch seconds; stands still until told."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


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


@pytest.fixture
def reopen(warehouse: Path, clock: Clock) -> Iterator[Callable[..., EmbeddedMetastore]]:
    """Opens the warehouse once more, as another process would."""
    opened: list[EmbeddedMetastore] = []

    def open_again(**options: object) -> EmbeddedMetastore:
        opened.append(EmbeddedMetastore(str(warehouse), **{"clock": clock, **options}))  # type: ignore[arg-type]
        return opened[-1]

    yield open_again
    for metastore in opened:
        metastore.close()


@pytest.fixture
def metastore(reopen: Callable[..., EmbeddedMetastore]) -> EmbeddedMetastore:
    return reopen()


@pytest.fixture(params=["embedded"])
def manager(request: pytest.FixtureRequest) -> TxnManager:
    """Every transaction manager there is, empty."""
    return request.getfixturevalue("metastore")


@pytest.fixture(params=["embedded"])
def catalog(request: pytest.FixtureRequest) -> Catalog:
    """Every catalog there is, with nothing but the database "default"."""
    return request.getfixturevalue("metastore")
