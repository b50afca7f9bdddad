"""The path of the store: ``<warehouse>/_acidsql/metastore.db``, made where it is missing, refused
where SQLite would not be safe.

SQLite's write-ahead log is shared memory between processes of one machine: on a network file system
two hosts would overwrite each other. A file with two names (``cp -al`` of a warehouse) would have
two logs for one database and be destroyed, so the name opened here first gets a file of its own.

A new file is for its owner alone unless another mode is asked for; SQLite gives the files of its
log the same. One that is there keeps its mode: who else may use it is for its owner to say.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from acidsql.errors import MetastoreError
from acidsql.lazy import dataclass, pattern
from acidsql.txn.readers import UnwritableError

try:
    import fcntl
except ImportError:
    HAS_FILE_LOCKS = False  # Windows
else:
    HAS_FILE_LOCKS = True

DIRECTORY = "_acidsql"
FILE = "metastore.db"
MOUNTS = "/proc/self/mountinfo"
NETWORK_FILE_SYSTEMS = frozenset(
    (
        "nfs nfs4 cifs smb2 smb3 smbfs afs ncpfs coda 9p virtiofs"
        " lustre ceph glusterfs gpfs gfs2 ocfs2 beegfs orangefs pvfs2 panfs wekafs davfs s3fs"
    ).split()
)
"""Also as the second half of a type such as ``fuse.sshfs``; those of clusters, too."""
_FUSE_OF_SEVERAL_HOSTS = frozenset(
    (
        "sshfs rclone juicefs moosefs mfs seaweedfs gcsfuse blobfuse blobfuse2 goofys mount-s3"
        " alluxio-fuse hdfs fuse_dfs quobyte cephfs ceph-fuse afpfs smbnetfs davfs2 curlftpfs"
        " acd_cli cvmfs2 s3ql objectivefs"
    ).split()
)
OWNER_ONLY = 0o600
WHO_MAY_USE_IT = (
    "Other users than its owner may use a warehouse that is made with acidsql.store.mode 0660 or"
    " 0666, or after a chmod of its directory _acidsql and the files in it."
)
_ESCAPE = pattern(r"\\([0-7]{3})")
"""A blank or the like in a path of MOUNTS."""
_DETACH_TIMEOUT_SECONDS = 5


def is_warehouse(directory: str) -> bool:
    """Whether a directory has had a store, or may have one that cannot be seen."""
    try:
        os.stat(os.path.join(directory, DIRECTORY))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def database_path(warehouse: str) -> Path:
    return Path(warehouse, DIRECTORY, FILE)


def is_read_only(path: Path) -> bool:
    """Whether a database file is there that this user, or nobody, can write to."""
    if not os.access(path, os.R_OK):
        return False
    return not (os.access(path.parent, os.W_OK | os.X_OK) and os.access(path, os.W_OK))


def has_log(path: Path) -> bool:
    """Whether SQLite keeps a log beside a database file: of what is not in that yet."""
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size > 0
    except OSError:
        return False


def stamp(path: Path) -> tuple[int, int] | None:
    """What changes when a database file is written; None where it is gone."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


_WRITING = "120"
"""The byte of SQLite's shared memory that who writes has locked."""


def writer_of(path: Path) -> str | None:
    """In words, which process of this host has the lock to write to a database file, and whether it
    stands still; None where the system does not tell.
    """
    try:
        inode = path.with_name(f"{path.name}-shm").stat().st_ino
        locks = (line.split() for line in Path("/proc/locks").read_text().splitlines())
        pid = next(
            lock[4]
            for lock in locks  # number, POSIX, ADVISORY, WRITE, process, device:inode, first, last
            if lock[3] == "WRITE" and lock[5].endswith(f":{inode}") and lock[6] == _WRITING
        )
        name, _, state = Path(f"/proc/{pid}/stat").read_text().partition(" (")[2].rpartition(") ")
    except (OSError, StopIteration):
        return None
    still = ", which is stopped; nobody can write before it goes on (SIGCONT) or ends"
    return f"process {pid} ({name}){still if state[:1] in 'Tt' else ''}"


