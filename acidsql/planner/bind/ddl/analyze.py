"""ANALYZE TABLE: which partitions and columns are measured. Hive: ColumnStatsSemanticAnalyzer,
BasicStatsTask.
"""

from __future__ import annotations

from acidsql.catalog.model import Column, FileFormat, Partition, Table, TableKind
from acidsql.catalog.types import ArrayType, MapType, StructType
from acidsql.errors import BindError, ColumnNotFoundError, UnsupportedStatementError
from acidsql.parser import statements as ast
from acidsql.planner.bind.bound_catalog import BoundAnalyze
from acidsql.planner.bind.local.measures import measuring
from acidsql.planner.bind.names import Names
from acidsql.planner.bind.partitions import Spec, columns_named, matching, shown, static_spec
from acidsql.planner.bind.tables import did_you_mean, unreadable

EVERY_ROW = "all rows"
FOOTERS = "footers of files and ids of deletes; all rows where these are many"
SIZES = "sizes and footers of files"


def bind_analyze(names: Names, statement: ast.AnalyzeTable) -> BoundAnalyze:
    table = names.fresh_table(statement.name)
    if table.kind is TableKind.VIEW:
        raise BindError("ANALYZE is not supported for views", code=10091, span=statement.name.span)
    names.check_manager(table, statement.name.span)
    facts = [("table", str(table.name))]
    partitions: tuple[Partition, ...] | None = None
    if table.partition_columns or statement.partition is not None:
        spec, partitions = _partitions(names, table, statement.partition)
        if statement.partition is not None:
            facts.append(("partitions", f"{len(partitions)} with {shown(spec)}" if spec else "all"))
    columns: tuple[Column, ...] = ()
    if statement.columns is not None:
        columns = _columns(table, statement.columns)
        facts.append(("columns", ", ".join(column.name for column in columns)))
    counts = statement.columns is None and table.file_format is FileFormat.ORC
    reads = SIZES if statement.noscan else FOOTERS if counts else EVERY_ROW
    if (what := unreadable(table)) is not None and not statement.noscan:
        raise UnsupportedStatementError(
            f"reading or writing {what} ({table.name}) is not supported yet",
            span=statement.name.span,
        )
    return BoundAnalyze(
        table=table,
        partitions=partitions,
        columns=columns,
        noscan=statement.noscan,
        words="ANALYZE TABLE",
        facts=(*facts, ("reads", reads)),
        measuring=measuring(table, columns, names.around.semantics) if reads == EVERY_ROW else None,
    )


def _partitions(
    names: Names, table: Table, spec: ast.PartitionSpec | None
) -> tuple[Spec, tuple[Partition, ...]]:
    """``PARTITION (ds)`` means every value. A spec that names one partition must name
    one there is.
    """
    if spec is None:
        return {}, matching(names, table, {})
    known = [c.name for c in table.partition_columns]
    for item in spec.items:
        name = item.name.text.lower()
        if table.partition_columns and name not in known:
            message = f"Invalid partitioning key specified in ANALYZE statement : {item.name.text}"
            raise BindError(
                message, code=30005, hint=did_you_mean(name, known), span=item.name.span
            )
    columns_named(names, table, spec)
    given = tuple(item for item in spec.items if item.value is not None)
    values = static_spec(names, table, ast.PartitionSpec(span=spec.span, items=given))
    partitions = matching(names, table, values)
    if len(values) == len(known) and not partitions:
        message = f"Invalid partitioning key/value specified in ANALYZE statement : {shown(values)}"
        raise BindError(message, code=30007, span=spec.span)
    return values, partitions


def _columns(table: Table, named: tuple[ast.Name, ...]) -> tuple[Column, ...]:
    """The named columns that have primitive types; of others Hive keeps no statistics."""
    known = [c.name for c in table.columns]
    for name in named:
        wanted = name.text.lower()
        if any(c.name == wanted for c in table.partition_columns):
            message = (
                "Column statistics are not supported for partition columns [Try removing column"
                f" '{name.text}' from column list]"
            )
            raise BindError(message, code=30012, span=name.span)
        if wanted not in known:
            message = (
                f"Invalid column reference '{name.text}' (possible columns are"
                f" [{', '.join(known)}])"
            )
            raise ColumnNotFoundError(
                message, code=10002, hint=did_you_mean(wanted, known), span=name.span
            )
    asked = {name.text.lower() for name in named}
    return tuple(
        c
        for c in table.columns
        if (c.name in asked or not named)
        and not isinstance(c.type, ArrayType | MapType | StructType)
    )
