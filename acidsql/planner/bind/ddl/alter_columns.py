"""ALTER TABLE .. ADD, CHANGE, REPLACE COLUMNS: a table's files must still be readable as its
columns.

Files keep the columns they were written with, and readers match them by position: a column may be
added at the end, and may get another name, or a type that holds all it holds; it stays where it is.
Partitions have the columns of their table, so what CASCADE asks for happens anyway. Hive:
AlterTableChangeColumnOperation, AlterTableReplaceColumnsOperation, HiveAlterHandler.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from acidsql.catalog.model import Bucketing, Column, Constraint, ConstraintKind, FileFormat, Table
from acidsql.catalog.types import convertible
from acidsql.errors import BindError, ColumnNotFoundError, Span
from acidsql.parser import statements as ast
from acidsql.planner.bind.analysis import Analysis, analyse_expression
from acidsql.planner.bind.bound_catalog import BoundAlterTable
from acidsql.planner.bind.columns import Visible
from acidsql.planner.bind.ddl.columns import bind_column, bind_columns, duplicate
from acidsql.planner.bind.ddl.table_properties import stamped
from acidsql.planner.bind.names import Names
from acidsql.planner.bind.tables import did_you_mean

Facts = tuple[tuple[str, str], ...]
_WIDER = "The new type must hold every value of the old one."


def bind_add_columns(names: Names, table: Table, statement: ast.AddColumns) -> BoundAlterTable:
    _check_cascade(table, statement.cascade, statement.name.span)
    _check_unconstrained(statement.columns)
    added = bind_columns(statement.columns)
    taken = {c.name for c in (*table.columns, *table.partition_columns)}
    for definition, column in zip(statement.columns, added, strict=True):
        if column.name in taken:
            raise duplicate(column.name, definition.name.span)
    after = replace(table, columns=(*table.columns, *added))
    return _altered(names, table, after, "ADD COLUMNS", _column_facts(added, statement.cascade))


def bind_replace_columns(
    names: Names, table: Table, statement: ast.ReplaceColumns
) -> BoundAlterTable:
    """The old columns in their order, under other names and types perhaps, and new ones behind
    them.
    """
    _check_cascade(table, statement.cascade, statement.name.span)
    _check_unconstrained(statement.columns)
    columns = bind_columns(statement.columns)
    spans = {c.name: d.name.span for c, d in zip(columns, statement.columns, strict=True)}
    for key in table.partition_columns:
        if key.name in spans:
            raise duplicate(key.name, spans[key.name])
    _check_ordinals(table, columns, spans, statement.name.span)
    became = {old.name: new for old, new in zip(table.columns, columns, strict=False)}
    _check_skew(table, became, statement.name.span)
    for definition, old, new in zip(statement.columns, table.columns, columns, strict=False):
        if table.file_format is FileFormat.ORC and not convertible(old.type, new.type):
            what = f"(from {old.type} to {new.type}) for column {old.name}"
            message = (
                f"Replacing columns with unsupported type conversion {what}. SerDe may be"
                " incompatible"
            )
            raise BindError(message, code=10314, hint=_WIDER, span=definition.type_span)
    _check_buckets(table, spans, statement.name.span)
    after = _evolved(names, table, columns, became, spans)
    return _altered(
        names, table, after, "REPLACE COLUMNS", _column_facts(columns, statement.cascade)
    )


def bind_drop_column(names: Names, table: Table, statement: ast.DropColumn) -> BoundAlterTable:
    """REPLACE COLUMNS by those that are left: readers match columns by position, so that only the
    last one can go.
    """
    _check_cascade(table, statement.cascade, statement.name.span)
    span, name = statement.column.span, statement.column.text.lower()
    if name in {key.name for key in table.partition_columns}:
        raise BindError(f'"{name}" is a partition column of {table.name}', span=span)
    known = [column.name for column in table.columns]
    if name not in known:
        raise ColumnNotFoundError(
            f'column "{name}" does not exist in table "{table.name}"',
            code=10002,
            hint=did_you_mean(name, known),
            span=span,
        )
    left = tuple(column for column in table.columns if column.name != name)
    without = f"CREATE OR REPLACE TABLE .. AS SELECT * EXCLUDE ({name}) FROM {table.name}"
    if not left:
        raise BindError(f"{table.name} has no other column", hint="Drop the table.", span=span)
    if table.file_format is FileFormat.ORC:
        raise _dropped(table, span, hint=f"{without} makes a table without it.")
    if name != known[-1]:
        raise BindError(
            f'column "{name}" is not the last one of {table.name}, whose files have their columns'
            " by position",
            hint=f"{without} makes a table without it.",
            span=span,
        )
    spans = {column.name: span for column in left}
    became = {column.name: column for column in left}
    _check_free(table, span)
    _check_skew(table, became, statement.name.span)
    _check_buckets(table, spans, statement.name.span)
    after = _evolved(names, table, left, became, spans)
    facts = (("column", name), *_cascaded(statement.cascade))
    return _altered(names, table, after, "DROP COLUMN", facts)


def bind_change_column(names: Names, table: Table, statement: ast.ChangeColumn) -> BoundAlterTable:
    """Name, type and comment of one column; without COMMENT it keeps its own."""
    _check_cascade(table, statement.cascade, statement.name.span)
    _check_unconstrained((statement.definition,))
    old = _own_column(table, statement.column)
    new = bind_column(statement.definition)
    new = new if new.comment is not None else replace(new, comment=old.comment)
    if new.name != old.name and any(
        c.name == new.name for c in (*table.columns, *table.partition_columns)
    ):
        raise duplicate(new.name, statement.definition.name.span)
    before = None if statement.after is None else _own_column(table, statement.after)
    became = {c.name: new if c is old else c for c in table.columns}
    _check_skew(table, became, statement.column.span)
    if statement.first or statement.after is not None:
        span = statement.after.span if statement.after is not None else statement.column.span
        if table.file_format is FileFormat.ORC:
            raise _reordered(table, span)
        _check_free(table, span)
    if table.file_format is FileFormat.ORC and not convertible(old.type, new.type):
        message = (
            f"Changing from type {old.type} to {new.type} is not supported for column {old.name}."
            " SerDe may be incompatible"
        )
        raise BindError(message, code=10312, hint=_WIDER, span=statement.definition.type_span)
    columns = tuple(became[c.name] for c in _order(table, old, before, first=statement.first))
    after = _evolved(
        names,
        table,
        columns,
        became,
        dict.fromkeys((c.name for c in columns), statement.definition.name.span),
    )
    position = "first" if statement.first else f"after {before.name}" if before is not None else ""
    facts = (
        ("column", f"{old.name} {old.type}"),
        ("new column", f"{new.name} {new.type}"),
        *((("place", position),) if position else ()),
    )
    return _altered(names, table, after, "CHANGE COLUMN", (*facts, *_cascaded(statement.cascade)))


def _altered(
    names: Names, before: Table, after: Table, words: str, facts: Facts
) -> BoundAlterTable:
    return BoundAlterTable(
        before=before,
        after=stamped(after, names.around.now),
        words=f"ALTER TABLE .. {words}",
        facts=(("table", str(before.name)), *facts),
    )


def _evolved(
    names: Names,
    table: Table,
    columns: tuple[Column, ...],
    became: Mapping[str, Column],
    spans: Mapping[str, Span],
) -> Table:
    """The table with ``columns``, each at its place in ``spans``; ``became`` says what each old one
    is now.

    Bucketing and constraints follow the names.

    BindError where the files or a rule of the table stand against it.
    """
    wrong = [
        new.name
        for old, new in zip(table.columns, columns, strict=False)
        if not convertible(old.type, new.type)
    ]
    if wrong:
        message = (
            "The following columns have types incompatible with the existing columns in their"
            " respective positions"
        )
        raise BindError(f"{message} : {','.join(wrong)}", hint=_WIDER, span=spans[wrong[0]])
    after = replace(
        table,
        columns=columns,
        bucketing=_bucketing(table, columns, became, spans),
        constraints=tuple(
            replace(c, columns=tuple(_now(name, became) for name in c.columns))
            for c in table.constraints
        ),
    )
    for constraint in table.constraints:
        _check_rule(names, constraint, after, {old: spans[new.name] for old, new in became.items()})
    return after


def _now(name: str, became: Mapping[str, Column]) -> str:
    """A partition column has not become anything."""
    return became[name].name if name in became else name


def _bucketing(
    table: Table,
    columns: tuple[Column, ...],
    became: Mapping[str, Column],
    spans: Mapping[str, Span],
) -> Bucketing | None:
    if table.bucketing is None:
        return None
    new = {c.name: c.type for c in columns}
    now = {c.name: c.name if c.name in new else _now(c.name, became) for c in table.columns}
    for name in table.bucketing.columns:
        if any(c.name == name and c.type != new[now[name]] for c in table.columns):
            hint = (
                "Its hash chose the file of each row. Make a table anew and insert the rows there."
            )
            raise BindError(
                f'the type of bucketing column "{name}" cannot be changed',
                hint=hint,
                span=spans[now[name]],
            )
    keys = tuple(replace(key, name=now[key.name]) for key in table.bucketing.sorted_by)
    return replace(
        table.bucketing,
        columns=tuple(now[name] for name in table.bucketing.columns),
        sorted_by=keys,
    )


def _order(table: Table, column: Column, before: Column | None, *, first: bool) -> list[Column]:
    """The columns with ``column`` FIRST, or AFTER ``before``."""
    others = [c for c in table.columns if c is not column]
    if not first and before not in others:
        return list(table.columns)
    ordinal = 0 if before not in others else others.index(before) + 1
    return [*others[:ordinal], column, *others[ordinal:]]


def _check_ordinals(
    table: Table, columns: tuple[Column, ...], spans: Mapping[str, Span], span: Span
) -> None:
    """REPLACE COLUMNS of an ORC table leaves every column where it is."""
    ordinals = {c.name: i for i, c in enumerate(table.columns)}
    moved = next((c.name for i, c in enumerate(columns) if ordinals.get(c.name, i) != i), None)
    dropped = len(columns) < len(table.columns)
    if table.file_format is FileFormat.ORC and dropped:
        raise _dropped(table, spans[columns[-1].name])
    if table.file_format is FileFormat.ORC and moved is not None:
        raise _reordered(table, spans[moved])
    if dropped or moved is not None:
        _check_free(table, span if moved is None else spans[moved])


def _check_buckets(table: Table, spans: Mapping[str, Span], span: Span) -> None:
    """REPLACE COLUMNS knows the columns of CLUSTERED BY and SORTED BY by name."""
    named = (
        (*table.bucketing.columns, *(key.name for key in table.bucketing.sorted_by))
        if table.bucketing is not None
        else ()
    )
    missing = [name for name in named if name not in spans]
    if missing:
        message = f"Bucket columns - [{', '.join(missing)}] doesn't match with any table columns"
        raise BindError(
            message, hint="CHANGE COLUMN gives a bucketing column another name.", span=span
        )


def _check_rule(
    names: Names, constraint: Constraint, after: Table, spans: Mapping[str, Span]
) -> None:
    """A CHECK is kept as text, which names columns as they were. (Hive changes the name and fails
    on the next row that is written.)
    """
    if constraint.kind is not ConstraintKind.CHECK or constraint.expression is None:
        return
    text = constraint.expression
    try:
        analyse_expression(
            text,
            Span(0, len(text)),
            names.resolve,
            Analysis(),
            [Visible.of(after, after.name.table)],
        )
    except ColumnNotFoundError as error:
        name = error.span.cut(text).strip("`").lower() if error.span is not None else ""
        message = f'column "{name}" is used by constraint "{constraint.name}"'
        raise BindError(message, detail=f"CHECK ({text})", span=spans.get(name)) from None


def _check_skew(table: Table, became: Mapping[str, Column], span: Span) -> None:
    for name in table.skew.columns if table.skew is not None else ():
        old, new = table.column(name), became.get(name)
        if old is not None and (new is None or (new.name, new.type) != (old.name, old.type)):
            message = (
                f"{name} is a skewed column. It's not allowed to rename skewed column or change"
                " skewed column type."
            )
            raise BindError(message, code=10207, span=span)


def _check_free(table: Table, span: Span) -> None:
    """Constraints know their columns by place. (Hive lets them speak of whatever stands there
    then.)
    """
    if table.constraints:
        raise BindError(
            f"the columns of {table.name} cannot be moved or dropped, it has constraints", span=span
        )


def _dropped(table: Table, span: Span, hint: str | None = None) -> BindError:
    message = (
        f"Replacing columns cannot drop columns for table {table.name}. SerDe may be incompatible"
    )
    return BindError(message, code=10313, hint=hint, span=span)


def _reordered(table: Table, span: Span) -> BindError:
    message = (
        f"Reordering columns is not supported for table {table.name}. SerDe may be incompatible"
    )
    return BindError(message, code=10311, span=span)


def _column_facts(columns: tuple[Column, ...], cascade: bool) -> Facts:
    return (("columns", ", ".join(f"{c.name} {c.type}" for c in columns)), *_cascaded(cascade))


def _cascaded(cascade: bool) -> Facts:
    return (("also", "of every partition"),) if cascade else ()


def _own_column(table: Table, name: ast.Name) -> Column:
    column = table.column(name.text)
    if column is None:
        hint = did_you_mean(name.text.lower(), [c.name for c in table.columns])
        raise ColumnNotFoundError(
            f"Invalid column reference '{name.text}'", code=10002, hint=hint, span=name.span
        )
    return column


def _check_cascade(table: Table, cascade: bool, span: Span) -> None:
    if cascade and not table.partition_columns:
        raise BindError(
            "Alter table with non-partitioned table does not support cascade", code=10410, span=span
        )


def _check_unconstrained(definitions: Iterable[ast.ColumnDefinition]) -> None:
    for definition in definitions:
        for constraint in definition.constraints:
            raise BindError(
                "a constraint cannot be added by ALTER TABLE here", span=constraint.span
            )
