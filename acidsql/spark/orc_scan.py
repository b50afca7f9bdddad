"""A scan of ORC files in Spark, by the sizes they had when their footers were read: Spark loses the rows behind the size it knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from acidsql.spark import classic
from acidsql.spark.footers import ScanFile
from acidsql.spark.scan_files import file_uri
from acidsql.spark.urls import spark_url

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_PLACES_MATTER = ("hdfs:", "viewfs:")
"""Where Spark itself lists files, to run tasks beside their blocks."""


def scan_of(spark: SparkSession, files: Sequence[ScanFile], schema: StructType | str, options: Mapping[str, str]) -> DataFrame:
    urls = [spark_url(file.path) for file in files]
    if not any(url.startswith(_PLACES_MATTER) for url in urls):
        found = classic.read_listed_orc(spark, urls, [file.size for file in files], schema, options)
        if found is not None:
            return found
    return classic.read_files(spark, "orc", [file_uri(file.path) for file in files], schema, options)
