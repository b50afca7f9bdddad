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
from acidsql.catalog.types import CharType, DecimalType, HiveType, PrimitiveType, VarcharType
from acidsql.expressions.spark_words import identifier
from acidsql.spark.read.scan_words import key_sql
from acidsql.storage.partitions import PartitionIndex, key_names

if TYPE_CHECKING:
    import pyarrow as pa

    from acidsql.storage.snapshots import TableSnapshot

_EPOCH = datetime.datetime(1970, 1, 1)
_ORDERED = frozenset("tinyint smallint int bigint float double date timestamp".split())


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
    measures = [
        f"{sql} AS {_name(ordinal, name)}"
        for ordinal, c in enumerate(columns)
        for name, sql in _measures(c).items()
    ]
    grouped = f" GROUP BY {', '.join(map(str, range(1, len(keys) + 1)))}" if keys else ""
    return (
        f"SELECT {', '.join([*keys, 'count(*) AS n', *measures])} FROM {identifier(view)}{grouped}"
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


def asked(columns: Sequence[Column]) -> tuple[dict[str, str], dict[str, str]]:
    """What is measured, by the names that ``with_figures`` takes: aggregates that need no Spark,
    and columns whose different values are counted.
    """
    aggregates, different = {"n": "count(*)"}, {}
    for ordinal, column in enumerate(columns):
        for name, sql in _measures(column).items():
            if name == "distinct":
                different[_name(ordinal, name)] = identifier(column.name)
            else:
                aggregates[_name(ordinal, name)] = sql
    return aggregates, different


def with_figures(
    columns: Sequence[Column], analyzed: Sequence[Analyzed], figures: Sequence[Mapping[str, Any]]
) -> list[Analyzed]:
    """``analyzed`` with the figures of each partition."""
    return [_with_row(one, columns, row) for one, row in zip(analyzed, figures, strict=True)]


def _with_row(analyzed: Analyzed, columns: Sequence[Column], row: Mapping[str, Any]) -> Analyzed:
    measured = []
    for ordinal, column in enumerate(columns):
        values = {name: row.get(_name(ordinal, name)) for name in _measures(column)}
        measured.append(_statistics(column, row["n"], values))
    return replace(analyzed, rows=row["n"], columns=tuple(measured))


def _name(ordinal: int, measure: str) -> str:
    return f"c{ordinal}_{measure}"


def _measures(column: Column) -> dict[str, str]:
    """What is asked of a column, by the kind of its type, as Spark SQL."""
    name = identifier(column.name)
    asked = {"known": f"count({name})"}
    match _kind(column.type):
        case "ordered":
            asked |= {
                "distinct": _distinct(column),
                "low": f"min({name})",
                "high": f"max({name})",
            }
        case "text":
            asked |= {
                "distinct": _distinct(column),
                "length": f"sum(length({name}))",
                "longest": f"max(length({name}))",
            }
        case "binary":
            asked |= {"length": f"sum(length({name}))", "longest": f"max(length({name}))"}
        case "boolean":
            asked |= {"trues": f"sum(if({name}, 1, 0))"}
    return asked


def _distinct(column: Column) -> str:
    """About how many different values there are, within 1 %: a sketch of 2^14 registers, which
    takes whole numbers and texts, and no empty ones. (approx_count_distinct is planned as 1,639
    columns each time.)
    """
    name = identifier(column.name)
    match column.type:
        case PrimitiveType("tinyint" | "smallint" | "int"):
            value = f"CAST({name} AS INT)"
        case PrimitiveType("bigint"):
            value = name
        case PrimitiveType("float" | "double"):  # 0.0 and -0.0 are one value
            value = f"concat('.', CAST({name} AS DOUBLE) + 0D)"
        case _:
            value = f"concat('.', {name})"
    return f"hll_sketch_estimate(hll_sketch_agg({value}, 14))"


def _kind(hive_type: HiveType) -> str:
    match hive_type:
        case PrimitiveType(name) if name in _ORDERED:
            return "ordered"
        case DecimalType():
            return "ordered"
        case PrimitiveType("string") | CharType() | VarcharType():
            return "text"
        case PrimitiveType("binary" | "boolean" as name):
            return name
    return "other"


def _statistics(column: Column, rows: int, measured: Mapping[str, Any]) -> ColumnStatistics:
    """The statistics of one column. ``measured``: figures by the names of ``_measures``; None where
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
