"""Whom TLS trusts: certificates in PEM, or those of a Java key store in its own format (JKS), in
which they lie open: a password there only tells whether somebody has changed it.
"""

from __future__ import annotations

from pathlib import Path
from struct import Struct as Packer
from struct import error as StructError
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
