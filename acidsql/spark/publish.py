"""From finished files in the staging directory to their final names: the same few steps on the small and the big path.

All files of a statement are complete before the first gets a name that readers look at; the directory they go to belongs to
this write id and statement alone. What a failure leaves half published is taken back, as far as that is possible; what a
killed process leaves lies in a directory whose write id never becomes valid, or below a hidden name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count
from random import randrange
from typing import TypeVar

from acidsql import crash_points
from acidsql.acid.ids import BucketId
from acidsql.acid.paths import ACID_VERSION, ACID_VERSION_FILE, bucket_file_name
from acidsql.catalog.model import Partition
from acidsql.errors import ExecutionError, InternalError
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
    with _publishing(target, files):
        return publish_files(io, [target.table.location], files, empty=empty, raw=empty if target.table.is_insert_only else ())


def publish_rows(io: FileIO, target: WriteTarget, files: Sequence[StagedFile]) -> tuple[str, ...]:
    """The same of plain rows; of a table that is not transactional no directory is made."""
    if target.table.is_transactional:
        return publish(io, target, files, empty=target.sure_directories)
    with _publishing(target, files):
        publish_plain(io, target, files)
    return ()


def _publishing(target: WriteTarget, files: Sequence[StagedFile]) -> AbstractContextManager[None]:
    return nullcontext() if target.publishing is None else target.publishing(files)


def publish_files(
    io: FileIO, locations: Iterable[str], files: Sequence[StagedFile], *, empty: Iterable[str] = (), raw: Iterable[str] = ()
) -> tuple[str, ...]:
    """Gives every file of the tables at ``locations`` its final name; after a failure none of the directories is left.

    ``raw``: directories of plain rows, also those that no file goes to.
    """
    filled = {f.directory for f in files}
    directories = tuple(sorted(filled | set(empty)))
    without_events = {f.directory for f in files if f.raw} | set(raw)
    made: list[str] = []

    def make(directory: str) -> None:
        _create_directory(io, directory)
        made.append(directory)
        if directory not in without_events:
            io.write(f"{directory}/{ACID_VERSION_FILE}", ACID_VERSION)
        elif directory not in filled:  # Hive lists files: it would not see a directory without one
            io.write(f"{directory}/{plain_file_name(BucketId(0))}")
        crash_points.reached("directory made")

    def name(pair: tuple[StagedFile, str]) -> None:
        file, path = pair
        io.publish(file.path, path)
        crash_points.reached("file published")

    try:
        _each(io, make, directories, directories)
        _each(io, name, list(zip(files, _final_paths(files), strict=True)), directories)
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


def _create_directory(io: FileIO, path: str) -> None:
    """ExecutionError if it is there: a write id and statement write once."""
    if io.exists(path):
        raise ExecutionError(f'"{path}" already exists', hint="Another writer uses the same write id; nothing was changed.")
    io.make_directory(path)


def plain_file_name(bucket: BucketId) -> str:
    """As Hive's tasks name files of plain rows."""
    return f"{bucket:06d}_0"


def _names(file: StagedFile, *, contested: bool = False) -> Iterator[str]:
    """What the file may be called, from best to worst: of plain rows there may be several of one bucket. Hive: Hive.mvFile.

    ``contested``: others may want a name at the same time, and both would get it; so none is wanted twice.
    """
    if not file.raw:
        yield bucket_file_name(file.bucket)
        return
    name = file.name or plain_file_name(file.bucket)
    if not contested:
        yield name
    stem, dot, ending = name.rpartition(".") if "." in name else (name, "", "")
    copies = (randrange(10**8, 10**9) for _ in count()) if contested else count(1)
    yield from (f"{stem}_copy_{copy}{dot}{ending}" for copy in copies)


def _final_paths(files: Iterable[StagedFile]) -> Iterator[str]:
    """Of files for new directories: a name for each. Two files of events never share a bucket."""
    taken: set[str] = set()
    for file in files:
        paths = (f"{file.directory}/{name}" for name in _names(file))
        path = next((path for path in paths if path not in taken), None)
        if path is None:
            raise InternalError(f'two files of bucket {file.bucket} for "{file.directory}"')
        taken.add(path)
        yield path


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
    """Under the next free of its names; where a name is given in one step, the first to give it has it."""
    contested = not io.renames(file.directory)
    for path in (f"{file.directory}/{name}" for name in _names(file, contested=contested)):
        try:
            io.publish(file.path, path)
        except FileExistsError:
            continue
        return path
    raise AssertionError("there is always one more name")
