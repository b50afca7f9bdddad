"""What is shipped, and what it costs to import."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("pyspark", "sqlglot", "lark", "sqlalchemy", "pyarrow", "pandas", "numpy")


def test_the_wheel_carries_the_grammar(tmp_path: Path) -> None:
    """A wheel has every module of the package, and the grammar beside them."""
    builder = pytest.importorskip("hatchling.builders.wheel").WheelBuilder(str(ROOT))
    (wheel,) = builder.build(directory=str(tmp_path), versions=["standard"])
    names = set(zipfile.ZipFile(wheel).namelist())
    assert "acidsql/grammar/acid.lark" in names
    assert {f"acidsql/{p.relative_to(ROOT / 'acidsql').as_posix()}" for p in (ROOT / "acidsql").rglob("*.py")} <= names


def test_the_command_and_the_plugin_are_installed() -> None:
    """The script ``acidsql`` and the pytest plugin of that name lead into this package."""
    assert [e.value for e in entry_points(group="console_scripts", name="acidsql")] == ["acidsql.cli.main:main"]
    assert [e.value for e in entry_points(group="pytest11", name="acidsql")] == ["acidsql.testing.plugin"]


@pytest.mark.processes
def test_importing_acidsql_imports_nothing_heavy() -> None:
    """``import acidsql`` loads no engine, no parser, no store: every Airflow process does it."""
    check = f"import sys, acidsql; print(*[m for m in {HEAVY} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout.strip() == ""


@pytest.mark.processes
def test_the_plugin_imports_nothing_heavy() -> None:
    """pytest loads the plugin in every project of this environment: it must cost nothing there."""
    check = f"import sys, acidsql.testing.plugin; print(*[m for m in {HEAVY} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout.strip() == ""


def test_the_readme_has_one_test_command() -> None:
    """.ci/run takes its first step from the README: there is exactly one line it can mean."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if re.fullmatch(r"pip install -e .* && pytest", line)]) == 1


def test_the_extras_of_the_readme_exist() -> None:
    """Every extra a reader is told to install is one of ours."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    told = re.findall(r"pip install .*?\[([a-z,]+)\]", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert {name for names in told for name in names.split(",")} <= set(extras)
