"""A plan as text for people and as JSON for programs: the same SQL against the same catalog always
gives the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, assert_never

from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Column, ForeignTable, Partition, SparkRelation, Table, TableName
from acidsql.catalog.partitions import Among, partition_name
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.pruning import Pruning
from acidsql.lazy import dataclass
from acidsql.plan.building import query_operators
from acidsql.plan.engines import SparkAtHand, engines
from acidsql.plan.facts import locks_of, title_of, why_spark, words_of
from acidsql.plan.operators import (
    ENDING,
    Check,
    FirstOf,
    LocalCheck,
    LocalFiles,
    LocalScan,
    Operator,
    Operators,
    Query,
    Ran,
    Scan,
    Way,
    every,
    size_words,
)
from acidsql.plan.plans import (
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
    plan_insert,
    reads_of,
)
from acidsql.planner.bind.bound import (
    BoundCopy,
    BoundDelete,
    BoundInsert,
    BoundLoad,
    BoundMerge,
    BoundMergeClause,
    BoundPartition,
    BoundQuery,
    BoundRead,
    BoundUpdate,
    SessionAction,
    Telling,
)
from acidsql.planner.bind.bound_catalog import (
    BoundAnalyze,
    BoundConvertTable,
    BoundCreateTableAs,
    BoundRenameTable,
    BoundReplaceTable,
    BoundUnbuilt,
    CatalogAction,
    PartitionAction,
)
from acidsql.planner.bind.bound_transactions import (
    BoundAbortTransactions,
    BoundCommit,
    BoundRollback,
    BoundSetAutocommit,
    BoundShowTransaction,
    BoundStartTransaction,
)
from acidsql.planner.bind.tables import default_of, loads_files, rules_of
from acidsql.settings import Settings

# ---- nodes
#
# A plan as a tree of lines, and the partitions it reads, which some of the lines are about.


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


class ReadPartitions:
    """The partitions of the tables a plan reads, as they are now; a statement that runs lists them
    again under its snapshot.
    """

    def __init__(self, catalog: Catalog, settings: Settings) -> None:
        self.catalog = catalog
        self.ansi = settings.flag("acidsql.ansi")
        self.listed: dict[tuple[TableName, Among | None], tuple[Partition, ...]] = {}

    def count(self, table: Table) -> int:
        """How many partitions a table has."""
        known = self.listed.get((table.name, None))
        return self.catalog.count_partitions(table) if known is None else len(known)

    def pruned(self, read: BoundRead) -> Pruning:
        wanted = read.wanted(ansi=self.ansi)
        among = wanted.among
        key = read.table.name, among
        if key not in self.listed:
            self.listed[key] = self.catalog.list_partitions(read.table, among)
        return wanted.prune(self.listed[key])

    def names(self, read: BoundRead) -> Iterator[str]:
        columns = [c.name for c in read.table.partition_columns]
        table = read.table.name
        return (
            f"{table.database}@{table.table}@{partition_name(columns, p.values)}"
            for p in self.pruned(read).kept
        )


# ---- sinks
#
# Where a statement writes, in words: the directory of each sink, and what comes to lie there.


def partition_words(table: Table, partition: BoundPartition | None) -> str:
    """The partition's directory below the table's; ``<hr>`` is a value that comes with the rows."""
    static = dict(partition.static) if partition is not None else {}
    names = [c.name for c in table.partition_columns]
    parts = [partition_name([n], [static[n]]) if n in static else f"{n}=<{n}>" for n in names]
    return "".join(f"{part}/" for part in parts)


def sink_words(
    sink: Sink, table: Table, *, truncated: bool = False, as_they_are: bool = False
) -> str:
    what = "the files as they are" if as_they_are else f"rows{_by_bucket(table)}"
    if sink.overwrite:
        return f"base_<w>, {'which hides what was there' if truncated else what}"
    prefix = "delete_delta" if sink.kind is SinkKind.DELETE else "delta"
    directory = f"{prefix}_<w>_<w>_{sink.statement_id:04d}"
    if sink.kind is SinkKind.DELETE:
        return f"{directory}, delete events by the bucket of each row"
    return f"{directory}, {what}"


def _by_bucket(table: Table) -> str:
    return (
        f" by bucket ({', '.join(table.bucketing.columns)}) of {table.bucketing.count}"
        if table.bucketing
        else ""
    )


# ---- transactions
#
# What EXPLAIN says of the statements that begin, end and abort transactions.


AT_FIRST_STATEMENT = "snapshot: taken by the first statement that reads or writes rows"


def transaction_facts(action: SessionAction) -> tuple[str, tuple[str, ...]] | None:
    """What follows the statement's words, and the lines below them; None for other statements
    about the session.
    """
    match action:
        case BoundStartTransaction(read_only=True):
            return " READ ONLY", (AT_FIRST_STATEMENT, "changes: refused")
        case BoundStartTransaction():
            return "", (
                AT_FIRST_STATEMENT,
                "changes: seen by this session alone until COMMIT, then by all at once",
            )
        case BoundCommit():
            settle = (
                "settle: files with rows that later statements of the transaction changed are"
                " written anew, without them"
            )
            return "", (
                settle,
                "publish: the files of all tables get their names",
                "commit: all of it becomes visible at once, or nothing",
            )
        case BoundRollback():
            return "", (
                (
                    "abort: nothing of the open transaction was visible to others, and its files"
                    " are deleted"
                ),
            )
        case BoundSetAutocommit(on=True):
            return " TRUE", (
                "commit: the open transaction, if there is one",
                "then: each statement is a transaction of its own",
            )
        case BoundSetAutocommit():
            return " FALSE", (
                (
                    "then: a statement that reads or writes rows begins a transaction where none is"
                    " open"
                ),
            )
        case BoundShowTransaction(txn_id=txn_id):
            return "", (f"id: {txn_id}",)
        case BoundAbortTransactions(ids=ids):
            return "", (f"ids: {', '.join(map(str, ids))}",)
        case _:
            return None


# ---- explainer
#
# From a plan to its lines: a node for the statement, and below it for each step and sink.


class Explainer:
    """Explains plans. Settings and the catalog decide a part of the text: who may make the rows,
    and which partitions are read. ``spark``: what would load the rows of a new table else.
    ``extended``: also what a table is, and each clause's values.
    """

    def __init__(
        self,
        partitions: ReadPartitions,
        settings: Settings,
        extended: bool,
        spark: SparkAtHand | None = None,
    ) -> None:
        self.partitions = partitions
        self.settings = settings
        self.extended = extended
        self.spark = spark

    def node(self, plan: Plan) -> Node:
        match plan:
            case ReadPlan():
                return self.rows(plan)
            case WritePlan():
                return Node(title_of(plan), (*self.leg(plan), *self.ending(plan)))
            case MultiInsertPlan(legs=legs, making=making):
                first = () if making is None else (Node(f"make table {making.table.name}"),)
                return Node(
                    _title_of_legs(plan),
                    (
                        *first,
                        *(Node(title_of(leg), tuple(self.leg(leg))) for leg in legs),
                        *self.ending(legs[0]),
                    ),
                )
            case MergePlan():
                return self.merge(plan)
            case SessionCommand(action=action) if (facts := transaction_facts(action)) is not None:
                return Node(f"{words_of(plan)}{facts[0]}", tuple(map(Node, facts[1])))
            case CatalogCommand(action=BoundCreateTableAs() | BoundReplaceTable() as action):
                return Node(words_of(plan), (*_action_facts(action), *self.new_table(action)))
            case CatalogCommand(action=BoundAnalyze() as action):
                return Node(words_of(plan), (*_action_facts(action), *self.measured(action)))
            case CatalogCommand(action=action) | SessionCommand(action=action):
                return Node(words_of(plan), _action_facts(action))
            case ExplainPlan(plan=inner) | DryRunPlan(plan=inner):
                return self.node(inner)
            case _:
                assert_never(plan)

    def rows(self, plan: ReadPlan) -> Node:
        """What is done for a query, and with its rows."""
        engine = tuple(self.engine(plan.query))
        if plan.telling is Telling.COLUMNS:
            return Node(words_of(plan), (*engine, Node("columns only: no row is read")))
        steps = self.operators((*plan.operators, *plan.ending))
        return Node(f"{words_of(plan)} under one snapshot", (*engine, *steps))

    def measured(self, action: BoundAnalyze) -> Iterator[Node]:
        """Who measures, and why."""
        allowed, by_driver = engines(self.settings), action.measuring
        if by_driver is None:
            return
        if isinstance(by_driver, NotHere):
            yield Node(f"engine: spark ({by_driver.reason})")
        elif not allowed.driver:
            yield Node("engine: spark (acidsql.engine=spark)")
        elif allowed.read_bytes is None:
            yield Node("engine: local")
        else:
            most = size_words(allowed.read_bytes)
            read = ", ".join(by_driver.names) or "no column"
            yield Node(f"engine: local up to {most} of {read}, else spark")

    def new_table(self, action: BoundCreateTableAs | BoundReplaceTable) -> Iterator[Node]:
        """Who makes the rows of a new table, and how. Where only the engine knows the columns, the
        rest of the steps is known once it has told them.
        """
        # a MERGE's counts are named in this room, too, and makes no table
        from acidsql.plan.new_table import known_columns, new_table

        if isinstance(action, BoundReplaceTable):
            if isinstance(action.new, BoundCreateTableAs):
                yield from self.new_table(action.new)
            return
        known = known_columns(action.query, self.settings)
        if known is None:
            yield from self.engine(action.query)
            yield from self.operators(query_operators(action.query))
            return
        plan = plan_insert(new_table(action, known)[1], self.settings, spark=self.spark)
        yield from self.change_engine(plan.action)
        yield from self.operators(plan.operators)

    def leg(self, plan: WritePlan) -> Iterator[Node]:
        yield from self.action(plan)
        yield from self.change_engine(plan.action)
        yield from self.operators(plan.operators)
        yield from self.sinks(plan)
        yield from self.returned(plan.returning)

    def returned(self, plan: ReadPlan | None) -> Iterator[Node]:
        """What is given back of the rows that are written, once they are committed."""
        if plan is not None:
            yield Node("give back rows as they are written", self.operators(plan.operators))

    def action(self, plan: WritePlan) -> Iterator[Node]:
        """What no step says: which columns and partitions a statement is about."""
        match plan.action:
            case BoundInsert() as action:
                if action.copied is not None:
                    yield Node(_files_words(action.copied))
                if action.by_name and not action.columns:
                    yield Node("columns: by name, as the query calls them")
                elif action.by_name or len(action.columns) != len(plan.table.columns):
                    yield Node(
                        "columns:"
                        f" {'; '.join([_names(action.columns), *_not_named(plan.table, action)])}"
                    )
                if action.truncate and plan.table.partition_columns:
                    given = ", ".join(f"{name}={text}" for name, text in action.truncated)
                    yield Node(f"partitions: {given or 'all'}")
            case BoundUpdate() as action:
                yield Node(f"set: {_names(action.changed)}")

    def operators(self, operators: Iterable[Operator]) -> tuple[Node, ...]:
        return tuple(node for operator in operators for node in self.operator(operator))

    def operator(self, operator: Operator) -> Iterator[Node]:
        match operator:
            case Scan(read=read):
                yield self.read(read)
            case LocalScan(read=read):
                yield Node(operator.words, self.read(read).children)
            case Query(query=query):
                yield from _foreign(query.views)
                yield Node(operator.words)
            case Check(rules=rules) | LocalCheck(rules=rules):
                yield from (Node(f"check: {rule}") for rule in rules)
            case FirstOf(
                ways=(Way(name="local", operators=local), Way(name="spark", operators=spark))
            ):
                yield Node(f"engine: local{_up_to(local)}, else spark{self.quicker(local)}")
                yield from self.operators(spark)
            case FirstOf(by=by, ways=ways):
                yield Node(
                    f"choose by {by}",
                    tuple(Node(f"{way.name}:", self.operators(way.operators)) for way in ways),
                )
            case _:
                yield Node(operator.words)

    def quicker(self, local: Operators) -> str:
        """Why local operators may read less than the settings allow."""
        allowed = engines(self.settings).read_bytes or 0
        most = [one.max_bytes for one in _scans(local) if one.max_bytes is not None]
        return " (which is quicker then)" if most and max(most) < allowed else ""

    def engine(self, query: BoundQuery) -> Iterator[Node]:
        """Why only Spark makes the rows of a query, where the driver alone might have."""
        if engines(self.settings).driver and isinstance(query.local, NotHere):
            yield Node(f"engine: spark ({query.local.reason})")

    def change_engine(
        self, action: BoundInsert | BoundLoad | BoundUpdate | BoundDelete | BoundMerge
    ) -> Iterator[Node]:
        """Why only Spark makes the rows that a statement writes, as ``engine``."""
        if (reason := why_spark(action, self.settings)) is not None:
            yield Node(f"engine: spark ({reason})")

    @staticmethod
    def ending(plan: WritePlan | MergePlan) -> Iterator[Node]:
        """What makes the rows of a transactional table visible, at COMMIT if a transaction is
        open.
        """
        return (Node(operator.words) for operator in (ENDING if plan.sinks else ()))

    def sinks(self, plan: WritePlan) -> Iterator[Node]:
        partition = partition_words(
            plan.table,
            plan.action.partition if isinstance(plan.action, BoundInsert | BoundLoad) else None,
        )
        truncated = isinstance(plan.action, BoundInsert) and plan.action.truncate
        as_they_are = isinstance(plan.action, BoundLoad) and loads_files(plan.table)
        for sink in plan.sinks:
            text = sink_words(sink, plan.table, truncated=truncated, as_they_are=as_they_are)
            yield Node(
                f"write statement {sink.statement_id}: {partition}{text}", self.facts(plan.table)
            )
        if not plan.sinks and truncated:
            yield Node(
                "remove all files: the table is not transactional, there is no roll-back",
                self.facts(plan.table),
            )
        elif not plan.sinks:
            what = (
                "the files as they are" if as_they_are else f"plain {plan.table.file_format} files"
            )
            yield Node(
                f"write {what}: the table is not transactional, there is no roll-back",
                self.facts(plan.table),
            )

    def read(self, read: BoundRead) -> Node:
        kind = "merge on read" if read.table.is_full_acid else "plain files"
        pushed = (
            [Node(f"pushed down: {' AND '.join(str(p) for p in read.predicates)}")]
            if read.predicates
            else []
        )
        title = f"read {read.table.name}: {kind}{', with ROW__ID' if read.row_id else ''}"
        return Node(title, (*self.pruned(read), *pushed, *self.facts(read.table)))

    def pruned(self, read: BoundRead) -> Iterator[Node]:
        """How many partitions are read of how many; Spark may find that it needs even fewer."""
        if read.table.partition_columns:
            pruning = self.partitions.pruned(read)
            at_most = "at most " if pruning.undecided else ""
            kept, every = len(pruning.kept), self.partitions.count(read.table)
            yield Node(f"partitions: {at_most}{kept} of {every}")

    def facts(self, table: Table) -> tuple[Node, ...]:
        """What EXTENDED adds of a table."""
        if not self.extended:
            return ()
        columns = ", ".join(
            f"{c.name} {c.type}" for c in (*table.columns, *table.partition_columns)
        )
        properties = ", ".join(f"{key}={table.properties[key]}" for key in sorted(table.properties))
        return (Node(f"columns: {columns}"), Node(f"properties: {properties}"))

    def merge(self, plan: MergePlan) -> Node:
        merge = plan.merge
        children = [
            Node(f"source {merge.source_alias}: {merge.shown(merge.source)}"),
            *_foreign(merge.views),
            *self.change_engine(merge),
            *self.operators(plan.operators),
        ]
        if any(clause.makes_rows for clause in merge.clauses):
            children += [Node(f"check: {rule}") for rule in rules_of(merge.table)]
        for clause, sinks in zip(merge.clauses, plan.clause_sinks, strict=True):
            named = f" {_names(clause.changed)}" if clause.changed else ""
            below = [
                Node(
                    f"write statement {s.statement_id}:"
                    f" {partition_words(merge.table, None)}{sink_words(s, merge.table)}",
                    self.facts(merge.table),
                )
                for s in sinks
            ]
            children.append(
                Node(f"{merge.heading(clause)}{named}", (*self.values(merge, clause), *below))
            )
        returned = self.returned(plan.returning)
        return Node(title_of(plan), (*children, *returned, *self.ending(plan)))

    def values(self, merge: BoundMerge, clause: BoundMergeClause) -> Iterator[Node]:
        """What EXTENDED adds of a clause: the value of each column it names."""
        every = (*merge.table.columns, *merge.table.partition_columns)
        for column, value in zip(every, clause.values, strict=False):
            if self.extended and column in clause.changed:
                yield Node(f"{column.name} = {merge.shown(value)}")


def _title_of_legs(plan: MultiInsertPlan) -> str:
    action = plan.legs[0].action
    if isinstance(action, BoundInsert) and action.copied is not None:
        return f"{words_of(plan)} .. REJECTS INTO: all rows become visible together"
    return "MULTI-INSERT: all legs read one snapshot and become visible together"


def _files_words(copied: BoundCopy) -> str:
    """How many files COPY INTO takes, and what becomes of the rows that do not fit."""
    files = "1 file" if len(copied.files) == 1 else f"{len(copied.files)} files"
    skipped = f", {copied.skipped} more taken before" if copied.once else ""
    misfits = "are an error" if copied.rejects is None else f"go into {copied.rejects}"
    return f"read {files}{skipped}; rows that do not fit {misfits}"


_ALWAYS_WITH_FACTS = (
    BoundUnbuilt
    | BoundCreateTableAs
    | BoundReplaceTable
    | BoundAnalyze
    | BoundRenameTable
    | BoundConvertTable
    | PartitionAction
)


def _action_facts(action: CatalogAction | SessionAction) -> tuple[Node, ...]:
    """What is to be told of a statement that changes the catalog or the session."""
    facts: Iterable[tuple[str, object]] = getattr(action, "facts", ())
    if facts or isinstance(action, _ALWAYS_WITH_FACTS):
        return tuple(Node(f"{name}: {value}") for name, value in facts)
    return (Node("metadata only: no data is read or written"),)


def _foreign(relations: Iterable[SparkRelation]) -> Iterator[Node]:
    """Tables of other catalogs, which no step of ours reads."""
    for relation in relations:
        if isinstance(relation, ForeignTable):
            version = f" {relation.version}" if relation.version else ""
            yield Node(f"read {relation}{version}: a table of another catalog")


def _not_named(table: Table, action: BoundInsert) -> Iterator[str]:
    """What the columns hold that the statement does not give."""
    missing = [c for c in table.columns if c not in action.columns]
    yield from (
        f"{c.name} is {default}" for c in missing if (default := default_of(table, c)) is not None
    )
    if any(default_of(table, c) is None for c in missing):
        yield "the others are NULL"


def _up_to(operators: Operators) -> str:
    """What local operators may read at most."""
    scans = _scans(operators)
    sizes = {size_words(scan.max_bytes) for scan in scans if scan.max_bytes is not None}
    columns = (
        [f"{', '.join(scan.columns)} of {scan.name}" for scan in scans]
        if len(scans) > 1
        else [", ".join(scan.columns) for scan in scans]
    )
    return f" up to {', '.join(sorted(sizes))} of {' and '.join(columns)}" if sizes else ""


def _scans(operators: Operators) -> list[LocalScan | LocalFiles]:
    return [one for one in every(operators) if isinstance(one, LocalScan | LocalFiles)]


def _names(columns: Iterable[Column]) -> str:
    return ", ".join(c.name for c in columns)


# ----   init


def explain(
    plan: Plan,
    settings: Settings,
    catalog: Catalog,
    mode: str | None = None,
    spark: SparkAtHand | None = None,
) -> list[str]:
    """The lines EXPLAIN [mode] prints. ``<w>`` stands for the write id, which is allocated when the
    statement runs.

    ``catalog`` is asked for the partitions of the tables that are read.
    """
    partitions = ReadPartitions(catalog, settings)
    match mode:
        case "LOCKS":
            return [
                "LOCK INFORMATION:",
                *(f"{lock} -> {lock.type}" for lock in locks_of(plan, settings)),
            ]
        case "DEPENDENCY":
            return [json.dumps(_dependencies(plan, partitions), separators=(",", ":"))]
        case "FORMATTED":
            return json.dumps(
                _tree(plan, settings, partitions, spark, extended=True).json(),
                indent=2,
                ensure_ascii=False,
            ).split("\n")
        case _:
            return list(
                _tree(plan, settings, partitions, spark, extended=mode == "EXTENDED").lines()
            )


def _dependencies(plan: Plan, partitions: ReadPartitions) -> dict[str, list[dict[str, str]]]:
    """Hive's document: the tables and the partitions read, once each."""
    tables = {read.table.name: read.table for read in reads_of(plan)}
    listed = [
        {"tablename": f"{n.database}@{n.table}", "tabletype": str(tables[n].kind)}
        for n in sorted(tables)
    ]
    names = sorted(
        {
            name
            for read in reads_of(plan)
            if read.table.partition_columns
            for name in partitions.names(read)
        }
    )
    return {"input_tables": listed, "input_partitions": [{"partitionName": name} for name in names]}


def _tree(
    plan: Plan,
    settings: Settings,
    partitions: ReadPartitions,
    spark: SparkAtHand | None,
    *,
    extended: bool,
) -> Node:
    return Explainer(partitions, settings, extended, spark).node(plan)


def explain_ran(plan: Plan, ran: Iterable[Ran], settings: Settings, catalog: Catalog) -> list[str]:
    """The lines EXPLAIN ANALYZE prints: the operators that ran, in their order, each with what is
    known of it.
    """
    explainer = Explainer(ReadPartitions(catalog, settings), settings, extended=False)
    title = explainer.node(plan).text
    return [
        title,
        *(
            f"  {'; '.join(n.text for n in explainer.operator(one.operator))}{_figures(one)}"
            for one in ran
        ),
    ]


def _figures(ran: Ran) -> str:
    """Rows, files, bytes and seconds, as far as they are known."""
    counts = [
        f"{count} {name}"
        for name, count in (("rows", ran.rows), ("files", ran.files), ("bytes", ran.bytes))
        if count is not None
    ]
    return f" ({', '.join([*counts, f'{ran.seconds:.3f} s'])}){', in vain' if ran.in_vain else ''}"
