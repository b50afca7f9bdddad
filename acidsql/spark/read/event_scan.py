"""Words a scan of ACID files is put in: the five event columns, and which events are visible."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from acidsql.acid.row_id import ROW_ID_COLUMN
from acidsql.acid.write_ids import ValidWriteIdList
from acidsql.catalog.model import Column
from acidsql.catalog.types import CharType, VarcharType
from acidsql.expressions.spark_words import identifier
from acidsql.files.urls import spark_url
from acidsql.storage.footers import ScanFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
    """``rows``, whose schema names the Hive type of those ``columns`` that are char or varchar."""
    from pyspark.sql import functions as F

    limited = {c.name: c.type for c in columns if isinstance(c.type, CharType | VarcharType)}
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
