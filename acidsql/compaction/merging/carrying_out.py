"""One compaction from its inputs to published directories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from acidsql import crash_points
from acidsql.compaction.merging.merge import Merge, bytes_of
from acidsql.compaction.merging.publishing import Output, outputs, publish, remove_halves
from acidsql.compaction.merging.small import merge_small, small_deletes
from acidsql.files.parallel import in_parallel
from acidsql.settings import Settings
from acidsql.spark.engine import Engine
from acidsql.spark.start.translation import translated
from acidsql.storage.write.driver_writer import stage_file
from acidsql.storage.write.target import StagedFile, WriteTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What a compaction has made. ``files_before``, ``bytes_before``: of what went in."""

    outputs: tuple[str, ...]
    rows: int
    files: int
    bytes: int
    files_before: int
    bytes_before: int


def carry_out(
    engine: Engine, settings: Settings, merge: Merge, check_lease: Callable[[], None]
) -> Merged:
    """Merges and publishes. ``check_lease`` raises if the compaction is another's by now. After a
    failure nothing is left that is looked at.
    """
    io, target = engine.files, merge.target(settings)
    try:
        with translated():
            remove_halves(io, merge.root, f"{target.staging_path}/half")
            crash_points.reached("compaction begun")
            files = stage(engine, merge, target)
            crash_points.reached("compaction staged")
            wanted = outputs(merge, files)
            publish(io, merge, target, wanted, check_lease)
    finally:
        io.delete_tree(target.staging_path)
    return _merged(merge, wanted, files)


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
    )


def stage(engine: Engine, merge: Merge, target: WriteTarget) -> list[StagedFile]:
    """The finished files of a compaction below the target's staging directory."""
    directory = f"{target.staging_path}/files"
    resources = engine.resources
    if not merge.table.is_insert_only:
        files = merge_small(engine.files, resources.known, merge, target, directory)
        return _stage_by_job(engine, merge, target, directory) if files is None else files
    from acidsql.spark.write.compacting import stage_compacted_plain

    return stage_compacted_plain(
        engine.spark, engine.files, resources.reader, target, directory, merge.plain_snapshot
    )


def _stage_by_job(
    engine: Engine, merge: Merge, target: WriteTarget, directory: str
) -> list[StagedFile]:
    from acidsql.spark.write.compacting import stage_compacted_deletes, stage_compacted_inserts

    io, resources, spark = engine.files, engine.resources, engine.spark
    snapshot = merge.insert_snapshot if merge.inputs.is_minor else merge.snapshot()
    inserts = resources.known.footers.insert_files(io, snapshot.insert_files)
    files: list[StagedFile] = []
    if any(file.rows for file in inserts):
        rows = resources.reader.events(snapshot)
        files += stage_compacted_inserts(spark, io, target, directory, rows, inserts)
    if not merge.inputs.is_minor:
        return files
    deletes = resources.known.footers.delete_files(io, merge.snapshot().delete_files)
    if not any(file.rows for file in deletes):
        return files
    few = small_deletes(io, resources.known, merge, target)
    if few is None:
        return files + stage_compacted_deletes(
            spark, io, target, directory, deletes, merge.write_ids
        )
    io.make_directory(directory)
    return files + in_parallel(lambda file: stage_file(io, directory, file), few)
