"""The store in a PostgreSQL database, for the processes of several hosts.

A write transaction is READ COMMITTED and begins by locking the one row of VERSION, as Hive's
TxnHandler does with rows of its own (SELECT .. FOR UPDATE): so there is one writer at a time, and
each of its statements sees all that was committed before. A read is one REPEATABLE READ
transaction. The server's clock decides who is late.

A connection that turns out dead when a transaction begins is replaced, as nothing has been asked of
it yet. One that is lost later ends its transaction, which the server rolls back; one that is lost
at COMMIT leaves open what became of it, and nothing is repeated.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from sqlalchemy import inspect
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from acidsql.errors import MetastoreError
from acidsql.metastore.sql import Connection, Table, insert, select
from acidsql.metastore.store import PATIENCE_SECONDS, Clock, Store
from acidsql.metastore.stores.connections import (
    WITH_TRANSACTION_TIMEOUT,
    SignsOfLife,
    check_options,
    make_engine,
    options_of_libpq,
    parse_metastore,
    prepare_dialect,
    psycopg_module,
    shown,
    without_secrets,
)
from acidsql.metastore.stores.database_file import (
    DIRECTORY,
    FILE,
    MARKER,
    OWNER_ONLY,
    Marker,
    read_marker,
    write_marker,
)
from acidsql.metastore.tables import METASTORE_DB_PROPERTIES, VERSION

WAREHOUSE_PROPERTY = "acidsql.warehouse"
ID_PROPERTY = "acidsql.id"

_PAUSES = (0.0, 0.2, 0.8, 2.0)
"""Seconds before each new try to begin, where a connection was lost."""
_NO_PARAMETERS = {"no_parameters": True}
_STATE = "acidsql"
"""Key of what a transaction learns at its beginning: the store's version (one that writes), and the
time.
"""

_NOW = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
# Each transaction says by itself what it relies on: a pooler may give it any process of the server,
# and what that is told must not outlive the transaction. How long one may take is for acidsql to
# say, whatever is set for its user; and nobody may turn off that a commit waits for the disk: an id
# that was given out must never be given again.
_UNLIMITED = (
    "SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = 0; {newer}"
)
_NEWER = "SET LOCAL transaction_timeout = 0; "
_READ = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {_UNLIMITED} SELECT NULL, {_NOW}"
_VERSION_ROW = '"VERSION" WHERE "VER_ID" = 1'
_LOCK = f"SELECT 1 FROM {_VERSION_ROW} FOR UPDATE"
# the second look sees what was committed while the first one waited, and the clock of now
_WRITE = (
    f"BEGIN ISOLATION LEVEL READ COMMITTED; {_UNLIMITED}"
    "{wait}{setting}"
    f"{_LOCK};"
    " {limit}"
    f' SELECT "SCHEMA_VERSION", {_NOW}'
    f" FROM {_VERSION_ROW}"
)
_DURABLE = (
    "SELECT set_config('synchronous_commit', 'on', true)"
    " WHERE current_setting('synchronous_commit') = 'off'; "
)
_BRIEF = "SET LOCAL synchronous_commit = off; "
# before there are tables, there is no row to lock
_CREATE = (
    f"BEGIN ISOLATION LEVEL READ COMMITTED; {_UNLIMITED}"
    "{wait}{setting}"
    "SELECT pg_advisory_xact_lock(hashtext('acidsql'), hashtext(current_schema())); {limit}"
    f" SELECT NULL, {_NOW}"
)
_PROPERTIES = select(
    METASTORE_DB_PROPERTIES.c.PROPERTY_KEY, METASTORE_DB_PROPERTIES.c.PROPERTY_VALUE
)

_WAIT = "SET LOCAL lock_timeout = {wait}; "
_LIMIT = (
    "SET LOCAL idle_in_transaction_session_timeout = {limit};"
    " SET LOCAL statement_timeout = {limit};"
)
"""In milliseconds: the server ends a process that has others wait and says nothing."""
_BUSY = ("55P03", "57014", "25P03", "25P04")
"""The SQLSTATE of who waited too long for a lock, and of who was ended in a statement or between
two. Nothing that the transaction did is left.
"""
_READ_ONLY, _CONNECTION = "25006", "08"
_SHUTDOWN = ("57P01", "57P02", "57P03")
"""The SQLSTATE of a server that is a standby, the class of those of connections, and those of a
server that stops or starts.
"""
_LOST = "The connection was lost before the end; nothing was changed."
_HINTS = (
    (
        "lock timeout",
        "Another process has been writing to it for longer than acidsql.store.patience; see what"
        " holds it (pg_stat_activity).",
    ),
    (
        "timeout",
        "This process stood still for longer than acidsql.store.patience allows while all others"
        " waited; nothing was changed. Run the statement again.",
    ),
    (
        "password",
        "The password comes from the URL, $PGPASSWORD, or ~/.pgpass (with mode 0600).",
    ),
    (
        "server does not support SSL",
        "sslmode in the URL asks for TLS; the server has to be set up for it.",
    ),
    (
        "certificate",
        "sslrootcert in the URL names the file with the certificates to trust; with"
        " sslmode=verify-full the server's must be for the host of the URL.",
    ),
    ("FATAL: database", "Have it made: CREATE DATABASE .. ENCODING 'UTF8'."),
    ("Connection refused", "See whether the server runs, and host and port of the URL."),
    ("No such file or directory", "See whether the server runs, and host and port of the URL."),
    ("too many clients", "Raise max_connections of the server, or use a pooler in session mode."),
    (
        "permission denied",
        "Its user must be able to make tables in the schema, and to read and write those there.",
    ),
    ("read-only transaction", "The server is a standby: target_session_attrs=read-write helps."),
    ("terminating connection", _LOST),
    ("closed the connection", _LOST),
    ("connection is lost", _LOST),
    ('relation "', "The database is damaged, or is no acidsql metastore; restore it."),
)


class PostgreSQLStore(Store):
    """The metastore in the default schema of a database; ``metastore``: its URL.

    ``tied``: it is refused for another warehouse than its own, and a new one becomes that of
    ``warehouse``. ``mode``: of the file in the warehouse that says so. ``patience_seconds``: how
    long another writer is waited for, and how long this process may be one without a sign of life,
    about; None where its one transaction takes as long as it takes.
    """

    hints = _HINTS
    errors = (SQLAlchemyError,)
    one_host = False

    def __init__(
        self,
        warehouse: str,
        metastore: str,
        *,
        mode: int = OWNER_ONLY,
        clock: Clock | None = None,
        tied: bool = True,
        patience_seconds: float | None = None,
    ) -> None:
        self._url = parse_metastore(metastore)
        check_options(self._url, options_of_libpq())
        super().__init__(warehouse, shown(self._url), clock)
        self._mode = mode
        self._tied = tied
        self._engine = make_engine(self._url)
        patience = max(2, int((patience_seconds or PATIENCE_SECONDS) * 1000))  # 0 is none to it
        self._wait = _WAIT.format(wait=patience)
        self._limit = "" if patience_seconds is None else _LIMIT.format(limit=patience // 2)
        self._signs = None if patience_seconds is None else SignsOfLife(patience_seconds / 8)

    @property
    def url(self) -> str:
        return self._url.render_as_string(hide_password=False)

    def drop_connections(self) -> None:
        self._engine.dispose()

    def now(self, connection: Connection) -> int:
        return super().now(connection) if self._clock else int(connection.info[_STATE][1])

    def _reader(self) -> Connection:
        return self._begun(_READ)

    def _writer(self, *, durable: bool) -> Connection:
        setting = _DURABLE if durable else _BRIEF
        text = _CREATE if self._version is None else _WRITE
        text = text.format(wait=self._wait, setting=setting, limit=self._limit, newer="{newer}")
        connection = self._begun(text)
        if self._signs is not None:
            self._signs.give(connection)
        return connection

    def _version_now(self, connection: Connection) -> str | None:
        version: str | None = connection.info[_STATE][0]
        return version

    def _begun(self, text: str) -> Connection:
        """A connection on which the statements ``text`` began a transaction; what the last of them
        returned is kept with it. A lost connection is replaced.
        """
        pauses = list(_PAUSES)
        while True:
            connection: Connection | None = None
            try:
                prepare_dialect(self._engine)
                connection = self._engine.connect()
                done = connection.exec_driver_sql(
                    text.format(newer=_newer(connection)), execution_options=_NO_PARAMETERS
                )
                connection.info[_STATE] = done.one_or_none() if done.returns_rows else None
                return connection
            except BaseException as error:
                if connection is not None:
                    connection.close()
                if not pauses or not self._was_lost(error):
                    raise
            time.sleep(pauses.pop(0))

    def _was_lost(self, error: BaseException) -> bool:
        """Whether a new connection may do: the server is known to have been there."""
        if not isinstance(error, DBAPIError):
            return False
        state = getattr(error.orig, "sqlstate", None)
        if state == _READ_ONLY:  # another server has its part by now
            self.drop_connections()
            return True
        refused = self._version is not None and isinstance(
            error.orig, psycopg_module().OperationalError
        )
        return error.connection_invalidated or (refused and state is None)

    def _is_gone(self, error: BaseException | None) -> bool:
        if self._version is None or not isinstance(error, DBAPIError):
            return False
        state = getattr(error.orig, "sqlstate", None) or ""
        return self._was_lost(error) or state.startswith(_CONNECTION) or state in _SHUTDOWN

    def _is_busy(self, error: BaseException | None) -> bool:
        cause = error.orig if isinstance(error, DBAPIError) else error
        return getattr(cause, "sqlstate", None) in _BUSY

    def _check_whole(self, connection: Connection) -> None:
        driver: Any = connection.connection.dbapi_connection
        if driver.info.transaction_status == psycopg_module().pq.TransactionStatus.INERROR:
            raise MetastoreError(f'a statement of a change of the metastore "{self.name}" failed')

    def _keep_writers_out(self, connection: Connection) -> None:
        if inspect(connection).has_table(VERSION.name):
            connection.exec_driver_sql(_LOCK)

    def highest_key(self, connection: Connection, table: Table) -> int:
        row = connection.exec_driver_sql(f"SELECT last_value, is_called FROM {_sequence(table)}")
        last, is_called = row.one()
        return int(last) if is_called else 0

    def set_highest_key(self, connection: Connection, table: Table, key: int) -> None:
        if key:
            connection.exec_driver_sql(f"SELECT setval('{_sequence(table)}', {key})")

    def tie(self, connection: Connection) -> None:
        self._remember(connection)

    def settle(self) -> None:
        with self.read() as connection:
            marker = Marker(metastore=self.name, id=_properties(connection)[ID_PROPERTY])
        write_marker(self.warehouse, marker, self._mode)

    def _bring_up_to_date(self) -> None:
        super()._bring_up_to_date()
        if not self._tied:
            return
        with self.read() as connection:
            properties = _properties(connection)
        if WAREHOUSE_PROPERTY not in properties:
            with self.write() as connection:
                properties = _properties(connection)
                if WAREHOUSE_PROPERTY not in properties:
                    self._claim(connection)
                    return
        self._check_warehouse(properties)

    def _claim(self, connection: Connection) -> None:
        """Ties a new store to the warehouse."""
        marker = read_marker(self.warehouse)
        if marker is not None:
            raise MetastoreError(
                f'the metastore of the warehouse "{self.warehouse}" is "{marker.metastore}", and'
                f' "{self.name}" has no tables of it',
                hint="Name that one, or restore it from a backup if it is lost; if it never was"
                f' used, remove the file "{DIRECTORY}/{MARKER}".',
            )
        if has_file(self.warehouse):
            raise MetastoreError(
                f'the warehouse "{self.warehouse}" has a metastore, the file'
                f' "{DIRECTORY}/{FILE}" in it',
                hint="acidsql store copy DIRECTORY URL moves it into the database.",
            )
        marker = Marker(metastore=self.name, id=self._remember(connection))
        write_marker(self.warehouse, marker, self._mode)

    def _remember(self, connection: Connection) -> str:
        """Stores which warehouse it is for. Returns the id that the marker there must have."""
        rows = {WAREHOUSE_PROPERTY: self.warehouse, ID_PROPERTY: uuid4().hex}
        connection.execute(
            insert(METASTORE_DB_PROPERTIES),
            [{"PROPERTY_KEY": key, "PROPERTY_VALUE": value} for key, value in rows.items()],
        )
        return rows[ID_PROPERTY]

    def _check_warehouse(self, properties: dict[str, str]) -> None:
        """MetastoreError if the store belongs to another warehouse, or the directory to another
        store.
        """
        own = properties[WAREHOUSE_PROPERTY]
        if own != self.warehouse:
            raise MetastoreError(
                f'the metastore "{self.name}" is that of the warehouse "{own}", not of'
                f' "{self.warehouse}"',
                hint=f"Name that one: --warehouse {own}.",
            )
        marker = read_marker(self.warehouse)
        if marker is None:
            raise MetastoreError(
                f'the warehouse "{self.warehouse}" has no file "{DIRECTORY}/{MARKER}", which the'
                f' metastore "{self.name}" made there',
                hint="Mount the file system of the warehouse on this host. If acidsql store copy"
                " was interrupted, run it again.",
            )
        if marker.id != properties.get(ID_PROPERTY):
            raise MetastoreError(
                f'the metastore of the warehouse "{self.warehouse}" is another one:'
                f' "{marker.metastore}"'
            )

    def _reason(self, error: BaseException | None) -> str:
        error = error.orig if isinstance(error, DBAPIError) else error
        primary = getattr(getattr(error, "diag", None), "message_primary", None)
        return without_secrets(" ".join(str(primary or error).split()), self._url)


def find_warehouse(metastore: str) -> str:
    """The warehouse whose metastore the database of this URL is, or was before it moved."""
    store = PostgreSQLStore("", metastore, tied=False)
    try:
        with store.read() as connection:
            has_any = inspect(connection).has_table(METASTORE_DB_PROPERTIES.name)
            properties = _properties(connection) if has_any else {}
    finally:
        store.close()
    if WAREHOUSE_PROPERTY not in properties:
        raise MetastoreError(f'the database "{store.name}" is no warehouse\'s metastore')
    return properties[WAREHOUSE_PROPERTY]


def _newer(connection: Connection) -> str:
    """What a new transaction says to newer servers alone."""
    driver: Any = connection.connection.dbapi_connection
    version = driver.info.server_version
    return _NEWER if version >= WITH_TRANSACTION_TIMEOUT else ""


def _sequence(table: Table) -> str:
    """What PostgreSQL calls the sequence that numbers the rows of a table."""
    (column,) = table.primary_key.columns
    return f'"{table.name}_{column.name}_seq"'


def _properties(connection: Connection) -> dict[str, str]:
    return {row.PROPERTY_KEY: row.PROPERTY_VALUE for row in connection.execute(_PROPERTIES)}


def has_file(warehouse: str) -> bool:
    """Whether a file that is no empty one is the warehouse's metastore, or was."""
    path = Path(warehouse, DIRECTORY, FILE)
    return path.exists() and path.stat().st_size > 0
