"""From finished files in the staging directory to their final names: the same few steps on the small and the big path.

All files of a statement are complete before the first gets a name that readers look at; the directory they go to belongs to
this write id and statement alone. What a failure leaves half published is taken back, as far as that is possible; what a
killed process leaves lies in a directory whose write id never becomes valid, or below a hidden name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

from acidsql import crash_points
from acidsql.acid.ids import BucketId
from acidsql.acid.paths import ACID_VERSION, ACID_VERSION_FILE, bucket_file_name
from acidsql.errors import ExecutionError
from acidsql.spark.fileio import FileIO
from acidsql.spark.target import WriteTarget

_THREADS = 4
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedFile:
    """A finished file and where it belongs: ``directory`` is a name below the target's root."""

    path: str
    directory: str
    bucket: BucketId
    rows: int


@contextmanager
def staging(io: FileIO, target: WriteTarget) -> Iterator[str]:
    """The target's hidden directory, gone afterwards whatever happens. OSErrors come out as ExecutionError."""
    path = target.staging_path
    try:
        io.make_directory(path)
        try:
            yield path
        finally:
            io.delete_tree(path)
    except OSError as error:
        raise ExecutionError(f'cannot write to "{target.root}"', detail=str(error)) from error


def publish(io: FileIO, target: WriteTarget, files: Sequence[StagedFile], *, empty: Sequence[str] = ()) -> tuple[str, ...]:
    """Gives every file its final name; returns the directories, by name below the table's location.

    ``empty``: directories to make though no file goes there.
    """
    names = tuple(sorted({f.directory for f in files} | set(empty)))
    made: list[str] = []
    try:
        for name in names:
            create_directory(io, f"{target.root}/{name}")
            made.append(name)
            crash_points.reached("directory made")
        for file in files:
            publish_file(io, target, file)
            crash_points.reached("file published")
        for name in names:
            io.sync_directory(f"{target.root}/{name}")
        io.sync_directory(target.root)
    except BaseException:
        for name in made:
            io.delete_tree(f"{target.root}/{name}")
        raise
    return tuple(target.below_location(name) for name in names)


def create_directory(io: FileIO, path: str) -> None:
    """A new ACID directory with its version file. ExecutionError if it is there: a write id and statement write once."""
    if io.exists(path):
        raise ExecutionError(f'"{path}" already exists', hint="Another writer uses the same write id; nothing was changed.")
    io.make_directory(path)
    io.write(f"{path}/{ACID_VERSION_FILE}", ACID_VERSION)


def publish_file(io: FileIO, target: WriteTarget, file: StagedFile) -> None:
    io.publish(file.path, f"{target.root}/{file.directory}/{bucket_file_name(file.bucket)}")


def publish_plain(io: FileIO, target: WriteTarget, files: Sequence[StagedFile]) -> None:
    """Publishes files of a table that is not transactional as Hive names them; readers see each as it comes.

    With ``overwrite`` the files that were there go when the new ones are in place: a crash between leaves rows twice, never none.
    """
    old = [f.path for f in io.list_files(target.root)] if target.overwrite else []
    made: list[str] = []
    try:
        for file in files:
            made.append(_publish_plain_file(io, target, file))
        io.sync_directory(target.root)
    except BaseException:
        for path in made:
            io.delete_file(path)
        raise
    for path in old:
        io.delete_file(f"{target.root}/{path}")


def _publish_plain_file(io: FileIO, target: WriteTarget, file: StagedFile) -> str:
    """``000003_0``, or the next free ``000003_0_copy_1`` .. as Hive's Hive.mvFile does; the first to link a name has it."""
    name = f"{target.root}/{file.bucket:06d}_0"
    for path in (name if copy == 0 else f"{name}_copy_{copy}" for copy in count()):
        try:
            io.publish(file.path, path)
        except FileExistsError:
            continue
        return path
    raise AssertionError("count() ended")


def in_parallel(work: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
    """``work`` on each item in a few threads; results in order; the first error is raised when all have ended."""
    if len(items) < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(min(_THREADS, len(items))) as pool:
        return list(pool.map(work, items))
