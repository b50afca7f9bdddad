"""Tables and rows for the writers' tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from acidsql.files.fileio import FileIO
from acidsql.plan.engines import INSERT_SHARE
from acidsql.plan.operators import Effect
from acidsql.spark.write import writer
from acidsql.storage.write import driver_writer
from acidsql.storage.write.pending import PendingWrites
from acidsql.storage.write.target import WriteTarget, Written, publish

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

from pathlib import Path

import pyarrow as pa

from acidsql.acid.ids import StatementId, WriteId
from acidsql.catalog.model import Bucketing, Column, Table, TableName
from acidsql.catalog.types import parse_type
from acidsql.storage.stored import arrow_schema
from tests.spark.naive_reader import EVENT, Key

EVERY_TYPE = {
    "b": "boolean",
    "ti": "tinyint",
    "si": "smallint",
    "i": "int",
    "bi": "bigint",
    "f": "float",
    "d": "double",
    "dec": "decimal(20,4)",
    "s": "string",
    "c": "char(5)",
    "vc": "varchar(6)",
    "bin": "binary",
    "dt": "date",
    "ts": "timestamp",
    "arr": "array<int>",
    "m": "map<string,bigint>",
    "st": "struct<x:int,y:string>",
    "deep": "array<struct<k:char(3),v:map<int,array<decimal(5,2)>>>>",
    "nest": "struct<a:struct<x:int,y:struct<z:string>>,b:map<string,struct<c:int>>>",
    "bucket": "int",
    "row": "string",
}
"""The last two are names of an event's own fields."""


def make_table(
    root: Path,
    columns: dict[str, str],
    *,
    clustered: tuple[str, ...] = (),
    buckets: int = 4,
    **properties: str,
) -> Table:
    return Table(
        name=TableName("default", "t"),
        columns=tuple(Column(name=name, type=parse_type(text)) for name, text in columns.items()),
        location=str(root),
        bucketing=Bucketing(columns=clustered, count=buckets) if clustered else None,
        properties={
            "transactional": "true",
            **{key.replace("_", "."): value for key, value in properties.items()},
        },
    )


def below(table: Table, *names: str) -> tuple[str, ...]:
    """Directories of a table by their names."""
    return tuple(f"{table.location}/{name}" for name in names)


def target(
    table: Table,
    write_id: int,
    statement: int = 0,
    *,
    path: str = "auto",
    max_bytes: int = 64 << 20,
    overwrite: bool = False,
) -> WriteTarget:
    return WriteTarget(
        table=table,
        write_id=WriteId(write_id),
        statement_id=StatementId(statement),
        codec=table.properties.get("orc.compress", "ZLIB"),
        staging=f".staging_{write_id}_{statement}",
        force_path=path,
        max_bytes=max_bytes,
        overwrite=overwrite,
        pending=PendingWrites(),
    )


Write = Callable[[FileIO, WriteTarget, Any], Written]


def committed(write: Write) -> Write:
    """What is written and then published, as by a statement that is committed at once."""

    def run(io: FileIO, target: WriteTarget, rows: Any) -> Written:
        assert target.pending is not None
        try:
            written = write(io, target, rows)
            publish(io, target.pending.roots.values(), lambda: None, lambda _: None)
        finally:
            target.pending.discard()
        return written

    return run


write_rows = committed(driver_writer.write_rows)
write_plain_rows = committed(driver_writer.write_plain_rows)
write_update = committed(driver_writer.write_update)
write_delete = committed(driver_writer.write_delete)


def arrow_rows(table: Table, rows: list[dict[str, object]]) -> pa.Table:
    return pa.Table.from_pylist(rows, arrow_schema(table.columns))


def id_table(keys: list[Key]) -> pa.Table:
    types = (pa.int64(), pa.int32(), pa.int64())
    columns = zip(*keys, strict=True) if keys else ((), (), ())
    return pa.Table.from_arrays(
        [pa.array(c, t) for c, t in zip(columns, types, strict=True)], names=EVENT[1:4]
    )


def changed_rows(table: Table, rows: dict[Key, dict[str, object]]) -> pa.Table:
    """The ids beside the new values, as an UPDATE hands them over."""
    ids, values = id_table(list(rows)), arrow_rows(table, list(rows.values()))
    return pa.Table.from_arrays(
        [*ids.columns, *values.columns], names=[*ids.column_names, *values.column_names]
    )


def names_below(root: Path) -> list[str]:
    """All files below a directory, hidden ones too."""
    return (
        sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file())
        if root.is_dir()
        else []
    )


def insert(spark: SparkSession, io: FileIO, target: WriteTarget, rows: DataFrame) -> Written:
    """The two ways of an INSERT's plan, in its order."""
    return _by_either_way(spark, io, target, rows, Effect.INSERT, driver_writer.insert_rows)


def update(spark: SparkSession, io: FileIO, target: WriteTarget, rows: DataFrame) -> Written:
    """The two ways of an UPDATE's plan, in its order."""
    return _by_either_way(spark, io, target, rows, Effect.UPDATE, driver_writer.write_update)


def delete(spark: SparkSession, io: FileIO, target: WriteTarget, rows: DataFrame) -> Written:
    """The two ways of a DELETE's plan, in its order."""
    return _by_either_way(spark, io, target, rows, Effect.DELETE, driver_writer.write_delete)


def _by_either_way(
    spark: SparkSession,
    io: FileIO,
    target: WriteTarget,
    rows: DataFrame,
    effect: Effect,
    write: Write,
) -> Written:
    def by_either_way(io: FileIO, target: WriteTarget, rows: DataFrame) -> Written:
        return _written(spark, io, target, rows, effect, write)

    return committed(by_either_way)(io, target, rows)


def _written(
    spark: SparkSession,
    io: FileIO,
    target: WriteTarget,
    rows: DataFrame,
    effect: Effect,
    write: Write,
) -> Written:
    fetched = writer.fetched(
        target, rows, effect, target.max_bytes // (INSERT_SHARE if effect is Effect.INSERT else 1)
    )
    return (
        writer.write_by_job(spark, io, target, rows, effect)
        if fetched is None
        else write(io, target, fetched)
    )
