"""Removes what compactions have made obsolete, when nobody can need it any more. Hive: Cleaner,
CompactionCleaner.

    1  an entry is due: committed, its files kept for as long as they are to be kept
    2  what is obsolete below its highest write id is chosen as a reader would choose
    3  the store grants the claim, if no registered reader of the table is older than the commit
    4  while the store lets nobody drop, move or rename the table or partition, directories get
       hidden names, which every cleaning removes in any case; they go
    5  nothing obsolete is left: the entry has succeeded

Until 3 nothing has changed; from 4 on, every directory that is gone was of no use to anybody, so a
cleaner may die anywhere and the next one begins anew. Two at once hinder nobody. What aborted
transactions have left is not looked at here, and goes whether or not anything is compacted (see
``changes.recovery``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from typing import Protocol

from acidsql import crash_points
from acidsql.acid.ids import (
    METADATA_FILE,
    NO_VISIBILITY,
    Base,
    DirectoryName,
    RangeResponse,
    TxnId,
    ValidCleanerWriteIdList,
    WriteId,
    is_reserved,
    parse_directory,
)
from acidsql.acid.listed import AcidDirectory, group_files, id_range
from acidsql.acid.snapshot import INPUTS_FILE, BaseKind, choose, is_final, parse_marker
from acidsql.catalog.attached import seen_txns
from acidsql.catalog.model import Partition, Table, TableName
from acidsql.commit.recovery import FILES_AT_ONCE, Recovery, hide, remove_staging
from acidsql.commit.unit_of_work import Store
from acidsql.errors import Error, FormatError, MetastoreError, OperationalError
from acidsql.files.fileio import FileIO, hidden_reader, parent, path_of
from acidsql.files.parallel import in_parallel
from acidsql.lazy import dataclass
from acidsql.settings import Settings, find_setting
from acidsql.txn.compactions import Compaction, CompactionQueue, CompactionState, CompactionType

RETENTION = "acidsql.history.retention"
"""The setting, and the table property of the same name."""

NO_CLEANUP = ("no_cleanup", "NO_CLEANUP")
"""Hive: hive_metastoreConstants.NO_CLEANUP."""


class CleanerStore(Store, CompactionQueue, Protocol):
    """A metastore with its queue of compactions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What is to be cleaned: the directory of a table or partition, below and at the highest write
    id of a compaction.
    """

    compaction: Compaction
    table: Table
    partition: Partition | None
    root: str
    write_ids: ValidCleanerWriteIdList


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaner:
    """Cleans behind the compactions of one store. ``clock``: epoch seconds, as the store's."""

    store: CleanerStore
    files: FileIO
    settings: Settings
    clock: Callable[[], float]
    recovery: Recovery = field(init=False)

    def __post_init__(self) -> None:
        recovery = Recovery(
            open_store=lambda: self.store,
            files=self.files,
            pause=lambda: self.settings.number("metastore.acid.housekeeper.interval"),
        )
        object.__setattr__(self, "recovery", recovery)

    def run_once(self) -> bool:
        """Cleans behind one compaction; whether there was one that could be ended. One whose files
        a reader needs is passed over; one that fails is put off, with growing pauses, and failed
        after hive.compactor.cleaner.retry.maxattempts.
        """
        return any(self._looked_after(compaction) for compaction in self._ready())

    def run_through(
        self, wanted: Callable[[Compaction], bool] = lambda _: True, *, threads: int = 1
    ) -> bool:
        """Cleans behind each compaction that is ``wanted`` as ``run_once`` does behind the first,
        so many at once; whether there was one that could be ended.
        """
        ready = [compaction for compaction in self._ready() if wanted(compaction)]
        return any(in_parallel(self._looked_after, ready, threads=threads))

    def clean_aborted(self) -> None:
        """Takes away what transactions and processes have left that never came to their end.
        Raises neither Error nor OSError.
        """
        self.recovery.before()
        self.recovery.after()

    # ---- which

    def _ready(self) -> Iterator[Compaction]:
        """The entries whose pause is over, of each table or partition the one with the lowest
        highest write id. Hive: ReadyToCleanHandler.
        """
        first: dict[tuple[TableName, str | None], Compaction] = {}
        for one in self.store.ready_for_cleaning():
            of_object = (one.request.table, one.request.partition)
            lowest = first.setdefault(of_object, one)
            if (one.highest_write_id or 0) < (lowest.highest_write_id or 0):
                first[of_object] = one
        now = self._now()
        yield from (one for one in first.values() if (one.retry_after or 0) <= now)

    def _now(self) -> int:
        return int(self.clock() * 1000)

    def _looked_after(self, compaction: Compaction) -> bool:
        try:
            return self._clean(compaction)
        except (Error, OSError) as error:
            return self._put_off(compaction, error)

    def _put_off(self, compaction: Compaction, error: Error | OSError) -> bool:
        message = error.message if isinstance(error, Error) else str(error)
        most = int(self.settings.number("hive.compactor.cleaner.retry.maxattempts"))
        with suppress(MetastoreError):  # it is another cleaner's success, or comes again
            if compaction.attempts >= most:
                self.store.end_compaction(compaction.compaction_id, CompactionState.FAILED, message)
                return True
            pause = self.settings.number("hive.compactor.cleaner.retry.retention.time")
            later = self._now() + int(pause * 1000) * 2**compaction.attempts
            self.store.postpone_cleaning(compaction.compaction_id, message, retry_after=later)
        return False

    # ---- one entry

    def _clean(self, compaction: Compaction) -> bool:
        """Whether the entry has come to its end."""
        request = compaction.request
        table = self.store.find_table(request.table)
        partition = None
        if table is not None and request.partition is not None:
            partition = self.store.find_partition(table, request.partition)
        if table is None or (request.partition is not None and partition is None):
            return self._succeed(compaction)  # dropped, and its files with it
        if any(table.properties.get(name, "").lower() == "true" for name in NO_CLEANUP):
            self.store.end_compaction(
                compaction.compaction_id, CompactionState.REFUSED, "the table has NO_CLEANUP"
            )
            return True
        if not self._is_due(compaction, table) or not self.store.begin_cleaning(compaction, None):
            return False
        if request.type is CompactionType.ABORT_TXN_CLEANUP or (
            table.partition_columns and partition is None
        ):
            self.clean_aborted()
            return self._succeed(compaction)
        job = self._job(compaction, table, partition)
        return job is not None and self._carry_out(job)

    def _is_due(self, compaction: Compaction, table: Table) -> bool:
        """Whether its files need not be kept for snapshots of some age any more."""
        return kept_until(compaction, table, self.settings) <= self._now()

    def _job(
        self, compaction: Compaction, table: Table, partition: Partition | None
    ) -> _Job | None:
        """None while a write id is open that the compaction is said to have taken in."""
        top = compaction.highest_write_id
        if top is None:
            raise OperationalError("nobody knows which write ids it has taken in")
        now = self.store.valid_write_ids(table.name, self.store.valid_txns())
        if now.min_open is not None and now.min_open <= top:
            return None
        return _Job(
            compaction=compaction,
            table=table,
            partition=partition,
            root=path_of(table.location if partition is None else partition.location),
            write_ids=ValidCleanerWriteIdList(
                table=str(table.name),
                high_watermark=top,
                aborted=tuple(i for i in now.aborted if i <= top),
            ),
        )

    def _carry_out(self, job: _Job) -> bool:
        chosen = self._chosen(job)
        if chosen.obsolete:
            directories = [path for path in chosen.obsolete if is_reserved(path)]
            lost = _history_lost(job, chosen)
            if not self.store.begin_cleaning(job.compaction, lost, directories):
                return False
            self._remove(job, chosen.obsolete)
            left = self._chosen(job).obsolete
            if left:
                raise OSError(f'"{job.root}/{left[0]}" could not be removed')
        self._tidy(job)
        remove_staging(self.store, self.files, job.table)
        crash_points.reached("obsolete removed")
        return self._succeed(job.compaction)

    def _tidy(self, job: _Job) -> None:
        """Takes away what outputs of compactions say of their inputs, once these are gone. Of a
        range with an aborted write id it still says that no row of that is in it, to who cleans up
        behind transactions.
        """
        read_hidden = hidden_reader(self.files, job.root)
        listing = self.files.listing(job.root)
        known = group_files(listing.files, listing.directories).paths
        chosen = self._chosen(job)
        final = [
            directory.path
            for directory in (chosen.base, *chosen.current)
            if directory is not None
            and is_final(directory.path, known, read_hidden)
            and not _may_hold_aborted(directory.name, job.write_ids)
        ]
        if final:
            with self.store.cleaning(job.compaction, job.table, job.partition):
                for path in final:
                    self.files.delete_file(f"{job.root}/{path}/{INPUTS_FILE}")
            crash_points.reached("outputs final")

    def _chosen(self, job: _Job) -> AcidDirectory:
        """What a reader would choose of what the compaction has looked at and made."""
        read_hidden = hidden_reader(self.files, job.root)
        own = self.store.valid_txns()
        listing = self.files.listing(job.root)
        later: Mapping[str, bool] = {
            name: self._is_later(job, name, read_hidden)
            for name in {path.partition("/")[0] for path in listing.directories}
        }
        return choose(
            [f for f in listing.files if not later.get(f.path.partition("/")[0])],
            job.write_ids,
            seen_txns(job.table),
            directories=[d for d in listing.directories if not later[d.partition("/")[0]]],
            read_marker=lambda directory: read_hidden(f"{directory}/{METADATA_FILE}"),
            read_hidden=read_hidden,
            whole_ranges=job.table.is_insert_only,
            own=own,
        )

    def _is_later(self, job: _Job, name: str, read: Callable[[str], bytes | None]) -> bool:
        """Whether a directory is none of the compaction's business: it reaches above what that has
        taken in, or is the base that another one may be making of a minor compaction's outcome.
        """
        parsed = parse_directory(name) if is_reserved(name) else None
        if parsed is None:
            return False
        top = job.write_ids.high_watermark
        if id_range(parsed)[1] > top:
            return True
        if job.compaction.request.type is not CompactionType.MINOR or not isinstance(parsed, Base):
            return False
        return parsed.write_id == top and (
            parsed.visibility_txn_id != NO_VISIBILITY
            or _is_compacted(read(f"{name}/{METADATA_FILE}"))
        )

    def _remove(self, job: _Job, paths: tuple[str, ...]) -> None:
        """Removes directories and original files, by paths in the job's directory."""
        io, root = self.files, job.root
        if not io.renames(root):
            return self._remove_slowly(job, paths)
        txn_id = job.compaction.txn_id or TxnId(1)
        directories = [path for path in paths if is_reserved(path.partition("/")[0])]
        crash_points.reached("cleaning claimed")
        with self.store.cleaning(job.compaction, job.table, job.partition):
            hidden = [
                hide(io, job.table, txn_id, f"{root}/{path}", sync=False) for path in directories
            ]
            for path in sorted({*paths}.difference(directories)):
                io.delete_file(f"{root}/{path}")
                above = parent(f"{root}/{path}")
                while above != root and io.remove_empty_directory(above):
                    above = parent(above)
        io.sync_directory(root)
        crash_points.reached("obsolete hidden")
        for path in hidden:
            io.delete_tree(path)

    def _remove_slowly(self, job: _Job, paths: tuple[str, ...]) -> None:
        """Removes them where nothing can be renamed, some files at a time: each time the store says
        that it is still the table or partition whose they are, and others wait for no more than
        that.
        """
        io, root = self.files, job.root
        directories = {path for path in paths if is_reserved(path)}
        files = [
            file.path
            for file in io.list_files(root)
            if file.path in paths or file.path.partition("/")[0] in directories
        ]
        crash_points.reached("cleaning claimed")
        for first in range(0, len(files), FILES_AT_ONCE):
            with self.store.cleaning(job.compaction, job.table, job.partition):
                some = [f"{root}/{file}" for file in files[first : first + FILES_AT_ONCE]]
                in_parallel(io.delete_file, some)
            crash_points.reached("some obsolete removed")
        with self.store.cleaning(job.compaction, job.table, job.partition):
            for path in directories:  # a few hidden files are left
                io.delete_tree(f"{root}/{path}")

    def _succeed(self, compaction: Compaction) -> bool:
        self.store.mark_cleaned(compaction.compaction_id)
        crash_points.reached("entry succeeded")
        return True


