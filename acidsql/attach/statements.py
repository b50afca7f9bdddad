"""ATTACH TABLE and DETACH TABLE: an entry of the catalog for a table that lies elsewhere and that
others write. Its files are read, and nothing is ever written below its location: changes of an
overlay lie in this warehouse (``overlays``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from acidsql.acid.evidence import Evidence
from acidsql.acid.ids import NO_VISIBILITY, TxnId, parse_directory
from acidsql.attach.assumptions import (
    check_known,
    question_lines,
    undecided_error,
    valid_txns,
    valid_write_ids,
)
from acidsql.attach.examination import (
    Examined,
    evidence_at,
    examine,
    highest_txn,
    unfinished,
)
from acidsql.attach.facts import (
    FLAGS,
    columns_words,
    entry_of,
    facts_lines,
    title_lines,
    with_txns,
)
from acidsql.attach.old_events import find_old_events, old_events_warning
from acidsql.attach.overlays import create_overlay
from acidsql.attach.sources.live import LiveTables
from acidsql.attach.told import Told, ask, entry
from acidsql.catalog.attached import (
    ASSUMED,
    ATTACHED,
    OLD_EVENTS,
    READ_ONLY,
    TXNS,
    WRITE_IDS,
    is_attached,
)
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import FileFormat, Partition, Table, TableKind, TableName
from acidsql.catalog.partitions import name_of
from acidsql.errors import BindError, ExecutionError, Warning
from acidsql.files.fileio import FileIO, is_inside, path_of, real_path
from acidsql.files.parallel import look_at_all
from acidsql.planner.bind.bound_catalog import BoundAttachTable, BoundDetachTable
from acidsql.result import Result, Stats
from acidsql.settings import Settings


def attach_table(
    store: Catalog, files: FileIO, action: BoundAttachTable, live: LiveTables
) -> Result:
    """Makes the entry; ``live`` remembers how its source is asked. BindError at the place where
    something has to be said first.
    """
    if action.exists:
        return Result((), Stats())
    answer = ask(files, action, live.settings)
    if answer is None:
        table, partitions, passed_over = _of_directories(store, files, action)
        warnings = []
    else:
        table, partitions, passed_over = of_source(store, files, action, answer)
        warnings = [*without_directory(files, partitions)]
        database = answer.database
        if database is not None and database.has_password and action.overlay is None:
            warnings.append(password_not_kept(database.password_from))
    if action.overlay is None:
        with store.creating_table(table, partitions):
            pass
        if answer is not None and answer.database is not None:
            live.remember(answer.database)
    else:
        create_overlay(store, files, action, table, partitions)
    result = _attached_result(table, partitions, passed_over)
    result.warnings = (*result.warnings, *warnings)
    return result


Entry = tuple[Table, tuple[Partition, ...], tuple[str, ...]]
"""A table with its partitions, and the directories of compactions that are passed over."""


def _of_directories(store: Catalog, files: FileIO, action: BoundAttachTable) -> Entry:
    _check_apart(store, action, action.table.location)
    examined = _examined(files, action)
    if examined.unproven and action.assumed is None:
        raise undecided_error(examined, action.table.location, action.span)
    check_known(action.assumed, examined)
    passed_over = tuple(examined.unfinished.values())
    return _attached(action, examined), examined.partitions, passed_over


def of_source(
    store: Catalog,
    files: FileIO,
    action: BoundAttachTable,
    answer: Told,
    taken: Taken | None = None,
) -> Entry:
    """What a source tells of a table, and its directories of compactions. ``taken``: the
    directories of the warehouse's tables, if they are known.
    """
    table = entry_of(answer.facts, entry(action, answer), answer.recorded)
    _check_apart(store, action, table.location, taken)
    if not files.exists(path_of(table.location)):
        raise BindError(f'there is no directory "{table.location}"', span=action.span)
    partitions = answer.facts.partitions_at(table.location)
    highest, passed_over, old_events = _compactions(files, table, partitions)
    table = with_txns(table, answer.facts, highest, passed_over)
    if old_events:
        table = replace(table, properties={**table.properties, OLD_EVENTS: "1"})
    return table, partitions, tuple(passed_over.values())


def password_not_kept(password_from: str) -> Warning:
    """What is said of a source that later statements have to ask."""
    return Warning(
        "the password of the source is not kept: other sessions have to find it",
        hint=f"{password_from} has it for whoever reads the table.",
    )


def _attached_result(
    table: Table, partitions: Sequence[Partition], passed_over: Sequence[str]
) -> Result:
    notes = [f"attached {len(partitions)} partitions"] if table.partition_columns else []
    return Result((), Stats(), notes=notes, warnings=entry_warnings(table, passed_over))


def entry_warnings(table: Table, passed_over: Sequence[str]) -> Iterator[Warning]:
    """What is said of an entry: compactions that are not read, events from before Hive 3."""
    for path in passed_over:
        yield Warning(f'a compaction that never committed is passed over: "{path}"')
    if OLD_EVENTS in table.properties:
        yield old_events_warning(table)


def without_directory(files: FileIO, partitions: Sequence[Partition]) -> Iterator[Warning]:
    is_there = look_at_all(lambda one: files.exists(path_of(one.location)), partitions)
    for partition, exists in zip(partitions, is_there, strict=True):
        if not exists:
            yield Warning(f'a partition has no directory: "{partition.location}"')


def _compactions(
    files: FileIO, table: Table, partitions: Sequence[Partition]
) -> tuple[TxnId, Mapping[TxnId, str], bool]:
    """The highest transaction that compacted, the directories of those that never committed, by
    transaction, and whether there are events from before Hive 3.
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
    return highest_txn(evidence), unfinished(evidence), old_events


