"""The package's front: what it exports and what its import costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import acidsql
from acidsql import errors


def test_all_is_what_there_is() -> None:
    """Every name of __all__ can be had, is listed by dir, and none is there twice."""
    assert all(getattr(acidsql, name) is not None for name in acidsql.__all__)
    assert len(set(acidsql.__all__)) == len(acidsql.__all__)
    assert set(acidsql.__all__) <= set(dir(acidsql))


def test_type_checkers_see_the_same_names() -> None:
    """What is loaded late and what is declared for type checkers are the same names."""
    tree = ast.parse(Path(str(acidsql.__file__)).read_text())
    (block,) = (n for n in tree.body if isinstance(n, ast.If))
    declared = {
        alias.asname
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert declared | {"__version__", "apilevel", "paramstyle", "threadsafety"} == set(
        acidsql.__all__
    )


def test_every_error_is_exported() -> None:
    """Whoever can meet an error can name it."""
    classes = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, Exception)
    }
    assert classes <= set(acidsql.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A typing mistake is told as for any module."""
    with pytest.raises(AttributeError, match="has no attribute 'conect'"):
        _ = acidsql.conect


@pytest.mark.processes
def test_the_import_is_light() -> None:
    """import acidsql loads none of the heavy libraries."""
    heavy = "pyspark py4j sqlglot lark sqlalchemy pyarrow pandas numpy prompt_toolkit".split()
    code = f"import sys, acidsql; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"
