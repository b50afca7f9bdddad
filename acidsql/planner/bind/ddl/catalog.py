"""Statements about the catalog: each to the module that knows its rules; databases and the short
ones are here.
"""

from __future__ import annotations

from typing import assert_never

from acidsql.catalog.attached import check_no_overlay, check_not_attached, is_overlay
from acidsql.catalog.model import Column, Database, FileFormat, Partition, Table, TableKind
from acidsql.catalog.types import ArrayType, MapType, StructType
from acidsql.errors import (
    AlreadyExistsError,
    BindError,
    ColumnNotFoundError,
    Span,
    UnsupportedStatementError,
)
from acidsql.parser import statements as ast
from acidsql.planner.bind.bound import BoundInsert, BoundLoad, BoundPartition, BoundRows
from acidsql.planner.bind.bound_catalog import (
    BoundAnalyze,
    BoundCreateDatabase,
    BoundDescribeDatabase,
    BoundDropDatabase,
    BoundDropTable,
    BoundRepairTable,
    BoundShowCreateTable,
    BoundShowDatabases,
    BoundShowTables,
    BoundShowViews,
    BoundUse,
    CatalogAction,
)
from acidsql.planner.bind.ddl.alter import bind_alter
from acidsql.planner.bind.ddl.columns import after_word
from acidsql.planner.bind.ddl.create import (
    absolute,
    bind_create_table,
    bind_create_table_like,
    bind_replacing,
)
from acidsql.planner.bind.ddl.show import (
    bind_describe,
    bind_describe_health,
    bind_show_columns,
    bind_show_partitions,
    bind_show_table_properties,
)
from acidsql.planner.bind.ddl.view import bind_create_view, bind_drop_view
from acidsql.planner.bind.local.measures import measuring
from acidsql.planner.bind.names import Names
from acidsql.planner.bind.partitions import (
    Spec,
    columns_named,
    existing,
    matching,
    not_full,
    shown,
    static_spec,
)
from acidsql.planner.bind.tables import check_database_name, did_you_mean, unreadable

# ---- statements on files
#
# TRUNCATE, LOAD DATA and MSCK: statements on a table's files.


def bind_truncate(names: Names, statement: ast.TruncateTable) -> BoundInsert:
    """An overwriting by no rows, which readers of older snapshots survive."""
    table = names.table(statement.name)
    check_not_attached(table, statement.name.span)
    if not table.owns_files:
        raise BindError(
            f"Cannot truncate non-managed table {table.name}.", code=10146, span=statement.name.span
        )
    names.check_manager(table, statement.name.span)
    return BoundInsert(
        table=table,
        columns=table.columns,
        source=BoundRows(rows=()),
        span=statement.name.span,
        overwrite=True,
        truncate=True,
        truncated=tuple(_truncated(names, table, statement).items()),
    )


def _truncated(names: Names, table: Table, statement: ast.TruncateTable) -> Spec:
    """What the partitions to empty have in common."""
    if statement.partition is None:
        return {}
    if not table.partition_columns:
        raise BindError(
            f"Partition spec for non partitioned table {table.name}.",
            code=10148,
            span=statement.partition.span,
        )
    spec = static_spec(names, table, statement.partition)
    if len(spec) == len(table.partition_columns):
        values = tuple(spec[column.name] for column in table.partition_columns)
        if all(partition.values != values for partition in names.around.own_partitions(table.name)):
            existing(names, table, statement.partition)
    return spec


def bind_load(names: Names, statement: ast.LoadData) -> BoundLoad:
    table = names.table(statement.target)
    span = statement.target.span
    if table.kind is TableKind.VIEW:
        raise BindError(
            f"A view cannot be used as target table for LOAD or INSERT: {table.name}",
            code=10090,
            span=span,
        )
    check_not_attached(table, span)
    if table.skew is not None and table.skew.directories:
        raise BindError(
            "A stored-as-directories table cannot be used as target for LOAD", code=10195, span=span
        )
    names.check_manager(table, span)
    spec: Spec = {}
    if statement.partition is not None:
        spec = static_spec(names, table, statement.partition)
        if len(spec) < len(table.partition_columns):
            raise not_full(table, spec, statement.partition.span)
    elif table.partition_columns:
        message = "Need to specify partition columns because the destination table is partitioned"
        hint = f"Write PARTITION ({', '.join(c.name + '=..' for c in table.partition_columns)})."
        raise BindError(message, code=10062, hint=hint, span=span)
    path_span = after_word(names.source, statement.span, "INPATH")
    return BoundLoad(
        table=table,
        path=_source_path(statement, path_span),
        local=statement.local,
        span=path_span,
        overwrite=statement.overwrite,
        partition=BoundPartition(static=tuple(spec.items()), dynamic=()) if spec else None,
    )


