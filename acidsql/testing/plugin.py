"""The pytest plugin ``acidsql``: golden SQL files as tests.

Set-up in a project of your own::

    [tool.pytest.ini_options]
    acidsql_golden = ["tests/golden"]               # every *.sql is a test, its *.out beside it
    acidsql_golden_modes = ["syntax parse", ..]     # optional: FOLDER MODE, how its scripts run
    acidsql_golden_variants = ["write NAME=VALUE"]  # optional: FOLDER NAME=VALUE, run for each

A folder is one directly below a root, ``.`` the root itself. Its mode is ``run`` by default: no
name of a folder means anything by itself. ``pytest --snapshot-update`` writes the .out files. A
missing .out fails, and so does an .out without its .sql. Override the fixture ``acidsql_session``
in a conftest.py to run the scripts on a session of your own: by default each script gets a new
warehouse, ``acidsql_warehouse``. docs/testing.md says it at length.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acidsql.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from acidsql.session import Session

RUN = "run"
COMPILED_MODES = ("parse", "plan", "error")
"""Modes that need neither Spark nor Java."""
ROOT_FOLDER = "."
"""What stands for the root itself where a folder is named."""
ALONE = {"acidsql.compactor.auto": "false"}
"""Nobody compacts by the way, so that files are the same each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """What the ini file says of the folders directly below the roots, by name."""

    modes: Mapping[str, str]
    variants: Mapping[str, Sequence[str]]


_FOLDERS = pytest.StashKey[Folders]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        "acidsql_golden",
        "folders of golden SQL scripts, relative to the ini file",
        type="paths",
        default=[],
    )
    parser.addini(
        "acidsql_golden_modes",
        "lines 'FOLDER MODE', how a folder's scripts run: run (the default), parse, plan or error",
        type="linelist",
        default=[],
    )
    parser.addini(
        "acidsql_golden_variants",
        "lines 'FOLDER SETTING=VALUE': the folder's scripts run once for each",
        type="linelist",
        default=[],
    )
    if find_spec("syrupy") is None:  # syrupy brings the same option, under the same names
        parser.getgroup("acidsql").addoption(
            "--snapshot-update",
            action="store_true",
            default=False,
            dest="update_snapshots",
            help="Write the .out files anew.",
        )


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker and reads the options. UsageError for what cannot be meant."""
    config.addinivalue_line("markers", "spark: needs a Java virtual machine")
    modes = dict(_lines(config, "acidsql_golden_modes"))
    for mode in modes.values():
        if mode not in (RUN, *COMPILED_MODES):
            known = ", ".join((RUN, *COMPILED_MODES))
            raise pytest.UsageError(
                f'acidsql_golden_modes: unknown mode "{mode}", expected {known}'
            )
    variants: dict[str, list[str]] = {}
    for folder, setting in _lines(config, "acidsql_golden_variants"):
        variants.setdefault(folder, []).append(setting)
    config.stash[_FOLDERS] = Folders(modes=modes, variants=variants)


def _lines(config: pytest.Config, option: str) -> Iterator[tuple[str, str]]:
    """Pairs (folder, what is said of it). UsageError for a line of one word or a folder there is
    not.
    """
    roots: list[Path] = config.getini("acidsql_golden")
    for line in config.getini(option):
        folder, *rest = line.split(maxsplit=1)
        if not rest:
            raise pytest.UsageError(f'{option}: expected a folder and a word on it, not "{line}"')
        if not any((root / folder).is_dir() for root in roots):
            raise pytest.UsageError(f'{option}: no folder "{folder}" below acidsql_golden')
        yield folder, rest[0]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    roots = parent.config.getini("acidsql_golden")
    root = next((r for r in roots if file_path.is_relative_to(r)), None)
    if root is None:
        return None
    if file_path.suffix == ".sql":
        *folders, _ = file_path.relative_to(root).parts
        return GoldenFile.from_parent(parent, path=file_path, folder=(folders or [ROOT_FOLDER])[0])
    if file_path.suffix == ".out" and not file_path.with_suffix(".sql").exists():
        return OrphanFile.from_parent(parent, path=file_path)
    return None


class GoldenFile(pytest.File):
    """One script: one test, or one for each variant of its folder."""

    def __init__(self, *, folder: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.folder = folder

    def collect(self) -> Iterator[pytest.Item]:
        folders = self.config.stash[_FOLDERS]
        mode = folders.modes.get(self.folder, RUN)
        for number, variant in enumerate(folders.variants.get(self.folder, [""])):
            yield GoldenItem.from_parent(self, mode=mode, variant=variant, may_write=number == 0)


class GoldenItem(pytest.Function):
    """The test of one script. ``variant``: a setting to run it under; only the first variant writes
    the expected text."""

    def __init__(
        self,
        *,
        parent: GoldenFile,
        mode: str,
        variant: str,
        may_write: bool,
        **kwargs: Any,
    ) -> None:
        name = f"{parent.path.stem}[{variant}]" if variant else parent.path.stem
        check = check_run if mode == RUN else check_compiled
        super().__init__(name=name, parent=parent, callobj=check, **kwargs)
        self.mode = mode
        self.variant = variant
        self.may_write = may_write
        if mode == RUN:
            self.add_marker("spark")


class OrphanFile(pytest.File):
    """An expected text without its script."""

    def collect(self) -> Iterator[pytest.Item]:
        yield OrphanItem.from_parent(self, name=self.path.name)


class OrphanItem(pytest.Item):
    def runtest(self) -> None:
        pytest.fail(
            f"{self.path.name} has no {self.path.stem}.sql beside it: remove the one or bring back"
            " the other",
            pytrace=False,
        )

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.path.name


@pytest.fixture
def acidsql_warehouse(tmp_path: Path) -> Path:
    """The folder of this test's warehouse."""
    return tmp_path / "warehouse"


