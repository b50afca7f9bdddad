"""The servers of a metastore, as ``hive.metastore.uris`` names them:
``thrift://a:9083,thrift://b:9083``, or shorter ``thrift://a,b``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from acidsql.errors import MetastoreError

SCHEME = "thrift://"
DEFAULT_PORT = 9083
_SERVER = re.compile(r"(?:thrift://)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::([0-9]{1,5}))?", re.I)
_FRAMED = {"": False, "framed=false": False, "framed=true": True}
_FORM = f'It is of the form "{SCHEME}host:{DEFAULT_PORT},{SCHEME}host2:{DEFAULT_PORT}".'

Servers = tuple[tuple[str, int], ...]


def parse_service(text: str) -> tuple[Servers, bool]:
    """Host and port of each server, and whether messages are framed (``?framed=true``).
    MetastoreError for what is no such URL.
    """
    listed, _, option = text.strip().partition("?")
    servers, framed = parse_servers(listed), _FRAMED.get(option.lower())
    if servers is None or framed is None:
        raise MetastoreError("the metastore is not the URL of a Hive metastore", hint=_FORM)
    return servers, framed


def parse_servers(listed: str) -> Servers | None:
    """Host and port of each server of a list; None for what is none."""
    servers = tuple(map(_server, listed.split(",")))
    return None if None in servers else tuple(one for one in servers if one is not None)


def shown_servers(servers: Sequence[tuple[str, int]], *, framed: bool) -> str:
    """The URL of servers."""
    listed = ",".join(
        f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in servers
    )
    return f"{SCHEME}{listed}{'?framed=true' if framed else ''}"


def _server(text: str) -> tuple[str, int] | None:
    match = _SERVER.fullmatch(text.strip())
    port = DEFAULT_PORT if match is None or match[2] is None else int(match[2])
    return None if match is None or not 0 < port < 65536 else (match[1].strip("[]"), port)
