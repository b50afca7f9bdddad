"""How a PostgreSQL metastore is named and connected to; its secrets are never shown."""

from __future__ import annotations

import datetime
import ipaddress
import logging
import socket
import ssl
import struct
import sys
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from sqlalchemy import text

from acidsql.cli.main import main
from acidsql.dbapi import connect
from acidsql.errors import Error, MetastoreError
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.metastore.stores import connections
from acidsql.metastore.stores.connections import parse_metastore, shown, without_secrets
from acidsql.session import Session
from tests.postgresql_server import PASSWORD, USER, PostgreSQLServer

SECRET = "s3cr%4et"
"""As it stands in a URL; a password is s3crNet then."""
SSL_REQUEST = struct.pack("!ii", 8, 80877103)
"""How a client of PostgreSQL asks for TLS."""
SECRETS = (SECRET, "s3cr@", "s3cr", PASSWORD)


def shows_a_secret(shown_text: str) -> bool:
    return any(secret in shown_text for secret in SECRETS)


@pytest.fixture
def database(postgresql_server: PostgreSQLServer) -> Iterator[str]:
    name = postgresql_server.make_database()
    yield name
    postgresql_server.drop_database(name)


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        ("postgresql+psycopg://u:s3cr@h/d", "postgresql+psycopg://u:***@h/d"),
        (
            "postgres://u@h:5433/d?sslmode=require",
            "postgresql+psycopg://u@h:5433/d?sslmode=require",
        ),
        ("postgresql:///d?password=s3cr", "postgresql+psycopg:///d?password=%2A%2A%2A"),
        (
            "postgresql://u@h/d?sslpassword=s3cr&sslkey=k",
            "postgresql+psycopg://u@h/d?sslkey=k&sslpassword=%2A%2A%2A",
        ),
    ],
)
def test_a_url_is_shown_without_its_secrets(given: str, printed: str) -> None:
    """Wherever they stand in it."""
    assert shown(parse_metastore(given)) == printed


def test_secrets_that_an_error_quotes_are_masked() -> None:
    """As they are, and as URLs write them."""
    url = parse_metastore("postgresql://u:a%2Fb%20c@h/d?sslpassword=xyzzy")
    assert without_secrets("a/b c, a%2Fb%20c, a%2Fb+c, xyzzy.", url) == "***, ***, ***, ***."


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (f"postgresql://u:{SECRET}@h:port/d", "the metastore is not the URL of a database"),
        (f"no url with {SECRET}", "the metastore is not the URL of a database"),
        (f"mysql+pymysql://u:{SECRET}@h/d", 'of the kind "mysql\\+pymysql" is not supported'),
        (f"postgresql+asyncpg://u:{SECRET}@h/d", 'of the kind "postgresql\\+asyncpg"'),
        (f"postgresql://u:{SECRET}@h/d?ssl=true", '"ssl" in the URL .* is no connection option'),
    ],
)
def test_urls_that_are_refused(tmp_path: Path, url: str, message: str) -> None:
    """With the reason, a form that would do, and without the text."""
    with pytest.raises(MetastoreError, match=message) as caught:
        EmbeddedMetastore(str(tmp_path), metastore=url)
    assert caught.value.hint
    assert not shows_a_secret("".join(traceback.format_exception(caught.value)))


def test_a_wrong_password(tmp_path: Path, postgresql_server: PostgreSQLServer) -> None:
    """Is an error that says where passwords come from; neither it nor its causes show one."""
    url = f"postgresql://{USER}:{SECRET}@127.0.0.1:{postgresql_server.port}/postgres"
    with pytest.raises(MetastoreError, match="password authentication failed") as caught:
        EmbeddedMetastore(str(tmp_path), metastore=url)
    assert "PGPASSWORD" in str(caught.value.hint)
    assert not shows_a_secret("".join(traceback.format_exception(caught.value)))
    url = f"postgresql://{USER}@127.0.0.1:{postgresql_server.port}/postgres"
    with pytest.raises(MetastoreError, match="no password supplied") as caught:
        EmbeddedMetastore(str(tmp_path), metastore=url)
    assert "PGPASSWORD" in str(caught.value.hint)


def test_without_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    connections.psycopg_module.cache_clear()
    connections.options_of_libpq.cache_clear()
    with pytest.raises(MetastoreError, match="needs the package psycopg") as caught:
        EmbeddedMetastore(str(tmp_path), metastore="postgresql://h/d")
    assert "acidsql[postgres]" in str(caught.value.hint)


def test_who_is_not_there(tmp_path: Path, postgresql_server: PostgreSQLServer) -> None:
    """A server, a database: each has its hint."""
    with pytest.raises(MetastoreError, match="does not exist") as caught:
        EmbeddedMetastore(str(tmp_path), metastore=postgresql_server.url("nowhere"))
    assert "CREATE DATABASE" in str(caught.value.hint)
    with pytest.raises(MetastoreError, match="Is the server running") as caught:
        EmbeddedMetastore(str(tmp_path), metastore=f"postgresql:///d?host={tmp_path}")
    assert "server runs" in str(caught.value.hint)