def changed_meanwhile_error(path: Path) -> MetastoreError:
    """The error of a reader of a file without a lock while another user wrote to it."""
    error = MetastoreError(
        f'the metastore "{path}" was changed while it was read', hint="Run the statement again."
    )
    error.retryable = True
    return error


def read_only_error(warehouse: str) -> UnwritableError:
    """The error of a write where nothing can be written."""
    return UnwritableError(
        f'the warehouse "{warehouse}" is read-only',
        hint=f"Only queries run there. {WHO_MAY_USE_IT}",
    )


def no_warehouse_error(warehouse: str) -> MetastoreError:
    """The error of a search for tables where no warehouse is."""
    addition = "" if os.path.isdir(warehouse) else ", nor such a directory"
    return MetastoreError(
        f'there is no warehouse in "{warehouse}"{addition}',
        hint="Name it by --warehouse or $ACIDSQL_WAREHOUSE. CREATE TABLE or CREATE DATABASE makes"
        " one.",
    )


def prepare(warehouse: str, mode: int = OWNER_ONLY, *, anywhere: bool = False) -> Path:
    """The path of the database file, in a directory that exists and may be written. MetastoreError
    says why not.

    ``mode``: of the file if it is made, whatever the umask; its directory can be searched by those
    who can read it. ``anywhere``: on a network file system, too.
    """
    directory = Path(warehouse, DIRECTORY)
    try:
        make_directory(directory, mode)
    except OSError as error:
        raise marker_error(warehouse, error) from error
    file_system = _file_system(os.path.realpath(directory))
    if is_shared(file_system) and not anywhere:
        raise MetastoreError(
            f'the warehouse "{warehouse}" lies on a network file system ({file_system}), where a'
            " metastore in a file is not safe",
            hint="Put the warehouse on a local disk, or the metastore into a PostgreSQL database:"
            " --metastore postgresql+psycopg://user@host/database.",
        )
    path = directory / FILE
    if not os.access(directory, os.W_OK | os.X_OK) or (
        path.exists() and not os.access(path, os.W_OK)
    ):
        raise MetastoreError(
            f'the warehouse "{warehouse}" is read-only',
            hint=f"No metastore can be made there. {WHO_MAY_USE_IT}",
        )
    _make_file(path, mode)
    return path


def is_shared(file_system: str) -> bool:
    """Whether several hosts may have a file system of this type, so that SQLite is not safe on
    it.
    """
    kind, _, below = file_system.partition(".")
    if kind in ("fuse", "fuseblk"):
        return below in NETWORK_FILE_SYSTEMS | _FUSE_OF_SEVERAL_HOSTS
    return kind in NETWORK_FILE_SYSTEMS


def marker_error(warehouse: str, error: OSError) -> MetastoreError:
    return MetastoreError(
        f'the warehouse "{warehouse}" cannot be used: {reason(error)}',
        hint="Name a directory that exists, or may be made, and that you may write to.",
    )


def make_directory(path: Path, mode: int) -> None:
    was_there = path.exists()
    path.mkdir(parents=True, exist_ok=True)
    if not was_there:
        inherited = path.stat().st_mode & stat.S_ISGID  # the group of what is made in it
        path.chmod(mode | (mode & 0o444) >> 2 | inherited)


def _make_file(path: Path, mode: int) -> None:
    """Makes an empty file, which is an empty database to SQLite."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    except FileExistsError:
        return
    except OSError as error:
        raise MetastoreError(f'the metastore "{path}" cannot be made: {reason(error)}') from error
    path.chmod(mode)


@contextmanager
def opening(path: Path) -> Iterator[None]:
    """Lets one opener in at a time, for what SQLite's own locks do not cover: making the file, its
    journal mode, its second name.

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
    """Gives ``path`` a file of its own; its other names keep theirs. Only while nobody has it open
    under any name.
    """
    own = path.with_name(f"{FILE}.{os.getpid()}")
    try:
        with closing(
            sqlite3.connect(path, timeout=_DETACH_TIMEOUT_SECONDS, isolation_level=None)
        ) as shared:
            shared.execute("PRAGMA locking_mode = EXCLUSIVE")
            shared.execute("BEGIN EXCLUSIVE")
            shared.execute("COMMIT")  # the lock stays until closing
            shared.execute("PRAGMA journal_mode = DELETE")  # everything into the one file
            _make_file(own, stat.S_IMODE(path.stat().st_mode))
            with closing(sqlite3.connect(own)) as target:
                shared.backup(target)
            os.replace(own, path)
    except (sqlite3.Error, OSError) as error:
        raise MetastoreError(
            f'the metastore "{path}" is hard-linked to another warehouse and cannot be parted from'
            f" it: {error}",
            hint="Close whatever uses either of them, or copy the file instead of linking it.",
        ) from error
    finally:
        own.unlink(missing_ok=True)