def _source_path(statement: ast.LoadData, span: Span) -> str:
    scheme, separator, _ = statement.path.partition(":/")
    if statement.local and separator and scheme.lower() != "file":
        message = (
            f"Path is not legal ''{statement.path}'': Source file system should be \"file\" if"
            ' "local" is specified'
        )
        raise BindError(message, code=10028, span=span)
    if not statement.local and not separator and not statement.path.startswith("/"):
        hint = (
            "Write it in full. Only LOAD DATA LOCAL takes paths that begin where the program runs."
        )
        raise BindError(
            f"Invalid path ''{statement.path}'': it is not absolute", hint=hint, span=span
        )
    return statement.path


def bind_repair(names: Names, statement: ast.RepairTable) -> BoundRepairTable:
    """Which directories there are is found out when the statement runs."""
    table = names.table(statement.name)
    if table.kind is TableKind.VIEW:
        raise BindError(f"MSCK is not supported for views: {table.name}", span=statement.name.span)
    check_not_attached(table, statement.name.span)
    check_no_overlay(table, "its partitions are those it was attached with", statement.name.span)
    mode = "compare" if statement.only_check else (statement.mode or "ADD").lower()
    return BoundRepairTable(
        table=table,
        add=mode in ("add", "sync"),
        drop=mode in ("drop", "sync"),
        now=names.around.now,
        span=statement.name.span,
        words="MSCK TABLE" if statement.only_check else "MSCK REPAIR TABLE",
        facts=(("table", str(table.name)), ("partitions", mode)),
    )


# ---- ANALYZE TABLE
#
# ANALYZE TABLE: which partitions and columns are measured. Hive: ColumnStatsSemanticAnalyzer,
# BasicStatsTask.


EVERY_ROW = "all rows"
FOOTERS = "footers of files and ids of deletes; all rows where these are many"
SIZES = "sizes and footers of files"


def bind_analyze(names: Names, statement: ast.AnalyzeTable) -> BoundAnalyze:
    table = names.fresh_table(statement.name)
    if table.kind is TableKind.VIEW:
        raise BindError("ANALYZE is not supported for views", code=10091, span=statement.name.span)
    names.check_manager(table, statement.name.span)
    facts = [("table", str(table.name))]
    partitions: tuple[Partition, ...] | None = None
    if table.partition_columns or statement.partition is not None:
        spec, partitions = _partitions(names, table, statement.partition)
        if statement.partition is not None:
            facts.append(("partitions", f"{len(partitions)} with {shown(spec)}" if spec else "all"))
    columns: tuple[Column, ...] = ()
    if statement.columns is not None:
        columns = _columns(table, statement.columns)
        facts.append(("columns", ", ".join(column.name for column in columns)))
    counts = statement.columns is None and table.file_format is FileFormat.ORC
    reads = SIZES if statement.noscan else FOOTERS if counts else EVERY_ROW
    if (what := unreadable(table)) is not None and not statement.noscan:
        raise UnsupportedStatementError(
            f"reading or writing {what} ({table.name}) is not supported yet",
            span=statement.name.span,
        )
    return BoundAnalyze(
        table=table,
        partitions=partitions,
        columns=columns,
        noscan=statement.noscan,
        words="ANALYZE TABLE",
        facts=(*facts, ("reads", reads)),
        measuring=measuring(table, columns, names.around.semantics) if reads == EVERY_ROW else None,
    )


