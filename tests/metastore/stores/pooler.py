"""A pooler before a PostgreSQL server, in transaction mode, as pgbouncer is: a client has a process
of the server for one transaction, and for the next one another. Nothing is cleaned up in between.
"""

from __future__ import annotations

import os
import queue
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.postgresql_server import PostgreSQLServer

SSL, GSS, CANCEL = 80877103, 80877104, 80877102
PROCESSES = 3


class _Stream:
    """Messages of PostgreSQL's protocol on a socket."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection

    def exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self.connection.recv(count - len(data))
            if not more:
                raise ConnectionError("closed")
            data += more
        return data

    def message(self) -> tuple[bytes, bytes]:
        """Its kind, and the whole message."""
        head = self.exactly(5)
        (length,) = struct.unpack("!i", head[1:])
        return head[:1], head + self.exactly(length - 4)

    def startup(self) -> bytes:
        (length,) = struct.unpack("!i", self.exactly(4))
        return self.exactly(length - 4)

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


class Pooler:
    """Listens on ``port``. ``transactions``: how many each process of the server has had."""

    def __init__(self, server: PostgreSQLServer, database: str, user: str) -> None:
        self._server = server
        self._startup = b"".join(
            one.encode() + b"\0"
            for one in ("user", user, "database", database, "client_encoding", "UTF8", "")
        )
        self._idle: queue.Queue[tuple[int, _Stream]] = queue.Queue()
        self._greeting = b""
        self.transactions = [0] * PROCESSES
        for number in range(PROCESSES):
            self._idle.put((number, self._connected()))
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _connected(self) -> _Stream:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(f"{self._server.folder}/.s.PGSQL.{self._server.port}")
        stream = _Stream(connection)
        body = struct.pack("!i", 196608) + self._startup
        stream.send(struct.pack("!i", len(body) + 4) + body)
        greeting = b""
        while True:
            kind, message = stream.message()
            assert kind != b"E", message
            if kind == b"S":
                greeting += message
            if kind == b"Z":
                self._greeting = greeting
                return stream

    def _listen(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(ConnectionError, OSError):
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else small messages wait
            stream = _Stream(client)
            while True:
                (code,) = struct.unpack("!i", stream.startup()[:4])
                if code == CANCEL:
                    return
                if code not in (SSL, GSS):
                    break
                stream.send(b"N")
            key = struct.pack("!ii", 1_000_000 + client.fileno(), 42)  # as pgbouncer makes one up
            ok = _message(b"R", struct.pack("!i", 0))
            stream.send(ok + self._greeting + _message(b"K", key) + _message(b"Z", b"I"))
            while self._transaction(stream):
                pass

    def _transaction(self, client: _Stream) -> bool:
        """Whether another one may follow."""
        kind, message = client.message()
        if kind == b"X":
            return False
        number, process = self._idle.get()
        self.transactions[number] += 1
        is_over = False
        try:
            while True:
                process.send(message)
                if kind in b"QS" and self._answer(process, client) == b"I":
                    is_over = True
                    return True
                kind, message = client.message()
                if kind == b"X":
                    return False
        finally:
            if is_over:
                self._idle.put((number, process))
            else:  # in a transaction that nobody ends: the server rolls it back
                process.connection.close()
                self._idle.put((number, self._connected()))

    @staticmethod
    def _answer(process: _Stream, client: _Stream) -> bytes:
        """Hands an answer on; the state behind it."""
        while True:
            kind, message = process.message()
            client.send(message)
            if kind == b"Z":
                return message[-1:]

    def asked_everywhere(self, query: str) -> list[str]:
        """What each process of the server answers, while nobody else uses them: first columns."""
        answers = []
        held = [self._idle.get() for _ in range(PROCESSES)]
        for _, process in held:
            process.send(_message(b"Q", query.encode() + b"\0"))
            while (read := process.message())[0] != b"Z":
                kind, message = read
                assert kind != b"E", message
                if kind == b"D":
                    (length,) = struct.unpack("!i", message[7:11])
                    answers.append(message[11 : 11 + length].decode())
        for one in held:
            self._idle.put(one)
        return answers

    def close(self) -> None:
        self._listener.close()
        while not self._idle.empty():
            self._idle.get()[1].connection.close()


@contextmanager
def pooler(server: PostgreSQLServer, database: str, user: str) -> Iterator[Pooler]:
    """A pooler before a database of the server."""
    assert os.name == "posix"
    one = Pooler(server, database, user)
    try:
        yield one
    finally:
        one.close()
