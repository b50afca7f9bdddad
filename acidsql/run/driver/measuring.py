"""What ANALYZE asks of columns, by the driver alone: the aggregates that Spark would be asked for,
and the different values of a column counted one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from acidsql.catalog.model import Column
from acidsql.expressions.not_here import NotHere
from acidsql.planner.bind.local.measures import Measuring, measuring
from acidsql.planner.bind.local.query_trees import Semantics
from acidsql.run.driver.operators import Driver, reading_files
from acidsql.run.driver.rows import rows_of

if TYPE_CHECKING:
    from acidsql.storage.snapshots import Snapshots, TableSnapshot

Figures = Mapping[str, Any]


def measured(
    driver: Driver,
    snapshot: TableSnapshot,
    snapshots: Snapshots,
    columns: Sequence[Column],
    semantics: Semantics,
    max_bytes: int | None,
) -> list[Figures]:
    """The figures of each partition of ``snapshot``, by their names. NotHere, also for more than
    ``max_bytes`` of files.
    """
    table = snapshot.table
    asked = measuring(table, columns, semantics)
    if isinstance(asked, NotHere):
        raise NotHere(asked.reason)
    parts = [
        snapshot if part.partition is None else snapshots.take(table, [part.partition])
        for part in snapshot.partitions
    ]
    with reading_files():
        if max_bytes is not None and driver.scanner.weigh(snapshot, asked.names) > max_bytes:
            raise NotHere("so many bytes")
        return [dict(_figures(driver, part, asked)) for part in parts]


def _figures(driver: Driver, part: TableSnapshot, asked: Measuring) -> Iterator[tuple[str, Any]]:
    every = asked.every
    [row] = rows_of(every, driver.scanner.batches(part, every.names)).to_pylist()
    yield from row.items()
    for name, query in asked.counts.items():
        column = rows_of(query, driver.scanner.batches(part, query.names)).column(0)
        yield name, len(column) - column.null_count
