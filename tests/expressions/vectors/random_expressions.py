"""Random expressions: those of CASES, with other columns, constants and expressions in place of
their columns.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from functools import cache

from acidsql.catalog.types import DecimalType, HiveType
from acidsql.expressions.vectors import Vector
from tests.expressions.vectors import cases
from tests.expressions.vectors.extremes import COLUMNS
from tests.expressions.vectors.spark_answers import compiled

_MOMENTS = {"CURRENT_DATE", "CURRENT_TIMESTAMP"}
"""Of the moment of a statement, which is another one in Spark."""
_WORD = re.compile(r"'(?:[^'\\]|\\.)*'|(?<![\w.])[a-z]\w*\b(?!\s*\()")
_CONSTANTS = {
    "whole": ("0", "1", "-1", "2", "7Y", "-128", "32767S", "2147483647", "-2147483648", "9223372036854775807", "NULL"),
    "decimal": (
        "0.5", "-0.5", "1.5", "0.00", "0.49999999999999999999999999999999999999", "-0.99999999999999999999999999999999999999",
        "99999999999999999999999999999999999999", "9.9999999999999999999", "0.00000000000000000000000000000000000001", "18446744073709551616", "100000000000.000000",
    ),
    "floating": ("0e0", "-0.0D", "1e0", "1e308", "4.9e-324", "0.1D", "9007199254740993e0"),
    "text": ("''", "' '", "'a'", "'😀'", "'日'", "'1'", "NULL"),
    "day": ("DATE '0001-01-01'", "DATE '9999-12-31'", "DATE '2024-02-29'"),
    "moment": ("TIMESTAMP '9999-12-31 23:59:59.999999'", "TIMESTAMP '1970-01-01 00:00:00'"),
    "truth": ("TRUE", "FALSE", "NULL"),
    "bytes": (),
}  # fmt: skip
_ROUNDING = ("+", "*", "/", "CEIL", "FLOOR", "ROUND", "CAST")
"""What gives up digits of decimals: most faults have been there."""
_NUMBERS = ("whole", "decimal", "floating")


def class_of(hive_type: HiveType) -> str:
    if isinstance(hive_type, DecimalType):
        return "decimal"
    return {
        **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "whole"),
        **dict.fromkeys(("float", "double"), "floating"),
        "boolean": "truth",
        "date": "day",
        "timestamp": "moment",
        "binary": "bytes",
        "void": "void",
    }.get(str(hive_type), "text")


_COLUMNS: dict[str, list[str]] = defaultdict(list)
for _name, _type in COLUMNS.items():
    _COLUMNS[class_of(_type)].append(_name)


@cache
def templates() -> dict[str, dict[str, list[str]]]:
    """The expressions of CASES by the class of their results and by their line."""
    known: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for line, sqls in cases.CASES.items():
        for sql in sqls if line not in _MOMENTS else ():
            vector = compiled(sql, ansi=False)
            assert isinstance(vector, Vector)
            known[class_of(vector.type)][line].append(sql)
    return known


def random_expression(chance: random.Random, depth: int = 2) -> str:
    """Over COLUMNS of ``extremes``; not all are understood."""
    kind = chance.choice((*_NUMBERS, *["decimal"] * 6, "text", "text", "day", "moment", "truth"))
    return _expression(kind, chance, depth)


def _expression(kind: str, chance: random.Random, depth: int) -> str:
    by_line = templates()[kind]
    lines = list(by_line)
    if kind == "decimal" and chance.randrange(2):
        lines = [line for line in _ROUNDING if line in by_line]
    template = chance.choice(by_line[chance.choice(lines)])

    def filled(match: re.Match[str]) -> str:
        hive_type = cases.COLUMNS.get(match.group())
        if hive_type is None:
            return match.group()
        operand = _operand(class_of(hive_type), chance, depth)
        begins_comment = operand[0] == "-" and match.string[: match.start()].endswith("-")
        return f"({operand})" if begins_comment else operand

    return _WORD.sub(filled, template)


def _operand(kind: str, chance: random.Random, depth: int) -> str:
    if kind in _NUMBERS and chance.randrange(4) == 0:
        kind = chance.choice(_NUMBERS)
    drawn = chance.randrange(10)
    if drawn < 2 and _CONSTANTS[kind]:
        return chance.choice(_CONSTANTS[kind])
    if drawn < 5 and depth > 0:
        return f"({_expression(kind, chance, depth - 1)})"
    return chance.choice(_COLUMNS[kind])
