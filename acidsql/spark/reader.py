"""Merge on read: a table at a snapshot as a temporary view of Spark. Hive: VectorizedOrcAcidRowBatchReader.

    insert files  --one scan, all six columns kept-->  rows of valid write ids  --without the dead-->  columns (+ ROW__ID)
    delete files  --read on the driver, kept by file-->  keys of dead rows  ---^  inside the scan's filter

The dead are told by the whole id (write id, all 32 bits of the bucket property, row). Their keys stand in the filter as objects and not as
text, so that the code Spark generates is the same for every snapshot. Without a Java handle, or above a number of events, the filter
becomes an anti-join with the delete files.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

from acidsql.acid.snapshot import AcidDirectory, DataFile, FileEntry
from acidsql.acid.write_ids import ValidWriteIdList
from acidsql.catalog.model import Column, Table
from acidsql.catalog.types import CharType, DecimalType, PrimitiveType, VarcharType
from acidsql.errors import UnsupportedStatementError
from acidsql.planner.lowering import identifier, spark_type
from acidsql.planner.plan import Predicate
from acidsql.settings import Settings
from acidsql.spark import classic, pushdown
from acidsql.spark.deletes import DeadRows, DeleteEventReader, DeleteEvents, pack
from acidsql.spark.fileio import file_io, local_path
from acidsql.spark.footers import EventFile, Footers
from acidsql.spark.schema import spark_ddl
from acidsql.spark.views import Views

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_Filter = Callable[["DataFrame", str], "DataFrame"]

HIVE_TYPE = "acidsql.type"
"""Metadata key of a view's char and varchar columns, which are strings to Spark: the type as Hive writes it ("char(5)").

Spark carries it along to every result column that shows such a column unchanged.
"""

ROW_ID = "ROW__ID"
MAX_ARRAY = 200_000
"""Dead rows up to this number are a sorted array that travels with each task; more are a compressed bitmap, sent once."""

MAX_KEPT_FILTERS = 8
"""Filters of delete events kept for the next view of the same snapshot."""

_META = (
    ("operation", "int"),
    ("originalTransaction", "bigint"),
    ("bucket", "int"),
    ("rowId", "bigint"),
    ("currentTransaction", "bigint"),
)
_IDS = ("originalTransaction", "bucket", "rowId")
_META_DDL = ", ".join(f"{name} {kind}" for name, kind in _META)
# ORC knows an ACID file by its six columns and fails on a read that leaves one out: each must be needed by something.
_META_NEEDED = " AND ".join(f"{name} IS NOT NULL" for name, _ in _META)
_ROW_ID_SQL = f"named_struct('writeid', originalTransaction, 'bucketid', bucket, 'rowid', rowId) AS {ROW_ID}"
_PATTERN = re.compile(r"[\\{}\[\]*?]")
# From the cheapest to decode upwards.
_CHEAP_TYPES = ("boolean", "tinyint", "date", "int", "smallint", "bigint", "float", "double")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSnapshot:
    """A table as a statement sees it: of an ACID table the chosen directories, of another one its files.

    ``write_ids`` is None for a table that is not transactional.
    """

    table: Table
    write_ids: ValidWriteIdList | None = None
    directory: AcidDirectory | None = None
    files: tuple[FileEntry, ...] = ()

    @classmethod
    def acid(cls, table: Table, write_ids: ValidWriteIdList, directory: AcidDirectory) -> TableSnapshot:
        return cls(table=table, write_ids=write_ids, directory=directory)

    @classmethod
    def plain(cls, table: Table, files: Iterable[FileEntry]) -> TableSnapshot:
        """``files``: all files below the table's location; those without a byte hold no rows."""
        return cls(table=table, files=tuple(file for file in files if file.size))


