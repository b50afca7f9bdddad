"""RETURNING: a list of expressions over the rows that a statement has written, as a query over a
relation of these rows, which it fills once it is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acidsql.acid.row_id import RETURNED_ROW_ID, ROW_ID_COLUMN, ROW_ID_PARTS
from acidsql.catalog.model import FileFormat, Table
from acidsql.errors import BindError, ParseError, Span, UnsupportedStatementError
from acidsql.expressions.spark_words import identifier
from acidsql.parser import statements as ast
from acidsql.parser.tokens import Token, TokenKind, tokens_in
from acidsql.planner.bind.bound import BoundReturning
from acidsql.planner.bind.files.whole import RELATION, over
from acidsql.planner.bind.names import Names

_NOT_IN_A_LIST = frozenset(
    "SELECT FROM WHERE GROUP HAVING ORDER SORT CLUSTER DISTRIBUTE LIMIT UNION INTERSECT EXCEPT"
    " LATERAL WINDOW".split()
)


def bind_returning(
    names: Names, clause: ast.Fragment, table: Table, alias: str | None = None
) -> BoundReturning:
    """The list behind RETURNING. ``alias``: what its columns may be qualified by, the name of the
    table without one. Errors are at its place.
    """
    _check(names, clause, table)
    relation = names.around.returned(table)
    known = alias or table.name.table
    items = ", ".join(
        _item(item, names.source, table, known) for item in _items(clause.span, names.source)
    )
    text = f"SELECT {items} FROM `{RELATION}` AS {identifier(known)}"
    query = over(names, relation, text, clause.span)
    if len(query.reads) != 1 or query.views:
        raise BindError("RETURNING takes no sub-queries", span=clause.span)
    return BoundReturning(query=query, text=" ".join(clause.text.split()))


def _check(names: Names, clause: ast.Fragment, table: Table) -> None:
    if names.around.settings.flag("acidsql.strict.hive"):
        raise UnsupportedStatementError(
            "RETURNING is not Hive SQL",
            hint="SET acidsql.strict.hive=false allows it.",
            span=clause.span,
        )
    if table.file_format is not FileFormat.ORC:
        raise UnsupportedStatementError(
            f"RETURNING wants a table of ORC files, and {table.name} is of {table.file_format}",
            span=clause.span,
        )


def _items(span: Span, source: str) -> Iterator[Sequence[Token]]:
    """The items between commas. ParseError for what no list has."""
    item: list[Token] = []
    depth = 0
    for token in tokens_in(source, span):
        if token.kind is TokenKind.MARK:
            depth += (token.text in "([{") - (token.text in ")]}")
        if not depth and token.kind is TokenKind.WORD and token.word in _NOT_IN_A_LIST:
            raise ParseError(f'unexpected "{token.text}" behind RETURNING', span=token.span)
        if depth or not token.is_mark(","):
            item.append(token)
            continue
        if not item:
            break
        yield item
        item = []
    if not item:
        raise ParseError("an expression is missing behind RETURNING", span=span)
    yield item


def _item(tokens: Sequence[Token], source: str, table: Table, alias: str) -> str:
    """An item as one of the query. ROW__ID is a column of the relation, which * leaves out."""
    if tokens[-1].is_mark("*") and (len(tokens) == 1 or _qualifies(tokens[:-1])):
        columns = (*table.columns, *table.partition_columns)
        owner = identifier(alias)
        if len(tokens) > 1 and tokens[0].text.lower() != alias.lower():
            owner = identifier(tokens[0].text)  # which there is none of: the error says so
        return ", ".join(f"{owner}.{identifier(column.name)}" for column in columns)
    numbers = [at for at, token in enumerate(tokens) if token.word == ROW_ID_COLUMN]
    if numbers and not table.is_full_acid:
        span = tokens[numbers[0]].span
        raise BindError(f"rows of table {table.name} have no ROW__ID", span=span)
    text, start, name = "", tokens[0].start, ""
    for at in numbers:
        part = _part(tokens[at + 1 : at + 3])
        text += source[start : tokens[at].start] + RETURNED_ROW_ID + part
        behind = at + 3 if part else at + 1
        start = tokens[behind - 1].end
        if behind == len(tokens) and (not at or (at == 2 and _qualifies(tokens[:2]))):
            name = part or ROW_ID_COLUMN
    text += source[start : tokens[-1].end]
    return f"{text} AS {name}" if name else text


def _part(tokens: Sequence[Token]) -> str:
    """The part of ROW__ID that is asked for behind it; "" for none."""
    if len(tokens) < 2 or not tokens[0].is_mark("."):
        return ""
    name = tokens[1].text.lower()
    return name if name in ROW_ID_PARTS else ""


def _qualifies(tokens: Sequence[Token]) -> bool:
    """Whether tokens are a name and a dot."""
    return len(tokens) == 2 and tokens[1].is_mark(".")
