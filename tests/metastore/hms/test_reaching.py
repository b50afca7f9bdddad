"""A session on a Hive metastore that wants TLS, a password, a delegation token or HTTP: it works as on
any other, and who is not let in is told why.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from acidsql.errors import Error, MetastoreError, NotSupportedError
from acidsql.metastore.hive.authorizers import find_authorizer
from acidsql.session import Session
from tests.metastore.hms.fronts import (
    PASSWORD,
    USER,
    ByHttp,
    ByTls,
    ByToken,
    Front,
    Identity,
    by_password,
    identity,
    token_file,
)
from tests.metastore.hms.service import HiveService

LOCAL = {"acidsql.engine": "local", "hive.metastore.client.socket.timeout": "60s"}
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
HTTP = {"metastore.client.thrift.transport.mode": "http"}
SASL = {"hive.metastore.sasl.enabled": "true"}
PLAIN = {"metastore.client.auth.mode": "plain", "metastore.client.plain.username": USER}
TOKEN_FILE = "HADOOP_TOKEN_FILE_LOCATION"
KINDS = ("tls", "password", "password by tls", "auth", "auth-int", "auth-conf", "token by tls", "http", "https")  # fmt: skip

WHOLE = ("password by tls", "auth-conf", "https")

Reached = tuple[Front, dict[str, str]]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[HiveService]:
    served = HiveService(tmp_path / "hive")
    yield served
    served.close()


@pytest.fixture
def fronts(service: HiveService) -> Iterator[Callable[[Any], Front]]:
    """Makes fronts, which are closed behind the test."""
    made: list[Front] = []

    def make(meet: Any) -> Front:
        made.append(Front(service=service, meet=meet))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(scope="module")
def proven(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return identity(tmp_path_factory.mktemp("identity"))


@pytest.fixture
def password_file(tmp_path: Path) -> Path:
    path = tmp_path / "password"
    path.write_text(f"{PASSWORD}\n")
    return path


@pytest.fixture
def reached(
    request: pytest.FixtureRequest,
    fronts: Callable[[Any], Front],
    proven: Identity,
    password_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Reached:
    """A front of that kind, and the settings by which it is reached."""
    kind: str = request.param
    tls = {"hive.metastore.use.SSL": "true", "hive.metastore.truststore.path": str(proven.pem)}
    password = PLAIN | {"acidsql.metastore.password.file": str(password_file)}
    if kind.startswith(("auth", "token")):
        monkeypatch.setenv(TOKEN_FILE, str(token_file(tmp_path / "tokens")))
    match kind:
        case "tls":
            return fronts(ByTls(of=proven)), tls
        case "password":
            return fronts(by_password), password
        case "password by tls":
            return fronts(ByTls(of=proven, then=by_password)), password | tls
        case "token by tls":
            return fronts(ByTls(of=proven, then=ByToken(offers="auth,auth-conf"))), SASL | tls
        case "http":
            return fronts(ByHttp()), HTTP
        case "https":
            return fronts(ByTls(of=proven, then=ByHttp(chunked=False))), HTTP | tls
        case _:
            return fronts(ByToken(offers=kind, maxbuf=300)), SASL


def opened(front: Front, settings: dict[str, str]) -> Session:
    return Session(metastore=front.url, settings=LOCAL | settings)


def rows(session: Session, query: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in session.sql(query).rows())


@pytest.mark.parametrize("reached", WHOLE, indirect=True)
def test_a_session_works(reached: Reached, service: HiveService) -> None:
    """Databases, tables and rows, on few connections; the user is not told of a second time."""
    front, settings = reached
    with opened(front, settings) as session:
        session.sql("CREATE DATABASE d")
        session.sql(f"CREATE TABLE d.t (id INT, name STRING) {ACID}")
        session.sql("INSERT INTO d.t VALUES (1, 'a'), (2, 'b')")
        session.sql("UPDATE d.t SET name = 'B' WHERE id = 2")
        assert rows(session, "SELECT * FROM d.t") == [(1, "a"), (2, "B")]
    assert "set_ugi" not in service.calls
    assert front.accepted < 5  # connections are used again


@pytest.mark.parametrize("reached", KINDS, indirect=True)
def test_what_did_not_answer_is_not_used_again(reached: Reached, service: HiveService) -> None:
    """A call that timed out, or whose connection broke, goes to a new connection; no answer of the
    old one is taken for that of another call.
    """
    front, settings = reached
    late, answered = Event(), Event()

    def before(name: str) -> None:
        if name == "get_all_databases" and not late.is_set():
            late.set()
            answered.wait(30)  # its answer comes when nobody waits for it

    with opened(front, settings) as session:
        service.before = before
        accepted = front.accepted
        (idle,) = session.store.client._idle
        idle._answer_seconds = 0.3  # and not that of the new one, however busy the machine is
        assert rows(session, "SHOW DATABASES") == [("default",)]
        answered.set()
        assert late.is_set()
        assert front.accepted == accepted + 1
        service.before = lambda name: None
        assert rows(session, "SHOW DATABASES") == [("default",)]


@pytest.mark.parametrize("reached", KINDS, indirect=True)
def test_a_server_that_was_away_is_reached_anew(reached: Reached, service: HiveService) -> None:
    """Idle connections that its end has closed are told from those that live."""
    front, settings = reached
    with opened(front, settings) as session:
        accepted = front.accepted
        front.drop_connections()
        assert rows(session, "SHOW DATABASES") == [("default",)]
        assert front.accepted > accepted


# ---- who is not let in


def refused(front: Front, settings: dict[str, str]) -> Error:
    with pytest.raises(Error) as caught, opened(front, settings):
        pass
    return caught.value


def test_tls_trusts_whom_it_is_told(
    fronts: Callable[[Any], Front], proven: Identity, tmp_path: Path
) -> None:
    """Nobody else, and nobody under another name; what is no file of certificates is an error."""
    front = fronts(ByTls(of=proven))
    tls = {"hive.metastore.use.SSL": "true"}
    other, elsewhere = identity(tmp_path / "other"), identity(tmp_path / "name", "elsewhere")
    (tmp_path / "key.p12").write_bytes(b"\x30\x82 and so on")
    (tmp_path / "text").write_text("certificates")
    (tmp_path / "cut.jks").write_bytes(key_store(proven.der)[:-40])
    trust = {name: tls | {"hive.metastore.truststore.path": str(path)} for name, path in (
        ("other", other.pem), ("right", proven.pem), ("p12", tmp_path / "key.p12"),
        ("text", tmp_path / "text"), ("none", tmp_path / "none"), ("cut", tmp_path / "cut.jks"),
    )}  # fmt: skip
    assert "TLS does not trust it: self" in refused(front, tls).message
    assert "TLS does not trust it: self" in refused(front, trust["other"]).message
    error = refused(front, trust["p12"])
    assert isinstance(error, NotSupportedError)
    assert "is PKCS #12" in error.message
    assert "keytool" in (error.hint or "")
    assert "neither PEM nor JKS" in refused(front, trust["text"]).message
    assert "No such file" in refused(front, trust["none"]).message
    assert "no whole JKS" in refused(front, trust["cut"]).message
    named = fronts(ByTls(of=elsewhere))
    settings = tls | {"hive.metastore.truststore.path": str(elsewhere.pem)}
    assert "Hostname mismatch" in refused(named, settings).message


def test_java_key_stores_are_read(
    fronts: Callable[[Any], Front], proven: Identity, tmp_path: Path
) -> None:
    """Their trusted certificates count; the chains of keys do not."""
    front = fronts(ByTls(of=proven))
    path = tmp_path / "trust.jks"
    settings = {"hive.metastore.use.SSL": "true", "hive.metastore.truststore.path": str(path)}
    path.write_bytes(key_store(identity(tmp_path / "other").der, proven.der))
    with opened(front, settings) as session:
        assert rows(session, "SHOW DATABASES") == [("default",)]
    path.write_bytes(key_store(key_of=proven.der))
    assert "holds no certificates" in refused(front, settings).message


def key_store(*trusted: bytes, key_of: bytes | None = None) -> bytes:
    """A JKS as keytool writes it, but for its digest."""

    def text(content: str) -> bytes:
        return struct.pack(">H", len(content)) + content.encode()

    def block(content: bytes) -> bytes:
        return struct.pack(">i", len(content)) + content

    def entry(kind: int, rest: bytes) -> bytes:
        return struct.pack(">i", kind) + text("an alias") + struct.pack(">q", 1700000000000) + rest

    entries = [entry(2, text("X.509") + block(one)) for one in trusted]
    if key_of is not None:
        chain = struct.pack(">i", 1) + text("X.509") + block(key_of)
        entries.append(entry(1, block(b"an encrypted key") + chain))
    head = b"\xfe\xed\xfe\xed" + struct.pack(">ii", 2, len(entries))
    return head + b"".join(entries) + b"d" * 20


def test_passwords(fronts: Callable[[Any], Front], password_file: Path, tmp_path: Path) -> None:
    """They lie in a file; none is shown where it is wrong."""
    front = fronts(by_password)
    wrong = tmp_path / "wrong"
    wrong.write_text("another password")
    settings = PLAIN | {"acidsql.metastore.password.file": str(wrong)}
    error = refused(front, settings)
    assert "it refuses who is there: Error validating the login" in error.message
    assert "another password" not in str(error)
    wrong.write_text("two\nlines")
    assert "no one line" in refused(front, settings).message
    assert "none is named" in refused(front, PLAIN).message
    assert "names nobody" in refused(front, {"metastore.client.auth.mode": "plain"}).message
    missing = {"acidsql.metastore.password.file": str(tmp_path / "none")}
    assert "No such file" in refused(front, PLAIN | missing).message


def test_tokens_are_shown_to_the_right_server(
    fronts: Callable[[Any], Front], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that does not know the token is not believed, and no weaker protection is taken than
    hadoop.rpc.protection allows.
    """
    path = token_file(tmp_path / "tokens", "of a metastore")
    monkeypatch.setenv(TOKEN_FILE, str(path))
    signed = SASL | {"hive.metastore.token.signature": "of a metastore"}
    liar = fronts(ByToken(proof=lambda right: right[::-1]))
    assert "does not prove that it knows the token" in refused(liar, signed).message
    weak = fronts(ByToken(offers="auth"))
    error = refused(weak, signed | {"hadoop.rpc.protection": "privacy,integrity"})
    assert "it offers the protection auth, of which hadoop.rpc.protection" in error.message
    no_cipher = fronts(ByToken(offers="auth-conf", ciphers="3des"))
    assert "it offers the protection of nothing" in refused(no_cipher, signed).message
    meet = ByToken(offers="auth,auth-int,auth-conf")
    strong = fronts(meet)
    for protection, used in (
        ("", "auth-conf"),
        ("authentication", "auth"),
        ("integrity,authentication", "auth-int"),
    ):
        with opened(strong, signed | {"hadoop.rpc.protection": protection}) as session:
            assert session.store._user == "ann"
        assert meet.used[-1] == used
    path.write_bytes(path.read_bytes().replace(b"secret", b"sacred"))
    error = refused(strong, signed)
    assert "Mismatched response" in error.message
    assert "sacred" not in str(error)


