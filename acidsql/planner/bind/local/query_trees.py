"""A query as a tree that is understood in all its parts, so that its rows can be made without
Spark: plain data, which the binder fills and ``local.queries`` carries out.

Columns are named by one part each: those of the table by their names, ROW__ID and its fields by
``ROW_ID`` and ``ROW_ID_FIELDS``, the results of aggregates by ``Aggregate.name``.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from acidsql.acid.ids import ROW_ID_COLUMN
from acidsql.acid.orc_types import ID_FIELDS
from acidsql.catalog.model import DEFAULT_DATABASE, Column, SparkRelation
from acidsql.catalog.path_relation import PathRelation
from acidsql.catalog.types import ROW_ID_TYPE, HiveType, shown_type
from acidsql.errors import Span
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import VOID, ColumnRef, Condition
from acidsql.expressions.values import STRING
from acidsql.lazy import dataclass

if TYPE_CHECKING:
    from acidsql.planner.bind.bound import BoundQuery


ROW_ID = ROW_ID_COLUMN.lower()
"""The column of a row's whole identity."""

NAMELESS = ""
"""What a column is called whose name nobody asks for."""

ROW_ID_FIELDS: dict[str, tuple[str, HiveType]] = {
    f"{ROW_ID}.{part.name}": (stored, part.type)
    for part, stored in zip(ROW_ID_TYPE.fields, ID_FIELDS, strict=True)
}
"""The fields of ROW__ID as they are named in trees, which no column of a table can be: the id field
of the format that each is, and its type.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One column of the answer."""

    name: str
    value: Condition
    type: HiveType


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """What the rows of one group have in common. ``name``: of the column that it is to outputs,
    HAVING and ORDER BY; a column keeps its own.
    """

    name: str
    value: Condition
    type: HiveType

    @property
    def column(self) -> ColumnRef:
        return ColumnRef((self.name,), self.value.span)


class Function(StrEnum):
    """An aggregate. COUNT without an argument counts rows, COUNT_DISTINCT different values."""

    COUNT = "count"
    COUNT_DISTINCT = "count_distinct"
    MIN = "min"
    MAX = "max"
    SUM = "sum"
    AVG = "avg"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """``name``: of the column that its result is to outputs, HAVING and ORDER BY."""

    name: str
    function: Function
    argument: Condition | None
    argument_type: HiveType | None
    type: HiveType


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordering:
    value: Condition
    type: HiveType
    descending: bool
    nulls_first: bool


class WindowFunction(StrEnum):
    """What is computed of each row among those of its window; an aggregate is one, too."""

    ROW_NUMBER = "row_number"
    RANK = "rank"
    DENSE_RANK = "dense_rank"
    LAG = "lag"
    LEAD = "lead"
    FIRST_VALUE = "first_value"
    LAST_VALUE = "last_value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The rows of a window that a function sees from one of them: from ``first`` to ``last`` rows
    behind it, below 0 for those before it; None for the first and the last one of the window.
    """

    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """``name``: of the column that its values are to outputs and ORDER BY. ``partition``: the
    values that rows of one window have in common. ``frame``: None for the rows up to the last one
    that is equal in ``order``, which are all where there is none. ``offset``: of LAG and LEAD, in
    rows.
    """

    name: str
    function: WindowFunction | Function
    argument: Condition | None
    argument_type: HiveType | None
    offset: int
    frame: Frame | None = None
    partition: tuple[Condition, ...]
    order: tuple[Ordering, ...]
    type: HiveType


@dataclass(frozen=True, slots=True, kw_only=True)
class Semantics:
    """What the meaning of expressions depends on besides their words. ``only_spark``: why no query
    of the session is carried out but by Spark, such as a setting of Spark's that was changed.
    ``now``: the moment of the statement, with its zone. ``database``: the session's.
    """

    database: str = DEFAULT_DATABASE
    ansi: bool = False
    zone: str = "UTC"
    now: datetime.datetime | None = field(default=None, compare=False)
    only_spark: str | None = None


class JoinKind(StrEnum):
    """SEMI and ANTI keep the rows of the left side that have a match, or none."""

    INNER = "INNER"
    LEFT = "LEFT OUTER"
    RIGHT = "RIGHT OUTER"
    FULL = "FULL OUTER"
    SEMI = "LEFT SEMI"
    ANTI = "LEFT ANTI"


Columns = tuple[tuple[str, HiveType], ...]
"""Names in trees, and types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinTree:
    """The rows of two sources beside each other. ``keys``: pairs of values, of the left and the
    right side, both of one type, that must be equal; ``rest``: what else ON asks for. ``columns``:
    of both sides. ``shown``: ON in the user's words, "" for none.
    """

    number: int
    kind: JoinKind
    left: LocalSource
    right: LocalSource
    keys: tuple[tuple[Condition, Condition], ...]
    rest: Condition | None
    columns: tuple[Columns, Columns]
    shown: str
    semantics: Semantics


class SetKind(StrEnum):
    UNION_ALL = "UNION ALL"
    UNION = "UNION"
    INTERSECT = "INTERSECT"
    INTERSECT_ALL = "INTERSECT ALL"
    EXCEPT = "EXCEPT"
    EXCEPT_ALL = "EXCEPT ALL"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTree:
    """The rows of two queries that have columns of the same names and types."""

    number: int
    kind: SetKind
    left: LocalSource
    right: LocalSource
    columns: Columns


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonTable:
    """A query of WITH, whose rows are made once. ``columns``: as those that read it name them."""

    number: int
    name: str
    query: LocalQuery
    columns: Columns