def kept_until(compaction: Compaction, table: Table, settings: Settings) -> int:
    """Until when the files that a compaction has replaced are kept for snapshots of some age, in
    epoch milliseconds.
    """
    kept = [settings.number(RETENTION), _retention_of(table)]
    if settings.flag("hive.compactor.delayed.cleanup.enabled"):
        kept.append(settings.number("hive.compactor.cleaner.retention.time.seconds"))
    return (compaction.committed or 0) + int(max(kept) * 1000)


def _retention_of(table: Table) -> float:
    """How long the table's own property keeps files; seconds. ProgrammingError if that is no
    time.
    """
    text, setting = table.properties.get(RETENTION), find_setting(RETENTION)
    if text is None or setting is None:
        return 0.0
    value = setting.parse(text)
    return float(value)


def _history_lost(job: _Job, chosen: AcidDirectory) -> WriteId | None:
    """Up to which write id an older snapshot cannot be read any more; None if all rows that stay
    tell which write ids they are from, so that any snapshot can.
    """
    if job.table.is_insert_only:
        return job.write_ids.high_watermark
    base = chosen.base
    return base.name.write_id if base is not None and isinstance(base.name, Base) else None


def _may_hold_aborted(name: DirectoryName, write_ids: ValidCleanerWriteIdList) -> bool:
    """Whether names alone do not tell that a directory has no rows of aborted write ids."""
    if isinstance(name, Base):
        return False
    return write_ids.range_aborted(name.min_write_id, name.max_write_id) is not RangeResponse.NONE


def _is_compacted(marker: bytes | None) -> bool:
    try:
        return marker is not None and parse_marker(marker) is BaseKind.COMPACTED
    except FormatError:
        return False
