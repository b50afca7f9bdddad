"""What GROUP BY groups by: columns, and expressions over them, each of which is a column to the
rest of the query.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

from acidsql.catalog.types import HiveType
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import OVER, Call, Cast, ColumnRef, Condition, Unread, parts_of
from acidsql.lazy_dataclass import dataclass
from acidsql.planner.bind.local.aggregates import holds_aggregate, is_groupable
from acidsql.planner.bind.local.query_trees import Grouping
from acidsql.planner.bind.local.scope import QUERIES, AnyScope


@dataclass(slots=True, kw_only=True)
class Groupings:
    """The groupings of one query over the columns of ``scope``, by their values; the same one
    counts once.
    """

    scope: AnyScope
    known: dict[Condition, Grouping] = field(default_factory=dict)

    @property
    def types(self) -> dict[str, HiveType]:
        """Their columns."""
        return {one.name: one.type for one in self.known.values()}

    def add(self, tree: Condition) -> None:
        """Groups by a tree of the query's words. NotHere."""
        if not _is_plain(tree) or holds_aggregate(tree):
            raise NotHere("groups of such values", tree.span)
        if not any(isinstance(part, ColumnRef) for part in parts_of(tree)):
            raise NotHere("groups of a constant", tree.span)
        self.add_value(self.scope.resolved(tree))

    def add_value(self, value: Condition) -> None:
        """Groups by a tree that is resolved. NotHere."""
        hive_type = self.scope.type_of(value)
        if not is_groupable(hive_type):
            raise NotHere("groups of such values", value.span)
        name = value.parts[0] if isinstance(value, ColumnRef) else f"group.{len(self.known)}"
        self.known.setdefault(value, Grouping(name=name, value=value, type=hive_type))

    def column(
        self, tree: Condition, is_own: Callable[[ColumnRef], bool] | None = None
    ) -> ColumnRef | None:
        """The column that a tree of the query's words is behind the groups; None for one that is
        none of them. ``is_own``: whether a name means a column of the table; None where all do.
        """
        if not isinstance(tree, ColumnRef | Call | Cast) or not _is_plain(tree):
            return None
        names = [part for part in parts_of(tree) if isinstance(part, ColumnRef)]
        if not names or not all(self.scope.knows(ref.parts) for ref in names):
            return None
        if is_own is not None and not all(map(is_own, names)):
            return None
        grouping = self.known.get(self.scope.resolved(tree))
        return None if grouping is None else replace(grouping.column, span=tree.span)


def _is_plain(tree: Condition) -> bool:
    """Whether neither a query nor a window is in a tree, nor words that are not understood."""
    return not any(
        isinstance(part, Unread) or (isinstance(part, Call) and part.name in (*QUERIES, OVER))
        for part in parts_of(tree)
    )
