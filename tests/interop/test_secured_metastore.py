"""Metastores of whole Hives that ask who is there, 4.0.1 by all it knows and 3.1.3 by TLS and Kerberos:
a session works there, and attaches from there, and nobody is let in who is not to be.
"""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import sqlalchemy as sa
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from sqlalchemy.dialects import registry
from sqlalchemy.engine import URL

from acidsql.errors import Error, NotSupportedError
from acidsql.metastore.hive.authentication.login import parse_tokens
from acidsql.metastore.hive.calls.reading import Method, struct_of
from acidsql.metastore.hive.client import connected
from acidsql.metastore.hive.protocol import TEXT
from acidsql.metastore.hive.reaching import access_of
from acidsql.session import Session
from acidsql.settings import Settings
from tests.interop.real_hive import RealHive
from tests.interop.secured_hive import PASSWORD, USER, SecuredHive, base64, secured
from tests.interop.test_real_hive import hive as hive
from tests.kdc import REALM, Kdc, kdc, missing_programs

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(400)]

LOCAL = {"acidsql.engine": "local", "hive.metastore.client.socket.timeout": "60s"}
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
HTTP = {"metastore.client.thrift.transport.mode": "http"}
KERBEROS = {
    "hive.metastore.sasl.enabled": "true",
    "hive.metastore.kerberos.principal": f"hive/_HOST@{REALM}",
}
PROTECTIONS = ("authentication", "integrity", "privacy")
TICKET_SECONDS = 4
GET_DELEGATION_TOKEN = Method(
    name="get_delegation_token",
    arguments=struct_of(token_owner=(1, TEXT), renewer_kerberos_principal_name=(2, TEXT)),
    result=TEXT,
    errors={1: "MetaException"},
)


@pytest.fixture
def realm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kdc | None]:
    """A KDC, and the environment by which it is found; None where there is none."""
    for name in ("HADOOP_TOKEN_FILE_LOCATION", "KRB5_CLIENT_KTNAME", "HMS_JWT"):
        monkeypatch.delenv(name, raising=False)
    if why_no_kerberos():
        yield None
        return
    with kdc(tmp_path / "kdc") as made:
        for name, value in made.environment.items():
            monkeypatch.setenv(name, value)
        yield made


def why_no_kerberos() -> str:
    """What is missing; "" if nothing is."""
    missing = missing_programs()
    if missing:
        return f"no KDC here: {', '.join(missing)} (Debian: krb5-kdc krb5-admin-server krb5-user)"
    if importlib.util.find_spec("gssapi") is None:
        return "no package gssapi here (Debian: libkrb5-dev gcc; pip install '.[kerberos]')"
    return ""


