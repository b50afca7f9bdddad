"""A plan as a tree of lines, and the partitions it reads, which some of the lines are about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Partition, Table, TableName
from acidsql.catalog.partition_ranges import NameRanges
from acidsql.catalog.partitions import partition_name
from acidsql.expressions.pruning import Pruning, prune, ranges_needed
from acidsql.lazy_dataclass import dataclass
from acidsql.planner.bind.bound import BoundRead
from acidsql.settings import Settings


@dataclass(frozen=True, slots=True)
class Node:
    """One line of the plan and what stands below it."""

    text: str
    children: tuple[Node, ...] = ()

    def lines(self, depth: int = 0) -> Iterator[str]:
        yield "  " * depth + self.text
        for child in self.children:
            yield from child.lines(depth + 1)

    def json(self) -> dict[str, Any]:
        below = {"children": [child.json() for child in self.children]} if self.children else {}
        return {"operation": self.text, **below}


class ReadPartitions:
    """The partitions of the tables a plan reads, as they are now; a statement that runs lists them
    again under its snapshot.
    """

    def __init__(self, catalog: Catalog, settings: Settings) -> None:
        self.catalog = catalog
        self.ansi = settings.flag("acidsql.ansi")
        self.listed: dict[tuple[TableName, NameRanges | None], tuple[Partition, ...]] = {}

    def count(self, table: Table) -> int:
        """How many partitions a table has."""
        known = self.listed.get((table.name, None))
        return self.catalog.count_partitions(table) if known is None else len(known)

    def pruned(self, read: BoundRead) -> Pruning:
        columns = read.table.partition_columns
        among = ranges_needed(columns, read.partition_filter)
        key = read.table.name, among
        if key not in self.listed:
            self.listed[key] = self.catalog.list_partitions(read.table, among)
        return prune(columns, self.listed[key], read.partition_filter, ansi=self.ansi)

    def names(self, read: BoundRead) -> Iterator[str]:
        columns = [c.name for c in read.table.partition_columns]
        table = read.table.name
        return (
            f"{table.database}@{table.table}@{partition_name(columns, p.values)}"
            for p in self.pruned(read).kept
        )
