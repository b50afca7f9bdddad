"""Metrics of a daemon for those who collect them: over HTTP, or in a file that is replaced in one
step each time.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from acidsql.errors import Error, ProgrammingError
from acidsql.lazy_dataclass import dataclass

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
LOCAL = "127.0.0.1"
EVERY_SECONDS = 15.0
"""How old the numbers may be: they are made from the store, and from listings of tables."""
_READABLE = 0o644


@dataclass(slots=True)
class Exposition:
    """What nobody wants to see, or others ask for: ``refresh`` does nothing. ``address``: the URL
    to ask.
    """

    address: str | None = None

    def refresh(self) -> None:
        """Makes the numbers anew where they are too old."""


class _Text:
    """The text, made anew by the first request when it is too old."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._taken = 0.0
        self._text = ""

    def get(self) -> str:
        """The text; Error or OSError if it cannot be made."""
        with self._lock:
            if not self._text or time.monotonic() - self._taken >= EVERY_SECONDS:
                self._text, self._taken = self._make(), time.monotonic()
            return self._text


class _InFile(Exposition):
    def __init__(self, path: Path, text: _Text) -> None:
        super().__init__()
        self._path = path
        self._text = text
        self._written = ""

    def refresh(self) -> None:
        with suppress(Error, OSError):  # the next round writes it
            text = self._text.get()
            if text != self._written:
                _replace(self._path, text)
                self._written = text


@contextmanager
def exposition(where: str | None, make: Callable[[], str]) -> Iterator[Exposition]:
    """Gives metrics while the block runs. ``where``: a port, HOST:PORT or a file; None: nowhere.
    ProgrammingError if nobody can listen there, or the file cannot be written.
    """
    address = None if where is None else _address(where)
    if where is None:
        yield Exposition()
    elif address is None:
        yield _checked(_InFile(Path(where), _Text(make)), Path(where))
    else:
        with _server(where, address, _Text(make)) as server:
            thread = threading.Thread(
                target=server.serve_forever, name="acidsql metrics", daemon=True
            )
            thread.start()
            try:
                yield Exposition(_url(server))
            finally:
                server.shutdown()
                thread.join()


def _checked(shown: _InFile, path: Path) -> _InFile:
    if not path.parent.is_dir():
        raise ProgrammingError(f'metrics cannot be written to "{path}": no such directory')
    return shown


def _address(where: str) -> tuple[str, int] | None:
    """Host and port; None for a file. ProgrammingError for a port that there is not."""
    host, _, port = where.rpartition(":")
    if not port.isdecimal() or "/" in where:
        return None
    if int(port) > 0xFFFF:
        raise ProgrammingError(f"there is no port {port}", hint="A file of that name is ./NAME.")
    return host.strip("[]") or LOCAL, int(port)


def _server(where: str, address: tuple[str, int], text: _Text) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                status, body = (200, text.get()) if self.path == "/metrics" else (404, "")
            except (Error, OSError) as error:
                status, body = 503, f"{error}\n"
            content = body.encode()
            self.send_response(status)
            kind = CONTENT_TYPE if status == 200 else "text/plain; charset=utf-8"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Says nothing: the log is about tables."""

    try:
        return ThreadingHTTPServer(address, Handler)
    except OSError as error:
        raise ProgrammingError(f'nobody can listen at "{where}": {error.strerror}') from error


def _url(server: ThreadingHTTPServer) -> str:
    host, port = server.server_address[:2]
    return f"http://{host!s}:{port}/metrics"


def _replace(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, _READABLE)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
