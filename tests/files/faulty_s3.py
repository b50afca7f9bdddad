"""A way to an S3 server on which requests meet what they meet on real ones: refusals, slow answers,
connections that are cut before or behind what was asked, and a server that is away.
"""

from __future__ import annotations

import http.client
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

FAULTS = ("503", "slow", "cut before", "cut behind", "half")
"""``cut behind``: the server has done what it was asked, and nobody is told; ``half``: the answer
breaks off in the middle.
"""
_UNAVAILABLE = (
    b'<?xml version="1.0" encoding="UTF-8"?>'
    b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
)
_SLOW_SECONDS = 0.2


class Faults:
    """Which requests go wrong: one in so many, or all while it is ``away``. ``met``: how often."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self.one_in = 0
        self.away = False
        self.met: dict[str, int] = {}

    def next(self) -> str | None:
        with self._lock:
            fault = None
            if self.away:
                fault = self._random.choice(("503", "cut before"))
            elif self.one_in and self._random.randrange(self.one_in) == 0:
                fault = self._random.choice(FAULTS)
            if fault is not None:
                self.met[fault] = self.met.get(fault, 0) + 1
            return fault


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, target: str, faults: Faults) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = urlsplit(target)
        self.faults = faults

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are what it is about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return body

    def _carry(self) -> None:
        fault = self.server.faults.next()
        if self.headers.get("Expect", "").lower() == "100-continue":
            self.send_response_only(100)
            self.end_headers()
        body = self._body()
        if fault == "cut before":
            self._cut()
            return
        if fault == "503":
            self._answer(503, [("Content-Type", "application/xml")], _UNAVAILABLE)
            return
        if fault == "slow":
            threading.Event().wait(_SLOW_SECONDS)
        status, headers, content = self._asked(body)
        if fault == "cut behind":
            self._cut()
        else:
            self._answer(status, headers, content, breaks_off=fault == "half")

    def _asked(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        there = http.client.HTTPConnection(
            str(self.server.target.hostname), self.server.target.port
        )
        left_out = ("transfer-encoding", "expect", "content-length", "connection")
        headers = {k: v for k, v in self.headers.items() if k.lower() not in left_out}
        headers["Content-Length"] = str(len(body))
        there.request(self.command, self.path, body, headers)
        answer = there.getresponse()
        content = answer.read()
        there.close()
        return answer.status, answer.getheaders(), content

    def _answer(
        self,
        status: int,
        headers: list[tuple[str, str]],
        content: bytes,
        *,
        breaks_off: bool = False,
    ) -> None:
        self.send_response_only(status)
        left_out = ("transfer-encoding", "connection", "content-length")
        for name, value in headers:
            if name.lower() not in left_out:
                self.send_header(name, value)
        of_head = next((v for k, v in headers if k.lower() == "content-length"), "0")
        self.send_header("Content-Length", of_head if self.command == "HEAD" else str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content[: len(content) // 2] if breaks_off else content)
        if breaks_off:
            self._cut()

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.close()

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _carry


@contextmanager
def faulty(endpoint: str, faults: Faults) -> Iterator[str]:
    """The address of the way to a server."""
    server = _Server(endpoint, faults)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
