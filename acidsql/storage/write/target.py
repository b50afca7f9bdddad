"""Where a statement writes, what it has written, and how that gets its final names: what the small
and the big path share. No pyspark here.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, count
from random import randrange
from typing import TYPE_CHECKING, Literal

from acidsql import crash_points
from acidsql.acid.ids import (
    ACID_VERSION,
    ACID_VERSION_FILE,
    BucketId,
    StatementId,
    WriteId,
    base_name,
    bucket_file_name,
    delete_delta_name,
    delta_name,
)
from acidsql.acid.orc_tail import OrcCodec
from acidsql.acid.orc_types import OrcType, event_type
from acidsql.catalog.model import Partition, Table
from acidsql.errors import (
    BindError,
    ExecutionError,
    InternalError,
    UnsupportedStatementError,
    Warning,
    file_error,
)
from acidsql.files.fileio import FileIO, parent
from acidsql.files.parallel import in_parallel, look_at_all
from acidsql.lazy import dataclass
from acidsql.storage.stored import orc_row_type

if TYPE_CHECKING:
    import pyarrow as pa

    from acidsql.expressions.losses import Lost
    from acidsql.storage.partitions import PartitionIndex
    from acidsql.storage.write.pending import PendingRoot, PendingWrites


WritePath = Literal["small", "big"]

ID_BYTES = 20
"""originalTransaction, bucket and rowId of one row."""

DEFAULT_STRIPE_SIZE = 64 << 20
"""Hive's, and both writers' own."""

_CODECS = {OrcCodec.NONE, OrcCodec.ZLIB, OrcCodec.SNAPPY, OrcCodec.LZ4}


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTarget:
    """One sink of a statement.

    ``codec``: what the table property ``orc.compress`` says. ``force_path``: auto, small or big.
    ``max_bytes``: what the small path may hold on the driver. ``staging``: a hidden name below the
    table's location that no other transaction uses. ``partition_index``: the partitions of a table
    that has some, by the values that come with the rows. ``partition``: the one these rows go to,
    once it is known. ``sure``: those the statement names. ``max_partitions``: to how many dynamic
    partitions rows may go. ``overwrite``: the rows make a ``base_N``, also when there are none.
    ``pending``: takes the files until the commit; None in Spark's tasks, which only make them.
    ``returns``: the rows are given back. ``first_write_id``: where the range of a compaction begins
    that ends with ``write_id``.
    """

    table: Table
    write_id: WriteId
    statement_id: StatementId
    codec: str = "ZLIB"
    max_bytes: int = 64 << 20
    force_path: str = "auto"
    staging: str
    partition_index: PartitionIndex | None = None
    partition: Partition | None = None
    sure: tuple[Partition, ...] = ()
    max_partitions: int | None = None
    overwrite: bool = False
    pending: PendingWrites | None
    returns: bool = False
    first_write_id: WriteId | None = None

    def at(self, values: tuple[str, ...]) -> WriteTarget:
        """The target of the rows with these partition values (Hive's text), () for a table without
        partitions.
        """
        index = self.partition_index
        return self if index is None else replace(self, partition=index.find(values))

    def parts(self, rows: pa.Table) -> Iterator[tuple[WriteTarget, pa.Table]]:
        """The rows of each partition, without their texts, and the target of these; all rows of a
        table without partitions.
        """
        from acidsql.storage.partitions import by_values

        index = self.partition_index
        for values, part in by_values(self.table, rows, index.look_up if index else None):
            yield self.at(values), part

    def at_partition(self, partition: Partition | None) -> WriteTarget:
        return self if partition is None else replace(self, partition=partition)

    @property
    def for_tasks(self) -> WriteTarget:
        """What a task needs of it to finish one file: nothing that belongs to the statement as a
        whole.
        """
        return replace(self, partition_index=None, pending=None)

    @property
    def sure_targets(self) -> tuple[WriteTarget, ...]:
        """The table or partitions that the statement writes to whatever rows there are."""
        return tuple(map(self.at_partition, self.sure)) if self.table.partition_columns else (self,)

    @property
    def sure_directories(self) -> tuple[str, ...]:
        """The directories that are made though no row goes there: an overwriting leaves nothing of
        what was.
        """
        return (
            tuple(target.insert_directory for target in self.sure_targets) if self.overwrite else ()
        )

    @property
    def root(self) -> str:
        """The directory that holds the deltas: the table's, or the partition's."""
        return self.partition.location if self.partition is not None else self.table.location

    @property
    def staging_path(self) -> str:
        return f"{self.table.location}/{self.staging}"

    @property
    def orc_codec(self) -> OrcCodec:
        """The codec of the table's files. BindError for an unknown name, UnsupportedStatementError
        for a codec Hive 3.1 cannot read.
        """
        return parse_codec(self.codec)

    @property
    def stripe_size(self) -> int:
        """Bytes of a stripe, by the table property ``orc.stripe.size``; BindError if that is no
        number.
        """
        text = _property(self.table, "orc.stripe.size") or str(DEFAULT_STRIPE_SIZE)
        if not (text.isascii() and text.isdigit()) or not int(text):
            raise BindError(f'table property "orc.stripe.size" is not a number of bytes: "{text}"')
        return int(text)

    @property
    def insert_directory(self) -> str:
        """The directory of insert events."""
        name = (
            base_name(self.write_id)
            if self.overwrite
            else delta_name(self._first_id, self.write_id, self.statement_id)
        )
        return f"{self.root}/{name}"

    @property
    def plain_directory(self) -> str:
        """The directory of rows that are no events: of an insert-only table, or of one that is not
        transactional.
        """
        return self.insert_directory if self.table.is_insert_only else self.root

    @property
    def delete_directory(self) -> str:
        return f"{self.root}/{delete_delta_name(self._first_id, self.write_id, self.statement_id)}"

    @property
    def _first_id(self) -> WriteId:
        return self.write_id if self.first_write_id is None else self.first_write_id

    @property
    def row_schema(self) -> OrcType:
        """The ORC type of the table's columns."""
        return orc_row_type(self.table.columns)

    @property
    def event_schema(self) -> OrcType:
        """The ORC type of an ACID file of the table."""
        return event_type(self.row_schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedFile:
    """A finished file and where it belongs: ``directory`` is that of its events, or of the rows of
    a table without transactions.

    ``size``: in bytes.  ``deletes``: it holds delete events.  ``original``: it has no ACID columns,
    and is called ``000003_0`` or, if it has a ``name``, by that. ``counted``: the number of
    ``rows`` is known. ``synced``: its contents outlive a crash of the machine; else who
    publishes it sees to that.
    """

    path: str
    directory: str
    bucket: BucketId
    rows: int
    size: int
    partition: Partition | None = None
    deletes: bool = False
    original: bool = False
    name: str | None = None
    counted: bool = True
    synced: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a statement has written. ``directories``: that the commit makes, none if no row was
    touched. ``partitions``: that were written to.
    ``clauses``: the rows of each clause of a MERGE. ``moved``: files elsewhere that are to go once
    the rows are there for good. ``lost``: what values have lost to their columns' types;
    ``warnings``: what else the user is to know. ``returned``: rows that are given back.
    """

    directories: tuple[str, ...] = ()
    partitions: tuple[Partition, ...] = ()
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    clauses: tuple[int, ...] = ()
    moved: tuple[str, ...] = ()
    path: WritePath = "small"
    lost: tuple[Lost, ...] = ()
    warnings: tuple[Warning, ...] = ()
    returned: tuple[pa.Table, ...] = ()


def parse_codec(text: str) -> OrcCodec:
    """A value of the table property ``orc.compress``."""
    name = text.strip().upper()
    if name not in OrcCodec.__members__:
        raise BindError(
            f'table property "orc.compress" has an unknown value "{text}"',
            hint=f"Use one of {_names()}.",
        )
    if OrcCodec[name] not in _CODECS:
        raise UnsupportedStatementError(
            f"Hive 3.1 cannot read ORC files compressed with {name}", hint=f"Use one of {_names()}."
        )
    return OrcCodec[name]


def _property(table: Table, name: str) -> str | None:
    return next(
        (value.strip() for key, value in table.properties.items() if key.lower() == name), None
    )


def _names() -> str:
    return ", ".join(sorted(c.name for c in _CODECS))


# ---- publishing
#
# From finished files in staging directories to their final names: the same few steps for every
# statement.
#
# All files are complete before the first gets a name that readers look at. Those of a
# transactional table go to a directory that belongs to their write id and statement alone. What a
# failure leaves half published is taken back, as far as that is possible; what a killed process
# leaves lies in a directory whose write id never becomes valid, or below a hidden name.


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


def _published_names(file: StagedFile, *, contested: bool = False) -> Iterator[str]:
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
        paths = (f"{file.directory}/{name}" for name in _published_names(file))
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
    for path in (
        f"{file.directory}/{name}" for name in _published_names(file, contested=contested)
    ):
        try:
            io.publish(file.path, path)
        except FileExistsError:
            continue
        return path
    raise AssertionError("there is always one more name")
