"""A plan as text for people and as JSON for programs: the same SQL against the same catalog always gives the same."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, assert_never

from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Column, FileFormat, Partition, Table, TableName
from acidsql.catalog.partitions import partition_name
from acidsql.planner.bound import (
    BoundDelete,
    BoundInsert,
    BoundLoad,
    BoundMerge,
    BoundMergeClause,
    BoundPartition,
    BoundQuery,
    BoundRead,
    BoundRows,
    BoundUpdate,
    MergeAction,
)
from acidsql.planner.bound_catalog import (
    BoundAlterTable,
    BoundAnalyze,
    BoundConvertTable,
    BoundCreateTableAs,
    BoundRenameTable,
    BoundUnbuilt,
    PartitionAction,
)
from acidsql.planner.counting import row_count
from acidsql.planner.explain_transactions import transaction_facts
from acidsql.planner.locks import locks_of
from acidsql.planner.physical import (
    CatalogCommand,
    DryRunPlan,
    ExplainPlan,
    MergePlan,
    MultiInsertPlan,
    Plan,
    ReadPlan,
    SessionCommand,
    Sink,
    SinkKind,
    WritePlan,
)
from acidsql.planner.pruning import Pruning, prune
from acidsql.planner.query_text import Piece, QueryText
from acidsql.planner.rules import default_of, loads_files, rules_of
from acidsql.settings import Settings


@dataclass(frozen=True, slots=True)
class Node:
    """One line of the plan and what stands below it."""

    text: str
    children: tuple[Node, ...] = ()

    def lines(self, depth: int = 0) -> Iterator[str]:
        yield "  " * depth + self.text
        for child in self.children:
            yield from child.lines(depth + 1)

    def json(self) -> dict[str, Any]:
        below = {"children": [child.json() for child in self.children]} if self.children else {}
        return {"operation": self.text, **below}


class _Partitions:
    """Those of the tables a plan reads, as they are now; a statement that runs lists them again under its snapshot."""

    def __init__(self, catalog: Catalog, settings: Settings) -> None:
        self.catalog = catalog
        self.ansi = settings.flag("acidsql.ansi")
        self.listed: dict[TableName, tuple[Partition, ...]] = {}

    def all(self, table: Table) -> tuple[Partition, ...]:
        if table.name not in self.listed:
            self.listed[table.name] = self.catalog.list_partitions(table)
        return self.listed[table.name]

    def pruned(self, read: BoundRead) -> Pruning:
        return prune(read.table.partition_columns, self.all(read.table), read.partition_filter, ansi=self.ansi)

    def names(self, read: BoundRead) -> Iterator[str]:
        columns = [c.name for c in read.table.partition_columns]
        table = read.table.name
        return (f"{table.database}@{table.table}@{partition_name(columns, p.values)}" for p in self.pruned(read).kept)


def explain(plan: Plan, settings: Settings, catalog: Catalog, mode: str | None = None) -> list[str]:
    """The lines EXPLAIN [mode] prints. ``<w>`` stands for the write id, which is allocated when the statement runs.

    ``catalog`` is asked for the partitions of the tables that are read.
    """
    partitions = _Partitions(catalog, settings)
    match mode:
        case "LOCKS":
            return ["LOCK INFORMATION:", *(str(lock) for lock in locks_of(plan, settings))]
        case "DEPENDENCY":
            return [json.dumps(_dependencies(plan, partitions), separators=(",", ":"))]
        case "FORMATTED":
            return json.dumps(_tree(plan, settings, partitions, extended=True).json(), indent=2, ensure_ascii=False).split("\n")
        case _:
            return list(_tree(plan, settings, partitions, extended=mode == "EXTENDED").lines())


def _dependencies(plan: Plan, partitions: _Partitions) -> dict[str, list[dict[str, str]]]:
    """Hive's document: the tables and the partitions read, once each."""
    tables = {read.table.name: read.table for read in _reads(plan)}
    listed = [{"tablename": f"{n.database}@{n.table}", "tabletype": str(tables[n].kind)} for n in sorted(tables)]
    names = sorted({name for read in _reads(plan) if read.table.partition_columns for name in partitions.names(read)})
    return {"input_tables": listed, "input_partitions": [{"partitionName": name} for name in names]}


