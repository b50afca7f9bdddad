"""Which join meets the clauses of a MERGE, and whether the source alone decides."""

from __future__ import annotations

from enum import StrEnum

from acidsql.parser.statements import Match
from acidsql.planner.bind.bound import BoundMerge


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