@pytest.fixture
def acidsql_session(acidsql_warehouse: Path) -> Iterator[Session]:
    """The session a golden script runs on; override it to bring your own tables or your own
    SparkSession.
    """
    from acidsql.session import Session

    with Session(str(acidsql_warehouse), metastore="", settings=ALONE) as session:
        yield session


def check_compiled(request: pytest.FixtureRequest, acidsql_warehouse: Path) -> None:
    """Runs a script in a mode that needs no Spark, on a session that has none."""
    from acidsql.session import Session
    from acidsql.testing import golden

    item = request.node
    with Session(str(acidsql_warehouse), metastore="") as session:
        _set_variant(item, session)
        _compare(item, lambda text: golden.run_compiled(item.mode, text, session))
        if session.spark_started:
            pytest.fail(f"a script in the mode {item.mode} must not need Spark", pytrace=False)


def check_run(
    request: pytest.FixtureRequest, acidsql_session: Session, acidsql_warehouse: Path
) -> None:
    """Runs a script on the project's session."""
    from acidsql.testing import golden

    for name, value in ALONE.items():
        acidsql_session.settings.set(name, value)
    _set_variant(request.node, acidsql_session)
    _compare(
        request.node,
        lambda text: golden.run_script(text, acidsql_session, acidsql_warehouse),
    )


def _set_variant(item: GoldenItem, session: Session) -> None:
    if item.variant:
        session.sql(f"SET {item.variant}")


def _script(path: Path) -> str:
    from acidsql.errors import Error
    from acidsql.testing.script import ScriptError
    from acidsql.utf8 import decoded

    try:
        return decoded(path.read_bytes())
    except Error as error:
        raise ScriptError(error.message) from error


def _compare(item: GoldenItem, run: Callable[[str], str]) -> None:
    """Fails with a line diff unless the script prints what its .out says; writes the .out when
    asked to.
    """
    from acidsql.testing.script import ScriptError

    expected_path = item.path.with_suffix(".out")
    try:
        actual = run(_script(item.path))
    except ScriptError as error:
        pytest.fail(f"{item.path.name}: {error}", pytrace=False)
    if item.config.getoption("update_snapshots", False) and item.may_write:
        expected_path.write_text(actual, encoding="utf-8")
    if not expected_path.exists():
        pytest.fail(
            f"{expected_path.name} is missing; run with --snapshot-update to write it. The script"
            f" printed:\n{actual}",
            pytrace=False,
        )
    expected = expected_path.read_text(encoding="utf-8")
    if actual != expected:
        lines = difflib.unified_diff(
            expected.splitlines(), actual.splitlines(), "expected", "found", lineterm=""
        )
        pytest.fail(
            "\n".join(
                [f"{expected_path.name} differs; --snapshot-update accepts what was found", *lines]
            ),
            pytrace=False,
        )
