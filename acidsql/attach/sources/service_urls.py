"""The URL of a metastore's service: ``thrift://a:9083,b:9083?table=sales.orders``.

Several servers stand before one database. Behind the question mark stand ``table``, which says
Hive's name of the table, and ``framed=true`` for servers with
``hive.metastore.thrift.framed.transport.enabled``.
"""

from __future__ import annotations

from urllib.parse import parse_qsl

from acidsql.attach.sources.urls import hive_name
from acidsql.catalog.model import TableName
from acidsql.errors import BindError
from acidsql.lazy_dataclass import dataclass
from acidsql.metastore.hive.urls import parse_servers, shown_servers

_FORM = 'It is of the form "thrift://host:9083,host2:9083?table=sales.orders".'
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
        raise BindError("the source is not the URL of a metastore", hint=_FORM)
    options = _options(query)
    framed, table = options.get("framed", "false").lower(), options.get("table")
    if framed not in _SWITCH:
        raise BindError('"framed" in the source is true or false', hint=_FORM)
    return ServiceUrl(
        servers=servers,
        framed=_SWITCH[framed],
        table=None if table is None else hive_name(table),
    )


def _options(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise BindError("the source is not the URL of a metastore", hint=_FORM) from None
    options = dict(pairs)
    if len(options) < len(pairs) or not options.keys() <= {"table", "framed"}:
        raise BindError('the source has other options than "table" and "framed"', hint=_FORM)
    return options
