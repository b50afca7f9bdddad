"""What statements need to know of a table they name: what can be done with it, what its columns
take, and what its constraints ask of new rows.

DEFAULT fills, NOT NULL and CHECK refuse (Hive: GenericUDFEnforceConstraint). Of a literal that its
column cannot hold a warning and what is left of it, as in Hive, or an error under ``acidsql.ansi``.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from acidsql.catalog.model import Column, ConstraintKind, FileFormat, Table, TableKind
from acidsql.catalog.names import database_problem, table_problem
from acidsql.catalog.text import text_format, text_problem
from acidsql.catalog.types import ArrayType, HiveType, MapType, StructType
from acidsql.errors import (
    BindError,
    DataError,
    IntegrityError,
    LossWarning,
    NotNullError,
    Span,
    Warning,
)
from acidsql.expressions.not_here import Lossy, NotHere
from acidsql.expressions.spark_words import Piece, identifier, store_cast, text_literal
from acidsql.expressions.stores import stored
from acidsql.lazy import dataclass
from acidsql.parser.statements import Fragment
from acidsql.parser.tokens import TokenKind, tokens_in
from acidsql.planner.bind.columns import column_not_found, moments_shown

if TYPE_CHECKING:
    from acidsql.planner.bind.bound import BoundPartition

MARK = "acidsql: constraint "
"""What Spark raises for a row that breaks rule number n: this and n."""
MAX_WARNINGS = 20
_LONGEST = 60
_MOST_NAMES = 12


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """The known names most like it, best first."""
    return difflib.get_close_matches(name, list(known), n=1)


def check_table_name(name: str, span: Span) -> None:
    """Raises BindError for a name that no table or view may be given."""
    check_name(table_problem(name), span)


def check_database_name(name: str, span: Span) -> None:
    """Raises BindError for a name that no database may be given."""
    check_name(database_problem(name), span)


def check_name(problem: str | None, span: Span) -> None:
    """Raises BindError where there is something wrong with a name."""
    if problem is not None:
        raise BindError(problem, hint="Use letters, digits and underscores.", span=span)


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the known one most like it."""
    near = close_names(name, known)
    return f'did you mean "{near[0]}"?' if near else None


def unreadable(table: Table) -> str | None:
    """What of the table the readers and writers cannot do yet; None if nothing."""
    if table.kind is TableKind.VIEW:
        return "a view"
    if table.file_format is FileFormat.OTHER:
        return "a table with classes of its own"
    if table.file_format not in (FileFormat.ORC, FileFormat.PARQUET, FileFormat.TEXTFILE):
        return f"a table stored as {table.file_format}"
    if table.skew is not None and table.skew.directories:
        return "a table stored as directories"
    if table.file_format is FileFormat.ORC and any("`" in column.name for column in table.columns):
        # Spark would find no such column in a file, and read NULLs
        return "an ORC table with a backquote in a column's name"
    return text_problem(table) if table.file_format is FileFormat.TEXTFILE else None


def unenforced(table: Table) -> str | None:
    """What the table promises of its rows that no writer sees to yet; None if nothing."""
    if table.bucketing is not None and table.bucketing.sorted_by:
        return "SORTED BY"
    if (
        table.file_format is FileFormat.TEXTFILE
        and text_problem(table) is None
        and text_format(table).header_lines
    ):
        return "skip.header.line.count"
    return None


def wrong_column_count(
    table: Table, columns: Sequence[Column], given: int, span: Span
) -> BindError:
    """The error for rows of ``given`` values, which are for ``columns``."""
    wanted = len(columns)
    message = (
        "Cannot insert into target table because column number/types are different"
        f" '{table.name.table}': it takes {_values(wanted)} and is given"
        f" {given}"
    )
    keys = {column.name for column in table.partition_columns}
    named = [f"{c.name} (partition)" if c.name in keys else c.name for c in columns]
    shown = [*named[:_MOST_NAMES], *([".."] if wanted > _MOST_NAMES else [])]
    missing = ", ".join(c.name for c in columns[given : given + _MOST_NAMES])
    hint = f"Give {missing} as well, or name the columns that there are values for."
    return BindError(
        message,
        code=10044,
        detail=f"the columns are {', '.join(shown)}",
        hint=hint if given < wanted else None,
        span=span,
    )


