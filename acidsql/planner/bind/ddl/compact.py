"""ALTER TABLE .. COMPACT: what may be compacted, and how (Hive: AlterTableCompactAnalyzer,
AlterTableCompactOperation).
"""

from __future__ import annotations

from acidsql.catalog.model import Table
from acidsql.errors import BindError, ColumnNotFoundError
from acidsql.parser import statements as ast
from acidsql.planner.bind.bound_catalog import BoundUnbuilt
from acidsql.planner.bind.names import Names
from acidsql.planner.bind.partitions import matching, shown, static_spec
from acidsql.planner.bind.tables import did_you_mean

TYPES = ("major", "minor", "rebalance")


def bind_compact(names: Names, table: Table, statement: ast.Compact) -> BoundUnbuilt:
    kind = statement.type.lower()
    if kind not in TYPES:
        message = "Invalid compaction type, supported values are 'major' and 'minor'"
        raise BindError(
            message, code=10282, hint=did_you_mean(kind, TYPES), span=statement.type_span
        )
    if not table.is_transactional:
        raise BindError(
            f"Compaction is not allowed on non-ACID table {table.name}",
            code=10286,
            span=statement.name.span,
        )
    partition = _partition(names, table, statement)
    if kind == "rebalance" and table.bucketing is not None:
        reason = "Cannot execute rebalancing compaction on bucketed tables."
        message = f"Compaction request for {table.name}{partition} is refused, details: {reason}"
        raise BindError(message, code=10432, span=statement.type_span)
    _check_order(table, statement)
    facts = [("table", f"{table.name}{partition}"), ("type", kind.upper())]
    facts += [("into", f"{statement.buckets} buckets")] if statement.buckets is not None else []
    order = ", ".join(
        key.key.text + (" DESC" if key.descending else "") for key in statement.order_by
    )
    facts += [("order by", order)] if order else []
    facts += [("pool", statement.pool)] if statement.pool is not None else []
    facts += (
        [("properties", ", ".join(f"{p.key}={p.value}" for p in statement.properties))]
        if statement.properties
        else []
    )
    facts += [("wait", "until it has finished")] if statement.wait else []
    return BoundUnbuilt(words="ALTER TABLE .. COMPACT", span=statement.span, facts=tuple(facts))


def _partition(names: Names, table: Table, statement: ast.Compact) -> str:
    """The one partition that is named, as Hive prints it behind the table; "" for a
    table without.
    """
    if statement.partition is None:
        if table.partition_columns:
            message = "You must specify a partition to compact for partitioned tables"
            raise BindError(message, code=10283, span=statement.name.span)
        return ""
    spec = static_spec(names, table, statement.partition)
    partitions = matching(names, table, spec)
    if not partitions:
        detail = f"there is no partition {shown(spec)}"
        raise BindError(
            "Invalid partition spec specified",
            code=10214,
            detail=detail,
            span=statement.partition.span,
        )
    if len(partitions) > 1:
        message = "Compaction can only be requested on one partition at a time."
        raise BindError(
            message,
            code=10284,
            detail=f"{shown(spec)} names {len(partitions)}",
            span=statement.partition.span,
        )
    named = zip((c.name for c in table.partition_columns), partitions[0].values, strict=True)
    return f" partition({'/'.join(f'{name}={value}' for name, value in named)})"


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
