"""ALTER TABLE .. COMPACT: what may be compacted, and how (Hive: AlterTableCompactAnalyzer,
AlterTableCompactOperation).
"""

from __future__ import annotations

from acidsql.catalog.attached import ONLY_MINOR, check_no_overlay
from acidsql.catalog.model import Partition, Table
from acidsql.errors import BindError, ColumnNotFoundError
from acidsql.parser import statements as ast
from acidsql.planner.bind.bound_transactions import BoundCompact, hive_partition
from acidsql.planner.bind.names import Names
from acidsql.planner.bind.partitions import existing, shown, static_spec
from acidsql.planner.bind.tables import did_you_mean
from acidsql.txn.compactions import CompactionType

TYPES = {
    "major": CompactionType.MAJOR,
    "minor": CompactionType.MINOR,
    "rebalance": CompactionType.REBALANCE,
}


def bind_compact(names: Names, table: Table, statement: ast.Compact) -> BoundCompact:
    """What is to be compacted. A rebalance of a table that takes inserts only is a major one: it
    has no row ids that say where rows lie.
    """
    kind = TYPES.get(statement.type.lower())
    if kind is None:
        message = "Invalid compaction type, supported values are 'major' and 'minor'"
        hint = did_you_mean(statement.type.lower(), tuple(TYPES))
        raise BindError(message, code=10282, hint=hint, span=statement.type_span)
    if not table.is_transactional:
        raise BindError(
            f"Compaction is not allowed on non-ACID table {table.name}",
            code=10286,
            span=statement.name.span,
        )
    if kind is not CompactionType.MINOR:
        check_no_overlay(table, ONLY_MINOR, statement.type_span)
    partitions = _partitions(names, table, statement)
    if kind is CompactionType.REBALANCE and table.bucketing is not None:
        named = "" if statement.partition is None else f" {hive_partition(table, partitions[0])}"
        reason = "Cannot execute rebalancing compaction on bucketed tables."
        message = f"Compaction request for {table.name}{named} is refused, details: {reason}"
        raise BindError(message, code=10432, span=statement.type_span)
    if kind is CompactionType.REBALANCE and not table.is_full_acid:
        kind = CompactionType.MAJOR
    _check_order(table, statement)
    order = ", ".join(
        key.key.text + (" DESC" if key.descending else "") for key in statement.order_by
    )
    return BoundCompact(
        table=table,
        type=kind,
        partitions=partitions,
        is_named=statement.partition is not None,
        wait=statement.wait,
        buckets=statement.buckets,
        order_by=order or None,
        pool=statement.pool,
        properties={p.key: p.value for p in statement.properties},
        span=statement.span,
    )


def _partitions(names: Names, table: Table, statement: ast.Compact) -> tuple[Partition, ...]:
    """The one partition that is named, by all its columns, or all there are."""
    if statement.partition is None:
        return tuple(names.catalog.list_partitions(table))
    spec = static_spec(names, table, statement.partition)
    if len(spec) < len(table.partition_columns):
        message = "Compaction can only be requested on one partition at a time."
        detail = f"{shown(spec)} does not name one"
        raise BindError(message, code=10284, detail=detail, span=statement.partition.span)
    return existing(names, table, statement.partition)[1]


def _check_order(table: Table, statement: ast.Compact) -> None:
    """Names of columns must be the table's; what else an ORDER BY holds is an expression for the
    engine.
    """
    known = [c.name for c in table.columns]
    for key in statement.order_by:
        name = key.key.text.strip("`").lower()
        if name.isidentifier() and name not in known:
            message = f"Invalid column reference '{key.key.text}'"
            raise ColumnNotFoundError(
                message, code=10002, hint=did_you_mean(name, known), span=key.key.span
            )
