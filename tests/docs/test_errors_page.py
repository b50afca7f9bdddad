"""docs/errors.md has every error and every code that acidsql knows, as the code has them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import acidsql
from acidsql import errors

PACKAGE = Path(acidsql.__file__).parent
PAGE = (PACKAGE.parent / "docs" / "errors.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `?(\w+)`? \| ([^|]+) \| ([^|]+) \| ([^|]*) \|", re.MULTILINE)
FAMILIES = {"Error", "DatabaseError", "ProgrammingError", "NotSupportedError"}
"""Named in the text below the table."""


def test_the_table_has_every_class() -> None:
    """With its SQLSTATE, and whether the statement may be run again."""
    listed = {name: (state, again.startswith("yes")) for name, state, again, _ in ROW.findall(PAGE)}
    classes = {
        name: (one.default_sqlstate, one.retryable)
        for name, one in vars(errors).items()
        if isinstance(one, type) and issubclass(one, errors.Error) and name not in FAMILIES
    }
    assert {name: listed.get(name) for name in classes} == classes


def codes() -> Iterator[int]:
    """Numbers that are given as ``code``, or have a name in capitals or a name's default and look
    like a code of Hive's.
    """
    for file in PACKAGE.rglob("*.py"):
        if "testing" in file.parts:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.keyword(arg="code", value=ast.Constant(value=int(number))):
                    yield number
                case (
                    ast.Assign(value=ast.Constant(value=int(number)))
                    | ast.Tuple(elts=[*_, ast.Constant(value=int(number))])
                ) if re.fullmatch(r"(10|20|30)\d{3}", str(number)) and number != 10_000:
                    yield number


def test_the_table_has_every_code() -> None:
    """Each code that an error may have, and no other."""
    listed = [int(code) for code in re.findall(r"^\| (\d{5}) \|", PAGE, re.MULTILINE)]
    assert listed == sorted(set(listed))
    assert set(listed) == set(codes())