def test_metastores_that_ask_who_is_there(
    hive: RealHive, realm: Kdc | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each lets in whom it is to, who works there; all of them have the same tables."""
    with signing() as signed, secured(hive, tmp_path / "secured", realm, signed.jwks) as served:
        check_tls(served, tmp_path)
        if hive.version == 4:
            check_passwords(served, tmp_path)
            check_http(served, signed, tmp_path)
        if realm is not None:
            check_kerberos(served, realm, tmp_path, monkeypatch)
            check_tokens(served, realm, tmp_path, monkeypatch)
    if realm is None:
        pytest.skip(f"all but Kerberos was tried: {why_no_kerberos()}")


def work(served: SecuredHive, kind: str, settings: dict[str, str], home: Path) -> None:
    """Makes a table, changes it, and reads it where it is attached."""
    settings = LOCAL | settings
    with Session(metastore=served.url(kind), settings=settings) as session:
        session.sql(f"CREATE TABLE IF NOT EXISTS t (id INT, who STRING) {ACID}")
        session.sql("DELETE FROM t")
        session.sql(f"INSERT INTO t VALUES (1, '{kind}'), (2, 'nobody')")
        session.sql("UPDATE t SET who = upper(who) WHERE id = 2")
        expected = [(1, kind), (2, "NOBODY")]
        assert rows(session) == expected
    with Session(home / f"attached {kind}", settings=settings) as session:
        session.sql(f"ATTACH TABLE t USING '{served.url(kind)}?table=default.t'")
        assert rows(session) == expected
        assert PASSWORD not in str(list(session.sql("SHOW TBLPROPERTIES t").rows()))


def rows(session: Session) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in session.sql("SELECT * FROM t").rows())


def look(served: SecuredHive, kind: str, settings: dict[str, str]) -> None:
    """Reads what is there."""
    with Session(metastore=served.url(kind), settings=LOCAL | settings) as session:
        assert len(rows(session)) == 2


def refused(served: SecuredHive, kind: str, settings: dict[str, str], host: str = "localhost") -> str:  # fmt: skip
    """The error of a session that is not let in."""
    url = f"thrift://{host}:{served.ports[kind]}"
    with pytest.raises(Error) as caught:
        Session(metastore=url, settings=LOCAL | settings).close()
    assert PASSWORD not in str(caught.value)
    return str(caught.value)


# ---- TLS, passwords, HTTP


def tls(served: SecuredHive) -> dict[str, str]:
    return {"hive.metastore.use.SSL": "true", "hive.metastore.truststore.path": str(served.pem)}


def check_tls(served: SecuredHive, tmp_path: Path) -> None:
    work(served, "tls", tls(served), tmp_path)
    look(served, "tls", tls(served) | {"hive.metastore.truststore.path": str(served.jks)})
    assert "it wants TLS: hive.metastore.use.SSL" in refused(served, "tls", {})
    assert "TLS does not trust it" in refused(served, "tls", {"hive.metastore.use.SSL": "true"})
    assert "not valid for '127.0.0.1'" in refused(served, "tls", tls(served), "127.0.0.1")


def check_passwords(served: SecuredHive, tmp_path: Path) -> None:
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.write_text(PASSWORD + "\n")
    wrong.write_text(f"not {PASSWORD}")
    settings = tls(served) | {
        "metastore.client.auth.mode": "plain",
        "metastore.client.plain.username": USER,
        "acidsql.metastore.password.file": str(right),
    }
    look(served, "password", settings)
    settings["acidsql.metastore.password.file"] = str(wrong)
    assert "it refuses who is there" in refused(served, "password", settings)


def check_http(served: SecuredHive, signed: Signed, tmp_path: Path) -> None:
    look(served, "http", HTTP)
    work(served, "https", HTTP | tls(served), tmp_path)
    check_sqlalchemy(served)
    assert "it speaks HTTP" in refused(served, "http", {})
    with Session(metastore=served.url("http"), settings=LOCAL | HTTP) as session:
        session.sql("SET acidsql.refuse.ranger=true")
        with pytest.raises(NotSupportedError, match="it has an authorizer"):
            session.sql("SELECT * FROM t")
    look(served, "https", HTTP | tls(served) | {"acidsql.refuse.ranger": "true"})
    right, wrong = tmp_path / "right.jwt", tmp_path / "wrong.jwt"
    right.write_text(signed.token())
    wrong.write_text(signed.token()[:-8] + "AAAAAAAA")
    settings = HTTP | {"metastore.client.auth.mode": "jwt"}
    look(served, "jwt", settings | {"acidsql.metastore.jwt.file": str(right)})
    wrong_token = settings | {"acidsql.metastore.jwt.file": str(wrong)}
    assert "it refuses who is there (HTTP 401)" in refused(served, "jwt", wrong_token)


def check_sqlalchemy(served: SecuredHive) -> None:
    """A URL has all that a session is given."""
    registry.register("acidsql", "acidsql.sqlalchemy.dialect", "AcidSqlDialect")
    query = LOCAL | HTTP | tls(served) | {"metastore": served.url("https")}
    engine = sa.create_engine(URL.create("acidsql", query=query))
    table = sa.Table("t", sa.MetaData(), autoload_with=engine)
    with engine.begin() as connection:
        connection.execute(table.insert(), {"id": 3, "who": "sqlalchemy"})
        connection.execute(table.delete().where(table.c.id == 3))
        assert connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() == 2
    engine.dispose()


class Signed:
    """Tokens of a key, and where a metastore finds that."""

    def __init__(self, jwks: str, key: rsa.RSAPrivateKey) -> None:
        self.jwks = jwks
        self._key = key

    def token(self) -> str:
        head = {"alg": "RS256", "typ": "JWT", "kid": "one"}
        now = int(time.time())
        claims = {"sub": USER, "iss": "auth-server", "iat": now, "exp": now + 3600}
        signed = ".".join(base64(json.dumps(one).encode()) for one in (head, claims))
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{base64(signature)}"


@contextmanager
def signing() -> Iterator[Signed]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    numbers = key.public_key().public_numbers()
    of = {"n": base64(numbers.n.to_bytes(256, "big")), "e": base64(b"\x01\x00\x01")}
    keys = {"keys": [{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "one"} | of]}

    class Keys(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(keys).encode())

        def log_message(self, format: str, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Keys) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield Signed(f"http://127.0.0.1:{server.server_address[1]}/jwks", key)
        finally:
            server.shutdown()
            thread.join()


# ---- Kerberos


def check_kerberos(
    served: SecuredHive, realm: Kdc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By each protection; tickets of the cache, of a keytab, and those that run out meanwhile."""
    ann = realm.add(USER)
    brief = realm.add("brief", "-maxlife", f"{TICKET_SECONDS} seconds")
    assert "there is no Kerberos ticket" in refused(served, "kerberos", KERBEROS)
    assert "kinit" in refused(served, "kerberos", KERBEROS)
    by_keytab = {
        "acidsql.kerberos.keytab": str(brief),
        "acidsql.kerberos.principal": f"brief@{REALM}",
    }
    realm.kinit("brief", brief)
    began = time.monotonic()
    with (
        Session(metastore=served.url("kerberos"), settings=LOCAL | KERBEROS) as of_cache,
        Session(metastore=served.url("kerberos"), settings=LOCAL | KERBEROS | by_keytab) as session,
    ):
        session.sql("SHOW DATABASES")
        time.sleep(max(0.0, began + TICKET_SECONDS + 1.5 - time.monotonic()))  # both have run out
        assert len(rows(session)) == 2
        with pytest.raises(Error, match="there is no Kerberos ticket") as caught:
            of_cache.sql("SHOW DATABASES")
        assert "run out" in str(caught.value)
        realm.kinit("brief", brief)
        of_cache.sql("SHOW DATABASES")
    realm.kinit(USER, ann)
    work(served, "kerberos", KERBEROS, tmp_path)
    for one in PROTECTIONS:
        look(served, "kerberos", KERBEROS | {"hadoop.rpc.protection": one})
    other = KERBEROS | {"hive.metastore.kerberos.principal": f"other/localhost@{REALM}"}
    assert 'no ticket for "other/localhost@' in refused(served, "kerberos", other)
    assert "hive.metastore.sasl.enabled" in refused(served, "kerberos", {})
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path / 'own tickets'}")
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", str(ann))
    look(served, "kerberos", KERBEROS)


