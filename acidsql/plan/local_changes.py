"""The steps of statements that change rows without Spark."""

from __future__ import annotations

from dataclasses import replace

from acidsql.expressions.not_here import NotHere
from acidsql.parser.statements import Match
from acidsql.plan.choices import (
    BYTES_READ,
    INSERT_SHARE,
    Engines,
    decided_by_source,
    engines,
    local_steps,
    only_spark,
)
from acidsql.plan.operators import (
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
from acidsql.planner.bind.bound import (
    BoundDelete,
    BoundInsert,
    BoundLoad,
    BoundMerge,
    BoundQuery,
    BoundUpdate,
    MergeAction,
)
from acidsql.planner.bind.local.merge_trees import LocalMerge
from acidsql.planner.bind.local.query_trees import ROW_ID
from acidsql.planner.bind.tables import rules_of
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
    query, allowed = query_of(action), engines(settings)
    if query is None or not allowed.changes_by_driver:
        return ()
    if isinstance(action, BoundInsert) and isinstance(action.stores, NotHere):
        query = replace(query, local=action.stores)
    share = INSERT_SHARE if isinstance(action, BoundInsert) else 1
    most = None if allowed.row_bytes is None else allowed.row_bytes // share
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


def why_spark(
    action: BoundInsert | BoundLoad | BoundUpdate | BoundDelete | BoundMerge, settings: Settings
) -> str | None:
    """Why a statement that has a query has no local way; None where it has one, or none is wanted
    by ``acidsql.engine``.
    """
    allowed = engines(settings)
    if not allowed.driver:
        return None
    if isinstance(action, BoundMerge):
        parts: tuple[object, ...] = (action.local,)
    else:
        query = query_of(action)
        if query is None:
            return None
        parts = (query.local, action.stores if isinstance(action, BoundInsert) else None)
    if not allowed.changes_by_driver:
        return "acidsql.write.path=big"
    return next((part.reason for part in parts if isinstance(part, NotHere)), None)


def query_of(action: BoundInsert | BoundLoad | BoundUpdate | BoundDelete) -> BoundQuery | None:
    """The query whose rows a statement writes; None for literal rows and files."""
    match action:
        case BoundInsert(source=BoundQuery() as query):
            return query
        case BoundUpdate(query=query) | BoundDelete(query=query):
            return query
    return None


def local_merge(merge: BoundMerge, settings: Settings) -> tuple[Step, ...]:
    """The local way of a MERGE, as ``local_change``."""
    local, allowed = merge.local, engines(settings)
    if not allowed.changes_by_driver:
        return ()
    if isinstance(local, NotHere):
        if not allowed.spark:
            raise only_spark(local)
        return ()
    source = local_steps(local.source, settings) or ()
    matches = {clause.match for clause in merge.clauses}
    changing = any(clause.action is not MergeAction.INSERT for clause in merge.clauses)
    once = changing and settings.flag("hive.merge.cardinality.check")
    most = allowed.row_bytes
    return (
        *(replace(s, max_bytes=most) if isinstance(s, LocalRows) else s for s in source),
        *_pairs(merge, local, allowed),
        *((InsertUnmatched(),) if Match.NOT_MATCHED in matches else ()),
        *((CheckOnce(),) if once else ()),
        WriteFiles(effect=Effect.MERGE),
    )


def _pairs(merge: BoundMerge, local: LocalMerge, allowed: Engines) -> tuple[Step, ...]:
    """How the rows of the target are found that the clauses are about."""
    lone = any(clause.match is Match.NOT_MATCHED_BY_SOURCE for clause in merge.clauses)
    names = [name for name, _ in local.columns]
    keys = [c.name for c in merge.table.partition_columns if c.name not in names]
    scan = LocalScan(
        read=merge.reads[0],
        number=0,
        columns=(ROW_ID, *names, *keys),
        max_bytes=allowed.read_bytes,
    )
    join = LocalJoin(kind="LEFT OUTER" if lone else "INNER", max_bytes=allowed.row_bytes)
    if not decided_by_source(merge):
        return (scan, join)
    look_up = Way(name="look-up", steps=(LookUp(keys=tuple(key for key, _ in merge.keys)),))
    return (Choose(by="keys and values", ways=(look_up, Way(name="join", steps=(scan, join)))),)
