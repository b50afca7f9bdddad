"""A condition as a tree that knows the place of each of its parts in the user's text: what
partition pruning can look into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from typing import Any

from acidsql.catalog.types import HiveType, PrimitiveType
from acidsql.errors import Span
from acidsql.lazy_dataclass import dataclass

VOID = PrimitiveType("void")
"""The type of NULL."""
TODAY, NOW = "CURRENT_DATE", "CURRENT_TIMESTAMP"
"""The calls of them, with brackets or without."""
SCALAR_QUERY, IN_QUERY, EXISTS = "SCALAR QUERY", "IN QUERY", "EXISTS"
"""The calls of queries, whose words are ``Unread``: the last argument."""
OVER = "OVER"
"""The call of a function over a window: the call itself, and the words in the brackets."""


@dataclass(frozen=True, slots=True)
class Constant:
    value: Any
    type: HiveType
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """The dotted parts of a column's name in lower case."""

    parts: tuple[str, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or a function in upper case: ``AND``, ``=``, ``BETWEEN``, ``IS NULL``, ``CASE``,
    ``SUBSTR``.

    CASE has the pairs of its branches and then ELSE's value (NULL where there is none).
    """

    name: str
    arguments: tuple[Condition, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Cast:
    argument: Condition
    type: HiveType
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unread:
    """Words that were not understood."""

    span: Span = field(compare=False, repr=False)


Condition = Constant | ColumnRef | Call | Cast | Unread


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionCondition:
    """A condition over partition columns alone that is true for every partition with a row the
    statement needs.

    ``sql``: the user's words for it as Spark SQL, the columns without qualifiers. ``tomorrow``:
    where they speak of today, the same a day later: midnight may come before the statement reads
    its rows.
    """

    sql: str
    tree: Condition
    tomorrow: str | None = None

    @property
    def whenever(self) -> str:
        """Spark SQL that is true where the condition is, today or tomorrow."""
        return self.sql if self.tomorrow is None else f"({self.sql}) OR ({self.tomorrow})"

    def __str__(self) -> str:
        return self.sql


def conjuncts(condition: Condition) -> list[Condition]:
    """The parts of an AND, and of those inside it."""
    parts: list[Condition] = []
    rest = [condition]
    while rest:
        part = rest.pop()
        if isinstance(part, Call) and part.name == "AND":
            rest += reversed(part.arguments)
        else:
            parts.append(part)
    return parts


def with_arguments(tree: Condition, change: Callable[[Condition], Condition]) -> Condition:
    """The tree with each of its arguments changed."""
    match tree:
        case Call(arguments=arguments):
            return replace(tree, arguments=tuple(map(change, arguments)))
        case Cast(argument=argument):
            return replace(tree, argument=change(argument))
    return tree


def parts_of(condition: Condition) -> Iterator[Condition]:
    """It and all that is in it."""
    rest = [condition]
    while rest:
        part = rest.pop()
        yield part
        rest += reversed(_arguments(part))


BRANCHES = frozenset(("CASE", "IF", "COALESCE", "NVL", "IFNULL", "NVL2", "NULLIF"))
"""What computes some of its operands for some rows alone."""


def constants_in(condition: Condition) -> Iterator[Condition]:
    """The largest parts that are the same for every row and are computed for all of them: no mere
    literals, and nothing inside of a branch that is not constant as a whole.
    """
    rest = [condition]
    while rest:
        part = rest.pop()
        if isinstance(part, ColumnRef | Constant | Unread):
            continue
        if not any(isinstance(inner, ColumnRef | Unread) for inner in parts_of(part)):
            yield part
        elif not isinstance(part, Call) or part.name not in BRANCHES:
            rest += reversed(_arguments(part))


def is_higher(condition: Condition, levels: int) -> bool:
    """Whether the tree has more levels; found without recursion."""
    level = [condition]
    for _ in range(levels):
        level = [argument for one in level for argument in _arguments(one)]
    return bool(level)


def _arguments(condition: Condition) -> tuple[Condition, ...]:
    match condition:
        case Call(_, arguments):
            return arguments
        case Cast(argument):
            return (argument,)
    return ()