def _partitions(
    names: Names, table: Table, spec: ast.PartitionSpec | None
) -> tuple[Spec, tuple[Partition, ...]]:
    """``PARTITION (ds)`` means every value. A spec that names one partition must name
    one there is.
    """
    if spec is None:
        return {}, matching(names, table, {})
    known = [c.name for c in table.partition_columns]
    for item in spec.items:
        name = item.name.text.lower()
        if table.partition_columns and name not in known:
            message = f"Invalid partitioning key specified in ANALYZE statement : {item.name.text}"
            raise BindError(
                message, code=30005, hint=did_you_mean(name, known), span=item.name.span
            )
    columns_named(names, table, spec)
    given = tuple(item for item in spec.items if item.value is not None)
    values = static_spec(names, table, ast.PartitionSpec(span=spec.span, items=given))
    partitions = matching(names, table, values)
    if len(values) == len(known) and not partitions:
        message = f"Invalid partitioning key/value specified in ANALYZE statement : {shown(values)}"
        raise BindError(message, code=30007, span=spec.span)
    return values, partitions


def _columns(table: Table, named: tuple[ast.Name, ...]) -> tuple[Column, ...]:
    """The named columns that have primitive types; of others Hive keeps no statistics."""
    known = [c.name for c in table.columns]
    for name in named:
        wanted = name.text.lower()
        if any(c.name == wanted for c in table.partition_columns):
            message = (
                "Column statistics are not supported for partition columns [Try removing column"
                f" '{name.text}' from column list]"
            )
            raise BindError(message, code=30012, span=name.span)
        if wanted not in known:
            message = (
                f"Invalid column reference '{name.text}' (possible columns are"
                f" [{', '.join(known)}])"
            )
            raise ColumnNotFoundError(
                message, code=10002, hint=did_you_mean(wanted, known), span=name.span
            )
    asked = {name.text.lower() for name in named}
    return tuple(
        c
        for c in table.columns
        if (c.name in asked or not named)
        and not isinstance(c.type, ArrayType | MapType | StructType)
    )


# ---- catalog


def bind_catalog(  # noqa: C901  (one arm for each statement)
    names: Names, statement: ast.CatalogStatement
) -> CatalogAction | BoundInsert | BoundLoad:
    """What a statement about the catalog asks for."""
    match statement:
        case (
            ast.CreateDatabase()
            | ast.DropDatabase()
            | ast.UseDatabase()
            | ast.DescribeDatabase()
            | ast.ShowDatabases()
        ):
            return bind_database(names, statement)
        case ast.CreateTable() | ast.CreateTableLike():
            new = (
                bind_create_table(names, statement)
                if isinstance(statement, ast.CreateTable)
                else bind_create_table_like(names, statement)
            )
            return bind_replacing(names, statement, new) if statement.or_replace else new
        case ast.DropTable():
            return bind_drop_table(names, statement)
        case ast.CreateView():
            return bind_create_view(names, statement)
        case ast.DropView():
            return bind_drop_view(names, statement)
        case ast.TruncateTable():
            return bind_truncate(names, statement)
        case ast.LoadData():
            return bind_load(names, statement)
        case ast.AnalyzeTable():
            return bind_analyze(names, statement)
        case ast.RepairTable():
            return bind_repair(names, statement)
        case ast.AttachTable():
            from acidsql.planner.bind.ddl.attach import bind_attach  # few statements attach

            return bind_attach(names, statement)
        case ast.AttachDatabase():
            from acidsql.planner.bind.ddl.attach import bind_attach_database

            return bind_attach_database(names, statement)
        case ast.AdoptTable():
            from acidsql.planner.bind.ddl.attach import bind_adopt

            return bind_adopt(names, statement)
        case ast.DetachTable():
            from acidsql.planner.bind.ddl.attach import bind_detach

            return bind_detach(names, statement)
        case ast.DetachDatabase():
            from acidsql.planner.bind.ddl.attach import bind_detach_database

            return bind_detach_database(names, statement)
        case ast.DescribeChanges():
            from acidsql.planner.bind.ddl.attach import bind_describe_changes

            return bind_describe_changes(names, statement)
        case (
            ast.ShowTables() | ast.ShowViews() | ast.ShowCreateTable() | ast.ShowPartitions()
            | ast.ShowTableProperties()
            | ast.ShowColumns() | ast.Describe() | ast.DescribeHealth()
        ):  # fmt: skip
            return bind_show(names, statement)
        case _:
            return bind_alter(names, statement)


