"""The URL of a PostgreSQL database: what it may say, and how it is shown without its secrets.

``postgresql+psycopg://user@host:port/database?sslmode=verify-full&..``: after the question mark
stand connection options of libpq by their names. What the URL leaves out libpq takes from its own
environment variables (PGPASSWORD, PGSSLMODE ..) and files (~/.pgpass, ~/.pg_service.conf).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import quote, quote_plus

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from acidsql.errors import MetastoreError

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
