"""ATTACH DATABASE and DETACH DATABASE: all tables of one of Hive's databases at once. Each is made
as ATTACH TABLE .. USING would make it, whole or not at all; of one that cannot be attached a row
of the answer says why not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from acidsql import interrupts
from acidsql.attach.facts import TableFacts, lying_here, with_moved
from acidsql.attach.overlays import make_overlay, overlay_of
from acidsql.attach.sources.derby_dump import is_derby_dump
from acidsql.attach.sources.live import LiveTables
from acidsql.attach.sources.metastore import HiveDatabase, HiveTable, read_database
from acidsql.attach.sources.urls import DatabaseUrl, hive_database_name
from acidsql.attach.statements import (
    Taken,
    entry_warnings,
    of_source,
    password_not_kept,
    taken_directories,
    without_directory,
)
from acidsql.attach.told import Told
from acidsql.catalog.attached import (
    MOVED,
    SOURCE,
    TABLE_ID,
    is_attached,
    is_database,
    is_overlay,
)
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import DEFAULT_DATABASE, Partition, Table, TableKind, TableName
from acidsql.catalog.names import table_location, table_problem
from acidsql.errors import BindError, Error, ExecutionError, InternalError, MetastoreError, Warning
from acidsql.files.fileio import FileIO, is_inside, path_of, real_path
from acidsql.lazy import dataclass
from acidsql.planner.bind.bound_catalog import BoundAttachDatabase, BoundAttachTable
from acidsql.result import Result, Stats
from acidsql.settings import Settings

COLUMNS = ("table", "kind", "partitions", "state")
ATTACHED_NOW = "attached"
ATTACHED_BEFORE = "attached already"
_MOST_REASONS = 20

_Parts = tuple[Partition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """``words``: as EXPLAIN names it; ``recorded``: the source of a table by its name in Hive, as
    it is kept; ``url``: what can be asked again.
    """

    database: HiveDatabase
    words: str
    recorded: Mapping[str, str]
    url: DatabaseUrl | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A table of Hive's. ``state``: of the row that tells of it; ``entry``: what is to be made, and
    ``warnings``: what goes with that.
    """

    table: HiveTable
    state: str
    entry: tuple[Table, _Parts] | None = None
    warnings: tuple[Warning, ...] = ()

    @property
    def is_there(self) -> bool:
        return self.state.startswith(ATTACHED_BEFORE)

    @property
    def row(self) -> tuple[str, str, str | None, str]:
        facts = self.table.facts
        partitions = None
        if isinstance(facts, TableFacts) and facts.partition_columns:
            partitions = str(len(facts.partitions))
        return self.table.name, self.table.kind, partitions, self.state


def attach_database(
    store: Catalog,
    files: FileIO,
    action: BoundAttachDatabase,
    live: LiveTables,
    make_database: Callable[[], object],
) -> Result:
    """Makes the entries, and before them the database if it is not there. BindError, and nothing
    is made, if no table can be attached.
    """
    _check_warehouse(files, action)
    source = _ask(files, action, live.settings)
    candidates = _candidates(store, files, action, source)
    _check_some(action, source, candidates)
    interrupts.too_late()
    if not action.is_there:
        make_database()
    outcomes = [_carried_out(store, files, one) for one in candidates]
    url = None if action.overlay else source.url
    if url is not None:
        live.remember(url)
    result = Result.of_text(Stats(), COLUMNS, [one.row for one in outcomes])
    result.notes = (_note(outcomes),)
    result.warnings = (
        *([password_not_kept(url.password_from)] if url is not None and url.has_password else ()),
        *(warning for one in outcomes if one.state == ATTACHED_NOW for warning in one.warnings),
    )
    return result


