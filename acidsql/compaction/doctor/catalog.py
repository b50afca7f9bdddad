"""Where catalog, store and directories are apart: partitions, write ids, what was staged."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial

from acidsql.acid.ids import METADATA_FILE, ValidTxnList, ValidWriteIdList, WriteId
from acidsql.catalog.attached import adopted_up_to, attached_write_ids, pinned_of
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Partition, Table
from acidsql.catalog.partitions import name_of
from acidsql.compaction.doctor.finding import (
    NOTHING,
    PASSES,
    READS,
    Finding,
    RemoveStaging,
    Root,
    Severity,
    TakeOverWriteIds,
)
from acidsql.compaction.layout import Kind, LaidDirectory, State, hidden_entries
from acidsql.errors import FormatError, OperationalError
from acidsql.files.fileio import FileIO, Listing, is_inside, path_of
from acidsql.storage.overlays import take_below
from acidsql.storage.undeclared import FORGET, find_lost, find_undeclared, named, runs, what_to_say
from acidsql.txn.leftovers import RecordedWriteIds


def findings_by_catalog(
    io: FileIO, table: Table, partitions: Sequence[Partition]
) -> Iterator[Finding]:
    """Directories without a partition, and the reverse. A store of objects has no directories that
    could be missing.
    """
    home = path_of(table.location)
    if io.renames(home) and not io.exists(home):
        yield _missing(home, f"the directory of table {table.name} is not there")
        return
    if not table.partition_columns:
        return
    known = {path_of(partition.location): partition for partition in partitions}
    for location, partition in known.items():
        if pinned_of(partition) is not None:
            continue  # an overlay has changed nothing there
        if io.renames(location) and not io.exists(location):
            what = f"the directory of partition {name_of(table, partition)} is not there"
            yield _missing(location, what)
    yield from _unknown(table, home, known.keys(), io.listing(home))


def findings_below(io: FileIO, table: Table, partitions: Sequence[Partition]) -> Iterator[Finding]:
    """What others have taken away that an overlay reads."""
    of_others = attached_write_ids(table)
    for one in partitions if table.partition_columns else [table]:
        pinned = pinned_of(one)
        if pinned is None or of_others is None:
            continue
        try:
            take_below(io, table, pinned, of_others)
        except (OperationalError, FormatError) as error:
            yield Finding(
                severity=Severity.ERROR,
                title="gone below an overlay",
                path=path_of(pinned.location),
                detail=error.detail or error.message,
                hive3="does not know of overlays",
                hive4="does not know of overlays",
                acidsql="refuses the overlay",
                mend=f"DETACH TABLE {table.name}, and ATTACH TABLE it anew",
            )


def _missing(path: str, detail: str) -> Finding:
    return Finding(
        severity=Severity.ERROR,
        title="missing directory",
        path=path,
        detail=detail,
        hive3="reads no rows",
        hive4="reads no rows",
        acidsql="refuses it if rows were committed there, else reads no rows",
        mend="mount or restore it; of a partition that is to go, MSCK REPAIR TABLE .. SYNC"
        " PARTITIONS",
    )


def _unknown(
    table: Table, home: str, known: Collection[str], listing: Listing
) -> Iterator[Finding]:
    depth = len(table.partition_columns)
    roots: dict[str, str] = {}
    elsewhere = [path for path in known if path.removeprefix(f"{home}/").count("/") != depth - 1]
    for file in listing.files:
        parts = file.path.split("/")
        root = f"{home}/{'/'.join(parts[:depth])}" if len(parts) > depth else home
        if root in known or any(is_inside(f"{home}/{file.path}", path) for path in elsewhere):
            continue
        roots.setdefault(root, file.path)
    for root, path in sorted(roots.items()):
        yield _apart(table, home, root, path)


def _apart(table: Table, home: str, root: str, path: str) -> Finding:
    keys = [column.name for column in table.partition_columns]
    names = root.removeprefix(f"{home}/").split("/")
    like = root != home and [n.partition("=")[0].lower() for n in names] == keys
    return Finding(
        severity=Severity.WARNING,
        title="directory without a partition" if like else "file outside of the partitions",
        path=root if like else f"{home}/{path}",
        detail=f"the catalog knows no partition there, and there are files: {path}",
        hive3=PASSES,
        hive4=PASSES,
        acidsql=PASSES,
        mend=(
            "MSCK REPAIR TABLE makes it a partition; or remove it: only you know"
            if like
            else "LOAD DATA it into a partition, or remove it"
        ),
    )


# ---- files on record


def findings_of_lost(
    catalog: Catalog,
    io: FileIO,
    table: Table,
    partitions: Sequence[Partition],
    write_ids: ValidWriteIdList,
) -> Iterator[Finding]:
    """Directories that were committed and are not there, or have lost files."""
    for partition in partitions if table.partition_columns else [None]:
        location = path_of(table.location if partition is None else partition.location)
        if io.renames(location) and not io.exists(location):
            continue  # that is a finding of its own
        for lost in find_lost(catalog, io, table, partition, write_ids):
            yield Finding(
                severity=Severity.ERROR,
                title="lost files",
                path=lost.path,
                detail=f"{lost}; committed there: {lost.committed.files} files,"
                f" {lost.committed.bytes:,} bytes",
                hive3="reads what is left",
                hive4="reads what is left",
                acidsql="refuses the table",
                mend=f"restore them from a copy; acidsql doctor {table.name} {FORGET} has the table"
                " go on without them",
            )


# ---- staging


def findings_of_staging(io: FileIO, table: Table, txns: ValidTxnList) -> Iterator[Finding]:
    """What transactions that have ended have staged in a table's directory."""
    home = path_of(table.location)
    for entry in hidden_entries(io, home, txns):
        if entry.is_garbage and entry.txn_id is not None:
            yield Finding(
                severity=Severity.NOTE,
                title="staging of an ended transaction",
                path=f"{home}/{entry.path}",
                detail=f"transaction {entry.txn_id} has ended and will never need it",
                hive3=NOTHING,
                hive4=NOTHING,
                acidsql="removes it after the next statement that writes",
                mend="remove it",
                cure=RemoveStaging(),
            )


