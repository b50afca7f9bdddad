"""Connections to a PostgreSQL server, or to a pooler before it, its URL and signs of life on it:
the driver, the pool, and what a connection of the first kind is told before its first transaction.
"""

from __future__ import annotations

import os
import re
import selectors
import threading
from collections.abc import Collection
from contextlib import suppress
from functools import cache
from typing import Any
from urllib.parse import quote, quote_plus
from weakref import WeakSet

from sqlalchemy import URL, Dialect, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import QueuePool
from sqlalchemy.util import LRUCache

from acidsql.errors import MetastoreError
from acidsql.metastore.sql import Connection

# ---- URLs
#
# The URL of a PostgreSQL database: what it may say, and how it is shown without its secrets.
#
# ``postgresql+psycopg://user@host:port/database?sslmode=verify-full&..``: after the question mark
# stand connection options of libpq by their names. What the URL leaves out libpq takes from its
# own environment variables (PGPASSWORD, PGSSLMODE ..) and files (~/.pgpass, ~/.pg_service.conf).


DRIVER = "postgresql+psycopg"
_SCHEMES = ("postgresql", "postgres", DRIVER)
_SERVERS = re.compile(r"([^:/?]+://(?:[^/?@]*@)?)([^/?@]+,[^/?@]+)([/?].*)?")
_SECRET_OPTIONS = ("password", "sslpassword", "passfile", "oauth_client_secret", "scram_client_key")
_MASK = "***"
_HINT = f'It is of the form "{DRIVER}://user@host:5432/database?sslmode=verify-full".'


def parse_metastore(text: str) -> URL:
    """The parsed URL. MetastoreError, which does not repeat the text, for anything else."""
    try:
        url = _url_of(text.strip())
    except (ArgumentError, ValueError):
        # from None: the cause would quote the text, which may hold a password
        raise MetastoreError("the metastore is not the URL of a database", hint=_HINT) from None
    if url.drivername not in _SCHEMES:
        raise MetastoreError(
            f'a metastore of the kind "{url.drivername}" is not supported', hint=_HINT
        )
    return url.set(drivername=DRIVER)


def _url_of(text: str) -> URL:
    """The URL, also of several servers, as libpq writes them: ``//user@db1:5432,db2/database``."""
    match = _SERVERS.fullmatch(text)
    if match is None:
        return make_url(text)
    before, servers, rest = match.groups()
    hosts = [("host", server) for server in servers.split(",")]
    return make_url(f"{before}{rest or '/'}").update_query_pairs(hosts, append=True)


def has_several_servers(url: URL) -> bool:
    """Whether the URL names more than one."""
    hosts = url.query.get("host", ())
    return (not isinstance(hosts, str) and len(hosts) > 1) or "," in str(hosts)


def check_options(url: URL, known: Collection[str]) -> None:
    """MetastoreError for a connection option that is not ``known``."""
    for name in url.query:
        if name not in known:
            hint = "After the question mark stand connection options of libpq, such as sslmode."
            raise MetastoreError(
                f'"{name}" in the URL of the metastore is no connection option', hint=hint
            )


def shown(url: URL) -> str:
    """The URL as it may be printed."""
    masked = {name: _MASK for name in url.query if name in _SECRET_OPTIONS}
    return url.update_query_dict(masked).render_as_string(hide_password=True)


def without_secrets(text: str, url: URL) -> str:
    """``text`` with the secrets of the URL masked, should it quote any."""
    for secret in sorted(_secrets(url), key=len, reverse=True):
        for form in (secret, quote(secret, safe=""), quote_plus(secret)):
            text = text.replace(form, _MASK)
    return text


def _secrets(url: URL) -> set[str]:
    options = [url.query[name] for name in _SECRET_OPTIONS if name in url.query]
    texts = [part for option in options for part in _parts(option)]
    return {text for text in (*texts, str(url.password or "")) if text}


def _parts(option: str | tuple[str, ...]) -> tuple[str, ...]:
    return (option,) if isinstance(option, str) else option


# ---- connections


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


# ---- signs of life
#
# Signs of life of a process that has the store's write lock and does something else meanwhile,
# such as moving a directory: the server would take it for one that stands still.


class SignsOfLife:
    """Says something on each connection that it was given, until the transaction there ends, every
    ``seconds``: by a thread that stands still when its process does.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._begin()

    def _begin(self) -> None:
        self._owner = os.getpid()
        self._busy: WeakSet[Any] = WeakSet()
        self._lock = threading.Lock()
        self._given = threading.Event()
        self._thread: threading.Thread | None = None

    def give(self, connection: Connection) -> None:
        """``connection`` is in a transaction."""
        if self._owner != os.getpid():  # a child has neither the thread nor these connections
            self._begin()
        with self._lock:
            self._busy.add(connection.connection.dbapi_connection)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="acidsql-store-life", daemon=True
                )
                self._thread.start()
            self._given.set()

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            self._given.wait()
            pause.wait(self._seconds)
            with self._lock:
                busy = list(self._busy)
                if not busy:
                    self._given.clear()
            for driver in busy:
                self._say(driver)

    def _say(self, driver: Any) -> None:
        from psycopg.pq import TransactionStatus

        is_open = False
        with suppress(Exception):  # who works with the connection is told of an error itself
            if driver.info.transaction_status is TransactionStatus.INTRANS and not _has_news(
                driver
            ):
                driver.execute("SELECT 1")
            is_open = not driver.closed and driver.info.transaction_status in (
                TransactionStatus.INTRANS,
                TransactionStatus.ACTIVE,
            )
        if not is_open:
            with self._lock:
                self._busy.discard(driver)


def _has_news(driver: Any) -> bool:
    """Whether the server has said something meanwhile: why it has ended the transaction, which who
    works with the connection is to hear.
    """
    with selectors.DefaultSelector() as selector:
        selector.register(driver.pgconn.socket, selectors.EVENT_READ)
        return bool(selector.select(0))
