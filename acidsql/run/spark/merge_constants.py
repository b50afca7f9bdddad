"""Constants of a MERGE, which Spark computes once before its rows: whether its optimizer comes to
see them depends on the path.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from acidsql.arrow_arrays import row_of_nothing
from acidsql.errors import NestingError, ParseError
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.query_text import Piece, QueryText, Slot
from acidsql.expressions.reader import read_expression
from acidsql.expressions.tree import Call, constants_in, parts_of
from acidsql.expressions.vectors import vectorized
from acidsql.expressions.vectors.functions import DETERMINISTIC
from acidsql.parser.tokens import tokenize
from acidsql.planner.bind.bound import BoundMerge
from acidsql.planner.bind.local.query_trees import Semantics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check_constants(spark: SparkSession, merge: BoundMerge, semantics: Semantics) -> None:
    """Raises the error of a constant that fails, in a clause or in ON."""
    doubtful = [
        text for text in dict.fromkeys(_constants(merge)) if not _is_certain(text, semantics)
    ]
    if doubtful:
        shown = ", ".join(f"({text}) AS c{number}" for number, text in enumerate(doubtful))
        spark.sql(f"SELECT {shown}").collect()


def _constants(merge: BoundMerge) -> Iterator[str]:
    """The words of the constants, as Spark SQL."""
    for pieces in _expressions(merge):
        if any(isinstance(piece, Slot) for piece in pieces):
            continue  # a sub-query
        text = QueryText(merge.text_source, pieces).render(())
        try:
            tree = read_expression(text, tokenize(text))
        except (ParseError, NestingError, RecursionError):
            tree = None
        for constant in () if tree is None else constants_in(tree):
            calls = (part.name for part in parts_of(constant) if isinstance(part, Call))
            if DETERMINISTIC.issuperset(calls):
                yield constant.span.cut(text)


def _expressions(merge: BoundMerge) -> Iterator[tuple[Piece, ...]]:
    yield merge.on
    for clause in merge.clauses:
        if clause.condition is not None:
            yield clause.condition
        yield from clause.values


def _is_certain(text: str, semantics: Semantics) -> bool:
    """Whether the driver can compute it."""
    tree = read_expression(text, tokenize(text))
    if tree is None:
        return False
    meaning = semantics
    if meaning.only_spark is not None:
        return False
    nothing = row_of_nothing()
    try:
        vector = vectorized(tree, {}, ansi=meaning.ansi, zone=meaning.zone, now=meaning.now)
        vector.run(nothing)
    except NotHere:
        return False
    return True
