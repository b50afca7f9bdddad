"""TRUNCATE and MSCK, and the checks of LOAD DATA and ANALYZE, which are not built yet: statements on a table's files."""

from __future__ import annotations

from acidsql.catalog.model import Table, TableKind
from acidsql.errors import BindError, ColumnNotFoundError, Span
from acidsql.parser import statements as ast
from acidsql.planner.bind_partition import Spec, columns_named, existing, matching, not_full, shown, static_spec
from acidsql.planner.bind_table import did_you_mean
from acidsql.planner.bound import BoundInsert, BoundRows
from acidsql.planner.bound_catalog import BoundRepairTable, BoundUnbuilt
from acidsql.planner.names import Names


def bind_truncate(names: Names, statement: ast.TruncateTable) -> BoundInsert:
    """An overwriting by no rows, which readers of older snapshots survive."""
    table = names.table(statement.name)
    if not table.owns_files:
        raise BindError(f"Cannot truncate non-managed table {table.name}.", code=10146, span=statement.name.span)
    names.check_manager(table, statement.name.span)
    return BoundInsert(
        table=table,
        columns=table.columns,
        source=BoundRows(rows=()),
        span=statement.name.span,
        overwrite=True,
        truncate=True,
        truncated=tuple(_truncated(names, table, statement).items()),
    )


def _truncated(names: Names, table: Table, statement: ast.TruncateTable) -> Spec:
    """What the partitions to empty have in common."""
    if statement.partition is None:
        return {}
    if not table.partition_columns:
        raise BindError(f"Partition spec for non partitioned table {table.name}.", code=10148, span=statement.partition.span)
    spec = static_spec(names, table, statement.partition)
    if len(spec) == len(table.partition_columns):
        existing(names, table, statement.partition)
    return spec


def bind_load(names: Names, statement: ast.LoadData) -> BoundUnbuilt:
    table = names.table(statement.target)
    span = statement.target.span
    if table.kind is TableKind.VIEW:
        raise BindError(f"A view cannot be used as target table for LOAD or INSERT: {table.name}", code=10090, span=span)
    if table.skew is not None and table.skew.directories:
        raise BindError("A stored-as-directories table cannot be used as target for LOAD", code=10195, span=span)
    names.check_manager(table, span)
    spec: Spec = {}
    if statement.partition is not None:
        spec = static_spec(names, table, statement.partition)
        if len(spec) < len(table.partition_columns):
            raise not_full(table, spec, statement.partition.span)
    elif table.partition_columns:
        message = "Need to specify partition columns because the destination table is partitioned"
        hint = f"Write PARTITION ({', '.join(c.name + '=..' for c in table.partition_columns)})."
        raise BindError(message, code=10062, hint=hint, span=span)
    origin = "copied from the local file system" if statement.local else "moved"
    facts = [("path", f"{statement.path}, {origin}"), ("replaces what is there", str(statement.overwrite).lower())]
    partition = [("partition", shown(spec))] if spec else []
    return _unbuilt("LOAD DATA", statement.span, table, *partition, *facts)


def bind_analyze(names: Names, statement: ast.AnalyzeTable) -> BoundUnbuilt:
    table = names.table(statement.name)
    if table.kind is TableKind.VIEW:
        raise BindError("ANALYZE is not supported for views", code=10091, span=statement.name.span)
    facts = []
    if statement.partition is not None:
        facts.append(("partitions", _analyzed_partitions(names, table, statement.partition)))
    if statement.columns is not None:
        facts.append(("columns", ", ".join(_analyzed_columns(table, statement.columns))))
    facts.append(("reads", "file sizes only" if statement.noscan else "all rows"))
    return _unbuilt("ANALYZE TABLE", statement.span, table, *facts)


def _analyzed_partitions(names: Names, table: Table, spec: ast.PartitionSpec) -> str:
    """``PARTITION (ds)`` means every value. A spec that names one partition must name one there is."""
    known = [c.name for c in table.partition_columns]
    for item in spec.items:
        name = item.name.text.lower()
        if table.partition_columns and name not in known:
            message = f"Invalid partitioning key specified in ANALYZE statement : {item.name.text}"
            raise BindError(message, code=30005, hint=did_you_mean(name, known), span=item.name.span)
    columns_named(names, table, spec)
    given = tuple(item for item in spec.items if item.value is not None)
    if not given:
        return "all"
    values = static_spec(names, table, ast.PartitionSpec(span=spec.span, items=given))
    found = matching(names, table, values)
    if len(values) == len(known) and not found:
        message = f"Invalid partitioning key/value specified in ANALYZE statement : {shown(values)}"
        raise BindError(message, code=30007, span=spec.span)
    return f"{len(found)} with {shown(values)}"


def _analyzed_columns(table: Table, named: tuple[ast.Name, ...]) -> list[str]:
    known = [c.name for c in table.columns]
    for name in named:
        wanted = name.text.lower()
        if any(c.name == wanted for c in table.partition_columns):
            message = f"Column statistics are not supported for partition columns [Try removing column '{name.text}' from column list]"
            raise BindError(message, code=30012, span=name.span)
        if wanted not in known:
            message = f"Invalid column reference '{name.text}' (possible columns are [{', '.join(known)}])"
            raise ColumnNotFoundError(message, code=10002, hint=did_you_mean(wanted, known), span=name.span)
    return [name.text.lower() for name in named] or known


def bind_repair(names: Names, statement: ast.RepairTable) -> BoundRepairTable:
    """Which directories there are is found out when the statement runs."""
    table = names.table(statement.name)
    if table.kind is TableKind.VIEW:
        raise BindError(f"MSCK is not supported for views: {table.name}", span=statement.name.span)
    mode = "compare" if statement.only_check else (statement.mode or "ADD").lower()
    return BoundRepairTable(
        table=table,
        add=mode in ("add", "sync"),
        drop=mode in ("drop", "sync"),
        now=names.around.now,
        span=statement.name.span,
        words="MSCK TABLE" if statement.only_check else "MSCK REPAIR TABLE",
        facts=(("table", str(table.name)), ("partitions", mode)),
    )


def _unbuilt(words: str, span: Span, table: Table, *facts: tuple[str, str]) -> BoundUnbuilt:
    return BoundUnbuilt(words=words, span=span, facts=(("table", str(table.name)), *facts))
