"""A scan in Spark's words: what is read of a file (``storage.file_layout``) and what becomes of
that, the five event columns, which events are visible, and the partition columns of its rows: a
plain literal where a scan has one partition, else looked up by the row's file.

ORC files are read by the sizes they had when their footers were read: Spark loses the rows behind
the size it knows.
"""

from __future__ import annotations

import contextlib
import json
import re
import uuid
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
import xxhash

from acidsql.acid.ids import ROW_ID_COLUMN, ValidWriteIdList
from acidsql.acid.orc_types import OrcKind, OrcType
from acidsql.catalog.model import DEFAULT_PARTITION, Column, Partition
from acidsql.errors import UnsupportedStatementError
from acidsql.expressions.spark_words import (
    identifier,
    is_limited,
    spark_type,
    store_cast,
    text_literal,
)
from acidsql.files.fileio import path_of, spark_url, split_url
from acidsql.lazy import dataclass
from acidsql.spark import jvm
from acidsql.storage.file_layout import FileColumn, Layout
from acidsql.storage.footers import FoundFile, ScanFile, bucket_property

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


# ---- path hash
#
# Spark's ``xxhash64`` of a text, and a file's path as Spark's ``_metadata.file_path`` shows it:
# constants of a scan are found by them.


SEED = 42
"""Spark's."""

_PLAIN = re.compile(r"[a-zA-Z0-9\-_.!~*'():@&=+$,;/]*")


def path_hash(path: str) -> int:
    """``xxhash64(_metadata.file_path)`` of the file at an absolute path or URL."""
    number = xxhash.xxh64_intdigest(metadata_path(path).encode(), SEED)
    return number - (1 << 64) if number >> 63 else number  # as a bigint


def metadata_path(path: str) -> str:
    """Hadoop's ``Path.toUri().toString()``. Java: java.net.URI."""
    if path.startswith("/"):
        return f"file:{_escaped(path)}"
    url = split_url(spark_url(path))
    return f"file:{_escaped(path_of(path))}" if url is None else f"{url.root}{_escaped(url.path)}"


def _escaped(path: str) -> str:
    if _PLAIN.fullmatch(path):
        return path
    return "".join(c if _PLAIN.fullmatch(c) or _is_other(c) else _quoted(c) for c in path)


def _is_other(char: str) -> bool:
    """Java's "other" characters, which a URI may hold as they are: beyond ASCII, neither control
    characters nor blanks.
    """
    return ord(char) >= 0xA0 and not char.isspace() and char not in "\u00a0\u2007\u202f"


def _quoted(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode())


# ---- file constants
#
# What is the same for all rows of a file (its partition, its place in the snapshot, the ids of rows
# that have none) as columns of a scan.
#
# Spark's own partition discovery adds columns to the schema its ORC reader asks for, and ORC then
# takes an ACID file for another one. So the constants are looked up by the hash of the file's path,
# in arrays that are objects of the plan and not text of the generated code. A file that is not
# found fails the statement.


FILE = "acidsql_file"
"""The number of the file among those of ``in_order``."""

OFFSET_BITS = 40
"""Files are smaller than a terabyte."""


class Located(Protocol):
    """A file of a snapshot, with the number of its partition."""

    @property
    def path(self) -> str: ...

    @property
    def partition_number(self) -> int: ...


_File = TypeVar("_File", bound=Located)


def in_order(files: Sequence[_File]) -> tuple[_File, ...]:
    """Files by the hash of their paths. UnsupportedStatementError if two hashes are equal: the rows
    could not be told apart.
    """
    by_hash = {path_hash(file.path): file for file in files}
    if len(by_hash) < len(files):
        raise UnsupportedStatementError(
            "two files have paths of one hash", hint="Read the partitions in separate statements."
        )
    return tuple(by_hash[number] for number in sorted(by_hash))


def with_file_number(spark: SparkSession, rows: DataFrame, files: Sequence[Located]) -> DataFrame:
    """``rows`` of a scan of ``files`` (``in_order``) with a last column FILE."""
    from pyspark.sql import functions as F

    hashed = F.expr("xxhash64(_metadata.file_path)")
    hashes = [path_hash(file.path) for file in files]
    if jvm.jvm(spark) is None:
        number = (
            F.array_position(
                F.expr(f"from_json('{json.dumps(hashes)}', 'array<bigint>')"), hashed
            ).cast("int")
            - 1
        )
    else:
        number = jvm.position_in(spark, jvm.longs(spark, np.array(hashes, np.int64)), hashed)
    unknown = F.expr("CAST(raise_error('acidsql: a row of a file that was not listed') AS int)")
    return rows.select("*", F.when(number >= 0, number).otherwise(unknown).alias(FILE))


