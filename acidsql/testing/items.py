"""Golden files as pytest sees them: a script is a file of one test or one for each variant, and an
``.out`` without its script is a test that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acidsql.lazy import dataclass

if TYPE_CHECKING:
    from acidsql.session import Session

RUN = "run"
COMPILED_MODES = ("parse", "plan", "error")
"""Modes that need neither Spark nor Java."""
ROOT_FOLDER = "."
"""What stands for the root itself where a folder is named."""
ALONE = {"acidsql.compactor.auto": "false"}
"""Nobody compacts by the way, so that files are the same each time."""
THROWN_AWAY = {"acidsql.durable": "false", "acidsql.store.create": "open"}
"""Nobody keeps the warehouse of a test: no commit need wait for the disk."""
NO_SPARK = "none"
"""The value of ``acidsql_spark`` under which nothing may start Spark."""
SPLITTING = ("load", "worksteal")
"""Ways of pytest-xdist that give tests of one file to several processes."""
DISTRIBUTION = "acidsql_distribution"
"""Where a process of pytest-xdist is told the way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """What the ini file says of the folders directly below the roots, by name. ``needs_spark``:
    whether scripts in the mode ``run`` may start it.
    """

    modes: Mapping[str, str]
    variants: Mapping[str, Sequence[str]]
    needs_spark: bool


FOLDERS = pytest.StashKey[Folders]()


def file_for(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The golden file at a path, which may be no file of ours."""
    config = parent.config
    root = next((r for r in config.getini("acidsql_golden") if path.is_relative_to(r)), None)
    if root is None:
        return None
    if path.suffix == ".sql":
        *folders, _ = path.relative_to(root).parts
        return GoldenFile.from_parent(parent, path=path, folder=(folders or [ROOT_FOLDER])[0])
    kept_by_tests = str(config.getoption("snapshot_dirname", "__snapshots__"))
    if path.suffix == ".out" and not path.with_suffix(".sql").exists():
        if kept_by_tests in path.relative_to(root).parts:
            return None
        return OrphanFile.from_parent(parent, path=path)
    return None


def orphans(folder: Path) -> Iterator[Path]:
    """The expected texts of a folder whose scripts are gone."""
    return (p for p in sorted(folder.glob("*.out")) if not p.with_suffix(".sql").exists())


class GoldenFile(pytest.File):
    """One script: one test, or one for each variant of its folder."""

    def __init__(self, *, folder: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.folder = folder

    def collect(self) -> Iterator[pytest.Item]:
        folders = self.config.stash[FOLDERS]
        mode = folders.modes.get(self.folder, RUN)
        for number, variant in enumerate(folders.variants.get(self.folder, [""])):
            item = GoldenItem.from_parent(self, mode=mode, variant=variant, may_write=number == 0)
            if mode == RUN and folders.needs_spark:
                item.add_marker("spark")
                if self.config.pluginmanager.hasplugin("xdist"):
                    item.add_marker(pytest.mark.xdist_group("spark"))
            yield item


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


class OrphanFile(pytest.File):
    """An expected text without its script."""

    def collect(self) -> Iterator[pytest.Item]:
        yield OrphanItem.from_parent(self, name=self.path.stem, callobj=check_orphan)


class OrphanItem(pytest.Function):
    """The test of an expected text without its script. As a test that ran it lets syrupy report the
    file, and remove it, whatever part of the suite was selected.
    """


def check_compiled(
    request: pytest.FixtureRequest, acidsql_warehouse: Path, snapshot: object
) -> None:
    """Runs a script in a mode that needs no Spark, on a session that has none."""
    from acidsql.session import Session
    from acidsql.testing import golden

    item = request.node
    with Session(str(acidsql_warehouse), metastore="", settings=THROWN_AWAY) as session:
        _set_variant(item, session)
        _compare(item, snapshot, lambda text: golden.run_compiled(item.mode, text, session))
        if session.spark_started:
            pytest.fail(f"a script in the mode {item.mode} must not need Spark", pytrace=False)


def check_run(
    request: pytest.FixtureRequest,
    acidsql_session: Session,
    acidsql_warehouse: Path,
    snapshot: object,
) -> None:
    """Runs a script on the project's session."""
    from acidsql.testing import golden

    for name, value in ALONE.items():
        acidsql_session.settings.set(name, value)
    _set_variant(request.node, acidsql_session)
    _compare(
        request.node,
        snapshot,
        lambda text: golden.run_script(text, acidsql_session, acidsql_warehouse),
    )


def check_orphan(request: pytest.FixtureRequest, snapshot: object) -> None:
    """Fails, unless what is unused is removed or to be borne in this run."""
    from acidsql.testing.snapshots import GoldenFileExtension, checked

    checked(snapshot).use_extension(GoldenFileExtension)  # which tells syrupy where to look
    for option in ("update_snapshots", "warn_unused_snapshots", "disable_unused_snapshots"):
        if request.config.getoption(option, False):
            return
    path = request.node.path
    pytest.fail(
        f"{path.name} has no {path.stem}.sql beside it: --snapshot-update removes it",
        pytrace=False,
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


def _compare(item: GoldenItem, snapshot: object, run: Callable[[str], str]) -> None:
    """Fails with a diff unless the script prints what its .out says; writes the .out when asked
    to.
    """
    from acidsql.testing.script import ScriptError
    from acidsql.testing.snapshots import GoldenFileExtension, checked

    if not item.may_write and _is_written_elsewhere(item.config):
        pytest.skip(f"{item.path.stem}.out is written by another process; run once more")
    failure = ""
    try:
        actual = run(_script(item.path))
    except ScriptError as error:
        failure = str(error)
    if failure:  # out here, or pytest shows the exception beside it
        pytest.fail(f"{item.path.name}: {failure}", pytrace=False)
    expected = checked(snapshot).use_extension(GoldenFileExtension)
    if not item.may_write:
        expected.update_snapshots = expected.update_new_snapshots_only = False
    if expected != actual:
        _fail(item, expected, actual)


def _fail(item: GoldenItem, expected: object, actual: str) -> None:
    path = item.path.with_suffix(".out")
    if not path.exists():
        pytest.fail(
            f"{path.name} is missing; run with --snapshot-update to write it. The script"
            f" printed:\n{actual}",
            pytrace=False,
        )
    explained = item.config.hook.pytest_assertrepr_compare(
        config=item.config, op="==", left=expected, right=actual
    )
    lines = [f"{path.name} differs; --snapshot-update accepts what was received", *explained[0]]
    pytest.fail("\n".join(lines), pytrace=False)


def _is_written_elsewhere(config: pytest.Config) -> bool:
    """Whether the first variant of a script is perhaps writing its .out now, in another process."""
    writes = config.getoption("update_snapshots", False) or config.getoption(
        "update_new_snapshots_only", False
    )
    return writes and getattr(config, "workerinput", {}).get(DISTRIBUTION) in SPLITTING
