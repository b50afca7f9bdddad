"""Constraints of tables: which Hive takes, what their traits mean, what they refer to (Hive:
ConstraintsUtils).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count

from acidsql.catalog.model import Column, Constraint, ConstraintKind, Table, TableKind
from acidsql.catalog.types import ArrayType, HiveType, MapType, PrimitiveType, StructType
from acidsql.errors import BindError, ColumnNotFoundError, Error, Span, TableNotFoundError
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.stores import value_of
from acidsql.expressions.tree import parse_literal
from acidsql.parser import statements as ast
from acidsql.planner.bind.analysis import Analysis
from acidsql.planner.bind.columns import Visible
from acidsql.planner.bind.names import Names
from acidsql.planner.bind.query_tree import holds_query_or_window
from acidsql.planner.bind.tables import did_you_mean

MAX_LENGTH = 255
"""The longest name and expression of a constraint: the metastore's columns hold no more."""
_ENFORCED = (ConstraintKind.NOT_NULL, ConstraintKind.DEFAULT, ConstraintKind.CHECK)
_PREFIXES = {
    ConstraintKind.PRIMARY_KEY: "pk",
    ConstraintKind.FOREIGN_KEY: "fk",
    ConstraintKind.UNIQUE: "uk",
    ConstraintKind.NOT_NULL: "nn",
    ConstraintKind.DEFAULT: "dc",
    ConstraintKind.CHECK: "cc",
}
_FUNCTIONS = frozenset({"CURRENT_DATE", "CURRENT_TIMESTAMP", "CURRENT_USER"})
"""What DEFAULT may call without brackets."""


def bind_constraints(
    names: Names, statement: ast.CreateTable, table: Table
) -> tuple[Constraint, ...]:
    """By kind, then by name; those without a name get one from the table's."""
    constraints: list[tuple[Constraint, Span]] = []
    for written, own in _written(statement):
        constraint = _bind(names, written, own, table)
        if constraint.kind is ConstraintKind.PRIMARY_KEY and any(
            c.kind is constraint.kind for c, _ in constraints
        ):
            raise BindError(f"Primary key already exists for: {table.name}", span=written.span)
        if constraint.name and any(c.name == constraint.name for c, _ in constraints):
            raise BindError(f"Constraint name already exists: {constraint.name}", span=written.span)
        constraints.append((constraint, written.span))
    for constraint, span in constraints:
        _check_external(constraint, span, table)
    return _sorted(_named([c for c, _ in constraints], table))


def bind_added_constraint(
    names: Names, written: ast.Constraint, table: Table
) -> tuple[Constraint, ...]:
    """The constraints of a table with another one. BindError if it has such a one."""
    constraint = _bind(names, written, None, table)
    known = table.constraints
    if constraint.kind is ConstraintKind.PRIMARY_KEY and any(
        one.kind is constraint.kind for one in known
    ):
        raise BindError(f"Primary key already exists for: {table.name}", span=written.span)
    if any(constraint.name == one.name for one in known):
        raise BindError(f"Constraint name already exists: {constraint.name}", span=written.span)
    _check_external(constraint, written.span, table)
    return _sorted(_named([*known, constraint], table))


def bind_dropped_constraint(name: ast.Name, table: Table) -> tuple[Constraint, ...]:
    """The constraints of a table without one. BindError if it has none of the name."""
    wanted, known = name.text.lower(), [one.name for one in table.constraints]
    if wanted not in known:
        raise BindError(
            f'table {table.name} has no constraint "{wanted}"',
            hint=did_you_mean(wanted, known),
            span=name.span,
        )
    return tuple(one for one in table.constraints if one.name != wanted)


def _check_external(constraint: Constraint, span: Span, table: Table) -> None:
    if table.kind is not TableKind.EXTERNAL:
        return
    if constraint.kind in _ENFORCED and constraint.enabled:
        raise invalid(
            "Constraints are disallowed with External tables. Only RELY is allowed.", span
        )


def _sorted(constraints: Iterable[Constraint]) -> tuple[Constraint, ...]:
    """Constraints by kind, then by name."""
    kinds = list(ConstraintKind)
    return tuple(sorted(constraints, key=lambda one: (kinds.index(one.kind), one.name)))


def invalid(reason: str, span: Span) -> BindError:
    return BindError(f"Invalid Constraint syntax {reason}", code=10326, span=span)


