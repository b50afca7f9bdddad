"""Kerberos by SASL's GSSAPI (RFC 4752), and where its tickets come from: a keytab, of which a new
one is made when the old one nears its end, or a ticket cache, which others keep. Hive:
HadoopThriftAuthBridge.Client; Hadoop: SecurityUtil.getServerPrincipal.

The package gssapi speaks to the system's Kerberos, which finds its own configuration (krb5.conf,
KRB5_CONFIG), the cache (KRB5CCNAME) and a keytab of the environment (KRB5_CLIENT_KTNAME).
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from acidsql.errors import MetastoreError, NotSupportedError
from acidsql.lazy import dataclass
from acidsql.metastore.hive.authentication.sasl import Protection, chosen
from acidsql.metastore.hive.protocol import WireError

if TYPE_CHECKING:
    import gssapi

HOST = "_HOST"
_ANY_ADDRESS = "0.0.0.0"
_BITS = {Protection.NONE: 1, Protection.INTEGRITY: 2, Protection.PRIVACY: 4}
_OWN_BUFFER = 0xFF_FFFF
_LEAST_BUFFER = 64
_OVER_SECONDS = 30
"""A connection whose proof ends so soon is not used any more."""
_NO_TICKET = (
    "kinit gets a ticket, and again when it has run out. acidsql.kerberos.keytab with"
    " acidsql.kerberos.principal, or KRB5_CLIENT_KTNAME, names a keytab of which acidsql gets and"
    " renews it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KerberosLogin:
    """``service``: the metastore's principal, ``hive/_HOST@REALM``. ``principal``: the own one, ""
    for that of the ticket cache; ``keytab``: "" for the cache. ``wanted``: the protections that may
    be, the best first.
    """

    service: str
    principal: str
    keytab: str
    wanted: tuple[Protection, ...]


def service_principal(principal: str, host: str) -> str:
    """A principal with ``_HOST`` replaced by the full name of a host. MetastoreError for what is
    not of the form ``service/host@REALM``.
    """
    parts = re.fullmatch(r"([^/@]+)/([^/@]+)@([^/@]+)", principal)
    if parts is None:
        raise MetastoreError(
            f'the principal of the metastore is "{principal}", and not service/host@REALM',
            hint=f"hive.metastore.kerberos.principal is of the form hive/{HOST}@EXAMPLE.COM.",
        )
    return f"{parts[1]}/{_full_name(host) if parts[2] == HOST else parts[2]}@{parts[3]}"


def own_principal(principal: str) -> str:
    """A principal of a daemon, in which ``_HOST`` is this host's full name."""
    return principal.replace(f"/{HOST}@", f"/{_full_name('')}@")


def _full_name(host: str) -> str:
    """The name that the address of a host has, as Java's getCanonicalHostName; of this host for
    "".
    """
    return socket.getfqdn("" if host == _ANY_ADDRESS else host).lower()


