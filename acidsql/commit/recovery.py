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
import hashlib
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
from acidsql.acid.ids import (
    METADATA_FILE,
    NO_VISIBILITY,
    Base,
    TxnId,
    WriteId,
    is_reserved,
    parse_directory,
)
from acidsql.acid.snapshot import INPUTS_FILE, BaseKind, parse_marker
from acidsql.catalog.model import Partition, Table, TableName
from acidsql.catalog.partitions import name_of
from acidsql.commit.unit_of_work import Store
from acidsql.errors import Error, FormatError
from acidsql.files.fileio import (
    FileIO,
    RealPaths,
    is_below,
    is_inside,
    parent,
    path_of,
    real_path,
    rename_directory,
)
from acidsql.files.parallel import in_parallel
from acidsql.lazy import dataclass
from acidsql.txn.leftovers import HIDDEN, AbortedWrite, NotedDirectory
from acidsql.txn.manager import TxnManager

# ---- dropped
#
# Directories that a process was about to delete when it died, or would have deleted: of dropped
# tables and partitions, of staged files that belong to no transaction, of tables that never came to
# be.
#
# They are noted in the store before: those of a table in the step that drops it. The next process
# gives a directory a hidden name, while the store lets nobody make a table there, and deletes it.
#
# What somebody reads who has no lock on it any more (see ``txn.reading``) gets a hidden name, too,
# at once; it is deleted when nobody reads it any more::
#
#     noted by its place --hidden--> noted by its hidden name --the last reader is done--> deleted
#
# From the drop on the store knows both names. A reader looks for a file by the hidden one first:
# see ``storage.scan.moved_files``.


FILES_AT_ONCE = 256
"""The most files that are deleted while everybody waits."""


def dropped_name(path: str) -> str:
    """The hidden name by which a directory is deleted."""
    return f"{HIDDEN}dropped_{hashlib.sha256(path.encode()).hexdigest()[:12]}"


def keep_dropped(store: Store, io: FileIO, paths: Collection[str]) -> Collection[str]:
    """Moves away what is kept for readers of the directories of dropped tables; returns these.
    Where that cannot be the readers are given up.
    """
    kept = store.hidden_names(paths)
    return [path for path in paths if path in kept and _hide(store, io, path, kept[path])]


def list_kept(store: Store, io: FileIO) -> list[str]:
    """The hidden directories by which what was dropped is kept for who reads it still: beside
    tables, in those of partitions, and in databases.
    """
    homes = {path_of(at) for _, at in store.list_locations()}
    homes |= {parent(at) for at in homes}
    databases = map(store.find_database, store.list_databases())
    homes |= {path_of(database.location) for database in databases if database is not None}
    names = ((home, name) for home in sorted(homes) for name in io.names(home))
    return list(store.kept([f"{at}/{name}" for at, name in names if name.startswith(HIDDEN)]))


class _StaysError(Exception):
    """A directory cannot be moved in one step."""


def _hide(store: Store, io: FileIO, path: str, hidden: str) -> bool:
    """Gives a directory its hidden name, unless a new table lies there by now, or it has it;
    False, and nobody reads it any more, where that cannot be.
    """
    try:
        with store.hiding(path, hidden):
            is_to_go = io.exists(path) and not io.exists(hidden) and _is_free(store, path)
            if is_to_go and not rename_directory(io, path, hidden):
                raise _StaysError
            crash_points.reached("directory kept")
    except (_StaysError, FileNotFoundError):
        store.keep_none([hidden])
        return False
    with suppress(OSError):
        io.sync_directory(parent(path))
    return True


def delete_dropped(store: Store, io: FileIO, path: str) -> None:
    """Deletes the directory of a table that is dropped, unless a new one lies there by now. Where
    it can be renamed it is gone in one step, with all that is still being written into it.
    """
    hidden = f"{parent(path)}/{dropped_name(path)}"
    io.delete_tree(hidden)
    if io.exists(path):
        _delete(store, io, path, hidden)