class SubQueryKind(StrEnum):
    SCALAR = "scalar"
    IN = "IN"
    EXISTS = "EXISTS"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubQuery:
    """A query inside of an expression. ``name``: of the column that its answers are to the query
    around it. ``outer``: values of that, which are compared with as many of the last columns of
    ``query``. The column before them is what is looked up, of IN with ``operand``, of EXISTS there
    is none.
    """

    number: int
    name: str
    kind: SubQueryKind
    query: LocalQuery
    operand: Condition | None
    outer: tuple[Condition, ...]
    type: HiveType
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalQuery:
    """``read``: which of the query's reads gives the rows; None for ``files``, which it names by
    their path (``file_number``: that of the path among all), for ``values``, which stand in the
    statement behind FROM, for another ``source``, and for the one row of a SELECT without FROM.
    ``columns``: those of the read, the files or the source that are used, in their order;
    ``row_id``: its ROW__ID is. ``sub_queries``: those that trees name as columns.

    A query with ``grouped`` gives a row for each group of ``group_by`` (one row without any); its
    outputs, ``having`` and ``order`` are over the columns of these and the aggregates. ``windows``:
    those that outputs and ``order`` name as columns, over the groups where there are any. ``order``
    is over the columns of the table, also where ``distinct`` is asked: then each is an output, too.
    """

    read: int | None
    files: PathRelation | None = None
    file_number: int = 0
    values: LocalValues | None = None
    source: LocalSource | None = None
    sub_queries: tuple[SubQuery, ...] = ()
    columns: tuple[tuple[str, HiveType], ...] = ()
    row_id: bool = False
    outputs: tuple[Output, ...]
    where: Condition | None = None
    grouped: bool = False
    group_by: tuple[Grouping, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    having: Condition | None = None
    windows: tuple[Window, ...] = ()
    distinct: bool = False
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0
    semantics: Semantics = Semantics()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the read that its rows are made of, as a scan names them."""
        return tuple(name for name, _ in self.columns)

    @property
    def scan(self) -> int | None:
        """The number of the scan that its rows are made of; None for none. Those of files are
        below 0.
        """
        return self.read if self.files is None else -1 - self.file_number


LocalSource = LocalQuery | JoinTree | SetTree | CommonTable


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalValues:
    """Rows that stand in the statement, as expressions over no column. ``outputs``: names and
    types. ``stored``: the columns that store them, each value by itself. ``reported``: for each
    value whether it is a literal of which it is said already what its column makes of it.
    """

    outputs: tuple[Output, ...]
    rows: tuple[tuple[Condition, ...], ...]
    semantics: Semantics
    stored: tuple[Column, ...] = ()
    reported: tuple[tuple[bool, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What a column gets: the value, before it is cast to what the column stores. ``counted``: what
    the cast takes from it is told once the rows are written; of a literal it is told before.
    """

    column: Column
    value: Condition
    counted: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What a query reads that is no table. ``views``: the names that Spark knows. ``queries``: of
    the catalog's views, as ``Analysis`` has them. ``files``: by the places of their paths, or why
    only Spark reads them.
    """

    views: tuple[SparkRelation, ...] = ()
    queries: Mapping[tuple[Span, ...], str] = field(default_factory=dict)
    files: Mapping[Span, PathRelation | NotHere] = field(default_factory=dict)


def shown_columns(query: LocalQuery | LocalValues) -> tuple[tuple[str, HiveType], ...]:
    """The names and types of the columns that an answer has. NULL alone is shown as text."""
    return tuple(
        (output.name, STRING if output.type == VOID else shown_type(output.type))
        for output in query.outputs
    )


AnyQuery = TypeVar("AnyQuery", bound=LocalQuery | LocalValues)


def called(query: AnyQuery, names: Sequence[str]) -> AnyQuery:
    """The query with other names for its columns. NotHere if it has not as many."""
    if len(names) != len(query.outputs):
        raise NotHere("a list of other columns than the query has", query.outputs[0].value.span)
    pairs = zip(query.outputs, names, strict=True)
    return replace(query, outputs=tuple(replace(output, name=name) for output, name in pairs))


NOT_LOOKED_INTO = NotHere("only queries are looked into")


# ---- merge trees
#
# A MERGE that is understood in all its parts, as trees over pairs of rows: plain data, which the
# binder fills and ``local.merges`` carries out.


def of_target(name: str) -> str:
    """What trees call a column of the target."""
    return f"target.{name}"


def of_source(name: str) -> str:
    """What trees call a column of the source."""
    return f"source.{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalClause:
    """``values``: see BoundMergeClause."""

    condition: Condition | None
    values: tuple[Stored, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalKey:
    """Values of the target and of the source whose equality ON asks for, both of one type."""

    target: Condition
    source: Condition


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalMerge:
    """``source`` gives the source's rows, of columns ``source_types``. ``columns``: those of the
    target that trees name. ``rest``: what ON says besides that the ``keys`` are equal.
    """

    source: BoundQuery
    source_types: tuple[tuple[str, HiveType], ...]
    columns: tuple[tuple[str, HiveType], ...]
    keys: tuple[LocalKey, ...]
    rest: Condition | None
    clauses: tuple[LocalClause, ...]
    semantics: Semantics
    types: dict[str, HiveType] = field(compare=False)
    """The type of every column that trees may name."""
