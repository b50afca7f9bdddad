"""What is the same for all rows of a file (its partition, its place in the snapshot, the ids of
rows that have none) as columns of a scan.

Spark's own partition discovery adds columns to the schema its ORC reader asks for, and ORC then
takes an ACID file for another one. So the constants are looked up by the hash of the file's path,
in arrays that are objects of the plan and not text of the generated code. A file that is not found
fails the statement.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from acidsql.errors import UnsupportedStatementError
from acidsql.expressions.spark_words import identifier, text_literal
from acidsql.spark import jvm
from acidsql.spark.read.path_hash import path_hash
from acidsql.storage.footers import ScanFile, bucket_property

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