DatabaseStatement = (
    ast.CreateDatabase
    | ast.DropDatabase
    | ast.UseDatabase
    | ast.DescribeDatabase
    | ast.ShowDatabases
)
ShowStatement = (
    ast.ShowTables
    | ast.ShowViews
    | ast.ShowCreateTable
    | ast.ShowPartitions
    | ast.ShowTableProperties
    | ast.ShowColumns
    | ast.Describe
    | ast.DescribeHealth
)


def bind_database(names: Names, statement: DatabaseStatement) -> CatalogAction:
    match statement:
        case ast.CreateDatabase():
            return bind_create_database(names, statement)
        case ast.DropDatabase():
            return bind_drop_database(names, statement)
        case ast.UseDatabase():
            return BoundUse(database=names.database(statement.name))
        case ast.ShowDatabases():
            return BoundShowDatabases(pattern=statement.pattern)
        case ast.DescribeDatabase():
            database = names.catalog.find_database(names.database(statement.name))
            assert database is not None
            return BoundDescribeDatabase(database=database, extended=statement.extended)
        case _:
            assert_never(statement)


def bind_show(names: Names, statement: ShowStatement) -> CatalogAction:
    match statement:
        case ast.ShowTables():
            return BoundShowTables(
                database=_database(names, statement.database), pattern=statement.pattern
            )
        case ast.ShowViews():
            return BoundShowViews(
                database=_database(names, statement.database), pattern=statement.pattern
            )
        case ast.ShowCreateTable():
            return BoundShowCreateTable(
                table=names.table(statement.name), qualified=len(statement.name.parts) > 1
            )
        case ast.ShowPartitions():
            return bind_show_partitions(names, statement)
        case ast.ShowTableProperties():
            return bind_show_table_properties(names, statement)
        case ast.ShowColumns():
            return bind_show_columns(names, statement)
        case ast.Describe():
            return bind_describe(names, statement)
        case ast.DescribeHealth():
            return bind_describe_health(names, statement)
        case _:
            assert_never(statement)


def bind_create_database(names: Names, statement: ast.CreateDatabase) -> BoundCreateDatabase:
    name = statement.name.text.lower()
    check_database_name(name, statement.name.span)
    if not statement.if_not_exists and names.catalog.find_database(name) is not None:
        raise AlreadyExistsError(f"Database {name} already exists", span=statement.name.span)
    location, span = "", None
    if statement.location is not None:
        span = after_word(names.source, statement.span, "LOCATION")
        location = absolute(statement.location, span)
    properties = {p.key: p.value for p in statement.properties}
    database = Database(
        name=name,
        location=location,
        comment=statement.comment,
        owner=names.around.user,
        properties=properties,
    )
    return BoundCreateDatabase(database=database, if_not_exists=statement.if_not_exists, span=span)


def bind_drop_database(names: Names, statement: ast.DropDatabase) -> BoundDropDatabase:
    name = statement.name.text.lower()
    if name == "default":
        raise BindError("Can not drop default database", span=statement.name.span)
    if not statement.if_exists:
        names.database(statement.name)
    return BoundDropDatabase(name=name, if_exists=statement.if_exists, cascade=statement.cascade)


def bind_drop_table(names: Names, statement: ast.DropTable) -> BoundDropTable:
    """A view is no table: IF EXISTS passes over it, the setting does not (Hive:
    DropTableOperation).
    """
    name = names.table_name(statement.name)
    table = names.catalog.find_table(name)
    if table is None:
        if names.may_be_missing(statement.if_exists):
            note = None if statement.if_exists else names.nothing_dropped("table", name)
            return BoundDropTable(name=None, note=note)
        raise names.not_found(name, statement.name.span)
    if table.kind is TableKind.VIEW:
        if statement.if_exists:
            return BoundDropTable(name=None)
        raise BindError(
            "Cannot drop a view with DROP TABLE", hint="Use DROP VIEW.", span=statement.name.span
        )
    check_not_attached(table, statement.name.span)
    if is_overlay(table):
        raise BindError(
            f"table {table.name} is an overlay",
            hint="DETACH TABLE throws its changes away; the rows of others stay where they are.",
            span=statement.name.span,
        )
    return BoundDropTable(name=name)


def _database(names: Names, name: ast.Name | None) -> str:
    return names.around.database if name is None else names.database(name)
