"""SQL in words that the Spark has which is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acidsql.spark.jvm.java import jvm, remembered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def is_utf8(sql: str) -> str:
    """SQL for whether a string (SQL, repeated in the result) is UTF-8. Spark has a function for it
    from version 4 on; before, it replaces what is none when it encodes a text.
    """
    from pyspark.sql import functions

    if hasattr(functions, "is_valid_utf8"):
        return f"is_valid_utf8({sql})"
    return f"(encode({sql}, 'UTF-8') = CAST({sql} AS binary))"


def has_empty_structs(spark: SparkSession) -> bool:
    """Whether a DataFrame can have a struct without fields, on Spark Connect too (Spark 4)."""

    def look_up() -> bool:
        try:
            return bool(spark.range(0).selectExpr("named_struct()").schema)
        except Exception:
            return False

    return bool(remembered(jvm(spark) or spark, "has empty structs", look_up))
