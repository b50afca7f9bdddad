"""What mends a finding. No row is ever deleted, and nothing is guessed: what readers do not see is
moved aside, what rows tell is computed from them. Each cure may be done again, or stop halfway.
"""

from __future__ import annotations

import os
import shutil
import uuid
from contextlib import suppress
from typing import assert_never

from pyarrow import orc

from acidsql.acid.ids import (
    ACID_VERSION,
    ACID_VERSION_FILE,
    DeleteDelta,
    RowId,
    bucket_ids,
    is_hidden,
    parse_bucket_file,
    parse_directory,
)
from acidsql.acid.orc_tail import OrcTail, edit_tail, footer_keys, is_strictly_ascending
from acidsql.acid.orc_types import ID_FIELDS
from acidsql.catalog.attached import is_attached
from acidsql.catalog.model import Table
from acidsql.catalog.partitions import name_of
from acidsql.catalog.statistics import Filled, StatisticsChange
from acidsql.commit.recovery import remove_staging
from acidsql.commit.unit_of_work import Store
from acidsql.compaction.doctor.finding import (
    Finding,
    MoveAside,
    RemoveCopy,
    RemoveStaging,
    RewriteTail,
    TakeOverWriteIds,
    WriteVersion,
)
from acidsql.errors import OperationalError
from acidsql.files.fileio import FileIO, parent, path_of, real_path, split_url
from acidsql.storage.events.row_ids import row_ids
from acidsql.storage.file_layout import read_columns
from acidsql.storage.footers import read_footer
from acidsql.storage.undeclared import find_lost

STRAYS = ".acidsql_strays"
"""The hidden directory of a root into which strays are moved, under the names that they had."""

_AT_ONCE = 1 << 20
"""The bytes of two files that are compared in one step."""

_UNFINISHED = "unfinished_"
"""What the names of copies there begin with whose footers are being put right."""


def mend(store: Store, io: FileIO, table: Table, finding: Finding) -> str:
    """Mends a finding; returns what was done, in words. OperationalError, and nothing changed, if
    it cannot be done without guessing; OSError; what the store raises.
    """
    if is_attached(table):
        raise OperationalError("not mended: the table is attached read only, its files are others'")
    match finding.cure:
        case None:
            raise OperationalError(f"not mended: {finding.mend}")
        case MoveAside(root=root, path=path):
            return f"moved to {move_aside(io, root, path)}"
        case RemoveStaging():
            remove_staging(store, io, table)
            return "removed"
        case RemoveCopy(directory=directory):
            return remove_copy(io, directory)
        case WriteVersion(directory=directory):
            write_version(io, directory)
            return f"{ACID_VERSION_FILE} added"
        case TakeOverWriteIds(highest=highest, highest_txn=highest_txn):
            store.declare_write_ids(
                table.name, committed=[highest], aborted=[], highest_txn=highest_txn
            )
            return f"write ids up to {highest} count as committed"
        case RewriteTail(root=root, path=path):
            done = rewrite_tail(io, root, path)
            _record_filled(store, io, table, root, path.partition("/")[0])
            return done
        case _:
            assert_never(finding.cure)


def move_aside(io: FileIO, root: str, path: str) -> str:
    """Moves a file into the hidden directory of strays; returns where it is."""
    target = f"{root}/{STRAYS}/{path}"
    while io.exists(target):
        target = f"{root}/{STRAYS}/{path}.{uuid.uuid4().hex[:8]}"
    source = f"{root}/{path}"
    if not io.exists(source):
        return target
    io.make_directory(parent(target))
    io.move_file(source, target)
    io.end_move(source)
    for directory in {parent(source), parent(target)}:
        io.sync_directory(directory)
    return target


def remove_copy(io: FileIO, directory: str) -> str:
    """Removes a directory each of whose files lies around it, too, byte for byte; returns what was
    done. OperationalError, and nothing is removed, if one does not.
    """
    outer = parent(directory)
    paths = {file.path for file in io.listing(directory).files}
    for path in sorted({*paths, *filter(is_hidden, io.names(directory))}):
        inside, around = f"{directory}/{path}", f"{outer}/{path}"
        if not io.exists(around) or not _are_equal(io, inside, around):
            raise OperationalError(
                f'not mended: "{inside}" is not what lies around it; nobody can tell which of both'
                " is right"
            )
    io.delete_tree(directory)
    io.sync_directory(outer)
    return "removed: all its files lie around it, byte for byte"


def _are_equal(io: FileIO, one: str, other: str) -> bool:
    """Whether two files have the same bytes."""
    with io.open_input(one) as left, io.open_input(other) as right:
        if left.size() != right.size():
            return False
        while data := left.read(_AT_ONCE):
            if data != right.read(_AT_ONCE):
                return False
    return True


def write_version(io: FileIO, directory: str) -> None:
    path = f"{directory}/{ACID_VERSION_FILE}"
    if not io.exists(path):
        io.write(path, ACID_VERSION)
        io.sync_directory(directory)