def _written(
    statement: ast.CreateTable,
) -> Iterator[tuple[ast.Constraint, ast.ColumnDefinition | None]]:
    for definition in (*statement.columns, *statement.partitioned_by):
        yield from ((constraint, definition) for constraint in definition.constraints)
    yield from ((constraint, None) for constraint in statement.constraints)


def _named(constraints: list[Constraint], table: Table) -> Iterator[Constraint]:
    taken = {c.name for c in constraints}
    for constraint in constraints:
        stem = f"{_PREFIXES[constraint.kind]}_{table.name.database}_{table.name.table}"
        name = constraint.name or next(
            f"{stem}_{number}" for number in count(1) if f"{stem}_{number}" not in taken
        )
        taken.add(name)
        yield replace(constraint, name=name)


def _bind(
    names: Names, written: ast.Constraint, own: ast.ColumnDefinition | None, table: Table
) -> Constraint:
    kind = ConstraintKind(written.kind.value)
    name = written.name.text.lower() if written.name else ""
    if written.name and len(name) > MAX_LENGTH:
        raise invalid(
            f"Constraint name: {name} exceeded maximum allowed length: {MAX_LENGTH}",
            written.name.span,
        )
    enabled, validated, rely = _traits(kind, written)
    columns = (own.name,) if own is not None else written.columns
    constraint = Constraint(
        kind=kind,
        name=name,
        columns=tuple(_column(table, c) for c in columns),
        expression=_expression(names, written, own, table),
        enabled=enabled,
        validated=validated,
        rely=rely,
    )
    return (
        _with_parent(names, constraint, written)
        if kind is ConstraintKind.FOREIGN_KEY
        else constraint
    )


def _traits(kind: ConstraintKind, written: ast.Constraint) -> tuple[bool, bool, bool]:
    """(enabled, validated, rely). BindError for what Hive does not enforce."""
    foreign = kind is ConstraintKind.FOREIGN_KEY
    enabled, validated, rely = True, foreign, not foreign
    for trait in written.traits:
        match trait:
            case "ENABLE" | "ENFORCED":
                enabled, validated = True, foreign
            case "DISABLE" | "NOT ENFORCED":
                enabled, validated, rely = False, False, False
            case "VALIDATE" | "NOVALIDATE":
                validated = trait == "VALIDATE"
            case "RELY" | "NORELY":
                rely = trait == "RELY"
    if foreign and enabled:
        raise _foreign(
            "ENABLE feature not supported yet. Please use DISABLE instead.", written.span
        )
    if foreign and validated:
        raise _foreign(
            "VALIDATE feature not supported yet. Please use NOVALIDATE instead.", written.span
        )
    if enabled and kind not in _ENFORCED:
        raise invalid(
            "ENABLE/ENFORCED feature not supported yet. Please use DISABLE/NOT ENFORCED instead.",
            written.span,
        )
    if validated:
        raise invalid(
            "VALIDATE feature not supported yet. Please use NOVALIDATE instead.", written.span
        )
    return enabled, validated, rely


def _column(table: Table, name: ast.Name) -> str:
    known = [c.name for c in (*table.columns, *table.partition_columns)]
    if name.text.lower() not in known:
        raise ColumnNotFoundError(
            f"Parent column not found: {name.text}",
            hint=did_you_mean(name.text.lower(), known),
            span=name.span,
        )
    return name.text.lower()


# ---- FOREIGN KEY


def _foreign(reason: str, span: Span) -> BindError:
    return BindError(f"Invalid Foreign Key syntax {reason}", code=10325, span=span)


def _with_parent(names: Names, constraint: Constraint, written: ast.Constraint) -> Constraint:
    """The parent exists and has a PRIMARY KEY or UNIQUE over these columns."""
    assert written.references is not None
    if len(constraint.columns) != len(written.referenced_columns):
        reason = "The number of foreign key columns should be same as number of parent key columns"
        raise _foreign(reason, written.span)
    wanted = names.table_name(written.references)
    parent = names.catalog.find_table(wanted)
    if parent is None:
        hint = names.not_found(wanted, written.references.span).hint
        raise TableNotFoundError(
            f"Parent table not found: {wanted}", hint=hint, span=written.references.span
        )
    columns = tuple(_column(parent, name) for name in written.referenced_columns)
    keys = [
        c.columns
        for c in parent.constraints
        if c.kind in (ConstraintKind.PRIMARY_KEY, ConstraintKind.UNIQUE)
    ]
    if not any(set(key) == set(columns) for key in keys):
        parent_keys = ", ".join("(" + ", ".join(key) + ")" for key in keys) or "none"
        message = (
            f"Foreign key references ({', '.join(columns)}) but no corresponding primary key or"
            " unique key exists"
        )
        raise BindError(
            message, detail=f"keys of {wanted}: {parent_keys}", span=written.references.span
        )
    return replace(constraint, references=wanted, referenced_columns=columns)


