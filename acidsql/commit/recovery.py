"""What transactions that never committed have left in tables is taken away by the next process that
writes, after its own commit; what others have left (see ``dropped``), before it begins. Hive:
Cleaner, AbortedTxnCleaner.

For each table, in this order:

    1  staging directories (``.acidsql_<txn>_*``) of ended transactions go: from then on none of
       them can give a file its name any more (see storage.write.publish)
    2  directories of exactly the aborted write ids get hidden names, while the store lets nobody
       else write to it: so the table is the one that was looked at, and no id is given out anew
    3  these are deleted
    4  the store forgets what it had on record; the write ids count as committed from then on

A cleaner that dies anywhere leaves the record, or a hidden name of step 1, so that the next one
goes on; two at once hinder nobody. Readers never look at any of it. Whatever fails is tried again
later, and is no statement's failure. A wide directory, made by a compaction or a stream of Hive's,
may hold rows of an aborted write id: then that stays on record until a compaction of ours has taken
its place, and it is gone.
"""

from __future__ import annotations

import errno
import os
import re
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from enum import Enum
from itertools import groupby

from acidsql import crash_points
from acidsql.acid.ids import TxnId, WriteId
from acidsql.acid.paths import (
    METADATA_FILE,
    NO_VISIBILITY,
    Base,
    is_reserved,
    parse_directory,
)
from acidsql.acid.snapshot import INPUTS_FILE, BaseKind, parse_marker
from acidsql.catalog.model import Partition, Table, TableName
from acidsql.catalog.partitions import name_of
from acidsql.commit.dropped import settle_noted
from acidsql.commit.unit_of_work import Store
from acidsql.errors import Error, FormatError
from acidsql.files.fileio import FileIO, rename_directory
from acidsql.files.urls import parent, path_of
from acidsql.lazy_dataclass import dataclass
from acidsql.txn.leftovers import AbortedWrite, NotedDirectory
from acidsql.txn.manager import TxnManager

AT_ONCE = 100
"""The most writes that are looked after at the end of one statement."""

_STAGING = re.compile(r"\.acidsql_([1-9][0-9]{0,17})_.+")
_REMOVED = "_removed"


@dataclass(slots=True, kw_only=True)
class Recovery:
    """Cleans up for one session. ``pause``: seconds before what could not be cleaned is looked at
    again; ``clock``: in seconds.
    """

    open_store: Callable[[], Store]
    files: FileIO
    pause: Callable[[], float]
    clock: Callable[[], float] = time.monotonic
    _postponed: dict[AbortedWrite, float] = field(default_factory=dict)
    _failed: dict[NotedDirectory, float] = field(default_factory=dict)

    def before(self) -> None:
        """Deletes what processes that have ended were about to delete, and moves back what they
        have moved, before a statement that might make or read a table or partition there. Raises
        neither Error nor OSError.
        """
        with suppress(Error, OSError):
            store, now = self.open_store(), self.clock()
            for noted in store.noted_directories():
                if self._failed.get(noted, now) <= now:
                    self._failed[noted] = now + self.pause()
                    settle_noted(store, self.files, noted)
                    self._failed.pop(noted)

    def after(self) -> None:
        """Takes away what is left of writes, after a statement that writes. Raises neither Error
        nor OSError.
        """
        with suppress(Error, OSError):
            store = self.open_store()
            self._clean(store, store.aborted_writes(AT_ONCE + len(self._postponed)))

    def _clean(self, store: Store, writes: Sequence[AbortedWrite]) -> None:
        now = self.clock()
        self._postponed = {w: until for w, until in self._postponed.items() if until > now}
        due = sorted((w for w in writes if w not in self._postponed), key=_table_of)
        for name, of_table in groupby(due, key=_table_of):
            group = tuple(of_table)
            try:
                cleaned = _clean_table(store, self.files, name, group)
            except (Error, OSError):
                cleaned = ()
            self._postponed |= {w: now + self.pause() for w in group if w not in cleaned}


def _table_of(write: AbortedWrite) -> TableName:
    return write.table


