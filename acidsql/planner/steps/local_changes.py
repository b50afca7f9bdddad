"""The steps of statements that change rows without Spark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from acidsql.catalog.model import TableKind
from acidsql.parser.statements import Match
from acidsql.planner.bind.bound import (
    BoundDelete,
    BoundInsert,
    BoundLoad,
    BoundMerge,
    BoundQuery,
    BoundRead,
    BoundUpdate,
    MergeAction,
)
from acidsql.planner.bind.local.merge_trees import LocalMerge
from acidsql.planner.bind.local.query_trees import ROW_ID, OnlySpark
from acidsql.planner.bind.tables import rules_of
from acidsql.planner.steps.choices import (
    BYTES_READ,
    INSERT_SHARE,
    decided_by_source,
    local_steps,
    max_bytes,
    only_spark,
)
from acidsql.planner.steps.step import (
    Check,
    CheckOnce,
    Choose,
    Effect,
    InsertUnmatched,
    LocalJoin,
    LocalRows,
    LocalScan,
    LookUp,
    Step,
    Way,
    WriteFiles,
)
from acidsql.settings import Settings


def either(local: tuple[Step, ...], spark: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps of a plan that has two ways, or one."""
    if not local or not spark:
        return local or spark
    ways = (Way(name="local", steps=local), Way(name="spark", steps=spark))
    return (Choose(by=BYTES_READ, ways=ways),)


def local_change(
    action: BoundInsert | BoundLoad | BoundUpdate | BoundDelete, settings: Settings
) -> tuple[Step, ...]:
    """The local way of a statement, () where there is none. UnsupportedStatementError, at the
    place, where it must have one.
    """
    query = query_of(action)
    if query is None or not _is_wanted(settings, query.reads):
        return ()
    stores = action.stores if isinstance(action, BoundInsert) else ()
    if isinstance(stores, OnlySpark):
        query = replace(query, local=stores)
    share = INSERT_SHARE if isinstance(action, BoundInsert) else 1
    most = max_bytes(settings) // share if _is_bounded(settings) else None
    steps = local_steps(query, settings)
    if steps is None:
        return ()
    effect = {BoundUpdate: Effect.UPDATE, BoundDelete: Effect.DELETE}.get(
        type(action), Effect.INSERT
    )
    rules = () if isinstance(action, BoundDelete) else rules_of(action.table)
    return (
        *(replace(s, max_bytes=most) if isinstance(s, LocalRows) else s for s in steps),
        *((Check(rules=rules),) if rules else ()),
        WriteFiles(effect=effect),
    )


def query_of(action: BoundInsert | BoundLoad | BoundUpdate | BoundDelete) -> BoundQuery | None:
    """The query whose rows a statement writes; None for literal rows and files."""
    match action:
        case BoundInsert(source=BoundQuery() as query):
            return query
        case BoundUpdate(query=query) | BoundDelete(query=query):
            return query
    return None


def _is_wanted(settings: Settings, reads: Iterable[BoundRead]) -> bool:
    """Whether rows are changed without Spark: where that is asked for, or they are those of a
    frame and may be few.
    """
    match settings.text("acidsql.engine"):
        case "local":
            return True
        case "auto":
            of_frame = any(read.table.kind is TableKind.FRAME for read in reads)
            return of_frame and settings.text("acidsql.write.path") != "big"
        case _:
            return False


def _is_bounded(settings: Settings) -> bool:
    return settings.text("acidsql.engine") == "auto" and (
        settings.text("acidsql.write.path") == "auto"
    )


def local_merge(merge: BoundMerge, settings: Settings) -> tuple[Step, ...]:
    """The local way of a MERGE, as ``local_change``."""
    if not _is_wanted(settings, merge.reads):
        return ()
    local, engine = merge.local, settings.text("acidsql.engine")
    if isinstance(local, OnlySpark):
        if engine == "local":
            raise only_spark(local)
        return ()
    most = max_bytes(settings) if _is_bounded(settings) else None
    source = local_steps(local.source, settings) or ()
    matches = {clause.match for clause in merge.clauses}
    changing = any(clause.action is not MergeAction.INSERT for clause in merge.clauses)
    once = changing and settings.flag("hive.merge.cardinality.check")
    return (
        *(replace(s, max_bytes=most) if isinstance(s, LocalRows) else s for s in source),
        *_pairs(merge, local, settings, most),
        *((InsertUnmatched(),) if Match.NOT_MATCHED in matches else ()),
        *((CheckOnce(),) if once else ()),
        WriteFiles(effect=Effect.MERGE),
    )


def _pairs(
    merge: BoundMerge, local: LocalMerge, settings: Settings, most: int | None
) -> tuple[Step, ...]:
    """How the rows of the target are found that the clauses are about."""
    lone = any(clause.match is Match.NOT_MATCHED_BY_SOURCE for clause in merge.clauses)
    names = [name for name, _ in local.columns]
    keys = [c.name for c in merge.table.partition_columns if c.name not in names]
    engine = settings.text("acidsql.engine")
    weight = int(settings.number("acidsql.local.max.bytes")) if engine == "auto" else None
    scan = LocalScan(
        read=merge.reads[0], number=0, columns=(ROW_ID, *names, *keys), max_bytes=weight
    )
    join = LocalJoin(kind="LEFT OUTER" if lone else "INNER", max_bytes=most)
    if not decided_by_source(merge):
        return (scan, join)
    look_up = Way(name="look-up", steps=(LookUp(keys=tuple(key for key, _ in merge.keys)),))
    return (Choose(by="keys and values", ways=(look_up, Way(name="join", steps=(scan, join)))),)
