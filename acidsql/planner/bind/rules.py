"""What a table's enabled constraints ask of new rows: DEFAULT fills, NOT NULL and CHECK refuse.
Hive: GenericUDFEnforceConstraint.
"""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.catalog.model import Column, ConstraintKind, Table
from acidsql.errors import IntegrityError, NotNullError
from acidsql.expressions.query_text import Piece
from acidsql.expressions.spark_words import identifier, store_cast, text_literal

MARK = "acidsql: constraint "
"""What Spark raises for a row that breaks rule number n: this and n."""


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
        if constraint.kind is ConstraintKind.NOT_NULL:
            column = constraint.columns[0]
            broken, promise = f"{identifier(column)} IS NULL", f"{column} is not NULL"
            rules.append(
                Rule(
                    broken=broken,
                    column=column,
                    name=constraint.name,
                    table=str(table.name),
                    promise=promise,
                )
            )
        elif constraint.kind is ConstraintKind.CHECK:
            broken, promise = (
                f"({constraint.expression}) = FALSE",
                f"{constraint.expression} is not false",
            )
            rules.append(
                Rule(
                    broken=broken,
                    column=None,
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


def default_value(table: Table, column: Column) -> tuple[Piece, ...]:
    """What a column holds that no value was given for."""
    return store_cast((default_of(table, column) or "NULL",), column.type)


def loads_files(table: Table) -> bool:
    """Whether LOAD DATA takes files as they are; else their rows are inserted, each in its bucket
    and after the rules are asked.
    """
    return table.bucketing is None and not rules_of(table)
