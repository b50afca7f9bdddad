"""The errors of a catalog, whichever store keeps it."""

from __future__ import annotations

from acidsql.catalog.model import DEFAULT_DATABASE, TableName
from acidsql.errors import (
    AlreadyExistsError,
    BindError,
    DatabaseNotFoundError,
    TableNotFoundError,
    WriteConflictError,
)

INVALID_TABLE = 10001
DATABASE_DOES_NOT_EXIST = 10072


def no_database(name: str) -> DatabaseNotFoundError:
    return DatabaseNotFoundError(f'database "{name}" does not exist', code=DATABASE_DOES_NOT_EXIST)


def default_database_stays() -> BindError:
    return BindError(f'database "{DEFAULT_DATABASE}" cannot be dropped')


def not_empty(name: str, tables: int) -> BindError:
    return BindError(
        f'database "{name}" is not empty',
        detail=f"it has {tables} table(s)",
        hint="DROP DATABASE .. CASCADE drops them too.",
    )


def no_table(name: TableName) -> TableNotFoundError:
    return TableNotFoundError(f'table "{name}" does not exist', code=INVALID_TABLE)


def table_exists(name: TableName) -> AlreadyExistsError:
    return AlreadyExistsError(f'table "{name}" already exists')


def changed_meanwhile(name: TableName) -> WriteConflictError:
    return WriteConflictError(
        f'table "{name}" was changed by another session meanwhile',
        hint="Run the statement again: it will see the other session's change.",
    )


def other_partition_columns(name: TableName) -> WriteConflictError:
    return WriteConflictError(
        f'table "{name}" has other partition columns', hint="Run the statement again."
    )
