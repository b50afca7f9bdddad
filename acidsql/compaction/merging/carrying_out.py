"""One compaction from its inputs to published directories."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from acidsql import crash_points
from acidsql.acid.ids import TxnId
from acidsql.catalog.model import FileFormat, Table
from acidsql.catalog.statistics import Filled
from acidsql.compaction.merging.merge import Merge, bytes_of
from acidsql.compaction.merging.publishing import (
    Claim,
    Output,
    outputs,
    publish,
    remove_halves,
)
from acidsql.compaction.merging.small import merge_plain, merge_small, small_deletes
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import in_parallel
from acidsql.files.urls import path_of
from acidsql.lazy_dataclass import dataclass
from acidsql.run.engine import Engine
from acidsql.settings import Settings
from acidsql.spark.start.translation import translated
from acidsql.storage.file_times import refuse_fine_times
from acidsql.storage.write.driver_writer import stage_file
from acidsql.storage.write.target import StagedFile, WriteTarget
from acidsql.txn.compactions import CompactionType


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What a compaction has made. ``files_before``, ``bytes_before``: of what went in;
    ``directories``: the ``outputs`` by name, with what they hold.
    """

    outputs: tuple[str, ...]
    rows: int
    files: int
    bytes: int
    files_before: int
    bytes_before: int
    directories: Mapping[str, Filled]


def carry_out(
    engine: Engine, settings: Settings, merge: Merge, target: WriteTarget, claim: Claim
) -> Merged:
    """Merges and publishes, the latter as ``claim`` allows it. After a failure nothing is left that
    is looked at. ``target``: ``merge.target()``.
    """
    io = engine.files
    try:
        with translated():
            crash_points.reached("compaction begun")
            files = stage(
                engine, merge, target, int(settings.number("acidsql.compactor.driver.max.bytes"))
            )
            crash_points.reached("compaction staged")
            wanted = outputs(merge, files)
            publish(io, merge, target, wanted, claim)
    finally:
        io.delete_tree(target.staging_path)
    return _merged(merge, wanted, files)


def remove_left_halves(io: FileIO, table: Table, root: str, txn_id: TxnId) -> None:
    """Removes what compactions that were killed half-way have left below ``root``."""
    hidden = f"{path_of(table.location)}/.acidsql_{txn_id}_{uuid.uuid4().hex[:8]}"
    with translated():
        remove_halves(io, root, f"{hidden}/half")
        io.delete_tree(hidden)


def _merged(merge: Merge, wanted: Sequence[Output], files: Sequence[StagedFile]) -> Merged:
    chosen = merge.inputs.directory
    before = [*chosen.originals, *(f for d in chosen.current for f in d.files)]
    before += [] if chosen.base is None else chosen.base.files
    return Merged(
        outputs=tuple(str(output.name) for output in wanted),
        rows=sum(file.rows for file in files if not file.deletes),
        files=len(files),
        bytes=sum(file.size for file in files),
        files_before=len(before),
        bytes_before=bytes_of(merge),
        directories={
            str(output.name): Filled(
                len(output.files), sum(file.size for file in output.files.values())
            )
            for output in wanted
        },
    )


def stage(engine: Engine, merge: Merge, target: WriteTarget, max_bytes: int) -> list[StagedFile]:
    """The finished files of a compaction below the target's staging directory. ``max_bytes``: of
    inputs that are merged without Spark.
    """
    directory = f"{target.staging_path}/files"
    io, known = engine.files, engine.resources.known
    files = (
        merge_plain(io, known, merge, target, directory)
        if merge.table.is_insert_only
        else merge_small(io, known, merge, target, directory, max_bytes)
    )
    if files is None:
        with engine.resources.running.tagged():
            return _stage_by_job(engine, merge, target, directory)
    return files


def _stage_by_job(
    engine: Engine, merge: Merge, target: WriteTarget, directory: str
) -> list[StagedFile]:
    from acidsql.run.spark import compacting

    io, reader = engine.files, engine.resources.reader
    footers = engine.resources.known.footers
    without_events = merge.table.is_insert_only
    if not without_events or merge.table.file_format is FileFormat.ORC:
        whole = merge.plain_snapshot if without_events else merge.snapshot()
        refuse_fine_times(io, footers.insert_files(io, whole.insert_files))
    spark = engine.spark
    if without_events:
        return compacting.stage_compacted_plain(
            spark, io, reader, target, directory, merge.plain_snapshot
        )
    if merge.inputs.type is CompactionType.REBALANCE:
        return compacting.stage_rebalanced(
            spark,
            io,
            reader,
            target,
            directory,
            merge.snapshot(),
            buckets=merge.bucket_count,
            order_by=merge.order_by,
        )
    snapshot = merge.insert_snapshot if merge.inputs.is_minor else merge.snapshot()
    inserts = footers.insert_files(io, snapshot.insert_files)
    files: list[StagedFile] = []
    if any(file.rows for file in inserts):
        files += compacting.stage_compacted_inserts(
            spark, io, target, directory, reader.events(snapshot), inserts
        )
    return files + _deletes_by_job(engine, merge, target, directory)


def _deletes_by_job(
    engine: Engine, merge: Merge, target: WriteTarget, directory: str
) -> list[StagedFile]:
    """The delete events of a minor compaction: three numbers each, so they mostly fit the driver
    where the rows do not.
    """
    if not merge.inputs.is_minor:
        return []
    io, known = engine.files, engine.resources.known
    deletes = known.footers.delete_files(io, merge.snapshot().delete_files)
    few = small_deletes(io, known, merge, target)
    if few is None:
        from acidsql.run.spark.compacting import stage_compacted_deletes

        return stage_compacted_deletes(
            engine.spark, io, target, directory, deletes, merge.write_ids
        )
    io.make_directory(directory)
    return in_parallel(lambda file: stage_file(io, directory, file), few)
