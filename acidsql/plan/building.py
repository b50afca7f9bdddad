"""The operators of a statement: what its own words and the settings decide, and what is left to be
found out when it runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from enum import StrEnum

from acidsql.catalog.model import FileFormat
from acidsql.errors import UnsupportedStatementError
from acidsql.expressions.not_here import NotHere
from acidsql.lazy import dataclass
from acidsql.parser.statements import Match
from acidsql.plan.engines import INSERT_SHARE, Engines, SparkAtHand, engines, only_spark
from acidsql.plan.operators import (
    Check,
    CheckOnce,
    Collect,
    CommonRows,
    CountByJob,
    CountChanges,
    CountRows,
    Effect,
    Fetch,
    FetchSource,
    FindFiles,
    FirstOf,
    InsertUnmatched,
    Job,
    Join,
    JoinRows,
    Literals,
    LocalCheck,
    LocalFiles,
    LocalInsertUnmatched,
    LocalJoin,
    LocalRows,
    LocalScan,
    LookUp,
    Operator,
    Operators,
    Query,
    ReadFiles,
    Scan,
    SetRows,
    SubQueryRows,
    TakeFiles,
    Way,
    WriteFiles,
    either,
    row_count,
)
from acidsql.planner.bind.bound import (
    BoundDelete,
    BoundInsert,
    BoundLoad,
    BoundMerge,
    BoundQuery,
    BoundRows,
    BoundUpdate,
    MergeAction,
)
from acidsql.planner.bind.local.query_trees import (
    ROW_ID,
    CommonTable,
    JoinTree,
    LocalMerge,
    LocalQuery,
    LocalSource,
    LocalValues,
    SetTree,
)
from acidsql.planner.bind.tables import Rule, loads_files, rules_of
from acidsql.settings import Settings

ChangeAction = BoundInsert | BoundLoad | BoundUpdate | BoundDelete

# ---- SELECT


def read_operators(query: BoundQuery, settings: Settings) -> Operators:
    """The operators of a SELECT."""
    count = row_count(query)
    if (
        count is None
        or not settings.flag("hive.compute.query.using.stats")
        or query.reads[0].table.file_format is not FileFormat.ORC
    ):
        return _rows(query, settings, counting=count is not None)
    by_footers = Way(name="told", operators=(CountRows(read=query.reads[0], count=count),))
    scanned = Way(name="scanned", operators=_rows(query, settings, counting=True))
    return (FirstOf(by="what statistics and footers tell", ways=(by_footers, scanned)),)


def _rows(query: BoundQuery, settings: Settings, *, counting: bool) -> Operators:
    """The rows of a query come to the caller."""
    allowed = engines(settings)
    local = _local_rows(query, allowed) if allowed.driver else ()
    spark = (*query_operators(query, counting=counting), Collect()) if allowed.spark else ()
    return either(local, spark)


def query_operators(query: BoundQuery, *, counting: bool = False) -> Operators:
    """Spark's way to a query: a scan of each table that its text reads, and the query."""
    scans = (
        Scan(read=read, number=number, counting=counting)
        for number, read in enumerate(query.reads)
        if number in query.text.slots
    )
    return (*scans, Query(query=query))


def _local_rows(
    query: BoundQuery,
    allowed: Engines,
    *,
    row_bytes: int | None = None,
    behind: LocalScan | None = None,
) -> Operators:
    """The driver's way to the rows of a query; () where it is not understood.
    UnsupportedStatementError, at the place, where nothing else is wanted. ``row_bytes``: the most
    that the rows may weigh; ``behind``: a scan that comes later.
    """
    local = query.local
    if isinstance(local, NotHere):
        return _left_to_spark(local, allowed)
    if isinstance(local, LocalValues):
        return (LocalRows(query=query, max_bytes=row_bytes),)
    sources = _Sources(query, allowed.read_bytes, behind)
    return (*sources.of(local), LocalRows(query=query, max_bytes=row_bytes))