def test_the_password_is_nowhere_to_be_seen(
    tmp_path: Path,
    postgresql_server: PostgreSQLServer,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Not in what SET, EXPLAIN and SHOW print, in repr, logs, errors, the warehouse or the shell."""
    caplog.set_level(logging.DEBUG)
    host = f"127.0.0.1:{postgresql_server.port}/{database}"
    url = f"postgresql://{USER}:p%40ss%2Fw%3Ard %2541@{host}"
    seen = []
    monkeypatch.setenv("ACIDSQL_METASTORE", url)
    with Session(tmp_path / "w") as session:
        session.sql("CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
        session.sql("INSERT INTO t VALUES (1)")
        for statement in (
            "SET", "SET -v", "SET env:ACIDSQL_METASTORE", "EXPLAIN EXTENDED INSERT INTO t VALUES (1)",
            "DESCRIBE FORMATTED t", "SHOW TRANSACTIONS", "SHOW LOCKS", "DESCRIBE DATABASE EXTENDED default",
        ):  # fmt: skip
            seen += [str(row) for row in session.sql(statement).rows()]
        store = session.store._store
        seen += [repr(session), repr(session.store), repr(store), store.name, repr(vars(store))]
        with store.write() as connection:
            connection.execute(text('DROP TABLE "TBLS" CASCADE'))
        with pytest.raises(Error) as caught:
            session.sql("INSERT INTO t VALUES (1)")
        seen += traceback.format_exception(caught.value)
    seen += [file.read_text() for file in (tmp_path / "w" / "_acidsql").iterdir()]
    for options in ([], ["--metastore", f"{url}x"]):
        main(["--warehouse", str(tmp_path / "other"), *options, "-e", "SHOW TABLES"])
    seen += [*capsys.readouterr(), caplog.text]
    assert [one for one in seen if "p@ss" in one or "p%40ss" in one] == []
    assert any("***@127.0.0.1" in one for one in seen)


def test_every_door_takes_the_url(
    tmp_path: Path,
    postgresql: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Session, connect, --metastore, and $ACIDSQL_METASTORE where none is named; "" is the file."""
    warehouse = tmp_path / "w"
    with Session(warehouse, metastore=postgresql) as session:
        session.sql("CREATE TABLE one (id INT)")
        url = session.store.metastore
        with Session(warehouse, metastore=url) as beside:
            assert list(beside.sql("SHOW TABLES").rows()) == [("one",)]
    connection = connect(warehouse, metastore=postgresql, autocommit=True)
    connection.cursor().execute("CREATE TABLE two (id INT)")
    connection.close()
    command = ["--warehouse", str(warehouse), "-S", "-e", "SHOW TABLES"]
    assert main([*command, "--metastore", postgresql]) == 0
    assert main(command) == 1
    monkeypatch.setenv("ACIDSQL_METASTORE", postgresql)
    assert main(command) == 0
    assert capsys.readouterr().out.split() == ["one", "two", "one", "two"]
    assert main(["--warehouse", str(tmp_path / "x"), "--metastore", "", "-e", "SHOW TABLES"]) == 0
    assert (tmp_path / "x" / "_acidsql" / "metastore.db").exists()


# --- TLS
# --------------------------------------------------------------------------------------------------


def certificate(folder: Path, name: str) -> Path:
    """Makes a certificate for 127.0.0.1 that signs itself, and its key beside it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder()
        .subject_name(subject).issuer_name(subject).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    path = folder / f"{name}.crt"
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / f"{name}.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return path


def test_tls_that_the_server_has_not(
    tmp_path: Path, postgresql_server: PostgreSQLServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Is asked for by the URL or the environment, and refused: no password goes out in the clear."""
    url = f"postgresql://{USER}:{SECRET}@127.0.0.1:{postgresql_server.port}/postgres"
    with pytest.raises(MetastoreError, match="server does not support SSL") as caught:
        EmbeddedMetastore(str(tmp_path), metastore=f"{url}?sslmode=require")
    assert "sslmode" in str(caught.value.hint)
    monkeypatch.setenv("PGSSLMODE", "verify-full")
    with pytest.raises(MetastoreError, match=r"SSL|root certificate"):
        EmbeddedMetastore(str(tmp_path), metastore=url)


@contextmanager
def tls_in_front(server: PostgreSQLServer, path: Path) -> Iterator[int]:
    """The port of a server with this certificate, which passes on what it gets to ``server``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path, path.with_suffix(".key"))
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(64) as pool:

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                pool.submit(pass_on, client)

        def pass_on(client: socket.socket) -> None:
            with client, suppress(OSError):
                assert client.recv(8) == SSL_REQUEST
                client.sendall(b"S")
                with (
                    context.wrap_socket(client, server_side=True) as secure,
                    socket.create_connection(("127.0.0.1", server.port)) as behind,
                ):
                    back = pool.submit(pump, behind, secure)
                    pump(secure, behind)
                    back.result()

        pool.submit(serve)
        yield int(listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)


def pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)


def test_tls_that_is_verified(
    tmp_path: Path, postgresql_server: PostgreSQLServer, database: str
) -> None:
    """A server with the certificate that sslrootcert names is trusted, one with another is not."""
    trusted, other = certificate(tmp_path, "trusted"), certificate(tmp_path, "other")
    with tls_in_front(postgresql_server, trusted) as port:
        url = (
            f"postgresql://{USER}:p%40ss%2Fw%3Ard %2541@127.0.0.1:{port}/{database}"
            "?sslmode=verify-full&sslrootcert="
        )
        with EmbeddedMetastore(str(tmp_path / "w"), metastore=f"{url}{trusted}") as metastore:
            assert metastore.open_txn() == 1
        with pytest.raises(MetastoreError, match="certificate verify failed") as caught:
            EmbeddedMetastore(str(tmp_path / "w"), metastore=f"{url}{other}")
        assert "sslrootcert" in str(caught.value.hint)
