"""ATTACH TABLE and DETACH TABLE: an entry of the catalog for a table that lies elsewhere and that
others write. Its files are read, and nothing is ever written below its location: changes of an
overlay lie in this warehouse (``overlays``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from acidsql.acid.evidence import Evidence
from acidsql.acid.paths import NO_VISIBILITY, parse_directory
from acidsql.acid.write_ids import ValidTxnList
from acidsql.attach.assumptions import (
    check_known,
    question_lines,
    undecided_error,
    valid_txns,
    valid_write_ids,
)
from acidsql.attach.dump import Dump, parse_dump
from acidsql.attach.examination import (
    Examined,
    evidence_at,
    examine,
    highest_txn,
    unfinished,
)
from acidsql.attach.old_events import find_old_events, old_events_warning
from acidsql.attach.overlays import create_overlay
from acidsql.catalog.attached import (
    ASSUMED,
    ATTACHED,
    OLD_EVENTS,
    READ_ONLY,
    SOURCE,
    TXNS,
    WRITE_IDS,
    is_attached,
)
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Column, FileFormat, Partition, Table, TableKind
from acidsql.catalog.partitions import name_of
from acidsql.errors import BindError, ExecutionError, Warning
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import look_at_all
from acidsql.files.urls import is_inside, path_of, real_path
from acidsql.planner.bind.bound_catalog import BoundAttachTable, BoundDetachTable
from acidsql.result import Result, Stats

FLAGS = {"EXTERNAL": "TRUE"}


def attach_table(store: Catalog, files: FileIO, action: BoundAttachTable) -> Result:
    """Makes the entry. BindError at the place where something has to be said first."""
    if action.exists:
        return Result((), Stats())
    _check_apart(store, action)
    dump = _dump(files, action)
    if dump is None:
        table, partitions, passed_over = _without_dump(files, action)
    else:
        table, partitions, passed_over = _by_dump(files, action, dump)
    warnings = [] if dump is None else list(_without_directory(files, partitions))
    if action.overlay is None:
        with store.creating_table(table, partitions):
            pass
    else:
        create_overlay(store, files, action, table, partitions)
    result = _attached_result(table, partitions, passed_over)
    result.warnings = (*result.warnings, *warnings)
    return result


Entry = tuple[Table, tuple[Partition, ...], tuple[str, ...]]
"""A table with its partitions, and the directories of compactions that are passed over."""


def _by_dump(files: FileIO, action: BoundAttachTable, dump: Dump) -> Entry:
    table, partitions = _table_of_dump(action, dump)
    if not files.exists(path_of(table.location)):
        raise BindError(f'there is no directory "{table.location}"', span=action.span)
    txns, passed_over, old_events = _compactions(files, table, partitions)
    properties = dict(table.properties)
    if table.is_transactional:
        properties[TXNS] = str(txns)
    if old_events:
        properties[OLD_EVENTS] = "1"
    return replace(table, properties=properties), partitions, passed_over


def _without_dump(files: FileIO, action: BoundAttachTable) -> Entry:
    examined = _examined(files, action)
    if examined.unproven and action.assumed is None:
        raise undecided_error(examined, action.table.location, action.span)
    check_known(action.assumed, examined)
    passed_over = tuple(examined.unfinished.values())
    return _attached(action, examined), examined.partitions, passed_over


def _attached_result(
    table: Table, partitions: Sequence[Partition], passed_over: Sequence[str]
) -> Result:
    notes = [f"attached {len(partitions)} partitions"] if table.partition_columns else []
    warnings = [
        Warning(f'a compaction that never committed is passed over: "{path}"')
        for path in passed_over
    ]
    if OLD_EVENTS in table.properties:
        warnings.append(old_events_warning(table))
    return Result((), Stats(), notes=notes, warnings=warnings)


def _without_directory(files: FileIO, partitions: Sequence[Partition]) -> Iterator[Warning]:
    is_there = look_at_all(lambda one: files.exists(path_of(one.location)), partitions)
    for partition, exists in zip(partitions, is_there, strict=True):
        if not exists:
            yield Warning(f'a partition has no directory: "{partition.location}"')


def _compactions(
    files: FileIO, table: Table, partitions: Sequence[Partition]
) -> tuple[ValidTxnList, tuple[str, ...], bool]:
    """The transactions whose compactions are read, the directories of those that never committed,
    and whether there are events from before Hive 3.
    """
    roots = {"": table.location}
    if table.partition_columns:
        roots = {name_of(table, one): one.location for one in partitions}
    paths = [path_of(one) for one in roots.values()]
    looks = look_at_all(lambda one: evidence_at(files, one), paths)
    evidence = {root: proof for root, (proof, _) in zip(roots, looks, strict=True)}
    listed = (
        f"{path}/{one.path}" for path, (_, of) in zip(paths, looks, strict=True) for one in of
    )
    old_events = table.is_full_acid and find_old_events(files, listed) is not None
    passed_over = unfinished(evidence)
    txns = ValidTxnList(high_watermark=highest_txn(evidence), aborted=tuple(passed_over))
    return txns, tuple(passed_over.values()), old_events


def detach_table(store: Catalog, action: BoundDetachTable) -> Result:
    """Takes the entry out of the catalog; the files stay."""
    if action.name is not None:
        store.drop_table(action.name)
    return Result((), Stats())


def explain_attach(files: FileIO, action: BoundAttachTable) -> Iterator[str]:
    """All that ATTACH would assume, each with its reason. Changes nothing."""
    dump = _dump(files, action)
    if dump is not None:
        yield from _explained_dump(action, dump)
        if _compactions(files, *_table_of_dump(action, dump))[2]:
            yield "  ACID version 1: events are merged when they are read (of the footers of files)"
        return
    examined = _examined(files, action)
    check_known(action.assumed, examined)
    yield from _title(action)
    yield f"  columns: {_columns(examined.columns)} ({_why_columns(action, examined)})"
    if examined.partition_columns:
        given = "as given" if action.table.partition_columns else "of the directories, as text"
        yield f"  partitioned by: {_columns(examined.partition_columns)} ({given})"
        yield f"  partitions: {len(examined.partitions)} (of the directories)"
    yield f"  rows: {_why_rows(examined)}"
    if examined.old_events is not None:
        yield f"  ACID version 1: events are merged when they are read ({examined.old_events})"
    if examined.transactional:
        if action.overlay is None:
            yield "  buckets: not known, and not needed to read"
        else:
            yield "  buckets: not known; the changes have none"
        yield f"  highest write id: {examined.highest} (of the names of directories)"
        for root, evidence in examined.evidence.items():
            for path in evidence.compacted:
                at = "/".join(filter(None, (root, path)))
                yield f"  committed: {at} ({_why_committed(path, evidence)})"
        for path in examined.unfinished.values():
            yield f"  passed over: {path} (empty beside what it should have taken in)"
    yield from _decisions(action, examined)


def _title(action: BoundAttachTable) -> Iterator[str]:
    overlay = action.overlay is not None
    yield f"ATTACH TABLE {action.table.name}{' OVERLAY' if overlay else ''}"
    yield f"  location: {action.table.location}, read only: nothing is written below it"
    if overlay:
        yield f"  changes: {action.overlay}, until DETACH TABLE throws them away"


def _dump(files: FileIO, action: BoundAttachTable) -> Dump | None:
    if action.dump is None:
        return None
    try:
        return parse_dump(files.read(path_of(action.dump)).decode())
    except BindError as error:
        error.span, error.source = action.dump_span, None
        raise
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BindError(
            f'cannot read the dump "{action.dump}": {reason}', span=action.dump_span
        ) from error


def _table_of_dump(action: BoundAttachTable, dump: Dump) -> tuple[Table, tuple[Partition, ...]]:
    """The entry of a table that a dump tells all of, and its partitions."""
    name, location = action.table.name, action.table.location
    properties = {**FLAGS, ATTACHED: READ_ONLY, SOURCE: str(action.dump)}
    if dump.transactional:
        properties["transactional"] = "true"
        properties["transactional_properties"] = "insert_only" if dump.insert_only else "default"
        properties[WRITE_IDS] = str(dump.write_ids(str(name)))
    if dump.bucketing is not None:
        properties["bucketing_version"] = str(dump.bucketing.version)
    table = replace(
        action.table,
        kind=TableKind.EXTERNAL,
        file_format=FileFormat.ORC,
        columns=dump.columns,
        partition_columns=dump.partition_columns,
        bucketing=dump.bucketing,
        properties=properties,
    )
    return table, dump.partitions_at(location)


def _explained_dump(action: BoundAttachTable, dump: Dump) -> Iterator[str]:
    table, partitions = _table_of_dump(action, dump)
    source = f"of the dump {action.dump}"
    yield from _title(action)
    if dump.location not in (None, table.location):
        yield f"  where Hive has it: {dump.location}"
    yield f"  columns: {_columns(dump.columns)} ({source})"
    if dump.partition_columns:
        yield f"  partitioned by: {_columns(dump.partition_columns)} ({source})"
        yield f"  partitions: {len(partitions)} ({source})"
    if dump.bucketing is not None:
        names = ", ".join(dump.bucketing.columns)
        yield f"  buckets: {dump.bucketing.count} by {names} ({source})"
    if dump.transactional:
        yield f"  highest write id: {dump.high_watermark} ({source})"
        for word, ids in (("open", dump.open), ("aborted", dump.aborted)):
            if ids:
                yield f"  {word}: {', '.join(map(str, ids))} ({source})"


def _decisions(action: BoundAttachTable, examined: Examined) -> Iterator[str]:
    if not examined.unproven:
        return
    if action.assumed is None:
        yield "  to be said with ASSUME COMMITTED, because nothing proves it:"
        yield from (f"    {line}" for line in question_lines(examined.unproven))
        return
    for write_id, paths in examined.unproven.items():
        fate = "committed" if action.assumed.takes(write_id) else "left out"
        yield f"  {fate}: write id {write_id}, {', '.join(paths)} (ASSUME {action.assumed})"


def _why_committed(path: str, evidence: Evidence) -> str:
    if path not in evidence.likely:
        return "compacted"
    name = parse_directory(path)
    if name is None or name.visibility_txn_id == NO_VISIBILITY:
        return "compacted, as deletes of its range tell"
    return "compacted; what it was made of is still there, and not read"


def _why_columns(action: BoundAttachTable, examined: Examined) -> str:
    return "as given" if action.table.columns else "of the footers of files"


def _why_rows(examined: Examined) -> str:
    if not examined.transactional:
        return "plain files (there are no directories of transactions)"
    if examined.events:
        return "ACID events (of the footers of files)"
    return "insert-only (no file holds ACID events)"


def _examined(files: FileIO, action: BoundAttachTable) -> Examined:
    table = action.table
    try:
        return examine(files, path_of(table.location), table.columns, table.partition_columns)
    except BindError as error:
        error.span = error.span or action.span
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise ExecutionError(f'cannot read "{table.location}": {reason}') from error


def _attached(action: BoundAttachTable, examined: Examined) -> Table:
    name = action.table.name
    properties = {**FLAGS, ATTACHED: READ_ONLY}
    if examined.transactional:
        properties["transactional"] = "true"
        properties["transactional_properties"] = "default" if examined.events else "insert_only"
        properties[WRITE_IDS] = str(valid_write_ids(str(name), examined, action.assumed))
        properties[TXNS] = str(valid_txns(examined))
    if examined.old_events is not None:
        properties[OLD_EVENTS] = "1"
    if action.assumed is not None:
        properties[ASSUMED] = str(action.assumed)
    return replace(
        action.table,
        kind=TableKind.EXTERNAL,
        file_format=FileFormat.ORC,
        columns=examined.columns,
        partition_columns=examined.partition_columns,
        properties=properties,
    )


def _columns(columns: Sequence[Column]) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in columns)


def _check_apart(store: Catalog, action: BoundAttachTable) -> None:
    """Raises BindError for a directory that tables of this warehouse write to, or that is attached
    already; an overlay may lie over that, too.
    """
    path = real_path(path_of(action.table.location))
    for name, location in store.list_locations():
        other = real_path(path_of(location))
        if is_inside(path, other) or is_inside(other, path):
            table = store.find_table(name)
            if action.overlay is not None and table is not None and is_attached(table):
                continue
            raise BindError(
                f'directory "{action.table.location}" overlaps that of table {name}',
                hint="DETACH TABLE lets go of a table that is attached.",
                span=action.span,
            )
