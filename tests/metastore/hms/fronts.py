"""The same service of a Hive metastore behind TLS, Thrift's SASL and HTTP, as threads. The server's side
of DIGEST-MD5 is written down here once more, by RFC 2831.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import socket
import ssl
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Thread
from typing import Protocol

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.metastore.hms.service import HiveService

LONGEST_WAIT = 60
USER, PASSWORD = "ann", "a pass word"
IDENTIFIER, SECRET = b"\x00\x03ann\x04hive\x00an identifier", b"\x00\x01\x02 a secret of the token"
NONCE = "a nonce of the server"


# ---- certificates


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A certificate that signs itself. ``chain``: with its key, for a server."""

    pem: Path
    der: bytes
    chain: Path


def identity(folder: Path, name: str = "localhost") -> Identity:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trusted.pem").write_bytes(pem)
    (folder / "chain.pem").write_bytes(pem + secret)
    return Identity(
        pem=folder / "trusted.pem",
        der=certificate.public_bytes(serialization.Encoding.DER),
        chain=folder / "chain.pem",
    )


# ---- the front


class Peer(Protocol):
    """What the service asks of a socket."""

    def recv(self, size: int) -> bytes: ...

    def sendall(self, data: bytes) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ByTls:
    """What is spoken by TLS."""

    of: Identity
    then: Callable[[socket.socket], Peer] = lambda connection: connection

    def met(self, connection: socket.socket) -> ssl.SSLSocket:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.of.chain)
        return context.wrap_socket(connection, server_side=True)