class GssApi:
    """One connection's proof. MetastoreError if there is no ticket to begin with."""

    name = "GSSAPI"

    def __init__(self, login: KerberosLogin, host: str) -> None:
        gss = _library()
        self._gss = gss
        self._wanted = login.wanted
        self.protection = Protection.NONE
        self.sealed_at_once = _LEAST_BUFFER
        self.is_complete = False
        service = service_principal(login.service, host)
        credentials = _credentials(gss, login)
        with _wire_errors(gss, f'no ticket for "{service}": '):
            self._context = gss.SecurityContext(
                name=gss.Name(service, gss.NameType.kerberos_principal),
                creds=credentials,
                mech=gss.MechType.kerberos,
                flags=[
                    gss.RequirementFlag.mutual_authentication,
                    gss.RequirementFlag.integrity,
                    gss.RequirementFlag.confidentiality,
                    gss.RequirementFlag.replay_detection,
                    gss.RequirementFlag.out_of_sequence_detection,
                ],
                usage="initiate",
            )
            self._first = self._context.step() or b""

    def start(self) -> bytes:
        return self._first

    def step(self, challenge: bytes) -> bytes:
        with _wire_errors(self._gss):
            if not self._context.complete:
                return self._context.step(challenge) or b""
            return self._layer(challenge)

    def _layer(self, challenge: bytes) -> bytes:
        """What is done to later messages: the server says what it can, and we what it is."""
        offer = self._context.unwrap(challenge).message
        if len(offer) != 4:
            raise WireError("it does not say how messages are protected")
        offered = [one for one, bit in _BITS.items() if offer[0] & bit]
        self.protection = chosen(offered, self._wanted)
        own_buffer = _OWN_BUFFER
        if self.protection is Protection.NONE:
            own_buffer = 0
        else:
            size = int.from_bytes(offer[1:], "big")
            self.sealed_at_once = self._context.get_wrap_size_limit(size, self._is_private)
            if size < _LEAST_BUFFER or self.sealed_at_once <= 0:
                raise WireError(f"it takes no frames of more than {size} bytes")
        self.is_complete = True
        answer = bytes([_BITS[self.protection]]) + own_buffer.to_bytes(3, "big")
        wrapped: bytes = self._context.wrap(answer, False).message
        return wrapped

    @property
    def _is_private(self) -> bool:
        return self.protection is Protection.PRIVACY

    def seal(self, message: bytes) -> bytes:
        with _wire_errors(self._gss):
            wrapped: bytes = self._context.wrap(message, self._is_private).message
            return wrapped

    def unseal(self, sealed: bytes) -> bytes:
        with _wire_errors(self._gss):
            unwrapped = self._context.unwrap(sealed)
        if self._is_private and not unwrapped.encrypted:
            raise WireError("it says in the open what it has agreed to encrypt")
        message: bytes = unwrapped.message
        return message

    @property
    def is_over(self) -> bool:
        try:
            left: int = self._context.lifetime
        except self._gss.exceptions.GSSError:  # it is over by now
            return True
        return left < _OVER_SECONDS


def user_of(login: KerberosLogin) -> str:
    """The first part of the own principal. MetastoreError without a ticket."""
    return short_name(str(_credentials(_library(), login).name))


def short_name(principal: str) -> str:
    """The user of a principal: ``hive`` of ``hive/host@REALM``."""
    return re.split("[/@]", principal)[0]


def _credentials(gss: Any, login: KerberosLogin) -> gssapi.Credentials:
    """What tickets are got by. MetastoreError without a ticket that holds."""
    try:
        credentials = _acquired(gss, login)
        if credentials.lifetime > 0:
            return credentials
        reason = "the ticket has run out"
    except gss.exceptions.GSSError as error:
        reason = _reason(error)
    raise MetastoreError("there is no Kerberos ticket", detail=reason, hint=_NO_TICKET)


def _acquired(gss: Any, login: KerberosLogin) -> gssapi.Credentials:
    """The tickets of a keytab lie in the memory of this process, and the library gets new ones
    there from the middle of their life on.
    """
    named = None
    if login.principal:
        principal = own_principal(login.principal)
        named = gss.Name(principal, gss.NameType.kerberos_principal)
    if not login.keytab:
        return gss.Credentials(usage="initiate", name=named)
    if not os.access(login.keytab, os.R_OK):
        raise MetastoreError(
            f'cannot read the keytab "{login.keytab}"', hint="acidsql.kerberos.keytab names it."
        )
    if named is None:
        raise MetastoreError(
            "the keytab is named, and not whose key of it is used",
            hint="acidsql.kerberos.principal names it, as hive@EXAMPLE.COM.",
        )
    of_both = sha256(f"{login.keytab}\0{named}".encode()).hexdigest()[:16]
    store = {"client_keytab": f"FILE:{login.keytab}", "ccache": f"MEMORY:acidsql_{of_both}"}
    return gss.Credentials(usage="initiate", name=named, store=store)


def _library() -> Any:
    try:
        import gssapi
        import gssapi.exceptions
    except (ImportError, OSError) as error:
        raise NotSupportedError(
            "Kerberos needs the package gssapi and the system's Kerberos library",
            detail=str(error),
            hint="pip install 'acidsql[kerberos]'; where it is built, libkrb5-dev is needed.",
        ) from error
    return gssapi


@contextmanager
def _wire_errors(gss: Any, what: str = "") -> Iterator[None]:
    try:
        yield
    except gss.exceptions.GSSError as error:
        raise WireError(f"Kerberos: {what}{_reason(error)}") from error


def _reason(error: Any) -> str:
    """The most telling words: those of Kerberos itself, else of GSSAPI."""
    words: Sequence[str] = [
        *error.get_all_statuses(error.min_code, False),
        *error.get_all_statuses(error.maj_code, True),
    ]
    return " ".join((words[0] if words else str(error)).split())