def _values(number: int) -> str:
    return "1 value" if number == 1 else f"{number} values"


def check_storable(given: HiveType | None, column: Column, span: Span) -> None:
    """Hive casts any primitive to any other; a nested type takes only its like. ``given`` None: not
    known, Spark judges.
    """
    if (
        given is None
        or given == column.type
        or not {_shape(given), _shape(column.type)} - {"primitive"}
    ):
        return
    if _shape(given) != _shape(column.type):
        message = (
            "Cannot insert into target table because column number/types are different"
            f" '{column.name}': Cannot convert column from {given} to {column.type}."
        )
        raise BindError(message, code=10044, span=span)


def _shape(hive_type: HiveType) -> str:
    match hive_type:
        case ArrayType():
            return "array"
        case MapType():
            return "map"
        case StructType():
            return "struct"
        case _:
            return "primitive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """``broken``: a condition in Spark SQL over the table's columns that is true for a row that
    must not be written.

    ``column``: that of NOT NULL, None for CHECK.  ``promise``: what holds for every row, for
    people.
    """

    broken: str
    column: str | None
    name: str
    table: str
    promise: str

    def __str__(self) -> str:
        return f"{self.promise} ({self.name})"

    def violation(self) -> IntegrityError:
        if self.column is not None:
            return NotNullError(
                f'NOT NULL constraint "{self.name}" of {self.table} violated: column'
                f' "{self.column}" is NULL'
            )
        return IntegrityError(
            f'CHECK constraint "{self.name}" of {self.table} violated', sqlstate="23514"
        )


def rules_of(table: Table) -> tuple[Rule, ...]:
    """A CHECK that is neither true nor false is not broken."""
    rules = []
    for constraint in table.constraints:
        if not constraint.enabled:
            continue
        column = None
        if constraint.kind is ConstraintKind.NOT_NULL:
            column = constraint.columns[0]
            broken, promise = f"{identifier(column)} IS NULL", f"{column} is not NULL"
        elif constraint.kind is ConstraintKind.CHECK:
            condition = constraint.expression
            broken, promise = f"({condition}) = FALSE", f"{condition} is not false"
        else:
            continue
        rules.append(
            Rule(
                broken=broken,
                column=column,
                name=constraint.name,
                table=str(table.name),
                promise=promise,
            )
        )
    return tuple(rules)


def has_check(table: Table) -> bool:
    return any(rule.column is None for rule in rules_of(table))


def enforcement(table: Table, exempt: str = "FALSE") -> str | None:
    """A condition that is true for every row and raises MARK for one that breaks a rule; None if
    there is no rule.

    ``exempt``: which rows are not to be written. The message is made to depend on chance, though
    it never does: else Spark's optimizer would ask the condition together with other conditions,
    or below a join, of rows that these leave out.
    """
    rules = rules_of(table)
    cases = [
        f"WHEN {rule.broken} THEN"
        f" raise_error(concat({text_literal(f'{MARK}{number}')}, substring(rand(0), 1, 0)))"
        for number, rule in enumerate(rules)
    ]
    return f"CASE WHEN {exempt} THEN TRUE {' '.join(cases)} ELSE TRUE END" if rules else None


def default_of(table: Table, column: Column) -> str | None:
    """The SQL text of the column's DEFAULT."""
    for constraint in table.constraints:
        if (
            constraint.kind is ConstraintKind.DEFAULT
            and constraint.enabled
            and column.name in constraint.columns
        ):
            return constraint.expression
    return None


def default_value(table: Table, column: Column, zone: str) -> tuple[Piece, ...]:
    """What a column holds that no value was given for, in a session of a time zone."""
    return store_cast((default_sql(table, column, zone),), column.type)


def default_sql(table: Table, column: Column, zone: str) -> str:
    """``default_of`` in Spark's words; NULL where there is none."""
    return moments_shown(default_of(table, column) or "NULL", zone)


def loads_files(table: Table) -> bool:
    """Whether LOAD DATA takes files as they are; else their rows are inserted, each in its bucket
    and after the rules are asked.
    """
    return table.bucketing is None and not rules_of(table)


