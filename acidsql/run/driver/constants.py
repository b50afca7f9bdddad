"""Parts of a statement that are the same for every row. They are computed before the first row is
read: one that fails is an error whether a row needs it or not, as it is to Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from acidsql.arrow_arrays import row_of_nothing
from acidsql.expressions.tree import ColumnRef, Condition, Constant, constants_in
from acidsql.expressions.vectors import Vector
from acidsql.planner.bind.local.merge_trees import LocalMerge
from acidsql.planner.bind.local.query_trees import LocalQuery, Semantics, Stored
from acidsql.planner.bind.local.stores import stored, vector_of


def check_query(query: LocalQuery) -> None:
    """Computes the constants of a query. NotHere."""
    trees = [output.value for output in query.outputs]
    trees += [one.argument for one in query.aggregates if one.argument is not None]
    trees += [one.value for one in query.order]
    trees += [tree for tree in (query.where, query.having) if tree is not None]
    _compute(_vectors(trees, query.semantics))


def check_stores(
    stores: Iterable[Stored], given: dict[str, Condition], semantics: Semantics
) -> None:
    """Computes what columns store of the constants among values: those that the stores themselves
    have, or name as in ``given``. NotHere.
    """
    for one in stores:
        value = one.value
        if isinstance(value, ColumnRef):
            value = given.get(".".join(value.parts), value)
        if isinstance(value, Constant) or value in constants_in(value):
            _compute([stored(Stored(column=one.column, value=value), {}, semantics)])
        else:
            _compute(_vectors([value], semantics))


def check_merge(merge: LocalMerge) -> None:
    """Computes the constants of ON and of the clauses. NotHere."""
    trees = [side for key in merge.keys for side in (key.target, key.source)]
    trees += [c.condition for c in merge.clauses if c.condition is not None]
    trees += [] if merge.rest is None else [merge.rest]
    _compute(_vectors(trees, merge.semantics))
    for clause in merge.clauses:
        check_stores(clause.values, {}, merge.semantics)


def _vectors(trees: Iterable[Condition], semantics: Semantics) -> Iterator[Vector]:
    for tree in trees:
        for constant in constants_in(tree):
            yield vector_of(constant, {}, semantics)


def _compute(vectors: Iterable[Vector]) -> None:
    for vector in vectors:
        nothing = row_of_nothing()
        vector.run(nothing)