def forget_lost(store: Store, io: FileIO, table: Table) -> list[str]:
    """Takes files that are lost off the record, so that the table is read without them; returns the
    paths of their directories. Of a directory that is still there what it holds is kept on record.
    """
    write_ids = store.valid_write_ids(table.name, store.valid_txns())
    partitions = store.list_partitions(table) if table.partition_columns else [None]
    paths: list[str] = []
    for partition in partitions:
        lost = find_lost(store, io, table, partition, write_ids)
        if not lost:
            continue
        left = {one.directory: one.left for one in lost if one.left is not None}
        store.forget_written(table, partition, [one.directory for one in lost])
        change = StatisticsChange(
            table=table,
            partition=partition,
            rows=None,
            files=sum(f.files for f in left.values()) - sum(o.committed.files for o in lost),
            bytes=sum(f.bytes for f in left.values()) - sum(o.committed.bytes for o in lost),
            directories=left,
        )
        store.change_statistics([change])
        paths += [one.path for one in lost]
    return paths


# ---- footers


def rewrite_tail(io: FileIO, root: str, path: str) -> str:
    """Puts the footer keys of a published file right: a copy of it is changed and takes its name in
    one step, so that every reader finds the old or the new one. Only a local file system can do
    that. The rows, and where they lie in the file, stay.
    """
    source = f"{root}/{path}"
    if split_url(source) is not None:
        raise OperationalError(
            "not mended: only on a local file system can one file take the place of another"
        )
    name = parse_directory(path.partition("/")[0])
    bucket = parse_bucket_file(path.rpartition("/")[2])
    if name is None or bucket is None:
        raise OperationalError("not mended: its name does not tell what it holds")
    deletes = isinstance(name, DeleteDelta)
    tail = read_footer(io, source)
    last = _last_ids(io, source, tail, operation=2 if deletes else 0)
    rows = tail.row_count
    keys = footer_keys(last, inserts=0 if deletes else rows, deletes=rows if deletes else 0)
    _remove_unfinished(io, root)
    staged = f"{root}/{STRAYS}/{_UNFINISHED}{uuid.uuid4().hex}"
    io.make_directory(parent(staged))
    io.copy_file(source, staged)
    try:
        edit = edit_tail(tail, keys)
        staged = io.replace_tail(staged, edit.offset, edit.data)
        _replace(io, root, path, staged)
    except BaseException:
        io.delete_file(staged)
        raise
    io.sync_directory(parent(source))
    return "footer keys computed from the rows"


def _record_filled(store: Store, io: FileIO, table: Table, root: str, directory: str) -> None:
    """Has the store know what a directory holds whose files are of other sizes now, which is no
    loss.
    """
    partition = next((p for p in store.list_partitions(table) if path_of(p.location) == root), None)
    name = None if partition is None else name_of(table, partition)
    files = [f for f in io.list_files(f"{root}/{directory}") if f.size]
    filled = Filled(len(files), sum(file.size for file in files))
    for one in store.written_directories(table):
        if (one.partition, one.directory) == (name, directory) and one.filled.files == filled.files:
            store.forget_written(table, partition, [directory])
            change = StatisticsChange(
                table=table,
                partition=partition,
                rows=0,
                files=0,
                bytes=filled.bytes - one.filled.bytes,
                raw_bytes=0,
                directories={directory: filled},
            )
            store.change_statistics([change])


def _remove_unfinished(io: FileIO, root: str) -> None:
    """Removes copies that a doctor made who was killed before they took a file's name."""
    for name in io.names(f"{root}/{STRAYS}"):
        if name.startswith(_UNFINISHED):
            io.delete_file(f"{root}/{STRAYS}/{name}")


def _last_ids(io: FileIO, path: str, tail: OrcTail, *, operation: int) -> list[RowId]:
    """The last id of each stripe. OperationalError if the rows are not what Hive's readers take
    them for: then no footer makes them right.
    """
    (operations,) = read_columns(io, path, ["operation"])
    if (operations != operation).any():
        raise OperationalError("not mended: it holds events of another kind")
    last: list[RowId] = []
    with io.open_input(path) as opened:
        file = orc.ORCFile(opened)
        for stripe in range(len(tail.stripes)):
            ids = row_ids(file.read_stripe(stripe, columns=list(ID_FIELDS)))
            bucket_ids(ids.bucket_properties)
            ascending = is_strictly_ascending(ids.write_ids, ids.bucket_properties, ids.rows)
            if not ascending or (last and ids.at(0) <= last[-1]):
                raise OperationalError("not mended: its rows are not sorted")
            last.append(ids.at(-1))
    return last


def _replace(io: FileIO, root: str, path: str, staged: str) -> None:
    """Hadoop's checksum of the old file goes first: readers of a file without one do not check."""
    above, _, name = path.rpartition("/")
    checksum = f"{above}/.{name}.crc"
    if io.exists(f"{root}/{checksum}"):
        move_aside(io, root, checksum)
    new, old = real_path(staged), real_path(f"{root}/{path}")
    shutil.copymode(old, new)
    with suppress(PermissionError):  # only root gives files away
        owner = os.stat(old)
        os.chown(new, owner.st_uid, owner.st_gid)
    # os.replace: no step of FileIO takes a name that is taken, as nothing else ever should
    os.replace(new, old)
