"""A connection to a server of Hive's metastore: a plain socket, and nobody waits for long.

Several servers stand before one database, and any of them can be asked: whichever answers first in
their order.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any, TypeVar

from acidsql.errors import MetastoreError
from acidsql.metastore.hive.calls import FAILURE, SET_UGI, Method
from acidsql.metastore.hive.protocol import (
    MESSAGE_BYTES,
    Decoder,
    MessageType,
    WireError,
    encode_call,
    foreign_speech,
)

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 30.0
UNKNOWN_METHOD = 1
"""The type of a failure: Thrift's TApplicationException.UNKNOWN_METHOD."""
_CHUNK = 1 << 18
_LONGEST_REASON = 500
_CLOSED = "it closed the connection within its answer"
_CLOSED_AT_ONCE = (
    "it closed the connection without an answer, as one does that wants Kerberos, TLS, Thrift's"
    " compact protocol, or framed messages (?framed=true)"
)

Answer = TypeVar("Answer")


class DeclaredError(Exception):
    """An exception that a method declares. ``kind``: its name in Hive."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class FailedThereError(WireError):
    """A method failed at the server in a way that it does not declare. ``is_unknown``: the server
    has no method of that name.
    """

    def __init__(self, message: str, *, is_unknown: bool) -> None:
        super().__init__(message)
        self.is_unknown = is_unknown


class Connection:
    """A socket on which one call is made at a time. OSError and WireError end it, but
    FailedThereError.
    """

    def __init__(
        self, connected: socket.socket, *, framed: bool, answer_seconds: float | None = None
    ) -> None:
        self._socket = connected
        self._framed = framed
        self._answer_seconds = ANSWER_SECONDS if answer_seconds is None else answer_seconds
        self._sequence = 0
        self._deadline = 0.0
        self._answers = False

    def call(self, method: Method, **arguments: Any) -> Any:
        """The result of a method. DeclaredError for an exception that it declares."""
        self._sequence += 1
        message = encode_call(method.name, self._sequence, method.arguments, arguments)
        if self._framed:
            message = len(message).to_bytes(4, "big") + message
        self._deadline, self._answers = monotonic() + self._answer_seconds, False
        self._send(message)
        decoder = Decoder(self._receive_frame if self._framed else self._receive)
        kind, name, sequence = decoder.head()
        if (name, sequence) != (method.name, self._sequence):
            raise WireError(f'it answers another call: "{name[:40]}"')
        if kind == MessageType.EXCEPTION:
            failure = decoder.value(FAILURE)
            raise FailedThereError(
                f"{method.name} failed there: {_one_line(failure.get('message', ''))}",
                is_unknown=failure.get("type") == UNKNOWN_METHOD,
            )
        if kind != MessageType.REPLY:
            raise WireError("what it answers is no answer")
        answer = decoder.value(method.answer)
        if decoder.has_more:
            raise WireError("its answer does not end where it should")
        for declared in method.errors.values():
            if declared in answer:
                raise DeclaredError(declared, _one_line(answer[declared].get("message", "")))
        if method.result is None:
            return None
        if "success" not in answer:
            raise WireError(f"{method.name} has no result")
        return answer["success"]

    @property
    def is_closed_there(self) -> bool:
        """Whether the server has closed it, or said something that nobody asked for, since."""
        try:
            self._socket.settimeout(0)
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            pass
        return True

    def close(self) -> None:
        self._socket.close()

    def _wait(self) -> None:
        left = self._deadline - monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)

    def _send(self, message: bytes) -> None:
        self._wait()
        try:
            self._socket.sendall(message)
        except ConnectionError as error:
            raise ConnectionError(_CLOSED_AT_ONCE) from error

    def _receive(self, size: int = _CHUNK) -> bytes:
        self._wait()
        try:
            received = self._socket.recv(size)
        except ConnectionError:
            received = b""
        if not received:
            raise ConnectionError(_CLOSED if self._answers else _CLOSED_AT_ONCE)
        self._answers = True
        return received

    def _receive_frame(self) -> bytes:
        head = self._receive_exactly(4)
        size = int.from_bytes(head, "big")
        if not 0 < size <= MESSAGE_BYTES:
            raise WireError(foreign_speech(head) or f"it sends a frame of {size} bytes")
        return self._receive_exactly(size)

    def _receive_exactly(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            parts.append(self._receive(min(size, _CHUNK)))
            size -= len(parts[-1])
        return b"".join(parts)


@contextmanager
def connected(host: str, port: int, *, framed: bool, user: str) -> Iterator[Connection]:
    """A connection on which the metastore acts for a user. It is closed behind the block."""
    connection = connect(host, port, framed=framed, user=user)
    try:
        yield connection
    finally:
        connection.close()


def connect(
    host: str, port: int, *, framed: bool, user: str, answer_seconds: float | None = None
) -> Connection:
    """A connection as ``connected`` gives one, which its user closes."""
    opened = socket.create_connection((host, port), timeout=CONNECT_SECONDS)
    connection = Connection(opened, framed=framed, answer_seconds=answer_seconds)
    try:
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.call(SET_UGI, user_name=user, group_names=[])
    except BaseException:
        connection.close()
        raise
    return connection


def ask_first(
    servers: Sequence[tuple[str, int]],
    ask: Callable[[Connection], Answer],
    *,
    framed: bool,
    user: str,
    shown: str,
) -> Answer:
    """What the first server tells that can be asked, by host and port. MetastoreError if none can,
    with what each of them did; ``shown``: how it names them.
    """
    failures: list[str] = []
    for host, port in servers:
        try:
            with connected(host, port, framed=framed, user=user) as connection:
                return ask(connection)
        except (OSError, WireError) as error:
            failures.append(f"{host}:{port}: {reason_of(error)}")
        except DeclaredError as error:
            raise MetastoreError(f"the metastore {shown} refuses: {error.message}") from error
    if len(failures) == 1:
        failures = [failures[0].removeprefix(f"{servers[0][0]}:{servers[0][1]}: ")]
    raise MetastoreError(f"cannot ask the metastore {shown}: {'; '.join(failures)}")


def _one_line(text: str) -> str:
    """What a server says, which may be the trace of an exception."""
    return " ".join(text.split())[:_LONGEST_REASON] or "it says no reason"


def reason_of(error: Exception) -> str:
    """What is wrong with a connection, in words."""
    if isinstance(error, TimeoutError):
        return "it does not answer in time"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
