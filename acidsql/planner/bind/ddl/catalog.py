"""Statements about the catalog: each to the module that knows its rules; databases and the short
ones are here.
"""

from __future__ import annotations

from typing import assert_never

from acidsql.catalog.attached import check_not_attached, is_overlay
from acidsql.catalog.model import Database, TableKind
from acidsql.errors import AlreadyExistsError, BindError
from acidsql.parser import statements as ast
from acidsql.planner.bind.bound import BoundInsert, BoundLoad
from acidsql.planner.bind.bound_catalog import (
    BoundCreateDatabase,
    BoundDescribeDatabase,
    BoundDropDatabase,
    BoundDropTable,
    BoundShowCreateTable,
    BoundShowDatabases,
    BoundShowTables,
    BoundShowViews,
    BoundUse,
    CatalogAction,
)
from acidsql.planner.bind.ddl.alter import bind_alter
from acidsql.planner.bind.ddl.analyze import bind_analyze
from acidsql.planner.bind.ddl.columns import after_word
from acidsql.planner.bind.ddl.create import (
    absolute,
    bind_create_table,
    bind_create_table_like,
    bind_replacing,
)
from acidsql.planner.bind.ddl.load import bind_load, bind_repair, bind_truncate
from acidsql.planner.bind.ddl.show import (
    bind_describe,
    bind_describe_health,
    bind_show_columns,
    bind_show_partitions,
    bind_show_table_properties,
)
from acidsql.planner.bind.ddl.view import bind_create_view, bind_drop_view
from acidsql.planner.bind.names import Names
from acidsql.planner.bind.tables import check_database_name


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