class _Computed(Enum):
    COMPUTED = "computed"


COMPUTED = _Computed.COMPUTED
"""Stands for a value only Spark can tell."""


class Losses:
    """What the literals of one statement lose.

    ``strict``: a loss that strict SQL refuses is an error.
    """

    def __init__(self, warn: Callable[[Warning], None], *, strict: bool) -> None:
        self.warn = warn
        self.strict = strict
        self.count = 0
        self.reported: set[Span] = set()
        """The places of literals of which it is known what their columns make of them."""

    def stored(self, cell: Fragment, column: Column) -> Any:
        """The value of an expression if it is a literal, else COMPUTED.

        DataError, at its place, for a loss that is refused.
        """
        try:
            value = stored(cell.text, column.type)
        except NotHere:
            return COMPUTED
        self.reported.add(cell.span)
        if not isinstance(value, Lossy):
            return value
        self._note(cell, column, value)
        return value.value

    def _note(self, cell: Fragment, column: Column, lossy: Lossy) -> None:
        message = (
            f'column "{column.name}" of type {column.type} cannot hold {_shown(cell.text.strip())}'
        )
        if self.strict and lossy.refused:
            hint = "SET acidsql.ansi=false stores what is left of it, or NULL, with a warning."
            raise DataError(message, hint=hint, span=cell.span)
        self.count += 1
        if self.count <= MAX_WARNINGS:
            kept = "NULL" if lossy.value is None else _shown(str(lossy.value))
            self.warn(LossWarning(f"{message}: {kept} is stored", span=cell.span))
        elif self.count == MAX_WARNINGS + 1:
            self.warn(LossWarning("more literals of the statement do not fit their columns"))


def _shown(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + ".."


# ---- columns that a query's are stored in


def columns_by_name(
    table: Table,
    partition: BoundPartition | None,
    given: Sequence[str],
    text: str,
    span: Span,
) -> tuple[Column, ...]:
    """The columns of a table that are called as those of a query, in its order. ``span``: of the
    query in ``text``. BindError.
    """
    dynamic = () if partition is None else partition.dynamic
    keys = [c for c in table.partition_columns if c.name in dynamic]
    known = {c.name: c for c in (*table.columns, *keys)}
    columns: list[Column] = []
    for number, name in enumerate(map(str.lower, given), start=1):
        column, at = known.get(name), _place_of(name, text, span)
        if not name:
            raise BindError(
                f"column {number} of the query has no name",
                hint="Give it one with AS.",
                span=span,
                source=text,
            )
        if column is None and any(c.name == name for c in table.partition_columns):
            message = f'partition column "{name}" has its value in PARTITION'
            raise BindError(message, span=at, source=text)
        if column is None:
            raise column_not_found(name, table, at, text, code=10002)
        if column in columns:
            message = f'the query has two columns of the name "{name}"'
            raise BindError(message, span=at, source=text)
        columns.append(column)
    for key in keys:
        if key not in columns:
            message = f'no column of the query has the name of partition column "{key.name}"'
            raise BindError(message, span=span, source=text)
    return tuple(columns)


def _place_of(name: str, text: str, span: Span) -> Span:
    """Where a query names a column, as far as that can be seen: the last such word before FROM;
    else the whole query.
    """
    word_span = span
    for token in tokens_in(text, span):
        if token.word == "FROM" and word_span != span:
            break
        if token.text.lower() == name and token.kind in (TokenKind.WORD, TokenKind.QUOTED):
            word_span = token.span
    return word_span


def in_other_order(columns: Sequence[Column], given: Sequence[str]) -> bool:
    """Whether a query's columns are called as those that they go to, but in another order."""
    wanted = [c.name for c in columns]
    names = [name.lower() for name in given]
    return names != wanted and sorted(names) == sorted(wanted)


def other_order(table: Table, span: Span | None = None) -> Warning:
    """What is said of columns ``in_other_order``."""
    return Warning(
        f"the query has the columns of table {table.name} in another order, and they are stored by"
        " position",
        hint="INSERT INTO .. BY NAME SELECT .. stores each in the column of its name.",
        span=span,
    )
