"""Rules of the house that no linter knows."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "acidsql"

MISLEADING = frozenset(
    "found made mine theirs told place places there raw is_raw killers doomed rows_apart".split()
)
"""Names that do not say what a value is: columns, rows, a directory, an ordinal, a span .."""

FRAGMENT = re.compile(r"(Of|Those|The same|So|As|Like|What it)\b")
"""How a docstring begins that cannot be read alone."""

JVM_HANDLE = re.compile(r"\b_jvm\b|\b_jsc\b|\b_jdf\b|\b_jsparkSession\b|\bsparkContext\b|\.rdd\b")


def test_the_jvm_is_touched_in_one_package() -> None:
    """Everything but spark/jvm must also run without a JVM handle (Spark Connect)."""
    users = [
        p.relative_to(PACKAGE).as_posix()
        for p in PACKAGE.rglob("*.py")
        if JVM_HANDLE.search(p.read_text(encoding="utf-8"))
    ]
    assert [u for u in users if not u.startswith("spark/jvm/")] == []


def test_modules_are_named_after_what_they_know() -> None:
    """No module is a drawer for what has no place."""
    drawers = {"utils", "util", "helpers", "helper", "common", "misc", "base"}
    assert [p for p in PACKAGE.rglob("*.py") if p.stem in drawers] == []


def test_every_module_says_what_it_knows() -> None:
    """Each module that holds code opens with a docstring."""
    # those were generated
    written = (p for p in PACKAGE.rglob("*.py") if not p.stem.endswith("_pb2"))
    texts = {
        p.relative_to(PACKAGE).as_posix(): p.read_text(encoding="utf-8").strip() for p in written
    }
    assert [
        name for name, text in texts.items() if text and not text.startswith(('"""', 'r"""'))
    ] == []


def test_rooms_list_all_files_that_they_have() -> None:
    """Where a room's docstring tells of its files, these are the ones that are there."""
    listed = {}
    for path in PACKAGE.rglob("__init__.py"):
        names = re.findall(r"^ *(\S+\.py) {2,}", path.read_text(encoding="utf-8"), re.MULTILINE)
        if names:
            listed[path.parent] = sorted(names)
    assert len(listed) > 3
    assert listed == {
        room: sorted(p.name for p in room.glob("*.py") if p.name != "__init__.py")
        for room in listed
    }


@pytest.mark.processes
@pytest.mark.parametrize("module", ["acidsql.storage.write.finish", "acidsql.files.parallel"])
def test_workers_import_little(module: str) -> None:
    """What Spark's workers unpickle to finish a file: at most 30 modules of ours, nothing of the
    front end.
    """
    code = f"import json, sys, {module}; print(json.dumps(list(sys.modules)))"
    modules = json.loads(
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        ).stdout
    )
    assert len([name for name in modules if name.partition(".")[0] == "acidsql"]) <= 30
    assert not {"pyspark", "py4j", "sqlglot", "lark", "sqlalchemy", "pandas"} & set(modules)


def test_names_say_what_a_value_is() -> None:
    """No definition has a name that fits any value, or one that misleads."""
    assert [
        f"{module}:{line} {name}"
        for module, tree in modules_of_ours()
        for line, name in definitions(tree)
        if name.strip("_") in MISLEADING
    ] == []


def test_docstrings_can_be_read_alone() -> None:
    """No docstring begins as if a sentence went before it."""
    assert [
        f"{module}:{line} {text[:40]}"
        for module, tree in modules_of_ours()
        for line, text in docstrings(tree)
        if FRAGMENT.match(text)
    ] == []


def test_every_kind_of_definition_is_looked_at() -> None:
    """The two rules above see all that binds a name, and all that documents one."""
    tree = ast.parse(
        "import b1 as a2\n"
        "a3: int = 0\n"
        "'d1'\n"
        "(a4, *a5) = (a6 := [])\n"
        "class A7:\n"
        "    a8: int\n"
        "    def a9(a10, /, a11, *a12, a13, **a14):\n"
        "        'd2'\n"
        "        b2.a15 = b3('b4')\n"
        "async def a16(): [b5 for a17 in b6]\n"
        "lambda a18: 0\n"
        "try: b7\n"
        "except b8 as a19: b9\n"
        "match b10:\n"
        "    case b11(b12=a20): b13\n"
        "    case [*a21]: b14\n"
        "    case {1: a22, **a23} as a24: b15\n"
        "with b16 as a25: b17\n"
        "for a26 in b18: a27 += 1\n"
    )
    assert sorted(name.lower() for _, name in definitions(tree)) == sorted(
        f"a{number}" for number in range(2, 28)
    )
    assert [text for _, text in docstrings(tree)] == ["d1", "d2"]


def modules_of_ours() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE).as_posix()
        if not path.stem.endswith("_pb2"):
            yield module, ast.parse(path.read_text(encoding="utf-8"))


def definitions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and the name of all that a module defines or binds."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
                | ast.arg(arg=name)
                | ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
                | ast.alias(asname=str(name))
            ):
                yield node.lineno, name


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and the text of every string that stands by itself."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text.strip()
