"""A scan in Spark's words: what is read of a file (``storage.file_layout``) and what becomes of
that, the five event columns, which events are visible, and the partition columns of its rows: a
plain literal where a scan has one partition, else looked up by the row's file.

ORC files are read by the sizes they had when their footers were read: Spark loses the rows behind
the size it knows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import xxhash

from acidsql.acid.orc_types import OrcKind, OrcType
from acidsql.acid.row_id import ROW_ID_COLUMN
from acidsql.acid.write_ids import ValidWriteIdList
from acidsql.catalog.model import DEFAULT_PARTITION, Column, Partition
from acidsql.expressions.spark_words import (
    identifier,
    is_limited,
    spark_type,
    store_cast,
    text_literal,
)
from acidsql.files.urls import spark_url
from acidsql.lazy_dataclass import dataclass
from acidsql.spark import jvm
from acidsql.spark.read.file_constants import Located, of_file
from acidsql.storage.file_layout import FileColumn, Layout
from acidsql.storage.footers import FoundFile, ScanFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


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
