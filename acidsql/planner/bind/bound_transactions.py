"""Bound statements about transactions, locks and compactions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from acidsql.acid.ids import TxnId
from acidsql.catalog.model import Partition, Table, TableName
from acidsql.catalog.partitions import name_of
from acidsql.errors import Span
from acidsql.lazy import dataclass
from acidsql.txn.compactions import CompactionState, CompactionType

# ---- bound compactions
#
# Bound statements about compactions.


Facts = tuple[tuple[str, str], ...]
"""What EXPLAIN tells of a statement, name and value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCompact:
    """ALTER TABLE .. COMPACT, and CONCATENATE of a transactional table.

    ``partitions``: what may be compacted; the one that was named (``is_named``), or all of the
    table; empty for a table without. ``order_by``: as it was written.
    """

    table: Table
    type: CompactionType
    partitions: tuple[Partition, ...] = ()
    is_named: bool = False
    wait: bool = False
    buckets: int | None = None
    order_by: str | None = None
    pool: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    words: str = "ALTER TABLE .. COMPACT"
    span: Span

    @property
    def facts(self) -> Facts:
        where = f" {hive_partition(self.table, self.partitions[0])}" if self.is_named else ""
        asked = {
            "table": f"{self.table.name}{where}",
            "partitions": None if self.is_named else self._partitions(),
            "type": self.type.name,
            "into": None if self.buckets is None else f"{self.buckets} buckets",
            "order by": self.order_by,
            "pool": self.pool,
            "properties": ", ".join(f"{k}={v}" for k, v in self.properties.items()) or None,
            "wait": "until it has finished" if self.wait else None,
        }
        return tuple((name, value) for name, value in asked.items() if value is not None)

    def _partitions(self) -> str | None:
        if not self.table.partition_columns:
            return None
        return f"those of {len(self.partitions)} that have anything to compact"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundShowCompactions:
    """The entries to show, by what is asked of them. ``order_by``: columns, and whether
    descending.
    """

    compaction_id: int | None = None
    database: str | None = None
    table: TableName | None = None
    partition: str | None = None
    pool: str | None = None
    type: CompactionType | None = None
    state: CompactionState | None = None
    order_by: tuple[tuple[str, bool], ...] = ()
    limit: int | None = None

    @property
    def facts(self) -> Facts:
        asked = {
            "database": self.database,
            "table": self.table,
            "partition": self.partition,
            "compaction id": self.compaction_id,
            "pool": self.pool,
            "type": self.type and self.type.name,
            "state": self.state and self.state.words,
            "order by": _ordered(self.order_by),
            "limit": self.limit,
        }
        return tuple((name, str(value)) for name, value in asked.items() if value is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundAbortCompactions:
    ids: tuple[int, ...]

    @property
    def facts(self) -> Facts:
        return (("ids", ", ".join(map(str, self.ids))),)


def hive_partition(table: Table, partition: Partition) -> str:
    """A partition as Hive prints it behind its table: ``partition(p=1/q=2)``."""
    return f"partition({name_of(table, partition)})"


def _ordered(keys: Iterable[tuple[str, bool]]) -> str | None:
    return ", ".join(f"{name} {'DESC' if desc else 'ASC'}" for name, desc in keys) or None


# ---- bound transactions
#
# Bound statements about transactions.


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
