"""A client of Hive's metastore that lives as long as a session, and its connections to one server:
connections are used again, as long as each of their calls was answered.

A connection that failed, or did not answer in time, is never used again: what came late would be
taken for the answer to the next call. Several servers stand before one database; the one that
answered last is asked first. A call that was sent and not answered may have been carried out:
``LostError``. It is sent again only where that changes nothing, and to whoever answers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeVar

from acidsql.errors import MetastoreError, NotSupportedError
from acidsql.metastore.hive.calls.reading import FAILURE, GET_VERSION, SET_UGI, Method
from acidsql.metastore.hive.channels import Channel
from acidsql.metastore.hive.protocol import (
    Decoder,
    MessageType,
    RefusedError,
    WireError,
    encode_call,
)
from acidsql.metastore.hive.reaching import Access, open_channel

# ---- connections
#
# A connection to a server of Hive's metastore: one call at a time, and nobody waits for long.
#
# Several servers stand before one database, and any of them can be asked: whichever answers first
# in their order.


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


# ---- client


_MOST_IDLE = 4
_ATTEMPTS = 3


class LostError(MetastoreError):
    """A call was sent, and no answer came: it may have been carried out."""


class ServerFailedError(MetastoreError):
    """A server could not carry a call out, and does not say why (its log does)."""


class Client:
    """Any thread may call it. ``access``: how the servers are reached; ``shown``: how errors name
    them; ``user``: whom the metastore acts for; ``answer_seconds``: how long an answer may take.
    """

    def __init__(
        self,
        servers: Sequence[tuple[str, int]],
        *,
        access: Access,
        user: str,
        shown: str,
        answer_seconds: float,
    ) -> None:
        self._servers = list(servers)
        self._access = access
        self._user = user
        self._answer_seconds = answer_seconds
        self._idle: list[Connection] = []
        self._pid = os.getpid()
        self.shown = shown

    def call(self, method: Method, *, again: bool = False, **arguments: Any) -> Any:
        """The result of a method. ``again``: calling it twice is as good as once, so that an answer
        which does not come is asked for anew.

        DeclaredError for an exception that it declares; LostError; ServerFailedError;
        MetastoreError if no server can be reached.
        """
        for left in reversed(range(_ATTEMPTS if again else 1)):
            connection = self._take()
            try:
                return self._called(connection, method, arguments)
            except LostError:
                if not left:
                    raise
        raise AssertionError  # the last attempt returns or raises

    def _called(self, connection: Connection, method: Method, arguments: dict[str, Any]) -> Any:
        is_whole = False
        try:
            result = connection.call(method, **arguments)
            is_whole = True
            return result
        except FailedThereError as error:
            is_whole = True
            if error.is_unknown:
                raise NotSupportedError(
                    f'the metastore {self.shown} has no "{method.name}"',
                    detail=f"it is Hive {self.version}",
                ) from error
            raise ServerFailedError(f"the metastore {self.shown}: {error}") from error
        except RefusedError as error:
            raise MetastoreError(f"the metastore {self.shown}: {error}") from error
        except (OSError, WireError) as error:
            raise LostError(
                f"the metastore {self.shown} did not answer {method.name}: {reason_of(error)}"
            ) from error
        except Exception:  # what it declares
            is_whole = True
            raise
        finally:
            if is_whole and len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
            else:
                connection.close()

    def _take(self) -> Connection:
        if self._pid != os.getpid():  # a forked child: these are its parent's
            self._idle, self._pid = [], os.getpid()
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed_there:
                return connection
            connection.close()
        return self._connect()

    def _connect(self) -> Connection:
        failures: list[str] = []
        for server in tuple(self._servers):
            host, port = server
            try:
                connection = connect(
                    host,
                    port,
                    self._access,
                    user=self._user,
                    answer_seconds=self._answer_seconds,
                )
            except (OSError, WireError) as error:
                failures.append(f"{host}:{port}: {reason_of(error)}")
                continue
            self._servers.sort(key=lambda one: one != server)
            return connection
        raise MetastoreError(f"cannot reach the metastore {self.shown}: {'; '.join(failures)}")

    @cached_property
    def version(self) -> str:
        """The version of Hive that a server says it is."""
        version: str = self.call(GET_VERSION, again=True)
        return version

    @cached_property
    def major(self) -> int:
        """3 or 4. NotSupportedError for an older one, which has no write ids."""
        first = self.version.partition(".")[0]
        major = int(first) if first.isdigit() else 0
        if major < 3:
            raise NotSupportedError(
                f"the metastore {self.shown} is Hive {self.version}",
                hint="Tables with write ids came with Hive 3.",
            )
        return major

    def close(self) -> None:
        """Closes what nobody uses; a later call opens anew."""
        if self._pid == os.getpid():
            while self._idle:
                self._idle.pop().close()
