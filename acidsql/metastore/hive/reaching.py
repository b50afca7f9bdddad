"""How the servers of a metastore are reached, as Hive's settings say it: TLS, SASL, HTTP, frames.
Both who works on a metastore and who attaches its tables connect so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from acidsql.errors import MetastoreError, NotSupportedError, ProgrammingError
from acidsql.lazy import dataclass
from acidsql.metastore.hive.authentication.sasl import Protection
from acidsql.metastore.hive.channels import Channel, FramedChannel, PlainChannel
from acidsql.metastore.hive.sockets import Wire, open_wire
from acidsql.settings import Settings, find_setting

if TYPE_CHECKING:
    from acidsql.metastore.hive.authentication.login import Login, SaslLogin


# ---- Hive's own files of settings
#
# Hive's and Hadoop's own files of settings: ``hive-site.xml`` in $HIVE_CONF_DIR and ``core-
# site.xml`` in $HADOOP_CONF_DIR, of which only the settings are read that are asked for. No other
# place reads the two variables. Hadoop: Configuration.


_FILES = (("HADOOP_CONF_DIR", "core-site.xml"), ("HIVE_CONF_DIR", "hive-site.xml"))
"""The later one counts."""


def site_values(names: Iterable[str]) -> dict[str, str]:
    """The values that the site's files give to settings, by name; {} where no variable names a
    directory. MetastoreError for a file that cannot be read.
    """
    wanted, values = set(names), dict[str, str]()
    for variable, name in _FILES:
        directory = os.environ.get(variable)
        if directory and (path := Path(directory, name)).is_file():
            for key, value in _properties(path):
                setting = find_setting(key)
                if setting is not None and setting.name in wanted:
                    values[setting.name] = _whole(value, key, path)
    return values


def _properties(path: Path) -> Iterator[tuple[str, str]]:
    from xml.etree import ElementTree

    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise MetastoreError(f'cannot read "{path}": {reason}') from error
    for one in root.iter("property"):
        yield (one.findtext("name") or "").strip(), (one.findtext("value") or "").strip()


def _whole(value: str, name: str, path: Path) -> str:
    """The value. MetastoreError for one that is made of others, which Hadoop would look up."""
    if "${" in value:
        raise MetastoreError(
            f'"{name}" in "{path}" is made of other settings, which is not understood here',
            hint=f"Set {name} in the session.",
        )
    return value


# ---- reaching


_USE_SSL = "hive.metastore.use.SSL"
_TRUST_STORE = "hive.metastore.truststore.path"
_SASL = "hive.metastore.sasl.enabled"
_AUTH_MODE = "metastore.client.auth.mode"
_PRINCIPAL = "hive.metastore.kerberos.principal"
_SIGNATURE = "hive.metastore.token.signature"
_PROTECTION = "hadoop.rpc.protection"
_USER = "metastore.client.plain.username"
_MODE = "metastore.client.thrift.transport.mode"
_PATH = "metastore.client.thrift.http.path"
_HEADERS = "metastore.client.http.additional.headers"
_FRAMED = "hive.metastore.thrift.framed.transport.enabled"
_COMPACT = "hive.metastore.thrift.compact.protocol.enabled"
_OWN_PRINCIPAL = "acidsql.kerberos.principal"
_KEYTAB = "acidsql.kerberos.keytab"
_PASSWORD_FILE = "acidsql.metastore.password.file"
_JWT_FILE = "acidsql.metastore.jwt.file"
SETTINGS = (
    *(_USE_SSL, _TRUST_STORE, _SASL, _AUTH_MODE, _PRINCIPAL, _SIGNATURE, _PROTECTION, _USER, _MODE),
    *(_PATH, _HEADERS, _FRAMED, _COMPACT, _OWN_PRINCIPAL, _KEYTAB, _PASSWORD_FILE, _JWT_FILE),
)
"""The settings that say how a metastore is reached."""
_PROTECTIONS = {
    "authentication": Protection.NONE,
    "integrity": Protection.INTEGRITY,
    "privacy": Protection.PRIVACY,
}
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HTTP_PATH = re.compile(r"/[A-Za-z0-9/._~!$&'()*+,;=:@%-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Http:
    """``headers``: more of them."""

    path: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How servers are reached. ``trust_store``: the file of whom TLS trusts, "" for the system's;
    None without TLS. ``login``: None where the metastore believes who we say we are. It holds no
    secrets, but for headers that are said to be sent.
    """

    framed: bool = False
    trust_store: str | None = None
    login: Login | None = None
    http: Http | None = None

    def user(self, user: str) -> str:
        """Whom the metastore acts for; ``user`` where it believes us."""
        if self.login is None:
            return user
        from acidsql.metastore.hive.authentication.login import name_of

        return name_of(self.login, user)


