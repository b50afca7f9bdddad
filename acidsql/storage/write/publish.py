"""From finished files in staging directories to their final names: the same few steps for every
statement.

All files are complete before the first gets a name that readers look at. Those of a transactional
table go to a directory that belongs to their write id and statement alone. What a failure leaves
half published is taken back, as far as that is possible; what a killed process leaves lies in a
directory whose write id never becomes valid, or below a hidden name.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, count
from random import randrange
from typing import TYPE_CHECKING

from acidsql import crash_points
from acidsql.acid.ids import BucketId
from acidsql.acid.paths import ACID_VERSION, ACID_VERSION_FILE, bucket_file_name
from acidsql.catalog.model import Partition
from acidsql.errors import ExecutionError, InternalError, file_error
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import in_parallel, look_at_all
from acidsql.files.urls import parent
from acidsql.lazy_dataclass import dataclass
from acidsql.storage.write.target import StagedFile, WriteTarget

if TYPE_CHECKING:
    from acidsql.storage.write.pending import PendingRoot, PendingWrites


@contextmanager
def staging(io: FileIO, target: WriteTarget) -> Iterator[str]:
    """The target's hidden directory, which goes when the files in it are published or given up.

    OSErrors come out as ExecutionError.
    """
    path = target.staging_path
    with _writing_to(target.root):
        _pending(target).stage(io, path)
        io.make_directory(path)
        yield path


def take_in(target: WriteTarget, files: Sequence[StagedFile]) -> tuple[str, ...]:
    """Hands a statement's finished files over, to be published with the commit; returns the
    directories they will make, none of a table that is not transactional.
    """
    check_partition_count(target, files)
    directories = _pending(target).add(target, files)
    crash_points.reached("staged")
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
        raise file_error(f'cannot write to "{root}"', error, detail=str(error)) from error


def publish(
    io: FileIO,
    roots: Collection[PendingRoot],
    announce: Callable[[], None],
    published: Callable[[str], None],
) -> None:
    """Gives every file of a statement or transaction its final name. ``published`` is told of each
    new directory: after a failure it is the caller's to take away.

    ``announce`` is called before the first has it. From then on nothing is made that is not below
    a staging directory already: who takes those away knows that nothing more will be published.
    """
    with _writing_to(", ".join(sorted({root.table.location for root in roots}))):
        if not all(root.table.is_transactional for root in roots):
            announce()
            publish_plain(io, roots)
            return
        wanted = _Wanted.by(roots)
        if all(io.renames(directory) for directory in wanted.directories):
            _publish_by_renaming(io, wanted, announce, published)
        else:
            announce()
            _publish_by_copying(io, wanted, published)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What is to be published: ``files`` and their final paths, by directory. ``homes``: a target
    of the table that each directory belongs to. ``without_events``: directories of rows that are no
    events.
    """

    files: Mapping[str, Sequence[tuple[StagedFile, str]]]
    homes: Mapping[str, WriteTarget]
    without_events: frozenset[str]

    @classmethod
    def by(cls, roots: Iterable[PendingRoot]) -> _Wanted:
        files: dict[str, list[tuple[StagedFile, str]]] = {}
        homes: dict[str, WriteTarget] = {}
        without_events: set[str] = set()
        for root in roots:
            if root.overwritten:  # a base is made though there be no rows
                files.setdefault(root.base, [])
                homes[root.base] = root.target
            if root.table.is_insert_only:
                without_events.add(root.base)
            for file, path in zip(root.files, _final_paths(root.files), strict=True):
                files.setdefault(file.directory, []).append((file, path))
                homes[file.directory] = root.target
                if file.original:
                    without_events.add(file.directory)
        return cls(files=files, homes=homes, without_events=frozenset(without_events))

    @property
    def directories(self) -> tuple[str, ...]:
        return tuple(sorted(self.files))

    def marks(self, directory: str) -> Iterator[tuple[str, bytes]]:
        """Names and contents of files that say what the directory is."""
        if directory not in self.without_events:
            yield ACID_VERSION_FILE, ACID_VERSION
        elif not self.files[directory]:  # Hive lists files: it would not see one without any
            yield plain_file_name(BucketId(0)), b""

    def parents(self) -> set[str]:
        """The directories whose names change: those above new ones, up to the tables' own."""
        parents: set[str] = set()
        for directory, target in self.homes.items():
            above, home = parent(directory), target.table.location
            parents.add(home)
            parents.add(above)
            while above.startswith(f"{home}/"):
                above = parent(above)
                parents.add(above)
        return parents


