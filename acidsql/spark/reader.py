"""Merge on read: a table at a snapshot as a temporary view of Spark. Hive: VectorizedOrcAcidRowBatchReader.

    insert files  --one scan for each layout, all six columns kept-->  rows of valid write ids  --without the dead-->  columns (+ ROW__ID)
    raw files     --one scan for each layout, ids made of places---->  rows  --^
    delete files  --read on the driver, kept by file-->  keys of dead rows  ---^  inside the scan's filter (dead_rows)

Files of several partitions are read in one scan; what differs from file to file is looked up (file_constants). A partition's values are
plain literals where a snapshot has but one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from acidsql.acid.bucketing import bucket_numbers
from acidsql.acid.ids import NO_STATEMENT, WriteId
from acidsql.acid.snapshot import AcidDirectory, DataFile, FileEntry
from acidsql.acid.write_ids import ValidWriteIdList
from acidsql.catalog.model import Column, FileFormat, Partition, Table
from acidsql.catalog.types import CharType, DecimalType, PrimitiveType, VarcharType
from acidsql.planner.lowering import identifier, spark_type
from acidsql.planner.plan import Comparison, Predicate
from acidsql.settings import Settings
from acidsql.spark import pushdown
from acidsql.spark.dead_rows import PLACE, DeadRowFilters, Filter
from acidsql.spark.file_constants import first_rows, in_order, of_file, with_file_number, with_row_ids
from acidsql.spark.file_layout import Layout, layout
from acidsql.spark.fileio import LOCAL, FileIO
from acidsql.spark.footers import FoundFile, ScanFile
from acidsql.spark.format_reader import FormatReader, FormatScan
from acidsql.spark.known_files import KnownFiles
from acidsql.spark.orc_scan import scan_of
from acidsql.spark.partition_values import PartitionValues
from acidsql.spark.scan_files import HIVE_TYPE, META_DDL, META_NEEDED, ROW_ID, ROW_ID_SQL, ROW_ID_TYPE, visible_sql
from acidsql.spark.schema import arrow_type
from acidsql.spark.urls import path_of
from acidsql.spark.views import Views

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

# From the cheapest to decode upwards.
_CHEAP_TYPES = ("boolean", "tinyint", "date", "int", "smallint", "bigint", "float", "double")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A directory of rows: the table's or that of one partition. ``directory``: of an ACID table; ``files``: of another one.

    ``own_inserts``, ``own_deletes``: what the reading transaction has written to it, wherever that lies.
    """

    root: str
    partition: Partition | None = None
    directory: AcidDirectory | None = None
    files: tuple[FileEntry, ...] = ()
    own_inserts: tuple[FoundFile, ...] = ()
    own_deletes: tuple[FoundFile, ...] = ()

    def insert_files(self, number: int) -> Iterator[FoundFile]:
        """With the number of the place."""
        listed = self.directory.insert_files if self.directory is not None else ()
        for file in (*listed, *(_plain_file(file) for file in self.files if file.size)):
            yield FoundFile(file=file, path=f"{self.root}/{file.path}", place=number)
        yield from (file._replace(place=number) for file in self.own_inserts)

    def delete_files(self, number: int) -> Iterator[FoundFile]:
        for file in self.directory.delete_files if self.directory is not None else ():
            yield FoundFile(file=file, path=f"{self.root}/{file.path}", place=number)
        yield from (file._replace(place=number) for file in self.own_deletes)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSnapshot:
    """A table as a statement sees it. ``write_ids`` is None for a table that is not transactional; ``listed``: of how many partitions."""

    table: Table
    write_ids: ValidWriteIdList | None = None
    places: tuple[Place, ...] = field(repr=False)

    @classmethod
    def acid(cls, table: Table, write_ids: ValidWriteIdList, directory: AcidDirectory) -> TableSnapshot:
        """Of a table without partitions."""
        return cls(table=table, write_ids=write_ids, places=(Place(root=path_of(table.location), directory=directory),))

    @classmethod
    def plain(cls, table: Table, files: Iterable[FileEntry]) -> TableSnapshot:
        """``files``: all files below the location of a table without partitions."""
        return cls(table=table, places=(Place(root=path_of(table.location), files=tuple(files)),))


def _beside_ids(name: str) -> str:
    return identifier(f"acidsql_column_{name}")