def _clean_table(
    store: Store, io: FileIO, name: TableName, writes: Sequence[AbortedWrite]
) -> Collection[AbortedWrite]:
    """Cleans one table; returns the writes of which nothing is on record any more."""
    table = store.find_table(name)
    if table is None:
        return ()
    remove_staging(store, io, table)
    crash_points.reached("staging cleaned")
    looker = _Looker(io, table, store.list_partitions(table))
    traces = [looker.trace(write) for write in writes]
    hidden: list[str] = []
    unseen: dict[str, bool] = {}
    with store.removing(table, writes) as recorded:
        for trace in traces:
            if trace.write in recorded and trace.write.is_compaction:
                unseen |= dict.fromkeys(trace.directories, trace.write.is_long_over)
            elif trace.write in recorded:
                hidden += [hide(io, table, trace.write.txn_id, path) for path in trace.directories]
    crash_points.reached("directories hidden")
    for path in hidden:
        io.delete_tree(path)
    for path, whole in unseen.items():  # of names that nothing else has: nobody need wait
        remove_uncommitted(io, path, whole=whole)
    _remove_empty_partitions(store, io, table, traces)
    crash_points.reached("directories cleaned")
    at_once = io.renames(path_of(table.location))
    cleaned = [
        trace.write
        for trace in traces
        if trace.write in recorded
        and not trace.is_mixed
        and (trace.write.is_over if at_once else trace.write.is_long_over)
    ]
    store.forget_writes(cleaned)
    crash_points.reached("writes forgotten")
    return cleaned


def remove_staging(store: TxnManager, io: FileIO, table: Table) -> None:
    """Deletes the staging directories of transactions that have ended. One of a transaction that
    this store has not opened yet, and so is another store's, stays. OSError if one cannot go.
    """
    location = path_of(table.location)
    matches = ((name, _STAGING.fullmatch(name)) for name in io.names(location))
    staged = [(f"{location}/{name}", int(match[1])) for name, match in matches if match is not None]
    if not staged:
        return
    txns = store.valid_txns()
    for path, txn_id in staged:
        if txn_id <= txns.high_watermark and txn_id not in txns.open:
            path = _out_of_reach(io, path)
            io.delete_tree(path)
            if io.exists(path):
                raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)


def _out_of_reach(io: FileIO, path: str) -> str:
    """The path of a staging directory that is about to go, renamed where that takes one step: a
    writer who does not know yet that it has lost then finds nothing to give a name to, and never a
    part of its files. (What a compaction publishes would be read.)
    """
    removed = path.removesuffix(_REMOVED) + _REMOVED
    with suppress(FileNotFoundError):  # another cleaner was faster
        if path != removed and rename_directory(io, path, removed):
            return removed
    return path


class _Fate(Enum):
    """What an ACID directory is to an aborted write id."""

    APART = "holds nothing of it"
    GARBAGE = "holds nothing else"
    MIXED = "may hold rows of it, and others"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trace:
    """What there is of an aborted write: ``directories`` that hold nothing else, by their paths.
    ``is_mixed``: there are others that stay.
    """

    write: AbortedWrite
    directories: tuple[str, ...]
    is_mixed: bool


class _Looker:
    """Looks into the directories of one table; into none twice."""

    def __init__(self, io: FileIO, table: Table, partitions: Sequence[Partition]) -> None:
        self._io = io
        self._table = table
        self._home = path_of(table.location)
        self._locations = {name_of(table, p): path_of(p.location) for p in partitions}
        self._names: dict[str, list[str]] = {}

    def trace(self, write: AbortedWrite) -> _Trace:
        directories: list[str] = []
        is_mixed = False
        for root in dict.fromkeys(self._roots(write)):
            if root not in self._names:
                self._names[root] = [n for n in self._io.names(root) if is_reserved(n)]
            for name in self._names[root]:
                fate = (
                    _fate_of_compacted(name, write.txn_id)
                    if write.is_compaction
                    else _fate(self._io, f"{root}/{name}", write.write_id)
                )
                if fate is _Fate.GARBAGE:
                    directories.append(f"{root}/{name}")
                is_mixed |= fate is _Fate.MIXED
        return _Trace(write=write, directories=tuple(directories), is_mixed=is_mixed)

    def _roots(self, write: AbortedWrite) -> Iterator[str]:
        """The directories that may hold files of a write."""
        if not self._table.partition_columns:
            yield self._home
        elif write.partition is not None:
            yield f"{self._home}/{write.partition}"
            if write.partition in self._locations:
                yield self._locations[write.partition]
        elif not write.record_is_whole:
            yield self._home
            yield from self._locations.values()
            for path in self._io.listing(self._home).directories:
                if not any(map(is_reserved, path.split("/"))):
                    yield f"{self._home}/{path}"


