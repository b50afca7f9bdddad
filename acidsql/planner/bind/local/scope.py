"""The columns that the expressions of an understood query may use: a table's, its ROW__ID, the
results of aggregates. Trees come out with one-part names, and with a type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from acidsql.catalog.model import Table
from acidsql.catalog.types import HiveType
from acidsql.expressions.not_here import THESE_WORDS, NotHere
from acidsql.expressions.tree import Call, Cast, ColumnRef, Condition, Constant, Unread, parts_of
from acidsql.expressions.values import STRING
from acidsql.expressions.vectors import vectorized
from acidsql.lazy_dataclass import dataclass
from acidsql.planner.bind.current_database import CALLS
from acidsql.planner.bind.local.query_trees import ROW_ID, ROW_ID_FIELDS, ROW_ID_TYPE, Semantics


@dataclass(slots=True, kw_only=True)
class Scope:
    """The columns of one table under an alias; or, without one, those of ``inline``, rows that
    stand in the statement or in files, as they call them. ``only_spark``: by their names in lower
    case, why some of these may not be used. ``used``: those that trees have named so far.
    """

    table: Table | None
    inline: tuple[tuple[str, HiveType], ...] = ()
    only_spark: Mapping[str, str] = field(default_factory=dict)
    alias: str
    semantics: Semantics
    used: set[str] = field(default_factory=set)
    types: dict[str, HiveType] = field(init=False)

    def __post_init__(self) -> None:
        self.types = {name.lower(): hive_type for name, hive_type in self.inline}
        if self.table is None:
            return
        for column in (*self.table.columns, *self.table.partition_columns):
            self.types[column.name] = column.type
        if self.table.is_full_acid:
            self.types[ROW_ID] = ROW_ID_TYPE
            self.types |= {name: hive_type for name, (_, hive_type) in ROW_ID_FIELDS.items()}

    @property
    def visible(self) -> list[str]:
        """The columns that a star stands for."""
        if self.table is None:
            return [name.lower() for name, _ in self.inline]
        return [c.name for c in (*self.table.columns, *self.table.partition_columns)]

    @property
    def uses_row_id(self) -> bool:
        return any(name == ROW_ID or name in ROW_ID_FIELDS for name in self.used)

    def used_columns(self) -> tuple[tuple[str, HiveType], ...]:
        """The columns of the table that trees have named, in its order; one all the same where
        there are none, for rows without a column cannot be counted.
        """
        names = [name for name in self.visible if name in self.used]
        if not names and not self.uses_row_id:
            keys = () if self.table is None else self.table.partition_columns
            every = [*(column.name for column in keys), *self.visible]
            names = [name for name in every if name not in self.only_spark][:1]
        return tuple((name, self.types[name]) for name in names)

    def name_of(self, ref: ColumnRef) -> str:
        """The one name of the column that a reference means. NotHere for any other thing,
        such as a field of a struct.
        """
        name = self._find(ref.parts)
        if name is None:
            raise NotHere(f'"{".".join(ref.parts)}"', ref.span)
        if name in self.only_spark:
            raise NotHere(self.only_spark[name], ref.span)
        self.used.add(name)
        return name

    def _find(self, parts: tuple[str, ...]) -> str | None:
        name = None if self.table is None else self.table.name
        if name is not None and parts[:2] == (name.database, name.table) and len(parts) > 2:
            parts = parts[2:] if self.alias == name.table else ()
        elif parts[0] == self.alias and len(parts) > 1:
            parts = parts[1:]
        column = ".".join(parts)
        plain = len(parts) == 1 or column in ROW_ID_FIELDS
        return column if plain and column in self.types else None

    def resolved(self, tree: Condition) -> Condition:
        """The tree with the columns' one-part names. NotHere."""
        match tree:
            case ColumnRef():
                return replace(tree, parts=(self.name_of(tree),))
            case Call(name, ()) if name in CALLS:
                return Constant(self.semantics.database, STRING, tree.span)
            case Call(arguments=arguments):
                return replace(tree, arguments=tuple(map(self.resolved, arguments)))
            case Cast(argument=argument):
                return replace(tree, argument=self.resolved(argument))
            case Unread():
                raise NotHere(THESE_WORDS, tree.span)
            case Constant():
                return tree

    def type_of(self, tree: Condition) -> HiveType:
        """The type of a resolved tree. NotHere if it is not understood in all its parts."""
        return type_of(tree, self.types, self.semantics)


def type_of(tree: Condition, types: Mapping[str, HiveType], semantics: Semantics) -> HiveType:
    """The type of a tree over columns of these types. NotHere."""
    if isinstance(tree, ColumnRef):
        return types[tree.parts[0]]
    named = {part.parts[0] for part in parts_of(tree) if isinstance(part, ColumnRef)}
    return vectorized(
        tree,
        {name: types[name] for name in named},
        ansi=semantics.ansi,
        zone=semantics.zone,
        now=semantics.now,
    ).type
