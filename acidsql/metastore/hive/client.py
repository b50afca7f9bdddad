"""A client of Hive's metastore that lives as long as a session: connections are used again, as long
as each of their calls was answered.

A connection that failed, or did not answer in time, is never used again: what came late would be
taken for the answer to the next call. Several servers stand before one database; the one that
answered last is asked first. A call that was sent and not answered may have been carried out:
``LostError``. It is sent again only where that changes nothing, and to whoever answers.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from acidsql.errors import MetastoreError, NotSupportedError
from acidsql.metastore.hive.calls.declaring import Method
from acidsql.metastore.hive.calls.reading import GET_VERSION
from acidsql.metastore.hive.connection import (
    Connection,
    FailedThereError,
    connect,
    reason_of,
)
from acidsql.metastore.hive.protocol import RefusedError, WireError
from acidsql.metastore.hive.reaching import Access

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
