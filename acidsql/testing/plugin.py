"""The pytest plugin ``acidsql``: golden SQL files as tests, and fixtures for tests in Python.

Set-up in a project of your own::

    [tool.pytest.ini_options]
    acidsql_golden = ["tests/golden"]               # every *.sql is a test, its *.out beside it
    acidsql_golden_modes = ["syntax parse", ..]     # optional: FOLDER MODE, how its scripts run
    acidsql_golden_variants = ["write NAME=VALUE"]  # optional: FOLDER NAME=VALUE, run for each
    acidsql_spark = "none"                          # optional: a master, or no Spark at all

A folder is one directly below a root, ``.`` the root itself. Its mode is ``run`` by default: no
name of a folder means anything by itself. syrupy compares and writes: ``pytest --snapshot-update``
writes the .out files, and removes those whose .sql is gone, which fail otherwise. Override the
fixture ``acidsql_session`` in a conftest.py to run the scripts on a session of your own: by
default each script gets a new warehouse, ``acidsql_warehouse``. docs/testing.md says it at length.

Each run of pytest imports this module, in every project of the environment: what is heavy is
imported where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acidsql.testing.items import (
    ALONE,
    COMPILED_MODES,
    DISTRIBUTION,
    FOLDERS,
    NO_SPARK,
    RUN,
    THROWN_AWAY,
    Folders,
    file_for,
)

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

    from acidsql.session import Session
    from acidsql.testing.tables import TableMaker
    from acidsql.testing.texts import FileChanges

NEEDED = "syrupy compares them: pip install 'acidsql[pytest]'"


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    _rewrite_nothing_of_ours(pluginmanager)
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
    parser.addini(
        "acidsql_spark",
        "the master of the Spark that tests share, or 'none': nothing may start Spark",
        type="string",
        default="",
    )


def _rewrite_nothing_of_ours(pluginmanager: pytest.PytestPluginManager) -> None:
    """Tells pytest that no module of ours has assertions to explain. It takes all of them for the
    plugin's own and parses each as it is imported: that takes seconds, and fails where a thread
    does so beside another, since Python 3.11's parser of syntax trees is not for threads.
    """
    names = getattr(pluginmanager.rewrite_hook, "_must_rewrite", None)
    if isinstance(names, set):
        names.discard("acidsql")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker and reads the options. UsageError for what cannot be meant."""
    config.addinivalue_line("markers", "spark: needs a Java virtual machine")
    if config.getini("acidsql_golden") and not _has_syrupy(config):
        raise pytest.UsageError(f"acidsql_golden names golden scripts, but {NEEDED}")
    for root in config.getini("acidsql_golden"):
        if not root.is_dir():
            raise pytest.UsageError(f'acidsql_golden: no folder "{root}"')
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
    config.stash[FOLDERS] = Folders(
        modes=modes, variants=variants, needs_spark=config.getini("acidsql_spark") != NO_SPARK
    )


def _has_syrupy(config: pytest.Config) -> bool:
    return config.pluginmanager.hasplugin("syrupy") and find_spec("syrupy") is not None


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


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tells a process of pytest-xdist how tests are distributed, which it knows no other way."""
    node.workerinput[DISTRIBUTION] = node.config.getoption("dist")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    return file_for(file_path, parent)


@pytest.fixture
def acidsql_warehouse(tmp_path: Path) -> Path:
    """The folder of this test's warehouse."""
    return tmp_path / "warehouse"


@pytest.fixture
def acidsql_session(request: pytest.FixtureRequest, acidsql_warehouse: Path) -> Iterator[Session]:
    """A session on the test's warehouse, on which golden scripts run too; override it to bring your
    own tables or your own SparkSession.
    """
    from acidsql.session import Session

    master = request.config.getini("acidsql_spark")
    alone = {"acidsql.engine": "local"} if master == NO_SPARK else {}
    with Session(
        str(acidsql_warehouse),
        metastore="",
        master=None if master == NO_SPARK else master or None,
        settings=ALONE | THROWN_AWAY | alone,
    ) as session:
        yield session


@pytest.fixture
def acidsql_table(request: pytest.FixtureRequest, acidsql_session: Session) -> TableMaker:
    """A function that makes a table of ``acidsql_session`` from a CSV file or Arrow data."""
    from acidsql.testing.tables import TableMaker

    return TableMaker(session=acidsql_session, folder=request.path.parent)


@pytest.fixture
def acidsql_files(
    acidsql_warehouse: Path,
) -> Callable[[], AbstractContextManager[FileChanges]]:
    """A function: ``with acidsql_files() as files`` sees what its statements do to the files."""
    from acidsql.testing.texts import file_changes

    return partial(file_changes, acidsql_warehouse)


@pytest.fixture
def acidsql_snapshot(request: pytest.FixtureRequest, acidsql_warehouse: Path) -> SnapshotAssertion:
    """syrupy's assertion for results, errors, plans and file changes: ``assert result ==
    acidsql_snapshot``.
    """
    if not _has_syrupy(request.config):
        pytest.fail(f"acidsql_snapshot keeps what results were, and {NEEDED}", pytrace=False)
    from acidsql.testing.snapshots import with_values
    from acidsql.testing.texts import masked

    snapshot = request.getfixturevalue("snapshot")
    return with_values(snapshot, partial(masked, warehouse=acidsql_warehouse))
