"""Holds a warehouse against Hive's classes: every table's files, and every row, ROW__ID included,
that we and Hive read from them.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from acidsql.catalog.model import Table, TableName
from acidsql.catalog.partitions import partition_text
from acidsql.catalog.text import timestamp_text
from acidsql.catalog.types import ArrayType, CharType, HiveType, MapType, PrimitiveType, StructType
from acidsql.session import Session
from tests.interop.judge import Judge, Row


def judge_warehouse(judge: Judge, session: Session) -> int:
    """Judges every ACID table of the session's warehouse; how many bucket files that were.
    AssertionError for what Hive would not have.
    """
    return sum(judge_table(judge, session, table) for table in acid_tables(session))


def judge_table(judge: Judge, session: Session, table: Table) -> int:
    """Hive finds the footers sound, its readers agree with each other, and with ours: of the table,
    or of each of its partitions.
    """
    ours = our_rows(session, table)
    places = (
        {p.values: p.location for p in session.store.list_partitions(table)}
        if table.partition_columns
        else {(): table.location}
    )
    assert ours.keys() <= places.keys(), f"{table.name} has rows in partitions nobody knows"
    return sum(
        judge_directory(judge, session, table, Path(place), ours.get(values, []))
        for values, place in places.items()
    )


def judge_directory(
    judge: Judge, session: Session, table: Table, directory: Path, ours: list[Row]
) -> int:
    """The same of one directory; ``ours`` are the rows we read from it, sorted by id."""
    files = judge.check_footers(directory)
    assert sorted(files) == sorted(
        p.relative_to(directory).as_posix() for p in directory.glob("*/bucket_*")
    ), "files Hive does not see"
    write_ids = session.store.valid_write_ids(table.name, session.store.valid_txns())
    schema = "struct<" + ",".join(f"{c.name}:{c.type}" for c in table.columns) + ">"
    if any(path.is_file() for path in directory.rglob("*")):
        hive_rows = judge.compare(
            directory, str(write_ids), schema, table.bucketing.count if table.bucketing else None
        )
    else:
        hive_rows = []  # Hive's readers are not asked about an empty directory
    assert ours == hive_rows, f"{table.name} reads otherwise in Hive {judge.version}: {directory}"
    return len(files)


def acid_tables(session: Session) -> Iterator[Table]:
    for database in session.store.list_databases():
        for name in session.store.list_tables(database):
            table = session.store.find_table(TableName(database, name))
            if table is not None and table.is_full_acid:
                yield table


def our_rows(session: Session, table: Table) -> dict[tuple[str, ...], list[Row]]:
    """All rows as ``SELECT ROW__ID, *`` gives them, in the judge's words: those of each partition
    by its values, sorted by id.
    """
    rows: dict[tuple[str, ...], list[Row]] = {}
    for row_id, *values in session.sql(f"SELECT ROW__ID, * FROM {table.name}").rows():
        data, keys = values[: len(table.columns)], values[len(table.columns) :]
        named = {c.name: judged_value(v, c.type) for c, v in zip(table.columns, data, strict=True)}
        rows.setdefault(tuple(partition_text(key) for key in keys), []).append(
            (*row_id.values(), named)
        )
    return {values: sorted(mine, key=lambda row: row[:3]) for values, mine in rows.items()}


def judged_value(value: Any, hive_type: HiveType) -> Any:
    """A value as the judge writes it into JSON."""
    if value is None:
        return None
    match hive_type:
        case ArrayType(element):
            return [judged_value(v, element) for v in value]
        case MapType(key, item):
            return sorted(
                ([judged_value(k, key), judged_value(v, item)] for k, v in value), key=json.dumps
            )
        case StructType(fields):
            return {f.name: judged_value(value[f.name], f.type) for f in fields}
        case CharType(length):
            return value.ljust(length)
        case PrimitiveType("float"):
            return _shortest_float(value)
        case _:
            return _leaf(value)


def _leaf(value: Any) -> Any:
    match value:
        case float() if value != value or abs(value) == float("inf"):
            return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
        case Decimal():
            text = f"{value:f}"
            return text.rstrip("0").rstrip(".") if "." in text else text
        case bytes():
            return value.hex()
        case datetime.datetime():
            return timestamp_text(value)
        case datetime.date():
            return value.isoformat()
        case _:
            return value


def _shortest_float(value: float) -> Any:
    import numpy

    return _leaf(float(str(numpy.float32(value))))