def of_file(values: Sequence[str | int | None], spark_type: str, index: str = FILE) -> str:
    """SQL for the value of a row's file; texts become ``spark_type`` by a cast."""
    kind = "bigint" if all(isinstance(value, int) for value in values) else "string"
    listed = f"from_json({text_literal(json.dumps(values, ensure_ascii=False))}, 'array<{kind}>')"
    return f"CAST({listed} AS array<{spark_type}>)[{index}]"


def with_row_ids(
    spark: SparkSession, rows: DataFrame, files: Sequence[ScanFile], first_rows: Sequence[int]
) -> DataFrame:
    """``rows`` of raw files, which have FILE, with the ids Hive gives them: originalTransaction,
    bucket, rowId.

    ``first_rows``: the row number each file begins with.  No row may have been skipped or moved.  A
    file is read in pieces, each from the first stripe that begins in it: a row's number is that of
    the stripe's first row plus the rows that came before it from the piece. Hive:
    VectorizedOrcAcidRowBatchReader.computeOffsetAndBucket.
    """
    from pyspark.sql import functions as F

    jvm.need_java(spark, "row ids of files without ACID columns cannot be made")
    starts, numbers = (
        zip(*_stripes(files, first_rows), strict=True)
        if any(file.stripes for file in files)
        else ((), ())
    )
    piece = F.col("acidsql_piece")
    stripe = jvm.position_in(spark, jvm.longs(spark, np.array(starts, np.int64)), piece).alias(
        "acidsql_stripe"
    )
    placed = _counted(spark, rows).select("*", stripe)
    number = of_file(
        numbers, "bigint", "IF(acidsql_stripe >= 0, acidsql_stripe, -acidsql_stripe - 1)"
    )
    ids = [
        f"{of_file([file.file.max_write_id for file in files], 'bigint')} AS originalTransaction",
        f"{of_file([bucket_property(file) for file in files], 'int')} AS bucket",
        f"{number} + {_NUMBER_IN_PIECE} AS rowId",
    ]
    return placed.selectExpr(*map(identifier, rows.columns), *ids)


_NUMBER_IN_PIECE = "acidsql_row - coalesce(acidsql_first, acidsql_row)"


def _counted(spark: SparkSession, rows: DataFrame) -> DataFrame:
    """``rows`` of a scan, which have FILE, with what tells the piece of a file they come from and
    their number in it.
    """
    from pyspark.sql import functions as F

    counted = rows.selectExpr(
        "*",
        f"shiftleft(CAST({FILE} AS bigint), {OFFSET_BITS}) + _metadata.file_block_start AS"
        " acidsql_piece",
        "monotonically_increasing_id() & 8589934591L AS acidsql_row",
    )
    first = jvm.first_in_task(spark, F.col("acidsql_piece"), F.col("acidsql_row")).alias(
        "acidsql_first"
    )
    return counted.select("*", first)


def without_first_rows(spark: SparkSession, rows: DataFrame, count: int) -> DataFrame:
    """``rows`` of a scan, which have FILE, without the first ``count`` of each file. They must lie
    in the file's first piece.
    """
    jvm.need_java(spark, "files with header lines cannot be read")
    in_first_piece = f"(acidsql_piece & {(1 << OFFSET_BITS) - 1}L) = 0"
    kept = _counted(spark, rows).where(f"NOT ({in_first_piece} AND {_NUMBER_IN_PIECE} < {count})")
    return kept.selectExpr(*map(identifier, rows.columns))


