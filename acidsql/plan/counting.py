"""Recognises ``SELECT count(*) FROM t [WHERE ..]``, which the engine can answer by what files and
deletes say of themselves.

Word by word: whatever else stands in the text makes it a query like any other.
"""

from __future__ import annotations

from typing import ClassVar

from acidsql.catalog.types import HiveType, PrimitiveType
from acidsql.errors import Span
from acidsql.expressions.query_text import Slice, Slot
from acidsql.expressions.tree import PartitionCondition
from acidsql.lazy_dataclass import dataclass
from acidsql.parser.tokens import Token, TokenKind, tokens_in
from acidsql.planner.bind.bound import BoundQuery, BoundRead
from acidsql.planner.bind.partition_filter import Relation, whole_condition

DEFAULT_NAME = "count(1)"
"""What Spark calls the column of ``count(*)`` and of ``count(1)``."""

_NO_ALIAS = frozenset("FROM OVER FILTER WITHIN RESPECT IGNORE AS".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCount:
    """The query counts the rows of its one read. ``name``: of its column.

    ``condition``: which partitions' rows, None for all: a condition over the values of the
    partition columns alone.
    """

    name: str
    condition: PartitionCondition | None = None
    type: ClassVar[HiveType] = PrimitiveType("bigint")


def row_count(query: BoundQuery) -> RowCount | None:
    """What a query that only counts the rows of one table asks for; None for any other query."""
    if len(query.reads) != 1 or query.views:
        return None
    match query.text.pieces:
        case (Slice(head), Slot(0), Slice(tail)) | (Slice(head), Slot(0), str(), Slice(tail)):
            name = _counted_as(tokens_in(query.text.source, head))
            return None if name is None else _of_rows(query.text.source, query.reads[0], tail, name)
    return None


def _counted_as(tokens: list[Token]) -> str | None:
    """The name of the column of ``SELECT count(*) [AS name] FROM``; None if the tokens are not
    that.
    """
    match tokens:
        case [select, count, opening, counted, closing, *alias, from_]:
            every_row = counted.is_mark("*") or (
                counted.kind is TokenKind.NUMBER and counted.text == "1"
            )
            words = (select.word, count.word, from_.word) == ("SELECT", "COUNT", "FROM")
            if words and every_row and opening.is_mark("(") and closing.is_mark(")"):
                return _alias(alias) if alias else DEFAULT_NAME
    return None


def _alias(tokens: list[Token]) -> str | None:
    match tokens:
        case [as_, name] if as_.word == "AS" and _is_name(name):
            return name.text
        case [name] if _is_name(name):
            return name.text
    return None


def _is_name(token: Token) -> bool:
    return token.kind is TokenKind.QUOTED or (
        token.kind is TokenKind.WORD and token.word not in _NO_ALIAS
    )


def _of_rows(source: str, read: BoundRead, tail: Span, name: str) -> RowCount | None:
    """The count of a table's rows, if the query has nothing but a WHERE over partition columns.
    ``tail``: the text behind the table's name.
    """
    condition = read.condition
    end = tail.end if condition is None else condition.span.start
    tokens = tokens_in(source, Span(tail.start, end))
    where = next((i for i, token in enumerate(tokens) if token.word == "WHERE"), len(tokens))
    alias = read.table.name.table
    if where:
        written = _alias(tokens[:where])
        if written is None:
            return None
        alias = written.lower()
    if where == len(tokens):
        return RowCount(name=name)
    if condition is None:
        return None
    around = [*tokens[where + 1 :], *tokens_in(source, Span(condition.span.end, tail.end))]
    if not all(token.is_mark("(") or token.is_mark(")") for token in around):
        return None
    relation = Relation.of(read.table, alias)
    whole = whole_condition(source, condition, relation) if relation.partitioned else None
    return None if whole is None else RowCount(name=name, condition=whole)
