"""The rules of a table (planner.rules) applied to rows that Spark computes, and to literal rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from acidsql.catalog.model import Table
from acidsql.catalog.partitions import unescape
from acidsql.planner.bind.rules import MARK, enforcement, rules_of
from acidsql.storage.partitions import check_nameable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def enforced(table: Table, rows: DataFrame, *leading: str, exempt: str = "FALSE") -> DataFrame:
    """``rows`` (``leading`` columns, under these names, then the table's and its partitions'),
    which fail where one breaks a rule of it.
    """
    condition = enforcement(table, exempt)
    names = (c.name for c in (*table.columns, *table.partition_columns))
    return rows if condition is None else rows.toDF(*leading, *names).where(condition)


@contextmanager
def enforcing(table: Table) -> Iterator[None]:
    """Turns what ``enforced`` rows raise inside Spark into the rule's own error.

    It does the same for partitions whose directories Spark cannot make, because nothing can be
    called after their values.
    """
    try:
        yield
    except Exception as error:
        text = str(error)
        if (broken := re.search(rf"{MARK}(\d+)", text)) is not None:
            raise rules_of(table)[int(broken[1])].violation() from None
        if (
            directory := re.search(r"Mkdirs failed to create (.*?)(?: \(exists=|\n|$)", text)
        ) is not None:
            for number, value in re.findall(r"/k(\d+)=([^/]*)", directory[1]):
                check_nameable(table, int(number), unescape(value))
        raise


def checked_rows(table: Table, rows: pa.Table) -> pa.Table:
    """Literal rows, of which none has NULL where it may not; CHECK is never asked of them."""
    for rule in rules_of(table):
        if rule.column is not None and rows.column(rule.column).null_count:
            raise rule.violation()
    return rows
