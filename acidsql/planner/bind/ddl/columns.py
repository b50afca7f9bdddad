"""Definitions of columns: their names and types, the partition columns, CLUSTERED BY and SKEWED BY
(Hive: CreateTableDesc.validate).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from acidsql.acid.ids import MAX_BUCKET_ID
from acidsql.catalog.model import Bucketing, Column, Skew, SortColumn
from acidsql.catalog.names import column_length_problem, column_problem, partition_column_problem
from acidsql.catalog.types import (
    ArrayType,
    HiveType,
    MapType,
    PrimitiveType,
    StructType,
    parse_type,
)
from acidsql.errors import BindError, ColumnNotFoundError, Span, UnsupportedStatementError
from acidsql.parser import statements as ast
from acidsql.parser.tokens import Token, TokenKind, tokenize
from acidsql.planner.bind.tables import check_name, did_you_mean

VIRTUAL_COLUMNS = frozenset({"row__id", "input__file__name", "block__offset__inside__file"})
MAX_BUCKETS = MAX_BUCKET_ID + 1


def bind_columns(definitions: Iterable[ast.ColumnDefinition]) -> tuple[Column, ...]:
    columns: dict[str, Column] = {}
    for definition in definitions:
        column = bind_column(definition)
        if column.name in columns:
            raise duplicate(column.name, definition.name.span)
        check_name(column_problem(column.name), definition.name.span)
        columns[column.name] = column
    return tuple(columns.values())


def bind_column(definition: ast.ColumnDefinition) -> Column:
    name = definition.name.text.lower()
    if name in VIRTUAL_COLUMNS:
        hint = "It is the name of a virtual column."
        raise BindError(
            f"Invalid column name {definition.name.text}",
            code=10328,
            hint=hint,
            span=definition.name.span,
        )
    check_name(column_length_problem(name), definition.name.span)
    return Column(name=name, type=bind_type(definition), comment=definition.comment)


def duplicate(name: str, span: Span) -> BindError:
    return BindError(f"Duplicate column name: {name}", code=10036, span=span)


def bind_type(definition: ast.ColumnDefinition) -> HiveType:
    try:
        return parse_type(definition.type_text)
    except BindError as error:
        inner = error.span or Span(0, len(definition.type_text))
        error.span = inner.shift(definition.type_span.start)
        raise


def bind_partition_columns(
    definitions: Sequence[ast.ColumnDefinition], columns: Sequence[Column]
) -> tuple[Column, ...]:
    """PARTITIONED BY: primitive types, names of their own."""
    taken = {c.name for c in columns}
    for definition, column in zip(
        definitions, partition_columns := tuple(map(bind_column, definitions)), strict=True
    ):
        if isinstance(column.type, ArrayType | MapType | StructType):
            message = (
                f"Partition column must be of primitive type. Found {column.name} of type:"
                f" {column.type}"
            )
            raise BindError(message, code=10126, span=definition.type_span)
        check_name(partition_column_problem(column.name), definition.name.span)
        if column.name in taken:
            raise BindError(
                "Column repeated in partitioning columns", code=10035, span=definition.name.span
            )
        taken.add(column.name)
    return partition_columns


def bind_bucketing(
    clause: ast.ClusteredBy | None, columns: Sequence[Column] | None, version: int
) -> Bucketing | None:
    """``columns`` None: they are those of a query that only the engine knows."""
    if clause is None:
        return None
    if clause.buckets < 1:
        raise BindError("Bucket number should be bigger than zero", code=10037, span=clause.span)
    if clause.buckets > MAX_BUCKETS:
        raise BindError(f"the number of buckets must be 1 to {MAX_BUCKETS}", span=clause.span)
    names = [_known(name, name.text, columns) for name in clause.columns]
    for name, written in zip(names, clause.columns, strict=True):
        if names.count(name) > 1:
            raise BindError(f'column "{name}" is named twice in CLUSTERED BY', span=written.span)
        hive_type = next((c.type for c in columns or () if c.name == name), None)
        if isinstance(hive_type, PrimitiveType) and hive_type.name == "binary":
            raise UnsupportedStatementError(
                "a binary column cannot be a bucketing column", span=written.span
            )
    return Bucketing(
        columns=tuple(names),
        count=clause.buckets,
        version=version,
        sorted_by=tuple(_sort_column(key, columns) for key in clause.sorted_by),
    )


def _sort_column(key: ast.SortKey, columns: Sequence[Column] | None) -> SortColumn:
    """NULLs lie where Hive puts them, first when ascending; it refuses another place."""
    if key.nulls_last is not None and key.nulls_last is not key.descending:
        nulls, order = ("LAST", "ASC") if key.nulls_last else ("FIRST", "DESC")
        raise BindError(
            f"create/alter bucketed table: not supported NULLS {nulls} for SORTED BY in {order}"
            " order",
            span=key.span,
        )
    return SortColumn(
        name=_known(key.key, key.key.text.strip("`"), columns), descending=key.descending
    )


def _known(node: ast.Name | ast.Fragment, text: str, columns: Sequence[Column] | None) -> str:
    name = text.lower()
    if columns is not None and name not in (known := [c.name for c in columns]):
        raise ColumnNotFoundError(
            f"Invalid column reference '{text}'",
            code=10002,
            hint=did_you_mean(name, known),
            span=node.span,
        )
    return name


def bind_skew(clause: ast.SkewedBy | None, columns: Sequence[Column] | None) -> Skew | None:
    """SKEWED BY (a, b) ON ((1, 2), (3, 4)), or ON (1, 2) for one column. ``columns`` None: known to
    the engine only.
    """
    if clause is None:
        return None
    known = None if columns is None else [c.name for c in columns]
    names: list[str] = []
    for written in clause.columns:
        name = written.text.lower()
        if name in names:
            raise BindError(f"Duplicate skewed column name: {name}", code=10202, span=written.span)
        if known is not None and name not in known:
            raise ColumnNotFoundError(
                f"Invalid skewed column name: {name}",
                code=10203,
                hint=did_you_mean(name, known),
                span=written.span,
            )
        names.append(name)
    values = tuple(_skewed_value(value, len(names)) for value in clause.values)
    return Skew(columns=tuple(names), values=values, directories=clause.directories)


def _skewed_value(value: ast.Fragment, width: int) -> tuple[str, ...]:
    tokens = [t for t in tokenize(value.text) if not (t.kind is TokenKind.MARK and t.text in "(),")]
    if any(t.kind is TokenKind.MARK and t.text != "-" for t in tokens) or any(
        t.kind is TokenKind.QUOTED for t in tokens
    ):
        raise BindError("a skewed value must be a literal", span=value.span)
    parts: list[str] = []
    negative = False
    for token in tokens:
        if token.is_mark("-"):
            negative = True
            continue
        parts.append(("-" if negative else "") + token.text)
        negative = False
    if len(parts) != width:
        message = (
            "The number of skewed column names and the number of skewed column values are"
            f" different: {width} and {len(parts)}"
        )
        raise BindError(message, code=10206, span=value.span)
    return tuple(parts)


# ---- places of clauses
#
# Where a clause of a statement stands, for those whose words the parser does not keep the place
# of.


def after_word(source: str, statement: Span, word: str) -> Span:
    """The place of what follows the first ``word`` (upper case) of the statement; the statement's
    own if it is not there.
    """
    return next(
        (
            following.span
            for token, following in pairwise(_tokens(source, statement))
            if token.word == word
        ),
        statement,
    )


def of_string(source: str, statement: Span, text: str) -> Span:
    """The place of the first string literal of the statement that stands for ``text``; the
    statement's own if there is none.
    """
    literals = (
        t for t in _tokens(source, statement) if t.kind is TokenKind.STRING and t.text == text
    )
    return next((token.span for token in literals), statement)


def _tokens(source: str, statement: Span) -> list[Token]:
    return [t for t in tokenize(source) if statement.start <= t.start and t.end <= statement.end]
