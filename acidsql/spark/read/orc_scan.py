"""A scan of ORC files in Spark, by the sizes they had when their footers were read: Spark loses the
rows behind the size it knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from acidsql.files.urls import spark_url
from acidsql.spark import jvm
from acidsql.spark.read.event_scan import file_uri
from acidsql.storage.footers import ScanFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_LISTED_BY_SPARK = ("hdfs:", "viewfs:")
"""In these file systems Spark itself lists files, to run tasks beside their blocks."""


def scan_of(
    spark: SparkSession,
    files: Sequence[ScanFile],
    schema: StructType | str,
    options: Mapping[str, str],
) -> DataFrame:
    urls = [spark_url(file.path) for file in files]
    if not any(url.startswith(_LISTED_BY_SPARK) for url in urls):
        frame = jvm.read_listed_orc(spark, urls, [file.size for file in files], schema, options)
        if frame is not None:
            return frame
    return jvm.read_files(spark, "orc", [file_uri(file.path) for file in files], schema, options)
