"""Connections to a PostgreSQL server, or to a pooler before it: the driver, the pool, and what a
connection of the first kind is told before its first transaction.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

from sqlalchemy import URL, Dialect, Engine, create_engine
from sqlalchemy.pool import QueuePool
from sqlalchemy.util import LRUCache

from acidsql.errors import MetastoreError
from acidsql.metastore.stores.urls import DRIVER, has_several_servers

CONNECTIONS_KEPT = 2
"""What a session needs most often: its own connection, and one for its heartbeats."""
CONNECTIONS_MOST = 10
RECYCLED_AFTER_SECONDS = 1800
OLDEST_SERVER = 120000

_DEFAULTS = {
    "connect_timeout": "10",
    "application_name": "acidsql",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
"""Options of libpq where the URL says nothing: a host that is gone is noticed within a minute."""

# The server, too, must notice that a host is gone that holds the write lock.
_CONFIGURE = """
SET tcp_keepalives_idle = 30;
SET tcp_keepalives_interval = 10;
SET tcp_keepalives_count = 3
"""
_PROCESS = "SELECT pg_backend_pid()"
WITH_TRANSACTION_TIMEOUT = 170000
"""The first server that has the setting."""


_compiled: LRUCache[Any, Any] = LRUCache(500)
"""The SQL of the statements that any store of this process has run."""

_preparing = threading.Lock()


@cache
def psycopg_module() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise MetastoreError(
            f"a metastore in PostgreSQL needs the package psycopg: {error}",
            hint="pip install 'acidsql[postgres]' brings it.",
        ) from error
    return psycopg


@cache
def options_of_libpq() -> frozenset[str]:
    options = psycopg_module().pq.Conninfo.get_defaults()
    return frozenset(option.keyword.decode() for option in options)


@cache
def _cursor_class() -> type:
    """A cursor for several statements at once, which ends at what the last of them returned."""

    class LastResult(psycopg_module().Cursor):  # type: ignore[misc]
        def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
            if params is None:
                options["prepare"] = False  # the server prepares single statements only
            super().execute(query, params, **options)
            while self.nextset():
                pass
            return self

    return LastResult


@cache
def _dialect() -> Dialect:
    """The one dialect for all stores: what was compiled for one dialect object is found for no
    other.
    """
    return create_engine(f"{DRIVER}://", module=psycopg_module(), use_native_hstore=False).dialect


def prepare_dialect(engine: Engine) -> None:
    """Has the dialect ask the first server that this process meets what it can do."""
    with _preparing:
        if _dialect().server_version_info is None:
            with engine.connect() as connection:
                engine.dialect.initialize(connection)


def make_engine(url: URL) -> Engine:
    dialect = _dialect()

    def connect() -> Any:
        return _connect(dialect, url)

    pool = QueuePool(
        connect,
        dialect=dialect,
        pool_size=CONNECTIONS_KEPT,
        max_overflow=CONNECTIONS_MOST - CONNECTIONS_KEPT,
        recycle=RECYCLED_AFTER_SECONDS,
    )
    return Engine(pool, dialect, url, execution_options={"compiled_cache": _compiled})


def _connect(dialect: Dialect, url: URL) -> Any:
    psycopg = psycopg_module()
    _, options = dialect.create_connect_args(url)
    given = {
        **_DEFAULTS,
        **({"target_session_attrs": "read-write"} if has_several_servers(url) else {}),
        **options,
        "client_encoding": "utf8",
        "autocommit": True,  # transactions begin where a store says so
        "cursor_factory": _cursor_class(),
    }
    connection = psycopg.connect(**given)
    try:
        version = connection.info.server_version
        encoding = connection.info.parameter_status("server_encoding")
        if version < OLDEST_SERVER:
            raise MetastoreError(
                f"the metastore's server is PostgreSQL {version // 10000}; it must be"
                f" {OLDEST_SERVER // 10000} or newer"
            )
        if encoding != "UTF8":
            raise MetastoreError(
                f"the metastore's database has the encoding {encoding}",
                hint="It must be UTF8: CREATE DATABASE .. ENCODING 'UTF8' TEMPLATE template0.",
            )
        if connection.execute(_PROCESS).fetchone()[0] == connection.info.backend_pid:
            connection.execute(_CONFIGURE)
        else:
            # a pooler is in between, which may give each transaction another process: nothing may
            # be kept in one
            connection.prepare_threshold = None
    except BaseException:
        connection.close()
        raise
    return connection
