"""How a metastore is told who is there: by Kerberos or a delegation token, by a name and a
password, or by a name that it believes. Secrets are read where they lie for each connection, and
kept nowhere.
"""

from __future__ import annotations

import os
from pathlib import Path

from acidsql.errors import MetastoreError
from acidsql.lazy_dataclass import dataclass
from acidsql.metastore.hive.authentication.digest import DigestMd5
from acidsql.metastore.hive.authentication.kerberos import (
    GssApi,
    KerberosLogin,
    short_name,
    user_of,
)
from acidsql.metastore.hive.authentication.sasl import Mechanism, Plain
from acidsql.metastore.hive.authentication.tokens import Token, find_token, owner_of

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
