"""TRUNCATE, LOAD DATA and MSCK: statements on a table's files."""

from __future__ import annotations

from acidsql.catalog.attached import check_no_overlay, check_not_attached
from acidsql.catalog.model import Table, TableKind
from acidsql.errors import BindError, Span
from acidsql.parser import statements as ast
from acidsql.planner.bind.bound import BoundInsert, BoundLoad, BoundPartition, BoundRows
from acidsql.planner.bind.bound_catalog import BoundRepairTable
from acidsql.planner.bind.ddl.columns import after_word
from acidsql.planner.bind.names import Names
from acidsql.planner.bind.partitions import Spec, existing, not_full, static_spec


def bind_truncate(names: Names, statement: ast.TruncateTable) -> BoundInsert:
    """An overwriting by no rows, which readers of older snapshots survive."""
    table = names.table(statement.name)
    check_not_attached(table, statement.name.span)
    if not table.owns_files:
        raise BindError(
            f"Cannot truncate non-managed table {table.name}.", code=10146, span=statement.name.span
        )
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
        raise BindError(
            f"Partition spec for non partitioned table {table.name}.",
            code=10148,
            span=statement.partition.span,
        )
    spec = static_spec(names, table, statement.partition)
    if len(spec) == len(table.partition_columns):
        values = tuple(spec[column.name] for column in table.partition_columns)
        if all(partition.values != values for partition in names.around.own_partitions(table.name)):
            existing(names, table, statement.partition)
    return spec


def bind_load(names: Names, statement: ast.LoadData) -> BoundLoad:
    table = names.table(statement.target)
    span = statement.target.span
    if table.kind is TableKind.VIEW:
        raise BindError(
            f"A view cannot be used as target table for LOAD or INSERT: {table.name}",
            code=10090,
            span=span,
        )
    check_not_attached(table, span)
    if table.skew is not None and table.skew.directories:
        raise BindError(
            "A stored-as-directories table cannot be used as target for LOAD", code=10195, span=span
        )
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
    path_span = after_word(names.source, statement.span, "INPATH")
    return BoundLoad(
        table=table,
        path=_source_path(statement, path_span),
        local=statement.local,
        span=path_span,
        overwrite=statement.overwrite,
        partition=BoundPartition(static=tuple(spec.items()), dynamic=()) if spec else None,
    )


def _source_path(statement: ast.LoadData, span: Span) -> str:
    scheme, separator, _ = statement.path.partition(":/")
    if statement.local and separator and scheme.lower() != "file":
        message = (
            f"Path is not legal ''{statement.path}'': Source file system should be \"file\" if"
            ' "local" is specified'
        )
        raise BindError(message, code=10028, span=span)
    if not statement.local and not separator and not statement.path.startswith("/"):
        hint = (
            "Write it in full. Only LOAD DATA LOCAL takes paths that begin where the program runs."
        )
        raise BindError(
            f"Invalid path ''{statement.path}'': it is not absolute", hint=hint, span=span
        )
    return statement.path


def bind_repair(names: Names, statement: ast.RepairTable) -> BoundRepairTable:
    """Which directories there are is found out when the statement runs."""
    table = names.table(statement.name)
    if table.kind is TableKind.VIEW:
        raise BindError(f"MSCK is not supported for views: {table.name}", span=statement.name.span)
    check_not_attached(table, statement.name.span)
    check_no_overlay(table, "its partitions are those it was attached with", statement.name.span)
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
