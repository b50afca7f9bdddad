"""The doctor's way through a table: by names, by footers, and against the catalog."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Protocol

from acidsql.acid.ids import ValidTxnList, ValidWriteIdList, is_reserved
from acidsql.acid.listed import FileEntry
from acidsql.catalog.attached import is_overlay, seen_txns
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import FileFormat, Partition, Table, TableKind, TableName
from acidsql.compaction.doctor.catalog import (
    findings_below,
    findings_by_catalog,
    findings_of_forgotten,
    findings_of_lost,
    findings_of_staging,
    findings_of_write_ids,
)
from acidsql.compaction.doctor.finding import Finding, Root
from acidsql.compaction.doctor.footers import findings_by_footer
from acidsql.compaction.doctor.names import findings_by_name
from acidsql.compaction.examination import roots_in
from acidsql.compaction.layout import root_write_ids, take_layout
from acidsql.files.fileio import FileIO, path_of
from acidsql.files.parallel import look_at_all
from acidsql.txn.leftovers import Leftovers
from acidsql.txn.manager import TxnManager


class DoctorStore(Catalog, TxnManager, Leftovers, Protocol):
    """What the doctor asks of a store."""


def examine_table(store: DoctorStore, io: FileIO, table: Table) -> list[Finding]:
    """What is wrong with the files of one table, the worst first. OSError if a directory cannot be
    listed.
    """
    if table.kind is TableKind.VIEW:
        return []
    partitions = store.list_partitions(table)
    findings = list(findings_by_catalog(io, table, partitions))
    if is_overlay(table):
        findings += findings_below(io, table, partitions)
    if table.is_transactional:
        findings += _of_transactional(store, io, table, partitions)
    return _sorted(findings)


def examine_path(io: FileIO, path: str) -> list[Finding]:
    """What is wrong in a directory that no catalog knows. OSError if it cannot be listed."""
    directories = io.listing(path).directories
    write_ids = root_write_ids(directories)
    findings: list[Finding] = []
    for root in roots_in(directories):
        looked_at = take_root(io, f"{path}/{root}".rstrip("/"), None, write_ids, None)
        findings += [*findings_by_name(looked_at), *findings_by_footer(io, looked_at)]
    return _sorted(findings)


def tables_of(store: DoctorStore) -> Iterator[Table]:
    """Every table with files, by name."""
    for database in store.list_databases():
        for name in store.list_tables(database):
            table = store.find_table(TableName(database, name))
            if table is not None and table.kind is not TableKind.VIEW:
                yield table


def _of_transactional(
    store: DoctorStore, io: FileIO, table: Table, partitions: Sequence[Partition]
) -> Iterator[Finding]:
    before = seen_txns(table, store.valid_txns())
    yield from findings_of_staging(io, table, before)
    write_ids = store.valid_write_ids(table.name, before)
    paths = [path_of(partition.location) for partition in partitions]
    if not table.partition_columns:
        paths = [path_of(table.location)]
    roots = look_at_all(lambda path: take_root(io, path, table, write_ids, before), paths)
    # a write id is given out before there is a directory of it, so the ids of now cover all
    after = seen_txns(table, store.valid_txns())
    now = store.valid_write_ids(table.name, after)
    yield from findings_of_write_ids(io, table, partitions, now)
    yield from findings_of_lost(store, io, table, partitions, now)
    yield from findings_of_forgotten(table, roots, store.recorded_write_ids(table.name))
    for root in roots:
        yield from findings_by_name(root)
        if table.is_full_acid or table.file_format is FileFormat.ORC:
            yield from findings_by_footer(io, root)


def take_root(
    io: FileIO,
    path: str,
    table: Table | None,
    write_ids: ValidWriteIdList,
    txns: ValidTxnList | None,
) -> Root:
    """What lies in the directory of a table or partition. OSError."""
    events = table is None or table.is_full_acid
    layout = take_layout(io, path, write_ids, txns, events=events, hides=False)
    listing = io.listing(path)
    first = [p for p in listing.directories if is_reserved(p) and "/" not in p]
    inner = look_at_all(lambda directory: io.names(f"{path}/{directory}"), first)
    files: defaultdict[str, list[FileEntry]] = defaultdict(list)
    for file in listing.files:
        above, slash, _ = file.path.rpartition("/")
        files[above if slash else ""].append(file)
    return Root(
        table=table,
        path=path,
        listing=listing,
        names={"": io.names(path), **dict(zip(first, inner, strict=True))},
        files=files,
        layout=layout,
        write_ids=write_ids,
        txns=None if table is None else seen_txns(table),
    )


def _sorted(findings: Sequence[Finding]) -> list[Finding]:
    ranks = {"error": 0, "warning": 1, "note": 2}
    return sorted(findings, key=lambda f: (ranks[f.severity], f.path, f.title))
