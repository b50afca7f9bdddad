"""Azure's and Google's stores by emulators of theirs, where one is running: ``ACIDSQL_TEST_ABFS`` is
the URL of Azurite, ``ACIDSQL_TEST_GS`` that of fake-gcs-server. What is in them is deleted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from acidsql.catalog.model import TableName
from acidsql.commit.recovery import remove_staging
from acidsql.session import Session
from tests.compaction.cleaning import clean_all
from tests.spark.stores import BUCKET

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The ones that Azure's documentation gives to every emulator."""
MERGE = """
MERGE INTO t USING (VALUES (3, 'm', 'y'), (9, 'n', 'z')) s (id, v, d) ON t.id = s.id
WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v, s.d)
"""
ROWS = [(2, "u", "x"), (3, "m", "y"), (4, "d", "x"), (5, "e", "x"), (9, "n", "z")]


def azure(host: str) -> Callable[..., fs.FileSystem]:
    """What opens an account's files, by the name of the account and whatever more."""
    real, authorities = fs.AzureFileSystem, ("blob_storage", "dfs_storage")

    def opened(account: str, **_: Any) -> fs.FileSystem:
        places = {f"{name}_authority": host for name in authorities}
        schemes = {f"{name}_scheme": "http" for name in authorities}
        return real(account, account_key=KEY, **places, **schemes)

    return opened


def google(host: str) -> Callable[..., fs.FileSystem]:
    """What opens files without credentials."""
    real = fs.GcsFileSystem
    return lambda: real(
        anonymous=True,
        scheme="http",
        endpoint_override=host,
        project_id="tests",
        retry_time_limit=timedelta(seconds=30),
    )


AZURE = f"abfss://{BUCKET}@{ACCOUNT}.dfs.core.windows.net"
STORES = {
    "ACIDSQL_TEST_ABFS": (AZURE, "AzureFileSystem", azure, (ACCOUNT,)),
    "ACIDSQL_TEST_GS": (f"gs://{BUCKET}", "GcsFileSystem", google, ()),
}
"""URL of the bucket, pyarrow's class, what takes its place, and what that is called with."""


@pytest.fixture(params=STORES)
def store(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, fs.FileSystem]:
    """The URL of an empty bucket, with its files."""
    variable = request.param
    if variable not in os.environ:
        pytest.skip(f"{variable} names no emulator")
    root, name, opener, arguments = STORES[variable]
    opened = opener(os.environ[variable].partition("://")[2])
    monkeypatch.setattr(fs, name, opened)
    files = opened(*arguments)
    files.create_dir(BUCKET)
    for name in names(files):
        files.delete_file(f"{BUCKET}/{name}")
    return root, files


@pytest.fixture
def session(warehouse: Path) -> Iterator[Session]:
    """One without Spark, that compacts when it is told to."""
    settings = {"acidsql.engine": "local", "acidsql.compactor.auto": "false"}
    with Session(warehouse, settings=settings) as opened:
        yield opened


def names(files: fs.FileSystem) -> list[str]:
    """Of all files."""
    selected = fs.FileSelector(BUCKET, recursive=True, allow_not_found=True)
    infos = [info for info in files.get_file_info(selected) if info.type is fs.FileType.File]
    return sorted(info.path.removeprefix(f"{BUCKET}/") for info in infos)


def directories(files: fs.FileSystem) -> list[str]:
    """Those of the files, without the transactions of compactions."""
    return sorted({name.rpartition("/")[0].partition("_v")[0] for name in names(files)})


def rows(session: Session, table: str = "t") -> list[tuple[Any, ...]]:
    return sorted(map(tuple, session.sql(f"SELECT id, v, d FROM {table}").rows()))


def test_a_table_there(store: tuple[str, fs.FileSystem], session: Session) -> None:
    """Changed, compacted, cleaned, renamed and dropped: the rows are right, and nothing is left."""
    root, files = store
    session.sql(
        f"CREATE TRANSACTIONAL TABLE t (id INT, v STRING) PARTITIONED BY (d STRING) STORED AS ORC LOCATION '{root}/t'"
    )
    session.sql("INSERT INTO t PARTITION (d) VALUES (1, 'a', 'x'), (2, 'b', 'x'), (3, 'c', 'y')")
    session.sql("INSERT INTO t PARTITION (d = 'x') VALUES (4, 'd'), (5, 'e')")
    session.sql("UPDATE t SET v = 'u' WHERE id = 2")
    session.sql("DELETE FROM t WHERE id = 1")
    session.sql(MERGE)
    assert rows(session) == ROWS
    for kind in ("minor", "major"):
        session.sql(f"ALTER TABLE t PARTITION (d = 'x') COMPACT '{kind}' AND WAIT")
        assert rows(session) == ROWS
        clean_all(session)
        assert rows(session) == ROWS
    session.sql("ALTER TABLE t PARTITION (d = 'z') RENAME TO PARTITION (d = 'w')")
    session.sql("ALTER TABLE t DROP PARTITION (d = 'y')")
    session.sql("ALTER TABLE t RENAME TO u")
    assert rows(session, "u") == [ROWS[0], *ROWS[2:4], (9, "n", "w")]
    assert directories(files) == ["t/d=w/delta_0000005_0000005_0000", "t/d=x/base_0000004"]
    assert not session.sql("MSCK REPAIR TABLE u SYNC PARTITIONS").warnings
    assert len(rows(session, "u")) == len(ROWS) - 1
    session.sql("TRUNCATE TABLE u")
    assert rows(session, "u") == []
    session.sql("DROP TABLE u")
    assert names(files) == []


def test_what_a_killed_writer_leaves_is_taken_away(
    store: tuple[str, fs.FileSystem], session: Session
) -> None:
    """The hidden directory of a transaction that is over is seen and deleted."""
    root, files = store
    session.sql(f"CREATE TRANSACTIONAL TABLE t (id INT) STORED AS ORC LOCATION '{root}/t'")
    session.sql("INSERT INTO t VALUES (1)")
    with files.open_output_stream(f"{BUCKET}/t/.acidsql_1_0123abcd/p/bucket_00000") as file:
        file.write(b"left")
    table = session.store.find_table(TableName("default", "t"))
    assert table is not None
    remove_staging(session.store, session.files, table)
    assert [list(row) for row in session.sql("SELECT id FROM t").rows()] == [[1]]
    assert not [name for name in names(files) if "/.acidsql" in name]
