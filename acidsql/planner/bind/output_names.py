"""What the columns of a query are called, and which columns of a table they are by that.

Hive names them for CREATE TABLE .. AS: an expression without a name is ``_c`` and its place in the
SELECT list. Only the engine knows how many columns a star stands for; so what the text tells is
kept until the engine's columns are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING

from acidsql.catalog.model import Column, Table
from acidsql.errors import BindError, Span, Warning
from acidsql.expressions.not_here import NotHere
from acidsql.parser.tokens import TokenKind, tokens_in
from acidsql.planner.bind.columns import column_not_found
from acidsql.planner.bind.local.query_trees import LocalQuery, LocalValues
from acidsql.planner.bind.query_tree import is_star

if TYPE_CHECKING:
    from sqlglot import exp

    from acidsql.planner.bind.bound import BoundPartition


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


def output_names(
    query: exp.Expr, local: LocalQuery | LocalValues | NotHere
) -> tuple[str, ...] | None:
    """What the columns of a query are called, in lower case, "" for those that have no name of
    their own; None where only the engine can tell.
    """
    items = outputs(query)
    if not items or Output.MANY in items:
        if isinstance(local, NotHere):
            return None
        return tuple(output.name.lower() for output in local.outputs)
    selects = query.selects  # type: ignore[attr-defined]  # outputs has looked
    return tuple(
        one.output_name.lower() if item is Output.NAMED else ""
        for one, item in zip(selects, items, strict=True)
    )


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


def columns_by_name(
    table: Table,
    partition: BoundPartition | None,
    given: Sequence[str],
    text: str,
    span: Span,
) -> tuple[Column, ...]:
    """The columns of a table that are called as those of a query, in its order. ``span``: of the
    query in ``text``. BindError.
    """
    dynamic = () if partition is None else partition.dynamic
    keys = [c for c in table.partition_columns if c.name in dynamic]
    known = {c.name: c for c in (*table.columns, *keys)}
    columns: list[Column] = []
    for number, name in enumerate(map(str.lower, given), start=1):
        column, at = known.get(name), _place_of(name, text, span)
        if not name:
            raise BindError(
                f"column {number} of the query has no name",
                hint="Give it one with AS.",
                span=span,
                source=text,
            )
        if column is None and any(c.name == name for c in table.partition_columns):
            message = f'partition column "{name}" has its value in PARTITION'
            raise BindError(message, span=at, source=text)
        if column is None:
            raise column_not_found(name, table, at, text, code=10002)
        if column in columns:
            message = f'the query has two columns of the name "{name}"'
            raise BindError(message, span=at, source=text)
        columns.append(column)
    for key in keys:
        if key not in columns:
            message = f'no column of the query has the name of partition column "{key.name}"'
            raise BindError(message, span=span, source=text)
    return tuple(columns)


def _place_of(name: str, text: str, span: Span) -> Span:
    """Where a query names a column, as far as that can be seen: the last such word before FROM;
    else the whole query.
    """
    word_span = span
    for token in tokens_in(text, span):
        if token.word == "FROM" and word_span != span:
            break
        if token.text.lower() == name and token.kind in (TokenKind.WORD, TokenKind.QUOTED):
            word_span = token.span
    return word_span


def in_other_order(columns: Sequence[Column], given: Sequence[str]) -> bool:
    """Whether a query's columns are called as those that they go to, but in another order."""
    wanted = [c.name for c in columns]
    names = [name.lower() for name in given]
    return names != wanted and sorted(names) == sorted(wanted)


def other_order(table: Table, span: Span | None = None) -> Warning:
    """What is said of columns ``in_other_order``."""
    return Warning(
        f"the query has the columns of table {table.name} in another order, and they are stored by"
        " position",
        hint="INSERT INTO .. BY NAME SELECT .. stores each in the column of its name.",
        span=span,
    )