def _remove_empty_partitions(
    store: Store, io: FileIO, table: Table, traces: Sequence[_Trace]
) -> None:
    """Removes directories that were made for partitions that never came to be. Which are there is
    asked anew, while nobody can add one, or move the table: since the directories were looked at
    others may have done both.
    """
    home = path_of(table.location)
    paths = {parent(path) for trace in traces for path in trace.directories}
    paths |= {f"{home}/{t.write.partition}" for t in traces if t.write.partition is not None}
    if not table.partition_columns or not paths:
        return
    with store.alone():
        if store.find_table(table.name) != table:
            return
        locations = {path_of(partition.location) for partition in store.list_partitions(table)}
        for path in sorted(paths):
            while path.startswith(f"{home}/") and path not in locations:
                if not io.remove_empty_directory(path):
                    break
                path = parent(path)


def _fate_of_compacted(name: str, txn_id: TxnId) -> _Fate:
    parsed = parse_directory(name)
    is_of_it = parsed is not None and parsed.visibility_txn_id == txn_id
    return _Fate.GARBAGE if is_of_it else _Fate.APART


def remove_uncommitted(io: FileIO, path: str, *, whole: bool) -> None:
    """Removes a directory of a compaction that no commit has made seen: last what says that it is
    ours, for without it the number in its name would be one of Hive's. That stays unless the
    ``whole`` directory may go, as no file can come any more.
    """
    for name in io.names(path):
        if name != INPUTS_FILE:
            io.delete_file(f"{path}/{name}")
            crash_points.reached("uncommitted file deleted")
    if whole:
        io.delete_tree(path)


def _fate(io: FileIO, path: str, write_id: WriteId) -> _Fate:
    name = parse_directory(path.rpartition("/")[2])
    if name is None:
        return _Fate.APART
    if isinstance(name, Base):
        # a base has no rows of aborted write ids, unless it is itself an overwriting
        same = name.write_id == write_id and name.visibility_txn_id == NO_VISIBILITY
        return _fate_of_base(io, path) if same else _Fate.APART
    if not name.min_write_id <= write_id <= name.max_write_id:
        return _Fate.APART
    alone = name.min_write_id == name.max_write_id and name.visibility_txn_id == NO_VISIBILITY
    if not alone and io.exists(f"{path}/{INPUTS_FILE}"):
        return _Fate.APART  # our compactions take only what is decided, and nothing aborted
    return _Fate.GARBAGE if alone else _Fate.MIXED


def _fate_of_base(io: FileIO, path: str) -> _Fate:
    marker = f"{path}/{METADATA_FILE}"
    if not io.exists(marker):
        return _Fate.GARBAGE
    try:
        compacted = parse_marker(io.read(marker)) is BaseKind.COMPACTED
    except FormatError:
        return _Fate.MIXED
    return _Fate.APART if compacted else _Fate.GARBAGE


def hide(io: FileIO, table: Table, txn_id: TxnId, path: str, *, sync: bool = True) -> str:
    """Takes a directory away from where it is looked for; returns what is to be deleted. Its new
    name is one of a staging directory of ``txn_id``, which has ended: who dies before that is
    deleted leaves it to ``remove_staging``. ``sync``: it outlives a crash of the machine.
    """
    hidden = f"{path_of(table.location)}/.acidsql_{txn_id}_{uuid.uuid4().hex[:8]}"
    try:
        if not rename_directory(io, path, hidden):
            io.delete_tree(path)
            return path
    except FileNotFoundError:  # another cleaner was faster
        return hidden
    if sync:
        io.sync_directory(parent(path))
    return hidden
