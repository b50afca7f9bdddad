"""MERGE as queries for Spark: which clause acts on each pair of rows, and what it makes of it.

``changes_query`` joins the target with its source and gives, for each pair on which a clause acts,
the clause's number, the identity of the target's row and the new values. A source small enough to
be numbered on the driver keeps its row numbers in the answer: what no pair names was not matched,
and ``inserts_query`` makes new rows of it. ``whole_query`` does all of it in one join, for any
size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from acidsql.acid.orc_types import ID_FIELDS
from acidsql.catalog.model import Column
from acidsql.expressions.losses import given_name
from acidsql.expressions.pruning import Predicate
from acidsql.expressions.spark_words import (
    SOURCE_ROW,
    Piece,
    QueryText,
    Slot,
    identifier,
    row_id_columns,
    spark_type,
    store_cast,
)
from acidsql.expressions.tree import PartitionCondition
from acidsql.parser.statements import Match
from acidsql.plan.building import MergeJoin, decided_by_source
from acidsql.plan.plans import MergePlan
from acidsql.planner.bind.bound import BoundMerge, BoundMergeClause, BoundQuery, MergeAction

CLAUSE = "acidsql_clause"
"""Column of the answers: the place of the clause among the statement's; SOURCE_ROW is the number of
the source's row.
"""

MATCHED_CLAUSE = "acidsql_matched"
"""Column of a source: which clause acts on a row of the target that matches, if any."""

LEADING_COLUMNS = (SOURCE_ROW, CLAUSE, *ID_FIELDS)


def source_query(merge: BoundMerge) -> BoundQuery:
    """All rows of the source; with MATCHED_CLAUSE where its own columns decide that."""
    if not decided_by_source(merge):
        return _query(merge, ("SELECT * FROM ", *merge.source))
    matched = [clause for clause in _numbered(merge) if clause[1].match is Match.MATCHED]
    return _query(
        merge,
        ("SELECT *, ", *_case(matched, _any_side), f" AS {MATCHED_CLAUSE} FROM ", *merge.source),
    )


def narrowed(
    plan: MergePlan, predicates: Sequence[Predicate], partitions: Sequence[PartitionCondition]
) -> MergePlan:
    """The plan for which no row of the target counts but those that meet these conditions."""
    target, *others = plan.merge.reads
    read = replace(
        target,
        predicates=(*target.predicates, *predicates),
        partition_filter=(*target.partition_filter, *partitions),
    )
    return replace(plan, merge=replace(plan.merge, reads=(read, *others)))


def changes_query(
    plan: MergePlan, numbered_source: str | None, *, values: bool = True
) -> BoundQuery:
    """LEADING_COLUMNS, the target's columns and its partition columns of every pair of rows a
    clause changes, or that shows a source row to be matched.

    ``numbered_source``: a view of the source's rows with a column SOURCE_ROW; None where no clause
    asks for unmatched rows. Without ``values`` the target's columns are left out.
    """
    merge = plan.merge
    of_target = tuple(c for c in _numbered(merge) if c[1].match is not Match.NOT_MATCHED)
    lone = any(c.match is Match.NOT_MATCHED_BY_SOURCE for _, c in of_target)
    join = "LEFT OUTER JOIN" if lone else "INNER JOIN"
    head = _select(
        merge,
        of_target,
        _by_source_row(merge),
        ansi=plan.ansi,
        numbered=f"{identifier(merge.source_alias)}.{SOURCE_ROW}",
        values=values,
    )
    text = (
        *head,
        " FROM ",
        *_target(merge),
        f" {join} ",
        *_source(merge, numbered_source),
        " ON ",
        *merge.on,
    )
    keep = f"{CLAUSE} IS NOT NULL" + (f" OR {SOURCE_ROW} IS NOT NULL" if numbered_source else "")
    return _query(merge, ("SELECT * FROM (", *text, f") WHERE {keep}"))


def inserts_query(plan: MergePlan, unmatched_source: str) -> BoundQuery:
    """LEADING_COLUMNS (no identity) and the new values of the rows of a view that a WHEN NOT
    MATCHED clause inserts.
    """
    merge = plan.merge
    clauses = tuple(c for c in _numbered(merge) if c[1].match is Match.NOT_MATCHED)
    head = _select(
        merge, clauses, _any_side, ansi=plan.ansi, numbered=SOURCE_ROW, identity=_NO_IDENTITY
    )
    text = (*head, f" FROM {identifier(unmatched_source)} AS {identifier(merge.source_alias)}")
    return _query(merge, ("SELECT * FROM (", *text, f") WHERE {CLAUSE} IS NOT NULL"))


def keeps_target(plan: MergePlan) -> bool:
    """Whether rows of the target count that have no match, or ON does not equate columns that could
    tell which have none.
    """
    return not plan.merge.keys or plan.join not in (MergeJoin.RIGHT_OUTER, MergeJoin.RIGHT_ANTI)


def whole_query(plan: MergePlan, *, source_view: str | None = None) -> BoundQuery:
    """LEADING_COLUMNS (no row numbers) and values of every row that some clause writes, by one
    join.

    ``source_view``: a view of the source's rows, which is then read twice: the target's rows whose
    keys it has not are left out before the join, because Spark does not broadcast the side of a
    join that keeps all its rows, however small that is.
    """
    merge = (
        plan.merge
        if source_view is None
        else replace(plan.merge, source=_view(plan.merge, source_view))
    )
    target, source = (
        _target(merge) if source_view is None else _target_by_keys(merge),
        _source(merge, None),
    )
    anti = plan.join in (MergeJoin.LEFT_ANTI, MergeJoin.RIGHT_ANTI)
    head = _select(
        merge,
        tuple(_numbered(merge)),
        _any_side if anti else _by_both(merge),
        ansi=plan.ansi,
        numbered="CAST(NULL AS bigint)",
        identity=_NO_IDENTITY if plan.join is MergeJoin.RIGHT_ANTI else None,
    )
    # Spark's anti join keeps its left side.
    left, right = (source, target) if plan.join is MergeJoin.RIGHT_ANTI else (target, source)
    words = "LEFT ANTI" if anti else plan.join.value
    text = (*head, " FROM ", *left, f" {words} JOIN ", *right, " ON ", *merge.on)
    return _query(merge, ("SELECT * FROM (", *text, f") WHERE {CLAUSE} IS NOT NULL"))


def changes_rows(clause: BoundMergeClause) -> bool:
    """Whether the clause acts on rows that are there, of which each may be changed once."""
    return clause.action is not MergeAction.INSERT


# ---- pieces

_NO_IDENTITY = (
    (
        "CAST(NULL AS bigint) AS originalTransaction, CAST(NULL AS int) AS bucket, CAST(NULL AS"
        " bigint) AS rowId"
    ),
)

_NOT_BEFORE_THE_JOIN = " + CAST(floor(rand(0)) AS int)"
"""0, which Spark's optimizer takes for another number each time."""

