"""All rows of a table, or of the files of a path in quotes, as the query that the user did not
write.
"""

from __future__ import annotations

from dataclasses import replace

from acidsql.catalog.model import Table
from acidsql.errors import Error, Span
from acidsql.expressions.not_here import NotHere
from acidsql.parser import statements as ast
from acidsql.planner.bind.bound import BoundQuery
from acidsql.planner.bind.names import Names

_ALL_ROWS = "SELECT * FROM "
RELATION = "the:rows"
"""Names a relation of one query: neither a table nor what is registered has a colon in it."""


def rows_of(names: Names, source: ast.QualifiedName | ast.Path | ast.Fragment) -> BoundQuery:
    """The query that is meant by a name, a path, or a query, perhaps in brackets. Errors point at
    these.
    """
    if isinstance(source, ast.Fragment):
        return names.query(source)
    span = source.span
    return _placed(names, _ALL_ROWS + span.cut(names.source), span)


def all_of(names: Names, table: Table, span: Span) -> BoundQuery:
    """The query of all rows of a relation that no name means; errors point at ``span``."""
    return over(names, table, f"{_ALL_ROWS}`{RELATION}`", span)


def over(names: Names, table: Table, text: str, span: Span) -> BoundQuery:
    """A query in which ``RELATION`` is a table that no name means; errors point at ``span``."""
    around = replace(names.around, frames={**names.around.frames, RELATION: table})
    return _placed(Names(names.source, around), text, span)


def _placed(names: Names, text: str, span: Span) -> BoundQuery:
    try:
        query = Names(text, names.around).query(ast.Fragment(text=text, span=Span(0, len(text))))
    except Error as error:
        error.span, error.source = span, names.source
        raise
    local = query.local
    if isinstance(local, NotHere):
        local = NotHere(local.reason, span)
    reads = tuple(replace(read, span=span) for read in query.reads)
    return replace(query, reads=reads, local=local)