def _publish_by_renaming(
    io: FileIO, wanted: _Wanted, announce: Callable[[], None], published: Callable[[str], None]
) -> None:
    """Each directory is filled below a hidden name and gets its own in one step."""
    prepared: dict[str, str] = {}
    homes: dict[str, str] = {}
    for number, directory in enumerate(wanted.directories):
        target = wanted.homes[directory]
        if target.table.location not in homes:
            homes[target.table.location] = new_directory(io, target)
        prepared[directory] = f"{homes[target.table.location]}/{number}"

    def fill(directory: str) -> None:
        path = prepared[directory]
        io.make_directory(path)
        for name, content in wanted.marks(directory):
            io.stage(f"{path}/{name}", content)
        for file, final in wanted.files[directory]:
            io.publish(file.path, f"{path}/{final.rpartition('/')[2]}")
        crash_points.reached("directory made")

    def name(directory: str) -> None:
        try:
            io.move_directory(prepared[directory], directory)
        except FileExistsError as error:
            raise _taken(directory) from error
        published(directory)
        crash_points.reached("file published")

    look_at_all(fill, wanted.directories)
    _sync(io, wanted, prepared)
    announce()
    look_at_all(name, wanted.directories)
    look_at_all(io.sync_directory, sorted(wanted.parents()))


def _sync(io: FileIO, wanted: _Wanted, prepared: Mapping[str, str]) -> None:
    """Makes filled directories, at their paths in ``prepared``, outlive a crash of the machine. All
    at once: with the first file a disk takes the names of all of them along.
    """
    files = []
    for directory, path in prepared.items():
        for file, final in wanted.files[directory]:
            if not file.synced:
                files.append(f"{path}/{final.rpartition('/')[2]}")
        for name, _ in wanted.marks(directory):
            files.append(f"{path}/{name}")
    look_at_all(io.sync_file, files)
    look_at_all(io.sync_directory, list(prepared.values()))


def _publish_by_copying(io: FileIO, wanted: _Wanted, published: Callable[[str], None]) -> None:
    """Gives files their names one by one, side by side where each step takes several answers of a
    distant server.
    """

    def make(directory: str) -> None:
        if io.exists(directory):
            raise _taken(directory)
        published(directory)
        io.make_directory(directory)
        for name, content in wanted.marks(directory):
            io.write(f"{directory}/{name}", content)
        crash_points.reached("directory made")

    def name(pair: tuple[StagedFile, str]) -> None:
        file, path = pair
        io.publish(file.path, path)
        if not file.synced:
            io.sync_file(path)
        crash_points.reached("file published")

    in_parallel(make, wanted.directories)
    in_parallel(name, list(chain.from_iterable(wanted.files.values())))
    for directory in {*wanted.directories, *wanted.parents()}:
        io.sync_directory(directory)


class TakenError(ExecutionError):
    """A directory is there that only this transaction could have made: it is another's."""


def _taken(directory: str) -> TakenError:
    """The error for a directory that is there: a write id and statement write once."""
    return TakenError(
        f'"{directory}" already exists',
        hint="Another writer uses the same write id; nothing was changed.",
    )


def new_directory(io: FileIO, target: WriteTarget) -> str:
    """Another staging directory of the transaction."""
    path = f"{target.staging_path}_{uuid.uuid4().hex[:8]}"
    if target.pending is not None:
        target.pending.stage(io, path)
    io.make_directory(path)
    return path


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
