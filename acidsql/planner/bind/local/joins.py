"""Tables beside each other: which columns a name means, which parts of ON and WHERE are equal
values, and which are about the rows of one table alone.

A column of a joined table is called by a number of the table and its name in trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace

from acidsql.catalog.types import DecimalType, HiveType, PrimitiveType, VarcharType
from acidsql.errors import Span
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import (
    Call,
    Cast,
    ColumnRef,
    Condition,
    conjuncts,
    parts_of,
    with_arguments,
)
from acidsql.expressions.values import DOUBLE, FLOAT, STRING, wider_type
from acidsql.lazy import dataclass
from acidsql.planner.bind.local.query_trees import (
    ROW_ID,
    ROW_ID_FIELDS,
    Columns,
    JoinKind,
    JoinTree,
    LocalQuery,
    LocalSource,
    Output,
    Semantics,
)
from acidsql.planner.bind.local.scope import AnyScope, Scope, all_of, type_of

_KEY_TYPES = frozenset(
    map(PrimitiveType, "tinyint smallint int bigint string date timestamp boolean binary".split())
)
_SEPARATOR = "\x1f"
"""What nobody has in the name of a column."""
_KEEPS_LEFT = frozenset((JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI))
"""Joins that give no row of the right side without one of the left."""
_KEEPS_RIGHT = frozenset((JoinKind.INNER, JoinKind.RIGHT))
_ONLY_LEFT = frozenset((JoinKind.SEMI, JoinKind.ANTI))


def equal_sides(
    left: Condition,
    right: Condition,
    kinds: tuple[HiveType, HiveType],
    *,
    ansi: bool,
    floats: bool = False,
) -> tuple[Condition, Condition, HiveType] | None:
    """Both values in one type whose values are equal to Arrow where they are equal to Spark, and
    that type; None where there is none. ``floats``: also floating ones, of which the one who
    compares knows that NaN is equal to itself and -0.0 to 0.0.
    """
    kinds = _without_length(kinds[0]), _without_length(kinds[1])
    if kinds[0] != kinds[1] and STRING in kinds:
        return None
    common = wider_type(kinds[0], kinds[1], ansi=ansi)
    plain = common in _KEY_TYPES or (floats and common in (DOUBLE, FLOAT))
    if common is None or not (plain or isinstance(common, DecimalType)):
        return None
    return as_type(left, kinds[0], common), as_type(right, kinds[1], common), common


def as_type(value: Condition, kind: HiveType, wanted: HiveType) -> Condition:
    """A value of type ``kind`` as one of another type."""
    return value if kind == wanted else Cast(value, wanted, value.span)


def _without_length(kind: HiveType) -> HiveType:
    """A varchar's values are texts as they are, where a char's are compared without blanks."""
    return STRING if isinstance(kind, VarcharType) else kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A column that a name alone means behind a join, ``name`` as a star calls it. ``of``: the
    column of a table, or behind a FULL JOIN with USING those of which the first value is meant.
    """

    name: str
    of: tuple[tuple[Side, str], ...]

    @property
    def alias(self) -> str:
        """The alias of the table that has it; "" for a value of several."""
        return self.of[0][0].scope.alias if len(self.of) == 1 else ""

    def is_only(self, side: Side, column: str) -> bool:
        """Whether it is this column of a table, alone."""
        [(own, name), *others] = self.of
        return own is side and name == column and not others

    def tree(self, span: Span) -> Condition:
        columns = tuple(side.column(name, span) for side, name in self.of)
        return columns[0] if len(columns) == 1 else Call("COALESCE", columns, span)


@dataclass(slots=True, kw_only=True)
class Side:
    """A table of a join."""

    scope: Scope
    prefix: str
    visible: list[Named] = field(init=False)
    hidden: tuple[Named, ...] = ()

    def __post_init__(self) -> None:
        self.visible = [Named(name=name, of=((self, column),)) for name, column in self.scope.shown]

    @property
    def members(self) -> list[Side]:
        return [self]

    def column(self, name: str, span: Span) -> ColumnRef:
        """A column of the table, which is used with that, under its name in the join. NotHere."""
        return ColumnRef((self.named(self.scope.name_of(ColumnRef((name,), span))),), span)

    def absorbs(self, left: Condition, right: Condition) -> bool:
        return False

    def pushable(self) -> Iterator[Side]:
        """The tables whose rows a condition behind the join may leave out before it."""
        yield self

    def named(self, name: str) -> str:
        return f"{self.prefix}{_SEPARATOR}{name}"

    def columns(self) -> Columns:
        scope = self.scope
        ids = (ROW_ID, *ROW_ID_FIELDS)
        names = [*(n for n in ids if n in scope.used), *(n for n, _ in scope.used_columns())]
        return tuple((self.named(name), scope.types[name]) for name in names)

    def tree(self) -> LocalQuery:
        """The columns that are used, under their names in the join."""
        outputs = tuple(
            Output(
                name=name,
                value=ColumnRef((name.removeprefix(self.named("")),), Span(0, 0)),
                type=kind,
            )
            for name, kind in self.columns()
        )
        return self.scope.query(outputs, all_of(self.scope.pushed))

    def push(self, tree: Condition) -> None:
        """Makes a condition over columns of the join one of the table's own."""
        self.scope.pushed.append(renamed(tree, lambda name: name.removeprefix(self.named(""))))


