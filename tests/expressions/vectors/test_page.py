"""docs/expressions.md against the code and the expressions that are put to Spark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from acidsql.catalog.types import DecimalType
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.reader import read_expression
from acidsql.expressions.vectors import Vector, vectorized
from acidsql.parser.tokens import tokenize
from tests.expressions.vectors.cases import CASES, COLUMNS, NOW
from tests.expressions.vectors.spark_answers import compiled

PAGE = Path(__file__).resolve().parents[3] / "docs" / "expressions.md"
_CODE = re.compile(r"`([^`]+)`")
_ORDER = "void boolean tinyint smallint int bigint decimal float double string char varchar date timestamp binary".split()


def lines() -> dict[str, tuple[str, str, str]]:
    """Of each line of the table, by its name: examples, types, and what is left to Spark."""
    rows = [
        [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ")
    ]
    [header, rule, *rest] = rows
    assert header == ["expression", "examples", "gives", "left to Spark"]
    assert set(rule) == {"---"}
    return {name: (examples, types, left) for name, examples, types, left in rest}


def types_of(name: str) -> str:
    """The types of the results of the expressions put to Spark."""
    kinds = set()
    for sql in CASES[name]:
        vector = compiled(sql, ansi=False)
        assert isinstance(vector, Vector)
        kinds.add(
            "decimal" if isinstance(vector.type, DecimalType) else str(vector.type).split("(")[0]
        )
    return ", ".join(sorted(kinds, key=_ORDER.index))


def test_the_page_has_what_is_put_to_spark() -> None:
    """Each line has its expressions among those of the test against Spark, and no line is
    missing.
    """
    assert list(lines()) == list(CASES)
    for name, (examples, types, _) in lines().items():
        shown = _CODE.findall(examples)
        assert shown, name
        assert set(shown) <= set(CASES[name]), name
        assert types == types_of(name), name


def test_what_the_page_leaves_to_spark_is_refused() -> None:
    """What is said to be Spark's is not understood, with ANSI semantics or without."""
    for _, _, left in lines().values():
        for sql in _CODE.findall(left):
            tree = read_expression(sql, tokenize(sql))
            if tree is None:
                continue
            for ansi in (False, True):
                with pytest.raises(NotHere):
                    vectorized(tree, COLUMNS, ansi=ansi, zone="UTC", now=NOW)
