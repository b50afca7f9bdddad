"""CREATE VIEW and DROP VIEW: the query is checked, and kept with every table's name qualified, so
that it means the same anywhere.
"""

from __future__ import annotations

from dataclasses import replace

from acidsql.catalog.model import Table, TableKind, TableName, View
from acidsql.errors import AlreadyExistsError, BindError, Span
from acidsql.expressions.spark_words import QueryText, Slot, edited, identifier
from acidsql.parser import statements as ast
from acidsql.planner.bind.analysis import Analysis, analyse_query
from acidsql.planner.bind.bound_catalog import BoundCreateView, BoundDropView, ViewColumn
from acidsql.planner.bind.ddl.columns import duplicate
from acidsql.planner.bind.ddl.create import new_name
from acidsql.planner.bind.names import Names
from acidsql.planner.bind.query_tree import output_columns


def bind_create_view(names: Names, statement: ast.CreateView) -> BoundCreateView:
    if statement.if_not_exists and statement.or_replace:
        raise BindError("Can't combine IF NOT EXISTS and OR REPLACE.", span=statement.name.span)
    name, _, existing = new_name(names, statement.name, if_not_exists=True)
    if existing is not None:
        _check_replaceable(statement, existing)
    query = names.query(statement.query)
    frames = [r.span.cut(names.source) for r in query.reads if r.table.kind is TableKind.FRAME]
    if temporaries := [*names.views, *frames]:
        temporary = str(temporaries[0]).strip("`")
        raise BindError(
            f'a view cannot use "{temporary}", which only this session knows',
            span=statement.query.span,
        )
    columns = _columns(statement)
    view = Table(
        name=name,
        columns=(),
        location="",
        kind=TableKind.VIEW,
        properties={p.key: p.value for p in statement.properties},
        comment=statement.comment,
        owner=names.around.user,
        created_at=names.around.now,
        view=View(
            original=statement.query.text, expanded=_expanded(names, statement, view_name=str(name))
        ),
    )
    return BoundCreateView(
        view=view,
        query=query,
        names=columns,
        replaced=existing if statement.or_replace else None,
        exists=existing is not None and statement.if_not_exists,
        if_not_exists=statement.if_not_exists,
        span=statement.query.span,
    )


def bind_drop_view(names: Names, statement: ast.DropView) -> BoundDropView:
    """A table is no view: IF EXISTS passes over it, the setting does not (Hive:
    DropViewOperation).
    """
    name = names.table_name(statement.name)
    table = names.catalog.find_table(name)
    if table is None:
        if names.may_be_missing(statement.if_exists):
            note = None if statement.if_exists else names.nothing_dropped("view", name)
            return BoundDropView(name=None, note=note)
        raise names.not_found(name, statement.name.span)
    if table.kind is not TableKind.VIEW:
        if statement.if_exists:
            return BoundDropView(name=None)
        raise BindError(
            "Cannot drop a base table with DROP VIEW",
            hint="Use DROP TABLE.",
            span=statement.name.span,
        )
    return BoundDropView(name=name)


def wrong_width(span: Span) -> BindError:
    """For the engine's count of the query's columns, too."""
    message = (
        "The number of columns produced by the SELECT clause does not match the number of column"
        " names specified by CREATE VIEW"
    )
    return BindError(message, code=10089, span=span)


def _check_replaceable(statement: ast.CreateView, existing: Table) -> None:
    if existing.kind is not TableKind.VIEW and statement.or_replace:
        message = (
            "Existing table is not a view: The following is an existing table, not a view:"
            f" {existing.name}"
        )
        raise BindError(message, code=10218, span=statement.name.span)
    if not statement.or_replace and not statement.if_not_exists:
        raise AlreadyExistsError(f"Table {existing.name} already exists", span=statement.name.span)


def _columns(statement: ast.CreateView) -> tuple[ViewColumn, ...]:
    columns: dict[str, ViewColumn] = {}
    for column in statement.columns:
        name = column.name.text.lower()
        if name in columns:
            raise duplicate(name, column.name.span)
        columns[name] = ViewColumn(name=name, comment=column.comment)
    return tuple(columns.values())


def _expanded(names: Names, statement: ast.CreateView, view_name: str) -> str:
    """The query with qualified names of tables and whole paths of files, checked for the columns
    that can be told without an engine.
    """

    def resolve(parts: tuple[str, ...], span: Span) -> Table | None:
        table = names.resolve(parts, span)
        if table is None:
            return None
        if (cycle := _way(names, table, view_name)) is not None:
            shown = " -> ".join((view_name, *cycle))
            raise BindError(f"Recursive view {view_name} detected (cycle: {shown})", span=span)
        return replace(table, view=None)  # a view in a view keeps its name

    analysis = Analysis(verbatim=True, open_files=names.open_files)
    tree = analyse_query(names.source, statement.query.span, resolve, analysis)
    if output_columns(tree) is not None:
        _check_output(statement, [e.output_name.lower() for e in getattr(tree, "selects", ())])
    edits = [
        e
        for e in analysis.edits
        if e in analysis.paths or not e.pieces or any(isinstance(piece, Slot) for piece in e.pieces)
    ]
    text = QueryText(names.source, edited(statement.query.span, edits))
    return text.render(
        [
            f"{identifier(r.table.name.database)}.{identifier(r.table.name.table)}"
            for r in analysis.reads
        ]
    )


def _way(names: Names, table: Table, wanted: str) -> tuple[str, ...] | None:
    """The views through which ``table`` reads ``wanted``, that name last; None if it does not."""
    if str(table.name) == wanted:
        return (wanted,)
    if table.view is None:
        return None
    inner: list[Table] = []

    def resolve(parts: tuple[str, ...], span: Span) -> Table | None:
        inner_table = names.catalog.find_table(TableName(*(part.lower() for part in parts)))
        inner.extend([inner_table] if inner_table is not None else [])
        return None

    analyse_query(table.view.expanded, Span(0, len(table.view.expanded)), resolve, Analysis())
    ways = (_way(names, one, wanted) for one in inner)
    return next(((str(table.name), *way) for way in ways if way is not None), None)


def _check_output(statement: ast.CreateView, columns: list[str]) -> None:
    for name in columns:
        if columns.count(name) > 1:
            raise duplicate(name, statement.query.span)
    if statement.columns and len(statement.columns) != len(columns):
        raise wrong_width(statement.columns[0].name.span)
