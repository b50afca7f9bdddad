"""How Hive names the columns of a query for CREATE TABLE .. AS: an expression without a name is
``_c`` and its place in the SELECT list.

Only the engine knows how many columns a star stands for; so what the text tells is kept until the
engine's columns are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING

from acidsql.errors import BindError, Span
from acidsql.planner.bind.query_tree import is_star

if TYPE_CHECKING:
    from sqlglot import exp


class Output(Enum):
    """What one item of a SELECT list gives: a column with a name of its own, one without, or any
    number of columns.
    """

    NAMED = "named"
    UNNAMED = "unnamed"
    MANY = "many"


def outputs(query: exp.Expr) -> tuple[Output, ...]:
    """The output of each item; () where the engine's names must do. A UNION has those of its
    first SELECT."""
    from sqlglot import exp

    return tuple(map(_output, query.selects)) if isinstance(query, exp.Query) else ()


def hive_names(given: Sequence[str], items: Sequence[Output], span: Span) -> list[str]:
    """``given``: the engine's names of the columns. BindError where an expression without a name
    stands between two stars.
    """
    names = [name.lower() for name in given]
    many = [ordinal for ordinal, item in enumerate(items) if item is Output.MANY]
    if not items or (not many and len(items) != len(names)):
        return names
    first, last = (many[0], many[-1]) if many else (len(items), -1)
    for ordinal, item in enumerate(items):
        if item is not Output.UNNAMED:
            continue
        if first < ordinal < last:
            raise BindError(
                f"column {ordinal + 1} of the SELECT list has no name",
                hint="Give it one with AS.",
                span=span,
            )
        names[ordinal if ordinal < first else ordinal - len(items)] = f"_c{ordinal}"
    return names


def _output(item: exp.Expr) -> Output:
    from sqlglot import exp

    plain = item.unnest() if isinstance(item, exp.Paren) else item
    if is_star(item) or isinstance(
        item, exp.Aliases | exp.UDTF | exp.Explode | exp.Posexplode | exp.Inline
    ):
        return Output.MANY
    if isinstance(item, exp.Alias):
        inner = item.this
        return Output.MANY if isinstance(inner, exp.Posexplode | exp.Inline) else Output.NAMED
    if isinstance(item, exp.Anonymous) and item.name.lower() in (
        "stack",
        "json_tuple",
        "inline",
        "inline_outer",
        "posexplode_outer",
    ):
        return Output.MANY
    return Output.NAMED if isinstance(plain, exp.Column | exp.Dot) else Output.UNNAMED
