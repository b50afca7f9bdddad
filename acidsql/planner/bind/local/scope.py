"""The columns that the expressions of an understood query may use: a table's, its ROW__ID, those of
tables that are joined, the results of aggregates. Trees come out with one-part names, and with a
type.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Protocol, TypeVar

from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Column, ConstraintKind, ForeignTable, Partition, Table, TableName
from acidsql.catalog.path_relation import CopiedFiles, FileSource, FileStamp, PathRelation
from acidsql.catalog.types import ROW_ID_TYPE, HiveType, PrimitiveType
from acidsql.errors import BindError, NestingError, ParseError, Span, Warning
from acidsql.expressions.not_here import THESE_WORDS, NotHere
from acidsql.expressions.reader import read_expression
from acidsql.expressions.tree import (
    EXISTS,
    IN_QUERY,
    SCALAR_QUERY,
    VOID,
    Call,
    ColumnRef,
    Condition,
    Constant,
    Unread,
    parts_of,
    with_arguments,
)
from acidsql.expressions.values import STRING
from acidsql.expressions.vectors import Vector, store_cast, vectorized
from acidsql.lazy import dataclass
from acidsql.parser.tokens import tokenize
from acidsql.planner.bind.columns import CALLS
from acidsql.planner.bind.local.query_trees import (
    ROW_ID,
    ROW_ID_FIELDS,
    Columns,
    LocalQuery,
    LocalSource,
    LocalValues,
    Output,
    Semantics,
    Stored,
    SubQuery,
)
from acidsql.planner.bind.tables import default_of, rules_of
from acidsql.settings import Settings

QUERIES = frozenset((SCALAR_QUERY, IN_QUERY, EXISTS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where the rows of a scope come from, as the fields of LocalQuery."""

    read: int | None = None
    files: PathRelation | None = None
    file_number: int = 0
    values: LocalValues | None = None
    source: LocalSource | None = None


@dataclass(slots=True, kw_only=True)
class AnyScope(ABC):
    """What the scopes of one table and of several have in common. ``ask``: makes a SubQuery of the
    call of a query over the columns of the scope; None where none is looked into.
    """

    semantics: Semantics
    ask: Callable[[Call, AnyScope], SubQuery] | None = None
    sub_queries: dict[Span, SubQuery] = field(default_factory=dict)
    types: dict[str, HiveType] = field(default_factory=dict)

    @abstractmethod
    def column(self, ref: ColumnRef) -> Condition:
        """The column that a reference means, under its one-part name. NotHere for any other thing,
        such as a field of a struct.
        """

    @abstractmethod
    def knows(self, parts: tuple[str, ...]) -> bool:
        """Whether a name is that of a column of the scope."""

    @abstractmethod
    def star(self, qualifier: str) -> list[tuple[str, Condition]] | None:
        """The columns that a star stands for, with what they are called; None for a qualifier that
        is not known. ``qualifier``: "" for none. NotHere.
        """

    @abstractmethod
    def query(self, outputs: tuple[Output, ...], where: Condition | None) -> LocalQuery:
        """The query of these outputs over the rows of the scope."""

    def resolved(self, tree: Condition) -> Condition:
        """The tree with the columns' one-part names. NotHere."""
        match tree:
            case ColumnRef():
                return self.column(tree)
            case Call(name, ()) if name in CALLS:
                return Constant(self.semantics.database, STRING, tree.span)
            case Call(name) if name in QUERIES:
                return ColumnRef((self.sub_query(tree).name,), tree.span)
            case Unread():
                raise NotHere(THESE_WORDS, tree.span)
        return with_arguments(tree, self.resolved)

    def sub_query(self, call: Call) -> SubQuery:
        """The query that is called, as a column; asked again, the same one. NotHere."""
        if self.ask is None:
            raise NotHere("a sub-query", call.span)
        if call.span not in self.sub_queries:
            query = self.sub_queries[call.span] = self.ask(call, self)
            self.types[query.name] = query.type
        return self.sub_queries[call.span]

    def type_of(self, tree: Condition) -> HiveType:
        """The type of a resolved tree. NotHere if it is not understood in all its parts."""
        return type_of(tree, self.types, self.semantics)


