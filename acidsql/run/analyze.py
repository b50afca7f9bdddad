"""ANALYZE: the sizes of files from their listing, rows from footers where they tell, and all the
rest from aggregates, of the driver's or one of Spark's.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from acidsql.catalog.model import Column, Table
from acidsql.catalog.statistics import Analyzed, ColumnStatistics
from acidsql.expressions.spark_words import identifier
from acidsql.planner.bind.local.measures import measure_name, measures
from acidsql.spark.read.scan_words import key_sql
from acidsql.storage.partitions import PartitionIndex, key_names

if TYPE_CHECKING:
    import pyarrow as pa

    from acidsql.storage.snapshots import TableSnapshot

_EPOCH = datetime.datetime(1970, 1, 1)


def of_files(snapshot: TableSnapshot, rows: Sequence[int] | None) -> list[Analyzed]:
    """The files of each partition of the snapshot, with its ``rows`` if they are known."""
    analyzed = []
    for number, part in enumerate(snapshot.partitions):
        sizes = [
            file.file.size for file in (*part.insert_files(number), *part.delete_files(number))
        ]
        count = None if rows is None else rows[number]
        analyzed.append(
            Analyzed(partition=part.partition, rows=count, files=len(sizes), bytes=sum(sizes))
        )
    return analyzed


def aggregate(table: Table, columns: Sequence[Column], view: str) -> str:
    """The query that counts the rows of each partition and measures ``columns``."""
    keys = [
        f"{key_sql(identifier(c.name))} AS {key}"
        for c, key in zip(table.partition_columns, key_names(table), strict=True)
    ]
    measured = [
        f"{sql} AS {measure_name(ordinal, name)}"
        for ordinal, c in enumerate(columns)
        for name, sql in measures(c).items()
    ]
    grouped = f" GROUP BY {', '.join(map(str, range(1, len(keys) + 1)))}" if keys else ""
    return (
        f"SELECT {', '.join([*keys, 'count(*) AS n', *measured])} FROM {identifier(view)}{grouped}"
    )


def with_rows(
    table: Table, columns: Sequence[Column], analyzed: Sequence[Analyzed], rows: pa.Table
) -> list[Analyzed]:
    """``analyzed`` with the figures of the query's ``rows``. ExecutionError if the values of two
    partitions are equal.
    """
    partition_index = PartitionIndex.of(
        table, [one.partition for one in analyzed if one.partition is not None]
    )
    measured: dict[str, Mapping[str, Any]] = {}
    for row in rows.to_pylist():
        keys = tuple(row[key] for key in key_names(table))
        measured[partition_index.find(keys).location if keys else ""] = row
    return [
        _with_row(
            one, columns, measured.get(one.partition.location if one.partition else "", {"n": 0})
        )
        for one in analyzed
    ]


def with_figures(
    columns: Sequence[Column], analyzed: Sequence[Analyzed], figures: Sequence[Mapping[str, Any]]
) -> list[Analyzed]:
    """``analyzed`` with the figures of each partition."""
    return [_with_row(one, columns, row) for one, row in zip(analyzed, figures, strict=True)]


def _with_row(analyzed: Analyzed, columns: Sequence[Column], row: Mapping[str, Any]) -> Analyzed:
    measured = []
    for ordinal, column in enumerate(columns):
        values = {name: row.get(measure_name(ordinal, name)) for name in measures(column)}
        measured.append(_statistics(column, row["n"], values))
    return replace(analyzed, rows=row["n"], columns=tuple(measured))


def _statistics(column: Column, rows: int, measured: Mapping[str, Any]) -> ColumnStatistics:
    """The statistics of one column. ``measured``: figures by the names of ``measures``; None where
    there was no row, or no value.
    """
    known = measured["known"] or 0
    text = "length" in measured
    return ColumnStatistics(
        column=column,
        nulls=rows - known,
        distinct=measured["distinct"] or 0 if "distinct" in measured else None,
        low=_end(measured.get("low")),
        high=_end(measured.get("high")),
        average_length=(measured["length"] or 0) / max(rows, 1) if text else None,
        longest=measured["longest"] or 0 if text else None,
        trues=measured["trues"] or 0 if "trues" in measured else None,
        falses=known - (measured["trues"] or 0) if "trues" in measured else None,
    )


def _end(value: Any) -> int | float | Decimal | None:
    """Days of a date and seconds of a timestamp since 1970, as Hive keeps them."""
    match value:
        case datetime.datetime():
            return (value - _EPOCH) // datetime.timedelta(seconds=1)
        case datetime.date():
            return (value - _EPOCH.date()).days
        case int() | float() | Decimal() | None:
            return value
    raise TypeError(value)
