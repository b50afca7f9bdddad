"""The names that ``USING (query) AS alias (a, b)`` gives to the columns of its query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acidsql.catalog.types import HiveType
from acidsql.errors import BindError, Span
from acidsql.expressions.spark_words import identifier
from acidsql.parser.statements import Name
from acidsql.planner.bind.query_tree import output_columns, output_width

if TYPE_CHECKING:
    from sqlglot import exp


def source_columns(
    query: exp.Expr, named: Sequence[Name] | None
) -> dict[str, HiveType | None] | None:
    """The columns of a query as a statement calls them, by their own names without any ``named``;
    None as ``output_columns``. BindError where these are others than it has.
    """
    from sqlglot import exp

    if named is None:
        return output_columns(query)
    span = Span(named[0].span.start, named[-1].span.end)
    inner = query.unnest() if isinstance(query, exp.Subquery) else query
    width = output_width(inner)
    if width is not None and width != len(named):
        columns = "1 column" if width == 1 else f"{width} columns"
        raise BindError(f"the sub-query has {columns}, not {len(named)}", span=span)
    names = [name.text.lower() for name in named]
    for number, name in enumerate(named):
        if names[number] in names[:number]:
            message = f'the columns of the sub-query have the name "{names[number]}" twice'
            raise BindError(message, code=10036, span=name.span)
    return dict.fromkeys(names)


def column_list(named: Sequence[Name] | None) -> str:
    """The names behind the alias, as Spark takes them."""
    return "" if named is None else f"({', '.join(identifier(name.text) for name in named)})"