@dataclass(slots=True, kw_only=True)
class Scope(AnyScope):
    """The columns of one table under an alias; or, without one, those of ``inline``, rows that
    stand in the statement, in files or come of another query, as these call them. ``only_spark``:
    by their names in lower case, why some of these may not be used. ``used``: those that trees have
    named so far. ``pushed``: conditions that the rows of a table that is joined must meet.
    """

    table: Table | None
    inline: Columns = ()
    only_spark: Mapping[str, str] = field(default_factory=dict)
    alias: str
    origin: Origin = Origin()
    used: set[str] = field(default_factory=set)
    pushed: list[Condition] = field(default_factory=list)

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

    def used_columns(self) -> Columns:
        """The columns of the table that trees have named, in its order; one all the same where
        there are none, for rows without a column cannot be counted.
        """
        names = [name for name in self.visible if name in self.used]
        if not names and not self.uses_row_id:
            keys = () if self.table is None else self.table.partition_columns
            every = [*(column.name for column in keys), *self.visible]
            names = [name for name in every if name not in self.only_spark][:1]
        return tuple((name, self.types[name]) for name in names)

    def column(self, ref: ColumnRef) -> ColumnRef:
        return replace(ref, parts=(self.name_of(ref),))

    def name_of(self, ref: ColumnRef) -> str:
        """The one name of the column that a reference means. NotHere as ``column``."""
        name = self.find(ref.parts)
        if name is None:
            raise NotHere(f'"{".".join(ref.parts)}"', ref.span)
        if name in self.only_spark:
            raise NotHere(self.only_spark[name], ref.span)
        self.used.add(name)
        return name

    def knows(self, parts: tuple[str, ...]) -> bool:
        return self.find(parts) is not None

    def find(self, parts: tuple[str, ...]) -> str | None:
        """The column that the parts of a name mean; None for none."""
        name = None if self.table is None else self.table.name
        if name is not None and parts[:2] == (name.database, name.table) and len(parts) > 2:
            parts = parts[2:] if self.alias == name.table else ()
        elif parts and parts[0] == self.alias and len(parts) > 1:
            parts = parts[1:]
        column = ".".join(parts)
        plain = len(parts) == 1 or column in ROW_ID_FIELDS
        return column if plain and column in self.types else None

    @property
    def shown(self) -> list[tuple[str, str]]:
        """What the columns are called that a star stands for, and their names."""
        names = [name for name, _ in self.inline] or self.visible
        return list(zip(names, self.visible, strict=True))

    def star(self, qualifier: str) -> list[tuple[str, Condition]] | None:
        if qualifier not in ("", self.alias) or not self.visible:
            return None
        nowhere = Span(0, 0)
        return [(name, self.column(ColumnRef((column,), nowhere))) for name, column in self.shown]

    def query(self, outputs: tuple[Output, ...], where: Condition | None) -> LocalQuery:
        origin = self.origin
        return LocalQuery(
            read=origin.read,
            files=origin.files,
            file_number=origin.file_number,
            values=origin.values,
            source=origin.source,
            columns=self.used_columns(),
            row_id=self.uses_row_id,
            sub_queries=tuple(self.sub_queries.values()),
            outputs=outputs,
            where=where,
            semantics=self.semantics,
        )


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


def all_of(conditions: Sequence[Condition]) -> Condition | None:
    """The conditions, none or several, as one."""
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return Call("AND", tuple(conditions), conditions[0].span)


# ---- stores
#
# What a column holds of a value: the store cast, DEFAULT, and the rules of a table.
#
# The same in Spark SQL: ``expressions.spark_words.store_cast``, ``bind.tables``.


_BOOLEAN = PrimitiveType("boolean")

T = TypeVar("T")


def understood(make: Callable[[], T], span: Span) -> T | NotHere:
    """What ``make`` gives, or why it is left to Spark. ``span``: of the whole it is about."""
    try:
        return make()
    except NotHere as signal:
        return signal.to_keep()
    except (ParseError, NestingError, RecursionError):
        return NotHere(THESE_WORDS, span)


def vector_of(tree: Condition, types: Mapping[str, HiveType], semantics: Semantics) -> Vector:
    """The tree over columns of these types. NotHere."""
    return vectorized(tree, types, ansi=semantics.ansi, zone=semantics.zone, now=semantics.now)


def stored(one: Stored, types: Mapping[str, HiveType], semantics: Semantics) -> Vector:
    """The value as its column stores it, over columns of these types. NotHere."""
    given = vector_of(one.value, types, semantics)
    return store_cast(given, one.column.type, ansi=semantics.ansi, span=one.value.span)


