"""What statements have written before it is visible: finished files that have no name yet that
anybody else looks at.

A statement's files stay in its staging directory until the commit. So a statement that
fails is undone by forgetting its files, a rollback by forgetting all of them, and the transaction's
own later statements read them where they are. What may not stand in a table is put right once, at
the commit (``settle``):

* a delete event that hits a row of the same transaction. Hive does not apply it everywhere (a
  delete is looked for in files of lower write ids or statements only), so the row and the event
  both go.
* rows beside an INSERT OVERWRITE of the same write id: a ``delta`` beside a ``base`` of its own
  write id is ignored. They join the base.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from acidsql.acid.ids import BucketId, WriteId, bucket_ids
from acidsql.acid.listed import DataFile
from acidsql.catalog.model import Partition, Table, TableName
from acidsql.errors import Error
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import in_parallel
from acidsql.lazy import dataclass
from acidsql.storage.events.row_ids import RowIds, read_ids, row_ids
from acidsql.storage.footers import FoundFile
from acidsql.storage.write import driver_writer
from acidsql.storage.write.driver_writer import EventFile
from acidsql.storage.write.target import StagedFile, WriteTarget, new_directory


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRoot:
    """The files for one table or partition. ``target``: of the last statement that wrote there;
    ``statements``: how many did.
    """

    target: WriteTarget
    overwritten: bool = False
    inserts: tuple[StagedFile, ...] = ()
    deletes: tuple[StagedFile, ...] = ()
    statements: int = 0

    @property
    def table(self) -> Table:
        return self.target.table

    @property
    def write_id(self) -> WriteId:
        return self.target.write_id

    @property
    def partition(self) -> Partition | None:
        return self.target.partition

    @property
    def files(self) -> tuple[StagedFile, ...]:
        """The files as they are to be published."""
        return (
            *(replace(f, directory=self.base) if self.overwritten else f for f in self.inserts),
            *self.deletes,
        )

    @property
    def directories(self) -> tuple[str, ...]:
        """The directories that are new once they are published."""
        base = (self.base,) if self.overwritten else ()
        return tuple(dict.fromkeys((*base, *(file.directory for file in self.files))))

    @property
    def base(self) -> str:
        """The directory of all rows, once what was there is overwritten."""
        if not self.table.is_transactional:
            return self.target.root
        return replace(self.target, overwrite=True).insert_directory

    def found_files(self, files: Iterable[StagedFile]) -> tuple[FoundFile, ...]:
        """Staged files as a scan wants them."""
        return tuple(FoundFile(file=self._data_file(file), path=file.path) for file in files)

    def _data_file(self, file: StagedFile) -> DataFile:
        return DataFile(
            path=file.path,
            size=file.size,
            mtime_ns=0,
            min_write_id=self.write_id,
            max_write_id=self.write_id,
            statement_id=self.target.statement_id,
            bucket=file.bucket,
            original=file.original,
            needs_row_filter=False,
        )


Roots = dict[str, PendingRoot]


class PendingWrites:
    """What is to become visible with one commit. ``roots``: by the directory of the table or
    partition; ``published``: directories that have their names.
    """

    def __init__(self, note: Callable[[str], None] | None = None) -> None:
        """``note`` is told of each staging directory before it is made, where no transaction tells
        whose it is.
        """
        self._note = note
        self.roots: Roots = {}
        self.published: list[tuple[FileIO, str]] = []
        self._staging: list[tuple[FileIO, str]] = []
        self._staged_before = 0

    def begin_statement(self) -> Roots:
        """What the transaction had written before: what the statement reads, and what ``restore``
        goes back to.
        """
        self._staged_before = len(self._staging)
        return dict(self.roots)

    def restore(self, before: Roots) -> None:
        """Takes the statement back, whose files go at once; and once more in the end, should a task
        that was cancelled write another.
        """
        self.roots = dict(before)
        with suppress(Error, OSError):
            for io, path in self._staging[self._staged_before :]:
                io.delete_tree(path)

    def stage(self, io: FileIO, path: str) -> None:
        """Remembers a staging directory, which is about to be made, that is to go in the end."""
        if self._note is not None:
            self._note(path)
        self._staging.append((io, path))

    def discard_too(self, io: FileIO, path: str) -> None:
        """Has a hidden directory go with those that were staged."""
        self._staging.append((io, path))

    def add(self, target: WriteTarget, files: Sequence[StagedFile]) -> tuple[str, ...]:
        """Takes a statement's files in; the directories they will make."""
        directories: set[str] = set(target.sure_directories)
        touched = {
            target.at_partition(f.partition).root: target.at_partition(f.partition) for f in files
        }
        if target.overwrite or not target.table.is_transactional:
            touched |= {t.root: t for t in target.sure_targets}
        for root, of_target in touched.items():
            of_root = [
                f
                for f in files
                if (f.partition.location if f.partition else of_target.table.location) == root
            ]
            directories |= {f.directory for f in of_root}
            self.roots[root] = self._with(self.roots.get(root), of_target, of_root)
        return tuple(sorted(directories))

    def _with(
        self, known: PendingRoot | None, target: WriteTarget, files: Sequence[StagedFile]
    ) -> PendingRoot:
        inserts = tuple(f for f in files if not f.deletes)
        deletes = tuple(f for f in files if f.deletes)
        if known is None or target.overwrite:  # what was written before is gone with the rest
            return PendingRoot(
                target=target,
                overwritten=target.overwrite,
                inserts=inserts,
                deletes=deletes,
                statements=1,
            )
        return PendingRoot(
            target=target,
            overwritten=known.overwritten,
            inserts=(*known.inserts, *inserts),
            deletes=(*known.deletes, *deletes),
            statements=known.statements + 1,
        )

    def partitions(self, table: TableName) -> Iterator[Partition]:
        """The partitions of a table that have been written to."""
        for root in self.roots.values():
            if root.table.name == table and root.partition is not None:
                yield root.partition

    def unstage(self) -> None:
        """Deletes the staging directories, of which nothing is needed once all is published."""
        staged, self._staging = self._staging, []
        for io, path in staged:
            io.delete_tree(path)

    def forget(self) -> None:
        """Lets go of what is committed."""
        self._staging, self.published, self.roots = [], [], {}

    def discard(self, *, published: bool = False) -> None:
        """Deletes what is staged, and what is ``published`` if nobody will ever see it."""
        trees = self._staging + (self.published if published else [])
        self.forget()
        for io, path in trees:
            io.delete_tree(path)


