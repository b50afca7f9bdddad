"""Bound statements about transactions."""

from __future__ import annotations

from acidsql.acid.ids import TxnId
from acidsql.catalog.model import TableName
from acidsql.errors import Span
from acidsql.lazy_dataclass import dataclass
from acidsql.planner.bind.bound_compactions import BoundAbortCompactions, BoundShowCompactions


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundShowTransactions:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundShowTransaction:
    txn_id: TxnId


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundShowLocks:
    """The locks to show: all, or those of a database, of a table with its partitions, or of one
    partition (``p=1/q=2``) of it.
    """

    database: str | None = None
    table: TableName | None = None
    partition: str | None = None

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What EXPLAIN tells of it, name and value."""
        asked = {"database": self.database, "table": self.table, "partition": self.partition}
        return tuple((name, str(value)) for name, value in asked.items() if value is not None)


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
    BoundShowCompactions
    | BoundAbortCompactions
    | BoundShowTransactions
    | BoundShowTransaction
    | BoundShowLocks
    | BoundAbortTransactions
    | BoundStartTransaction
    | BoundCommit
    | BoundRollback
    | BoundSetAutocommit
)
