"""UPDATE and DELETE: the target may be changed, its columns are found, each value is stored as its
column's type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from acidsql.acid.ids import RETURNED_ROW_ID, ROW_ID_COLUMN, ROW_ID_PARTS
from acidsql.acid.orc_types import ID_FIELDS
from acidsql.catalog.attached import check_not_attached
from acidsql.catalog.model import Column, FileFormat, Table, TableKind
from acidsql.errors import (
    BindError,
    ColumnNotFoundError,
    NotTransactionalTableError,
    ParseError,
    Span,
    UnsupportedStatementError,
)
from acidsql.expressions.losses import given_name
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.spark_words import Piece, Slot, identifier, row_id_columns, store_cast
from acidsql.expressions.tree import Call, parts_of
from acidsql.parser import statements as ast
from acidsql.parser.tokens import Token, TokenKind, tokens_in
from acidsql.planner.bind.analysis import Analysis, Read
from acidsql.planner.bind.bound import BoundDelete, BoundReturning, BoundUpdate
from acidsql.planner.bind.columns import Visible, column_not_found
from acidsql.planner.bind.files.whole import RELATION, over
from acidsql.planner.bind.local.changes import local_delete, local_update, updated
from acidsql.planner.bind.local.query_trees import LocalQuery
from acidsql.planner.bind.local.scope import QUERIES, understood
from acidsql.planner.bind.names import Names, is_reported

# ---- returning
#
# RETURNING: a list of expressions over the rows that a statement has written, as a query over a
# relation of these rows, which it fills once it is done.


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


# ---- rows


def bind_update(names: Names, statement: ast.Update) -> BoundUpdate:
    """Hive's order of checks: manager and kind of the target, each column that is set, then whether
    the table is transactional.
    """
    read = changed_target(names, statement.target, statement.alias)
    table = read.table
    sets = assigned(names, table, statement.assignments)
    check_writable(read)
    names.parse_ahead([*(a.value for a in statement.assignments), statement.where])
    analysis = Analysis(reads=[read])
    where = names.where(statement.where, read, analysis)

    def understand() -> LocalQuery | NotHere:
        return understood(lambda: _updated(names, read, sets, statement.where, analysis), read.span)

    local = None if _ask(names, sets) else understand()
    values = list(_new_values(names, sets, read, local, analysis))
    if local is None:  # the tables of queries in values are known now
        local = understand()
    pieces: list[Piece] = [
        "SELECT ",
        *row_id_columns(read.alias),
        *values,
        partition_of(read),
        " FROM ",
        Slot(0),
        f" AS {identifier(read.alias)}",
        *where,
    ]
    changed = tuple(c for c in table.columns if c.name in sets)
    query = names.bound_query(tuple(pieces), analysis)
    reported = [name for name, one in sets.items() if is_reported(names, one.value)]
    stores = updated(table, read.span, reported)
    return BoundUpdate(
        table=table,
        changed=changed,
        query=replace(query, local=local),
        stores=stores,
        returning=_returning(names, statement, read),
    )


def _ask(names: Names, sets: Mapping[str, ast.Assignment]) -> bool:
    """Whether a query is in one of the values."""
    for one in sets.values():
        tree = names.condition(one.value)
        for part in () if tree is None else parts_of(tree):
            if isinstance(part, Call) and part.name in QUERIES:
                return True
    return False


def _updated(
    names: Names,
    read: Read,
    sets: Mapping[str, ast.Assignment],
    where: ast.Fragment | None,
    analysis: Analysis,
) -> LocalQuery:
    """NotHere."""
    values = [
        names.new_tree(sets[c.name].value, read.table, c) if c.name in sets else None
        for c in read.table.columns
    ]
    condition = None if where is None else names.tree(where)
    return local_update(read, values, condition, names.queries(analysis, read.span))


def bind_delete(names: Names, statement: ast.Delete) -> BoundDelete:
    read = changed_target(names, statement.target, statement.alias)
    check_writable(read)
    analysis = Analysis(reads=[read])
    returning = _returning(names, statement, read)
    given = read.table.columns if returning is not None else ()
    head: tuple[Piece, ...] = (
        "SELECT ",
        *row_id_columns(read.alias),
        *(piece for column in given for piece in (", ", *own_value(read, column))),
        partition_of(read),
        " FROM ",
        Slot(0),
        f" AS {identifier(read.alias)}",
    )
    pieces = (*head, *names.where(statement.where, read, analysis))
    query = names.bound_query(pieces, analysis)
    where = statement.where
    local = understood(
        lambda: local_delete(
            read,
            None if where is None else names.tree(where),
            names.queries(analysis, read.span),
            given,
        ),
        read.span,
    )
    return BoundDelete(
        table=read.table,
        query=replace(query, local=local),
        stores=updated(read.table, read.span) if given else (),
        returning=returning,
    )


def _returning(
    names: Names, statement: ast.Update | ast.Delete, read: Read
) -> BoundReturning | None:
    if statement.returning is None:
        return None

    return bind_returning(names, statement.returning, read.table, read.alias)


def partition_of(read: Read) -> str:
    """The partition columns of a row that is changed: where it lies, and stays."""
    return "".join(
        f", {identifier(read.alias)}.{identifier(c.name)}" for c in read.table.partition_columns
    )


def changed_target(names: Names, name: ast.QualifiedName, alias: ast.Name | None) -> Read:
    """The target of UPDATE, DELETE and MERGE, read with its ROW__ID."""
    names.check_manager_changes(name.span)
    table = names.table(name)
    if table.kind is TableKind.VIEW:
        raise BindError("You cannot update or delete records in a view", code=10402, span=name.span)
    check_not_attached(table, name.span)
    return Read(
        table=table,
        span=name.span,
        alias=(alias.text if alias else table.name.table).lower(),
        row_id=True,
    )


def check_writable(read: Read) -> None:
    table, span = read.table, read.span
    if not table.is_transactional:
        message = f"Attempt to do update or delete on table {table.name} that is not transactional"
        raise NotTransactionalTableError(message, code=10297, hint=_way_to_acid(table), span=span)
    if table.is_insert_only:
        message = (
            f"Attempt to do update or delete on table {table.name} that is insert-only"
            " transactional"
        )
        raise NotTransactionalTableError(message, code=10414, hint=_COPY, span=span)


_PROPERTY = "TBLPROPERTIES ('transactional'='true')"
_COPY = f"CREATE TABLE .. STORED AS ORC {_PROPERTY} AS SELECT .. makes an ACID table of its rows."


def _way_to_acid(table: Table) -> str:
    """What makes rows of a plain table changeable."""
    if table.kind is TableKind.EXTERNAL:
        return f"No external table can be ACID. {_COPY}"
    if table.file_format is not FileFormat.ORC:
        return f"Only tables stored as ORC can be ACID. {_COPY}"
    if table.bucketing is not None and table.bucketing.sorted_by:
        return f"No SORTED BY table can be ACID. {_COPY}"
    return f"ALTER TABLE {table.name} SET {_PROPERTY} makes it ACID."


def assigned(
    names: Names, table: Table, assignments: Sequence[ast.Assignment]
) -> dict[str, ast.Assignment]:
    """The assignments by column name."""
    sets: dict[str, ast.Assignment] = {}
    for assignment in assignments:
        column = assignable(names, table, assignment.column)
        if column.name in sets:
            raise BindError(f'column "{column.name}" is set twice', span=assignment.column.span)
        sets[column.name] = assignment
    return sets


def assignable(names: Names, table: Table, name: ast.Name) -> Column:
    """Hive's order of checks: partition column, bucketing column, unknown column."""
    wanted = name.text.lower()
    if any(c.name == wanted for c in table.partition_columns):
        raise BindError(
            "Updating values of partition columns is not supported", code=10292, span=name.span
        )
    if table.bucketing and wanted in table.bucketing.columns:
        message = f"Updating values of bucketing columns is not supported.  Column {wanted}."
        raise BindError(message, code=10302, span=name.span)
    column = table.column(wanted)
    if column is None:
        hint = column_not_found(wanted, table, name.span, names.source).hint
        message = f'Target column "{name.text}" of set clause is not found in table "{table.name}".'
        raise ColumnNotFoundError(message, code=10408, hint=hint, span=name.span)
    return column


def _new_values(
    names: Names,
    sets: Mapping[str, ast.Assignment],
    read: Read,
    local: LocalQuery | NotHere | None,
    analysis: Analysis,
) -> Iterator[Piece]:
    """What each column holds behind the change: the value assigned, cast as a store casts it, else
    what it held. In front of them, by names, the values of which more is asked.
    """
    visible = [Visible.of(read.table, read.alias)]
    before: list[Piece] = []
    after: list[Piece] = []
    for ordinal, column in enumerate(read.table.columns):
        stored = own_value(read, column)
        if column.name in sets:
            value, known = sets[column.name].value, None
            if isinstance(local, LocalQuery):
                known = local.outputs[len(ID_FIELDS) + ordinal].type
            new = names.stored(value, read.table, column, visible, analysis, known)
            stored = new.stored
            if new.given is not None:
                name = given_name(ordinal)
                before += [", (", *new.given, f") AS {name}"]
                stored = store_cast((name,), column.type)
        after += [", ", *stored, f" AS {identifier(column.name)}"]
    yield from (*before, *after)


def own_value(read: Read, column: Column) -> tuple[Piece, ...]:
    """What the column of a target's row holds."""
    return (f"{identifier(read.alias)}.{identifier(column.name)}",)