# ---- puts right, before a transaction commits, what its statements left behind for each other


Rewrite = Callable[[PendingRoot, Sequence[StagedFile], str, int], list[StagedFile]]
"""``rewrite(root, files, directory, buckets)``: the live rows of some insert files of a root in new
files below ``directory``, with their ids. ``buckets``: one more than the highest bucket number
among them.
"""


def needs_settling(root: PendingRoot) -> bool:
    """Whether statements may have left something for each other: one alone cannot, nor can rows
    without ids.
    """
    return (
        root.table.is_full_acid
        and root.statements > 1
        and bool(root.inserts)
        and (root.overwritten or bool(root.deletes))
    )


def settle(io: FileIO, root: PendingRoot, rewrite: Rewrite) -> PendingRoot:
    """The root with no delete event of an own row, no own row that is deleted, and all rows of an
    overwriting in one base.
    """
    dead, deletes = _without_own(io, root)
    buckets = set(np.unique(bucket_ids(dead.bucket_properties)).tolist()) if len(dead) else set()
    groups: dict[tuple[str, BucketId], list[StagedFile]] = {}
    for file in root.inserts:
        moved = replace(file, directory=root.base) if root.overwritten else file
        groups.setdefault((moved.directory, file.bucket), []).append(moved)
    stale = [
        file
        for (_, bucket), files in groups.items()
        if len(files) > 1 or bucket in buckets
        for file in files
    ]
    kept = [file for files in groups.values() for file in files if file not in stale]
    if stale:
        directory = new_directory(io, root.target)
        kept += rewrite(root, stale, directory, 1 + max(file.bucket for file in stale))
    return replace(root, inserts=tuple(kept), deletes=tuple(deletes))


def _without_own(io: FileIO, root: PendingRoot) -> tuple[RowIds, list[StagedFile]]:
    """The ids of own rows that delete events hit, and the delete files without these events."""
    dead: list[RowIds] = []
    files: list[StagedFile] = []
    for file in root.deletes:
        ids = row_ids(read_ids(io, [file.path]))
        own = ids.write_ids == root.write_id
        if not own.any():
            files.append(file)
            continue
        dead.append(ids.taken(np.flatnonzero(own)))
        files += _rest(io, root.target, file, ids.taken(np.flatnonzero(~own)))
    return _joined(dead), files


def _rest(io: FileIO, target: WriteTarget, file: StagedFile, ids: RowIds) -> Iterable[StagedFile]:
    if not len(ids):
        return []
    events = EventFile(target=target, bucket=file.bucket, ids=ids, values=None)
    staged = in_parallel(
        lambda item: driver_writer.stage_file(io, new_directory(io, target), item), [events]
    )
    return [replace(s, directory=file.directory) for s in staged]


def _joined(parts: Sequence[RowIds]) -> RowIds:
    def column(name: str, kind: type) -> Any:
        return (
            np.concatenate([getattr(part, name) for part in parts]) if parts else np.zeros(0, kind)
        )

    return RowIds(
        write_ids=column("write_ids", np.int64),
        bucket_properties=column("bucket_properties", np.int32),
        rows=column("rows", np.int64),
        partition_numbers=column("partition_numbers", np.int64),
    )
