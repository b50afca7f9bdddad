"""Words a scan of ACID files is put in: the five event columns, and which events are visible."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acidsql.acid.write_ids import ValidWriteIdList
from acidsql.spark.footers import ScanFile
from acidsql.spark.urls import spark_url

HIVE_TYPE = "acidsql.type"
"""Metadata key of a view's char and varchar columns, which are strings to Spark: the type as Hive writes it ("char(5)").

Spark carries it along to every result column that shows such a column unchanged.
"""

ROW_ID = "ROW__ID"
IDS = ("originalTransaction", "bucket", "rowId")

_META = (
    ("operation", "int"),
    ("originalTransaction", "bigint"),
    ("bucket", "int"),
    ("rowId", "bigint"),
    ("currentTransaction", "bigint"),
)
META_DDL = ", ".join(f"{name} {kind}" for name, kind in _META)
# ORC knows an ACID file by its six columns and fails on a read that leaves one out: each must be needed by something.
META_NEEDED = " AND ".join(f"{name} IS NOT NULL" for name, _ in _META)
ROW_ID_SQL = f"named_struct('writeid', originalTransaction, 'bucketid', bucket, 'rowid', rowId) AS {ROW_ID}"
ROW_ID_TYPE = "struct<writeid:bigint,bucketid:int,rowid:bigint>"
_PATTERN = re.compile(r"[\\{}\[\]*?]")


def visible_sql(write_ids: ValidWriteIdList | None, files: Sequence[ScanFile]) -> str:
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


def file_uri(path: str) -> str:
    """A file as Spark wants to be told.

    Braces, brackets and stars are escaped, or Spark takes the name for a pattern. (Its own switch against that, ``__globPaths__``, makes it
    read every file of such a directory once for each of them.)
    """
    return _PATTERN.sub(r"\\\g<0>", spark_url(path))
