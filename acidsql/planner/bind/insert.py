"""INSERT and multi-insert: the target's columns and partition, literal rows, the query
of each leg.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from acidsql.catalog.attached import check_not_attached
from acidsql.catalog.model import Column, Table, TableKind
from acidsql.catalog.partitions import partition_text
from acidsql.errors import BindError, Span, UnsupportedStatementError
from acidsql.expressions.losses import may_lose
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.spark_words import Piece, store_cast
from acidsql.expressions.stores import value_of
from acidsql.parser import statements as ast
from acidsql.planner.bind import tables
from acidsql.planner.bind.analysis import Analysis
from acidsql.planner.bind.bound import (
    BoundInsert,
    BoundMultiInsert,
    BoundPartition,
    BoundQuery,
    BoundRows,
    BoundValue,
)
from acidsql.planner.bind.columns import column_not_found
from acidsql.planner.bind.local.changes import insert_source, local_insert
from acidsql.planner.bind.local.inline_rows import stored_rows
from acidsql.planner.bind.local.query_trees import LocalValues, Stored
from acidsql.planner.bind.local.scope import understood
from acidsql.planner.bind.names import Names, is_default, is_reported
from acidsql.planner.bind.partitions import check_nameable, columns_named
from acidsql.planner.bind.tables import (
    COMPUTED,
    columns_by_name,
    default_of,
    default_sql,
    has_check,
    in_other_order,
    other_order,
)

AnyInsert = ast.Insert | ast.InsertBranch


def bind_insert(names: Names, statement: ast.Insert) -> BoundInsert:
    """BindError with Hive's code where the target cannot take the rows."""
    table = insert_target(names, statement)
    partition = bind_partition(names, table, statement)
    columns = insert_columns(names, table, statement.columns, partition)
    source: BoundRows | BoundQuery
    check_by_name(names, statement)
    if isinstance(statement.source, ast.Values):
        columns, source = values(names, table, columns, statement.source)
    elif statement.with_clause is None:
        source = names.query(statement.source, insert_source)
    else:
        source = names.query_after((statement.with_clause,), statement.source)
    bound = bound_insert(names, statement, table, partition, columns, source, statement.source.span)
    if statement.returning is None:
        return bound
    from acidsql.planner.bind.rows import bind_returning

    return replace(bound, returning=bind_returning(names, statement.returning, table))


def bind_multi_insert(names: Names, statement: ast.MultiInsert) -> BoundMultiInsert:
    """Each branch as an INSERT of ``[WITH ..] FROM .. SELECT ..``."""
    before = (
        (statement.from_clause,)
        if statement.with_clause is None
        else (statement.with_clause, statement.from_clause)
    )
    legs: list[BoundInsert] = []
    for branch in statement.branches:
        table = insert_target(names, branch)
        partition = bind_partition(names, table, branch)
        columns = insert_columns(names, table, branch.columns, partition)
        check_by_name(names, branch)
        leg = bound_insert(
            names,
            branch,
            table,
            partition,
            columns,
            names.query_after(before, branch.query),
            branch.query.span,
        )
        if any(other.table.name == table.name and other.partition == partition for other in legs):
            message = f"The same output cannot be present multiple times: {table.name}"
            raise BindError(message, code=10087, span=branch.target.span)
        legs.append(leg)
    return BoundMultiInsert(legs=tuple(legs), span=statement.span)


def bound_insert(
    names: Names,
    statement: AnyInsert,
    table: Table,
    partition: BoundPartition | None,
    columns: tuple[Column, ...],
    source: BoundRows | BoundQuery,
    span: Span,
) -> BoundInsert:
    """The INSERT of a source, which stands at ``span``, into ``columns``; BY NAME into those that
    it names.
    """
    stores: tuple[Stored, ...] | NotHere = ()
    if statement.by_name is not None:
        assert isinstance(source, BoundQuery)
        columns = _by_name(names, table, partition, source, span)
    elif isinstance(source, BoundQuery) and statement.columns is None:
        _note_other_order(names, table, columns, source, span)
    if isinstance(source, BoundQuery) and columns:
        if source.width not in (None, len(columns)):
            raise tables.wrong_column_count(table, columns, source.width or 0, span)
        static = dict(partition.static) if partition is not None else {}
        semantics = names.around.semantics
        stores = understood(
            lambda: local_insert(table, columns, static, source.local, semantics, span), span
        )
    return BoundInsert(
        table=table,
        columns=columns,
        source=source,
        span=span,
        overwrite=statement.overwrite,
        partition=partition,
        by_name=statement.by_name is not None,
        by_position=statement.by_name is None and statement.columns is None,
        if_not_exists=statement.if_not_exists,
        stores=stores,
    )


