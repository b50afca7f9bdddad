"""From finished files in staging directories to their final names: the same few steps for every
statement.

All files are complete before the first gets a name that readers look at. Those of a transactional
table go to a directory that belongs to their write id and statement alone. What a failure leaves
half published is taken back, as far as that is possible; what a killed process leaves lies in a
directory whose write id never becomes valid, or below a hidden name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from random import randrange
from typing import TYPE_CHECKING, TypeVar

from acidsql import crash_points
from acidsql.acid.ids import BucketId
from acidsql.acid.paths import ACID_VERSION, ACID_VERSION_FILE, bucket_file_name
from acidsql.catalog.model import Partition
from acidsql.errors import ExecutionError, InternalError
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import in_parallel
from acidsql.files.urls import parent
from acidsql.storage.write.target import StagedFile, WriteTarget

if TYPE_CHECKING:
    from acidsql.storage.write.pending import PendingRoot, PendingWrites

_Item = TypeVar("_Item")


@contextmanager
def staging(io: FileIO, target: WriteTarget) -> Iterator[str]:
    """The target's hidden directory, which goes when the files in it are published or given up.

    OSErrors come out as ExecutionError.
    """
    path = target.staging_path
    with _writing_to(target.root):
        io.make_directory(path)
        _pending(target).stage(io, path)
        yield path


def take_in(target: WriteTarget, files: Sequence[StagedFile]) -> tuple[str, ...]:
    """Hands a statement's finished files over, to be published with the commit; returns the
    directories they will make, none of a table that is not transactional.
    """
    check_partition_count(target, files)
    directories = _pending(target).add(target, files)
    return directories if target.table.is_transactional else ()


def _pending(target: WriteTarget) -> PendingWrites:
    if target.pending is None:
        raise InternalError("files are staged on the driver alone")
    return target.pending


@contextmanager
def _writing_to(root: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ExecutionError(f'cannot write to "{root}"', detail=str(error)) from error


def publish(io: FileIO, roots: Collection[PendingRoot]) -> tuple[str, ...]:
    """Gives every file of a statement or transaction its final name; returns the directories that
    are new.
    """
    locations = {root.table.location for root in roots}
    with _writing_to(", ".join(sorted(locations))):
        if not all(root.table.is_transactional for root in roots):
            publish_plain(io, roots)
            return ()
        return publish_files(
            io,
            locations,
            [file for root in roots for file in root.files],
            empty=[root.base for root in roots if root.overwritten],
            insert_only=[root.base for root in roots if root.table.is_insert_only],
        )


def publish_files(
    io: FileIO,
    locations: Iterable[str],
    files: Sequence[StagedFile],
    *,
    empty: Iterable[str] = (),
    insert_only: Iterable[str] = (),
) -> tuple[str, ...]:
    """Gives every file of the tables at ``locations`` its final name; after a failure none of the
    directories is left.

    ``insert_only``: directories of insert-only tables, also those that no file goes to.
    """
    filled = {f.directory for f in files}
    directories = tuple(sorted(filled | set(empty)))
    without_events = {f.directory for f in files if f.original} | set(insert_only)
    created: list[str] = []

    def make(directory: str) -> None:
        _create_directory(io, directory)
        created.append(directory)
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
        for directory in created:
            io.delete_tree(directory)
        raise
    return directories


def _each(
    io: FileIO, work: Callable[[_Item], None], items: Sequence[_Item], directories: Sequence[str]
) -> None:
    """Does the work on each item, side by side where each step takes several answers of a distant
    server.
    """
    if all(io.renames(directory) for directory in directories):
        for item in items:
            work(item)
    else:
        in_parallel(work, items)


def check_partition_count(target: WriteTarget, files: Sequence[StagedFile]) -> None:
    """ExecutionError for more dynamic partitions than are allowed. Hive:
    Hive.loadDynamicPartitions.
    """
    count = len(partitions_of(files))
    if target.max_partitions is not None and count > target.max_partitions:
        raise ExecutionError(
            f"Number of dynamic partitions created is {count}, which is more than"
            f" {target.max_partitions}",
            hint=f"Set hive.exec.max.dynamic.partitions to at least {count}.",
        )


def partitions_of(files: Iterable[StagedFile]) -> tuple[Partition, ...]:
    """The partitions that files belong to."""
    return tuple(
        {f.partition.location: f.partition for f in files if f.partition is not None}.values()
    )


def _create_directory(io: FileIO, path: str) -> None:
    """Makes a directory; ExecutionError if it exists: a write id and statement write once."""
    if io.exists(path):
        raise ExecutionError(
            f'"{path}" already exists',
            hint="Another writer uses the same write id; nothing was changed.",
        )
    io.make_directory(path)


def plain_file_name(bucket: BucketId) -> str:
    """The name that Hive's tasks give a file without ACID columns."""
    return f"{bucket:06d}_0"


def _names(file: StagedFile, *, contested: bool = False) -> Iterator[str]:
    """What the file may be called, from best to worst: without ACID columns there may be several
    of one bucket. Hive: Hive.mvFile.

    ``contested``: others may want a name at the same time, and both would get it; so none is wanted
    twice.
    """
    if not file.original:
        yield bucket_file_name(file.bucket)
        return
    name = file.name or plain_file_name(file.bucket)
    if not contested:
        yield name
    stem, dot, ending = name.rpartition(".") if "." in name else (name, "", "")
    copies = (randrange(10**8, 10**9) for _ in count()) if contested else count(1)
    yield from (f"{stem}_copy_{copy}{dot}{ending}" for copy in copies)


def _final_paths(files: Iterable[StagedFile]) -> Iterator[str]:
    """Names for files of new directories. Two files of events never share a bucket."""
    taken: set[str] = set()
    for file in files:
        paths = (f"{file.directory}/{name}" for name in _names(file))
        path = next((path for path in paths if path not in taken), None)
        if path is None:
            raise InternalError(f'two files of bucket {file.bucket} for "{file.directory}"')
        taken.add(path)
        yield path


def publish_plain(io: FileIO, roots: Collection[PendingRoot]) -> None:
    """Publishes files of a table that is not transactional as Hive names them; readers see each as
    it comes.

    What is overwritten goes when the new files are in place: a crash between leaves rows twice,
    never none.
    """
    directories = [root.base for root in roots]
    old = [
        f"{root.base}/{file.path}"
        for root in roots
        if root.overwritten
        for file in io.list_files(root.base)
    ]
    published: list[str] = []
    try:
        for directory in directories:
            io.make_directory(directory)
        for file in (file for root in roots for file in root.files):
            published.append(_publish_plain_file(io, file))
        for directory in directories:
            io.sync_directory(directory)
    except BaseException:
        for path in published:
            io.delete_file(path)
        raise
    for path in old:
        io.delete_file(path)


def _publish_plain_file(io: FileIO, file: StagedFile) -> str:
    """Gives the file the next free of its names. Where a name is given in one step, the first to
    give it has it.
    """
    contested = not io.renames(file.directory)
    for path in (f"{file.directory}/{name}" for name in _names(file, contested=contested)):
        try:
            io.publish(file.path, path)
        except FileExistsError:
            continue
        return path
    raise AssertionError("there is always one more name")