def _reads(plan: Plan) -> Iterator[BoundRead]:
    match plan:
        case ReadPlan(query=query):
            yield from query.reads
        case WritePlan(query=query):
            yield from query.reads if query else ()
        case MultiInsertPlan(legs=legs):
            for leg in legs:
                yield from _reads(leg)
        case MergePlan(merge=merge):
            yield from merge.reads
        case CatalogCommand(action=BoundCreateTableAs(query=query)):
            yield from query.reads
        case ExplainPlan(plan=inner) | DryRunPlan(plan=inner):
            yield from _reads(inner)


def _tree(plan: Plan, settings: Settings, partitions: _Partitions, *, extended: bool) -> Node:
    node = _Explainer(partitions, settings.flag("hive.merge.cardinality.check"), extended).node(plan)
    locks = tuple(Node(f"lock {lock.name}: {lock.type}") for lock in locks_of(plan, settings))
    return Node(node.text, (*node.children, *locks))


class _Explainer:
    def __init__(self, partitions: _Partitions, cardinality_check: bool, extended: bool) -> None:
        self.partitions = partitions
        self.cardinality_check = cardinality_check
        self.extended = extended

    def node(self, plan: Plan) -> Node:
        match plan:
            case ReadPlan(query=query):
                told = [Node("count: by the footers of the files, without Spark where they tell")] if row_count(query) else []
                return Node("SELECT under one snapshot", (*told, *self.query(query)))
            case WritePlan():
                checks = () if isinstance(plan.action, BoundDelete) else _checks(plan.table)
                return Node(self.title(plan), (*self.action(plan), *checks, *self.sinks(plan)))
            case MultiInsertPlan(legs=legs):
                return Node("MULTI-INSERT: all legs read one snapshot and become visible together", tuple(self.node(leg) for leg in legs))
            case MergePlan():
                return self.merge(plan)
            case CatalogCommand(action=action) if isinstance(action, BoundUnbuilt | BoundCreateTableAs | BoundAnalyze | PartitionAction):
                return Node(action.words, tuple(Node(f"{name}: {value}") for name, value in action.facts))
            case CatalogCommand(action=BoundAlterTable(facts=(_, *_)) | BoundRenameTable() | BoundConvertTable() as action):
                return Node(action.words, tuple(Node(f"{name}: {value}") for name, value in action.facts))
            case SessionCommand(action=action) if (facts := transaction_facts(action)) is not None:
                return Node(facts[0], tuple(map(Node, facts[1])))
            case CatalogCommand(action=action) | SessionCommand(action=action):
                words = type(action).__name__.removeprefix("Bound")
                spaced = "".join(f" {c}" if c.isupper() else c for c in words).strip().upper()
                return Node(spaced, (Node("metadata only: no data is read or written"),))
            case ExplainPlan(plan=inner) | DryRunPlan(plan=inner):
                return self.node(inner)
            case _:
                assert_never(plan)

    def title(self, plan: WritePlan) -> str:
        match plan.action:
            case BoundInsert() as action:
                if action.truncate:
                    return f"TRUNCATE TABLE {plan.table.name}"
                verb = "INSERT OVERWRITE" if action.overwrite else "INSERT INTO"
                return f"{verb} {plan.table.name}{_partition(action)}{' IF NOT EXISTS' if action.if_not_exists else ''}"
            case BoundLoad() as action:
                return f"LOAD DATA {'OVERWRITE INTO' if action.overwrite else 'INTO'} {plan.table.name}{_partition(action)}"
            case BoundUpdate():
                return f"UPDATE {plan.table.name}"
            case BoundDelete():
                return f"DELETE FROM {plan.table.name}"
            case _:
                assert_never(plan.action)

    def action(self, plan: WritePlan) -> Iterator[Node]:
        match plan.action:
            case BoundInsert() as action:
                if len(action.columns) != len(plan.table.columns):
                    yield Node(f"columns: {'; '.join([_names(action.columns), *_not_named(plan.table, action)])}")
                if action.truncate:
                    if plan.table.partition_columns:
                        yield Node(f"partitions: {', '.join(f'{name}={text}' for name, text in action.truncated) or 'all'}")
                    return
                if isinstance(action.source, BoundRows):
                    alone = ", no Spark" if plan.table.file_format is FileFormat.ORC else ""
                    yield Node(f"{len(action.source.rows)} literal rows{alone}")
                else:
                    yield from self.query(action.source)
            case BoundLoad() as action:
                yield Node(f"files: {action.path}, {'copied from the local file system' if action.local else 'moved'}")
            case BoundUpdate() as action:
                yield Node(f"set: {_names(action.changed)}")
                yield from self.query(action.query)
            case BoundDelete() as action:
                yield from self.query(action.query)
            case _:
                assert_never(plan.action)

    def sinks(self, plan: WritePlan) -> Iterator[Node]:
        place = _place(plan.table, plan.action.partition if isinstance(plan.action, BoundInsert | BoundLoad) else None)
        truncated = isinstance(plan.action, BoundInsert) and plan.action.truncate
        as_they_are = isinstance(plan.action, BoundLoad) and loads_files(plan.table)
        for sink in plan.sinks:
            text = _sink(sink, plan.table, truncated=truncated, as_they_are=as_they_are)
            yield Node(f"write statement {sink.statement_id}: {place}{text}", self.facts(plan.table))
        if not plan.sinks and truncated:
            yield Node("remove all files: the table is not transactional, there is no roll-back", self.facts(plan.table))
        elif not plan.sinks:
            what = "the files as they are" if as_they_are else f"plain {plan.table.file_format} files"
            yield Node(f"write {what}: the table is not transactional, there is no roll-back", self.facts(plan.table))

    def query(self, query: BoundQuery) -> Iterator[Node]:
        yield from (self.read(read) for read in query.reads)
        yield Node(f"spark: {_flat(query.text, query.reads)}")

    def read(self, read: BoundRead) -> Node:
        kind = "merge on read" if read.table.is_full_acid else "plain files"
        pushed = [Node(f"pushed down: {' AND '.join(str(p) for p in read.predicates)}")] if read.predicates else []
        title = f"read {read.table.name}: {kind}{', with ROW__ID' if read.row_id else ''}"
        return Node(title, (*self.pruned(read), *pushed, *self.facts(read.table)))

    def pruned(self, read: BoundRead) -> Iterator[Node]:
        """How many partitions are read of how many; Spark may find that it needs even fewer."""
        if read.table.partition_columns:
            found = self.partitions.pruned(read)
            at_most = "at most " if found.undecided else ""
            yield Node(f"partitions: {at_most}{len(found.kept)} of {len(self.partitions.all(read.table))}")

    def facts(self, table: Table) -> tuple[Node, ...]:
        """What EXTENDED adds of a table."""
        if not self.extended:
            return ()
        columns = ", ".join(f"{c.name} {c.type}" for c in (*table.columns, *table.partition_columns))
        properties = ", ".join(f"{key}={table.properties[key]}" for key in sorted(table.properties))
        return (Node(f"columns: {columns}"), Node(f"properties: {properties}"))

    def merge(self, plan: MergePlan) -> Node:
        merge = plan.merge
        children = [self.read(read) for read in merge.reads]
        children.append(Node(f"source {merge.source_alias}: {_text(merge, merge.source)}"))
        children.append(Node(f"join: {merge.alias} {plan.join} {merge.source_alias} ON {_text(merge, merge.on)}"))
        if any(c.action is not MergeAction.INSERT for c in merge.clauses):
            alone = "no row of the target is changed by two rows of the source"
            children.append(Node(f"check: {alone}" if self.cardinality_check else "no check: of several changes of one row one is made"))
        if any(clause.values for clause in merge.clauses):
            children += _checks(merge.table)
        for clause, sinks in zip(merge.clauses, plan.clause_sinks, strict=True):
            named = f" {_names(clause.changed)}" if clause.changed else ""
            below = [
                Node(f"write statement {s.statement_id}: {_place(merge.table, None)}{_sink(s, merge.table)}", self.facts(merge.table))
                for s in sinks
            ]
            children.append(Node(f"{clause_heading(merge, clause)}{named}", (*self.values(merge, clause), *below)))
        return Node(f"MERGE INTO {merge.table.name}", tuple(children))

    def values(self, merge: BoundMerge, clause: BoundMergeClause) -> Iterator[Node]:
        """What EXTENDED adds of a clause: the value of each column it names."""
        every = (*merge.table.columns, *merge.table.partition_columns)
        for column, value in zip(every, clause.values, strict=False):
            if self.extended and column in clause.changed:
                yield Node(f"{column.name} = {_text(merge, value)}")