class SnapshotReader:
    """Makes and keeps views of snapshots in one Spark session (a derived one: see session.derive)."""

    def __init__(self, spark: SparkSession, settings: Settings) -> None:
        self._spark = spark
        self._settings = settings
        self._views = Views(spark)
        self._footers = Footers()
        self._deletes = DeleteEventReader()
        self._alive: OrderedDict[Hashable, SparkColumn | None] = OrderedDict()
        self._schemas: dict[Hashable, StructType] = {}

    def close(self) -> None:
        """Drops the views. Results that were asked for before stay readable."""
        self._views.close()
        self._deletes.close()
        self._alive.clear()

    def view(
        self,
        snapshot: TableSnapshot,
        *,
        row_id: bool = False,
        predicates: Iterable[Predicate] = (),
        columns_used: frozenset[str] | None = None,
    ) -> str:
        """The name of a temporary view with the table's columns and, if asked for, a last column ROW__ID.

        predicates: conjuncts that the statement applies itself; they only help to skip data. columns_used: what the statement reads
        of it; an empty set (``count(*)``) makes for a cheaper scan, whose columns must then not be used. None = not known.
        FormatError names the file that is not as it must be; UnsupportedStatementError for files without ACID columns in an ACID table.
        """
        columns = snapshot.table.columns
        tests = pushdown.pushable(predicates, columns)
        counting = columns_used is not None and not columns_used
        root = local_path(snapshot.table.location)
        if snapshot.directory is None:
            key: Hashable = (root, columns, snapshot.files, tests)
            return self._views.get(key, lambda: self._plain(columns, root, snapshot.files, tests))
        scan = self._scan(snapshot, root, counting=counting, tests=tests)
        key = (scan, row_id, self._settings.get("acidsql.read.deletes"))
        return self._views.get(key, lambda: self._merged(scan, row_id=row_id))

    # ---- what to read

    def _scan(self, snapshot: TableSnapshot, root: str, *, counting: bool, tests: tuple[pushdown.Test, ...]) -> _Scan:
        assert snapshot.directory is not None
        assert snapshot.write_ids is not None
        io = file_io(snapshot.table.location)
        inserts = snapshot.directory.insert_files
        _refuse_raw(inserts, root)
        found = self._footers.insert_files(io, root, inserts)
        deletes = self._footers.delete_files(io, root, snapshot.directory.delete_files)
        filtered = any(file.file.needs_row_filter for file in (*found, *deletes))
        return _Scan(
            columns=snapshot.table.columns,
            inserts=tuple(file for file in found if file.rows),
            deletes=tuple(file for file in deletes if file.rows),
            write_ids=snapshot.write_ids if filtered else None,
            tests=tests,
            cheapest=_cheapest(snapshot.table.columns) if counting else None,
        )

    def _merged(self, scan: _Scan, *, row_id: bool) -> DataFrame:
        without_dead = self._without_dead(scan)
        parts = []
        for numbered in (False, True):
            files = [file for file in scan.inserts if file.numbered is numbered]
            if files:
                parts.append(self._events(scan, files, without_dead, row_id=row_id, numbered=numbered))
        if not parts:
            return self._empty(scan.columns, row_id=row_id)
        return parts[0] if len(parts) == 1 else parts[0].unionByName(parts[1])

    def _events(self, scan: _Scan, files: Sequence[EventFile], without_dead: _Filter, *, row_id: bool, numbered: bool) -> DataFrame:
        """The live rows of files of insert events whose columns are named in the same way."""
        names = [f"_col{place}" if numbered else column.name for place, column in enumerate(scan.columns)]
        options = pushdown.read_options(self._spark, scan.tests, scan.columns, names)
        rows = classic.read_orc(self._spark, [_uri(file.path) for file in files], self._event_schema(scan.columns, names), options)
        shown = ["row.*"]
        if numbered:
            shown = [f"row.{identifier(n)} AS {identifier(c.name)}" for n, c in zip(names, scan.columns, strict=True)]
        return without_dead(rows, _condition(scan, files, names)).selectExpr(*shown, *([_ROW_ID_SQL] if row_id else []))

    def _plain(self, columns: tuple[Column, ...], root: str, files: Sequence[FileEntry], tests: tuple[pushdown.Test, ...]) -> DataFrame:
        """A table that is not transactional: its files as they are."""
        if not files:
            return self._empty(columns, row_id=False)
        options = pushdown.read_options(self._spark, tests, columns, [column.name for column in columns])
        return classic.read_orc(self._spark, [_uri(f"{root}/{file.path}") for file in files], self._row_schema(columns), options)

    def _empty(self, columns: tuple[Column, ...], *, row_id: bool) -> DataFrame:
        shown = [f"CAST(NULL AS {spark_type(c.type)}) AS {identifier(c.name)}" for c in columns]
        if row_id:
            shown.append(f"CAST(NULL AS struct<writeid:bigint,bucketid:int,rowid:bigint>) AS {ROW_ID}")
        return self._spark.sql(f"SELECT {', '.join(shown)} WHERE false")

    # ---- delete events

    def _without_dead(self, scan: _Scan) -> _Filter:
        """What filters a frame of insert events by a condition, and takes out the rows hit by a visible delete event."""
        if not scan.deletes or not scan.inserts:
            return _where
        kind = self._settings.get("acidsql.read.deletes")
        most = int(self._settings.number("acidsql.read.deletes.max.events"))
        count = sum(file.rows for file in scan.deletes)
        if kind == "join" or classic.jvm(self._spark) is None or (kind == "auto" and count > most):
            return self._anti_join(scan)
        key = (scan.deletes, scan.write_ids)
        if key not in self._alive:
            self._alive[key] = self._alive_column(self._deletes.read(scan.deletes, scan.write_ids, keep=max(most, count)))
            while len(self._alive) > MAX_KEPT_FILTERS:
                self._alive.popitem(last=False)
        alive = self._alive[key]
        return self._anti_join(scan) if alive is None else partial(_where, alive=alive)

    def _alive_column(self, events: DeleteEvents) -> SparkColumn | None:
        """True for the rows of insert events that no event kills; None if the ids are too wide for such a test."""
        from pyspark.sql import functions as F

        if not len(events):
            return F.lit(True)
        dead = pack(events)
        return None if dead is None else self._test(dead)

    def _test(self, dead: DeadRows) -> SparkColumn:
        from pyspark.sql import functions as F

        spark = self._spark
        write_id = classic.position_in(spark, classic.sorted_longs(spark, dead.write_ids), F.col("originalTransaction"))
        bucket = classic.position_in(spark, classic.sorted_longs(spark, dead.bucket_properties), F.col("bucket").cast("bigint"))
        row = F.col("rowId")
        bucket_key = F.shiftleft(write_id.cast("bigint"), dead.bucket_bits).bitwiseOR(bucket.cast("bigint"))
        key = F.shiftleft(bucket_key, dead.row_bits).bitwiseOR(row)
        if len(dead.keys) <= MAX_ARRAY:
            hit = classic.position_in(spark, classic.sorted_longs(spark, dead.keys), key) >= 0
        else:
            hit = classic.is_in_bitmap(spark, dead.keys, key)
        # Only a row whose write id and bucket occur among the dead has a key at all.
        has_key = (write_id >= 0) & (bucket >= 0) & row.between(0, (1 << dead.row_bits) - 1)
        return ~F.when(has_key, hit).otherwise(F.lit(False))

    def _anti_join(self, scan: _Scan) -> _Filter:
        """The delete files as a relation; Spark chooses how to join."""
        ddl = f"{_META_DDL}, row struct<{identifier(scan.columns[0].name)}:{spark_type(scan.columns[0].type)}>"
        # The last condition holds for every event and needs the column "row", which is null in all of them.
        condition = f"{_META_NEEDED} AND (row IS NULL OR operation >= 0)"
        condition += _visible_sql(scan.write_ids, scan.deletes)
        events = classic.read_orc(self._spark, [_uri(file.path) for file in scan.deletes], ddl, {}).where(condition)
        dead = events.selectExpr(*(f"{name} AS _dead_{name}" for name in _IDS))

        def without(rows: DataFrame, condition: str) -> DataFrame:
            return rows.where(condition).join(dead, [rows[name] == dead[f"_dead_{name}"] for name in _IDS], "left_anti")

        return without

    # ---- schemas

    def _event_schema(self, columns: tuple[Column, ...], names: Sequence[str]) -> StructType | str:
        inner = tuple(Column(name=name, type=column.type) for name, column in zip(names, columns, strict=True))
        fields = ", ".join(f"{identifier(column.name)}: {spark_type(column.type)}" for column in inner)
        return self._schema(f"{_META_DDL}, row struct<{fields}>", inner, nested=True)

    def _row_schema(self, columns: tuple[Column, ...]) -> StructType | str:
        return self._schema(spark_ddl(columns), columns, nested=False)

    def _schema(self, ddl: str, columns: tuple[Column, ...], *, nested: bool) -> StructType | str:
        """``ddl`` as it is, or with the lengths of char and varchar as metadata."""
        if not any(isinstance(column.type, CharType | VarcharType) for column in columns):
            return ddl
        key = (ddl, columns)
        if key not in self._schemas:
            self._schemas[key] = _with_hive_types(ddl, columns, nested=nested)
        return self._schemas[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scan:
    """What a view shows, and so its key. ``write_ids`` only where rows are filtered by them; ``cheapest`` only where none is used."""

    columns: tuple[Column, ...]
    inserts: tuple[EventFile, ...]
    deletes: tuple[EventFile, ...]
    write_ids: ValidWriteIdList | None
    tests: tuple[pushdown.Test, ...]
    cheapest: int | None


def _where(rows: DataFrame, condition: str, alive: SparkColumn | None = None) -> DataFrame:
    from pyspark.sql import functions as F

    # One filter and not two: each is a round trip and an analysis.
    return rows.where(condition if alive is None else F.expr(condition) & alive)


def _refuse_raw(files: Iterable[DataFile], root: str) -> None:
    raw = next((file for file in files if file.raw), None)
    if raw is not None:
        raise UnsupportedStatementError(
            f'file "{root}/{raw.path}" has no ACID columns',
            detail="it was there before the table became transactional, or came by LOAD DATA; such files cannot be read yet",
            hint="A major compaction by Hive rewrites them.",
        )


def _condition(scan: _Scan, files: Sequence[EventFile], names: Sequence[str]) -> str:
    row_needed = "row IS NOT NULL"
    if scan.cheapest is not None:
        # True for every insert event, and needs one child of "row" in place of all.
        row_needed = f"NOT (row.{identifier(names[scan.cheapest])} IS NULL AND operation < 0)"
    return f"{_META_NEEDED} AND {row_needed}" + _visible_sql(scan.write_ids, files)


def _visible_sql(write_ids: ValidWriteIdList | None, files: Sequence[EventFile]) -> str:
    """The test of currentTransaction where some file holds events of a write id that is not valid; it holds for all other files."""
    filtered = [file.file for file in files if file.file.needs_row_filter]
    if not filtered or write_ids is None:
        return ""
    low = min(file.min_write_id for file in filtered)
    high = max(file.max_write_id for file in filtered)
    hidden = [str(write_id) for write_id in write_ids.exceptions if low <= write_id <= high]
    return f" AND currentTransaction <= {write_ids.high_watermark}L" + (
        f" AND currentTransaction NOT IN ({'L, '.join(hidden)}L)" if hidden else ""
    )


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


def _with_hive_types(ddl: str, columns: Sequence[Column], *, nested: bool) -> StructType:
    from pyspark.sql.types import StructType

    schema = cast(StructType, StructType.fromDDL(ddl))
    fields = cast(StructType, schema["row"].dataType).fields if nested else schema.fields
    for field, column in zip(fields, columns, strict=True):
        if isinstance(column.type, CharType | VarcharType):
            field.metadata = {HIVE_TYPE: str(column.type)}
    return schema


def _uri(path: str) -> str:
    """A local file as Spark wants to be told: without the scheme it would look on the cluster's default file system.

    Braces, brackets and stars are escaped, or Spark takes the name for a pattern. (Its own switch against that, ``__globPaths__``, makes it
    read every file of such a directory once for each of them.)
    """
    return "file://" + _PATTERN.sub(r"\\\g<0>", path)
