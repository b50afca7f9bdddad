"""The place of the store: ``<warehouse>/_acidsql/metastore.db``, made where it is missing, refused where SQLite would not be safe.

SQLite's write-ahead log is shared memory between processes of one machine: on a network file system two hosts would
overwrite each other. A file with two names (``cp -al`` of a warehouse) would have two logs for one database and be
destroyed, so the name opened here first gets a file of its own.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from acidsql.errors import MetastoreError

try:
    import fcntl
except ImportError:
    HAS_FILE_LOCKS = False  # Windows
else:
    HAS_FILE_LOCKS = True

DIRECTORY = "_acidsql"
FILE = "metastore.db"
MOUNTS = "/proc/self/mountinfo"
NETWORK_FILE_SYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ncpfs", "fuse.sshfs"})
_DETACH_TIMEOUT_SECONDS = 5


def prepare(warehouse: str) -> Path:
    """The path of the database file, in a directory that exists and may be written. MetastoreError says why not."""
    directory = Path(warehouse, DIRECTORY)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MetastoreError(
            f'the warehouse "{warehouse}" cannot be used: {_reason(error)}',
            hint="Name a directory that exists, or may be made, and that you may write to.",
        ) from error
    file_system = _file_system(os.path.realpath(directory))
    if file_system in NETWORK_FILE_SYSTEMS:
        raise MetastoreError(
            f'the warehouse "{warehouse}" lies on a network file system ({file_system}), where the embedded metastore is not safe',
            hint="Put the warehouse on a local disk.",
        )
    path = directory / FILE
    if not os.access(directory, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise MetastoreError(f'the warehouse "{warehouse}" is read-only', hint="The metastore must be writable, also for queries.")
    return path


@contextmanager
def opening(path: Path) -> Iterator[None]:
    """One opener at a time, for what SQLite's own locks do not cover: making the file, its journal mode, its second name.

    The lock is on the directory: unlike a file in it, it cannot be linked into another warehouse.
    """
    if not HAS_FILE_LOCKS:
        yield
        return
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks: SQLite itself will complain
            fcntl.flock(directory, fcntl.LOCK_EX)
        if path.exists() and path.stat().st_nlink > 1:
            _detach(path)
        yield
    finally:
        os.close(directory)


def _detach(path: Path) -> None:
    """Gives ``path`` a file of its own; its other names keep theirs. Only while nobody has it open under any name."""
    own = path.with_name(f"{FILE}.{os.getpid()}")
    try:
        with closing(sqlite3.connect(path, timeout=_DETACH_TIMEOUT_SECONDS, isolation_level=None)) as shared:
            shared.execute("PRAGMA locking_mode = EXCLUSIVE")
            shared.execute("BEGIN EXCLUSIVE")
            shared.execute("COMMIT")  # the lock stays until closing
            shared.execute("PRAGMA journal_mode = DELETE")  # everything into the one file
            with closing(sqlite3.connect(own)) as target:
                shared.backup(target)
            os.replace(own, path)
    except (sqlite3.Error, OSError) as error:
        raise MetastoreError(
            f'the metastore "{path}" is hard-linked to another warehouse and cannot be parted from it: {error}',
            hint="Close whatever uses either of them, or copy the file instead of linking it.",
        ) from error
    finally:
        own.unlink(missing_ok=True)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _file_system(directory: str) -> str:
    """The type of the file system that holds ``directory``, "" where that cannot be told."""
    best, found = "", ""
    with suppress(OSError), open(MOUNTS, encoding="utf-8", errors="replace") as mounts:
        for line in mounts:
            left, _, right = line.partition(" - ")
            place = left.split()[4].replace("\\040", " ")
            inside = directory == place or directory.startswith(place.rstrip("/") + "/")
            if inside and len(place) >= len(best):
                best, found = place, right.split()[0]
    return found
