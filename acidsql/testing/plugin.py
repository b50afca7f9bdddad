"""The pytest plugin ``acidsql``: golden SQL files as tests.

Set-up in a project of your own::

    [tool.pytest.ini_options]
    acidsql_golden = ["tests/golden"]                     # every *.sql below is a test, its expected text is the *.out beside it
    acidsql_golden_variants = ["write NAME=VALUE", ..]    # optional: run a family once for each variant of a setting

``pytest --snapshot-update`` writes the .out files. A missing .out fails, and so does an .out without its .sql.
Override the fixture ``acidsql_session`` in a conftest.py to run the scripts on a session of your own: by default each
script gets a new warehouse, ``acidsql_warehouse``.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from acidsql.session import Session

COMPILED_FAMILIES = ("parse", "plan", "error")
"""Families that need neither Spark nor Java."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("acidsql_golden", "folders of golden SQL scripts, relative to the ini file", type="paths", default=[])
    parser.addini("acidsql_golden_variants", "lines 'FAMILY SETTING=VALUE': the family runs once for each", type="linelist", default=[])
    if find_spec("syrupy") is None:  # syrupy brings the same option, under the same names
        group = parser.getgroup("acidsql")
        group.addoption("--snapshot-update", action="store_true", default=False, dest="update_snapshots", help="Write the .out files anew.")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    root = next((r for r in parent.config.getini("acidsql_golden") if file_path.is_relative_to(r)), None)
    if root is None:
        return None
    if file_path.suffix == ".sql":
        return GoldenFile.from_parent(parent, path=file_path, family=file_path.relative_to(root).parts[0])
    if file_path.suffix == ".out" and not file_path.with_suffix(".sql").exists():
        return OrphanFile.from_parent(parent, path=file_path)
    return None


class GoldenFile(pytest.File):
    """One script: one test, or one for each variant of its family."""

    def __init__(self, *, family: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.family = family

    def collect(self) -> Iterator[pytest.Item]:
        lines = (line.split(maxsplit=1) for line in self.config.getini("acidsql_golden_variants"))
        variants = [setting.strip() for family, setting in lines if family == self.family]
        for number, variant in enumerate(variants or [""]):
            yield GoldenItem.from_parent(self, variant=variant, may_write=number == 0)


class GoldenItem(pytest.Function):
    """The test of one script. ``variant``: a setting to run it under; only the first variant writes the expected text."""

    def __init__(self, *, parent: GoldenFile, variant: str, may_write: bool, **kwargs: Any) -> None:
        compiled = parent.family in COMPILED_FAMILIES
        name = f"{parent.path.stem}[{variant}]" if variant else parent.path.stem
        super().__init__(name=name, parent=parent, callobj=check_compiled if compiled else check_run, **kwargs)
        self.family = parent.family
        self.variant = variant
        self.may_write = may_write
        if not compiled:
            self.add_marker("spark")


class OrphanFile(pytest.File):
    """An expected text without its script."""

    def collect(self) -> Iterator[pytest.Item]:
        yield OrphanItem.from_parent(self, name=self.path.name)


class OrphanItem(pytest.Item):
    def runtest(self) -> None:
        pytest.fail(f"{self.path.name} has no {self.path.stem}.sql beside it: remove the one or bring back the other", pytrace=False)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.path.name


@pytest.fixture
def acidsql_warehouse(tmp_path: Path) -> Path:
    """The folder of this test's warehouse."""
    return tmp_path / "warehouse"


@pytest.fixture
def acidsql_session(acidsql_warehouse: Path) -> Iterator[Session]:
    """The session a golden script runs on; override it to bring your own tables or your own SparkSession."""
    from acidsql.session import Session

    with Session(str(acidsql_warehouse)) as session:
        yield session


def check_compiled(request: pytest.FixtureRequest, acidsql_warehouse: Path) -> None:
    """Runs a script of a family that needs no Spark, on a session that has none."""
    from acidsql.session import Session
    from acidsql.testing import golden

    with Session(str(acidsql_warehouse)) as session:
        _compare(request.node, lambda text: golden.run_compiled(request.node.family, text, session))
        assert not session.spark_started, f"family {request.node.family} must not need Spark"


def check_run(request: pytest.FixtureRequest, acidsql_session: Session, acidsql_warehouse: Path) -> None:
    """Runs a script of any other family."""
    from acidsql.testing import golden

    if request.node.variant:
        acidsql_session.sql(f"SET {request.node.variant}")
    _compare(request.node, lambda text: golden.run_script(text, acidsql_session, acidsql_warehouse))


def _compare(item: GoldenItem, run: Callable[[str], str]) -> None:
    """Fails with a line diff unless the script prints what its .out says; writes the .out when asked to."""
    from acidsql.testing.script import ScriptError

    expected_path = item.path.with_suffix(".out")
    try:
        found = run(item.path.read_text(encoding="utf-8"))
    except ScriptError as error:
        pytest.fail(f"{item.path.name}: {error}", pytrace=False)
    if item.config.getoption("update_snapshots", False) and item.may_write:
        expected_path.write_text(found, encoding="utf-8")
    if not expected_path.exists():
        pytest.fail(f"{expected_path.name} is missing; run with --snapshot-update to write it. The script printed:\n{found}", pytrace=False)
    expected = expected_path.read_text(encoding="utf-8")
    if found != expected:
        lines = difflib.unified_diff(expected.splitlines(), found.splitlines(), "expected", "found", lineterm="")
        pytest.fail("\n".join([f"{expected_path.name} differs; --snapshot-update accepts what was found", *lines]), pytrace=False)