def access_of(settings: Settings, *, framed: bool = False) -> Access:
    """How a session reaches a metastore: by what it has set, else by Hive's and Hadoop's own files
    of settings. ``framed``: what the URL says. NotSupportedError for what is not spoken here.
    """
    given = _with_site(settings)
    mode = given.text(_MODE).lower()
    if mode not in ("binary", "http"):
        raise ProgrammingError(f'setting "{_MODE}" is "{mode}", which is neither binary nor http')
    if given.flag(_COMPACT):
        raise NotSupportedError(f"Thrift's compact protocol is not spoken here ({_COMPACT})")
    login = _login(given)
    http = _http(given) if mode == "http" else None
    framed = (framed or given.flag(_FRAMED)) and http is None
    if framed and login is not None:
        raise NotSupportedError(f"frames and SASL at once are not spoken here ({_FRAMED})")
    return Access(
        framed=framed,
        trust_store=given.text(_TRUST_STORE) if given.flag(_USE_SSL) else None,
        login=login,
        http=http,
    )


def open_channel(host: str, port: int, access: Access, *, user: str, seconds: float) -> Channel:
    """A channel to a server, which knows who is there unless it believes that. OSError and
    WireError if it cannot be reached so; MetastoreError for what is missing here.
    """
    tls = None
    if access.trust_store is not None:
        from acidsql.metastore.hive.sockets import trusting

        tls = trusting(access.trust_store)
    wire = open_wire(host, port, tls, seconds)
    try:
        return _channel(wire, host, port, access, user, seconds)
    except BaseException:
        wire.close()
        raise


def _channel(
    wire: Wire, host: str, port: int, access: Access, user: str, seconds: float
) -> Channel:
    if access.http is not None:
        return _http_channel(wire, host, port, access.http, access.login, user)
    if access.login is None:
        return FramedChannel(wire) if access.framed else PlainChannel(wire)
    from acidsql.metastore.hive.authentication.login import JwtLogin, mechanism_of
    from acidsql.metastore.hive.authentication.sasl import negotiated

    assert not isinstance(access.login, JwtLogin)
    return negotiated(wire, mechanism_of(access.login, host), seconds)


def _http_channel(
    wire: Wire, host: str, port: int, http: Http, login: Login | None, user: str
) -> Channel:
    from acidsql.metastore.hive.authentication.login import JwtLogin, jwt_of
    from acidsql.metastore.hive.channels import USER_HEADER, HttpChannel

    def headers() -> dict[str, str]:
        if isinstance(login, JwtLogin):
            return {"Authorization": f"Bearer {jwt_of(login)}", **http.headers}
        return {USER_HEADER: user, **http.headers}

    return HttpChannel(wire, host, port, http.path, headers)


# ---- what the settings say


def _with_site(settings: Settings) -> Settings:
    """The settings, with what the site's files say of those that the session has not set."""
    given = Settings({name: settings.text(name) for name in settings.changed() if name in SETTINGS})
    for name, value in site_values(SETTINGS).items():
        if name not in given.changed():
            given.set(name, value)
    return given