# ---- write ids


def findings_of_write_ids(
    io: FileIO, table: Table, partitions: Sequence[Partition], write_ids: ValidWriteIdList
) -> Iterator[Finding]:
    """Directories whose write id was never given out. ``write_ids``: taken after the catalog."""
    given_out = max((write_ids.high_watermark, *write_ids.exceptions))
    locations = [partition.location for partition in partitions]
    undeclared = find_undeclared(io, table, locations, given_out)
    if undeclared is None:
        return
    unseen = "does not see it, until the id is given to somebody else's rows"
    finding = partial(
        Finding,
        severity=Severity.ERROR,
        title="write ids that were never given out",
        hive3=unseen,
        hive4=unseen,
        acidsql="does not see it, and warns; refuses to write",
    )
    home = path_of(table.location)
    if undeclared.undecided:
        yield finding(
            path=min(undeclared.undecided),
            detail=f"others wrote {len(undeclared.undecided)} directories"
            f" ({named(undeclared.undecided, home)}), and which of the write ids"
            f" {runs(undeclared.write_ids)} were committed is not in the files;"
            f" {given_out} is the highest of table {table.name} here",
            mend=what_to_say(table),
        )
    else:
        yield finding(
            path=home,
            detail=f"its directories go up to write id {undeclared.highest}, and prove that all of"
            f" it counts; {given_out} is the highest of table {table.name} here",
            mend=f"take over the write ids up to {undeclared.highest}",
            cure=TakeOverWriteIds(highest=undeclared.highest, highest_txn=undeclared.highest_txn),
        )


def findings_of_forgotten(
    table: Table, roots: Sequence[Root], recorded: RecordedWriteIds | None
) -> Iterator[Finding]:
    """Directories that are read because nobody knows any more that their write id was aborted.
    ``recorded``: taken after the roots were listed. What a compaction has merged cannot be told.
    """
    if recorded is None:
        return
    # of those of others only the ones that do not count have a record
    since = max(recorded.since, adopted_up_to(table) + 1)
    for root in roots:
        for directory in root.layout.of(State.READ):
            write_id = _only_write_id(root, directory)
            if write_id is None or write_id < since or write_id in recorded.ids:
                continue
            yield Finding(
                severity=Severity.ERROR if recorded.is_certain else Severity.WARNING,
                title="rows of a write id without a record",
                path=root.full(directory.path),
                detail=f"write id {write_id} of table {table.name} has no transaction on record, as"
                " if it was aborted and then forgotten"
                + ("" if recorded.is_certain else "; or its transaction ran for very long"),
                hive3=READS,
                hive4=READS,
                acidsql=READS,
                mend="only you know whether they were committed: SELECT ROW__ID, * shows them, and"
                f" DELETE FROM {table.name} WHERE ROW__ID.writeid = {write_id} deletes them",
            )


def _only_write_id(root: Root, directory: LaidDirectory) -> WriteId | None:
    """The write id of all events of a directory; None if they may be of several."""
    if directory.kind is Kind.BASE:
        merged = METADATA_FILE in root.names.get(directory.path, ())
        return None if merged else directory.high
    is_one = directory.kind is not Kind.ORIGINALS and directory.low == directory.high
    return directory.high if is_one else None
