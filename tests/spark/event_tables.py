"""ACID tables made for tests event by event, also such as acidsql would never write, and what a
reader must see of them by plain Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import orc

from acidsql.acid.ids import ValidWriteIdList, WriteId
from acidsql.acid.snapshot import choose
from acidsql.catalog.model import Column, Table, TableName
from acidsql.catalog.types import arrow_type, parse_type
from acidsql.expressions.pruning import Predicate
from acidsql.files.local_files import LocalFileIO
from acidsql.settings import Settings
from acidsql.spark.read.reader import SnapshotReader
from acidsql.storage.footers import is_event_file, read_footer
from acidsql.storage.snapshots import TableSnapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Id = tuple[int, int, int]
"""Write id, bucket property, row."""

Row = tuple[Id, dict[str, Any]]


def bucket_property(bucket: int, statement: int = 0) -> int:
    return 1 << 29 | bucket << 16 | statement


def columns(text: str) -> tuple[Column, ...]:
    """``"k bigint, s string"`` without commas inside types."""
    return tuple(
        Column(name=name, type=parse_type(kind))
        for name, kind in (part.split(None, 1) for part in text.split(", "))
    )


@dataclass(slots=True, kw_only=True)
class EventTable:
    """A table directory, and a book of the events in it."""

    root: Path
    columns: tuple[Column, ...]
    names_in_files: tuple[str, ...] = ()
    inserts: list[tuple[Id, int, dict[str, Any]]] = field(default_factory=list)
    deletes: list[tuple[Id, int]] = field(default_factory=list)

    def insert(
        self, path: str, events: Iterable[tuple[Id, dict[str, Any]]], killer: int | None = None
    ) -> None:
        """``killer``: the currentTransaction, by default the row's write id."""
        found = [(i, i[0] if killer is None else killer, row) for i, row in events]
        self.inserts += found
        self._write(
            path, 0, [(i, current) for i, current, _ in found], [row for _, _, row in found]
        )

    def delete(self, path: str, ids: Iterable[Id], killer: int) -> None:
        found = [(i, killer) for i in ids]
        self.deletes += found
        self._write(path, 2, found, None)

    def _write(
        self,
        path: str,
        operation: int,
        ids: Sequence[tuple[Id, int]],
        rows: Sequence[dict[str, Any]] | None,
    ) -> None:
        names = self.names_in_files or tuple(c.name for c in self.columns)
        kind = pa.struct(
            [
                pa.field(name, arrow_type(c.type))
                for name, c in zip(names, self.columns, strict=False)
            ]
        )
        inner = (
            pa.nulls(len(ids), kind)
            if rows is None
            else pa.array([dict(zip(names, r.values(), strict=False)) for r in rows], kind)
        )
        table = pa.table(
            {
                "operation": pa.array([operation] * len(ids), pa.int32()),
                "originalTransaction": pa.array([i[0] for i, _ in ids], pa.int64()),
                "bucket": pa.array([i[1] for i, _ in ids], pa.int32()),
                "rowId": pa.array([i[2] for i, _ in ids], pa.int64()),
                "currentTransaction": pa.array([current for _, current in ids], pa.int64()),
                "row": inner,
            }
        )
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        orc.write_table(table, str(self.root / path), compression="zlib")

    @property
    def table(self) -> Table:
        properties = {"transactional": "true"}
        return Table(
            name=TableName("default", "t"),
            columns=self.columns,
            location=str(self.root),
            properties=properties,
        )

    def snapshot(self, write_ids: ValidWriteIdList) -> TableSnapshot:
        return snapshot(self.table, write_ids)

    def live(self, write_ids: ValidWriteIdList) -> list[Row]:
        """What a reader must see, if every event lies in a directory that is chosen.
        Sorted by id.
        """
        dead = {i for i, killer in self.deletes if write_ids.is_valid(WriteId(killer))}
        return sorted(
            (
                (i, row)
                for i, current, row in self.inserts
                if write_ids.is_valid(WriteId(current)) and i not in dead
            ),
            key=by_id,
        )


def snapshot(table: Table, write_ids: ValidWriteIdList) -> TableSnapshot:
    io, root = LocalFileIO(), Path(table.location)
    listing = io.listing(table.location)

    def read_marker(directory: str) -> bytes | None:
        marker = root / directory / "_metadata_acid"
        return marker.read_bytes() if marker.exists() else None

    def is_original(path: str) -> bool:
        return not is_event_file(read_footer(io, f"{root}/{path}"))

    chosen = choose(
        listing.files,
        write_ids,
        directories=listing.directories,
        is_original=is_original,
        read_marker=read_marker,
    )
    return TableSnapshot.acid(table, write_ids, chosen)


def valid(
    high_watermark: int, *, still_open: Iterable[int] = (), aborted: Iterable[int] = ()
) -> ValidWriteIdList:
    return ValidWriteIdList(
        table="default.t",
        high_watermark=WriteId(high_watermark),
        open=tuple(map(WriteId, still_open)),
        aborted=tuple(map(WriteId, aborted)),
    )


def rows(
    spark: SparkSession,
    reader: SnapshotReader,
    seen: TableSnapshot,
    predicates: Iterable[Predicate] = (),
    where: str = "true",
) -> list[Row]:
    """All rows of a view with ROW__ID, sorted by id."""
    name = reader.view(seen, row_id=True, predicates=predicates)
    found = [
        r.asDict(recursive=True) for r in spark.sql(f"SELECT * FROM {name} WHERE {where}").collect()
    ]
    pairs = ((tuple(row.pop("ROW__ID").values()), row) for row in found)
    return sorted(pairs, key=by_id)


def by_id(row: Row) -> Id:
    return row[0]


def readers(spark: SparkSession, **settings: str) -> Iterator[SnapshotReader]:
    """For a fixture: a reader with these settings (dots written as underscores), closed
    at the end.
    """
    reader = SnapshotReader(
        spark, Settings({name.replace("_", "."): text for name, text in settings.items()})
    )
    yield reader
    reader.close()
