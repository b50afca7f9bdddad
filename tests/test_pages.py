"""The examples of docs/dataframes.md and docs/python.md, run as a reader would run them."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from acidsql import errors

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.spark
@pytest.mark.parametrize("page", ["dataframes", "python"])
def test_examples_print_what_the_page_says(
    page: str,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each block in its turn; the text behind one is what it prints, and what has none prints nothing."""
    blocks = BLOCK.findall((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    logger = logging.getLogger("acidsql")
    names: dict[str, Any] = {}
    try:
        for number, (kind, text) in enumerate(blocks):
            if kind == "python":
                exec(compile(text, f"{page}.md, block {number}", "exec"), names)
                following = blocks[number + 1] if number + 1 < len(blocks) else ("", "")
                expected = following[1] if following[0] == "text" else ""
                assert capsys.readouterr().out == expected, text
    finally:
        logger.handlers.clear()
        logger.setLevel(logging.NOTSET)
        if "session" in names:
            names["session"].close()
    assert len(blocks) > 10


def test_every_retryable_error_is_on_the_page() -> None:
    """With its state; and no other."""
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+Error)` \| (\w{5}) \|", page, re.MULTILINE)
    classes = [
        c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.Error)
    ]
    assert sorted(rows) == sorted((c.__name__, c.default_sqlstate) for c in classes if c.retryable)
