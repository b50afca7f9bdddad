"""One read-only transaction in a metastore's database: all that is asked in it is of one moment.

Nothing is ever written there, and no lock is taken that Hive would wait for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import environ
from typing import Any

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.exc import DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from acidsql.attach.sources.urls import DatabaseUrl
from acidsql.errors import MetastoreError
from acidsql.metastore.hive.authorizers import check_tells
from acidsql.metastore.stores.urls import without_secrets
from acidsql.settings import Settings

CONNECT_SECONDS = 10
STATEMENT_SECONDS = 30


@contextmanager
def asking(source: DatabaseUrl, settings: Settings) -> Iterator[Connection]:
    """A connection in a repeatable-read transaction that cannot write. MetastoreError, without the
    password, for whatever the database or the driver says; NotSupportedError: see ``check_tells``.
    """
    check_tells(settings, f"of the metastore {source.shown}")
    try:
        with _connected(source) as connection:
            yield connection
    except (SQLAlchemyError, ImportError, TypeError, ValueError) as error:
        raise _failed(source, error) from None  # the cause may hold the password


@contextmanager
def _connected(source: DatabaseUrl) -> Iterator[Connection]:
    engine = create_engine(
        source.url, poolclass=NullPool, connect_args=_options(source), hide_parameters=True
    )
    options: dict[str, Any] = {"isolation_level": "REPEATABLE READ"}
    if source.is_mysql:
        event.listen(engine, "connect", _never_write)
    else:
        options["postgresql_readonly"] = True
    try:
        with engine.connect().execution_options(**options) as connection:
            yield connection
    finally:
        engine.dispose()


def _options(source: DatabaseUrl) -> dict[str, Any]:
    """What the driver is told where the URL says nothing: nobody waits for long."""
    if not source.is_mysql:
        limits = f"-c statement_timeout={STATEMENT_SECONDS}s -c lock_timeout={STATEMENT_SECONDS}s"
        given = {
            "connect_timeout": str(CONNECT_SECONDS),
            "application_name": "acidsql attach",
            "options": limits,
        }
        return {name: value for name, value in given.items() if name not in source.url.query}
    options: dict[str, Any] = {
        "connect_timeout": CONNECT_SECONDS,
        "read_timeout": STATEMENT_SECONDS,
        "charset": "utf8mb4",
    }
    if source.url.password is None and "MYSQL_PWD" in environ:
        options["password"] = environ["MYSQL_PWD"]
    return {name: value for name, value in options.items() if name not in source.url.query}


def _never_write(connection: Any, record: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET SESSION TRANSACTION READ ONLY")
    connection.rollback()


def _failed(source: DatabaseUrl, error: Exception) -> MetastoreError:
    if isinstance(error, ImportError | NoSuchModuleError):
        extra = "mysql" if source.is_mysql else "postgres"
        return MetastoreError(
            f"the driver for {source.shown} is not installed",
            hint=f"pip install 'acidsql[{extra}]' brings it.",
        )
    reason = str(error.orig if isinstance(error, DBAPIError) else error).strip()
    reason = without_secrets(" ".join(reason.split()), source.url)
    if environ.get("MYSQL_PWD"):
        reason = reason.replace(environ["MYSQL_PWD"], "***")
    asks = any(word in reason.lower() for word in ("password", "access denied"))
    return MetastoreError(
        f"cannot ask the metastore {source.shown}: {reason}",
        hint=f"A password is not kept: {source.password_from} has it for whoever reads."
        if asks
        else None,
    )
