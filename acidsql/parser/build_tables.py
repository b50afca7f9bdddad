"""From skeleton to statement: databases, tables, views, and what shows or loads them."""

from __future__ import annotations

from typing import TypedDict

from acidsql.errors import ParseError, Span
from acidsql.parser import grammar
from acidsql.parser.build_rows import path, row_format
from acidsql.parser.grammar import Node, column_definition, table_constraint
from acidsql.parser.statements import (
    AdoptTable,
    AnalyzeTable,
    Assumption,
    AttachDatabase,
    AttachTable,
    ClusteredBy,
    ColumnDefinition,
    CreateDatabase,
    CreateTable,
    CreateTableLike,
    CreateView,
    Describe,
    DescribeChanges,
    DescribeDatabase,
    DescribeHealth,
    DetachDatabase,
    DetachTable,
    DropDatabase,
    DropTable,
    DropView,
    LoadData,
    Name,
    Path,
    RepairTable,
    ShowColumns,
    ShowCreateTable,
    ShowDatabases,
    ShowPartitions,
    ShowTableProperties,
    ShowTables,
    ShowViews,
    SkewedBy,
    StorageClasses,
    TruncateTable,
    UseDatabase,
    ViewColumn,
)

# ---- databases -----------------------------------------------------------------------------------


def create_database(node: Node, text: str) -> CreateDatabase:
    return CreateDatabase(
        span=node.span,
        name=grammar.first_name(node),
        if_not_exists=node.has("if_not_exists"),
        comment=grammar.clause_string(node, "comment"),
        location=grammar.clause_string(node, "location"),
        properties=grammar.properties(grammar.once(node, "database_properties")),
    )


def drop_database(node: Node, text: str) -> DropDatabase:
    return DropDatabase(
        span=node.span,
        name=grammar.first_name(node),
        if_exists=node.has("if_exists"),
        cascade=node.has("CASCADE"),
    )


def use_database(node: Node, text: str) -> UseDatabase:
    return UseDatabase(span=node.span, name=grammar.first_name(node))


def describe_database(node: Node, text: str) -> DescribeDatabase:
    return DescribeDatabase(
        span=node.span, name=grammar.first_name(node), extended=node.has("EXTENDED")
    )


def show_databases(node: Node, text: str) -> ShowDatabases:
    return ShowDatabases(span=node.span, pattern=grammar.string(node.node("pattern")))


# ---- CREATE TABLE --------------------------------------------------------------------------------


def create_table(node: Node, text: str) -> CreateTable:
    partitioned_by, partitioned_by_names = _partitioned_by(node, text)
    return CreateTable(
        span=node.span,
        name=grammar.table_name(node),
        columns=tuple(column_definition(child, text) for child in node.nodes("column_definition")),
        if_not_exists=node.has("if_not_exists"),
        transactional_word=node.has("TRANSACTIONAL"),
        or_replace=node.has("REPLACE"),
        external=node.has("EXTERNAL"),
        comment=grammar.clause_string(node, "comment"),
        clustered_by=_clustered_by(node),
        stored_as=_stored_as(node),
        location=grammar.clause_string(node, "location"),
        properties=grammar.properties(grammar.once(node, "table_properties")),
        row_format=row_format(node),
        temporary=node.has("TEMPORARY"),
        managed=node.has("MANAGED"),
        partitioned_by=partitioned_by,
        partitioned_by_names=partitioned_by_names,
        skewed_by=_skewed_by(node, text),
        storage_classes=_storage_classes(node),
        constraints=tuple(
            table_constraint(child, text) for child in node.nodes("table_constraint")
        ),
        query=grammar.query(node, text),
    )


_LIKE_CLAUSES = (
    "row_format",
    "delimited",
    "stored_as",
    "stored_by",
    "location",
    "table_properties",
)


def create_table_like(node: Node, text: str) -> CreateTableLike:
    name, like = grammar.table_names(node)
    for clause in node.nodes():
        if clause.rule not in ("table_name", "if_not_exists", *_LIKE_CLAUSES):
            raise ParseError(
                "CREATE TABLE .. LIKE takes this clause from the other table", span=clause.span
            )
    return CreateTableLike(
        span=node.span,
        name=name,
        like=like,
        if_not_exists=node.has("if_not_exists"),
        transactional_word=node.has("TRANSACTIONAL"),
        or_replace=node.has("REPLACE"),
        external=node.has("EXTERNAL"),
        temporary=node.has("TEMPORARY"),
        managed=node.has("MANAGED"),
        stored_as=_stored_as(node),
        row_format=row_format(node),
        storage_classes=_storage_classes(node),
        location=grammar.clause_string(node, "location"),
        properties=grammar.properties(grammar.once(node, "table_properties")),
    )


