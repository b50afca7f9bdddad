"""One read-only transaction in a metastore's database: all that is asked in it is of one moment.
And which of Hive's tables can be attached, whatever tells of them.

Nothing is ever written there, and no lock is taken that Hive would wait for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import environ
from typing import Any

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.exc import DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from acidsql.attach.facts import PartitionFacts
from acidsql.attach.sources.urls import DatabaseUrl
from acidsql.catalog.model import Column, TableName
from acidsql.catalog.types import HiveType, parse_type
from acidsql.errors import BindError, MetastoreError
from acidsql.files.fileio import is_below, path_of, real_path
from acidsql.metastore.hive.authorizers import check_tells
from acidsql.metastore.stores.connections import without_secrets
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


# ---- tables that can be attached
#
# Which tables of Hive can be attached, and what of them is kept, whatever tells of them: a
# metastore's database or its service.


CATALOG = "hive"
VIEWS = {"VIRTUAL_VIEW": "a view", "MATERIALIZED_VIEW": "a materialized view"}
NAME_IT = "USING '..?table=sales.orders' says which table of Hive it is."
_STORED_AS_ORC = "Tables stored as ORC are attached."


def attachable_location(
    name: TableName,
    kind: str | None,
    location: str | None,
    input_format: str | None,
    serde: str | None,
) -> str:
    """Where a table lies, as files are opened by it. BindError for one that cannot be attached."""
    if kind in VIEWS:
        raise BindError(f"{name} is {VIEWS[kind]} in Hive", hint="Attach the tables that it reads.")
    if not location:
        raise BindError(f"{name} has no location in Hive")
    if not _is_orc(input_format) or not (serde or "").endswith(".OrcSerde"):
        format_name = input_format or serde or "a storage handler"
        raise BindError(f"{name} is read with {format_name}", hint=_STORED_AS_ORC)
    return path_of(location).rstrip("/")


def hive_column(table: TableName, name: str, type_name: str, comment: str | None) -> Column:
    """BindError for a type that is not read."""
    return Column(name=name.lower(), type=_type(table, name, type_name), comment=comment or None)


def _type(table: TableName, name: str, type_name: str) -> HiveType:
    try:
        return parse_type(type_name)
    except BindError as error:
        raise BindError(
            f'column "{name}" of {table} has a type that cannot be read: {type_name}',
            detail=error.message,
        ) from None


def hive_partition(
    table: TableName, home: str, values: Sequence[str], location: str, input_format: str | None
) -> PartitionFacts:
    """A partition of the table at ``home``. BindError for one in another format."""
    if not _is_orc(input_format):
        raise BindError(
            f"partition ({', '.join(values)}) of {table} is read with {input_format}",
            hint=_STORED_AS_ORC,
        )
    path = path_of(location).rstrip("/")
    return PartitionFacts(
        values=tuple(values),
        path=path[len(home) :].lstrip("/") if is_below(path, home) else path,
    )


def spellings(location: str) -> list[str]:
    """The ways in which a metastore may have a location written."""
    path = path_of(location)
    forms = {location, path}
    if path.startswith("/"):
        for one in (path, real_path(path)):
            forms |= {one, f"file:{one}", f"file://{one}"}
    else:
        scheme, _, rest = path.partition("://")
        if scheme.lower() in ("s3", "s3a", "s3n"):
            forms |= {f"{one}://{rest}" for one in ("s3", "s3a", "s3n")}
    return sorted({*forms, *(f"{one}/" for one in forms)})


def _is_orc(input_format: str | None) -> bool:
    return (input_format or "").endswith(".OrcInputFormat")
