"""The clauses that the parser reads and nothing carries out yet: refused, so that no clause is ever dropped in silence."""

from __future__ import annotations

from collections.abc import Iterator

from acidsql.errors import Span, UnsupportedStatementError
from acidsql.parser.statements import CreateTable, Describe, Explain, Statement

_ORC_SERDE = "org.apache.hadoop.hive.ql.io.orc.OrcSerde"


def refuse_unbuilt(statement: Statement) -> None:
    """UnsupportedStatementError at the first clause of ``statement`` that acidsql does not do yet."""
    for clause, span in _unbuilt(statement):
        raise UnsupportedStatementError(f"{clause} is not supported yet", span=span)


def _unbuilt(statement: Statement) -> Iterator[tuple[str, Span]]:
    match statement:
        case Explain():
            yield from _unbuilt(statement.statement)
        case Describe():
            if statement.partition is not None:
                yield "DESCRIBE .. PARTITION", statement.partition.span
        case CreateTable():
            yield from _unbuilt_of_table(statement)


def _unbuilt_of_table(statement: CreateTable) -> Iterator[tuple[str, Span]]:
    if statement.temporary:
        yield "CREATE TEMPORARY TABLE", statement.span
    if statement.query is not None:
        yield "CREATE TABLE .. AS", statement.query.span
    for column in (*statement.columns, *statement.partitioned_by):
        for constraint in column.constraints:
            yield constraint.kind, constraint.span
    for constraint in statement.constraints:
        yield constraint.kind, constraint.span
    for name in (*(column.name for column in statement.partitioned_by), *statement.partitioned_by_names):
        yield "PARTITIONED BY", name.span
    if statement.clustered_by is not None and statement.clustered_by.sorted_by:
        yield "SORTED BY", statement.clustered_by.sorted_by[0].span
    if statement.skewed_by is not None:
        yield "SKEWED BY", statement.skewed_by.span
    if statement.row_format is not None and (statement.row_format.serde != _ORC_SERDE or statement.row_format.properties):
        yield "ROW FORMAT", statement.row_format.span
    if statement.storage_classes is not None:
        yield "STORED AS INPUTFORMAT or BY", statement.storage_classes.span