def clause_heading(merge: BoundMerge, clause: BoundMergeClause) -> str:
    """WHEN ``match`` [AND ``condition``] THEN ``action``, on one line."""
    condition = f" AND {_text(merge, clause.condition)}" if clause.condition else ""
    return f"WHEN {clause.match}{condition} THEN {clause.action}"


def _not_named(table: Table, action: BoundInsert) -> Iterator[str]:
    """What the columns hold that the statement does not give."""
    missing = [c for c in table.columns if c not in action.columns]
    yield from (f"{c.name} is {default}" for c in missing if (default := default_of(table, c)) is not None)
    if any(default_of(table, c) is None for c in missing):
        yield "the others are NULL"


def _checks(table: Table) -> tuple[Node, ...]:
    """What the table's constraints ask of every row that is written."""
    return tuple(Node(f"check: {rule}") for rule in rules_of(table))


def _text(merge: BoundMerge, pieces: tuple[Piece, ...]) -> str:
    return _flat(QueryText(merge.text_source, pieces), merge.reads)


def _flat(text: QueryText, reads: Iterable[BoundRead]) -> str:
    return " ".join(text.render([f"<{r.table.name}>" for r in reads]).split())


def _names(columns: Iterable[Column]) -> str:
    return ", ".join(c.name for c in columns)


