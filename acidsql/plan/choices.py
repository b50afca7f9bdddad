"""Which steps a statement takes, which join meets the clauses of a MERGE, and what is left to be
chosen when it runs.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from acidsql.catalog.model import FileFormat
from acidsql.errors import UnsupportedStatementError
from acidsql.expressions.not_here import NotHere
from acidsql.lazy_dataclass import dataclass
from acidsql.parser.statements import Match
from acidsql.plan.counting import row_count
from acidsql.plan.operators import (
    Check,
    CheckOnce,
    Choose,
    Collect,
    CountRows,
    Effect,
    Fetch,
    FetchSource,
    FindFiles,
    InsertUnmatched,
    Job,
    Join,
    Literals,
    LocalFiles,
    LocalRows,
    LocalScan,
    LookUp,
    Query,
    ReadFiles,
    Scan,
    Step,
    TakeFiles,
    Way,
    WriteFiles,
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
from acidsql.planner.bind.local.query_trees import ROW_ID, LocalQuery, LocalValues
from acidsql.planner.bind.tables import loads_files, rules_of
from acidsql.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Engines:
    """Who may carry a statement out: what acidsql.engine and acidsql.write.path say together.

    ``read_bytes``: the most bytes of files that the driver alone reads; ``row_bytes``: of rows
    that it changes. None is as many as there are.
    """

    engine: str
    path: str
    read_bytes: int | None
    row_bytes: int | None

    @property
    def driver(self) -> bool:
        """Whether the driver alone may make rows."""
        return self.engine != "spark"

    @property
    def spark(self) -> bool:
        """Whether Spark may."""
        return self.engine != "local"

    @property
    def changes_by_driver(self) -> bool:
        """Whether rows may be changed without Spark. What is to go the big path is Spark's, unless
        there is to be no Spark.
        """
        return not self.spark or (self.driver and self.small)

    @property
    def small(self) -> bool:
        """Whether Spark may hand changed rows to the driver, which writes them."""
        return self.path != "big"

    @property
    def forced_small(self) -> bool:
        """Whether it does so however many they are."""
        return self.path == "small"


def engines(settings: Settings) -> Engines:
    """What the settings allow. No other module decides by these two."""
    engine, path = settings.text("acidsql.engine"), settings.text("acidsql.write.path")
    either = engine == "auto"
    return Engines(
        engine=engine,
        path=path,
        read_bytes=int(settings.number("acidsql.run.driver.max.bytes")) if either else None,
        row_bytes=max_bytes(settings) if either and path == "auto" else None,
    )


def max_bytes(settings: Settings) -> int:
    """The most bytes of changed rows that Spark hands to the driver."""
    return int(settings.number("acidsql.write.driver.max.bytes"))


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


BYTES_READ = "the bytes that are read"
"""What decides between the driver alone and Spark."""

INSERT_SHARE = 4
"""An INSERT's share of the bytes that the small path may bring to the driver: its rows go to one
file, which one thread compresses.
"""


def local_steps(query: BoundQuery, settings: Settings) -> tuple[Step, ...] | None:
    """The steps that make the rows of a query without Spark; None where it is not understood, or
    not wanted. UnsupportedStatementError, at the place, where nothing else is wanted.
    """
    allowed = engines(settings)
    if not allowed.driver:
        return None
    if isinstance(query.local, NotHere):
        if not allowed.spark:
            raise only_spark(query.local)
        return None
    local, most = query.local, allowed.read_bytes
    if isinstance(local, LocalValues):
        return (LocalRows(query=query),)
    scans: tuple[Step, ...] = ()
    if local.read is not None:
        scans = (_local_scan(query, local, local.read, most),)
    elif local.files is not None:
        scans = (LocalFiles(relation=local.files, columns=local.names, max_bytes=most),)
    return (*scans, LocalRows(query=query))


def _local_scan(query: BoundQuery, local: LocalQuery, number: int, most: int | None) -> LocalScan:
    names = (*((ROW_ID,) if local.row_id else ()), *local.names)
    return LocalScan(read=query.reads[number], number=number, columns=names, max_bytes=most)


def only_spark(why: NotHere) -> UnsupportedStatementError:
    """The error of a statement that the driver alone is to carry out, and cannot."""
    return UnsupportedStatementError(
        f"acidsql.engine=local does not carry this out: {why.reason}",
        hint="SET acidsql.engine=auto leaves it to Spark.",
        span=why.span,
    )


def by_bytes(
    local: tuple[Step, ...] | None, spark: tuple[Step, ...], settings: Settings
) -> tuple[Step, ...]:
    """The steps of whoever makes the rows: ``local`` where these are all there is to be, or nothing
    but ``spark`` where there are none, else a choice.
    """
    if local is None:
        return spark
    if not engines(settings).spark:
        return local
    ways = (Way(name="local", steps=local), Way(name="spark", steps=spark))
    return (Choose(by=BYTES_READ, ways=ways),)


def read_steps(query: BoundQuery, settings: Settings) -> tuple[Step, ...]:
    """The steps of a SELECT."""
    count = row_count(query)
    if (
        count is None
        or not settings.flag("hive.compute.query.using.stats")
        or query.reads[0].table.file_format is not FileFormat.ORC
    ):
        return _rows(query, settings, counting=count is not None)
    counted = Way(name="told", steps=(CountRows(read=query.reads[0], count=count),))
    return (
        Choose(
            by="what statistics and footers tell",
            ways=(
                counted,
                Way(name="scanned", steps=_rows(query, settings, counting=True)),
            ),
        ),
    )


def _rows(query: BoundQuery, settings: Settings, *, counting: bool) -> tuple[Step, ...]:
    """The rows of a query come to the caller."""
    spark = (*query_steps(query, counting=counting), Collect())
    return by_bytes(local_steps(query, settings), spark, settings)


def query_steps(query: BoundQuery, *, counting: bool = False) -> tuple[Step, ...]:
    """The tables a query reads, and the query."""
    return (*_scans(query), Query(query=query, counting=counting))


def _scans(query: BoundQuery) -> tuple[Step, ...]:
    """A scan of each table that the query's text reads."""
    return tuple(
        Scan(read=read, number=number)
        for number, read in enumerate(query.reads)
        if number in query.text.slots
    )


