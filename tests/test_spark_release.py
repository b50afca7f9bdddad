"""Which Spark is installed, and what of SQL it has."""

from __future__ import annotations

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