def default_tree(table: Table, column: Column, semantics: Semantics, span: Span) -> Condition:
    """What a column gets that no value was given for. NotHere, at ``span``."""
    text = default_of(table, column)
    if text is None:
        return Constant(None, VOID, span)
    tree = _read(text, f"the DEFAULT of {column.name}", span)
    _at(span, lambda: stored(Stored(column=column, value=tree), {}, semantics))
    return tree


def checks_of(table: Table, semantics: Semantics, span: Span) -> Iterator[Vector | None]:
    """For each of ``rules_of`` the condition of CHECK over the table's columns, None for NOT NULL.
    NotHere, at ``span``.
    """
    types = {c.name: c.type for c in (*table.columns, *table.partition_columns)}
    checks = {c.name: c for c in table.constraints if c.kind is ConstraintKind.CHECK}
    for rule in rules_of(table):
        if rule.column is not None:
            yield None
            continue
        tree = _read(checks[rule.name].expression or "", f"CHECK {rule.name}", span)
        vector = _at(span, lambda tree=tree: vector_of(tree, types, semantics))  # type: ignore[misc]
        if vector.type != _BOOLEAN:
            raise NotHere(f"CHECK {rule.name}", span)
        yield vector


def check_rules(table: Table, semantics: Semantics, span: Span) -> None:
    """NotHere, at ``span``, if a rule of the table is not."""
    for _ in checks_of(table, semantics, span):
        pass


def _read(text: str, words: str, span: Span) -> Condition:
    """The tree of a text that the catalog keeps."""
    tree = read_expression(text, tokenize(text))
    if tree is None:
        raise NotHere(words, span)
    return tree


def _at(span: Span, make: Callable[[], T]) -> T:
    """What is not understood of a text that the user did not write is so where it is needed."""
    try:
        return make()
    except NotHere as signal:
        raise NotHere(signal.reason, span) from None


# ---- surroundings
#
# What planning a statement may ask of the session that it is planned for.


OpenFiles = Callable[[FileSource], Table]
FindFiles = Callable[[str, str], PathRelation | NotHere]


class Copies(Protocol):
    """What COPY INTO asks of its session."""

    def stamps(self, source: FileSource) -> tuple[FileStamp, ...]:
        """The files, as they are. BindError if there is none."""

    def taken(self, table: Table, files: Sequence[FileStamp]) -> frozenset[FileStamp]:
        """The files that the table has taken once, the open transaction's among them."""

    def columns(self, source: FileSource, file: FileStamp) -> tuple[str, ...] | None:
        """The names of a file's columns; None where it has none. BindError, DataError."""

    def relations(self, files: CopiedFiles) -> tuple[Table, Table]:
        """The rows that fit, and what is known of the others; they wait to be read."""


def _no_copies() -> Copies:
    raise BindError("no session takes files")


def _no_rows(table: Table) -> Table:
    raise BindError(f"no session gives rows of {table.name} back")


def _no_files(files: FileSource) -> Table:
    raise BindError(f"no session reads {files.path}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the binder may ask: the catalog, the current database, and whether Spark's session has a
    view of a name.

    ``knows_function``: whether there may be one of that name, which Spark has not by itself.
    ``own_partitions``: of a table, those that the open transaction has made, which the catalog does
    not know yet. ``warn`` is given what the user should know of the statement. ``semantics``: what
    expressions mean in the session. ``frames``: what the session was given to be read under names
    in lower case; None is one that Spark's session has as a view. ``refreshed``: an attached
    table as its source tells it now. ``find_files``: those of a format at a path, or why only Spark
    reads them. ``open_files``: those that pyarrow reads, as a table. ``has_foreign``: whether
    Spark's session has a table of another catalog. ``copies``: what COPY INTO asks. ``returned``: a
    relation of rows that are to be written to a table.
    """

    catalog: Catalog
    database: str
    has_view: Callable[[str], bool] = lambda name: False
    knows_function: Callable[[str], bool] = lambda name: True
    user: str = ""
    now: int = 0
    settings: Settings = field(default_factory=Settings)
    own_partitions: Callable[[TableName], Iterable[Partition]] = lambda table: ()
    warn: Callable[[Warning], None] = lambda warning: None
    semantics: Semantics = field(default_factory=Semantics)
    frames: Mapping[str, Table | None] = field(default_factory=dict)
    refreshed: Callable[[Table], Table] = lambda table: table
    open_files: OpenFiles = _no_files
    has_foreign: Callable[[ForeignTable], bool] = lambda table: False
    find_files: FindFiles = lambda kind, path: NotHere("files by their path")
    copies: Callable[[], Copies] = _no_copies
    returned: Callable[[Table], Table] = _no_rows