def source_steps(action: BoundInsert | BoundLoad | BoundUpdate | BoundDelete) -> tuple[Step, ...]:
    """The steps that get the rows of a statement and check what is asked of them."""
    table = action.table
    check = (
        (Check(rules=rules),)
        if not isinstance(action, BoundDelete) and (rules := rules_of(table))
        else ()
    )
    match action:
        case BoundInsert(source=BoundRows() as rows):
            return (Literals(source=rows), *check)
        case BoundInsert(source=BoundQuery() as query):
            return (*query_steps(query), *check)
        case BoundLoad():
            return (
                (FindFiles(load=action),)
                if loads_files(table)
                else (FindFiles(load=action), ReadFiles(), *check)
            )
        case BoundInsert():
            raise AssertionError(action.source)
        case BoundUpdate(query=query) | BoundDelete(query=query):
            return (*query_steps(query), *check)


def write_steps(
    action: BoundInsert | BoundLoad | BoundUpdate | BoundDelete, settings: Settings
) -> tuple[Step, ...]:
    """How the rows of a statement become files."""
    orc = action.table.file_format is FileFormat.ORC
    match action:
        case BoundInsert(source=BoundRows(rows=rows)):
            return (
                (WriteFiles(effect=Effect.INSERT),)
                if orc or not rows
                else (Job(effect=Effect.INSERT),)
            )
        case BoundLoad() if loads_files(action.table):
            return (TakeFiles(load=action),)
        case BoundInsert() | BoundLoad():
            return (
                _by_size(Effect.INSERT, settings, INSERT_SHARE)
                if orc
                else (Job(effect=Effect.INSERT),)
            )
        case BoundUpdate():
            return _by_size(Effect.UPDATE, settings)
        case BoundDelete():
            return _by_size(Effect.DELETE, settings)


def _by_size(effect: Effect, settings: Settings, share: int = 1) -> tuple[Step, ...]:
    job, allowed = Job(effect=effect), engines(settings)
    if not allowed.small:
        return (job,)
    fetch = Fetch(effect=effect, max_bytes=max_bytes(settings) // share)
    ways = (
        Way(name="small", steps=(fetch, WriteFiles(effect=effect))),
        Way(name="big", steps=(job,)),
    )
    return (Choose(by=_size(allowed), ways=ways),)


def _size(allowed: Engines) -> str:
    """What decides between the small path and the big one. Where the setting forces the small path,
    only rows that Arrow's writer cannot write take the other.
    """
    return "what Arrow can write" if allowed.forced_small else "size"


def merge_steps(merge: BoundMerge, join: MergeJoin, settings: Settings) -> tuple[Step, ...]:
    """The steps of a MERGE. Its queries are made of its clauses while it runs, over the scans."""
    changing = any(clause.action is not MergeAction.INSERT for clause in merge.clauses)
    once: tuple[Step, ...] = (
        (CheckOnce(),) if changing and settings.flag("hive.merge.cardinality.check") else ()
    )
    scans = tuple(Scan(read=read, number=number) for number, read in enumerate(merge.reads))
    target, sources, most = scans[0], scans[1:], max_bytes(settings)
    allowed = engines(settings)
    job = Way(
        name="big", steps=(*scans, Job(effect=Effect.MERGE, join=join.value, once=bool(once)))
    )
    if not allowed.small:
        return job.steps
    fetch: tuple[Step, ...] = (*sources, FetchSource(max_bytes=most))
    matches = {clause.match for clause in merge.clauses}
    joined = Join(
        kind="LEFT OUTER" if Match.NOT_MATCHED_BY_SOURCE in matches else "INNER",
        max_bytes=most,
        fetched=True,
    )
    pairs = _pairs(merge, target, joined)
    if Match.NOT_MATCHED in matches:
        small: tuple[Step, ...] = (*fetch, *pairs, InsertUnmatched())
    else:
        fetched = Way(name="the source fetched", steps=(*fetch, *pairs))
        small = (
            Choose(
                by="values",
                ways=(
                    fetched,
                    Way(
                        name="the source in the join",
                        steps=(*scans, replace(joined, fetched=False)),
                    ),
                ),
            ),
        )
    ways = (Way(name="small", steps=(*small, *once, WriteFiles(effect=Effect.MERGE))), job)
    return (Choose(by=_size(allowed), ways=ways),)


def _pairs(merge: BoundMerge, target: Scan, joined: Join) -> tuple[Step, ...]:
    """How the pairs of rows are found that a small MERGE is about."""
    if not merge.keys or not decided_by_source(merge):
        return (target, joined)
    look_up = Way(name="look-up", steps=(LookUp(keys=tuple(key for key, _ in merge.keys)),))
    return (Choose(by="keys and values", ways=(look_up, Way(name="join", steps=(target, joined)))),)
