"""One compaction from its inputs to published directories."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress

from acidsql import crash_points
from acidsql.acid.ids import (
    ACID_VERSION,
    ACID_VERSION_FILE,
    METADATA_FILE,
    NO_VISIBILITY,
    Base,
    BucketId,
    DirectoryName,
    TxnId,
    bucket_file_name,
    is_reserved,
)
from acidsql.acid.snapshot import INPUTS_FILE, halves, inputs_text, partner_file
from acidsql.catalog.model import FileFormat, Partition, Table
from acidsql.catalog.statistics import Filled
from acidsql.commit.recovery import remove_uncommitted
from acidsql.compaction.merging.merge import Merge, bytes_of
from acidsql.compaction.merging.small import merge_plain, merge_small, small_deletes
from acidsql.errors import ExecutionError
from acidsql.files.fileio import FileIO, parent, path_of
from acidsql.files.parallel import in_parallel
from acidsql.lazy import dataclass
from acidsql.run.engine import Engine
from acidsql.run.translation import translated
from acidsql.settings import Settings
from acidsql.storage.footers import refuse_fine_times
from acidsql.storage.write.driver_writer import stage_file
from acidsql.storage.write.target import StagedFile, WriteTarget, plain_file_name
from acidsql.txn.compactions import CompactionType

# ---- publishing
#
# The outputs of a compaction get their names, each by one rename, and may be read from then on:
# their rows are those of the inputs for every reader who may use them.
#
# All is below a hidden name of the compactor's transaction before that. Where its process dies,
# the cleaner behind transactions takes that away; and half of a minor compaction's pair, which
# nobody reads (``acid.compacted``), goes before the next compaction begins. Names with the
# ``visibility`` of their inputs are read from the commit of that transaction on, as those of Hive
# 4's compactions, and have none of our own marks.
#
# Where nothing can be renamed (object stores) the files are copied to a directory whose name has
# the compactor's transaction in it (``base_5_v0000021``): it is seen from that one's commit on,
# whole, and both halves of a pair at once. It is on record before its first file, so that it goes
# where the transaction ends otherwise. What says that it is ours comes first and goes last:
# without it the number would be one of Hive's.


Claim = Callable[[Table, Partition | None], AbstractContextManager[None]]
"""A context in which a table or partition is what it was and the compaction nobody else's; it
raises MetastoreError if that is not so. Nobody drops, moves or renames what it is of meanwhile.
"""

COMPACTED = b'{"thisFileVersion":"0","dataFormat":"compacted"}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A directory that is about to appear. ``files``: finished ones by the names they get.
    ``marks``: the contents of further files.
    """

    name: DirectoryName
    files: Mapping[str, StagedFile]
    marks: Mapping[str, bytes]


def outputs(merge: Merge, files: Sequence[StagedFile]) -> tuple[Output, ...]:
    """The directories of a compaction's files. A minor one has none of a kind without events; if
    there are no events at all, an empty delta takes the place of the inputs.
    """
    inputs = merge.inputs
    if not inputs.is_minor:
        return (_output(merge, inputs.base, files),)
    inserts = [file for file in files if not file.deletes]
    deletes = [file for file in files if file.deletes]
    both = bool(inserts and deletes)
    of_kinds = [
        _output(merge, name, of_kind, paired=both)
        for name, of_kind in ((inputs.delta, inserts), (inputs.delete_delta, deletes))
        if of_kind
    ]
    return tuple(of_kinds) or (_output(merge, inputs.delta, ()),)


def _output(
    merge: Merge, name: DirectoryName, files: Sequence[StagedFile], *, paired: bool = False
) -> Output:
    inputs, without_events = merge.inputs, merge.table.is_insert_only
    has_inputs = not (inputs.as_hive or inputs.has_own_write_id)
    marks = {INPUTS_FILE: inputs_text(inputs.paths)} if has_inputs else {}
    if not without_events:
        marks[ACID_VERSION_FILE] = ACID_VERSION
    elif not files:  # Hive lists files: it would not see a directory without any
        marks[plain_file_name(BucketId(0))] = b""
    if inputs.visibility == NO_VISIBILITY:
        if isinstance(name, Base):
            marks |= {METADATA_FILE: COMPACTED} if has_inputs else {}
        elif paired:
            marks[partner_file(name)] = b""
    return Output(name=name, files=dict(_named(files, without_events=without_events)), marks=marks)


def _named(
    files: Sequence[StagedFile], *, without_events: bool
) -> Iterator[tuple[str, StagedFile]]:
    """Each file with its name. Of files without events several may be of one bucket."""
    count: dict[BucketId, int] = {}
    for file in files:
        if not without_events:
            yield bucket_file_name(file.bucket), file
            continue
        copy = count[file.bucket] = count.get(file.bucket, -1) + 1
        yield plain_file_name(file.bucket) + (f"_copy_{copy}" if copy else ""), file