def insert_target(names: Names, statement: AnyInsert) -> Table:
    table = names.table(statement.target)
    span = statement.target.span
    if table.kind is TableKind.VIEW:
        raise BindError(
            f"A view cannot be used as target table for LOAD or INSERT: {table.name}",
            code=10090,
            span=span,
        )
    check_not_attached(table, span)
    names.check_manager(table, span)
    if statement.if_not_exists and not statement.overwrite:
        raise UnsupportedStatementError(
            "INSERT INTO .. IF NOT EXISTS is not Hive SQL",
            hint="Write INSERT OVERWRITE.",
            span=span,
        )
    if statement.if_not_exists and (
        statement.partition is None or any(i.value is None for i in statement.partition.items)
    ):
        raise BindError(
            "IF NOT EXISTS needs a PARTITION clause with a value for every column", span=span
        )
    return table


# ---- PARTITION (..)


def bind_partition(names: Names, table: Table, statement: AnyInsert) -> BoundPartition | None:
    """The static values and the dynamic columns; without the clause every partition column is
    dynamic.
    """
    spec = statement.partition
    if spec is None:
        if not table.partition_columns:
            return None
        return _checked(
            names,
            BoundPartition(static=(), dynamic=tuple(c.name for c in table.partition_columns)),
            statement.target.span,
        )
    given = columns_named(names, table, spec, _not_a_partition_column)
    static: list[tuple[str, str]] = []
    dynamic: list[str] = []
    for column in table.partition_columns:
        item = given.get(column.name)
        if item is None:
            message = (
                f'Partition columns of table {table.name} are not all named: "{column.name}" is'
                " missing"
            )
            raise BindError(
                message,
                hint=f"Write PARTITION ({', '.join(c.name for c in table.partition_columns)}).",
                span=spec.span,
            )
        if item.value is None:
            dynamic.append(column.name)
        elif dynamic:
            raise BindError(
                "Dynamic partition cannot be the parent of a static partition",
                code=10094,
                span=item.name.span,
            )
        else:
            static.append((column.name, _static_value(column, item)))
    return _checked(names, BoundPartition(static=tuple(static), dynamic=tuple(dynamic)), spec.span)


def _not_a_partition_column(_: ast.PartitionSpec, item: ast.PartitionItem) -> BindError:
    return BindError(
        f"Non-Partition column appears in the partition specification:  {item.name.text}",
        code=10098,
        span=item.name.span,
    )


def _static_value(column: Column, item: ast.PartitionItem) -> str:
    """The value of one item of a PARTITION clause, as Hive's text."""
    assert item.value is not None
    if item.operator != "=":
        raise BindError(f'expected "=", not "{item.operator}"', span=item.name.span)
    try:
        value = partition_text(value_of(item.value.text, column.type, in_rows=False))
    except NotHere:
        message = (
            f'the value of partition column "{column.name}" must be a literal of type {column.type}'
        )
        raise BindError(message, code=10214, span=item.value.span) from None
    check_nameable(column, value, item.value.span)
    return value


def _checked(names: Names, partition: BoundPartition, span: Span) -> BoundPartition:
    """Hive's two switches for dynamic partitions."""
    settings = names.around.settings
    if partition.dynamic and not settings.flag("hive.exec.dynamic.partition"):
        message = (
            "Dynamic partition is disabled. Either enable it by setting"
            " hive.exec.dynamic.partition=true or specify partition column values"
        )
        raise BindError(message, code=10095, span=span)
    if (
        partition.dynamic
        and not partition.static
        and settings.text("hive.exec.dynamic.partition.mode") == "strict"
    ):
        message = (
            "Dynamic partition strict mode requires at least one static partition column. "
            "To turn this off set hive.exec.dynamic.partition.mode=nonstrict"
        )
        raise BindError(message, code=10096, span=span)
    return partition


# ---- columns and rows


def insert_columns(
    names: Names, table: Table, named: tuple[ast.Name, ...] | None, partition: BoundPartition | None
) -> tuple[Column, ...]:
    """The columns the source gives, in its order: those named, or all, then the dynamic partition
    columns that were not named.
    """
    dynamic = [
        c for c in table.partition_columns if partition is not None and c.name in partition.dynamic
    ]
    if named is None:
        return (*table.columns, *dynamic)
    by_name: dict[str, Column] = {}
    for name in named:
        column = table.column(name.text) or next(
            (c for c in dynamic if c.name == name.text.lower()), None
        )
        if column is None:
            raise column_not_found(name.text, table, name.span, names.source, code=10002)
        if column.name in by_name:
            raise BindError(f'column "{column.name}" is named twice', span=name.span)
        by_name[column.name] = column
    return (*by_name.values(), *(c for c in dynamic if c.name not in by_name))


