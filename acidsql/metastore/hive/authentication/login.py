"""How a metastore is told who is there: by Kerberos or a delegation token, by a name and a
password, or by a name that it believes. Secrets are read where they lie for each connection, and
kept nowhere.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

from acidsql.errors import MetastoreError
from acidsql.lazy import dataclass
from acidsql.metastore.hive.authentication.digest import DigestMd5
from acidsql.metastore.hive.authentication.kerberos import (
    GssApi,
    KerberosLogin,
    short_name,
    user_of,
)
from acidsql.metastore.hive.authentication.sasl import Mechanism, Plain
from acidsql.metastore.hive.sockets import ByteReader, given_bytes

# ---- delegation tokens
#
# Delegation tokens as Hadoop hands them to processes in containers: a file that
# HADOOP_TOKEN_FILE_LOCATION names. Hadoop: Credentials, Token, WritableUtils; Hive:
# DelegationTokenSelector.
#
# It is read for each connection, since whoever renews tokens writes it anew.


KIND = "HIVE_DELEGATION_TOKEN"
_MARK = b"HDTS"
_WRITABLE, _PROTOBUF = 0, 1
_TOKENS, _ALIAS_AND_TOKEN = 1, 2
_IDENTIFIER, _PASSWORD, _KIND, _SERVICE = 1, 2, 3, 4
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """``identifier`` and ``password`` are secrets. ``service``: what tells tokens of a kind
    apart.
    """

    identifier: bytes
    password: bytes
    kind: str
    service: str

    def __repr__(self) -> str:
        return f"Token(kind={self.kind!r}, service={self.service!r})"

    @property
    def user(self) -> str:
        """The name that SASL is told. Hadoop: SaslRpcServer.encodeIdentifier."""
        return b64encode(self.identifier).decode()

    @property
    def secret(self) -> str:
        """What SASL has for a password. Hadoop: SaslRpcServer.encodePassword."""
        return b64encode(self.password).decode()


def find_token(path: str, signature: str) -> Token | None:
    """The token of a metastore in a file: the one whose service is ``signature``
    (hive.metastore.token.signature). MetastoreError for a file that cannot be read.
    """
    content = given_bytes(path, "the file of tokens", "HADOOP_TOKEN_FILE_LOCATION")
    try:
        tokens = parse_tokens(content)
    except ValueError as error:
        raise MetastoreError(f'"{path}" is no file of Hadoop\'s tokens: {error}') from None
    return next((one for one in tokens if (one.kind, one.service) == (KIND, signature)), None)


def parse_tokens(content: bytes) -> list[Token]:
    """The tokens of a file's content, in both of Hadoop's formats. ValueError for what is none; it
    does not repeat any of it.
    """
    if not content.startswith(_MARK) or len(content) <= len(_MARK):
        raise ValueError("it does not begin as one")
    form, rest = content[len(_MARK)], _Reader(content[len(_MARK) + 1 :])
    if form == _WRITABLE:
        return [_writable(rest) for _ in range(rest.vlong())]
    if form == _PROTOBUF:
        message = rest.take(rest.varint())
        return [token for entry in _values(message, _TOKENS) for token in _in_protobuf(entry)]
    raise ValueError(f"its format is {form}, which is not known")


class _Reader(ByteReader):
    def vlong(self) -> int:
        """A number as Hadoop's WritableUtils.writeVLong has it."""
        first = int.from_bytes(self.take(1), "big", signed=True)
        if first >= -112:
            return first
        is_negative = first < -120
        size = -120 - first if is_negative else -112 - first
        number = int.from_bytes(self.take(size), "big")
        return ~number if is_negative else number

    def varint(self) -> int:
        """A number as protobuf has it."""
        number = shift = 0
        while shift < 64:
            byte = self.take(1)[0]
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7
        raise ValueError("it has a number that is too long")

    def block(self) -> bytes:
        return self.take(self.vlong())


def _writable(reader: _Reader) -> Token:
    reader.block()  # its alias
    return Token(
        identifier=reader.block(),
        password=reader.block(),
        kind=reader.block().decode(),
        service=reader.block().decode(),
    )


