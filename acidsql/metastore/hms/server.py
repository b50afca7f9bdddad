"""The metastore that is asked, and how what it refuses becomes our errors."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, Never

from acidsql.acid.ids import TxnId
from acidsql.errors import Error, MetastoreError, NotSupportedError, TransactionAbortedError
from acidsql.metastore.hive.authorizers import find_authorizer, refused_error
from acidsql.metastore.hive.calls.reading import (
    GET_CONFIG_VALUE,
    NO_SUCH_OBJECT,
    NO_SUCH_TXN,
    TXN_ABORTED,
    Method,
)
from acidsql.metastore.hive.client import Client, DeclaredError
from acidsql.txn.overlaps import TXN_ABORTED as TXN_ABORTED_CODE

AGENT = "acidsql"
"""Who asks, in the lists of locks and transactions."""
CAPABILITIES = [
    "EXTWRITE",
    "EXTREAD",
    "HIVEBUCKET2",
    "HIVEFULLACIDREAD",
    "HIVEFULLACIDWRITE",
    "HIVEMANAGEDINSERTWRITE",
    "HIVEMANAGEDINSERTREAD",
]
"""What is understood here of tables, as Hive 4 asks: without these it makes no ACID table."""
Refusals = Mapping[str, type[Error]]


class Server:
    """What all parts of the store share. ``refuses_policies``: whether tables are refused where
    policies hold that do not reach us.
    """

    def __init__(self, client: Client, *, user: str, refuses_policies: Callable[[], bool]) -> None:
        self.client = client
        self._refuses_policies = refuses_policies
        self._user = user
        self._host = socket.gethostname()
        self._owed: list[tuple[Method, dict[str, Any]]] = []

    @property
    def is_hive_3(self) -> bool:
        return self.client.major == 3

    def _ask(
        self,
        method: Method,
        *,
        again: bool = False,
        refusals: Refusals | None = None,
        **arguments: Any,
    ) -> Any:
        """The result of a call; ``again``: see ``Client.call``. ``refusals``: errors by the names
        of the exceptions that it declares; others are MetastoreError.
        """
        try:
            return self.client.call(method, again=again, **arguments)
        except DeclaredError as error:
            raise _refusal(error, (refusals or {}).get(error.kind, MetastoreError)) from error

    def _ask_for(self, method: Method, **arguments: Any) -> Any | None:
        """The result of a call that only reads; None of what is not there."""
        try:
            return self.client.call(method, again=True, **arguments)
        except DeclaredError as error:
            if error.kind == NO_SUCH_OBJECT:
                return None
            raise _refusal(error) from error

    def _ask_in_txn(
        self, txn_id: TxnId, method: Method, *, again: bool = False, **arguments: Any
    ) -> Any:
        """The result of a call about a transaction. TransactionAbortedError if it is not open."""
        try:
            return self.client.call(method, again=again, **arguments)
        except DeclaredError as error:
            if error.kind not in (NO_SUCH_TXN, TXN_ABORTED):
                raise _refusal(error) from error
            raise ended_error(txn_id, error.message) from error

    def _config(self, name: str) -> str:
        """A setting of the metastore's, by its name behind ``metastore.``; "" if it has none."""
        return self._any_config(f"metastore.{name}")

    def _any_config(self, name: str) -> str:
        value: str = self._ask(GET_CONFIG_VALUE, again=True, name=name, defaultValue="")
        return value

    @cached_property
    def _authorizer(self) -> str | None:
        return find_authorizer(self._any_config)

    def _check_policies(self) -> None:
        """Raises NotSupportedError where an authorizer's policies may hold, if that is to be."""
        if self._refuses_policies() and self._authorizer is not None:
            raise refused_error(f"the metastore {self.client.shown}", self._authorizer)

    def _end_surely(self, method: Method, request: dict[str, Any]) -> None:
        """Makes a call that ends something which others wait for. If the metastore cannot be
        reached that is made up for once it can: else they waited for hive.txn.timeout.
        """
        try:
            self.client.call(method, again=True, rqst=request)
        except MetastoreError:
            self._owed.append((method, request))
            raise

    def _make_up(self) -> None:
        """Makes the calls that could not be made before."""
        owed, self._owed = self._owed, []
        for method, request in owed:
            with suppress(Error, DeclaredError):
                self._end_surely(method, request)

    def _cannot(self, what: str, detail: str | None = None) -> Never:
        """Raises the error of what a Hive metastore has no room for."""
        raise NotSupportedError(f"a Hive metastore cannot {what}", detail=detail)


def _refusal(error: DeclaredError, kind: type[Error] = MetastoreError) -> Error:
    return kind(f"the metastore refuses: {error.message}", detail=error.kind)


def ended_error(txn_id: TxnId, detail: str) -> TransactionAbortedError:
    """The error of a transaction that is not open at the metastore."""
    return TransactionAbortedError(
        f"Transaction txnid:{txn_id} already aborted", detail=detail, code=TXN_ABORTED_CODE
    )