@dataclass(slots=True)
class _Sources:
    """What makes the rows that the trees of a query are over, each before what is over them."""

    query: BoundQuery
    most: int | None
    behind: LocalScan | None
    emitted: set[int] = field(default_factory=set)

    def of(self, source: LocalSource) -> Iterator[Operator]:
        match source:
            case CommonTable(number=number, query=query):
                if number not in self.emitted:
                    self.emitted.add(number)
                    yield from self.of(query)
                    yield CommonRows(table=source, max_bytes=self.most)
            case JoinTree(left=left, right=right):
                yield from (*self.of(left), *self.of(right))
                yield JoinRows(tree=source, max_bytes=self.most)
            case SetTree(left=left, right=right):
                yield from (*self.of(left), *self.of(right))
                yield SetRows(tree=source, max_bytes=self.most)
            case LocalQuery():
                yield from self._of_query(source)

    def _of_query(self, query: LocalQuery) -> Iterator[Operator]:
        if query.read is not None:
            yield LocalScan(
                read=self.query.reads[query.read],
                number=query.read,
                columns=(*((ROW_ID,) if query.row_id else ()), *query.names),
                max_bytes=self.most,
                query=query,
                behind=self.behind,
            )
        elif query.files is not None:
            assert query.scan is not None
            yield LocalFiles(
                relation=query.files,
                number=query.scan,
                columns=query.names,
                max_bytes=self.most,
                behind=self.behind,
            )
        elif query.source is not None:
            yield from self.of(query.source)
        for one in query.sub_queries:
            yield from self.of(one.query)
            yield SubQueryRows(query=one, max_bytes=self.most)


def _left_to_spark(why: NotHere, allowed: Engines) -> Operators:
    """No operators of the driver. UnsupportedStatementError where there is to be no Spark."""
    if not allowed.spark:
        raise only_spark(why)
    return ()


# ---- INSERT, LOAD DATA, UPDATE, DELETE


def change_operators(
    action: ChangeAction, settings: Settings, spark: SparkAtHand | None = None
) -> Operators:
    """How the rows of a statement come to be and become files. ``spark``: see ``engines``."""
    allowed = engines(settings, spark)
    match action:
        case BoundInsert(source=BoundRows() as rows):
            return _of_literals(action, rows)
        case BoundLoad() if loads_files(action.table):
            return (FindFiles(load=action), TakeFiles(load=action))
        case BoundLoad():
            return (FindFiles(load=action), ReadFiles(), *_by_spark(action, allowed))
        case _:
            query = query_of(action)
            assert query is not None
            local = _local_change(action, query, allowed)
            if local and not allowed.spark:
                return local
            return either(local, (*query_operators(query), *_by_spark(action, allowed)))


def query_of(action: ChangeAction) -> BoundQuery | None:
    """The query whose rows a statement writes; None for literal rows and files."""
    match action:
        case BoundInsert(source=BoundQuery() as query):
            return query
        case BoundUpdate(query=query) | BoundDelete(query=query):
            return query
    return None


def _effect(action: ChangeAction) -> Effect:
    match action:
        case BoundUpdate():
            return Effect.UPDATE
        case BoundDelete():
            return Effect.DELETE
        case _:
            return Effect.INSERT


def _rules(action: ChangeAction) -> tuple[Rule, ...]:
    return () if isinstance(action, BoundDelete) else tuple(rules_of(action.table))


def _of_literals(action: BoundInsert, rows: BoundRows) -> Operators:
    checks = (LocalCheck(rules=rules),) if (rules := _rules(action)) else ()
    by_driver = action.table.file_format is FileFormat.ORC or not rows.rows
    write = WriteFiles(effect=Effect.INSERT) if by_driver else Job(effect=Effect.INSERT)
    return (Literals(source=rows), *checks, write)


def returns(action: ChangeAction | BoundMerge) -> bool:
    """Whether the statement gives the rows back that it writes, which the driver must hold then."""
    return not isinstance(action, BoundLoad) and action.returning is not None


def _check_fetched(allowed: Engines) -> None:
    if not allowed.small:
        raise UnsupportedStatementError(
            "RETURNING wants rows that the driver writes", hint="RESET acidsql.write.path."
        )


def _local_change(action: ChangeAction, query: BoundQuery, allowed: Engines) -> Operators:
    """The driver's way of a statement, () where there is none."""
    if not allowed.changes_by_driver:
        return ()
    if isinstance(action, BoundInsert) and isinstance(action.stores, NotHere):
        query = replace(query, local=action.stores)
    most = allowed.row_bytes
    if isinstance(action, BoundInsert):
        allowed = replace(allowed, read_bytes=allowed.load_bytes)
    streams = isinstance(action, BoundInsert) and _streams(action, query)
    rows = _local_rows(query, allowed, row_bytes=None if streams else most)
    if not rows:
        return ()
    if streams:
        rows = tuple(
            replace(one, streams=True) if isinstance(one, LocalRows) else one for one in rows
        )
    checks = (LocalCheck(rules=rules),) if (rules := _rules(action)) else ()
    return (*rows, *checks, WriteFiles(effect=_effect(action)))