@dataclass(slots=True, kw_only=True)
class Join:
    """``visible``: the columns that a star and names alone mean behind it. ``hidden``: those that
    need the name of their table, because USING has put another in their place.
    """

    number: int
    kind: JoinKind
    left: Side | Join
    right: Side | Join
    shown: str
    semantics: Semantics
    keys: list[tuple[Condition, Condition]] = field(default_factory=list)
    rest: list[Condition] = field(default_factory=list)
    visible: list[Named] = field(init=False)
    hidden: list[Named] = field(init=False)

    def __post_init__(self) -> None:
        self.visible = [*self.left.visible, *self._right(self.right.visible)]
        self.hidden = [*self.left.hidden, *self._right(self.right.hidden)]

    def _right(self, columns: Sequence[Named]) -> Sequence[Named]:
        return () if self.kind in _ONLY_LEFT else columns

    @property
    def members(self) -> list[Side]:
        """The tables whose columns may be named behind the join."""
        return self.left.members if self.kind in _ONLY_LEFT else self.both

    @property
    def both(self) -> list[Side]:
        return [*self.left.members, *self.right.members]

    @property
    def types(self) -> dict[str, HiveType]:
        return {
            side.named(name): kind for side in self.both for name, kind in side.scope.types.items()
        }

    def pushable(self) -> Iterator[Side]:
        if self.kind in _KEEPS_LEFT:
            yield from self.left.pushable()
        if self.kind in _KEEPS_RIGHT:
            yield from self.right.pushable()

    def columns(self) -> Columns:
        right = () if self.kind in _ONLY_LEFT else self.right.columns()
        return (*self.left.columns(), *right)

    def tree(self) -> JoinTree:
        return JoinTree(
            number=self.number,
            kind=self.kind,
            left=self.left.tree(),
            right=self.right.tree(),
            keys=tuple(self.keys),
            rest=all_of(self.rest),
            columns=(self.left.columns(), self.right.columns()),
            shown=self.shown,
            semantics=self.semantics,
        )

    # ---- conditions

    def use(self, names: tuple[str, ...], span: Span) -> None:
        """Takes USING: columns of these names are equal, are one behind the join, and come first.
        NotHere.
        """
        lefts, rights = (
            [_only(side.visible, name, span) for name in names] for side in (self.left, self.right)
        )
        for left, right in zip(lefts, rights, strict=True):
            self.take(Call("=", (left.tree(span), right.tree(span)), span))
        common, dropped = lefts, self._right(rights)
        if self.kind is JoinKind.RIGHT:
            common, dropped = rights, lefts
        elif self.kind is JoinKind.FULL:
            pairs = zip(lefts, rights, strict=True)
            common = [Named(name=one.name, of=(*one.of, *other.of)) for one, other in pairs]
            dropped = [*lefts, *rights]
        taken = {id(column) for column in (*lefts, *rights)}
        self.visible = [*common, *(one for one in self.visible if id(one) not in taken)]
        self.hidden = [*dropped, *self.hidden]

    def natural(self, span: Span) -> tuple[str, ...]:
        """The names that both sides have, of which NATURAL speaks. NotHere."""
        left, right = ([column.name for column in side.visible] for side in (self.left, self.right))
        names = [name for name in left if name in right]
        if len(names) != len({n.lower() for n in left} & {n.lower() for n in right}):
            raise NotHere("a natural join of these names", span)
        if not names:
            raise NotHere("a natural join without a common name", span)
        return tuple(name.lower() for name in names)

    def take(self, condition: Condition) -> None:
        """Takes the parts of ON."""
        for part in conjuncts(condition):
            if not (self._takes_key(part) or self._pushes(part)):
                self.rest.append(part)

    def _takes_key(self, part: Condition) -> bool:
        match part:
            case Call("=", (one, other)):
                return self._equal(one, other) or self._equal(other, one)
        return False

    def _equal(self, left: Condition, right: Condition) -> bool:
        if not (_is_of(left, self.left.members) and _is_of(right, self.right.members)):
            return False
        kinds = [type_of(side, self.types, self.semantics) for side in (left, right)]
        equal = equal_sides(
            left, right, (kinds[0], kinds[1]), ansi=self.semantics.ansi, floats=True
        )
        if equal is None:
            return False
        for side in equal[:2]:
            type_of(side, self.types, self.semantics)
        self.keys.append(equal[:2])
        return True

    def _pushes(self, part: Condition) -> bool:
        """Whether a part of ON is about the rows of one side that need not be kept."""
        sides: list[Side] = []
        if self.kind is not JoinKind.FULL and self.kind is not JoinKind.RIGHT:
            sides += self.right.pushable()
        if self.kind in (JoinKind.INNER, JoinKind.RIGHT, JoinKind.SEMI):
            sides += self.left.pushable()
        return push(part, sides)

    def absorbs(self, left: Condition, right: Condition) -> bool:
        """Whether an equality of WHERE became one of ON."""
        if self.kind is JoinKind.INNER and (self._equal(left, right) or self._equal(right, left)):
            return True
        inside: list[Side | Join] = [self.left] if self.kind in _KEEPS_LEFT else []
        inside += [self.right] if self.kind in _KEEPS_RIGHT else []
        return any(
            one.absorbs(left, right)
            for one in inside
            if _is_of(left, one.members) and _is_of(right, one.members)
        )