def _partitioned_by(node: Node, text: str) -> tuple[tuple[ColumnDefinition, ...], tuple[Name, ...]]:
    """``(ds STRING, ..)``, or the bare names of a CREATE TABLE AS."""
    clause = grammar.once(node, "partitioned_by")
    if clause is None:
        return (), ()
    definitions, names = (
        tuple(column_definition(c, text) for c in clause.nodes("column_definition")),
        grammar.names(clause),
    )
    if definitions and names:
        raise ParseError(
            "a partition column without a type stands beside one that has one", span=names[0].span
        )
    return definitions, names


def _clustered_by(node: Node) -> ClusteredBy | None:
    clause = grammar.once(node, "clustered_by")
    if clause is None:
        return None
    into = clause.node("into_buckets")
    assert into is not None
    return ClusteredBy(
        columns=grammar.columns(clause) or (),
        buckets=grammar.integer(grammar.terminal(into, "NUMBER")),
        span=clause.span,
        sorted_by=grammar.sort_keys(clause.node("sorted_by")),
    )


def _skewed_by(node: Node, text: str) -> SkewedBy | None:
    clause = grammar.once(node, "skewed_by")
    directories = grammar.once(node, "stored_as_directories")
    if clause is None:
        if directories is not None:
            raise ParseError("STORED AS DIRECTORIES wants SKEWED BY", span=directories.span)
        return None
    values = grammar.items(grammar.terminal(clause, "LIST"), text)
    return SkewedBy(
        span=clause.span,
        columns=grammar.columns(clause) or (),
        values=values,
        directories=directories is not None,
    )


def _stored_as(node: Node) -> Name | None:
    clause = grammar.once(node, "stored_as", "stored_by")
    return grammar.optional_name(clause) if clause and clause.rule == "stored_as" else None


def _storage_classes(node: Node) -> StorageClasses | None:
    clause = grammar.once(node, "stored_as", "stored_by")
    if clause is None or (clause.rule == "stored_as" and clause.has("NAME")):
        return None
    if clause.rule == "stored_by":
        handler = grammar.optional_name(clause)
        return StorageClasses(
            span=clause.span,
            handler=handler.text if handler else grammar.string(clause),
            properties=grammar.properties(clause),
        )
    input_format, output_format = clause.terminals("STRING")
    return StorageClasses(
        span=clause.span, input_format=str(input_format), output_format=str(output_format)
    )


# ---- other statements of tables and views --------------------------------------------------------


def drop_table(node: Node, text: str) -> DropTable:
    return DropTable(
        span=node.span,
        name=grammar.table_name(node),
        if_exists=node.has("if_exists"),
        purge=node.has("PURGE"),
    )


def create_view(node: Node, text: str) -> CreateView:
    columns = grammar.once(node, "view_columns")
    query = grammar.query(node, text)
    assert query is not None
    return CreateView(
        span=node.span,
        name=grammar.table_name(node),
        query=query,
        columns=(
            tuple(_view_column(column) for column in columns.nodes("view_column"))
            if columns
            else ()
        ),
        if_not_exists=node.has("if_not_exists"),
        or_replace=node.has("REPLACE"),
        comment=grammar.clause_string(node, "comment"),
        properties=grammar.properties(grammar.once(node, "table_properties")),
    )


def _view_column(node: Node) -> ViewColumn:
    return ViewColumn(name=grammar.first_name(node), comment=grammar.string(node.node("comment")))


def drop_view(node: Node, text: str) -> DropView:
    return DropView(span=node.span, name=grammar.table_name(node), if_exists=node.has("if_exists"))


def truncate_table(node: Node, text: str) -> TruncateTable:
    return TruncateTable(
        span=node.span, name=grammar.table_name(node), partition=grammar.partition(node)
    )


def show_tables(node: Node, text: str) -> ShowTables:
    return ShowTables(
        span=node.span,
        database=grammar.optional_name(node),
        pattern=grammar.string(node.node("pattern")),
    )


def show_views(node: Node, text: str) -> ShowViews:
    return ShowViews(
        span=node.span,
        database=grammar.optional_name(node),
        pattern=grammar.string(node.node("pattern")),
    )


def show_create_table(node: Node, text: str) -> ShowCreateTable:
    return ShowCreateTable(span=node.span, name=grammar.table_name(node))


def show_partitions(node: Node, text: str) -> ShowPartitions:
    return ShowPartitions(
        span=node.span,
        name=grammar.table_name(node),
        partition=grammar.partition(node),
        where=grammar.where(node),
        order_by=grammar.order_by(node),
        limit=grammar.limit(node),
    )


def show_table_properties(node: Node, text: str) -> ShowTableProperties:
    key = node.terminal("STRING")
    return ShowTableProperties(
        span=node.span, name=grammar.table_name(node), key=None if key is None else str(key)
    )


