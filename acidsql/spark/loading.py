"""LOAD DATA: files become files of a table as they are, beside what is there or in its place. Hive: LoadTask, Hive.copyFiles.

    full ACID          delta_w_w_s/000000_0, 000001_0 ..   raw files, whose rows have the ids of their places
    insert-only        delta_w_w_s/name                    names stay
    not transactional  name, name_copy_1 ..

Every file is in the staging directory before the first gets a name readers look at. What is to be moved is deleted at its old place by
the caller, when the rows are there for good: whatever fails before, no file is lost.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from acidsql.acid.ids import MAX_BUCKET_ID, NO_STATEMENT, BucketId, WriteId
from acidsql.acid.snapshot import DataFile
from acidsql.catalog.model import FileFormat
from acidsql.errors import BindError, ExecutionError
from acidsql.planner.bound import BoundLoad
from acidsql.planner.lowering import identifier, text_literal
from acidsql.spark.fileio import FileIO, in_parallel
from acidsql.spark.footers import FoundFile
from acidsql.spark.load_checks import rows_of
from acidsql.spark.load_sources import Source, find_sources
from acidsql.spark.publish import publish_rows, staging
from acidsql.spark.target import StagedFile, WriteTarget, Written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from acidsql.spark.reader import SnapshotReader


def sources_of(io: FileIO, action: BoundLoad) -> tuple[Source, ...]:
    """The files to load, each looked into. BindError at the statement's place for one that cannot be, or if there is none."""
    try:
        found = find_sources(io, action.path)
        for source in found:
            rows_of(io, action.table, source)
    except BindError as error:
        error.span = action.span
        raise
    return found


def write_load(io: FileIO, target: WriteTarget, action: BoundLoad) -> Written:
    """``target``: of the table, or of the partition the statement names."""
    sources = sources_of(io, action)
    if target.table.is_full_acid and len(sources) > MAX_BUCKET_ID + 1:
        raise BindError(f"one LOAD DATA takes at most {MAX_BUCKET_ID + 1} files, here are {len(sources)}", span=action.span)
    mine = replace(target, partition=target.sure[0]) if target.sure else target
    with staging(io, target) as directory:
        numbered = list(enumerate(source for source in sources if source.size or not target.table.is_full_acid))
        files = in_parallel(lambda pair: _stage(io, mine, directory, *pair, moving=not action.local), numbered)
        directories = publish_rows(io, target, files)
    return Written(
        directories=directories,
        partitions=target.sure,
        inserted=sum(file.rows for file in files),
        files=tuple(files),
        moved=moved(action, sources),
    )


def rows(spark: SparkSession, reader: SnapshotReader, target: WriteTarget, action: BoundLoad, sources: Sequence[Source]) -> DataFrame:
    """What is in the files, for a table that wants each row in its bucket or asks rules of it; columns as INSERT wants them."""
    from acidsql.spark.reader import Place, TableSnapshot

    table = replace(target.table, partition_columns=(), bucketing=None)
    place = Place(root=target.root, own_inserts=_found_files(sources))
    view = reader.view(TableSnapshot(table=table, places=(place,)))
    keys = action.partition.static if action.partition is not None else ()
    return spark.table(view).selectExpr("*", *(f"{text_literal(text)} AS {identifier(name)}" for name, text in keys))


def delete_moved(io: FileIO, paths: Iterable[str]) -> None:
    """Of files whose rows are in a table for good. ExecutionError for one that stays."""
    for path in paths:
        try:
            io.delete_file(path)
        except OSError as error:
            message = f'the rows of "{path}" are loaded, but the file could not be deleted'
            raise ExecutionError(message, detail=str(error), hint="Delete it before it is loaded again.") from error


def moved(action: BoundLoad, sources: Sequence[Source]) -> tuple[str, ...]:
    """What is to go from its old place once the rows are there for good."""
    return () if action.local else tuple(source.path for source in sources)


def _found_files(sources: Sequence[Source]) -> tuple[FoundFile, ...]:
    """As a scan of plain rows wants them, which is to look at them anew."""
    return tuple(FoundFile(path=source.path, file=_data_file(source)) for source in sources if source.size)


def _data_file(source: Source) -> DataFile:
    return DataFile(
        path=source.path,
        size=source.size,
        mtime_ns=time.time_ns(),
        min_write_id=WriteId(0),
        max_write_id=WriteId(0),
        statement_id=NO_STATEMENT,
        bucket=None,
        raw=True,
        needs_row_filter=False,
    )


def _stage(io: FileIO, target: WriteTarget, directory: str, number: int, source: Source, *, moving: bool) -> StagedFile:
    staged = f"{directory}/{uuid.uuid4().hex}"
    io.copy_file(source.path, staged, as_link=moving)
    full_acid = target.table.is_full_acid
    return StagedFile(
        path=staged,
        directory=target.insert_directory if full_acid else target.plain_directory,
        bucket=BucketId(number if full_acid else 0),
        rows=rows_of(io, target.table, source),
        size=source.size,
        partition=target.partition,
        raw=True,
        name=None if full_acid else source.name,
        counted=target.table.file_format is not FileFormat.TEXTFILE,
    )
