"""LOAD DATA: files become files of a table as they are, beside what is there or instead of it.
Hive: LoadTask, Hive.copyFiles.

    full ACID          delta_w_w_s/000000_0, 000001_0 ..   original files, whose rows have the ids
                                                           of their positions
    insert-only        delta_w_w_s/name                    names stay
    not transactional  name, name_copy_1 ..

Every file is in the staging directory before the first gets a name readers look at. What is to be
moved is deleted at its old path by the caller, when the rows are there for good: whatever fails
before, no file is lost.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace

from acidsql.acid.ids import MAX_BUCKET_ID, NO_STATEMENT, BucketId, WriteId
from acidsql.acid.listed import DataFile
from acidsql.catalog.model import FileFormat, Table
from acidsql.errors import BindError, ExecutionError, Span
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import in_parallel
from acidsql.storage.footers import FoundFile
from acidsql.storage.load.checks import rows_of
from acidsql.storage.load.sources import Source, find_sources
from acidsql.storage.write.publish import staging, take_in
from acidsql.storage.write.target import StagedFile, WriteTarget, Written


def sources_of(io: FileIO, table: Table, path: str, span: Span) -> tuple[Source, ...]:
    """The files to load, each looked into. BindError at the statement's span for one that cannot
    be, or if there is none.
    """
    try:
        sources = find_sources(io, path)
        for source in sources:
            rows_of(io, table, source)
    except BindError as error:
        error.span = span
        raise
    return sources


def write_load(
    io: FileIO, target: WriteTarget, sources: Sequence[Source], span: Span, *, moving: bool
) -> Written:
    """Makes the sources files of a table. ``target``: of the table, or of the partition the
    statement names. ``moving``: the sources will not stay where they are.
    """
    if target.table.is_full_acid and len(sources) > MAX_BUCKET_ID + 1:
        raise BindError(
            f"one LOAD DATA takes at most {MAX_BUCKET_ID + 1} files, here are {len(sources)}",
            span=span,
        )
    of_partition = replace(target, partition=target.sure[0]) if target.sure else target
    with staging(io, target) as directory:
        numbered = list(
            enumerate(source for source in sources if source.size or not target.table.is_full_acid)
        )
        files = in_parallel(
            lambda pair: _stage(io, of_partition, directory, *pair, moving=moving), numbered
        )
        directories = take_in(target, files)
    return Written(
        directories=directories,
        partitions=target.sure,
        inserted=sum(file.rows for file in files),
    )


def delete_moved(io: FileIO, paths: Iterable[str]) -> None:
    """Deletes files whose rows are in a table for good. ExecutionError for one that stays."""
    for path in paths:
        try:
            io.delete_file(path)
        except OSError as error:
            message = f'the rows of "{path}" are loaded, but the file could not be deleted'
            raise ExecutionError(
                message, detail=str(error), hint="Delete it before it is loaded again."
            ) from error


def found_files(sources: Sequence[Source]) -> tuple[FoundFile, ...]:
    """The files as original ones for a scan, which is to look into them anew."""
    return tuple(
        FoundFile(path=source.path, file=_data_file(source)) for source in sources if source.size
    )


def _data_file(source: Source) -> DataFile:
    return DataFile(
        path=source.path,
        size=source.size,
        mtime_ns=time.time_ns(),
        min_write_id=WriteId(0),
        max_write_id=WriteId(0),
        statement_id=NO_STATEMENT,
        bucket=None,
        original=True,
        needs_row_filter=False,
    )


def _stage(
    io: FileIO, target: WriteTarget, directory: str, number: int, source: Source, *, moving: bool
) -> StagedFile:
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
        original=True,
        name=None if full_acid else source.name,
        counted=target.table.file_format is not FileFormat.TEXTFILE,
    )
