"""Merge on read: a table at a snapshot as a temporary view of Spark. Hive:
VectorizedOrcAcidRowBatchReader.

    insert files  --one scan for each layout, all six columns kept-->  rows of valid write ids
    --without the dead-->  columns (+ ROW__ID)
    raw files     --one scan for each layout, ids made of places---->  rows  --^
    delete files  --read on the driver, kept by file-->  keys of dead rows  ---^  inside the scan's
    filter (dead_rows)

Files of several partitions are read in one scan; what differs from file to file is looked up
(file_constants). A partition's values are plain literals where a snapshot has but one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, cast

from acidsql.acid.ids import ROW_ID_COLUMN, ValidWriteIdList
from acidsql.acid.orc_types import EVENT_FIELDS, ID_FIELDS
from acidsql.catalog.attached import is_attached
from acidsql.catalog.model import Column, FileFormat
from acidsql.expressions.pruning import Predicate
from acidsql.expressions.spark_words import identifier, is_limited, spark_type
from acidsql.files.fileio import FileIO
from acidsql.files.local_files import LOCAL
from acidsql.lazy import dataclass
from acidsql.settings import Settings
from acidsql.spark import jvm
from acidsql.spark.read import pushdown
from acidsql.spark.read.dead_rows import PARTITION_NUMBER, DeadRowFilters, Filter
from acidsql.spark.read.file_times import FileTimes, FileTimesReader
from acidsql.spark.read.format_reader import FormatReader, FormatScan
from acidsql.spark.read.pushdown import buckets_of, cheapest_column
from acidsql.spark.read.scan_words import (
    HIVE_TYPE,
    META_DDL,
    META_NEEDED,
    ROW_ID_SQL,
    ROW_ID_TYPE,
    PartitionValues,
    Views,
    in_order,
    layout_ddl,
    layout_struct,
    layout_values,
    of_file,
    scan_of,
    visible_sql,
    with_file_number,
    with_hive_types,
    with_row_ids,
)
from acidsql.storage.file_layout import FileColumn, Layout, layout
from acidsql.storage.footers import ScanFile, first_rows
from acidsql.storage.known_files import KnownFiles
from acidsql.storage.snapshots import TableSnapshot
from acidsql.storage.stored import data_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from acidsql.spark.read.dead_rows import OldPartitions

_CURRENT = "acidsql_event_write_id"
_EVENT_IDS = {
    "acidsql_event_original": (ID_FIELDS[0], "bigint"),
    "acidsql_event_bucket": (ID_FIELDS[1], "int"),
    "acidsql_event_row": (ID_FIELDS[2], "bigint"),
    _CURRENT: (EVENT_FIELDS[4], "bigint"),
}
"""The ids of an event under names that no column of a table has; what they are called in files, and
their types.
"""


def _beside_ids(name: str) -> str:
    return identifier(f"acidsql_column_{name}")


class SnapshotReader:
    """Makes and keeps views of snapshots in one Spark session (a derived one: see
    session.derive).
    """

    def __init__(
        self,
        spark: SparkSession,
        settings: Settings,
        io: FileIO = LOCAL,
        known: KnownFiles | None = None,
    ) -> None:
        self._spark = spark
        self._io = io
        self._settings = settings
        self._views = Views(spark)
        self._known = known or KnownFiles.of(io)
        self._footers = self._known.footers
        self._dead_rows = DeadRowFilters(spark, settings, self._known.events)
        self._formats = FormatReader(spark, io)
        self._times = FileTimesReader(spark, io)
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
        """The name of a temporary view with the table's columns, its partition columns and, if
        asked for, a last column ROW__ID.

        predicates: conjuncts that the statement applies itself; they only help to skip data.
        columns_used: what the statement reads of it; an empty set (``count(*)``) makes for a
        cheaper scan, whose columns must then not be used. None = not known. FormatError names the
        file that is not as it must be.
        """
        if snapshot.table.file_format is not FileFormat.ORC:
            return self._other_view(snapshot, row_id=row_id)
        given = tuple(predicates)
        tests = pushdown.pushable(given, snapshot.table.columns)
        counting = columns_used is not None and not columns_used
        scan = self._scan(
            snapshot, counting=counting, tests=tests, buckets=buckets_of(snapshot.table, given)
        )
        ids = row_id and not snapshot.table.is_insert_only
        key = (scan, row_id, ids, self._settings.get("acidsql.read.deletes"))
        return self._views.get(
            key,
            lambda: _with_no_ids(
                self._rows(scan, shown=(ROW_ID_COLUMN,) if ids else ()), wanted=row_id and not ids
            ),
        )

    def events(self, snapshot: TableSnapshot) -> DataFrame:
        """The live rows of a full ACID table as they are in files: ID_FIELDS, currentTransaction,
        then the table's columns, called ``data_names``.
        """
        scan = self._scan(snapshot, counting=False, tests=(), buckets=None)
        rows = self._rows(scan, shown=tuple(_EVENT_IDS))
        names = data_names(scan.columns)
        keys = [f"acidsql_key_{number}" for number, _ in enumerate(scan.partitions.columns)]
        fields = [field for field, _ in _EVENT_IDS.values()]
        return rows.toDF(*names, *keys, *fields).select(*fields, *names)

    def _other_view(self, snapshot: TableSnapshot, *, row_id: bool) -> str:
        """The view of a table that is not stored as ORC."""
        scan = FormatScan.of(
            snapshot.table, _partition_values(snapshot), tuple(snapshot.insert_files)
        )
        clock = self._formats.clock(scan)
        return self._views.get(
            (scan, row_id, clock),
            lambda: _with_no_ids(self._formats.rows(scan, clock), wanted=row_id),
        )

    # ---- what to read

    def _scan(
        self,
        snapshot: TableSnapshot,
        *,
        counting: bool,
        tests: tuple[pushdown.Test, ...],
        buckets: frozenset[int] | None,
    ) -> _Scan:
        inserts = [
            insert
            for insert in snapshot.insert_files
            if buckets is None
            or insert.file.bucket is None
            or insert.file.bucket in buckets
            or insert.file.original
        ]
        may_mix = is_attached(snapshot.table)
        files = self._footers.insert_files(self._io, inserts, mixed=may_mix)
        filled, old = tuple(file for file in files if file.rows), None
        if any(file.mixed for file in filled):
            from acidsql.spark.read.dead_rows import parted

            snapshot, filled, old = parted(snapshot, filled)
        deletes = snapshot.delete_files if filled else ()
        dead = tuple(file for file in self._footers.delete_files(self._io, deletes) if file.rows)
        filtered = any(file.file.needs_row_filter for file in (*filled, *dead))
        return _Scan(
            columns=snapshot.table.columns,
            partitions=_partition_values(snapshot),
            inserts=filled,
            deletes=dead,
            write_ids=snapshot.write_ids if filtered else None,
            tests=tests,
            cheapest=cheapest_column(snapshot.table.columns) if counting else None,
            times=self._times.times(filled),
            old=old,
        )

    def _rows(self, scan: _Scan, *, shown: tuple[str, ...]) -> DataFrame:
        """The live rows. ``shown``: ROW_ID_COLUMN or _EVENT_IDS, behind the columns."""
        without_dead: Filter = _where
        if scan.deletes:
            without_dead = self._dead_rows.without_dead(
                scan.deletes, scan.write_ids, by_partition=scan.is_partitioned
            )
        parts = [self._part(scan, part, without_dead, shown) for part in scan.parts()]
        if scan.old is not None:
            from acidsql.spark.read.dead_rows import old_rows

            parts.append(old_rows(self._spark, self._known, scan.old, row_id=bool(shown)))
        if not parts:
            return self._empty(scan, shown)
        whole = parts[0]
        for part in parts[1:]:
            whole = whole.unionByName(part)
        return whole

    def _part(
        self, scan: _Scan, part: _Part, without_dead: Filter, shown: tuple[str, ...]
    ) -> DataFrame:
        """The live rows of the files of one layout."""
        if part.original:
            needs_ids = bool(shown or scan.deletes)
            rows = self._original_rows(scan, part, ids=needs_ids)
            rows = without_dead(rows, "TRUE") if scan.deletes else rows
            name_of = _beside_ids if needs_ids else identifier
            values = layout_values(part.layout, name_of, part.value)
        else:
            rows = without_dead(self._event_rows(scan, part), self._condition(scan, part))
            values = (
                ["row.*"]
                if part.layout.exact and not any(map(part.times.changes, part.layout.file_columns))
                else layout_values(part.layout, lambda n: f"row.{identifier(n)}", part.value)
            )
        ids = (_ids_sql(name, part) for name in shown)
        whole = rows.selectExpr(*values, *scan.partitions.sql(part.files), *ids)
        typed = {
            c.column.name for c in part.layout.file_columns if c.same and not part.times.changes(c)
        }  # by the schema of the read
        columns = (*scan.columns, *scan.partitions.columns)
        return with_hive_types(whole, [c for c in columns if c.name not in typed])

    def _event_rows(self, scan: _Scan, part: _Part) -> DataFrame:
        schema = self._schema(
            f"{META_DDL}, row {layout_struct(part.layout)}", part.layout, nested=True
        )
        rows = scan_of(self._spark, part.files, schema, self._read_options(scan, part))
        return (
            self._placed(scan, with_file_number(self._spark, rows, part.files), part)
            if scan.is_partitioned
            else rows
        )

    def _original_rows(self, scan: _Scan, part: _Part, *, ids: bool) -> DataFrame:
        """The rows of files without ACID columns. ``ids``: with the id columns; then no row is
        skipped, and what was read is called ``_beside_ids``, for a column may be a "bucket".
        """
        schema = self._schema(layout_ddl(part.layout), part.layout, nested=False)
        options = {} if ids else self._read_options(scan, part)
        rows = scan_of(self._spark, part.files, schema, options)
        if not ids and not scan.is_partitioned:
            return rows
        if ids:
            rows = rows.selectExpr(
                *(
                    f"{identifier(c.name)} AS {_beside_ids(c.name)}"
                    for c in part.layout.file_columns
                )
            )
        rows = with_file_number(self._spark, rows, part.files)
        if ids:
            first = first_rows([file for file in scan.inserts if file.file.original])
            rows = with_row_ids(self._spark, rows, part.files, [first(file) for file in part.files])
        return self._placed(scan, rows, part) if scan.is_partitioned else rows

    def _placed(self, scan: _Scan, rows: DataFrame, part: _Part) -> DataFrame:
        """The rows with the column that tells partitions apart, where dead rows ask for it."""
        if not scan.deletes:
            return rows
        numbers = of_file([file.partition_number for file in part.files], "int")
        return rows.selectExpr("*", f"{numbers} AS {PARTITION_NUMBER}")

    def _read_options(self, scan: _Scan, part: _Part) -> dict[str, str]:
        """The options that push tests. Those of columns that a file has under another type are not
        pushed: ORC would compare with that type.
        """
        names = {c.column.name: c.name for c in part.layout.file_columns if c.same}
        tests = [test for test in scan.tests if test.column in names]
        columns = [c.column for c in part.layout.file_columns]
        return pushdown.read_options(
            self._spark, tests, columns, [c.name for c in part.layout.file_columns]
        )

    def _condition(self, scan: _Scan, part: _Part) -> str:
        row_needed = "row IS NOT NULL"
        if scan.cheapest is not None and scan.cheapest < len(part.layout.file_columns):
            # True for every insert event, and needs one child of "row" in place of all.
            row_needed = (
                f"NOT (row.{identifier(part.layout.file_columns[scan.cheapest].name)} IS NULL AND"
                " operation < 0)"
            )
        return f"{META_NEEDED} AND {row_needed}" + visible_sql(scan.write_ids, part.files)

    def _empty(self, scan: _Scan, shown: tuple[str, ...]) -> DataFrame:
        columns = (*scan.columns, *scan.partitions.columns)
        types = [(identifier(c.name), spark_type(c.type)) for c in columns]
        types += [
            (name, ROW_ID_TYPE if name == ROW_ID_COLUMN else _EVENT_IDS[name][1]) for name in shown
        ]
        nulls = (f"CAST(NULL AS {kind}) AS {name}" for name, kind in types)
        rows = self._spark.sql(f"SELECT {', '.join(nulls)} WHERE false")
        for column in scan.columns:
            if is_limited(column.type):
                rows = rows.withMetadata(column.name, {HIVE_TYPE: str(column.type)})
        return rows

    # ---- schemas

    def _schema(self, ddl: str, file_layout: Layout, *, nested: bool) -> StructType | str:
        """``ddl`` as it is, or with the lengths of char and varchar as metadata."""
        limited = {
            c.name: c.column
            for c in file_layout.file_columns
            if c.same and is_limited(c.column.type)
        }
        if not limited:
            return ddl
        key = (ddl, file_layout)
        if key not in self._schemas:
            self._schemas[key] = _with_hive_types(ddl, limited, nested=nested)
        return self._schemas[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Files that are read alike, ``in_order`` where constants are looked up."""

    layout: Layout
    original: bool
    files: tuple[ScanFile, ...]
    times: FileTimes

    def value(self, column: FileColumn, read: str) -> str:
        return self.times.value(column, read, self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scan:
    """What a view shows, and so its key.

    ``write_ids`` only where rows are filtered by them; ``cheapest`` only where no column is used.
    ``old``: what is not among ``inserts``.
    """

    columns: tuple[Column, ...]
    partitions: PartitionValues
    inserts: tuple[ScanFile, ...]
    deletes: tuple[ScanFile, ...]
    write_ids: ValidWriteIdList | None
    tests: tuple[pushdown.Test, ...]
    cheapest: int | None
    times: FileTimes
    old: OldPartitions | None = None

    @property
    def is_partitioned(self) -> bool:
        """Whether rows of several partitions come together."""
        return self.partitions.differ

    def parts(self) -> Iterator[_Part]:
        def alike(file: ScanFile) -> tuple[bool, int, bool]:
            # one object for all files of a schema: see footers
            return file.file.original, id(file.columns), file.key in self.times.doubtful

        for (original, _, _), group in groupby(sorted(self.inserts, key=alike), key=alike):
            files = tuple(group)
            yield _Part(
                layout=layout(self.columns, files[0].columns, original=original),
                original=original,
                times=self.times,
                files=in_order(files) if self.is_partitioned or original else files,
            )


def _with_no_ids(rows: DataFrame, *, wanted: bool) -> DataFrame:
    """Rows of an insert-only table have no ids; a query that asks for those of another table has
    NULLs there.
    """
    return (
        rows.selectExpr("*", f"CAST(NULL AS {ROW_ID_TYPE}) AS {ROW_ID_COLUMN}") if wanted else rows
    )


def _partition_values(snapshot: TableSnapshot) -> PartitionValues:
    values = tuple(part.partition.values if part.partition else () for part in snapshot.partitions)
    return PartitionValues(snapshot.table.partition_columns, values)


def _with_hive_types(ddl: str, limited: dict[str, Column], *, nested: bool) -> StructType:
    schema = jvm.struct_of(ddl)
    fields = cast("StructType", schema["row"].dataType).fields if nested else schema.fields
    for field_ in fields:
        if field_.name in limited:
            field_.metadata = {HIVE_TYPE: str(limited[field_.name].type)}
    return schema


def _ids_sql(name: str, part: _Part) -> str:
    """A column of ids by its name. An original row was written by the write id that it has."""
    if name == ROW_ID_COLUMN:
        return ROW_ID_SQL
    has_none = part.original and name == _CURRENT
    return f"{ID_FIELDS[0] if has_none else _EVENT_IDS[name][0]} AS {name}"


def _where(rows: DataFrame, condition: str) -> DataFrame:
    return rows.where(condition)
