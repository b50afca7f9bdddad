"""Rules of the house that no linter knows."""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "acidsql"
JVM_HANDLE = re.compile(r"\b_jvm\b|\b_jsc\b|\b_jdf\b|\b_jsparkSession\b|\bsparkContext\b|\.rdd\b")


def test_the_jvm_is_touched_in_one_package() -> None:
    """Everything but spark/classic must also run without a JVM handle (Spark Connect)."""
    users = [p.relative_to(PACKAGE).as_posix() for p in PACKAGE.rglob("*.py") if JVM_HANDLE.search(p.read_text(encoding="utf-8"))]
    assert [u for u in users if not u.startswith("spark/classic/")] == []


def test_modules_are_named_after_what_they_know() -> None:
    """No module is a drawer for what has no place."""
    drawers = {"utils", "util", "helpers", "helper", "common", "misc", "base"}
    assert [p for p in PACKAGE.rglob("*.py") if p.stem in drawers] == []


def test_every_module_says_what_it_knows() -> None:
    """Each module that holds code opens with a docstring."""
    texts = {p.relative_to(PACKAGE).as_posix(): p.read_text(encoding="utf-8").strip() for p in PACKAGE.rglob("*.py")}
    assert [name for name, text in texts.items() if text and not text.startswith(('"""', 'r"""'))] == []