Clauses = Sequence[tuple[int, BoundMergeClause]]


def _numbered(merge: BoundMerge) -> Iterator[tuple[int, BoundMergeClause]]:
    return iter(enumerate(merge.clauses))


def _query(merge: BoundMerge, pieces: tuple[Piece, ...]) -> BoundQuery:
    return BoundQuery(
        text=QueryText(merge.text_source, pieces), reads=merge.reads, views=merge.views
    )


def _target(merge: BoundMerge) -> tuple[Piece, ...]:
    return (Slot(0), f" AS {identifier(merge.alias)}")


def _target_by_keys(merge: BoundMerge) -> tuple[Piece, ...]:
    """The rows of the target whose keys are among the source's."""
    alias, source = identifier(merge.alias), identifier(merge.source_alias)
    keys = ", ".join(
        f"{source}.{identifier(key)} AS acidsql_key{number}"
        for number, (_, key) in enumerate(merge.keys)
    )
    on = " AND ".join(
        f"{alias}.{identifier(column)} = acidsql_key{number}"
        for number, (column, _) in enumerate(merge.keys)
    )
    head = (f"(SELECT {alias}.* FROM ", Slot(0), f" AS {alias} LEFT SEMI JOIN (SELECT {keys} FROM ")
    return (*head, *merge.source, f") AS acidsql_keys ON {on}) AS {alias}")