def _streams(action: BoundInsert, query: BoundQuery) -> bool:
    """Whether the rows may be written while others are still to be made: into one file, in the
    order in which a scan gives them.
    """
    table, tree, named = action.table, query.local, action.partition
    one_partition = named is not None and named.values is not None
    return (
        table.bucketing is None
        and (one_partition or not table.partition_columns)
        and not returns(action)
        and isinstance(tree, LocalQuery)
        and tree.scan is not None
        and not (tree.grouped or tree.windows or tree.distinct or tree.order)
    )


def _by_spark(action: ChangeAction, allowed: Engines) -> Operators:
    """How rows of Spark's become files."""
    effect, most = _effect(action), allowed.fetched_bytes
    checks = (Check(rules=rules),) if (rules := _rules(action)) else ()
    job = Job(effect=effect)
    if returns(action):
        _check_fetched(allowed)
        return (*checks, Fetch(effect=effect, max_bytes=most), WriteFiles(effect=effect))
    if not allowed.small or action.table.file_format is not FileFormat.ORC:
        return (*checks, job)
    if effect is Effect.INSERT:
        most //= INSERT_SHARE
    fetch = Fetch(effect=effect, max_bytes=most)
    small = Way(name="small", operators=(fetch, WriteFiles(effect=effect)))
    big = Way(name="big", operators=(job,))
    return (*checks, FirstOf(by=allowed.size_words, ways=(small, big)))


# ---- MERGE


def merge_operators(merge: BoundMerge, join: MergeJoin, settings: Settings) -> Operators:
    """The operators of a MERGE. Its queries are made of its clauses while it runs, over the scans:
    the pairs of rows come of a look-up by keys, a join on the driver or a join by Spark.
    """
    allowed = engines(settings)
    changing = any(clause.action is not MergeAction.INSERT for clause in merge.clauses)
    check = settings.flag("hive.merge.cardinality.check") if changing else None
    once: Operators = () if check is None else (CheckOnce(check=check),)
    end: Operators = (*once, WriteFiles(effect=Effect.MERGE))
    local: Operators = ()
    if allowed.changes_by_driver:
        tree = merge.local
        local = (
            _left_to_spark(tree, allowed)
            if isinstance(tree, NotHere)
            else (*_merged_by_driver(merge, tree, allowed), *end)
        )
    if local and not allowed.spark:
        return local
    scans = tuple(Scan(read=read, number=number) for number, read in enumerate(merge.reads))
    job = Job(effect=Effect.MERGE, on=merge.joined(join.value), once=check)
    big = Way(name="big", operators=(*scans, job))
    if returns(merge):
        _check_fetched(allowed)
        return either(local, (*_merged_small(merge, scans, allowed), *end))
    if not allowed.small:
        return either(local, big.operators)
    small = Way(name="small", operators=(*_merged_small(merge, scans, allowed), *end))
    return either(local, (FirstOf(by=allowed.size_words, ways=(small, big)),))


def _lone(merge: BoundMerge) -> bool:
    """Whether rows of the target count that have no match."""
    return any(clause.match is Match.NOT_MATCHED_BY_SOURCE for clause in merge.clauses)


def _inserts(merge: BoundMerge) -> bool:
    return any(clause.match is Match.NOT_MATCHED for clause in merge.clauses)


def _merged_by_driver(merge: BoundMerge, local: LocalMerge, allowed: Engines) -> Operators:
    names = [name for name, _ in local.columns]
    keys = [c.name for c in merge.table.partition_columns if c.name not in names]
    scan = LocalScan(
        read=merge.reads[0],
        number=0,
        columns=(ROW_ID, *names, *keys),
        max_bytes=allowed.read_bytes,
    )
    kind, most = "LEFT OUTER" if _lone(merge) else "INNER", allowed.row_bytes
    join = LocalJoin(kind=kind, on=merge.joined(kind), max_bytes=most)
    # the keys of partitions leave out what only the source's rows can tell
    partitions = {c.name for c in merge.table.partition_columns}
    behind = None if partitions & {key for key, _ in merge.keys} else scan
    source = _local_rows(local.source, allowed, row_bytes=most, behind=behind)
    unmatched: Operators = (LocalInsertUnmatched(),) if _inserts(merge) else ()
    return (*source, *_pairs(merge, (scan, join), behind), *unmatched)


