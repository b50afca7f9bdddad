"""Operators: what is done for a statement, as data. EXPLAIN prints their words, the interpreter in
``run/`` walks them, EXPLAIN ANALYZE prints those that ran.

An operator says what is done. What only shows when a statement runs (how many rows there are, what
statistics tell) is a ``FirstOf``: its ways are tried in their order, and the first that goes
through is taken. A way that does not says why by ``NotHere``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from acidsql.catalog.path_relation import PathRelation
from acidsql.catalog.types import HiveType, PrimitiveType
from acidsql.errors import Span
from acidsql.expressions.spark_words import Slice, Slot
from acidsql.expressions.tree import PartitionCondition
from acidsql.lazy import dataclass
from acidsql.parser.tokens import Token, TokenKind, tokens_in
from acidsql.planner.bind.bound import BoundLoad, BoundQuery, BoundRead, BoundRows
from acidsql.planner.bind.local.query_trees import (
    ROW_ID,
    CommonTable,
    JoinTree,
    LocalQuery,
    SetTree,
    SubQuery,
)
from acidsql.planner.bind.query_scopes import Relation, whole_condition
from acidsql.planner.bind.tables import Rule

if TYPE_CHECKING:
    from acidsql.storage.unload.destination import Destination


# ---- counting
#
# Recognises ``SELECT count(*) FROM t [WHERE ..]``, which the engine can answer by what files and
# deletes say of themselves.
#
# Word by word: whatever else stands in the text makes it a query like any other.


DEFAULT_NAME = "count(1)"
"""What Spark calls the column of ``count(*)`` and of ``count(1)``."""

_NO_ALIAS = frozenset("FROM OVER FILTER WITHIN RESPECT IGNORE AS".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCount:
    """The query counts the rows of its one read. ``name``: of its column.

    ``condition``: which partitions' rows, None for all: a condition over the values of the
    partition columns alone.
    """

    name: str
    condition: PartitionCondition | None = None
    type: ClassVar[HiveType] = PrimitiveType("bigint")


def row_count(query: BoundQuery) -> RowCount | None:
    """What a query that only counts the rows of one table asks for; None for any other query."""
    if len(query.reads) != 1 or query.views:
        return None
    match query.text.pieces:
        case (Slice(head), Slot(0), Slice(tail)) | (Slice(head), Slot(0), str(), Slice(tail)):
            name = _counted_as(tokens_in(query.text.source, head))
            return None if name is None else _of_rows(query.text.source, query.reads[0], tail, name)
    return None


def _counted_as(tokens: list[Token]) -> str | None:
    """The name of the column of ``SELECT count(*) [AS name] FROM``; None if the tokens are not
    that.
    """
    match tokens:
        case [select, count, opening, counted, closing, *alias, from_]:
            every_row = counted.is_mark("*") or (
                counted.kind is TokenKind.NUMBER and counted.text == "1"
            )
            words = (select.word, count.word, from_.word) == ("SELECT", "COUNT", "FROM")
            if words and every_row and opening.is_mark("(") and closing.is_mark(")"):
                return _alias(alias) if alias else DEFAULT_NAME
    return None


def _alias(tokens: list[Token]) -> str | None:
    match tokens:
        case [as_, name] if as_.word == "AS" and _is_name(name):
            return name.text
        case [name] if _is_name(name):
            return name.text
    return None


def _is_name(token: Token) -> bool:
    return token.kind is TokenKind.QUOTED or (
        token.kind is TokenKind.WORD and token.word not in _NO_ALIAS
    )


def _of_rows(source: str, read: BoundRead, tail: Span, name: str) -> RowCount | None:
    """The count of a table's rows, if the query has nothing but a WHERE over partition columns.
    ``tail``: the text behind the table's name.
    """
    condition = read.condition
    end = tail.end if condition is None else condition.span.start
    tokens = tokens_in(source, Span(tail.start, end))
    where = next((i for i, token in enumerate(tokens) if token.word == "WHERE"), len(tokens))
    alias = read.table.name.table
    if where:
        written = _alias(tokens[:where])
        if written is None:
            return None
        alias = written.lower()
    if where == len(tokens):
        return RowCount(name=name)
    if condition is None:
        return None
    around = [*tokens[where + 1 :], *tokens_in(source, Span(condition.span.end, tail.end))]
    if not all(token.is_mark("(") or token.is_mark(")") for token in around):
        return None
    relation = Relation.of(read.table, alias)
    whole = whole_condition(source, condition, relation) if relation.partitioned else None
    return None if whole is None else RowCount(name=name, condition=whole)


# ---- operators


ONCE = "no row of the target is changed by two rows of the source"
ONE_OF = "of several changes of one row one is made"


class Effect(StrEnum):
    """What becomes of the rows a statement has found."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"
    MERGE = "merge"


