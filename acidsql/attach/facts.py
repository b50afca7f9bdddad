"""What a source tells of a table that others write: a dump, the metastore's database, or a copy of
its tables. Whatever tells it, it means the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from acidsql.acid.ids import TxnId, ValidTxnList, ValidWriteIdList, WriteId
from acidsql.catalog.attached import (
    ASKED,
    ATTACHED,
    HIVE_LOCATION,
    READ_ONLY,
    SOURCE,
    TABLE_ID,
    TXNS,
    UNFINISHED,
    WRITE_IDS,
    moved_directories,
)
from acidsql.catalog.model import (
    Bucketing,
    Column,
    FileFormat,
    Partition,
    Table,
    TableKind,
    TableName,
)
from acidsql.files.fileio import is_inside
from acidsql.lazy import dataclass

FLAGS = {"EXTERNAL": "TRUE"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFacts:
    """``path``: where the partition lies, relative to its table or in full."""

    values: tuple[str, ...]
    path: str

    def at(self, location: str) -> Partition:
        is_whole = self.path.startswith("/") or ":/" in self.path
        return Partition(
            values=self.values, location=self.path if is_whole else f"{location}/{self.path}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """``location``: where Hive has the table. ``high_watermark``: the highest write id that was
    given out; ``open``, ``aborted``: those up to it that do not count. ``txns``: the transactions
    whose compactions count, None where the source does not tell. ``name``, ``table_id``: Hive's,
    of a source that knows several tables; a later table of that name has another id. ``asked``:
    when that was, by the source's clock if it has one; epoch milliseconds.
    """

    columns: tuple[Column, ...]
    partition_columns: tuple[Column, ...]
    bucketing: Bucketing | None
    transactional: bool
    insert_only: bool
    location: str | None
    high_watermark: WriteId
    open: tuple[WriteId, ...]
    aborted: tuple[WriteId, ...]
    partitions: tuple[PartitionFacts, ...]
    txns: ValidTxnList | None = None
    name: TableName | None = None
    table_id: int | str | None = None
    asked: int | None = None

    def write_ids(self, name: str) -> ValidWriteIdList:
        return ValidWriteIdList(
            table=name,
            high_watermark=self.high_watermark,
            open=self.open,
            aborted=self.aborted,
        )

    def partitions_at(self, location: str) -> tuple[Partition, ...]:
        """The partitions of the table at a location."""
        return tuple(one.at(location) for one in self.partitions)


def lying_here(path: str, moved: Mapping[str, str]) -> str:
    """Where a directory of Hive lies here. ``moved``: see ``moved_directories``."""
    for directory in sorted(moved, key=len, reverse=True):
        if is_inside(path, directory):
            return f"{moved[directory]}{path[len(directory) :]}"
    return path


def with_moved(facts: TableFacts, moved: Mapping[str, str]) -> TableFacts:
    """The facts with the partitions that do not lie below their table where they lie here."""
    if not moved:
        return facts
    partitions = (replace(one, path=lying_here(one.path, moved)) for one in facts.partitions)
    return replace(facts, partitions=tuple(partitions))


def partitions_of(facts: TableFacts, table: Table) -> tuple[Partition, ...]:
    """The partitions of an attached table, where they lie here."""
    return with_moved(facts, moved_directories(table)).partitions_at(table.location)


def entry_of(facts: TableFacts, entry: Table, recorded: str) -> Table:
    """The entry of the catalog for what a source tells. ``entry``: its name, location and owner;
    ``recorded``: the source, as it may be on record.
    """
    properties = {**FLAGS, ATTACHED: READ_ONLY, SOURCE: recorded}
    if facts.table_id is not None:
        properties[TABLE_ID] = str(facts.table_id)
        properties[HIVE_LOCATION] = str(facts.location)
    if facts.asked is not None:
        properties[ASKED] = str(facts.asked)
    if facts.transactional:
        properties["transactional"] = "true"
        properties["transactional_properties"] = "insert_only" if facts.insert_only else "default"
        properties[WRITE_IDS] = str(facts.write_ids(str(entry.name)))
    if facts.bucketing is not None:
        properties["bucketing_version"] = str(facts.bucketing.version)
    return replace(
        entry,
        kind=TableKind.EXTERNAL,
        file_format=FileFormat.ORC,
        columns=facts.columns,
        partition_columns=facts.partition_columns,
        bucketing=facts.bucketing,
        properties=properties,
    )


def with_txns(
    table: Table, facts: TableFacts, highest: TxnId, unfinished: Mapping[TxnId, str]
) -> Table:
    """The entry with the transactions whose compactions are read. ``highest``, ``unfinished``: the
    highest that compacted, and those that never committed, as directories tell.
    """
    if not table.is_transactional:
        return table
    properties = dict(table.properties)
    if unfinished:
        properties[UNFINISHED] = ",".join(map(str, sorted(unfinished)))
    valid = facts.txns or ValidTxnList(high_watermark=highest)
    txns = replace(valid, aborted=(*valid.aborted, *unfinished), min_open=None)
    return replace(table, properties={**properties, TXNS: str(txns)})


def title_lines(table: Table, overlay: str | None) -> Iterator[str]:
    """The first lines of EXPLAIN ATTACH. ``overlay``: where changes of an overlay lie."""
    yield f"ATTACH TABLE {table.name}{'' if overlay is None else ' OVERLAY'}"
    yield f"  location: {table.location}, read only: nothing is written below it"
    if overlay is not None:
        yield f"  changes: {overlay}, until DETACH TABLE throws them away"


def facts_lines(facts: TableFacts, table: Table, source: str) -> Iterator[str]:
    """The lines of EXPLAIN ATTACH behind its title. ``source``: ``of the dump orders.dump``."""
    if facts.name is not None:
        yield f"  table of Hive: {facts.name}"
    if facts.location not in (None, table.location):
        yield f"  where Hive has it: {facts.location}"
    yield f"  columns: {columns_words(facts.columns)} ({source})"
    if facts.partition_columns:
        yield f"  partitioned by: {columns_words(facts.partition_columns)} ({source})"
        yield f"  partitions: {len(facts.partitions)} ({source})"
    if facts.bucketing is not None:
        names = ", ".join(facts.bucketing.columns)
        yield f"  buckets: {facts.bucketing.count} by {names} ({source})"
    if facts.transactional:
        yield f"  highest write id: {facts.high_watermark} ({source})"
        for word, ids in (("open", facts.open), ("aborted", facts.aborted)):
            if ids:
                yield f"  {word}: {', '.join(map(str, ids))} ({source})"
    else:
        yield f"  rows: plain files ({source})"


def columns_words(columns: tuple[Column, ...]) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in columns)
