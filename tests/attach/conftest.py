"""Tables that Hive wrote, and databases of Hive metastores: one for each schema, emptied for each test."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acidsql.session import Session
from tests.attach.hive_metastore import HiveMetastore
from tests.attach.hive_service import served
from tests.postgresql_server import PostgreSQLServer

Metastores = Callable[[str], HiveMetastore]


@pytest.fixture(scope="session")
def hive_metastores(postgresql_server: PostgreSQLServer) -> Iterator[Metastores]:
    """The metastore with a schema's tables, by its version."""
    made: dict[str, HiveMetastore] = {}

    def metastore(version: str) -> HiveMetastore:
        if version not in made:
            name = postgresql_server.make_database(None)
            made[version] = HiveMetastore(postgresql_server.url(name), version)
            made[version].make_tables()
        made[version].empty()
        return made[version]

    yield metastore
    for one in made.values():
        one.close()


@pytest.fixture(params=["3.1", "4.2"])
def hive_metastore(request: pytest.FixtureRequest, hive_metastores: Metastores) -> HiveMetastore:
    """An empty metastore of Hive 3, and of Hive 4."""
    return hive_metastores(request.param)


@pytest.fixture
def served_metastore(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HiveMetastore]:
    """An empty metastore with its service, of the version that the test names, else of Hive 4."""
    with served(tmp_path, getattr(request, "param", "4.2")) as metastore:
        yield metastore


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", settings={"acidsql.engine": "local"}) as opened:
        yield opened


@pytest.fixture
def location(request: pytest.FixtureRequest, shared: Path, tmp_path: Path) -> Iterator[Path]:
    """The directory of a table that Hive wrote, which nobody may write to."""
    folder = shared / "hive" / "fixtures"
    with tarfile.open(folder / f"{request.param}.tar.gz") as archive:
        archive.extractall(tmp_path, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # fmt: skip
    [table] = [path for path in tmp_path.iterdir() if path.is_dir() and path.name != "warehouse"]
    before = contents(table)
    yield table
    assert contents(table) == before


def contents(folder: Path) -> dict[str, Any]:
    return {
        path.relative_to(folder).as_posix(): (
            (os.stat(path).st_mtime_ns, path.read_bytes()) if path.is_file() else None
        )
        for path in folder.rglob("*")
    }