def size_words(count: int) -> str:
    """Bytes as people write them."""
    for unit in ("bytes", "KB", "MB"):
        if count < 1024 or count % 1024:
            return f"{count} {unit}"
        count //= 1024
    return f"{count} GB"


def _at_most(most: int | None) -> str:
    return "" if most is None else f", at most {size_words(most)}"


# ---- carried out by the driver


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRows:
    """Statistics, or the footers of files and the ids of delete events, tell how many rows there
    are.
    """

    read: BoundRead
    count: RowCount

    words = "count the rows: by statistics, or by footers and delete events, without Spark"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalScan:
    """The driver reads the ``columns`` of a table under the statement's snapshot, for ``query``.
    ``max_bytes``: unless they weigh more, with those of the scans before it and of the one that
    comes ``behind`` them; None for whatever they weigh.
    """

    read: BoundRead
    number: int
    columns: tuple[str, ...]
    max_bytes: int | None
    query: LocalQuery | None = field(default=None, compare=False, repr=False)
    behind: LocalScan | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that lie in files of the table, or are its partitions' values."""
        return tuple(name for name in self.columns if name != ROW_ID)

    @property
    def name(self) -> str:
        return str(self.read.table.name)

    @property
    def words(self) -> str:
        return f"read {', '.join(self.columns) or 'no column'} of {self.name}" + _at_most(
            self.max_bytes
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFiles:
    """The driver reads the ``columns`` of files that the statement names by their path.
    ``number``: that of the query whose rows they are (``LocalQuery.scan``). ``max_bytes``,
    ``behind``: as for LocalScan.
    """

    relation: PathRelation
    number: int
    columns: tuple[str, ...]
    max_bytes: int | None
    behind: LocalScan | None = None

    @property
    def name(self) -> str:
        return str(self.relation)

    @property
    def words(self) -> str:
        return f"read {', '.join(self.columns) or 'no column'} of {self.name}" + _at_most(
            self.max_bytes
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonRows:
    """The driver makes the rows of a query of WITH."""

    table: CommonTable = field(compare=False, repr=False)
    max_bytes: int | None

    @property
    def words(self) -> str:
        return f"make the rows of {self.table.name}{_at_most(self.max_bytes)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinRows:
    """The driver joins the rows of what its scans read, or of other operators before it."""

    tree: JoinTree = field(compare=False, repr=False)
    max_bytes: int | None

    @property
    def words(self) -> str:
        kind = "CROSS" if not self.tree.keys and self.tree.rest is None else self.tree.kind
        on = f": {self.tree.shown}" if self.tree.shown else ""
        return f"{kind.lower()} join on the driver{_at_most(self.max_bytes)}{on}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRows:
    """The driver makes the rows of a set operation."""

    tree: SetTree = field(compare=False, repr=False)
    max_bytes: int | None

    @property
    def words(self) -> str:
        return f"{self.tree.kind} on the driver{_at_most(self.max_bytes)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubQueryRows:
    """The driver makes the rows of a query that stands in an expression."""

    query: SubQuery = field(compare=False, repr=False)
    max_bytes: int | None

    @property
    def words(self) -> str:
        return f"make the rows of a sub-query{_at_most(self.max_bytes)}: {self.query.shown}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalRows:
    """The driver makes the rows of the query of what its scans read, unless it finds a value that
    only Spark can tell, or they weigh more than ``max_bytes``. ``streams``: if they are many, they
    are made while they are written.
    """

    query: BoundQuery
    max_bytes: int | None = None
    streams: bool = False

    words = "make the rows on the driver"


@dataclass(frozen=True, slots=True, kw_only=True)
class Literals:
    """Rows that stand in the statement."""

    source: BoundRows

    @property
    def words(self) -> str:
        return f"{len(self.source.rows)} literal rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class FindFiles:
    """The files that LOAD DATA names are found and looked into."""

    load: BoundLoad

    @property
    def words(self) -> str:
        how = "copied from the local file system" if self.load.local else "moved"
        return f"files: {self.load.path}, {how}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeFiles:
    """Files become files of the table as they are."""

    load: BoundLoad

    words = "take the files as they are"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalCheck:
    """Each new row on the driver is held against the table's constraints."""

    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFiles:
    """The driver writes the final files of rows it holds."""

    effect: Effect

    words = "write the files on the driver"


@dataclass(frozen=True, slots=True, kw_only=True)
class CountChanges:
    """In place of ``WriteFiles`` in a dry run: rows are counted by clause, partition and bucket."""

    effect: Effect

    words = "count the rows that would be written"


# ---- MERGE: rows of the target beside those of the source


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUp:
    """The target's rows are found on the driver by the values of their key columns, unless the
    files of ``scan``, which would be read else, weigh too much.
    """

    keys: tuple[str, ...]
    scan: LocalScan | None = None

    @property
    def words(self) -> str:
        return f"look the rows of the target up by {', '.join(self.keys)} on the driver"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalJoin:
    """The driver joins the target with the source's rows; ``kind`` and ``on`` in SQL's words. It
    goes through as ``LocalRows`` does.
    """

    kind: str
    on: str
    max_bytes: int | None

    @property
    def words(self) -> str:
        return f"join on the driver{_at_most(self.max_bytes)}: {self.on}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalInsertUnmatched:
    """Rows of the source that no pair names become new rows, made by the driver."""

    words = "insert the rows of the source that have no match"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOnce:
    """No row of the target is changed by two rows of the source; without ``check`` one of its
    changes is made.
    """

    check: bool

    @property
    def words(self) -> str:
        return f"check: {ONCE}" if self.check else f"no check: {ONE_OF}"


# ---- carried out by Spark


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """The files of a table under the statement's snapshot become a view: slot ``number`` of its
    query. ``counting``: no column is asked for but those of partitions.
    """

    read: BoundRead
    number: int
    counting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Spark plans the query over the views of the scans."""

    query: BoundQuery

    @property
    def words(self) -> str:
        return f"spark: {self.query.shown()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Collect:
    """Spark runs the query, and its rows come to the caller."""

    words = "collect the rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFiles:
    """Spark reads the rows of files that were found."""

    words = "spark: the rows of the files"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Each new row of Spark's is held against the table's constraints."""

    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """The rows come to the driver, unless they weigh more than ``max_bytes``."""

    effect: Effect
    max_bytes: int

    @property
    def words(self) -> str:
        return f"fetch the rows{_at_most(self.max_bytes)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSource:
    """The rows of MERGE's source come to the driver, unless they weigh more than ``max_bytes``.
    ``copies``: that is of use only where values are columns of the source as they are.
    """

    max_bytes: int
    copies: bool

    @property
    def words(self) -> str:
        return f"fetch the source{_at_most(self.max_bytes)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """Spark joins the target with the source; ``kind`` and ``on`` in SQL's words. What comes of it
    weighs no more than ``max_bytes``.

    ``fetched``: the source's rows are those that were fetched; else they are read in the join.
    """

    kind: str
    on: str
    max_bytes: int
    fetched: bool

    @property
    def words(self) -> str:
        return f"fetch what the join gives{_at_most(self.max_bytes)}: {self.on}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertUnmatched:
    """Rows of the source that no pair names become new rows; where their values are computed, by
    Spark.
    """

    words = "insert the rows of the source that have no match"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One Spark job writes the rows; its files are finished where they are.

    ``on``, ``once``: MERGE's join in SQL's words, and whether it is checked that no row of the
    target is changed by two rows of the source; None where none is changed.
    """

    effect: Effect
    on: str = ""
    once: bool | None = None

    @property
    def words(self) -> str:
        joined = f": {self.on}" if self.on else ""
        once = "" if self.once is None else f"; {ONCE if self.once else ONE_OF}"
        return f"write the files by one Spark job{joined}{once}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CountByJob:
    """In place of ``Job`` in a dry run: Spark counts the rows by clause, partition and bucket.
    ``once``: as for Job.
    """

    effect: Effect
    once: bool | None = None

    words = "count the rows that would be written by one Spark job"


# ---- files that no table has


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOut:
    """The driver writes the rows of a query, in whatever way they were made, below a hidden name
    beside where they are to be.
    """

    into: Destination

    @property
    def words(self) -> str:
        names = ", ".join(name for name, _ in self.into.partition_by)
        by = f", a directory for each {names}" if names else ""
        return f"write the rows as {self.into.kind} on the driver{by}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PutInPlace:
    """What was written gets its name."""

    into: Destination

    @property
    def words(self) -> str:
        instead = ", in place of what is there" if self.into.overwrite else ""
        return f'put the {self.into.what} "{self.into.given}" in place{instead}'


@dataclass(frozen=True, slots=True, kw_only=True)
class SumUp:
    """The driver looks through the rows of a query, in whatever way they were made, for what
    SUMMARIZE tells.
    """

    words = "count, compare and add up the values of each column on the driver"


# ---- the end of a transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """The files of the transaction get the names that readers look at; what its statements left for
    each other is settled first.
    """

    words = "publish the files"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One call to the metastore makes everything visible."""

    words = "commit"


PUBLISH, COMMIT = Publish(), Commit()
ENDING = (PUBLISH, COMMIT)
"""What ends a transaction, with a statement of its own or at COMMIT."""


# ---- choices


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    name: str
    operators: Operators


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstOf:
    """``by``: what decides, when the statement runs."""

    by: str
    ways: tuple[Way, ...]


DriverOperator = (
    CountRows | LocalScan | LocalFiles | CommonRows | JoinRows | SetRows | SubQueryRows | LocalRows
    | Literals | FindFiles | TakeFiles | LocalCheck | WriteFiles | CountChanges | LookUp | LocalJoin
    | LocalInsertUnmatched | CheckOnce
)  # fmt: skip
SparkOperator = (
    Scan | Query | Collect | ReadFiles | Check | Fetch | FetchSource | Join | InsertUnmatched | Job
    | CountByJob
)  # fmt: skip
Operator = (
    DriverOperator | SparkOperator | WriteOut | PutInPlace | SumUp | Publish | Commit | FirstOf
)  # fmt: skip
Operators = tuple[Operator, ...]


def every(operators: Operators) -> Iterator[Operator]:
    """Each operator, those of all ways included."""
    for operator in operators:
        yield operator
        if isinstance(operator, FirstOf):
            for way in operator.ways:
                yield from every(way.operators)


def either(local: Operators | None, spark: Operators) -> Operators:
    """The operators of a plan that has two ways, or one."""
    if not local or not spark:
        return local or spark
    ways = (Way(name="local", operators=local), Way(name="spark", operators=spark))
    return (FirstOf(by="the bytes that are read", ways=ways),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """An operator that was carried out; None for a figure that nobody knows. ``in_vain``: it showed
    that another way must be taken.
    """

    operator: Operator
    seconds: float
    rows: int | None = None
    files: int | None = None
    bytes: int | None = None
    in_vain: bool = False
