"""What is shipped, and what it costs to import."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from acidsql.testing import plugin, script

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("pyspark", "sqlglot", "lark", "sqlalchemy", "pyarrow", "pandas", "numpy")


PAGES = {page.name for page in (ROOT / "docs").glob("*.md")}


def test_the_wheel_carries_the_grammar_and_the_pages(tmp_path: Path) -> None:
    """A wheel has every module of the package, the example project, the grammar and the pages of
    docs/ beside them.
    """
    builder = pytest.importorskip("hatchling.builders.wheel").WheelBuilder(str(ROOT))
    (wheel,) = builder.build(directory=str(tmp_path), versions=["standard"])
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"acidsql/grammar/acid.lark", "acidsql/grammar/acid.table.json"} <= set(names)
    assert {f"acidsql/docs/{page}" for page in PAGES} <= names
    assert {
        f"acidsql/{p.relative_to(ROOT / 'acidsql').as_posix()}"
        for p in (ROOT / "acidsql").rglob("*.py")
    } <= names
    example = ROOT / "acidsql" / "testing" / "example_project"
    assert {
        f"acidsql/testing/example_project/{p.relative_to(example).as_posix()}"
        for p in example.rglob("*")
        if p.is_file() and p.suffix != ".pyc"
    } <= names


def test_the_source_archive_carries_what_the_wheel_is_made_of(tmp_path: Path) -> None:
    """An sdist has the grammar, the pages, the goldens and the tests."""
    builder = pytest.importorskip("hatchling.builders.sdist").SdistBuilder(str(ROOT))
    (archive,) = builder.build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    expected = {"README.md", "grammar/acid.lark", "golden/write/merge.sql", "tests/conftest.py"}
    assert expected | {f"docs/{page}" for page in PAGES} <= names


def test_pages_point_at_one_another() -> None:
    """A link of a page leads to a page beside it, so that it holds in the wheel too."""
    for page in PAGES:
        links = re.findall(r"\]\(([^)#]+)", (ROOT / "docs" / page).read_text(encoding="utf-8"))
        assert {link for link in links if not link.startswith("https://")} <= PAGES, page


def test_the_page_on_testing_names_all_there_is() -> None:
    """Every option, fixture, mode and directive of the plugin is told to users."""
    text = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    source = (ROOT / "acidsql" / "testing" / "plugin.py").read_text(encoding="utf-8")
    names = set(re.findall(r"(?:def |addini\(\s*\")(acidsql_\w+)", source))
    assert names == {
        *("acidsql_golden", "acidsql_golden_modes", "acidsql_golden_variants", "acidsql_spark"),
        *("acidsql_session", "acidsql_warehouse", "acidsql_snapshot", "acidsql_files"),
        "acidsql_table",
    }
    assert {name for name in names if f"| `{name}` |" not in text} == set()
    modes = (plugin.RUN, *plugin.COMPILED_MODES)
    assert [mode for mode in modes if f"| `{mode}` |" not in text] == []
    assert [key for key in script.KEYS if f"`{script.MARK} {key}: " not in text] == []


def test_the_command_and_the_plugin_are_installed() -> None:
    """The script ``acidsql`` and the pytest plugin of that name lead into this package."""
    assert [e.value for e in entry_points(group="console_scripts", name="acidsql")] == [
        "acidsql.cli.main:main"
    ]
    assert [e.value for e in entry_points(group="pytest11", name="acidsql")] == [
        "acidsql.testing.plugin"
    ]


@pytest.mark.processes
@pytest.mark.parametrize("module", ["acidsql", "acidsql.testing.plugin"])
def test_nothing_heavy_is_imported(module: str) -> None:
    """``import acidsql``, as every Airflow process does, loads no engine, no parser, no store; nor
    does the plugin, which pytest loads in every project of this environment.
    """
    check = f"import sys, {module}; print(*[m for m in {HEAVY} if m in sys.modules])"
    command = [sys.executable, "-c", check]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_readme_has_one_test_command() -> None:
    """.ci/run takes its first step from the README: there is exactly one line it can mean."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if re.fullmatch(r"pip install -e .* && pytest", line)]) == 1


def test_the_first_command_of_the_readme_brings_what_it_shows() -> None:
    """Java, the demo's data, and the prompt as the README's next lines show it."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.search(r"pip install '\.\[([a-z,]+)\]'", readme)
    assert first is not None
    assert set(first[1].split(",")) == {"java", "demo", "repl"}


def test_the_extras_that_pages_name_exist() -> None:
    """Every extra a reader is told to install is one of ours, and the index has each for users."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    pages = {path: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    told = re.findall(r"pip install .*?\[([a-z,]+)\]", "\n".join([readme, *pages.values()]))
    assert {name for names in told for name in names.split(",")} <= set(extras)
    for_users = set(extras) - {"sqlalchemy", "test", "docs", "dev"}  # the first is nothing new
    listed = re.findall(r"^\| `([a-z]+)` \|", pages[ROOT / "docs" / "index.md"], re.MULTILINE)
    assert set(listed) == for_users