def _partition(action: BoundInsert | BoundLoad) -> str:
    if action.partition is None:
        return ""
    static = [f"{name}='{value}'" for name, value in action.partition.static]
    return f" PARTITION ({', '.join([*static, *action.partition.dynamic])})"


def _place(table: Table, partition: BoundPartition | None) -> str:
    """The partition's directory below the table's; ``<hr>`` is a value that comes with the rows."""
    static = dict(partition.static) if partition is not None else {}
    names = [c.name for c in table.partition_columns]
    parts = [partition_name([n], [static[n]]) if n in static else f"{n}=<{n}>" for n in names]
    return "".join(f"{part}/" for part in parts)


def _sink(sink: Sink, table: Table, *, truncated: bool = False, as_they_are: bool = False) -> str:
    what = "the files as they are" if as_they_are else f"rows{_by_bucket(table)}"
    if sink.overwrite:
        return f"base_<w>, {'which hides what was there' if truncated else what}"
    prefix = "delete_delta" if sink.kind is SinkKind.DELETE else "delta"
    directory = f"{prefix}_<w>_<w>_{sink.statement_id:04d}"
    if sink.kind is SinkKind.DELETE:
        return f"{directory}, delete events by the bucket of each row"
    return f"{directory}, {what}"


def _by_bucket(table: Table) -> str:
    return f" by bucket ({', '.join(table.bucketing.columns)}) of {table.bucketing.count}" if table.bucketing else ""