def show_columns(node: Node, text: str) -> ShowColumns:
    return ShowColumns(
        span=node.span,
        name=grammar.table_name(node),
        database=grammar.optional_name(node),
        pattern=grammar.string(node.node("pattern")),
    )


def describe(node: Node, text: str) -> Describe:
    return Describe(
        span=node.span,
        name=grammar.table_name(node),
        formatted=node.has("FORMATTED"),
        extended=node.has("EXTENDED"),
        column=grammar.optional_name(node),
        partition=grammar.partition(node),
    )


def describe_health(node: Node, text: str) -> DescribeHealth:
    return DescribeHealth(
        span=node.span, name=grammar.table_name(node), partition=grammar.partition(node)
    )


def describe_changes(node: Node, text: str) -> DescribeChanges:
    return DescribeChanges(span=node.span, name=grammar.table_name(node))


def load_data(node: Node, text: str) -> LoadData:
    target = node.node("load_target")
    assert target is not None
    return LoadData(
        span=node.span,
        path=str(grammar.terminal(node, "STRING")),
        target=grammar.table_name(target),
        local=node.has("LOCAL"),
        overwrite=target.has("OVERWRITE"),
        partition=grammar.partition(node),
    )


def analyze_table(node: Node, text: str) -> AnalyzeTable:
    columns = node.node("for_columns")
    return AnalyzeTable(
        span=node.span,
        name=grammar.table_name(node),
        partition=grammar.partition(node),
        columns=grammar.names(columns) if columns else None,
        noscan=node.has("NOSCAN"),
    )


def repair_table(node: Node, text: str) -> RepairTable:
    mode = node.node("repair_mode")
    return RepairTable(
        span=node.span,
        name=grammar.table_name(node),
        mode=str(mode.children[0]).upper() if mode else None,
        only_check=not node.has("REPAIR"),
    )


class _AttachClauses(TypedDict):
    """What tables and databases are attached with alike."""

    span: Span
    location: Path | None
    read_only: bool
    overlay: bool
    using: Path | None
    assumption: Assumption | None


def attach(node: Node, text: str) -> AttachTable | AttachDatabase:
    using = grammar.once(node, "using")
    access = list(node.nodes("access"))
    if len(access) > 1:
        raise ParseError(
            "READ ONLY or OVERLAY: a table is the one or the other", span=access[1].span
        )
    overlay = any(clause.has("OVERLAY") for clause in access)
    location = grammar.once(node, "attached_from")
    clauses: _AttachClauses = {
        "span": node.span,
        "location": None if location is None else path(location),
        "read_only": bool(access) and not overlay,
        "overlay": overlay,
        "using": None if using is None else path(using),
        "assumption": _assumption(grammar.once(node, "assume")),
    }
    database = node.node("attached_database")
    if database is not None:
        name, unless = grammar.first_name(database), database.has("if_not_exists")
        return AttachDatabase(name=name, if_not_exists=unless, **clauses)
    table = node.node("attached_table")
    assert table is not None
    by = table.node("attached_by")
    return AttachTable(
        name=grammar.table_name(table),
        if_not_exists=table.has("if_not_exists"),
        columns=_attached_columns(table, text),
        partitioned_by=() if by is None else _attached_columns(by, text),
        **clauses,
    )


def _attached_columns(node: Node, text: str) -> tuple[ColumnDefinition, ...]:
    listed = node.node("attached_columns")
    columns = listed.nodes("attached_column") if listed else ()
    return tuple(column_definition(column, text) for column in columns)


def _assumption(clause: Node | None) -> Assumption | None:
    if clause is None:
        return None
    listed = clause.node("write_ids")
    return Assumption(
        span=clause.span,
        write_ids=tuple(map(grammar.integer, listed.terminals("NUMBER")))
        if listed is not None
        else None,
        excepted=clause.has("EXCEPT"),
    )


def adopt_table(node: Node, text: str) -> AdoptTable:
    return AdoptTable(
        span=node.span,
        name=grammar.table_name(node),
        clustered_by=_clustered_by(node),
        not_clustered=grammar.once(node, "not_clustered") is not None,
        properties=grammar.properties(grammar.once(node, "table_properties")),
    )


def detach_table(node: Node, text: str) -> DetachTable:
    return DetachTable(
        span=node.span, name=grammar.table_name(node), if_exists=node.has("if_exists")
    )


def detach_database(node: Node, text: str) -> DetachDatabase:
    return DetachDatabase(
        span=node.span, name=grammar.first_name(node), if_exists=node.has("if_exists")
    )


BUILDERS = (
    create_database, drop_database, use_database, describe_database, show_databases, create_table,
    create_table_like, drop_table, create_view, drop_view, truncate_table, show_tables, show_views,
    show_create_table, show_partitions, show_table_properties, show_columns, describe,
    describe_health, describe_changes, load_data, analyze_table, repair_table, attach,
    adopt_table, detach_table, detach_database,
)  # fmt: skip