def _merged_small(merge: BoundMerge, scans: tuple[Scan, ...], allowed: Engines) -> Operators:
    """Pairs and new rows by Spark, for the driver to write."""
    target, sources, most = scans[0], scans[1:], allowed.fetched_bytes
    kind = "LEFT OUTER" if _lone(merge) else "INNER"
    join = Join(kind=kind, on=merge.joined(kind), max_bytes=most, fetched=True)
    pairs = _pairs(merge, (target, join)) if merge.keys else (target, join)
    fetch = FetchSource(max_bytes=most, copies=not _inserts(merge))
    fetched: Operators = (*sources, fetch, *pairs)
    if _inserts(merge):
        return (*fetched, InsertUnmatched())
    in_join: Operators = (*scans, replace(join, fetched=False))
    ways = (
        Way(name="the source fetched", operators=fetched),
        Way(name="the source in the join", operators=in_join),
    )
    return (FirstOf(by="values", ways=ways),)


def _pairs(merge: BoundMerge, joined: Operators, scan: LocalScan | None = None) -> Operators:
    """How the rows of the target are found that the clauses are about. ``scan``: that of the
    target, where its weight counts before the source's rows are known.
    """
    if not decided_by_source(merge):
        return joined
    look_up = LookUp(keys=tuple(key for key, _ in merge.keys), scan=scan)
    ways = (Way(name="look-up", operators=(look_up,)), Way(name="join", operators=joined))
    return (FirstOf(by="keys and values", ways=ways),)


# ---- dry runs


def counted(operators: Operators) -> Operators:
    """Operators with sinks that count in place of those that write. Spark counts its rows
    where they are: none is fetched.
    """
    return tuple(_counted(operator) for operator in operators)


def _counted(operator: Operator) -> Operator:
    match operator:
        case WriteFiles(effect=effect):
            return CountChanges(effect=effect)
        case LocalRows():
            return replace(operator, streams=False)
        case Job(effect=effect, once=once):
            return CountByJob(effect=effect, once=once)
        case FirstOf(ways=ways, by=by):
            ways = tuple(way for way in ways if way.name != "small")
            kept = (replace(way, operators=counted(way.operators)) for way in ways)
            return FirstOf(by=by, ways=tuple(kept))
        case _:
            return operator


# ---- which join meets the clauses of a MERGE, and whether the source alone decides


class MergeJoin(StrEnum):
    """How target and source are joined, the target on the left; ANTI keeps the rows of one side
    that have no match.
    """

    INNER = "INNER"
    RIGHT_OUTER = "RIGHT OUTER"
    LEFT_OUTER = "LEFT OUTER"
    FULL_OUTER = "FULL OUTER"
    LEFT_ANTI = "LEFT ANTI"
    RIGHT_ANTI = "RIGHT ANTI"


_JOINS = {
    frozenset({Match.MATCHED}): MergeJoin.INNER,
    frozenset({Match.NOT_MATCHED}): MergeJoin.RIGHT_ANTI,
    frozenset({Match.NOT_MATCHED_BY_SOURCE}): MergeJoin.LEFT_ANTI,
    frozenset({Match.MATCHED, Match.NOT_MATCHED}): MergeJoin.RIGHT_OUTER,
    frozenset({Match.MATCHED, Match.NOT_MATCHED_BY_SOURCE}): MergeJoin.LEFT_OUTER,
}


def merge_join(bound: BoundMerge) -> MergeJoin:
    """The narrowest join that meets every clause."""
    return _JOINS.get(frozenset(clause.match for clause in bound.clauses), MergeJoin.FULL_OUTER)


def decided_by_source(merge: BoundMerge) -> bool:
    """Whether equal keys make a match, and the source's row tells what becomes of it."""
    matched = (clause for clause in merge.clauses if clause.match is Match.MATCHED)
    return merge.only_keys and all(
        clause.condition is None or clause.of_source for clause in matched
    )
