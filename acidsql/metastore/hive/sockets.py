"""Sockets with a deadline, by TLS or not, and whom TLS trusts: certificates in PEM, or those of a
Java key store in its own format (JKS), in which they lie open: a password there only tells whether
somebody has changed it.
"""

from __future__ import annotations

import socket
from pathlib import Path
from struct import Struct as Packer
from struct import error as StructError
from time import monotonic
from typing import TYPE_CHECKING

from acidsql.errors import MetastoreError, NotSupportedError

if TYPE_CHECKING:
    from ssl import SSLContext


# ---- files that settings name
#
# Files that settings name: their bytes, and what is read of these piece by piece.


def given_bytes(path: str, what: str, setting: str) -> bytes:
    """The content of a file. MetastoreError with the name of the setting if it cannot be read;
    ``what``: what it is, in words.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise MetastoreError(
            f'cannot read {what} "{path}": {error.strerror}', hint=f"{setting} names it."
        ) from error


class ByteReader:
    """Bytes from the first to the last."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    @property
    def has_more(self) -> bool:
        return self._at < len(self._content)

    def take(self, size: int) -> bytes:
        """The next bytes. ValueError if there are not so many."""
        start, self._at = self._at, self._at + size
        if size < 0 or self._at > len(self._content):
            raise ValueError("it ends too early")
        return self._content[start : self._at]


# ---- trust


_PEM_MARK = b"-----BEGIN "
_JKS_MARK, _JCEKS_MARK = b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce"
_DER_SEQUENCE = b"\x30"
"""What PKCS #12 begins with, which keytool makes by default."""
_KEY, _CERTIFICATE = 1, 2
_I32, _LENGTH = Packer(">i"), Packer(">H")
_TIME_BYTES = 8
_CONVERT = (
    "It is converted by: keytool -importkeystore -srckeystore STORE -destkeystore new.jks"
    " -deststoretype JKS, or for each certificate: keytool -exportcert -rfc -keystore STORE -alias"
    " NAME >> trusted.pem"
)


def trusting(store: str) -> SSLContext:
    """The context of TLS that trusts the certificates of a file, or those that the system trusts
    if it is "". The server's name is checked. MetastoreError for a file that cannot be read.
    """
    import ssl

    context = ssl.create_default_context()
    # as Java: a certificate in the store is trusted whoever signed it, and may lack what RFC 5280
    # asks of it since
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not store:
        return context
    only = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    only.verify_flags = context.verify_flags
    try:
        only.load_verify_locations(cadata=_certificates(store))
    except (ssl.SSLError, ValueError) as error:  # the latter for no certificate at all
        raise MetastoreError(
            f'the trust store "{store}" holds no certificates that can be read',
            detail=getattr(error, "reason", None),
        ) from error
    return only


def _certificates(store: str) -> str | bytes:
    """PEM, or DER one after the other."""
    content = given_bytes(store, "the trust store", "hive.metastore.truststore.path")
    if content.startswith(_JKS_MARK):
        return b"".join(jks_certificates(content, store))
    if _PEM_MARK in content:
        return content.decode("ascii", "replace")
    if content.startswith((_JCEKS_MARK, _DER_SEQUENCE)):
        kind = "JCEKS" if content.startswith(_JCEKS_MARK) else "PKCS #12"
        raise NotSupportedError(
            f'the trust store "{store}" is {kind}: certificates are read as PEM, or from JKS',
            hint=_CONVERT,
        )
    raise MetastoreError(f'the trust store "{store}" is neither PEM nor JKS')


def jks_certificates(content: bytes, store: str) -> list[bytes]:
    """The trusted certificates of a Java key store, as DER. MetastoreError for what is none."""
    reader = _Reader(content[len(_JKS_MARK) :])
    try:
        version, count = reader.number(), reader.number()
        if version not in (1, 2):
            raise ValueError
        return [one for _ in range(count) for one in _entry(reader, version)]
    except (ValueError, StructError):
        raise MetastoreError(f'the trust store "{store}" is no whole JKS') from None


class _Reader(ByteReader):
    def number(self) -> int:
        return int(_I32.unpack(self.take(4))[0])

    def text(self) -> bytes:
        return self.take(_LENGTH.unpack(self.take(2))[0])


def _entry(reader: _Reader, version: int) -> list[bytes]:
    """The certificate of an entry of the trusted; [] of a key, whose chain nobody said to trust."""
    kind = reader.number()
    reader.text()
    reader.take(_TIME_BYTES)
    if kind == _CERTIFICATE:
        return [_certificate(reader, version)]
    if kind != _KEY:
        raise ValueError
    reader.take(reader.number())
    for _ in range(reader.number()):
        _certificate(reader, version)
    return []


def _certificate(reader: _Reader, version: int) -> bytes:
    if version == 2:
        reader.text()  # "X.509"
    return reader.take(reader.number())


# ---- sockets
#
# A socket to a server of Hive's metastore, by TLS or not, on which nobody waits for long: each
# exchange has a deadline for its last byte.


CHUNK = 1 << 18
CONNECT_SECONDS = 10.0
_CLOSED = "it closed the connection within its answer"
_CLOSED_AT_ONCE = (
    "it closed the connection without an answer, as one does that wants Kerberos"
    " (hive.metastore.sasl.enabled), a password (metastore.client.auth.mode=plain), TLS"
    " (hive.metastore.use.SSL), none of them, Thrift's compact protocol, or framed messages"
    " (?framed=true)"
)


class Wire:
    """Bytes to a server and back. OSError ends it. ``answers``: whether some have come in this
    exchange.
    """

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._deadline = 0.0
        self.answers = False

    def begin(self, seconds: float) -> None:
        """An exchange begins, which has to be over after so many seconds."""
        self._deadline, self.answers = monotonic() + seconds, False

    def send(self, message: bytes) -> None:
        self._wait()
        try:
            self._socket.sendall(message)
        except ConnectionError as error:
            raise ConnectionError(_CLOSED_AT_ONCE) from error

    def receive(self, size: int = CHUNK) -> bytes:
        """What comes next, at least one byte. ConnectionError at the end."""
        self._wait()
        try:
            received = self._socket.recv(size)
        except ConnectionError:
            received = b""
        if not received:
            raise ConnectionError(_CLOSED if self.answers else _CLOSED_AT_ONCE)
        self.answers = True
        return received

    def receive_exactly(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            parts.append(self.receive(min(size, CHUNK)))
            size -= len(parts[-1])
        return b"".join(parts)

    @property
    def is_closed_there(self) -> bool:
        """Whether the server has closed it, or said something that nobody asked for, since: it is
        of no use then. TLS has words of its own, which are none to us.
        """
        try:
            self._socket.settimeout(0)
            self._socket.recv(1)
        except BlockingIOError:
            return False
        except OSError as error:
            return not _is_unfinished(error)
        return True

    def close(self) -> None:
        self._socket.close()

    def _wait(self) -> None:
        left = self._deadline - monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)


def open_wire(host: str, port: int, tls: SSLContext | None, seconds: float) -> Wire:
    """A connected socket; by TLS the server has proven within so many seconds that it is ``host``.
    OSError if not.
    """
    opened = socket.create_connection((host, port), timeout=CONNECT_SECONDS)
    try:
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            opened.settimeout(seconds)
            opened = tls.wrap_socket(opened, server_hostname=host)
    except BaseException:
        opened.close()
        raise
    return Wire(opened)


def _is_unfinished(error: OSError) -> bool:
    """Whether nothing but a part of TLS's own words is there."""
    return type(error).__name__ == "SSLWantReadError"