def settle_noted(store: Store, io: FileIO, noted: NotedDirectory) -> None:
    """Deletes a noted directory or moves it back."""
    if noted.moved_from is None:
        if not keep_dropped(store, io, [noted.location]):
            _delete_left(store, io, noted.location)
        return
    with store.alone():
        old, new = noted.moved_from, noted.location
        if not _is_free(store, old) and _is_free(store, new) and io.exists(new):
            move_back(io, new, old)
    if noted.is_over:
        store.forget_directories([new])


def move_back(io: FileIO, new: str, old: str) -> None:
    """Moves a directory back to its old place, or what is in it to the directory that a writer has
    made there meanwhile. OSError, for another try, if that has files of the same names.
    """
    if io.exists(old):
        for name in io.names(new):
            io.move_directory(f"{new}/{name}", f"{old}/{name}")
        io.remove_empty_directory(new)
    else:
        io.move_directory(new, old)
    for directory in {parent(old), parent(new), old}:
        io.sync_directory(directory)


def _delete_left(store: Store, io: FileIO, path: str) -> None:
    """Deletes a noted directory, unless a table or partition has it by now, and what is left of one
    that was being deleted.
    """
    around = [path_of(at) for _, at in store.list_locations() if is_below(path, path_of(at))]
    hidden = [f"{home}/{dropped_name(path)}" for home in (*around, parent(path))]
    for one in hidden:
        io.delete_tree(one)
    if io.exists(path):
        _delete(store, io, path, hidden[0])
    for home in around:
        above = parent(path)
        while is_below(above, home) and _is_free(store, above):
            if not io.remove_empty_directory(above):
                break
            above = parent(above)
    store.forget_directories([path])


def _delete(store: Store, io: FileIO, path: str, hidden: str) -> None:
    if path.rpartition("/")[2].startswith(HIDDEN):
        io.delete_tree(path)
        return
    if not io.renames(path):
        _delete_slowly(store, io, path)
        return
    with store.alone():
        if not _is_free(store, path):
            return
        try:
            is_hidden = rename_directory(io, path, hidden)
        except FileNotFoundError:
            return
        if not is_hidden:
            io.delete_tree(path)
    crash_points.reached("directory taken away")
    if is_hidden:
        io.delete_tree(hidden)


def _delete_slowly(store: Store, io: FileIO, path: str) -> None:
    """Deletes a directory where nothing can be renamed, a few files at a time: only while the store
    lets nobody make a table there, so that none of these files is a new table's; and never for long
    at once, since all others wait. They do not wait for the listing: what is made there later is
    not in it, or has its table by then.
    """
    files = [f"{path}/{file.path}" for file in io.list_files(path)]
    for first in range(0, len(files), FILES_AT_ONCE):
        with store.alone():
            if not _is_free(store, path):
                return
            in_parallel(io.delete_file, files[first : first + FILES_AT_ONCE])
        crash_points.reached("some files deleted")
    with store.alone():
        if not _is_free(store, path):
            return
        io.delete_tree(path)  # what is hidden, and what is hardly more than a name
    crash_points.reached("directory taken away")


def _is_free(store: Store, location: str) -> bool:
    """Whether no table or partition lies in a directory, is it, or may have files in it."""
    path, real_paths = real_path(location), RealPaths()
    for name, at in store.list_locations():
        other = real_paths.of(at)
        if is_inside(other, path) or (is_inside(path, other) and _holds(store, name, path)):
            return False
    return True


def _holds(store: Store, name: TableName, path: str) -> bool:
    """Whether a path below a table belongs to it: anything does, but for partitions it has not."""
    table = store.find_table(name)
    if table is None or not table.partition_columns:
        return True
    locations = (real_path(path_of(p.location)) for p in store.list_partitions(table))
    return any(is_inside(one, path) or is_inside(path, one) for one in locations)


# ---- recovery


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
