"""How messages lie on a connection: as they are, in frames, in frames that SASL has sealed, or in
requests of HTTP. A channel sends the bytes of a call and receives those of its answer.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any, Protocol

from acidsql.metastore.hive.protocol import MESSAGE_BYTES, RefusedError, WireError, foreign_speech
from acidsql.metastore.hive.sockets import CHUNK, Wire


class Channel(Protocol):
    """OSError and WireError end it."""

    def send(self, message: bytes, seconds: float) -> None:
        """Sends a call, whose answer has to be there after so many seconds."""

    def receive(self) -> bytes:
        """The next bytes of the answer, at least one."""

    def end(self) -> None:
        """The answer is whole. WireError if there is more of it."""

    @property
    def is_closed_there(self) -> bool:
        """Whether another call could not be answered any more."""

    def close(self) -> None: ...


class PlainChannel:
    """Messages one after the other, as Hive has them by default."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def send(self, message: bytes, seconds: float) -> None:
        self._wire.begin(seconds)
        self._wire.send(message)

    def receive(self) -> bytes:
        return self._wire.receive()

    def end(self) -> None: ...

    @property
    def is_closed_there(self) -> bool:
        return self._wire.is_closed_there

    def close(self) -> None:
        self._wire.close()


class FramedChannel(PlainChannel):
    """Each message behind its length: ``hive.metastore.thrift.framed.transport.enabled``."""

    def send(self, message: bytes, seconds: float) -> None:
        self._wire.begin(seconds)
        self._wire.send(framed(message))

    def receive(self) -> bytes:
        return received_frame(self._wire)


def framed(message: bytes) -> bytes:
    return len(message).to_bytes(4, "big") + message


def received_frame(wire: Wire) -> bytes:
    """The next frame. WireError for one that cannot be."""
    head = wire.receive_exactly(4)
    size = int.from_bytes(head, "big")
    if not 0 < size <= MESSAGE_BYTES:
        raise WireError(foreign_speech(head) or f"it sends a frame of {size} bytes")
    return wire.receive_exactly(size)


# ---- HTTP
#
# Messages as requests of HTTP, one for each call: the transport of Hive 4's
# ``metastore.client.thrift.transport.mode`` http. Hive: HiveMetaStoreClient.createHttpClient,
# HmsThriftHttpServlet; Thrift: THttpClient.


USER_HEADER = "x-actor-username"
"""Whom the metastore acts for, which it believes."""
_KIND = "application/x-thrift"
_OK = 200
_REFUSALS = {401: "it refuses who is there", 403: "it refuses this user"}


class HttpChannel:
    """``headers``: makes those of each request; secrets may be in them."""

    def __init__(
        self, wire: Wire, host: str, port: int, path: str, headers: Callable[[], Mapping[str, str]]
    ) -> None:
        self._wire = wire
        self._http = HTTPConnection(host, port)
        self._http.auto_open = 0  # a new connection is made above, where it is proven
        self._http.sock = _Socket(wire)
        self._path = path
        self._headers = headers
        self._response: HTTPResponse | None = None

    def send(self, message: bytes, seconds: float) -> None:
        headers = {"Content-Type": _KIND, "Accept": _KIND, **self._headers()}
        self._wire.begin(seconds)
        with _wire_errors():
            self._http.request("POST", self._path, message, headers)
            self._response = self._http.getresponse()
        status, words = self._response.status, f"HTTP {self._response.status}"
        if status in _REFUSALS:
            raise RefusedError(f"{_REFUSALS[status]} ({words})")
        if status != _OK:
            raise WireError(f"it answers {words} to a request for {self._path}")

    def receive(self) -> bytes:
        assert self._response is not None
        with _wire_errors():
            received = self._response.read1(CHUNK)
        if not received:
            raise ConnectionError("its answer ends too early")
        return received

    def end(self) -> None:
        assert self._response is not None
        with _wire_errors():
            more = self._response.read(1)  # which, unlike read1, notices the end
        if more:
            raise WireError("its answer does not end where it should")

    @property
    def is_closed_there(self) -> bool:
        return self._http.sock is None or self._wire.is_closed_there

    def close(self) -> None:
        self._wire.close()


@contextmanager
def _wire_errors() -> Iterator[None]:
    try:
        yield
    except HTTPException as error:
        raise WireError(f"what it answers is not HTTP ({type(error).__name__})") from None


class _Socket:
    """What the standard library asks of a socket. It is closed with its channel."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def sendall(self, data: bytes) -> None:
        self._wire.send(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Stream(self._wire), CHUNK)

    def close(self) -> None: ...


class _Stream(io.RawIOBase):
    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            received = self._wire.receive(min(len(buffer), CHUNK))
        except ConnectionError:
            if not self._wire.answers:
                raise
            return 0  # so ends an answer that does not say how long it is
        buffer[: len(received)] = received
        return len(received)
