"""docs/testing.md as a project: its set-up, scripts, tests and outputs, as they stand there."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:timeout")
FILE = re.compile(r"(?:--|#) (tests/\S+)\n")


@pytest.fixture(scope="module")
def blocks() -> list[tuple[str, str]]:
    """The language and the text of each block of the page."""
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    return re.findall(r"```(\w+)\n(.*?)```", page, re.DOTALL)


def texts(blocks: list[tuple[str, str]], language: str) -> list[str]:
    return [text for name, text in blocks if name == language]


@pytest.fixture
def project(pytester: pytest.Pytester, blocks: list[tuple[str, str]]) -> pytest.Pytester:
    """The files that the page names, and the CSV file of its tests."""
    pytester.makepyprojecttoml(texts(blocks, "toml")[0])
    named = {match[1]: text for _, text in blocks if (match := FILE.match(text))}
    assert len(named) == 4
    named["tests/customers.csv"] = next(
        text for text in texts(blocks, "text") if text.startswith("id,name,city\n")
    )
    for path, text in named.items():
        (pytester.path / path).parent.mkdir(parents=True, exist_ok=True)
        (pytester.path / path).write_text(text, encoding="utf-8")
    return pytester


def test_the_page_shows_what_is_printed(
    project: pytest.Pytester, blocks: list[tuple[str, str]]
) -> None:
    """Every example passes, has the files that the page says, and every output is one of them."""
    run = (*OUTSIDE, "-p", "no:xdist")
    project.runpytest_inprocess(*run, "--snapshot-update").assert_outcomes(passed=7)
    project.runpytest_inprocess(*run).assert_outcomes(passed=7)
    cancel = project.path / "tests" / "golden" / "orders" / "cancel.out"
    printed = {path.name: path.read_text(encoding="utf-8") for path in project.path.rglob("*.out")}
    assert {"test_rows.out", "test_a_move[files].out", "overwritten.out"} <= set(printed)
    edited = printed["cancel.out"].replace("2\tcancelled", "2\topen")
    cancel.write_text(edited, encoding="utf-8")
    told = project.runpytest_inprocess(*run).stdout.str()
    outputs = [text for text in texts(blocks, "text") if not text.startswith("id,")]
    assert outputs[0] == printed["cancel.out"]
    assert [text for text in outputs if text not in "\n".join([*printed.values(), told])] == []


@pytest.mark.spark
def test_the_session_of_the_page_runs(
    pytester: pytest.Pytester,
    blocks: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The conftest.py with a Spark of one's own runs the page's first script."""
    from acidsql.spark.start.java import ensure_java

    environment = dict(os.environ)
    ensure_java(environment)
    monkeypatch.setenv("JAVA_HOME", environment["JAVA_HOME"])
    pytester.makepyprojecttoml(texts(blocks, "toml")[0])
    pytester.makeconftest(next(t for t in texts(blocks, "python") if "SparkSession.builder" in t))
    script = texts(blocks, "sql")[0]
    path = pytester.path / script.split()[1]
    path.parent.mkdir(parents=True)
    path.write_text(script, encoding="utf-8")
    pytester.runpytest_subprocess(*OUTSIDE, "--snapshot-update").assert_outcomes(passed=1)
    assert "\n1\tcancelled\n2\tcancelled\n3\tsent\n" in path.with_suffix(".out").read_text("utf-8")