@pytest.mark.parametrize("damage", ["changed", "twice", "short"])
def test_sealed_frames_are_not_believed(
    damage: str, fronts: Callable[[Any], Front], service: HiveService, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Whoever changes one on its way, leaves one out or sends one again is noticed."""
    monkeypatch.setenv(TOKEN_FILE, str(token_file(tmp_path / "tokens")))
    is_on = Event()

    class Damaging(ByToken):
        def __call__(self, connection: Any) -> Any:
            peer = super().__call__(connection)
            seal = peer._seal
            whole = seal.sealed

            def sealed(message: bytes) -> bytes:
                frame: bytes = whole(message)
                if not is_on.is_set():
                    return frame
                if damage == "changed":
                    return bytes([frame[0] ^ 1]) + frame[1:]
                return whole(message) if damage == "twice" else frame[-6:]

            seal.sealed = sealed
            return peer

    front = fronts(Damaging(offers="auth-int"))
    with opened(front, SASL) as session:
        is_on.set()
        with pytest.raises(MetastoreError, match=r"did not answer.*(order|changed)"):
            session.sql("SHOW DATABASES")


def test_http(fronts: Callable[[Any], Front], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    """The name of the user and more headers, or a token, which may be another one in time."""
    meet = ByHttp()
    front = fronts(meet)
    more = {"metastore.client.http.additional.headers": "X-One=1, X-Two = a=b"}
    with opened(front, HTTP | more) as session:
        headers = meet.requests[-1]
        assert headers["x-actor-username"] == session.user
        assert (headers["X-One"], headers["X-Two"]) == ("1", "a=b")
        assert not [row for row in session.sql("SET").rows() if "X-One" in str(row)]
    jwt = HTTP | {"metastore.client.auth.mode": "jwt"}
    monkeypatch.delenv("HMS_JWT", raising=False)
    assert "there is no token" in refused(front, jwt).message
    monkeypatch.setenv("HMS_JWT", "of the environment")
    with opened(front, jwt):
        assert meet.requests[-1]["Authorization"] == "Bearer of the environment"
        assert "x-actor-username" not in meet.requests[-1]
    path = tmp_path / "jwt"
    path.write_text("first\n")
    with opened(front, jwt | {"acidsql.metastore.jwt.file": str(path)}) as session:
        assert meet.requests[-1]["Authorization"] == "Bearer first"
        path.write_text("second\n")
        session.sql("SHOW DATABASES")
        assert meet.requests[-1]["Authorization"] == "Bearer second"
        meet.status = 401
        with pytest.raises(MetastoreError, match=r"it refuses who is there \(HTTP 401\)"):
            session.sql("SHOW DATABASES")
        meet.status = 200
    for status, words in ((401, "refuses who is there"), (403, "refuses this user"), (502, "answers HTTP 502")):  # fmt: skip
        meet.status = status
        assert words in refused(front, jwt).message
    meet.status = 200
    error = refused(front, HTTP | {"metastore.client.thrift.http.path": "elsewhere"})
    assert "answers HTTP 404 to a request for /elsewhere" in error.message
    assert "it speaks HTTP" in refused(front, {}).message


def test_http_that_closes_is_reached_anew(fronts: Callable[[Any], Front]) -> None:
    """Answers that end with their connection are whole."""
    front = fronts(ByHttp(closes=True))
    with opened(front, HTTP) as session:
        assert rows(session, "SHOW DATABASES") == [("default",)]
    assert front.accepted > 2


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"hive.metastore.thrift.compact.protocol.enabled": "true"}, "compact protocol is not spoken"),
        (SASL | {"hive.metastore.thrift.framed.transport.enabled": "true"}, "frames and SASL at once"),
        ({"metastore.client.auth.mode": "jwt"}, "jwt needs metastore.client.thrift.transport.mode=http"),
        (HTTP | SASL, "sasl.enabled=true is not there over HTTP"),
        (HTTP | PLAIN, "auth.mode=plain is not there over HTTP"),
        ({"metastore.client.thrift.transport.mode": "carrier"}, "neither binary nor http"),
        (HTTP | {"metastore.client.http.additional.headers": "secret"}, "name=value,name=value"),
        (HTTP | {"metastore.client.thrift.http.path": "a b"}, "no path of a URL"),
        (SASL | {"hadoop.rpc.protection": "much"}, '"hadoop.rpc.protection" is "much"'),
    ],
)  # fmt: skip
def test_what_is_not_spoken_is_named(
    settings: dict[str, str], words: str, fronts: Callable[[Any], Front]
) -> None:
    """Before anybody is asked."""
    front = fronts(lambda connection: connection)
    error = refused(front, settings)
    assert words in error.message
    assert "secret" not in str(error)
    assert front.accepted == 0


def test_a_site_says_how(
    fronts: Callable[[Any], Front], proven: Identity, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """hive-site.xml and core-site.xml count where the session says nothing."""

    def site(name: str, **properties: str) -> None:
        rows = "".join(
            f"<property><name>{key.replace('__', '.')}</name><value>{value}</value></property>"
            for key, value in properties.items()
        )
        (tmp_path / name).write_text(f"<configuration>{rows}</configuration>")

    monkeypatch.setenv("HIVE_CONF_DIR", str(tmp_path))
    front, plain = fronts(ByTls(of=proven)), fronts(lambda connection: connection)
    site("hive-site.xml", hive__metastore__use__SSL="true", metastore__truststore__path=str(proven.pem), javax__jdo__option__ConnectionPassword="secret")  # fmt: skip
    with opened(front, {}) as session:
        assert "secret" not in str(session.sql("SET -v").rows())
    with opened(plain, {"hive.metastore.use.SSL": "false"}):
        pass
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    site("core-site.xml", hadoop__rpc__protection="none")
    site("hive-site.xml", hive__metastore__sasl__enabled="true")
    assert '"hadoop.rpc.protection" is "none"' in refused(plain, {}).message
    site("hive-site.xml", metastore__truststore__path="${env:HOME}/trusted.pem")
    assert "is made of other settings" in refused(plain, {}).message
    (tmp_path / "hive-site.xml").write_text("<configuration>")
    assert "cannot read" in refused(plain, {}).message


# ---- policies


def test_tables_with_policies_are_refused(service: HiveService, tmp_path: Path) -> None:
    """If that is to be, and the metastore has an authorizer; by who works on it and who attaches."""
    refuse = LOCAL | {"acidsql.refuse.ranger": "true"}
    with Session(metastore=service.url, settings=refuse) as session:
        session.sql("CREATE DATABASE d")
        session.sql(f"CREATE TABLE d.t (id INT) {ACID}")
    service.config["hive.security.authorization.manager"] = "org.apache.ranger.authorization.hive.authorizer.RangerHiveAuthorizerFactory"  # fmt: skip
    with Session(metastore=service.url, settings=refuse) as session:
        for statement in ("SELECT * FROM d.t", "INSERT INTO d.t VALUES (1)", "DROP TABLE d.t", f"CREATE TABLE d.u (id INT) {ACID}"):  # fmt: skip
            with pytest.raises(NotSupportedError, match="it has an authorizer") as caught:
                session.sql(statement)
            assert "RangerHiveAuthorizerFactory" in (caught.value.detail or "")
        session.sql("SET acidsql.refuse.ranger=false")
        assert rows(session, "SELECT * FROM d.t") == []
    with (
        Session(tmp_path / "own", settings=refuse) as session,
        pytest.raises(NotSupportedError, match="it has an authorizer"),
    ):
        session.sql(f"ATTACH TABLE t USING '{service.url}?table=d.t'")


@pytest.mark.parametrize(
    ("name", "value", "is_one"),
    [
        ("hive.metastore.pre.event.listeners", "org.apache.hadoop.hive.ql.security.authorization.AuthorizationPreEventListener", True),
        ("hive.metastore.filter.hook", "org.apache.hadoop.hive.metastore.DefaultMetaStoreFilterHookImpl", False),
        ("hive.metastore.filter.hook", "org.example.Filter", True),
        ("hive.security.authorization.manager", "org.apache.hadoop.hive.ql.security.authorization.plugin.sqlstd.SQLStdHiveAuthorizerFactory", False),
        ("hive.security.authorization.enabled", "TRUE", True),
        ("hive.security.authorization.enabled", "false", False),
    ],
)  # fmt: skip
def test_authorizers(name: str, value: str, is_one: bool) -> None:
    """What Hive has by itself is none; whatever else may refuse is one."""
    authorizer = find_authorizer(lambda asked: value if asked == name else "")
    assert (authorizer is not None) == is_one