def _source(merge: BoundMerge, numbered: str | None) -> tuple[Piece, ...]:
    """The source with a column SOURCE_ROW, which is NULL where an outer join found no row."""
    if numbered is not None:
        return _view(merge, numbered)
    return (
        f"(SELECT *, 0L AS {SOURCE_ROW} FROM ",
        *merge.source,
        f") AS {identifier(merge.source_alias)}",
    )


def _view(merge: BoundMerge, name: str) -> tuple[Piece, ...]:
    """A view that the query reads instead of the source, by the source's alias."""
    return (f"{identifier(name)} AS {identifier(merge.source_alias)}",)


Side = Callable[[BoundMergeClause], str]
"""The condition that tells by which sides of the join are there whether a clause is asked; "" where
the join leaves no choice.
"""


def _any_side(_: BoundMergeClause) -> str:
    return ""


def _by_source_row(merge: BoundMerge) -> Side:
    source_row = f"{identifier(merge.source_alias)}.{SOURCE_ROW}"
    tests = {
        Match.MATCHED: f"{source_row} IS NOT NULL",
        Match.NOT_MATCHED_BY_SOURCE: f"{source_row} IS NULL",
    }
    return lambda clause: tests[clause.match]


def _by_both(merge: BoundMerge) -> Side:
    source = f"{identifier(merge.source_alias)}.{SOURCE_ROW}"
    target = f"{identifier(merge.alias)}.ROW__ID.writeid"
    tests = {
        Match.MATCHED: f"{target} IS NOT NULL AND {source} IS NOT NULL",
        Match.NOT_MATCHED: f"{target} IS NULL",
        Match.NOT_MATCHED_BY_SOURCE: f"{source} IS NULL",
    }
    return lambda clause: tests[clause.match]


def _select(
    merge: BoundMerge,
    clauses: Clauses,
    side: Side,
    *,
    ansi: bool,
    numbered: str,
    identity: tuple[Piece, ...] | None = None,
    values: bool = True,
) -> tuple[Piece, ...]:
    """SELECT of LEADING_COLUMNS and the target's columns. The first clause whose conditions hold
    gives the values. ``ansi``: a condition that fails is an error, so that it must not be asked of
    rows that no pair has: Spark's optimizer would, in a scan.
    """
    pieces: list[Piece] = [f"SELECT {numbered} AS {SOURCE_ROW}, ", *_case(clauses, side)]
    pieces += [_NOT_BEFORE_THE_JOIN] if ansi else []
    pieces += [f" AS {CLAUSE}, ", *(identity or row_id_columns(merge.alias))]
    every = (*merge.table.columns, *merge.table.partition_columns)
    for number, clause in clauses if values else ():
        for ordinal, given in enumerate(clause.given):
            if given is not None:
                name = given_name(ordinal, number)
                pieces += [f", CASE {CLAUSE} WHEN {number} THEN (", *given, f") END AS {name}"]
    for ordinal, column in enumerate(every):
        if ordinal < len(merge.table.columns) and not values:
            continue
        pieces.append(f", CASE {CLAUSE} WHEN -1 THEN CAST(NULL AS {spark_type(column.type)})")
        for number, clause in clauses:
            if ordinal < len(clause.values):
                pieces += [f" WHEN {number} THEN ", *_value(number, clause, ordinal, column)]
            elif ordinal >= len(merge.table.columns):  # a changed row stays in its partition
                pieces.append(
                    f" WHEN {number} THEN {identifier(merge.alias)}.{identifier(column.name)}"
                )
        pieces.append(f" END AS {identifier(column.name)}")
    return tuple(pieces)


def _value(
    number: int, clause: BoundMergeClause, ordinal: int, column: Column
) -> tuple[Piece, ...]:
    """What a clause stores in a column; of a value that has a name, because more is asked of it, by
    that.
    """
    if clause.given[ordinal] is None:
        return clause.values[ordinal]
    return store_cast((given_name(ordinal, number),), column.type)


def _case(clauses: Clauses, side: Side) -> Iterator[Piece]:
    """The number of the first clause whose conditions hold."""
    yield "CASE WHEN FALSE THEN -1"
    for number, clause in clauses:
        yield f" WHEN {side(clause) or 'TRUE'}"
        if clause.condition is not None:
            yield from (" AND (", *clause.condition, ")")
        yield f" THEN {number}"
    yield " END"