def explain_attach_database(
    store: Catalog, files: FileIO, action: BoundAttachDatabase, settings: Settings
) -> Iterator[str]:
    """What ATTACH DATABASE would answer. Changes nothing."""
    _check_warehouse(files, action)
    source = _ask(files, action, settings)
    candidates = _candidates(store, files, action, source)
    _check_some(action, source, candidates)
    yield f"ATTACH DATABASE {action.name}{' OVERLAY' if action.overlay else ''}"
    yield f"  database of Hive: {source.database.name} ({source.words})"
    for directory in source.database.directories:
        yield f"  where Hive has it: {directory}"
    if action.warehouse is not None:
        yield f"  where it is read: {action.warehouse}"
    if not action.is_there:
        yield f"  database {action.name} is made"
    rows = [COLUMNS, *(tuple(text or "" for text in one.row) for one in candidates)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        yield f"  {'  '.join(padded)}".rstrip()
    if source.url is not None and not action.overlay:
        yield "  what counts of each table is asked anew for each statement"


def _note(candidates: Sequence[_Candidate]) -> str:
    now = sum(one.state == ATTACHED_NOW for one in candidates)
    before = sum(one.is_there for one in candidates)
    rest = len(candidates) - now - before
    already = f", {before} attached already" if before else ""
    tables = f"{now} table{'' if now == 1 else 's'}"
    return f"attached {tables}{already}" + (f", {rest} not attached" if rest else "")


def _check_some(
    action: BoundAttachDatabase, source: _Source, candidates: Sequence[_Candidate]
) -> None:
    if any(one.entry is not None or one.is_there for one in candidates):
        return
    reasons = [f"{one.table.name}: {one.state}" for one in candidates[:_MOST_REASONS]]
    if len(candidates) > len(reasons):
        reasons.append(f"and {len(candidates) - len(reasons)} more")
    raise BindError(
        f"no table of Hive's database {source.database.name} can be attached",
        detail="; ".join(reasons) if reasons else "it has no tables",
        span=action.source_span,
    )


def _check_warehouse(files: FileIO, action: BoundAttachDatabase) -> None:
    if action.warehouse is not None and not files.exists(path_of(action.warehouse)):
        span = action.warehouse_span
        raise BindError(f'there is no directory "{action.warehouse}"', span=span)


# ---- the source


def _ask(files: FileIO, action: BoundAttachDatabase, settings: Settings) -> _Source:
    """What the source tells. BindError at its place for what it cannot tell."""
    try:
        is_asked = is_database(action.source)
        return _of_metastore(action, settings) if is_asked else _of_exports(files, action, settings)
    except BindError as error:
        error.span, error.source = action.source_span, None
        raise


def _of_metastore(action: BoundAttachDatabase, settings: Settings) -> _Source:
    from acidsql.attach.sources.database import asking
    from acidsql.attach.sources.metastore import HiveTables
    from acidsql.attach.sources.urls import parse_metastore_url

    url, named = parse_metastore_url(action.source)
    with asking(url, settings) as connection:
        database = read_database(HiveTables(connection), named or action.name)
    recorded = {name.table: url.recorded(name) for name in _names(database)}
    words = f"of the metastore {url.shown}"
    return _Source(database=database, words=words, recorded=recorded, url=url)


def _of_exports(files: FileIO, action: BoundAttachDatabase, settings: Settings) -> _Source:
    from acidsql.attach.sources.derby_dump import exported
    from acidsql.attach.sources.metastore import HiveTables

    path, _, given = action.source.partition("?database=")
    _check_exports(files, path)
    named = hive_database_name(given) if given else action.name
    with exported(files, path_of(path), settings) as connection:
        database = read_database(HiveTables(connection), named)
    recorded = {name.table: f"{path}?table={name}" for name in _names(database)}
    words = f"of the exports {path}"
    return _Source(database=database, words=words, recorded=recorded, url=None)


def _names(database: HiveDatabase) -> Iterator[TableName]:
    return (TableName(database.name, one.name) for one in database.tables)


def _check_exports(files: FileIO, path: str) -> None:
    if "?table=" in path:
        raise BindError(
            "the source names a table", hint="It names one of Hive's databases: ?database=sales"
        )
    if not is_derby_dump(files, path_of(path)):
        raise BindError(
            f'"{path}" is no directory of exports of a metastore',
            hint=(
                "A dump tells of one table: ATTACH TABLE .. USING takes it. The database of a"
                " metastore tells of all (postgresql://, mysql://)."
            ),
        )


# ---- what each table comes to


def _candidates(
    store: Catalog, files: FileIO, action: BoundAttachDatabase, source: _Source
) -> list[_Candidate]:
    taken = taken_directories(store)
    own = list(_own_directories(store, action))
    candidates = []
    for table in source.database.tables:
        interrupts.check()
        try:
            candidate = _candidate(store, files, action, source, table, taken, own)
        except (MetastoreError, InternalError):
            raise
        except Error as error:
            candidate = _Candidate(table=table, state=_why_not(error))
        except OSError as error:
            what = f'cannot read "{error.filename}"' if error.filename else "cannot be read"
            candidate = _Candidate(table=table, state=f"{what}: {error.strerror or error}")
        candidates.append(candidate)
        if candidate.entry is not None:
            entry, partitions = candidate.entry
            for one in (entry.location, *(part.location for part in partitions)):
                taken.append((entry.name, real_path(path_of(one))))
    return candidates


def _why_not(error: Error) -> str:
    return f"{error.message} ({error.detail})" if error.detail else error.message


def _candidate(
    store: Catalog,
    files: FileIO,
    action: BoundAttachDatabase,
    source: _Source,
    table: HiveTable,
    taken: Taken,
    own: Sequence[str],
) -> _Candidate:
    """Error and OSError for a table that cannot be attached."""
    if isinstance(table.facts, BindError):
        raise table.facts
    name, recorded = TableName(action.name, table.name), source.recorded[table.name]
    problem = table_problem(table.name)
    if problem is not None:
        raise BindError(problem)
    existing = store.find_table(name)
    if existing is not None:
        state = _state_of(existing, recorded, table.facts, overlay=action.overlay)
        return _Candidate(table=table, state=state)
    directories = source.database.directories if action.warehouse is not None else ()
    moved = dict.fromkeys(directories, (action.warehouse or "").rstrip("/"))
    answer = Told(
        facts=with_moved(table.facts, moved),
        words=source.words,
        recorded=recorded,
        database=source.url,
    )
    attaching = _attaching(action, name, lying_here(table.facts.location or "", moved))
    _check_not_own(attaching.table.location, own)
    entry, partitions, passed_over = of_source(store, files, attaching, answer, taken)
    if moved:
        entry = replace(entry, properties={**entry.properties, MOVED: json.dumps(moved)})
    warnings = (*entry_warnings(entry, passed_over), *without_directory(files, partitions))
    if action.overlay:
        entry, partitions = overlay_of(store, files, attaching, entry, partitions)
    return _Candidate(table=table, state=ATTACHED_NOW, entry=(entry, partitions), warnings=warnings)


def _state_of(existing: Table, recorded: str, facts: TableFacts, *, overlay: bool) -> str:
    """What is said of a name that is taken."""
    if not (is_attached(existing) or is_overlay(existing)):
        what = "a view" if existing.kind is TableKind.VIEW else "a table"
        return f"the name is taken by {what} of this warehouse"
    if existing.properties.get(SOURCE) != recorded:
        return "the name is taken by a table that was attached from elsewhere"
    if existing.properties.get(TABLE_ID) != str(facts.table_id):
        return (
            "attached before it was dropped and made anew in Hive; DETACH TABLE lets go of that one"
        )
    if is_overlay(existing) == overlay:
        return ATTACHED_BEFORE
    return f"{ATTACHED_BEFORE}, {'read only' if overlay else 'as an overlay'}"


def _attaching(action: BoundAttachDatabase, name: TableName, location: str) -> BoundAttachTable:
    """The statement that would attach one table."""
    table = Table(
        name=name,
        columns=(),
        location=location,
        kind=TableKind.EXTERNAL,
        owner=action.owner,
        created_at=action.now,
    )
    return BoundAttachTable(
        table=table,
        assumed=None,
        source=action.source,
        source_span=action.source_span,
        exists=False,
        span=action.span,
        name_span=action.span,
        overlay=table_location(action.location, name.table) if action.overlay else None,
    )


def _own_directories(store: Catalog, action: BoundAttachDatabase) -> Iterator[str]:
    """The real paths of directories that DROP DATABASE would delete."""
    for name in {*store.list_databases()} - {DEFAULT_DATABASE}:
        database = store.find_database(name)
        if database is not None:
            yield real_path(path_of(database.location))
    if not action.is_there:
        yield real_path(path_of(action.location))


def _check_not_own(location: str, own: Sequence[str]) -> None:
    path = real_path(path_of(location))
    if any(is_inside(path, directory) for directory in own):
        raise BindError(f'"{location}" lies in the directory of a database of this warehouse')


def _carried_out(store: Catalog, files: FileIO, candidate: _Candidate) -> _Candidate:
    """The candidate as it came out: somebody else may have been faster."""
    if candidate.entry is None:
        return candidate
    table, partitions = candidate.entry
    try:
        if is_overlay(table):
            make_overlay(store, files, table, partitions)
        else:
            with store.creating_table(table, partitions):
                pass
    except (BindError, ExecutionError) as error:
        return replace(candidate, state=_why_not(error), entry=None)
    return candidate