def _login(given: Settings) -> Login | None:
    mode = given.text(_AUTH_MODE)
    is_http = given.text(_MODE).lower() == "http"
    if mode == "jwt":
        if not is_http:
            raise NotSupportedError(f"{_AUTH_MODE}=jwt needs {_MODE}=http")
        from acidsql.metastore.hive.authentication.login import JwtLogin

        return JwtLogin(token_file=given.text(_JWT_FILE))
    if is_http and (mode != "nosasl" or given.flag(_SASL)):
        what = f"{_AUTH_MODE}={mode}" if mode != "nosasl" else f"{_SASL}=true"
        raise NotSupportedError(
            f"{what} is not there over HTTP", hint=f"Over HTTP {_AUTH_MODE} is nosasl or jwt."
        )
    if mode == "plain":
        return _password_login(given)
    return _sasl_login(given) if given.flag(_SASL) or mode == "kerberos" else None


def _password_login(given: Settings) -> Login:
    from acidsql.metastore.hive.authentication.login import PasswordLogin

    user = given.text(_USER)
    if not user:
        raise ProgrammingError(f"{_AUTH_MODE} is plain, and {_USER} names nobody")
    return PasswordLogin(user=user, password_file=given.text(_PASSWORD_FILE))


def _sasl_login(given: Settings) -> SaslLogin:
    from acidsql.metastore.hive.authentication.kerberos import KerberosLogin
    from acidsql.metastore.hive.authentication.login import SaslLogin

    kerberos = KerberosLogin(
        service=given.text(_PRINCIPAL),
        principal=given.text(_OWN_PRINCIPAL),
        keytab=given.text(_KEYTAB),
        wanted=protections(given.text(_PROTECTION)),
    )
    return SaslLogin(kerberos=kerberos, signature=given.text(_SIGNATURE))


def protections(listed: str) -> tuple[Protection, ...]:
    """What hadoop.rpc.protection allows, in its order; all, the best first, where it says
    nothing.
    """
    words = [one.strip().lower() for one in listed.split(",") if one.strip()]
    if set(words) - _PROTECTIONS.keys():
        raise ProgrammingError(
            f'setting "{_PROTECTION}" is "{listed}"', hint=f"Allowed: {', '.join(_PROTECTIONS)}."
        )
    return tuple(_PROTECTIONS[word] for word in words or [*_PROTECTIONS][::-1])


def _http(given: Settings) -> Http:
    path = "/" + given.text(_PATH).strip("/")
    if not _HTTP_PATH.fullmatch(path):
        raise ProgrammingError(f'setting "{_PATH}" is no path of a URL')
    return Http(path=path, headers=_more_headers(given.text(_HEADERS)))


def _more_headers(listed: str) -> dict[str, str]:
    """``name=value,name=value``. ProgrammingError, which does not repeat it, for what is not."""
    headers = {}
    for one in filter(None, map(str.strip, listed.split(","))):
        name, separator, value = map(str.strip, one.partition("="))
        if not separator or not _HEADER_NAME.fullmatch(name) or not value.isprintable():
            raise ProgrammingError(f'setting "{_HEADERS}" is not of the form name=value,name=value')
        headers[name] = value
    return headers


# ---- servers
#
# The servers of a metastore, as ``hive.metastore.uris`` names them:
# ``thrift://a:9083,thrift://b:9083``, or shorter ``thrift://a,b``.


SCHEME = "thrift://"
DEFAULT_PORT = 9083
_SERVER = re.compile(r"(?:thrift://)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::([0-9]{1,5}))?", re.I)
_FRAMED_URL = {"": False, "framed=false": False, "framed=true": True}
_FORM = f'It is of the form "{SCHEME}host:{DEFAULT_PORT},{SCHEME}host2:{DEFAULT_PORT}".'

Servers = tuple[tuple[str, int], ...]


def parse_service(text: str) -> tuple[Servers, bool]:
    """Host and port of each server, and whether messages are framed (``?framed=true``).
    MetastoreError for what is no such URL.
    """
    listed, _, option = text.strip().partition("?")
    servers, framed = parse_servers(listed), _FRAMED_URL.get(option.lower())
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