def _plain_file(file: FileEntry) -> DataFile:
    nothing = WriteId(0)
    return DataFile(
        path=file.path,
        size=file.size,
        mtime_ns=file.mtime_ns,
        min_write_id=nothing,
        max_write_id=nothing,
        statement_id=NO_STATEMENT,
        bucket=None,
        raw=True,
        needs_row_filter=False,
    )


class SnapshotReader:
    """Makes and keeps views of snapshots in one Spark session (a derived one: see session.derive)."""

    def __init__(self, spark: SparkSession, settings: Settings, io: FileIO = LOCAL, known: KnownFiles | None = None) -> None:
        self._spark = spark
        self._io = io
        self._settings = settings
        self._views = Views(spark)
        self._known = known or KnownFiles.of(io)
        self._footers = self._known.footers
        self._dead_rows = DeadRowFilters(spark, settings, self._known.events)
        self._formats = FormatReader(spark, io)
        self._schemas: dict[Hashable, StructType] = {}

    def close(self) -> None:
        """Drops the views. Results that were asked for before stay readable."""
        self._views.close()
        self._dead_rows.close()
        self._known.close()

    def view(
        self,
        snapshot: TableSnapshot,
        *,
        row_id: bool = False,
        predicates: Iterable[Predicate] = (),
        columns_used: frozenset[str] | None = None,
    ) -> str:
        """The name of a temporary view with the table's columns, its partition columns and, if asked for, a last column ROW__ID.

        predicates: conjuncts that the statement applies itself; they only help to skip data. columns_used: what the statement reads
        of it; an empty set (``count(*)``) makes for a cheaper scan, whose columns must then not be used. None = not known.
        FormatError names the file that is not as it must be.
        """
        if snapshot.table.file_format is not FileFormat.ORC:
            return self._other_view(snapshot, row_id=row_id)
        given = tuple(predicates)
        tests = pushdown.pushable(given, snapshot.table.columns)
        counting = columns_used is not None and not columns_used
        scan = self._scan(snapshot, counting=counting, tests=tests, buckets=buckets_of(snapshot.table, given))
        ids = row_id and not snapshot.table.is_insert_only
        key = (scan, row_id, ids, self._settings.get("acidsql.read.deletes"))
        return self._views.get(key, lambda: _with_no_ids(self._rows(scan, row_id=ids), wanted=row_id and not ids))

    def _other_view(self, snapshot: TableSnapshot, *, row_id: bool) -> str:
        """Of a table that is not stored as ORC."""
        found = tuple(file for number, place in enumerate(snapshot.places) for file in place.insert_files(number))
        scan = FormatScan.of(snapshot.table, _partition_values(snapshot), found)
        self._formats.check(scan)
        return self._views.get((scan, row_id), lambda: _with_no_ids(self._formats.rows(scan), wanted=row_id))

    # ---- what to read

    def _scan(self, snapshot: TableSnapshot, *, counting: bool, tests: tuple[pushdown.Test, ...], buckets: frozenset[int] | None) -> _Scan:
        places = snapshot.places
        inserts = [
            found
            for number, place in enumerate(places)
            for found in place.insert_files(number)
            if buckets is None or found.file.bucket is None or found.file.bucket in buckets or found.file.raw
        ]
        deletes = [found for number, place in enumerate(places) for found in place.delete_files(number)]
        found = tuple(file for file in self._footers.insert_files(self._io, inserts) if file.rows)
        dead = tuple(file for file in self._footers.delete_files(self._io, deletes) if file.rows) if found else ()
        filtered = any(file.file.needs_row_filter for file in (*found, *dead))
        return _Scan(
            columns=snapshot.table.columns,
            partitions=_partition_values(snapshot),
            inserts=found,
            deletes=dead,
            write_ids=snapshot.write_ids if filtered else None,
            tests=tests,
            cheapest=_cheapest(snapshot.table.columns) if counting else None,
        )

    def _rows(self, scan: _Scan, *, row_id: bool) -> DataFrame:
        without_dead = self._dead_rows.without_dead(scan.deletes, scan.write_ids, places=scan.is_partitioned)
        parts = [self._part(scan, part, without_dead, row_id=row_id) for part in scan.parts()]
        if not parts:
            return self._empty(scan, row_id=row_id)
        whole = parts[0]
        for part in parts[1:]:
            whole = whole.unionByName(part)
        return whole

    def _part(self, scan: _Scan, part: _Part, without_dead: Filter, *, row_id: bool) -> DataFrame:
        """The live rows of the files of one layout."""
        if part.raw:
            needs_ids = row_id or bool(scan.deletes)
            rows = self._raw_rows(scan, part, ids=needs_ids)
            rows = without_dead(rows, "TRUE") if scan.deletes else rows
            values = part.layout.values(_beside_ids if needs_ids else identifier)
        else:
            rows = without_dead(self._event_rows(scan, part), self._condition(scan, part))
            values = ["row.*"] if part.layout.exact else part.layout.values(lambda name: f"row.{identifier(name)}")
        shown = rows.selectExpr(*values, *scan.partitions.sql(part.files), *([ROW_ID_SQL] if row_id else []))
        told = {c.column.name for c in part.layout.found if c.same}  # by the schema of the read
        for column in (*scan.columns, *scan.partitions.columns):
            if isinstance(column.type, CharType | VarcharType) and column.name not in told:
                shown = shown.withMetadata(column.name, {HIVE_TYPE: str(column.type)})
        return shown

    def _event_rows(self, scan: _Scan, part: _Part) -> DataFrame:
        schema = self._schema(f"{META_DDL}, row {part.layout.struct}", part.layout, nested=True)
        rows = scan_of(self._spark, part.files, schema, self._read_options(scan, part))
        return self._placed(scan, with_file_number(self._spark, rows, part.files), part) if scan.is_partitioned else rows

    def _raw_rows(self, scan: _Scan, part: _Part, *, ids: bool) -> DataFrame:
        """``ids``: with the id columns; then no row is skipped, and what was read is called ``_beside_ids``, for a column may be a "bucket"."""
        schema = self._schema(part.layout.ddl, part.layout, nested=False)
        options = {} if ids else self._read_options(scan, part)
        rows = scan_of(self._spark, part.files, schema, options)
        if not ids and not scan.is_partitioned:
            return rows
        if ids:
            rows = rows.selectExpr(*(f"{identifier(c.name)} AS {_beside_ids(c.name)}" for c in part.layout.found))
        rows = with_file_number(self._spark, rows, part.files)
        if ids:
            first = first_rows([file for file in scan.inserts if file.file.raw])
            rows = with_row_ids(self._spark, rows, part.files, [first(file) for file in part.files])
        return self._placed(scan, rows, part) if scan.is_partitioned else rows

    def _placed(self, scan: _Scan, rows: DataFrame, part: _Part) -> DataFrame:
        """With the column that tells partitions apart, where dead rows ask for it."""
        if not scan.deletes:
            return rows
        return rows.selectExpr("*", f"{of_file([file.place for file in part.files], 'int')} AS {PLACE}")

    def _read_options(self, scan: _Scan, part: _Part) -> dict[str, str]:
        """Tests of columns that a file has under another type are not pushed: ORC would compare with that one."""
        names = {c.column.name: c.name for c in part.layout.found if c.same}
        tests = [test for test in scan.tests if test.column in names]
        columns = [c.column for c in part.layout.found]
        return pushdown.read_options(self._spark, tests, columns, [c.name for c in part.layout.found])

    def _condition(self, scan: _Scan, part: _Part) -> str:
        row_needed = "row IS NOT NULL"
        if scan.cheapest is not None and scan.cheapest < len(part.layout.found):
            # True for every insert event, and needs one child of "row" in place of all.
            row_needed = f"NOT (row.{identifier(part.layout.found[scan.cheapest].name)} IS NULL AND operation < 0)"
        return f"{META_NEEDED} AND {row_needed}" + visible_sql(scan.write_ids, part.files)

    def _empty(self, scan: _Scan, *, row_id: bool) -> DataFrame:
        columns = (*scan.columns, *scan.partitions.columns)
        shown = [f"CAST(NULL AS {spark_type(c.type)}) AS {identifier(c.name)}" for c in columns]
        if row_id:
            shown.append(f"CAST(NULL AS {ROW_ID_TYPE}) AS {ROW_ID}")
        return self._spark.sql(f"SELECT {', '.join(shown)} WHERE false")

    # ---- schemas

    def _schema(self, ddl: str, found: Layout, *, nested: bool) -> StructType | str:
        """``ddl`` as it is, or with the lengths of char and varchar as metadata."""
        limited = {c.name: c.column for c in found.found if c.same and isinstance(c.column.type, CharType | VarcharType)}
        if not limited:
            return ddl
        key = (ddl, found)
        if key not in self._schemas:
            self._schemas[key] = _with_hive_types(ddl, limited, nested=nested)
        return self._schemas[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Files that are read alike, ``in_order`` where constants are looked up."""

    layout: Layout
    raw: bool
    files: tuple[ScanFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scan:
    """What a view shows, and so its key.

    ``write_ids`` only where rows are filtered by them; ``cheapest`` only where no column is used.
    """

    columns: tuple[Column, ...]
    partitions: PartitionValues
    inserts: tuple[ScanFile, ...]
    deletes: tuple[ScanFile, ...]
    write_ids: ValidWriteIdList | None
    tests: tuple[pushdown.Test, ...]
    cheapest: int | None

    @property
    def is_partitioned(self) -> bool:
        """Whether rows of several partitions come together."""
        return self.partitions.differ

    def parts(self) -> Iterator[_Part]:
        def alike(file: ScanFile) -> tuple[bool, int]:
            return file.file.raw, id(file.columns)  # one object for all files of a schema: see footers

        for (raw, _), files in groupby(sorted(self.inserts, key=alike), key=alike):
            mine = tuple(files)
            found = layout(self.columns, mine[0].columns, raw=raw)
            yield _Part(layout=found, raw=raw, files=in_order(mine) if self.is_partitioned or raw else mine)


def _with_no_ids(rows: DataFrame, *, wanted: bool) -> DataFrame:
    """Rows of an insert-only table have no ids; a query that asks for those of another table has NULLs there."""
    return rows.selectExpr("*", f"CAST(NULL AS {ROW_ID_TYPE}) AS {ROW_ID}") if wanted else rows


def _partition_values(snapshot: TableSnapshot) -> PartitionValues:
    places = tuple(place.partition.values if place.partition else () for place in snapshot.places)
    return PartitionValues(snapshot.table.partition_columns, places)


# ---- skipping


def buckets_of(table: Table, predicates: Sequence[Predicate]) -> frozenset[int] | None:
    """The buckets that rows meeting the predicates lie in; None if they may lie in any. Hive: bucket pruning."""
    bucketing = table.bucketing
    if bucketing is None:
        return None
    keys: list[tuple[pa.Array, str]] = []
    for name in bucketing.columns:
        column = table.column(name)
        equal = next((p for p in predicates if p.column == name and p.op in (Comparison.EQUAL, Comparison.IN)), None)
        if column is None or equal is None or (keys and len(equal.values) > 1):
            return None  # of several columns only one value each is looked at
        keys.append((pa.array(list(equal.values), arrow_type(column.type)), str(column.type)))
    if len({len(values) for values, _ in keys}) > 1:
        return None
    return frozenset(int(n) for n in bucket_numbers(keys, bucketing.count, 1 if bucketing.version == 1 else 2))


def _cheapest(columns: Sequence[Column]) -> int | None:
    """The place of a column that is cheap to decode; None if all are dear."""

    def cost(column: Column) -> int:
        match column.type:
            case PrimitiveType(name) if name in _CHEAP_TYPES:
                return _CHEAP_TYPES.index(name)
            case PrimitiveType("string") | CharType() | VarcharType() | DecimalType():
                return len(_CHEAP_TYPES)
            case _:
                return len(_CHEAP_TYPES) + 1

    place = min(range(len(columns)), key=lambda i: cost(columns[i]))
    return place if cost(columns[place]) <= len(_CHEAP_TYPES) else None


def _with_hive_types(ddl: str, limited: dict[str, Column], *, nested: bool) -> StructType:
    from pyspark.sql.types import StructType

    schema = cast(StructType, StructType.fromDDL(ddl))
    fields = cast(StructType, schema["row"].dataType).fields if nested else schema.fields
    for field_ in fields:
        if field_.name in limited:
            field_.metadata = {HIVE_TYPE: str(limited[field_.name].type)}
    return schema
