"""The statements that read no table: DDL on the catalog and the file system, SHOW, DESCRIBE, SET."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from typing import TYPE_CHECKING, assert_never

from acidsql.catalog import describe
from acidsql.catalog.model import Table
from acidsql.errors import AlreadyExistsError, BindError, UnsupportedStatementError
from acidsql.planner.bound import BoundReset, BoundSet, BoundShowTransactions, SessionAction
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
from acidsql.result import Result, Stats
from acidsql.settings import show_value
from acidsql.spark.fileio import file_io
from acidsql.txn.manager import TxnState

if TYPE_CHECKING:
    from acidsql.session import Session


def run_catalog_command(session: Session, action: CatalogAction) -> Result:
    """Runs one DDL statement or look-up."""
    match action:
        case BoundCreateDatabase():
            return create_database(session, action)
        case BoundDropDatabase():
            return drop_database(session, action)
        case BoundUse():
            session.database = action.database
            return _done("USE")
        case BoundShowDatabases():
            return _names("SHOW DATABASES", "database_name", matching(session.store.list_databases(), action.pattern))
        case BoundCreateTable():
            return create_table(session, action)
        case BoundDropTable():
            return drop_table(session, action)
        case BoundShowTables():
            return _names("SHOW TABLES", "tab_name", matching(session.store.list_tables(action.database), action.pattern))
        case BoundDescribe():
            return describe_table(action)
        case BoundShowCreateTable():
            lines = describe.show_create(action.table, qualified=action.qualified)
            return _names("SHOW CREATE TABLE", "createtab_stmt", lines)
        case BoundUnbuilt():
            raise UnsupportedStatementError(f"{action.words} is not supported yet", span=action.span)
        case _:
            assert_never(action)


def run_session_command(session: Session, action: SessionAction) -> Result:
    """Runs a statement about settings or transactions."""
    match action:
        case BoundShowTransactions():
            return show_transactions(session)
        case BoundSet():
            return set_variable(session, action)
        case BoundReset():
            session.settings.reset(action.key)
            return _done("RESET")
        case _:
            assert_never(action)


def create_database(session: Session, action: BoundCreateDatabase) -> Result:
    try:
        session.store.create_database(action.database)
    except AlreadyExistsError:
        if not action.if_not_exists:
            raise
    return _done("CREATE DATABASE")


def drop_database(session: Session, action: BoundDropDatabase) -> Result:
    database = session.store.find_database(action.name)
    if database is not None:
        for table in session.store.drop_database(action.name, cascade=action.cascade):
            _delete_files(table)
        file_io(database.location).delete_tree(database.location)
        if session.database == action.name:
            session.database = "default"
    return _done("DROP DATABASE")


def create_table(session: Session, action: BoundCreateTable) -> Result:
    """A directory with files in it is never taken over: they would become rows of the new table."""
    if action.exists:
        return _done("CREATE TABLE")
    table = action.table
    io = file_io(table.location)
    if io.list_files(table.location):
        hint = "Move the files away; they may belong to a table that was dropped while its writer died."
        raise BindError(f'directory "{table.location}" of the new table is not empty', hint=hint)
    session.store.create_table(table)
    io.make_directory(table.location)
    return _done("CREATE TABLE")


def drop_table(session: Session, action: BoundDropTable) -> Result:
    if action.name is not None:
        _delete_files(session.store.drop_table(action.name))
    return _done("DROP TABLE")


def _delete_files(table: Table) -> None:
    file_io(table.location).delete_tree(table.location)


def describe_table(action: BoundDescribe) -> Result:
    names = ["col_name", "data_type", "comment"]
    if action.column is not None:
        column = action.column
        return Result.of_text(Stats(statement="DESCRIBE"), names, [[column.name, str(column.type), column.comment or ""]])
    rows = describe.describe_formatted(action.table) if action.formatted else describe.describe(action.table)
    return Result.of_text(Stats(statement="DESCRIBE"), names, rows)


def show_transactions(session: Session) -> Result:
    names = ["txnid", "state", "startedtime", "lastheartbeattime", "user", "host"]
    words = {TxnState.OPEN: "OPEN", TxnState.ABORTED: "ABORTED", TxnState.COMMITTED: "COMMITTED"}
    rows = [[str(t.txn_id), words[t.state], str(t.started), str(t.last_heartbeat), t.user, t.host] for t in session.store.list_txns()]
    return Result.of_text(Stats(statement="SHOW TRANSACTIONS"), names, rows)


def set_variable(session: Session, action: BoundSet) -> Result:
    """SET lists, SET k shows, SET k=v sets; ``hivevar:x`` are the variables of ${hivevar:x}."""
    if action.key is None:
        return _names("SET", "set", [f"{k}={show_value(v)}" for k, v in session.settings.items()])
    space, _, name = action.key.rpartition(":")
    if space == "hivevar":
        if action.value is not None:
            session.hive_variables[name] = action.value
            return _done("SET")
        value: str | None = session.hive_variables.get(name)
    else:
        name = name if space in ("hiveconf", "") else action.key
        if action.value is not None:
            session.settings.set(name, action.value)
            return _done("SET")
        found = session.settings.get(name)
        value = None if found is None else show_value(found)
    return _names("SET", "set", [f"{action.key} is undefined" if value is None else f"{action.key}={value}"])


def matching(names: Iterable[str], pattern: str | None) -> list[str]:
    """Hive's patterns: ``*`` (or LIKE's ``%``) for any characters, ``_`` or ``.`` for one, ``|`` between choices; any case."""
    if pattern is None:
        return list(names)
    choices = [p.strip().lower().replace("%", "*").replace(".", "?") for p in pattern.split("|")]
    return [n for n in names if any(fnmatch.fnmatchcase(n, c) for c in choices)]


def _done(statement: str) -> Result:
    return Result((), Stats(statement=statement))


def _names(statement: str, column: str, names: Iterable[str]) -> Result:
    return Result.of_text(Stats(statement=statement), [column], [[n] for n in names])
