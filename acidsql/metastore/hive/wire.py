"""A socket to a server of Hive's metastore, by TLS or not, on which nobody waits for long: each
exchange has a deadline for its last byte.
"""

from __future__ import annotations

import socket
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ssl import SSLContext

CHUNK = 1 << 18
CONNECT_SECONDS = 10.0
_CLOSED = "it closed the connection within its answer"
_CLOSED_AT_ONCE = (
    "it closed the connection without an answer, as one does that wants Kerberos"
    " (hive.metastore.sasl.enabled), a password (metastore.client.auth.mode=plain), TLS"
    " (hive.metastore.use.SSL), none of them, Thrift's compact protocol, or framed messages"
    " (?framed=true)"
)


class Wire:
    """Bytes to a server and back. OSError ends it. ``answers``: whether some have come in this
    exchange.
    """

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._deadline = 0.0
        self.answers = False

    def begin(self, seconds: float) -> None:
        """An exchange begins, which has to be over after so many seconds."""
        self._deadline, self.answers = monotonic() + seconds, False

    def send(self, message: bytes) -> None:
        self._wait()
        try:
            self._socket.sendall(message)
        except ConnectionError as error:
            raise ConnectionError(_CLOSED_AT_ONCE) from error

    def receive(self, size: int = CHUNK) -> bytes:
        """What comes next, at least one byte. ConnectionError at the end."""
        self._wait()
        try:
            received = self._socket.recv(size)
        except ConnectionError:
            received = b""
        if not received:
            raise ConnectionError(_CLOSED if self.answers else _CLOSED_AT_ONCE)
        self.answers = True
        return received

    def receive_exactly(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            parts.append(self.receive(min(size, CHUNK)))
            size -= len(parts[-1])
        return b"".join(parts)

    @property
    def is_closed_there(self) -> bool:
        """Whether the server has closed it, or said something that nobody asked for, since: it is
        of no use then. TLS has words of its own, which are none to us.
        """
        try:
            self._socket.settimeout(0)
            self._socket.recv(1)
        except BlockingIOError:
            return False
        except OSError as error:
            return not _is_unfinished(error)
        return True

    def close(self) -> None:
        self._socket.close()

    def _wait(self) -> None:
        left = self._deadline - monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)


def open_wire(host: str, port: int, tls: SSLContext | None, seconds: float) -> Wire:
    """A connected socket; by TLS the server has proven within so many seconds that it is ``host``.
    OSError if not.
    """
    opened = socket.create_connection((host, port), timeout=CONNECT_SECONDS)
    try:
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            opened.settimeout(seconds)
            opened = tls.wrap_socket(opened, server_hostname=host)
    except BaseException:
        opened.close()
        raise
    return Wire(opened)


def _is_unfinished(error: OSError) -> bool:
    """Whether nothing but a part of TLS's own words is there."""
    return type(error).__name__ == "SSLWantReadError"