def reason(error: OSError) -> str:
    """What the system says of an error, in lower case."""
    return (error.strerror or str(error)).lower()


def _file_system(directory: str) -> str:
    """The type of the file system that holds ``directory``, "" where that cannot be told."""
    best, kind = "", ""
    with suppress(OSError), open(MOUNTS, encoding="utf-8", errors="replace") as mounts:
        for line in mounts:
            left, _, right = line.partition(" - ")
            mount = _ESCAPE.sub(lambda escape: chr(int(escape[1], 8)), left.split()[4])
            inside = directory == mount or directory.startswith(mount.rstrip("/") + "/")
            if inside and len(mount) >= len(best):
                best, kind = mount, right.split()[0]
    return kind


# ---- the mark of a warehouse
#
# The file ``<warehouse>/_acidsql/metastore.url``, which says of a warehouse that a database is its
# metastore, and which one.
#
# It ties the two together by a random id that the database has too. So a host on which the file
# system of the warehouse is not mounted, or that names another one, is refused: it would find
# tables without rows there, and write where nobody reads. Nor is a file opened as a metastore
# where a database is it.


MARKER = "metastore.url"


@dataclass(frozen=True, slots=True)
class Marker:
    """``metastore``: the URL without secrets; ``id``: the same in the database."""

    metastore: str
    id: str


def read_marker(warehouse: str) -> Marker | None:
    """None if there is no such file. MetastoreError if it cannot be read."""
    path = Path(warehouse, DIRECTORY, MARKER)
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        return Marker(metastore=str(fields["metastore"]), id=str(fields["id"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise MetastoreError(
            f'the warehouse "{warehouse}" is not open to this user', hint=WHO_MAY_USE_IT
        ) from error
    except OSError as error:
        raise MetastoreError(f'the file "{path}" cannot be read: {reason(error)}') from error
    except (ValueError, KeyError, TypeError) as error:
        raise MetastoreError(
            f'the file "{path}" is damaged',
            hint="Restore it from a backup: it says which database is the metastore.",
        ) from error


def refuse_marked(warehouse: str) -> None:
    """MetastoreError where a database is the metastore, so that no file may be."""
    marker = read_marker(warehouse)
    if marker is not None:
        raise MetastoreError(
            f'the metastore of the warehouse "{warehouse}" is "{marker.metastore}"',
            hint="Name it by --metastore or $ACIDSQL_METASTORE, with the password if it needs one.",
        )


def write_marker(warehouse: str, marker: Marker, mode: int) -> None:
    """Puts the file there, or a new one in its place, whole and durably; ``mode`` as for
    chmod.
    """
    directory = Path(warehouse, DIRECTORY)
    new = directory / f"{MARKER}.{os.getpid()}"
    try:
        make_directory(directory, mode)
        with open(new, "w", encoding="utf-8") as file:
            json.dump({"metastore": marker.metastore, "id": marker.id}, file, indent=2)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        new.chmod(mode)
        os.replace(new, directory / MARKER)
        _sync(directory)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise marker_error(warehouse, error) from error


def remove_marker(warehouse: str) -> None:
    """Takes the file away; one that is not there is no error."""
    directory = Path(warehouse, DIRECTORY)
    try:
        (directory / MARKER).unlink(missing_ok=True)
        _sync(directory)
    except OSError as error:
        raise marker_error(warehouse, error) from error


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
