"""What ANALYZE asks of columns, by the driver alone: the aggregates that Spark would be asked for,
and the different values of a column counted one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from acidsql.catalog.model import Table
from acidsql.errors import Span
from acidsql.expressions.vectors import Uncertain
from acidsql.local.queries import LocalQueries, reading_files
from acidsql.local.rows import rows_of
from acidsql.planner.bind.analysis import Read
from acidsql.planner.bind.local.query_trees import LocalQuery, OnlySpark, Outside, Semantics
from acidsql.planner.bind.local.selects import local_select
from acidsql.storage.scan.needs_spark import NeedsSpark

if TYPE_CHECKING:
    from acidsql.storage.snapshots import Snapshots, TableSnapshot

Figures = Mapping[str, Any]
_TARGET = "t"


def measured(
    queries: LocalQueries,
    snapshot: TableSnapshot,
    snapshots: Snapshots,
    measures: Mapping[str, str],
    different: Mapping[str, str],
    semantics: Semantics,
    max_bytes: int | None,
) -> list[Figures]:
    """The figures of each partition of ``snapshot``, by their names. ``measures``: aggregates;
    ``different``: columns whose different values are counted. NeedsSpark, also for more than
    ``max_bytes`` of files.
    """
    table = snapshot.table
    items = ", ".join(f"{sql} AS {name}" for name, sql in measures.items())
    every = _query(table, f"SELECT {items} FROM ", "", semantics)
    counts = {
        name: _query(table, f"SELECT {column} FROM ", f" GROUP BY {column}", semantics)
        for name, column in different.items()
    }
    names = sorted({name for query in (every, *counts.values()) for name in query.names})
    parts = [
        snapshot if part.partition is None else snapshots.take(table, [part.partition])
        for part in snapshot.partitions
    ]
    try:
        with reading_files():
            if max_bytes is not None and queries.scanner.weigh(snapshot, names) > max_bytes:
                raise NeedsSpark("so many bytes")
            return [dict(_figures(queries, part, every, counts)) for part in parts]
    except Uncertain as signal:
        raise NeedsSpark(signal.reason) from signal


def _query(table: Table, select: str, ends: str, semantics: Semantics) -> LocalQuery:
    text = f"{select}{_TARGET}{ends}"
    span = Span(len(select), len(select) + len(_TARGET))
    read = Read(table=table, span=span, alias=_TARGET)
    query = local_select(text, Span(0, len(text)), [read], Outside(), semantics, named=False)
    if isinstance(query, OnlySpark):
        raise NeedsSpark(query.reason)
    return query


def _figures(
    queries: LocalQueries,
    part: TableSnapshot,
    every: LocalQuery,
    counts: Mapping[str, LocalQuery],
) -> Iterator[tuple[str, Any]]:
    [row] = rows_of(every, queries.scanner.batches(part, every.names)).to_pylist()
    yield from row.items()
    for name, query in counts.items():
        column = rows_of(query, queries.scanner.batches(part, query.names)).column(0)
        yield name, len(column) - column.null_count
