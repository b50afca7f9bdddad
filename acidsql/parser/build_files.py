"""From skeleton to statement: what writes the rows of a query to files that no table has, and what
tells of them."""

from __future__ import annotations

from acidsql.errors import ParseError
from acidsql.parser import pieces
from acidsql.parser.build_tables import path, row_format
from acidsql.parser.grammar import Node
from acidsql.parser.statements import (
    Copy,
    CopyOption,
    DescribeQuery,
    Fragment,
    InsertDirectory,
    Path,
    QualifiedName,
    Summarize,
)


def copy(node: Node, text: str) -> Copy:
    options = tuple(_option(option, text) for option in node.nodes("copy_option"))
    seen: set[str] = set()
    for option in options:
        if (word := option.name.text.upper()) in seen:
            raise ParseError(f"{word} stands here twice", span=option.span)
        seen.add(word)
    return Copy(
        span=node.span,
        source=pieces.optional_fragment(node, "SUBQUERY") or pieces.table_name(node),
        path=path(node),
        options=options,
    )


def _option(node: Node, text: str) -> CopyOption:
    listed = node.terminal("LIST")
    value = pieces.optional_fragment(node, "VALUE")
    values = () if value is None else (value,)
    return CopyOption(
        span=node.span,
        name=pieces.first_name(node),
        values=values if listed is None else pieces.items(listed, text),
        listed=listed is not None,
    )


def insert_directory(node: Node, text: str) -> InsertDirectory:
    query, stored = pieces.query(node, text), pieces.once(node, "directory_format")
    assert query is not None
    return InsertDirectory(
        span=node.span,
        path=path(node),
        query=query,
        with_clause=pieces.with_clause(node, text),
        local=node.has("LOCAL"),
        row_format=row_format(node),
        stored_as=None if stored is None else pieces.first_name(stored),
    )


def describe_query(node: Node, text: str) -> DescribeQuery:
    return DescribeQuery(span=node.span, query=pieces.query(node, text) or path(node))


def summarize(node: Node, text: str) -> Summarize:
    source: QualifiedName | Fragment | Path | None = pieces.query(node, text)
    if source is None:
        source = pieces.table_name(node) if node.has("table_name") else path(node)
    return Summarize(span=node.span, source=source)


BUILDERS = (copy, insert_directory, describe_query, summarize)
