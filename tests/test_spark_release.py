"""Which Spark is installed, and what of SQL it has."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from acidsql import spark_release
from acidsql.spark_release import NEWEST, OLDEST, installed_release, release_of, releases_text

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize(
    ("version", "release"),
    [("3.5.9", (3, 5)), ("4.1.0.dev0", (4, 1)), ("4.10", (4, 10)), ("5", (5, 0))],
)
def test_releases_of_versions(version: str, release: tuple[int, int]) -> None:
    """Patches and what follows on them count for nothing."""
    assert release_of(version) == release


def test_the_installed_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is that of the pyspark that is imported, else of the package, else the newest."""
    ask = installed_release.__wrapped__
    monkeypatch.setitem(sys.modules, "pyspark", SimpleNamespace(__version__="3.5.1"))
    assert ask() == (3, 5)
    monkeypatch.delitem(sys.modules, "pyspark")
    monkeypatch.setattr(metadata, "version", lambda name: "4.1.4")
    assert ask() == (4, 1)

    def none(name: str) -> str:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "version", none)
    assert ask() == NEWEST


WITHOUT = """
import sys
from importlib.machinery import PathFinder

def find_others(name, path=None, target=None, find=PathFinder.find_spec):
    return None if name.partition(".")[0] in ("pyspark", "py4j") else find(name, path, target)

PathFinder.find_spec = find_others
from acidsql.errors import ExecutionError
from acidsql.session import Session

with Session(sys.argv[1]) as session:
    for text in (
        "CREATE TABLE t (id INT, s STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')",
        "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
        "UPDATE t SET s = upper(s) WHERE id = 1",
        "DELETE FROM t WHERE id = 2",
        "MERGE INTO t USING (SELECT 3 AS id) u ON t.id = u.id WHEN NOT MATCHED THEN INSERT VALUES (u.id, 'n')",
        "ALTER TABLE t COMPACT 'major'",
    ):
        session.sql(text)
    assert session.sql("SELECT * FROM t ORDER BY id").fetchall() == [(1, "A"), (3, "n")]
    try:
        session.sql("SELECT count(*) FROM t LATERAL VIEW explode(array(1)) e AS n").fetchall()
        raise AssertionError("there is a Spark")
    except ExecutionError as error:
        assert error.message == "this needs Spark, and pyspark is not installed", error
        assert "pip install 'pyspark~=4.3.0'" in error.hint, error
"""


@pytest.mark.processes
def test_without_pyspark(tmp_path: Path) -> None:
    """What needs no Spark runs; the first statement that needs one says what to install."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(tmp_path / "w")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_docs_list_the_releases() -> None:
    """docs/index.md has a line for each, with its Javas."""
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    lines = [line.split("|") for line in text.splitlines() if line.startswith(("| 3.", "| 4."))]
    listed = [release_of(cells[1].strip()) for cells in lines]
    assert (listed[0], listed[-1]) == (OLDEST, NEWEST)
    for release, cells in zip(listed, lines, strict=True):
        taken = spark_release._JAVAS.get(release, spark_release._JAVAS_SINCE)
        assert cells[3].strip() == ", ".join(map(str, taken))
        assert release_of(cells[2].strip().split()[0]) == release
    assert releases_text() == "3.5 to 4.3"
