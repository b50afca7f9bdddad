"""Principals with _HOST, and what is said where Kerberos is not installed."""

from __future__ import annotations

import socket
import sys

import pytest

from acidsql.errors import MetastoreError, NotSupportedError
from acidsql.metastore.hive.authentication.kerberos import (
    GssApi,
    KerberosLogin,
    own_principal,
    service_principal,
)
from acidsql.metastore.hive.authentication.sasl import Protection


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has which full name."""
    full = {"one": "One.Example.COM", "": "here.example.com", "10.0.0.1": "ten.example.com"}
    monkeypatch.setattr(socket, "getfqdn", lambda host="": full.get(host, host))


@pytest.mark.parametrize(
    ("principal", "host", "expected"),
    [
        ("hive/_HOST@EXAMPLE.COM", "one", "hive/one.example.com@EXAMPLE.COM"),
        ("hive/_HOST@EXAMPLE.COM", "10.0.0.1", "hive/ten.example.com@EXAMPLE.COM"),
        ("hive/_HOST@EXAMPLE.COM", "0.0.0.0", "hive/here.example.com@EXAMPLE.COM"),
        ("hive/_HOST@EXAMPLE.COM", "Other", "hive/other@EXAMPLE.COM"),
        ("hms/Fixed.Example.com@R", "one", "hms/Fixed.Example.com@R"),
    ],
)
def test_services_are_named_by_their_host(principal: str, host: str, expected: str) -> None:
    """Only where a principal says _HOST, by the full name in lower case, as in Hadoop."""
    assert service_principal(principal, host) == expected


@pytest.mark.parametrize("principal", ["", "hive", "hive@R", "hive/_HOST", "hive/a/b@R", "/_HOST@R", "hive/_HOST@"])  # fmt: skip
def test_principals_have_three_parts(principal: str) -> None:
    """Else nobody knows whose ticket is meant."""
    with pytest.raises(MetastoreError, match="not service/host@REALM"):
        service_principal(principal, "one")


def test_daemons_are_named_by_their_own_host() -> None:
    """A keytab for each host has a principal for each."""
    assert own_principal("acidsql/_HOST@R") == "acidsql/here.example.com@R"
    assert own_principal("ann@R") == "ann@R"


def test_the_package_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the words that install it."""
    monkeypatch.setitem(sys.modules, "gssapi", None)
    login = KerberosLogin(
        service="hive/_HOST@R", principal="", keytab="", wanted=(Protection.NONE,)
    )
    with pytest.raises(NotSupportedError, match="needs the package gssapi") as caught:
        GssApi(login, "one")
    assert "acidsql[kerberos]" in (caught.value.hint or "")
