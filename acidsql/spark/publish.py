"""From finished files in the staging directory to their final names: the same few steps on the small and the big path.

All files of a statement are complete before the first gets a name that readers look at; the directory they go to belongs to
this write id and statement alone. What a failure leaves half published is taken back, as far as that is possible; what a
killed process leaves lies in a directory whose write id never becomes valid, or below a hidden name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TypeVar

from acidsql import crash_points
from acidsql.acid.paths import ACID_VERSION, ACID_VERSION_FILE, bucket_file_name
from acidsql.catalog.model import Partition
from acidsql.errors import ExecutionError
from acidsql.spark.fileio import FileIO, in_parallel
from acidsql.spark.target import StagedFile, WriteTarget
from acidsql.spark.urls import parent

_Item = TypeVar("_Item")


@contextmanager
def staging(io: FileIO, target: WriteTarget) -> Iterator[str]:
    """The target's hidden directory. It goes when the statement ends, or with the transaction whose files are pending.

    OSErrors come out as ExecutionError.
    """
    path = target.staging_path
    try:
        io.make_directory(path)
        if target.pending is not None:
            target.pending.stage(io, path)
        try:
            yield path
        finally:
            if target.pending is None:
                io.delete_tree(path)
    except OSError as error:
        raise ExecutionError(f'cannot write to "{target.root}"', detail=str(error)) from error


def publish(io: FileIO, target: WriteTarget, files: Sequence[StagedFile], *, empty: Sequence[str] = ()) -> tuple[str, ...]:
    """Gives every file its final name, or leaves that to the commit (``target.pending``); returns the directories.

    ``empty``: directories to make though no file goes there.
    """
    check_partition_count(target, files)
    if target.pending is not None:
        return target.pending.add(target, files)
    return publish_files(io, [target.table.location], files, empty=empty)


def publish_files(io: FileIO, locations: Iterable[str], files: Sequence[StagedFile], *, empty: Iterable[str] = ()) -> tuple[str, ...]:
    """Gives every file of the tables at ``locations`` its final name; after a failure none of the directories is left."""
    directories = tuple(sorted({f.directory for f in files} | set(empty)))
    made: list[str] = []

    def make(directory: str) -> None:
        create_directory(io, directory)
        made.append(directory)
        crash_points.reached("directory made")

    def name(file: StagedFile) -> None:
        publish_file(io, file)
        crash_points.reached("file published")

    try:
        _each(io, make, directories, directories)
        _each(io, name, files, directories)
        for directory in {*directories, *map(parent, directories), *locations}:
            io.sync_directory(directory)
    except BaseException:
        for directory in made:
            io.delete_tree(directory)
        raise
    return directories


def _each(io: FileIO, work: Callable[[_Item], None], items: Sequence[_Item], directories: Sequence[str]) -> None:
    """Side by side where each step takes several answers of a distant server."""
    if all(io.renames(directory) for directory in directories):
        for item in items:
            work(item)
    else:
        in_parallel(work, items)


def check_partition_count(target: WriteTarget, files: Sequence[StagedFile]) -> None:
    """ExecutionError for more dynamic partitions than are allowed. Hive: Hive.loadDynamicPartitions."""
    count = len(partitions_of(files))
    if target.max_partitions is not None and count > target.max_partitions:
        raise ExecutionError(
            f"Number of dynamic partitions created is {count}, which is more than {target.max_partitions}",
            hint=f"Set hive.exec.max.dynamic.partitions to at least {count}.",
        )


def partitions_of(files: Iterable[StagedFile]) -> tuple[Partition, ...]:
    """The partitions that files belong to."""
    return tuple({f.partition.location: f.partition for f in files if f.partition is not None}.values())


def create_directory(io: FileIO, path: str) -> None:
    """A new ACID directory with its version file. ExecutionError if it is there: a write id and statement write once."""
    if io.exists(path):
        raise ExecutionError(f'"{path}" already exists', hint="Another writer uses the same write id; nothing was changed.")
    io.make_directory(path)
    io.write(f"{path}/{ACID_VERSION_FILE}", ACID_VERSION)


def publish_file(io: FileIO, file: StagedFile) -> None:
    io.publish(file.path, f"{file.directory}/{bucket_file_name(file.bucket)}")


def publish_plain(io: FileIO, target: WriteTarget, files: Sequence[StagedFile]) -> None:
    """Publishes files of a table that is not transactional as Hive names them; readers see each as it comes.

    With ``overwrite`` the files that were there go when the new ones are in place: a crash between leaves rows twice, never none.
    """
    check_partition_count(target, files)
    roots = {f.directory for f in files} | {partition.location for partition in target.sure}
    if not target.table.partition_columns:
        roots.add(target.table.location)
    old = [f"{root}/{f.path}" for root in roots for f in io.list_files(root)] if target.overwrite else []
    made: list[str] = []
    try:
        for root in roots:
            io.make_directory(root)
        for file in files:
            made.append(_publish_plain_file(io, file))
        for root in roots:
            io.sync_directory(root)
    except BaseException:
        for path in made:
            io.delete_file(path)
        raise
    for path in old:
        io.delete_file(path)


def _publish_plain_file(io: FileIO, file: StagedFile) -> str:
    """``000003_0``, or the next free ``000003_0_copy_1`` .. as Hive's Hive.mvFile does; the first to link a name has it."""
    name = f"{file.directory}/{file.bucket:06d}_0"
    for path in (name if copy == 0 else f"{name}_copy_{copy}" for copy in count()):
        try:
            io.publish(file.path, path)
        except FileExistsError:
            continue
        return path
    raise AssertionError("count() ended")
