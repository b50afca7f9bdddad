"""``acidsql test init``: the example project is a project, and passes as it is."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from acidsql.cli.main import main

OUTSIDE = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:timeout")


@pytest.mark.processes
def test_the_example_passes_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file is told, and pytest finds nothing missing, unused, or in need of Spark."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # its pytest is a run of its own
    project = tmp_path / "new" / "project"
    assert main(["test", "init", str(project)]) == 0
    captured = capsys.readouterr()
    paths = {Path(line) for line in captured.out.splitlines()}
    assert paths == {path for path in project.rglob("*") if path.is_file()}
    assert captured.err == f"cd {project} && pip install 'acidsql[pytest]' && pytest\n"
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *OUTSIDE, "-m", "not spark"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "9 snapshots passed." in ran.stdout
    assert "8 passed" in ran.stdout


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A directory that has one of the files is left as it is."""
    (tmp_path / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    assert main(["test", "init", str(tmp_path)]) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["pyproject.toml"]
    assert f'"{tmp_path / "pyproject.toml"}" is there already' in capsys.readouterr().err


def test_what_cannot_be_written_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The path and the reason, and no traceback."""
    (tmp_path / "file").touch()
    assert main(["test", "init", str(tmp_path / "file" / "project")]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith(f'acidsql test: "{tmp_path / "file"}')
    assert captured.out == ""


def test_the_example_asks_for_the_extra_that_brings_syrupy() -> None:
    """What the example installs is what the plugin needs."""
    root = Path(__file__).resolve().parents[2]
    example = root / "acidsql" / "testing" / "example_project" / "pyproject.toml"
    asked = tomllib.loads(example.read_text(encoding="utf-8"))["project"]
    ours = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert asked["optional-dependencies"]["test"] == ["acidsql[pytest]"]
    assert any(need.startswith("syrupy") for need in ours["optional-dependencies"]["pytest"])
