"""Directories that a process was about to delete when it died, or would have deleted: of dropped
tables and partitions, of staged files that belong to no transaction, of tables that never came to
be.

They are noted in the store before: those of a table in the step that drops it. The next process
gives a directory a hidden name, while the store lets nobody make a table there, and deletes it.

What somebody reads who has no lock on it any more (see ``txn.reading``) gets a hidden name, too, at
once; it is deleted when nobody reads it any more::

    noted by its place --hidden--> noted by its hidden name --the last reader is done--> deleted

From the drop on the store knows both names. A reader looks for a file by the hidden one first:
see ``storage.scan.moved_files``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from contextlib import suppress

from acidsql import crash_points
from acidsql.catalog.model import TableName
from acidsql.commit.unit_of_work import Store
from acidsql.files.fileio import FileIO, rename_directory
from acidsql.files.parallel import in_parallel
from acidsql.files.urls import RealPaths, is_below, is_inside, parent, path_of, real_path
from acidsql.txn.leftovers import HIDDEN, NotedDirectory

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