def _stripes(files: Sequence[ScanFile], first_rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where each stripe begins, ascending over all files, and the number of its first row."""
    for number, (file, row) in enumerate(zip(files, first_rows, strict=True)):
        for offset, count in file.stripes:
            yield (number << OFFSET_BITS) + offset, row
            row += count


# ---- views
#
# Temporary views, kept because planning a query on one takes less than making it.


MAX_KEPT = 24
"""More than the tables of one statement: its views must all live until Spark has analysed its text.
"""


class Views:
    """Views by what they show. A view that is dropped stays good for queries analysed before."""

    def __init__(self, spark: SparkSession, max_kept: int = MAX_KEPT) -> None:
        self._spark = spark
        self._max_kept = max_kept
        self._names: OrderedDict[Hashable, str] = OrderedDict()
        self._prefix = f"acidsql_{uuid.uuid4().hex[:12]}"
        self._count = 0

    def get(self, key: Hashable, make: Callable[[], DataFrame]) -> str:
        """The name of the view of ``key``; ``make`` is called if there is none."""
        name = self._names.get(key)
        if name is None:
            frame = make()
            self._count += 1
            name = f"{self._prefix}_{self._count}"
            frame.createOrReplaceTempView(name)
            self._names[key] = name
            while len(self._names) > self._max_kept:
                self._drop(self._names.popitem(last=False)[1])
        self._names.move_to_end(key)
        return name

    def close(self) -> None:
        while self._names:
            self._drop(self._names.popitem()[1])

    def _drop(self, name: str) -> None:
        jvm.drop_view(self._spark, name)


@contextlib.contextmanager
def temporary_view(frame: DataFrame) -> Iterator[str]:
    """The name of a view that goes in the end. Every query analysed inside reads the same files by
    it, however often it stands there.
    """
    name = f"acidsql_{uuid.uuid4().hex[:12]}"
    frame.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        jvm.drop_view(frame.sparkSession, name)


# ---- scan words


_SPARK = {
    OrcKind.BYTE: "tinyint",
    OrcKind.SHORT: "smallint",
    OrcKind.LONG: "bigint",
    OrcKind.CHAR: "string",
    OrcKind.VARCHAR: "string",
}


HIVE_TYPE = "acidsql.type"
"""Metadata key of a view's char and varchar columns, which are strings to Spark: the type as Hive
writes it ("char(5)").

Spark carries it along to every result column that shows such a column unchanged.
"""
_META = (
    ("operation", "int"),
    ("originalTransaction", "bigint"),
    ("bucket", "int"),
    ("rowId", "bigint"),
    ("currentTransaction", "bigint"),
)
META_DDL = ", ".join(f"{name} {kind}" for name, kind in _META)
# ORC knows an ACID file by its six columns and fails on a read that leaves one out: each must be
# needed by something.
META_NEEDED = " AND ".join(f"{name} IS NOT NULL" for name, _ in _META)
ROW_ID_SQL = (
    "named_struct('writeid', originalTransaction, 'bucketid', bucket, 'rowid', rowId) AS"
    f" {ROW_ID_COLUMN}"
)
ROW_ID_TYPE = "struct<writeid:bigint,bucketid:int,rowid:bigint>"
_PATTERN = re.compile(r"[\\{}\[\]*?]")
_LISTED_BY_SPARK = ("hdfs:", "viewfs:")
"""In these file systems Spark itself lists files, to run tasks beside their blocks."""


def layout_ddl(layout: Layout) -> str:
    """``name type, ..`` of what is read."""
    unread = (f"{identifier(name)} {stored_type(kind)}" for name, kind in layout.unread)
    return ", ".join(
        (*(f"{identifier(c.name)} {_read_type(c)}" for c in layout.file_columns), *unread)
    )


def layout_struct(layout: Layout) -> str:
    """What is read, as the type of one struct."""
    return (
        "struct<"
        + ",".join(f"{identifier(c.name)}:{_read_type(c)}" for c in layout.file_columns)
        + ">"
    )


def layout_values(
    layout: Layout, read: Callable[[str], str], value: Callable[[FileColumn, str], str]
) -> list[str]:
    """The table's columns in its order; ``read``: what was read of a name in the file, as SQL;
    ``value``: what the file holds where that was read.
    """
    read_values = {
        c.column.name: f"{_value(c, value(c, read(c.name)))} AS {identifier(c.column.name)}"
        for c in layout.file_columns
    }
    return [
        read_values.get(c.name) or f"CAST(NULL AS {spark_type(c.type)}) AS {identifier(c.name)}"
        for c in layout.columns
    ]


def _value(column: FileColumn, stored: str) -> str:
    return stored if column.same else "".join(map(str, store_cast((stored,), column.column.type)))


def _read_type(column: FileColumn) -> str:
    return spark_type(column.column.type) if column.same else stored_type(column.kind)


def stored_type(kind: OrcType) -> str:
    """The Spark DDL type that reads it."""
    match kind.kind:
        case OrcKind.LIST | OrcKind.MAP:
            word = "array" if kind.kind is OrcKind.LIST else "map"
            return f"{word}<{','.join(map(stored_type, kind.children))}>"
        case OrcKind.STRUCT:
            return "struct<" + ",".join(_fields(kind.names, kind.children)) + ">"
        case OrcKind.DECIMAL:
            return f"decimal({kind.precision},{kind.scale})"
        case _:
            return _SPARK.get(kind.kind, kind.kind.name.lower())


def _fields(names: Sequence[str], children: Sequence[OrcType]) -> list[str]:
    return [f"{identifier(n)}:{stored_type(c)}" for n, c in zip(names, children, strict=True)]


def visible_sql(write_ids: ValidWriteIdList | None, files: Sequence[ScanFile]) -> str:
    """The test of currentTransaction where some file holds events of a write id that is not valid;
    it holds for all other files.
    """
    filtered = [file.file for file in files if file.file.needs_row_filter]
    if not filtered or write_ids is None:
        return ""
    low = min(file.min_write_id for file in filtered)
    high = max(file.max_write_id for file in filtered)
    hidden = [str(write_id) for write_id in write_ids.exceptions if low <= write_id <= high]
    return f" AND currentTransaction <= {write_ids.high_watermark}L" + (
        f" AND currentTransaction NOT IN ({'L, '.join(hidden)}L)" if hidden else ""
    )


def with_hive_types(rows: DataFrame, columns: Iterable[Column]) -> DataFrame:
    """``rows``, whose schema names the Hive type of those ``columns`` that are or hold char or
    varchar.
    """
    from pyspark.sql import functions as F

    limited = {c.name: c.type for c in columns if is_limited(c.type)}
    if not limited:
        return rows
    shown = {name: F.col(identifier(name)) for name in rows.columns}
    for name, hive_type in limited.items():
        # DataFrame.withMetadata takes a dot in a name for the way into a struct.
        shown[name] = shown[name].alias(name, metadata={HIVE_TYPE: str(hive_type)})
    return rows.select(*shown.values())


def file_uri(path: str) -> str:
    """A file as Spark wants to be told.

    Braces, brackets and stars are escaped, or Spark takes the name for a pattern. (Its own switch
    against that, ``__globPaths__``, makes it read every file of such a directory once for each of
    them.)
    """
    return _PATTERN.sub(r"\\\g<0>", spark_url(path))


def scan_of(
    spark: SparkSession,
    files: Sequence[ScanFile],
    schema: StructType | str,
    options: Mapping[str, str],
) -> DataFrame:
    """The files as they are, with all that is read of them. ``options``: of Spark's reader."""
    urls = [spark_url(file.path) for file in files]
    identity = identity_of(files)
    if not any(url.startswith(_LISTED_BY_SPARK) for url in urls):
        frame = jvm.read_listed_orc(
            spark, urls, [file.size for file in files], schema, options, identity=identity
        )
        if frame is not None:
            return frame
    uris = [file_uri(file.path) for file in files]
    return jvm.read_files(spark, "orc", uris, schema, options, identity=identity)


def identity_of(files: Iterable[FoundFile | ScanFile]) -> str:
    """What Spark is to tell a scan of these files by: their paths alone do not say that they are
    still the same, and a table may be dropped and made again under its name.
    """
    return xxhash.xxh3_128_hexdigest(repr([file.key for file in files]).encode())


@dataclass(frozen=True, slots=True)
class PartitionValues:
    """The partition values of a snapshot's files. ``values``: Hive's text for each partition; one
    () of a table without partitions.
    """

    columns: tuple[Column, ...]
    values: tuple[tuple[str, ...], ...]

    @property
    def differ(self) -> bool:
        """Whether a row's file tells its values: where rows of several partitions come together,
        and for NULL. Of a plain NULL Spark's optimizer takes ``NOT IN (SELECT ..)`` for NULL, also
        where the sub-query has no row.
        """
        return len(self.values) > 1 or any(DEFAULT_PARTITION in one for one in self.values)

    def sql(self, files: Sequence[Located]) -> list[str]:
        """The partition columns of rows from ``files``, which have FILE if the values differ."""
        return [self._sql(number, column, files) for number, column in enumerate(self.columns)]

    def _sql(self, number: int, column: Column, files: Sequence[Located]) -> str:
        kind = spark_type(column.type)
        if not self.differ:
            shown = text_literal(self.values[0][number])
            return f"CAST({shown} AS {kind}) AS {identifier(column.name)}"
        texts = [_partition_value(self.values[f.partition_number][number]) for f in files]
        return f"{of_file(texts, kind)} AS {identifier(column.name)}"


def _partition_value(text: str) -> str | None:
    return None if text == DEFAULT_PARTITION else text


def key_sql(expression: str) -> str:
    """The text of a partition column's value: never NULL, never empty."""
    return f"coalesce(nullif(CAST({expression} AS string), ''), {text_literal(DEFAULT_PARTITION)})"


def meeting(
    spark: SparkSession,
    columns: Sequence[Column],
    partitions: Sequence[Partition],
    conditions: Sequence[str],
) -> tuple[Partition, ...]:
    """The partitions whose values meet all ``conditions`` (Spark SQL over the columns' names).
    Spark judges without a job.
    """
    import pyarrow as pa

    texts = [
        [None if text == DEFAULT_PARTITION else text for text in of_column]
        for of_column in zip(*(p.values for p in partitions), strict=True)
    ]
    given = pa.table(
        {
            **{f"k{i}": pa.array(t, pa.string()) for i, t in enumerate(texts)},
            "ordinal": pa.array(range(len(partitions))),
        }
    )
    casts = [
        f"CAST(k{i} AS {spark_type(c.type)}) AS {identifier(c.name)}" for i, c in enumerate(columns)
    ]
    frame = jvm.frame_of(spark, given).selectExpr(*casts, "ordinal AS acidsql_ordinal")
    for condition in conditions:
        frame = frame.where(condition)
    return tuple(partitions[row[0]] for row in frame.select("acidsql_ordinal").collect())
