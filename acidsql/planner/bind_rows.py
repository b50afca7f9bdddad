"""INSERT, UPDATE and DELETE: the target may be written, its columns are found, each value is stored as its column's type."""

from __future__ import annotations

from acidsql.catalog.model import Column, Table, TableKind
from acidsql.errors import BindError, ColumnNotFoundError, NotTransactionalTableError, Span
from acidsql.parser import statements as ast
from acidsql.planner import bind_table
from acidsql.planner.analysis import Analysis, Read, column_not_found
from acidsql.planner.bound import BoundDelete, BoundInsert, BoundQuery, BoundRows, BoundUpdate
from acidsql.planner.literals import NotPlain, value_of
from acidsql.planner.lowering import identifier, row_id_columns, store_cast
from acidsql.planner.names import Names
from acidsql.planner.query_text import Piece, Slot


def bind_insert(names: Names, statement: ast.Insert) -> BoundInsert:
    table = names.table(statement.target)
    bind_table.check_insertable(table, statement.target.span)
    columns = insert_columns(names, table, statement.columns)
    source: BoundRows | BoundQuery
    if isinstance(statement.source, ast.Values):
        source = values(names, table, columns, statement.source)
    else:
        source = insert_query(names, statement, statement.source)
    return BoundInsert(table=table, columns=columns, source=source, span=statement.source.span)


def insert_columns(names: Names, table: Table, named: tuple[ast.Name, ...] | None) -> tuple[Column, ...]:
    if named is None:
        return table.columns
    found: dict[str, Column] = {}
    for name in named:
        column = table.column(name.text)
        if column is None:
            raise column_not_found(name.text, table, name.span, names.source, code=10002)
        if column.name in found:
            raise BindError(f'column "{column.name}" is named twice', span=name.span)
        found[column.name] = column
    return tuple(found.values())


def values(names: Names, table: Table, columns: tuple[Column, ...], source: ast.Values) -> BoundRows | BoundQuery:
    for row in source.rows:
        if len(row) != len(columns):
            span = Span(row[0].span.start, row[-1].span.end) if row else source.span
            raise bind_table.wrong_column_count(table, len(columns), len(row), span)
    types = [c.type for c in columns]
    try:
        rows = tuple(tuple(value_of(e.text, t) for e, t in zip(row, types, strict=True)) for row in source.rows)
        return BoundRows(rows=rows)
    except NotPlain:
        return computed_values(names, source)


def computed_values(names: Names, source: ast.Values) -> BoundQuery:
    """Rows that need an engine: each expression of a row stands as the user wrote it, DEFAULT as NULL."""
    analysis = Analysis()
    legs: list[Piece] = []
    for number, row in enumerate(source.rows):
        legs.append(" UNION ALL SELECT " if number else "SELECT ")
        for at, cell in enumerate(row):
            pieces = ("NULL",) if cell.text.strip().upper() == "DEFAULT" else names.free_expression(cell, analysis)
            legs += [", " if at else "", *pieces]
    return names.bound_query(tuple(legs), analysis)


def insert_query(names: Names, statement: ast.Insert, body: ast.Fragment) -> BoundQuery:
    if statement.with_clause is None:
        return names.query(body)
    return names.query_after_with(statement.with_clause, body)


def target(names: Names, name: ast.QualifiedName, alias: ast.Name | None) -> Read:
    table = names.table(name)
    return Read(table=table, span=name.span, alias=(alias.text if alias else table.name.table).lower(), row_id=True)


def check_writable(names: Names, read: Read) -> None:
    table, span = read.table, read.span
    if not table.is_transactional:
        message = f"Attempt to do update or delete on table {table.name} that is not transactional"
        raise NotTransactionalTableError(message, code=10297, span=span)
    if table.is_insert_only:
        message = f"Attempt to do update or delete on table {table.name} that is insert-only transactional"
        raise NotTransactionalTableError(message, code=10414, span=span)
    bind_table.check_readable(table, span)


def bind_update(names: Names, statement: ast.Update) -> BoundUpdate:
    read = target(names, statement.target, statement.alias)
    table = read.table
    if table.kind is TableKind.VIEW:
        raise BindError("You cannot update or delete records in a view", code=10402, span=read.span)
    sets: dict[str, ast.Assignment] = {}
    for assignment in statement.assignments:
        column = assignable(names, table, assignment.column)
        if column.name in sets:
            raise BindError(f'column "{column.name}" is set twice', span=assignment.column.span)
        sets[column.name] = assignment
    check_writable(names, read)
    analysis = Analysis(reads=[read])
    alias = identifier(read.alias)
    pieces: list[Piece] = ["SELECT ", *row_id_columns(read.alias)]
    for column in table.columns:
        value = new_value(names, sets.get(column.name), column, read, analysis)
        pieces += [", ", *(value or (f"{alias}.{identifier(column.name)}",)), f" AS {identifier(column.name)}"]
    pieces += [" FROM ", Slot(0), f" AS {alias}", *names.where(statement.where, read, analysis)]
    changed = tuple(c for c in table.columns if c.name in sets)
    return BoundUpdate(table=table, changed=changed, query=names.bound_query(tuple(pieces), analysis))


def assignable(names: Names, table: Table, name: ast.Name) -> Column:
    """Hive's order of checks: partition column, bucketing column, unknown column."""
    wanted = name.text.lower()
    if any(c.name == wanted for c in table.partition_columns):
        raise BindError("Updating values of partition columns is not supported", code=10292, span=name.span)
    if table.bucketing and wanted in table.bucketing.columns:
        message = f"Updating values of bucketing columns is not supported.  Column {wanted}."
        raise BindError(message, code=10302, span=name.span)
    column = table.column(wanted)
    if column is None:
        hint = column_not_found(wanted, table, name.span, names.source).hint
        message = f'Target column "{name.text}" of set clause is not found in table "{table.name}".'
        raise ColumnNotFoundError(message, code=10408, hint=hint, span=name.span)
    return column


def new_value(names: Names, assignment: ast.Assignment | None, column: Column, read: Read, analysis: Analysis) -> tuple[Piece, ...]:
    if assignment is None:
        return ()
    if assignment.value.text.strip().upper() == "DEFAULT":
        return store_cast(("NULL",), column.type)
    return store_cast(names.expression(assignment.value, read, analysis), column.type)


def bind_delete(names: Names, statement: ast.Delete) -> BoundDelete:
    read = target(names, statement.target, statement.alias)
    if read.table.kind is TableKind.VIEW:
        raise BindError("You cannot update or delete records in a view", code=10402, span=read.span)
    check_writable(names, read)
    analysis = Analysis(reads=[read])
    head: tuple[Piece, ...] = ("SELECT ", *row_id_columns(read.alias), " FROM ", Slot(0), f" AS {identifier(read.alias)}")
    pieces = (*head, *names.where(statement.where, read, analysis))
    return BoundDelete(table=read.table, query=names.bound_query(pieces, analysis))