def push(part: Condition, sides: list[Side]) -> bool:
    """Whether a condition is about the rows of one of the tables alone, which takes it then."""
    side = next((one for one in sides if _is_of(part, [one])), None)
    if side is not None:
        side.push(part)
    return side is not None


def _only(columns: list[Named], name: str, span: Span) -> Named:
    """The one column of a name. NotHere."""
    matching = [column for column in columns if column.name.lower() == name]
    if len(matching) != 1:
        raise NotHere(f'which "{name}" is meant' if matching else f'"{name}"', span)
    return matching[0]


def _is_of(tree: Condition, sides: list[Side]) -> bool:
    """Whether a tree names columns of these tables, and no others."""
    names = [part.parts[0] for part in parts_of(tree) if isinstance(part, ColumnRef)]
    return bool(names) and all(
        any(name.startswith(side.named("")) for side in sides) for name in names
    )


def renamed(tree: Condition, name: Callable[[str], str]) -> Condition:
    """The tree with other names for its columns."""
    if isinstance(tree, ColumnRef):
        return replace(tree, parts=(name(tree.parts[0]),))
    return with_arguments(tree, lambda one: renamed(one, name))


@dataclass(slots=True, kw_only=True)
class JoinedScope(AnyScope):
    """The columns of the tables of a join."""

    join: Join

    def __post_init__(self) -> None:
        self.types = dict(self.join.types)

    def column(self, ref: ColumnRef) -> Condition:
        if len(ref.parts) == 1 and ref.parts[0] != ROW_ID:
            return _only(self.join.visible, ref.parts[0], ref.span).tree(ref.span)
        having = [(s, name) for s in self.join.members if (name := s.scope.find(ref.parts))]
        shown = ".".join(ref.parts)
        if len(having) != 1:
            raise NotHere(f'which "{shown}" is meant' if having else f'"{shown}"', ref.span)
        side, name = having[0]
        hidden = any(one.is_only(side, name) for one in self.join.hidden)
        if hidden and any(one.name.lower() == ref.parts[0] for one in self.join.visible):
            raise NotHere(f'"{shown}"', ref.span)  # a field of a column to Spark
        return side.column(name, ref.span)

    def knows(self, parts: tuple[str, ...]) -> bool:
        return any(side.scope.knows(parts) for side in self.join.members)

    def star(self, qualifier: str) -> list[tuple[str, Condition]] | None:
        columns = self.join.visible
        if qualifier:
            every = (*self.join.hidden, *columns)  # in this order, as Spark has it
            columns = [one for one in every if one.alias == qualifier]
        return [(one.name, one.tree(Span(0, 0))) for one in columns] or None

    def query(self, outputs: tuple[Output, ...], where: Condition | None) -> LocalQuery:
        rest = [] if where is None else [part for part in conjuncts(where) if not self._takes(part)]
        source: LocalSource = self.join.tree()
        return LocalQuery(
            read=None,
            source=source,
            columns=self.join.columns(),
            sub_queries=tuple(self.sub_queries.values()),
            outputs=outputs,
            where=all_of(rest),
            semantics=self.semantics,
        )

    def _takes(self, part: Condition) -> bool:
        """Whether a part of WHERE is seen to by the join."""
        match part:
            case Call("=", (left, right)) if self.join.absorbs(left, right):
                return True
        return push(part, list(self.join.pushable()))
