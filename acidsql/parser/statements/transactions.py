"""Transactions, compactions and locks."""

from __future__ import annotations

from acidsql.errors import Span
from acidsql.lazy_dataclass import dataclass
from acidsql.parser.statements.pieces import Name, PartitionSpec, QualifiedName, SortKey


@dataclass(frozen=True, slots=True, kw_only=True)
class StartTransaction:
    """START TRANSACTION [modes] or BEGIN; ``modes`` as ``READ ONLY``, ``READ WRITE``, ``ISOLATION
    LEVEL SNAPSHOT``.
    """

    span: Span
    modes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollback:
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAutocommit:
    span: Span
    on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTransactions:
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTransaction:
    """SHOW TRANSACTION n: what became of one transaction."""

    span: Span
    txn_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortTransactions:
    span: Span
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCompactions:
    """SHOW COMPACTIONS, all or by id, or by database or table and the clauses; the words are as the
    user wrote them.
    """

    span: Span
    compaction_id: int | None = None
    database: Name | None = None
    name: QualifiedName | None = None
    partition: PartitionSpec | None = None
    pool: str | None = None
    type: str | None = None
    status: str | None = None
    order_by: tuple[SortKey, ...] = ()
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortCompactions:
    span: Span
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowLocks:
    span: Span
    database: Name | None = None
    name: QualifiedName | None = None
    partition: PartitionSpec | None = None
    extended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LockTable:
    span: Span
    name: QualifiedName
    exclusive: bool
    partition: PartitionSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlockTable:
    span: Span
    name: QualifiedName
    partition: PartitionSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LockDatabase:
    span: Span
    name: Name
    exclusive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlockDatabase:
    span: Span
    name: Name