def publish(
    io: FileIO, merge: Merge, target: WriteTarget, wanted: Sequence[Output], claim: Claim
) -> None:
    """Gives the outputs their names, in the context of ``claim``.

    ExecutionError if a name is taken, or a file that was written is not there any more; then
    nothing has a name that had none before.
    """
    if not merge.renames:
        return _publish_by_copies(io, merge, target, wanted, claim)
    prepared = {}
    for number, output in enumerate(wanted):
        directory = f"{target.staging_path}/{number}"
        _fill(io, directory, output)
        prepared[directory] = output
        crash_points.reached("compaction directory made")
    crash_points.reached("compaction announced")
    with claim(merge.table, merge.partition):
        for directory, output in prepared.items():
            _check_whole(io, directory, output)
        _rename_all(io, merge, target, prepared)
    io.sync_directory(merge.root)


def _publish_by_copies(
    io: FileIO, merge: Merge, target: WriteTarget, wanted: Sequence[Output], claim: Claim
) -> None:
    """Copies the files to where they are seen from the commit on. What a copy is made of goes
    first where the transaction has ended: who does not know yet that it has lost finds nothing.
    """
    crash_points.reached("compaction announced")
    with claim(merge.table, merge.partition):
        pass  # nobody waits for copies; what is lost from here on is never seen
    published: list[str] = []
    try:
        for number, output in enumerate(wanted):
            final = f"{merge.root}/{output.name}"
            published.append(final)
            io.make_directory(final)
            for name in sorted(output.marks, key=lambda name: name != INPUTS_FILE):
                staged = f"{target.staging_path}/{number}/{name}"
                io.make_directory(parent(staged))
                io.write(staged, output.marks[name])
                _copy(io, staged, f"{final}/{name}")
                crash_points.reached("compaction mark copied")
            for name, file in output.files.items():
                _copy(io, file.path, f"{final}/{name}")
                crash_points.reached("compaction file copied")
            crash_points.reached("compaction published")
    except BaseException:
        with suppress(OSError):  # it is on record
            for final in published:
                remove_uncommitted(io, final, whole=False)
        raise


def _copy(io: FileIO, staged: str, final: str) -> None:
    try:
        io.publish(staged, final)
    except FileExistsError as error:
        raise ExecutionError(f'"{final}" already exists') from error


def _rename_all(
    io: FileIO, merge: Merge, target: WriteTarget, prepared: Mapping[str, Output]
) -> None:
    published: list[str] = []
    try:
        for directory, output in prepared.items():
            final = f"{merge.root}/{output.name}"
            _rename(io, directory, final)
            published.append(final)
            crash_points.reached("compaction published")
    except BaseException:
        # Half of a pair is read by nobody, but a whole one may be: it stays.
        if len(published) < len(prepared):
            for final in published:
                remove_unseen(io, final, f"{target.staging_path}/removed")
        raise


def _fill(io: FileIO, directory: str, output: Output) -> None:
    io.make_directory(directory)
    for name, content in output.marks.items():
        io.write(f"{directory}/{name}", content)
    for name, file in output.files.items():
        io.publish(file.path, f"{directory}/{name}")
    io.sync_directory(directory)


def _check_whole(io: FileIO, directory: str, output: Output) -> None:
    """Raises ExecutionError if a file is missing: the cleaner behind a transaction that was
    given up may have begun to take it away.
    """
    sizes = {file.path: file.size for file in io.list_files(directory)}
    wrong = [name for name, file in output.files.items() if sizes.get(name) != file.size]
    wrong += sorted(set(output.marks) - set(io.names(directory)))
    if wrong:
        raise ExecutionError(
            f'files of a compaction are gone from "{directory}"', detail=", ".join(wrong)
        )


def _rename(io: FileIO, directory: str, final: str) -> None:
    try:
        io.move_directory(directory, final)
    except FileExistsError as error:
        raise ExecutionError(f'"{final}" already exists') from error
    io.sync_directory(parent(final))


def remove_halves(io: FileIO, root: str, hidden: str) -> list[str]:
    """Takes away directories whose partners never appeared, and that nobody reads therefore.
    Returns their paths. ``hidden``: a path that is free, below which nobody looks.
    """
    paths = [name for name in io.names(root) if is_reserved(name)]

    def read_hidden(path: str) -> bytes | None:
        return b"" if io.exists(f"{root}/{path}") else None

    removed = [f"{root}/{path}" for path in sorted(halves(paths, read_hidden))]
    for number, path in enumerate(removed):
        remove_unseen(io, path, f"{hidden}_{number}")
    return removed


def remove_unseen(io: FileIO, path: str, hidden: str) -> None:
    """Removes a directory in such a way that it is never there without the files that say what it
    is.
    """
    io.move_directory(path, hidden)
    io.sync_directory(parent(path))
    io.delete_tree(hidden)


# ---- carrying out


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