def check_tokens(
    served: SecuredHive, realm: Kdc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token that Hive gives out, in files of both of Hadoop's formats, and no ticket."""
    access = access_of(Settings(KERBEROS))
    port = served.ports["kerberos"]
    with connected("localhost", port, access, user="", answer_seconds=60) as connection:
        token = connection.call(
            GET_DELEGATION_TOKEN,
            token_owner=USER,
            renewer_kerberos_principal_name=f"hive/localhost@{REALM}",
        )
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path / 'no tickets'}")
    monkeypatch.delenv("KRB5_CLIENT_KTNAME")
    signed = {"hive.metastore.token.signature": "signed"}
    path = tmp_path / "tokens"
    served.write_tokens(path, {"": token, "signed": token})
    for form in (path, path.with_suffix(".protobuf")):
        monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(form))
        look(served, "kerberos", KERBEROS | signed)
    for one in PROTECTIONS:
        look(served, "kerberos", KERBEROS | {"hadoop.rpc.protection": one})
    unknown = KERBEROS | {"hive.metastore.token.signature": "unknown"}
    assert "there is no Kerberos ticket" in refused(served, "kerberos", unknown)
    content = form.read_bytes()
    secret = parse_tokens(content)[-1].password
    form.write_bytes(content.replace(secret, bytes(len(secret))))
    assert "it refuses who is there" in refused(served, "kerberos", KERBEROS)