# ---- BY NAME


def check_by_name(names: Names, statement: AnyInsert) -> None:
    """UnsupportedStatementError for BY NAME in strict mode."""
    if statement.by_name is not None and names.around.settings.flag("acidsql.strict.hive"):
        raise UnsupportedStatementError(
            "INSERT .. BY NAME is not Hive SQL",
            hint="SET acidsql.strict.hive=false allows it.",
            span=statement.by_name.span,
        )


def _by_name(
    names: Names,
    table: Table,
    partition: BoundPartition | None,
    source: BoundQuery,
    span: Span,
) -> tuple[Column, ...]:
    """The columns that a query gives by their names; none where only Spark can tell these."""
    if source.names is None:
        return ()
    return columns_by_name(table, partition, source.names, names.source, span)


def _note_other_order(
    names: Names, table: Table, columns: tuple[Column, ...], source: BoundQuery, span: Span
) -> None:
    if source.names is not None and in_other_order(columns, source.names):
        names.around.warn(other_order(table, span))


def values(
    names: Names, table: Table, columns: tuple[Column, ...], source: ast.Values
) -> tuple[tuple[Column, ...], BoundRows | BoundQuery]:
    """The rows and the columns they give; plain rows also give the columns with a DEFAULT that were
    not named.
    """
    for row in source.rows:
        if len(row) != len(columns):
            extra = row[len(columns) :] or row  # where there are too many, these
            span = Span(extra[0].span.start, extra[-1].span.end) if row else source.span
            raise tables.wrong_column_count(table, columns, len(row), span)
    filled = tuple(
        c for c in table.columns if c not in columns and default_of(table, c) is not None
    )
    rest = [_stored(names, table, c, None) for c in filled]
    rows = [
        (*(_stored(names, table, c, cell) for c, cell in zip(columns, row, strict=True)), *rest)
        for row in source.rows
    ]
    if has_check(table) or any(value is COMPUTED for row in rows for value in row):
        return columns, computed_values(names, table, columns, source)
    for at, column in enumerate(columns):
        if column in table.partition_columns:
            for stored, cells in zip(rows, source.rows, strict=True):
                check_nameable(column, partition_text(stored[at]), cells[at].span)
    return (*columns, *filled), BoundRows(rows=tuple(rows))


def _stored(names: Names, table: Table, column: Column, cell: ast.Fragment | None) -> Any:
    """The value of a cell (None: of no cell), COMPUTED if an engine must tell it."""
    if cell is not None and not is_default(cell):
        return names.losses.stored(cell, column)
    try:
        return value_of(default_of(table, column) or "NULL", column.type)
    except NotHere:
        return COMPUTED


def computed_values(
    names: Names, table: Table, columns: tuple[Column, ...], source: ast.Values
) -> BoundQuery:
    """Rows that need an engine: each expression stands as the user wrote it, and is stored by
    itself.

    Without casts Spark would first bring a column's values to one type: 1.5 beside 'x' to text,
    beside 1.25 to another scale.
    """
    analysis = Analysis()
    names.parse_ahead(cell for row in source.rows for cell in row)
    legs: list[Piece] = []
    rows: list[tuple[BoundValue, ...]] = []
    for number, row in enumerate(source.rows):
        legs.append(" UNION ALL SELECT " if number else "SELECT ")
        bound = tuple(
            _computed_value(names, table, column, cell, analysis)
            for column, cell in zip(columns, row, strict=True)
        )
        for at, value in enumerate(bound):
            legs += [", " if at else "", *value.stored]
        rows.append(bound)
    local = understood(lambda: _trees(names, table, columns, source), source.span)
    query = names.bound_query(tuple(legs), analysis)
    return replace(query, local=local, values=tuple(rows))


def _computed_value(
    names: Names, table: Table, column: Column, cell: ast.Fragment, analysis: Analysis
) -> BoundValue:
    if is_default(cell):
        given: tuple[Piece, ...] = (default_sql(table, column, names.around.semantics.zone),)
    else:
        given = names.free_expression(cell, analysis)
    counts = not is_reported(names, cell) and may_lose(None, column.type)
    return BoundValue(stored=store_cast(given, column.type), given=given if counts else None)


def _trees(
    names: Names, table: Table, columns: tuple[Column, ...], source: ast.Values
) -> LocalValues:
    """The rows as trees, each value as its column stores it. NotHere."""
    semantics = names.around.semantics
    rows = [
        tuple(
            names.new_tree(cell, table, column) for column, cell in zip(columns, row, strict=True)
        )
        for row in source.rows
    ]
    reported = tuple(tuple(is_reported(names, cell) for cell in row) for row in source.rows)
    return stored_rows(rows, columns, semantics, source.span, reported)
