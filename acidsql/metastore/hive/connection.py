"""A connection to a server of Hive's metastore: one call at a time, and nobody waits for long.

Several servers stand before one database, and any of them can be asked: whichever answers first in
their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from acidsql.errors import MetastoreError
from acidsql.metastore.hive.calls.declaring import FAILURE, Method
from acidsql.metastore.hive.calls.reading import GET_VERSION, SET_UGI
from acidsql.metastore.hive.channels import Channel
from acidsql.metastore.hive.protocol import Decoder, MessageType, WireError, encode_call
from acidsql.metastore.hive.reaching import Access, open_channel

ANSWER_SECONDS = 30.0
UNKNOWN_METHOD = 1
"""The type of a failure: Thrift's TApplicationException.UNKNOWN_METHOD."""
_LONGEST_REASON = 500
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
    """A channel on which one call is made at a time. OSError and WireError end it, but
    FailedThereError.
    """

    def __init__(self, channel: Channel, *, answer_seconds: float) -> None:
        self._channel = channel
        self._answer_seconds = answer_seconds
        self._sequence = 0

    def call(self, method: Method, **arguments: Any) -> Any:
        """The result of a method. DeclaredError for an exception that it declares."""
        self._sequence += 1
        message = encode_call(method.name, self._sequence, method.arguments, arguments)
        self._channel.send(message, self._answer_seconds)
        decoder = Decoder(self._channel.receive)
        kind, name, sequence = decoder.head()
        if (name, sequence) != (method.name, self._sequence):
            raise WireError(f'it answers another call: "{name[:40]}"')
        if kind == MessageType.EXCEPTION:
            failure = decoder.value(FAILURE)
            self._end(decoder)
            raise FailedThereError(
                f"{method.name} failed there: {_one_line(failure.get('message', ''))}",
                is_unknown=failure.get("type") == UNKNOWN_METHOD,
            )
        if kind != MessageType.REPLY:
            raise WireError("what it answers is no answer")
        answer = decoder.value(method.answer)
        self._end(decoder)
        for declared in method.errors.values():
            if declared in answer:
                raise DeclaredError(declared, _one_line(answer[declared].get("message", "")))
        if method.result is None:
            return None
        if "success" not in answer:
            raise WireError(f"{method.name} has no result")
        return answer["success"]

    def _end(self, decoder: Decoder) -> None:
        if decoder.has_more:
            raise WireError("its answer does not end where it should")
        self._channel.end()

    @property
    def is_closed_there(self) -> bool:
        """Whether the server has closed it, or said something that nobody asked for, since."""
        return self._channel.is_closed_there

    def close(self) -> None:
        self._channel.close()


@contextmanager
def connected(
    host: str, port: int, access: Access, *, user: str, answer_seconds: float
) -> Iterator[Connection]:
    """A connection on which the metastore acts for a user. It is closed behind the block."""
    connection = connect(host, port, access, user=user, answer_seconds=answer_seconds)
    try:
        yield connection
    finally:
        connection.close()


def connect(
    host: str, port: int, access: Access, *, user: str, answer_seconds: float
) -> Connection:
    """A connection as ``connected`` gives one, which its user closes."""

    def opened() -> Connection:
        channel = open_channel(host, port, access, user=user, seconds=answer_seconds)
        return Connection(channel, answer_seconds=answer_seconds)

    connection = opened()
    try:
        if access.http is not None:
            connection.call(GET_VERSION)  # it lets us in, or not
            if connection.is_closed_there:  # as behind each answer of some
                connection.close()
                connection = opened()
        elif access.login is None:
            connection.call(SET_UGI, user_name=user, group_names=[])
    except BaseException:
        connection.close()
        raise
    return connection


def ask_first(
    servers: Sequence[tuple[str, int]],
    ask: Callable[[Connection], Answer],
    *,
    access: Access,
    user: str,
    shown: str,
) -> Answer:
    """What the first server tells that can be asked, by host and port. MetastoreError if none can,
    with what each of them did; ``shown``: how it names them.
    """
    failures: list[str] = []
    for host, port in servers:
        try:
            with connected(
                host, port, access, user=user, answer_seconds=ANSWER_SECONDS
            ) as connection:
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
    unproven: str | None = getattr(error, "verify_message", None)
    if unproven:
        return f"TLS does not trust it: {unproven}"
    if hasattr(error, "library") and hasattr(error, "reason"):
        return f"no TLS comes about: {error.reason}"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
