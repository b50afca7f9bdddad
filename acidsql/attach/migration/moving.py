"""What both ways have in common: what is to be moved, what is told of it, and the marks of a table
that is on its way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from acidsql.acid.ids import (
    NO_VISIBILITY,
    TxnId,
    ValidTxnList,
    ValidWriteIdList,
    WriteId,
    parse_directory,
)
from acidsql.attach.facts import FLAGS
from acidsql.attach.layout import LaidOut, laid_out
from acidsql.catalog.attached import (
    ADOPTED,
    ATTACHED,
    ON_ITS_WAY,
    READ_ONLY,
    TXNS,
    WRITE_IDS,
    attached_write_ids,
)
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Partition, Table, TableKind, TableName
from acidsql.catalog.names import no_table
from acidsql.errors import BindError, Error, NotSupportedError
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import look_at_all
from acidsql.lazy import dataclass
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.metastore.hms.migration import MARK

KIND = "acidsql.migrating.kind"
"""What kind of table it was before."""
VIEW = "view"
_OF_THE_WAY = (ON_ITS_WAY, KIND, ATTACHED, WRITE_IDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A table and what becomes of it. ``state``: in words; ``reason``: why it cannot be carried.
    ``left``: what does not come along.
    """

    name: TableName
    kind: str
    partitions: int | None
    write_id: int | None
    state: str
    reason: str | None = None
    left: tuple[str, ...] = ()

    @property
    def row(self) -> tuple[str, ...]:
        numbers = ("" if one is None else str(one) for one in (self.partitions, self.write_id))
        return (str(self.name), self.kind, *numbers, self.reason or self.state)


def kind_of(table: Table) -> str:
    if table.kind is TableKind.VIEW:
        return VIEW
    if table.is_full_acid:
        return "acid"
    return "insert-only" if table.is_transactional else "plain"


def refusal(error: Error | OSError) -> str:
    """Why a table cannot be carried, in a line."""
    if isinstance(error, OSError):
        return f'cannot read "{error.filename}": {error.strerror or error}'
    parts = (error.detail, error.hint)
    return "; ".join((error.message, *(part for part in parts if part)))


def views_last(moved: Iterable[Moved]) -> list[Moved]:
    """What a view reads comes before it."""
    return sorted(moved, key=lambda one: one.kind == VIEW)


def chosen_tables(
    databases: Iterable[str],
    list_tables: Callable[[str], Iterable[str]],
    only: Sequence[str],
    tables: Sequence[TableName],
) -> Iterator[TableName]:
    """The tables that are meant: those named, those of the databases named, or all."""
    known = tuple(databases)
    wanted = tuple(dict.fromkeys(only)) or (() if tables else known)
    for database in wanted:
        if database not in known:
            raise BindError(f'there is no database "{database}" to be migrated')
        yield from (TableName(database, table) for table in list_tables(database))
    yield from (name for name in dict.fromkeys(tables) if name.database not in wanted)


def required(store: Catalog, name: TableName) -> Table:
    table = store.find_table(name)
    if table is None:
        raise no_table(name)
    return table


# ---- the table on its way


def on_its_way(
    table: Table, mark: str, write_ids: ValidWriteIdList | None, txns: ValidTxnList
) -> Table:
    """The attached table that stands for one that moves."""
    properties = dict(table.properties) | FLAGS | {ATTACHED: READ_ONLY, ON_ITS_WAY: mark}
    properties[KIND] = table.kind.value
    if write_ids is not None:
        properties |= {WRITE_IDS: str(write_ids), TXNS: str(txns)}
    return replace(table, kind=TableKind.EXTERNAL, properties=properties)


def original_of(table: Table) -> Table:
    """The table that moves, of the attached one; with the properties of an adopted one."""
    properties = {key: text for key, text in table.properties.items() if key not in _OF_THE_WAY}
    kind = TableKind(table.properties[KIND])
    if kind is not TableKind.EXTERNAL:
        properties = {key: text for key, text in properties.items() if key not in FLAGS}
    if WRITE_IDS in table.properties:
        valid = ValidWriteIdList.parse(table.properties[WRITE_IDS])
        properties[ADOPTED] = str(valid.high_watermark)
    return replace(table, kind=kind, properties=properties)


def is_on_its_way(table: Table, mark: str) -> bool:
    return table.properties.get(ON_ITS_WAY) == mark


def settle(store: EmbeddedMetastore, table: Table, after: Table) -> None:
    """Has the attached ``table`` be ``after``, one of the warehouse, whose ids go on behind those
    that it came with.
    """
    valid = attached_write_ids(table)
    highest = TxnId(0)
    if valid is not None:
        highest = ValidTxnList.parse(after.properties[TXNS]).high_watermark
    with store.adopting_table(
        table, after, uncounted=() if valid is None else valid.exceptions, highest_txn=highest
    ):
        pass


def plain_properties(table: Table) -> dict[str, str]:
    """The properties that say something in another store, too."""
    gone = (*_OF_THE_WAY, ADOPTED, TXNS, MARK)
    return {key: text for key, text in table.properties.items() if key not in gone}


# ---- its files


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """What lies in the directories of a table. ``compactors``: the transactions that have compacted
    it, by the names of directories, with one of these each.
    """

    layout: LaidOut
    compactors: Mapping[TxnId, str]

    @property
    def highest(self) -> WriteId:
        return WriteId(max((0, *(one.highest for one in self.layout.evidence.values()))))


def files_of(io: FileIO, table: Table, partitions: Sequence[Partition]) -> Files:
    """FormatError for a layout that is not Hive's; OSError."""
    layout = laid_out(io, table, partitions)
    roots = list(layout.evidence)
    listings = look_at_all(io.listing, roots)
    compactors: dict[TxnId, str] = {}
    for root, listing in zip(roots, listings, strict=True):
        for directory in listing.directories:
            name = None if "/" in directory else parse_directory(directory)
            if name is not None and name.visibility_txn_id != NO_VISIBILITY:
                compactors.setdefault(name.visibility_txn_id, f"{root}/{directory}")
    return Files(layout=layout, compactors=compactors)


def check_given_out(table: Table, files: Files, write_ids: ValidWriteIdList) -> None:
    """NotSupportedError for directories of write ids of which the store that has the table knows
    nothing: who does not ask it would read them.
    """
    if files.highest > write_ids.high_watermark:
        raise NotSupportedError(
            f"table {table.name} has directories of write ids above {write_ids.high_watermark},"
            " which were never given out",
            hint="acidsql doctor says what can be done.",
        )


def check_compacted(files: Files, txns: ValidTxnList) -> None:
    """NotSupportedError for what a compaction has left that never committed: another store knows
    nothing of its transaction.
    """
    failed = [path for txn_id, path in files.compactors.items() if not txns.is_valid(txn_id)]
    failed += files.layout.unfinished.values()
    if failed:
        raise NotSupportedError(
            f'"{failed[0]}" is of a compaction that never committed',
            hint="It goes when the table is cleaned up: acidsql compactor --once does that.",
        )


def check_old_events(table: Table, files: Files) -> None:
    if files.layout.old_events is not None:
        raise NotSupportedError(
            f"table {table.name} has events from before Hive 3: {files.layout.old_events}",
            hint="A major compaction in Hive 3 or 4 writes them anew.",
        )
