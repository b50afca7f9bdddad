"""SQL in words that the Spark has which is installed."""

from __future__ import annotations


def is_utf8(sql: str) -> str:
    """SQL for whether a string (SQL, repeated in the result) is UTF-8. Spark has a function for it
    from version 4 on; before, it replaces what is none when it encodes a text.
    """
    from pyspark.sql import functions

    if hasattr(functions, "is_valid_utf8"):
        return f"is_valid_utf8({sql})"
    return f"(encode({sql}, 'UTF-8') = CAST({sql} AS binary))"