@dataclass(kw_only=True)
class Front:
    """``meet``: makes a peer of a new connection; ``accepted``: how many there were."""

    service: HiveService
    meet: Callable[[socket.socket], Peer] | ByTls
    accepted: int = 0
    failures: list[BaseException] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.url = f"thrift://localhost:{self.port}"
        self._connections: list[socket.socket] = []
        self._threads = [Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._threads[0].join(LONGEST_WAIT)
        self.drop_connections()
        assert not self.failures

    def drop_connections(self) -> None:
        """Ends all, and waits until nobody serves them."""
        handles, self._connections = self._connections, []
        for one in handles:
            with suppress(OSError):  # it has gone by itself
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads[1:]:
            thread.join(LONGEST_WAIT)
        for one in handles:
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.accepted += 1
            handle = connection.dup()  # since TLS takes this one
            self._connections.append(handle)
            thread = Thread(target=self._serve, args=(connection, handle), daemon=True)
            thread.start()  # first: whoever sees it may wait for its end
            self._threads.append(thread)

    def _serve(self, connection: socket.socket, handle: socket.socket) -> None:
        try:
            if isinstance(self.meet, ByTls):
                with self.meet.met(connection) as secured:
                    self._answer(self.meet.then(secured))
            else:
                with connection:
                    self._answer(self.meet(connection))
        except OSError:  # it has gone, or is to be
            pass
        except BaseException as error:
            self.failures.append(error)
        finally:
            with suppress(OSError):  # the other end has gone
                handle.shutdown(socket.SHUT_RDWR)

    def _answer(self, peer: Peer) -> None:
        while True:
            peer.sendall(self.service._answer(peer))  # type: ignore[arg-type]


def exactly(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        more = connection.recv(size - len(received))
        if not more:
            raise ConnectionError
        received += more
    return received


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


# ---- SASL


def said(connection: socket.socket) -> tuple[int, bytes]:
    """A message of the negotiation: its status and its payload."""
    head = exactly(connection, 5)
    return head[0], exactly(connection, int.from_bytes(head[1:], "big"))


def say(connection: socket.socket, status: int, payload: bytes = b"") -> None:
    connection.sendall(bytes([status]) + framed(payload))


def refuse(connection: socket.socket, words: str) -> None:
    say(connection, 3, words.encode())
    raise ConnectionError


class Frames:
    """Messages in frames, which are sealed or not."""

    def __init__(self, connection: socket.socket, seal: Sealing | None = None) -> None:
        self._connection = connection
        self._seal = seal

    def recv(self, size: int) -> bytes:
        frame = exactly(self._connection, int.from_bytes(exactly(self._connection, 4), "big"))
        return frame if self._seal is None else self._seal.opened(frame)

    def sendall(self, data: bytes) -> None:
        """In two frames, as a server may."""
        for part in (data[:7], data[7:]):
            self._connection.sendall(
                framed(part if self._seal is None else self._seal.sealed(part))
            )


def by_password(connection: socket.socket) -> Peer:
    assert said(connection) == (1, b"PLAIN")
    status, words = said(connection)
    if (status, words.split(b"\0")) != (5, [b"", USER.encode(), PASSWORD.encode()]):
        refuse(connection, "Error validating the login")
    say(connection, 5)
    return Frames(connection)


@dataclass(kw_only=True)
class ByToken:
    """``offers``: the protections; ``proof``: makes of the right proof what is sent."""

    offers: str = "auth"
    proof: Callable[[str], str] = lambda right: right
    maxbuf: int = 65536
    ciphers: str = "3des,rc4"
    used: list[str] = field(default_factory=list)

    def __call__(self, connection: socket.socket) -> Peer:
        assert said(connection) == (1, b"DIGEST-MD5")
        assert said(connection) == (2, b"")
        challenge = f'realm="default",nonce="{NONCE}",qop="{self.offers}",charset=utf-8'
        challenge += f',cipher="{self.ciphers}",algorithm=md5-sess,maxbuf={self.maxbuf}'
        say(connection, 2, challenge.encode())
        status, response = said(connection)
        assert status == 2
        given = dict(re.findall(r'([a-z-]+)="?([^",]*)"?', response.decode()))
        secret = digest(b":".join((b64encode(IDENTIFIER), b"default", b64encode(SECRET))))
        session = digest(secret + f":{NONCE}:{given['cnonce']}".encode())
        if given["response"] != proof_of(session, given, "AUTHENTICATE"):
            refuse(connection, "DIGEST-MD5: digest response format violation. Mismatched response.")
        self.used.append(given["qop"])
        say(connection, 5, f"rspauth={self.proof(proof_of(session, given, ''))}".encode())
        if given["qop"] == "auth":
            return Frames(connection)
        return Frames(connection, Sealing(session, given["qop"] == "auth-conf", self.maxbuf))


def digest(text: bytes) -> bytes:
    return hashlib.md5(text).digest()


def proof_of(session: bytes, given: dict[str, str], method: str) -> str:
    body = "" if given["qop"] == "auth" else ":00000000000000000000000000000000"
    asked = digest(f"{method}:{given['digest-uri']}{body}".encode()).hex()
    text = f"{session.hex()}:{NONCE}:00000001:{given['cnonce']}:{given['qop']}:{asked}"
    return digest(text.encode()).hex()


class Sealing:
    """The server's side of what is sealed."""

    def __init__(self, session: bytes, is_private: bool, maxbuf: int) -> None:
        def key(words: str) -> bytes:
            return digest(session + f"{words} key magic constant".encode())

        self._own = key("Digest session key to server-to-client signing")
        self._theirs = key("Digest session key to client-to-server signing")
        self._maxbuf = maxbuf
        self._out = self._in = 0
        self._ciphers = None
        if is_private:
            self._ciphers = (
                Rc4(key("Digest H(A1) to server-to-client sealing")),
                Rc4(key("Digest H(A1) to client-to-server sealing")),
            )

    def sealed(self, message: bytes) -> bytes:
        number = self._out.to_bytes(4, "big")
        self._out += 1
        text = message + hmac.new(self._own, number + message, "md5").digest()[:10]
        return (
            (text if self._ciphers is None else self._ciphers[0].apply(text)) + b"\x00\x01" + number
        )

    def opened(self, frame: bytes) -> bytes:
        assert len(frame) <= self._maxbuf
        number = self._in.to_bytes(4, "big")
        self._in += 1
        assert frame[-6:] == b"\x00\x01" + number
        text = frame[:-6] if self._ciphers is None else self._ciphers[1].apply(frame[:-6])
        assert text[-10:] == hmac.new(self._theirs, number + text[:-10], "md5").digest()[:10]
        return text[:-10]


class Rc4:
    def __init__(self, key: bytes) -> None:
        self.box = list(range(256))
        j = 0
        for i in range(256):
            j = (j + self.box[i] + key[i % len(key)]) % 256
            self.box[i], self.box[j] = self.box[j], self.box[i]
        self.i = self.j = 0

    def apply(self, text: bytes) -> bytes:
        result = []
        for byte in text:
            self.i = (self.i + 1) % 256
            self.j = (self.j + self.box[self.i]) % 256
            self.box[self.i], self.box[self.j] = self.box[self.j], self.box[self.i]
            result.append(byte ^ self.box[(self.box[self.i] + self.box[self.j]) % 256])
        return bytes(result)


def token_file(path: Path, service: str = "") -> Path:
    """A file of Hadoop's tokens with that of the metastore."""

    def block(content: bytes) -> bytes:
        assert len(content) < 112
        return bytes([len(content)]) + content

    parts = (b"an alias", IDENTIFIER, SECRET, b"HIVE_DELEGATION_TOKEN", service.encode())
    path.write_bytes(b"HDTS\x00\x01" + b"".join(map(block, parts)) + b"\x00")
    return path


# ---- HTTP


class ByHttp:
    """``status``: of all answers; ``chunked``: whether these say how long they are; ``requests``: the
    headers of each.
    """

    def __init__(self, *, status: int = 200, chunked: bool = True, closes: bool = False) -> None:
        self.status, self.chunked, self.closes = status, chunked, closes
        self.requests: list[dict[str, str]] = []

    def __call__(self, connection: socket.socket) -> Peer:
        return _HttpPeer(connection, self)


class _HttpPeer:
    def __init__(self, connection: socket.socket, front: ByHttp) -> None:
        self._connection = connection
        self._incoming = connection.makefile("rb")
        self._front = front

    def recv(self, size: int) -> bytes:
        line = self._incoming.read(5).decode("latin-1")
        if line != "POST ":
            if line:
                self._send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            raise ConnectionError
        line += self._incoming.readline().decode()
        headers = dict(one.split(": ", 1) for one in self._lines())
        self._front.requests.append(headers)
        body = self._incoming.read(int(headers["Content-Length"]))
        if line.split() != ["POST", "/metastore", "HTTP/1.1"] or self._front.status != 200:
            status = self._front.status if self._front.status != 200 else 404
            words = BaseHTTPRequestHandler.responses[status][0]
            self._send(f"HTTP/1.1 {status} {words}\r\nContent-Length: 0\r\n\r\n".encode())
            raise ConnectionError
        return body

    def _lines(self) -> list[str]:
        lines = []
        while line := self._incoming.readline().decode().strip():
            lines.append(line)
        return lines

    def sendall(self, data: bytes) -> None:
        head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-thrift\r\n"
        if self._front.closes:
            self._send(f"{head}Connection: close\r\n\r\n".encode() + data)
            raise ConnectionError
        if self._front.chunked:
            self._send(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
            for part in (data[:5], data[5:]):
                self._send(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            self._send(b"0\r\n\r\n")
        else:
            self._send(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)

    def _send(self, data: bytes) -> None:
        self._connection.sendall(data)
