"""What the tests of the plugin share: runs of pytest inside this one."""

from __future__ import annotations

import pytest
import syrupy
from syrupy.extensions.base import SnapshotCollectionStorage

from acidsql.session import Session
from acidsql.testing import golden, tables

REFUSED = "CREATE TABLE t (a INT) STORED AS ORC; UPDATE t SET b = 1"
PLANNED = "CREATE TABLE u (a INT) STORED AS ORC; INSERT INTO u VALUES (1)"
RUN = """
    SET acidsql.engine=local; INSERT INTO u VALUES (1); SHOW TABLES; SELECT * FROM u;
    CREATE TABLE v (a INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
    INSERT INTO v SELECT a FROM u; UPDATE v SET a = 2 WHERE a = 1
"""


@pytest.fixture(scope="session", autouse=True)
def loaded(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Imports everything once: a run inside this one forgets the modules it imported, and
    SQLAlchemy cannot be imported twice.
    """
    path = tmp_path_factory.mktemp("loaded")
    (path / "c.csv").write_text("a\n1\n", encoding="utf-8")
    with Session(str(path)) as session:
        golden.run_compiled("error", REFUSED, session)
        golden.run_compiled("plan", PLANNED, session)
        golden.run_script(RUN, session, path)
        tables.TableMaker(session=session, folder=path)("w", "c.csv")


@pytest.fixture(autouse=True)
def own_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run inside this one sets what syrupy keeps by process; this run's is put back. It is no
    process of pytest-xdist, though this one may be.
    """
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.setattr(syrupy, "_syrupy", syrupy._syrupy)
    monkeypatch.setattr(
        SnapshotCollectionStorage, "snapshot_dirname", SnapshotCollectionStorage.snapshot_dirname
    )
