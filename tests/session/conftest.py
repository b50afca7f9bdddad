"""Sessions of tests of DataFrames."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.session import Session


@pytest.fixture
def frames_folder(tmp_path: Path) -> Path:
    """The folder in which frames wait."""
    directory = tmp_path / "frames"
    directory.mkdir()
    return directory


@pytest.fixture
def alone(tmp_path: Path, frames_folder: Path) -> Iterator[Session]:
    """A session that never starts Spark, whose frames wait in ``frames_folder``."""
    settings = {"acidsql.frames.directory": str(frames_folder), "acidsql.engine": "local"}
    with Session(tmp_path / "w", settings=settings) as session:
        yield session
        assert not session.spark_started


@pytest.fixture
def people(alone: Session) -> Session:
    """``alone`` with an empty table of ids and names."""
    columns = "id INT, name STRING"
    alone.sql(f"CREATE TABLE t ({columns}) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    return alone