def _in_protobuf(entry: bytes) -> Iterator[Token]:
    for token in _values(entry, _ALIAS_AND_TOKEN):
        yield Token(
            identifier=_value(token, _IDENTIFIER),
            password=_value(token, _PASSWORD),
            kind=_value(token, _KIND).decode(),
            service=_value(token, _SERVICE).decode(),
        )


def _value(message: bytes, number: int) -> bytes:
    return next(_values(message, number), b"")


def _values(message: bytes, number: int) -> Iterator[bytes]:
    """The values of a field of bytes."""
    reader = _Reader(message)
    while reader.has_more:
        field, kind = divmod(reader.varint(), 8)
        if kind == _VARINT:
            reader.varint()
        elif kind in (_FIXED_64, _FIXED_32):
            reader.take(8 if kind == _FIXED_64 else 4)
        elif kind == _BYTES:
            value = reader.take(reader.varint())
            if field == number:
                yield value
        else:
            raise ValueError("it has a field of an unknown kind")


def owner_of(token: Token) -> str | None:
    """Whom a token lets its holder act for; None where it does not tell. Hadoop:
    AbstractDelegationTokenIdentifier.
    """
    reader = _Reader(token.identifier)
    try:
        return reader.block().decode() if reader.take(1) == b"\0" else None
    except ValueError:
        return None


# ---- login


TOKEN_FILE_VARIABLE = "HADOOP_TOKEN_FILE_LOCATION"
"""Where containers have their tokens; no other place reads the variable."""
JWT_VARIABLE = "HMS_JWT"
"""Hive's own: the token of HTTP; no other place reads the variable."""
PASSWORD_FILE = "acidsql.metastore.password.file"
JWT_FILE = "acidsql.metastore.jwt.file"


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordLogin:
    """``password_file``: where the password lies."""

    user: str
    password_file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JwtLogin:
    """``token_file``: "" for the environment."""

    token_file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslLogin:
    """By a delegation token where there is one for the metastore, else by Kerberos. ``signature``:
    of the token.
    """

    kerberos: KerberosLogin
    signature: str


Login = PasswordLogin | JwtLogin | SaslLogin


def mechanism_of(login: SaslLogin | PasswordLogin, host: str) -> Mechanism:
    """What proves who is there to a server of that name. MetastoreError without a ticket or
    password.
    """
    match login:
        case PasswordLogin():
            return Plain(login.user, secret_of(login.password_file, PASSWORD_FILE))
        case SaslLogin():
            token = _token(login)
            if token is None:
                return GssApi(login.kerberos, host)
            return DigestMd5(token.user, token.secret, login.kerberos.wanted)


def name_of(login: Login | None, user: str) -> str:
    """Whom a metastore acts for, as far as that is known here; ``user`` where it believes us."""
    match login:
        case None | JwtLogin():
            return user
        case PasswordLogin():
            return login.user
        case SaslLogin():
            token = _token(login)
            if token is None:
                return user_of(login.kerberos)
            owner = owner_of(token)
            return user if owner is None else short_name(owner)


def jwt_of(login: JwtLogin) -> str:
    """The token of HTTP. MetastoreError where there is none."""
    if login.token_file:
        return secret_of(login.token_file, JWT_FILE)
    token = os.environ.get(JWT_VARIABLE, "").strip()
    if not token:
        raise MetastoreError(
            "metastore.client.auth.mode is jwt, and there is no token",
            hint=f"It is taken from ${JWT_VARIABLE}, or from the file that {JWT_FILE} names.",
        )
    return token


def secret_of(path: str, setting: str) -> str:
    """The one line of a file. MetastoreError where there is none."""
    if not path:
        raise MetastoreError(
            "the metastore wants a password, and none is named",
            hint=f"{setting} names a file that holds it.",
        )
    try:
        secret = Path(path).read_text(encoding="utf-8").strip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise MetastoreError(
            f'cannot read "{path}": {reason}', hint=f"{setting} names it."
        ) from None
    if not secret or set(secret) & set("\r\n\0"):
        raise MetastoreError(f'"{path}" is no one line of text', hint=f"{setting} names it.")
    return secret


def _token(login: SaslLogin) -> Token | None:
    path = os.environ.get(TOKEN_FILE_VARIABLE)
    return find_token(path, login.signature) if path else None
