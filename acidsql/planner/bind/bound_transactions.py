"""Bound statements about transactions."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.acid.ids import TxnId
from acidsql.errors import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundShowTransactions:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundAbortTransactions:
    ids: tuple[TxnId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCommit:
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundRollback:
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundStartTransaction:
    read_only: bool
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundSetAutocommit:
    on: bool


TransactionAction = (
    BoundShowTransactions
    | BoundAbortTransactions
    | BoundStartTransaction
    | BoundCommit
    | BoundRollback
    | BoundSetAutocommit
)
