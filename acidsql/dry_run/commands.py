"""What statements of the catalog and of transactions would take away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acidsql.acid.ids import TxnId
from acidsql.attach import overlays
from acidsql.attach.overlays import ChangeCounter
from acidsql.catalog.attached import FROM
from acidsql.catalog.model import Partition, Table, TableKind, TableName
from acidsql.catalog.partitions import name_of, names_words
from acidsql.dry_run.going import (
    Around,
    Going,
    directories_of,
    lying,
    number,
    of_dropped,
    seen,
    together,
)
from acidsql.errors import BindError, Error
from acidsql.plan.plans import CatalogCommand, SessionCommand
from acidsql.planner.bind.bound_catalog import (
    BoundAlterTable,
    BoundCreateView,
    BoundDetachDatabase,
    BoundDetachTable,
    BoundDropDatabase,
    BoundDropPartitions,
    BoundDropTable,
    BoundDropView,
    BoundReplaceTable,
    BoundSetPartitionLocation,
    BoundSetTableLocation,
)
from acidsql.planner.bind.bound_transactions import BoundAbortTransactions
from acidsql.txn.manager import TxnState

FEWER_COLUMNS = ("ALTER TABLE .. REPLACE COLUMNS", "ALTER TABLE .. DROP COLUMN")


def of_command(around: Around, plan: CatalogCommand | SessionCommand) -> Iterator[str]:  # noqa: C901 (flat: a case for each kind)
    """What goes, or else what EXPLAIN says. BindError for what the statement itself refuses."""
    match plan.action:
        case BoundDropTable(name=name) | BoundDropView(name=name):
            yield from _dropped_table(around, name)
        case BoundReplaceTable(before=before):
            yield from around.explain(plan)
            yield from _dropped_table(around, before.name)
        case BoundDetachTable(overlay=Table() as table):
            yield from _detached(around, table)
        case BoundDetachDatabase(name=str()) as action:
            yield from _detached_database(around, action)
        case BoundDropDatabase() as action:
            yield from _dropped_database(around, action)
        case BoundDropPartitions(table=table, partitions=partitions):
            goes = lying(around, table, partitions, [p.location for p in partitions])
            yield f"ALTER TABLE {table.name} DROP PARTITION: {_these(table, partitions, goes)}"
            yield from _lines(table, partitions, goes)
        case BoundSetTableLocation(before=before, after=after):
            yield from _moved_away(around, before, (), before.location, after.location)
        case BoundSetPartitionLocation(table=table, before=part, after=after):
            yield from _moved_away(around, table, [part], part.location, after.location)
        case BoundAbortTransactions(ids=ids):
            for txn_id in ids:
                yield from _aborted(around, txn_id)
        case action:
            yield from around.explain(plan)
            if isinstance(action, BoundAlterTable) and action.words in FEWER_COLUMNS:
                yield from _lost_columns(around, action)
            if isinstance(action, BoundCreateView) and action.replaced is not None:
                yield "  the text of the view that is replaced goes and does not come back"


# ---- DROP


def _dropped_table(around: Around, name: TableName | None) -> Iterator[str]:
    table = None if name is None else around.store.find_table(name)
    if table is None:
        yield "DROP: there is none of that name, nothing goes"
        return
    if table.view is not None:
        yield f"DROP VIEW {table.name}: no rows"
        yield "  the text of its query goes and does not come back; the tables it reads stay"
        return
    partitions = _partitions(around, table)
    goes = lying(around, table, partitions, directories_of(table, partitions))
    yield f"DROP TABLE {table.name}: {_these(table, partitions, goes)}"
    yield from _lines(table, partitions, goes)


def _detached(around: Around, table: Table) -> Iterator[str]:
    """What goes with an overlay: its own files, and none of others."""
    files = around.engine.files.list_files(table.location)
    size = sum(file.size for file in files)
    yield f"DETACH TABLE {table.name}: {number(len(files), 'file')} ({number(size, 'byte')}) go"
    try:
        counter = ChangeCounter(around.store, around.engine)
        yield f"  rows: {overlays.together(counter.count(table, around.snapshots))}"
    except (Error, OSError):
        yield "  the changes could not be counted"
    yield f"  cannot be undone: {table.location} is deleted"
    yield f"  the rows of others stay at {table.properties[FROM]}"


def _detached_database(around: Around, action: BoundDetachDatabase) -> Iterator[str]:
    read_only = len(action.tables) - len(action.overlays)
    what = number(read_only, "attached table")
    yield f"DETACH DATABASE {action.name}: {what} and {number(len(action.overlays), 'overlay')} go"
    for name, value in action.facts:
        yield f"  {name} {value}"
    for table in action.overlays:
        yield from (f"  {line}" for line in _detached(around, table))


def _these(table: Table, partitions: Sequence[Partition], goes: Going) -> str:
    """What leaves the catalog: all of it, or all but the files."""
    what = f"{goes} go" if table.owns_files else f"{goes} stay and are not read any more"
    if not partitions:
        return what
    names = [name_of(table, partition) for partition in partitions]
    return f"{names_words(names)} and {what}" if table.partition_columns else what


def _lines(table: Table, partitions: Sequence[Partition], goes: Going) -> Iterator[str]:
    kind = "external" if table.kind is TableKind.EXTERNAL else "managed"
    where = [p.location for p in partitions] if table.partition_columns else [table.location]
    yield f"  {kind}: {of_dropped(table)}"
    for location in sorted({table.location, *where} if table.owns_files else {table.location}):
        if not location.startswith(f"{table.location}/"):
            yield f"  directory: {location}"


def _dropped_database(around: Around, action: BoundDropDatabase) -> Iterator[str]:
    store = around.store
    database = store.find_database(action.name)
    if database is None:
        yield "DROP: there is none of that name, nothing goes"
        return
    every = [*store.list_tables(action.name), *store.list_tables(action.name, TableKind.VIEW)]
    every_table = [store.find_table(TableName(action.name, name)) for name in sorted(set(every))]
    tables = [table for table in every_table if table is not None]
    if tables and not action.cascade:
        raise BindError(
            f'database "{action.name}" is not empty',
            detail=f"it has {len(tables)} table(s)",
            hint="DROP DATABASE .. CASCADE drops them too.",
        )
    sums = {}
    for table in tables:
        partitions = _partitions(around, table)
        sums[table.name] = lying(around, table, partitions, directories_of(table, partitions))
    gone = [sums[t.name] for t in tables if t.view is None and t.owns_files]
    cascade = " CASCADE" if action.cascade else ""
    what = f"{number(len(tables), 'table')} and {together(gone)} go" if tables else "no tables go"
    yield f"DROP DATABASE {action.name}{cascade}: {what}"
    for table in tables:
        if table.view is not None:
            yield f"  {table.name}: a view, whose text goes"
        elif table.owns_files:
            yield f"  {table.name}: {sums[table.name]} go"
        else:
            yield f"  {table.name}: {sums[table.name]} stay: the table is external"
    yield "  cannot be undone: what goes is deleted as soon as no reader that began before needs it"


def _partitions(around: Around, table: Table) -> Sequence[Partition]:
    if table.view is not None or not table.partition_columns:
        return ()
    return around.store.list_partitions(table)


# ---- ALTER


def _moved_away(
    around: Around, table: Table, partitions: Sequence[Partition], old: str, new: str
) -> Iterator[str]:
    where = f" PARTITION {name_of(table, partitions[0])}" if partitions else ""
    title = f"ALTER TABLE {table.name}{where} SET LOCATION"
    if table.partition_columns and not partitions:
        yield f"{title}: no rows go; partitions stay where they are"
    else:
        goes = lying(around, table, partitions, [old])
        yield f"{title}: {goes} are not read any more"
        yield f"  the files stay at {old}: SET LOCATION to it brings them back"
    yield f"  from then on: {new}"


def _lost_columns(around: Around, action: BoundAlterTable) -> Iterator[str]:
    kept = {column.name for column in action.after.columns}
    lost = [column.name for column in action.before.columns if column.name not in kept]
    if not lost:
        return
    table = action.before
    goes = seen(around, table, _partitions(around, table))
    yield f"  not read any more: {', '.join(lost)} of {goes}"
    yield (
        "  the values stay in these files, and are lost where UPDATE, MERGE or a compaction writes"
        " rows anew"
    )


# ---- ABORT TRANSACTIONS


def _aborted(around: Around, txn_id: int) -> Iterator[str]:
    outcome = around.store.find_txn(TxnId(txn_id))
    info = None if outcome is None else outcome.info
    if outcome is None or info is None or info.state is not TxnState.OPEN:
        state = "not there" if info is None else info.state.name.lower()
        yield f"ABORT TRANSACTIONS {txn_id}: it is {state}, nothing goes"
        return
    yield f"ABORT TRANSACTIONS {txn_id}: open, of {info.user}@{info.host}"
    tables = sorted({str(write.table) for write in outcome.writes})
    if tables:
        yield f"  what it has written to {', '.join(tables)} is never seen; its files are deleted"
    else:
        yield "  it has written to no table yet"
    yield "  cannot be undone: its statements must be run again"
