"""From a plan to its lines: a node for the statement, and below it for each step and sink."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from acidsql.catalog.model import Column, ForeignTable, SparkRelation, Table
from acidsql.expressions.not_here import NotHere
from acidsql.plan.building import query_operators
from acidsql.plan.engines import SparkAtHand, engines
from acidsql.plan.explain.nodes import Node, ReadPartitions
from acidsql.plan.explain.sinks import partition_words, sink_words
from acidsql.plan.explain.transactions import transaction_facts
from acidsql.plan.facts import title_of, why_spark, words_of
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
    WritePlan,
    plan_insert,
)
from acidsql.planner.bind.bound import (
    BoundCopy,
    BoundDelete,
    BoundInsert,
    BoundLoad,
    BoundMerge,
    BoundMergeClause,
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
from acidsql.planner.bind.tables import default_of, loads_files, rules_of
from acidsql.settings import Settings


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
