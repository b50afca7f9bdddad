"""Databases, tables, SHOW and DESCRIBE: names checked against the catalog, definitions turned into its objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from acidsql.catalog.model import Database
from acidsql.errors import AlreadyExistsError, BindError, DatabaseNotFoundError
from acidsql.parser import statements as ast
from acidsql.planner import bind_table
from acidsql.planner.bound_catalog import (
    BoundCreateDatabase,
    BoundCreateTable,
    BoundDescribe,
    BoundDropDatabase,
    BoundDropTable,
    BoundShowCreateTable,
    BoundShowDatabases,
    BoundShowTables,
    BoundUnbuilt,
    BoundUse,
    CatalogAction,
)
from acidsql.planner.columns import column_not_found
from acidsql.planner.names import Names


def bind_catalog(names: Names, statement: ast.CatalogStatement) -> CatalogAction:
    """What a statement about the catalog asks for."""
    match statement:
        case ast.CreateDatabase():
            return bind_create_database(names, statement)
        case ast.DropDatabase():
            return bind_drop_database(names, statement)
        case ast.UseDatabase():
            return BoundUse(database=names.database(statement.name))
        case ast.ShowDatabases():
            return BoundShowDatabases(pattern=statement.pattern)
        case ast.CreateTable():
            return bind_create_table(names, statement)
        case ast.DropTable():
            return bind_drop_table(names, statement)
        case ast.ShowTables():
            database = names.database(statement.database) if statement.database else names.around.database
            return BoundShowTables(database=database, pattern=statement.pattern)
        case ast.Describe():
            return bind_describe(names, statement)
        case ast.ShowCreateTable():
            return BoundShowCreateTable(table=names.table(statement.name), qualified=len(statement.name.parts) > 1)
        case _:
            return BoundUnbuilt(words=type(statement).__name__, span=statement.span)


def bind_create_database(names: Names, statement: ast.CreateDatabase) -> BoundCreateDatabase:
    name = statement.name.text.lower()
    bind_table.check_name(name, statement.name.span)
    if not statement.if_not_exists and names.catalog.find_database(name) is not None:
        raise AlreadyExistsError(f"Database {name} already exists", span=statement.name.span)
    properties = _properties(statement.properties)
    database = Database(
        name=name, location=statement.location or "", comment=statement.comment, owner=names.around.user, properties=properties
    )
    return BoundCreateDatabase(database=database, if_not_exists=statement.if_not_exists)


def bind_drop_database(names: Names, statement: ast.DropDatabase) -> BoundDropDatabase:
    name = statement.name.text.lower()
    if name == "default":
        raise BindError("Can not drop default database", span=statement.name.span)
    if not statement.if_exists:
        names.database(statement.name)
    return BoundDropDatabase(name=name, if_exists=statement.if_exists, cascade=statement.cascade)


def bind_create_table(names: Names, statement: ast.CreateTable) -> BoundCreateTable:
    name = names.table_name(statement.name)
    bind_table.check_name(name.table, statement.name.span)
    database = names.catalog.find_database(name.database)
    if database is None:
        raise DatabaseNotFoundError(f"Database does not exist: {name.database}", code=10072, span=statement.name.span)
    existing = names.catalog.find_table(name)
    if existing is not None and not statement.if_not_exists:
        raise AlreadyExistsError(f"Table {name} already exists", span=statement.name.span)
    table = bind_table.new_table(statement, name, database, names.around.user, names.around.now)
    return BoundCreateTable(table=existing or table, exists=existing is not None)


def bind_drop_table(names: Names, statement: ast.DropTable) -> BoundDropTable:
    name = names.table_name(statement.name)
    if names.catalog.find_table(name) is None:
        if statement.if_exists:
            return BoundDropTable(name=None)
        raise names.not_found(name, statement.name.span)
    return BoundDropTable(name=name)


def bind_describe(names: Names, statement: ast.Describe) -> BoundDescribe:
    table = names.table(statement.name)
    column = table.column(statement.column.text) if statement.column else None
    if statement.column and column is None:
        raise column_not_found(statement.column.text, table, statement.column.span, names.source, code=10002)
    return BoundDescribe(table=table, formatted=statement.formatted, column=column)


def _properties(properties: Iterable[ast.Property]) -> Mapping[str, Any]:
    return {p.key: p.value for p in properties}