# ---- expressions of DEFAULT and CHECK


def _expression(
    names: Names, written: ast.Constraint, own: ast.ColumnDefinition | None, table: Table
) -> str | None:
    if written.expression is None:
        return None
    if written.kind is ast.ConstraintKind.CHECK:
        return _check(names, written.expression, table)
    assert own is not None
    column = next(
        c for c in (*table.columns, *table.partition_columns) if c.name == own.name.text.lower()
    )
    return _default(names, written.expression, column)


def _check(names: Names, written: ast.Fragment, table: Table) -> str:
    text = written.text.strip().removeprefix("(").removesuffix(")").strip()
    if len(text) > MAX_LENGTH:
        raise invalid(
            f"Constraint value: {text} exceeded maximum allowed length: {MAX_LENGTH}", written.span
        )
    if (what := holds_query_or_window(names.source, written.span)) is not None:
        raise invalid(f"{what} are not allowed in Check Constraints", written.span)
    try:
        inside = ast.Fragment(text=text, span=Span(written.span.start + 1, written.span.end - 1))
        _, facts = names.known_expression(inside, [Visible.of(table, table.name.table)], Analysis())
        _check_boolean(text, facts.type, written.span)
    except Error as error:
        raise invalid(
            f"Invalid CHECK constraint expression: {text}. {error.message}",
            error.span or written.span,
        ) from None
    return text


def _check_boolean(text: str, known: HiveType | None, span: Span) -> None:
    """BindError where the type of a CHECK is plain to see and another."""
    if known is not None and known != PrimitiveType("boolean"):
        with suppress(NotHere):  # the type of a literal is only roughly known
            known = PrimitiveType(_type_name(parse_literal(text)))
        raise BindError(
            f"Only boolean type is supported for CHECK constraint: {text}. Found: {known}",
            span=span,
        )


def _default(names: Names, written: ast.Fragment, column: Column) -> str:
    text = written.text.strip()
    if len(text) > MAX_LENGTH:
        reason = (
            f"Invalid Default value:  {text} .Maximum character length allowed is {MAX_LENGTH} ."
        )
        raise invalid(reason, written.span)
    try:
        literal = parse_literal(text)
    except NotHere:
        _check_default_call(names, written, text)
        return text
    if literal is not None and not _fits(text, literal, column.type):
        reason = (
            f"Invalid type: {_type_name(literal)} for default value: {text}. Please make sure that"
            " the type is compatible with"
        )
        raise invalid(f"{reason} column type: {column.type}", written.span)
    return text


def _check_default_call(names: Names, written: ast.Fragment, text: str) -> None:
    """Constants, casts and calls of functions only: no column, no query."""
    wrong = invalid(
        f"Invalid Default value: {text}. DEFAULT only allows constant or function expressions",
        written.span,
    )
    if text.upper() in _FUNCTIONS:
        return
    if holds_query_or_window(names.source, written.span) is not None:
        raise wrong
    try:
        names.expression(written, [Visible(alias="", name="", columns={})], Analysis())
    except ColumnNotFoundError:
        raise wrong from None


def _fits(text: str, literal: object, hive_type: HiveType) -> bool:
    """Whether storing the literal keeps a value: what becomes NULL is no default."""
    if isinstance(hive_type, ArrayType | MapType | StructType):
        return False
    try:
        return value_of(text, hive_type) is not None
    except NotHere:  # of another kind, or too odd to be told without an engine
        texts = hive_type in (PrimitiveType("date"), PrimitiveType("timestamp"))
        return isinstance(literal, str) and texts and re.search("[0-9]", literal) is not None


def _type_name(literal: object) -> str:
    names = {
        "str": "string",
        "bool": "boolean",
        "float": "double",
        "Decimal": "decimal",
        "datetime": "timestamp",
    }
    return names.get(type(literal).__name__, type(literal).__name__)
