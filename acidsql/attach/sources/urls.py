"""The URLs of a metastore's database (``postgresql://hive@host/metastore?table=sales.orders``) and,
below, of its service.

Behind the question mark stand ``table``, which says Hive's name of the table, and options of the
driver. The password is used and never shown or kept: what is on record has none, and who
reads later takes it from PGPASSWORD or ~/.pgpass, or from MYSQL_PWD.
"""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qsl

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from acidsql.catalog.attached import DATABASES
from acidsql.catalog.model import TableName
from acidsql.errors import BindError
from acidsql.lazy import dataclass
from acidsql.metastore.hive.reaching import parse_servers, shown_servers

_DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}
_SECRETS = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "passwd")
_TABLE = "table"
_FORM = 'It is of the form "postgresql://user@host:5432/database?table=sales.orders".'


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseUrl:
    """``url``: as it is connected to, with its password. ``table``: Hive's name of the table."""

    url: URL
    table: TableName | None

    @property
    def is_mysql(self) -> bool:
        return self.url.drivername == _DRIVERS["mysql"]

    @property
    def has_password(self) -> bool:
        return self.url.password is not None or any(one in self.url.query for one in _SECRETS)

    @property
    def password_from(self) -> str:
        """Where the driver finds a password that the URL does not have."""
        return "MYSQL_PWD" if self.is_mysql else "PGPASSWORD or ~/.pgpass"

    @property
    def shown(self) -> str:
        """The URL without secrets, and without the table."""
        dialect = self.url.drivername.partition("+")[0]
        url = self.url.difference_update_query(_SECRETS)._replace(password=None)
        return url.set(drivername=dialect).render_as_string()

    def recorded(self, table: TableName) -> str:
        """The URL as it is kept of an attached table: without secrets, with Hive's name."""
        separator = "&" if "?" in self.shown else "?"
        return f"{self.shown}{separator}{_TABLE}={table}"


def parse_database_url(text: str) -> DatabaseUrl:
    """BindError, which does not repeat the text, for what is no such URL."""
    try:
        url = make_url(text.strip())
    except (ArgumentError, ValueError):
        # from None: the cause would quote the text, which may hold a password
        raise BindError("the source is not the URL of a database", hint=_FORM) from None
    dialect = DATABASES.get(url.drivername)
    if dialect is None or not url.database:
        raise BindError("the source is not the URL of a database", hint=_FORM)
    given = url.query.get(_TABLE)
    table = None if given is None else hive_name(given)
    url = url.difference_update_query([_TABLE]).set(drivername=_DRIVERS[dialect])
    return DatabaseUrl(url=url, table=table)


def hive_name(given: str | tuple[str, ...]) -> TableName:
    """What ``table`` says: a name with its database. BindError for anything else."""
    parts = given.lower().split(".") if isinstance(given, str) else ()
    if len(parts) != 2 or not all(parts):
        raise BindError(
            "table in the source is not the name of one",
            hint="It is Hive's, with its database: ?table=sales.orders",
        )
    return TableName(*parts)


# ---- a whole database

_DATABASE = "database"
_ONE_DATABASE = "It names one of Hive's databases: ?database=sales"


def parse_metastore_url(text: str) -> tuple[DatabaseUrl, str | None]:
    """The source of a whole database, ``postgresql://hive@host/metastore?database=sales``, and the
    database of Hive that it names. BindError as above.
    """
    source = parse_database_url(text)
    given = source.url.query.get(_DATABASE)
    if source.table is not None:
        raise BindError("the source names a table", hint=_ONE_DATABASE)
    url = source.url.difference_update_query([_DATABASE])
    return replace(source, url=url), None if given is None else hive_database_name(given)


def hive_database_name(given: str | tuple[str, ...]) -> str:
    """What ``database`` says. BindError for anything but one name."""
    if not isinstance(given, str) or not given or "." in given:
        raise BindError("database in the source is not the name of one", hint=_ONE_DATABASE)
    return given.lower()


# ---- a service
#
# The URL of a metastore's service: ``thrift://a:9083,b:9083?table=sales.orders``.
#
# Several servers stand before one database. Behind the question mark stand ``table``, which says
# Hive's name of the table, and ``framed=true`` for servers with
# ``hive.metastore.thrift.framed.transport.enabled``.


_SERVICE_FORM = 'It is of the form "thrift://host:9083,host2:9083?table=sales.orders".'
_SWITCH = {"true": True, "false": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceUrl:
    """``servers``: host and port of each. ``table``: Hive's name of the table."""

    servers: tuple[tuple[str, int], ...]
    framed: bool
    table: TableName | None

    @property
    def has_password(self) -> bool:
        return False

    @property
    def password_from(self) -> str:
        return ""

    @property
    def shown(self) -> str:
        """The URL without the table."""
        return shown_servers(self.servers, framed=self.framed)

    def recorded(self, table: TableName) -> str:
        """The URL as it is kept of an attached table, with Hive's name."""
        return f"{self.shown}{'&' if self.framed else '?'}table={table}"


def parse_service_url(text: str) -> ServiceUrl:
    """BindError, which does not repeat the text, for what is no such URL."""
    _, _, rest = text.strip().partition("://")
    listed, _, query = rest.partition("?")
    servers = parse_servers(listed)
    if servers is None:
        raise BindError("the source is not the URL of a metastore", hint=_SERVICE_FORM)
    options = _options(query)
    framed, table = options.get("framed", "false").lower(), options.get("table")
    if framed not in _SWITCH:
        raise BindError('"framed" in the source is true or false', hint=_SERVICE_FORM)
    return ServiceUrl(
        servers=servers,
        framed=_SWITCH[framed],
        table=None if table is None else hive_name(table),
    )


def _options(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise BindError("the source is not the URL of a metastore", hint=_SERVICE_FORM) from None
    options = dict(pairs)
    if len(options) < len(pairs) or not options.keys() <= {"table", "framed"}:
        raise BindError(
            'the source has other options than "table" and "framed"', hint=_SERVICE_FORM
        )
    return options
