"""Statements to text: queries, INSERT, UPDATE, DELETE, MERGE."""

from __future__ import annotations

from collections.abc import Iterable

from acidsql.parser.statements import (
    Assignment,
    Delete,
    Fragment,
    Insert,
    InsertBranch,
    Merge,
    MergeClause,
    MergeDelete,
    MergeInsert,
    MergeUpdate,
    MultiInsert,
    Path,
    Update,
    Values,
)
from tests.parser.printing.pieces import (
    alias,
    clauses,
    name,
    names,
    partition,
    qualified,
    string,
    texts,
    where,
    words,
)


def print_insert(statement: Insert) -> str:
    with_clause = statement.with_clause.text if statement.with_clause else None
    return clauses(
        with_clause, _target(statement), _source(statement.source), _returning(statement.returning)
    )


def _returning(items: Fragment | None) -> str | None:
    return None if items is None else f"RETURNING {items.text}"


def _target(statement: Insert | InsertBranch) -> str:
    return words(
        "INSERT OVERWRITE TABLE" if statement.overwrite else "INSERT INTO TABLE",
        qualified(statement.target),
        partition(statement.partition),
        statement.if_not_exists and "IF NOT EXISTS",
        statement.by_name is not None and "BY NAME",
        None if statement.columns is None else names(statement.columns),
    )


def _source(source: Values | Fragment) -> str:
    if isinstance(source, Fragment):
        return source.text
    *before, last = (texts(row) for row in source.rows)
    return "VALUES " + clauses(*(row + "," for row in before), last)


def print_multi_insert(statement: MultiInsert) -> str:
    with_clause = statement.with_clause.text if statement.with_clause else None
    branches = (clauses(_target(branch), branch.query.text) for branch in statement.branches)
    return "\n".join(part for part in (with_clause, statement.from_clause.text, *branches) if part)


def print_update(statement: Update) -> str:
    return clauses(
        words("UPDATE", qualified(statement.target), alias(statement.alias)),
        "SET " + _assignments(statement.assignments),
        where(statement.where),
        _returning(statement.returning),
    )


def _assignments(assignments: Iterable[Assignment]) -> str:
    return ", ".join(f"{name(item.column)} = {item.value.text}" for item in assignments)


def print_delete(statement: Delete) -> str:
    return clauses(
        words("DELETE FROM", qualified(statement.target), alias(statement.alias)),
        where(statement.where),
        _returning(statement.returning),
    )


def print_merge(statement: Merge) -> str:
    match statement.source:
        case Fragment(text=source):
            pass
        case Path(text=path):
            source = string(path)
        case _:
            source = qualified(statement.source)
    return "\n".join(
        (
            words("MERGE INTO", qualified(statement.target), alias(statement.alias)),
            words("USING", source, _source_name(statement)),
            f"ON {statement.on.text}",
            *(_merge_clause(clause) for clause in statement.clauses),
            *filter(None, [_returning(statement.returning)]),
        )
    )


def _source_name(statement: Merge) -> str | None:
    name = alias(statement.source_alias)
    if name is None or statement.source_columns is None:
        return name
    return f"{name}{names(statement.source_columns)}"


def _merge_clause(clause: MergeClause) -> str:
    condition = f"AND {clause.condition.text}" if clause.condition else None
    return words("WHEN", str(clause.match), condition, "THEN", _merge_action(clause.action))


def _merge_action(action: MergeUpdate | MergeDelete | MergeInsert) -> str:
    match action:
        case MergeUpdate():
            return "UPDATE SET " + (
                "*" if action.assignments is None else _assignments(action.assignments)
            )
        case MergeDelete():
            return "DELETE"
        case MergeInsert():
            if action.values is None:
                return "INSERT *"
            return words(
                "INSERT",
                None if action.columns is None else names(action.columns),
                "VALUES",
                texts(action.values),
            )