def detach_table(store: Catalog, action: BoundDetachTable) -> Result:
    """Takes the entry out of the catalog; the files stay."""
    if action.name is not None:
        store.drop_table(action.name)
    return Result((), Stats())


def explain_attach(files: FileIO, action: BoundAttachTable, settings: Settings) -> Iterator[str]:
    """All that ATTACH would assume, each with its reason. Changes nothing."""
    answer = ask(files, action, settings)
    if answer is not None:
        yield from _explained_answer(files, action, answer)
        return
    examined = _examined(files, action)
    check_known(action.assumed, examined)
    yield from title_lines(action.table, action.overlay)
    yield f"  columns: {columns_words(examined.columns)} ({_why_columns(action, examined)})"
    if examined.partition_columns:
        given = "as given" if action.table.partition_columns else "of the directories, as text"
        yield f"  partitioned by: {columns_words(examined.partition_columns)} ({given})"
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


def _explained_answer(files: FileIO, action: BoundAttachTable, answer: Told) -> Iterator[str]:
    table = entry_of(answer.facts, entry(action, answer), answer.recorded)
    yield from title_lines(table, action.overlay)
    yield from facts_lines(answer.facts, table, answer.words)
    if _compactions(files, table, answer.facts.partitions_at(table.location))[2]:
        yield "  ACID version 1: events are merged when they are read (of the footers of files)"
    if answer.database is not None and action.overlay is None:
        yield "  all of this is asked anew for each statement"


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


Taken = Sequence[tuple[TableName, str]]
"""The real paths of directories, each with the table that has it."""


def taken_directories(store: Catalog) -> list[tuple[TableName, str]]:
    """The directories of the warehouse's tables and partitions."""
    return [(name, real_path(path_of(location))) for name, location in store.list_locations()]


def _check_apart(
    store: Catalog, action: BoundAttachTable, home: str, taken: Taken | None = None
) -> None:
    """Raises BindError for a directory that tables of this warehouse write to, or that is attached
    already; an overlay may lie over that, too.
    """
    path = real_path(path_of(home))
    for name, other in taken_directories(store) if taken is None else taken:
        if is_inside(path, other) or is_inside(other, path):
            table = store.find_table(name)
            if action.overlay is not None and table is not None and is_attached(table):
                continue
            raise BindError(
                f'directory "{home}" overlaps that of table {name}',
                hint="DETACH TABLE lets go of a table that is attached.",
                span=action.span,
            )
