"""A MERGE's source on the driver: what its keys say about the target, and values that are mere
copies of its columns. Its timestamps are wall clocks where values are copied.

Values that are copies never go to Spark and back: the scan of the target reads the columns that ON
and the conditions ask for, and gives pairs of a row's identity and the number of a source row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.acid.orc_types import ID_FIELDS
from acidsql.arrow_arrays import arrow_scalar
from acidsql.catalog.model import Column
from acidsql.catalog.types import DecimalType, PrimitiveType, holds, is_timestamp
from acidsql.errors import Span
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.pruning import Comparison, Predicate
from acidsql.expressions.spark_words import SOURCE_ROW, identifier, is_limited, spark_type
from acidsql.expressions.tree import Call, ColumnRef, Constant, PartitionCondition
from acidsql.parser.statements import Match
from acidsql.plan.building import decided_by_source
from acidsql.plan.merge_sql import CLAUSE, narrowed
from acidsql.plan.plans import MergePlan
from acidsql.planner.bind.bound import NOTHING, BoundMergeClause
from acidsql.planner.bind.tables import has_check, rules_of
from acidsql.storage.key_lookup import KEY_TYPES, Keys
from acidsql.storage.stored import arrow_schema, data_names, needs_java_writer

Kinds = Mapping[str, str]
"""Spark's names of the types of a source's columns, by their names."""

MAX_LISTED = 200
"""More different keys are told as a range."""

MAX_PARTITION_KEYS = 10_000

_KEY_TYPES = ("tinyint", "smallint", "int", "bigint", "string", "date", "boolean")


# ---- what the keys say


def narrowed_by(plan: MergePlan, source: pa.Table, kinds: Kinds) -> MergePlan:
    """The plan for which no row of the target counts but those that may have a match, if none else
    does.
    """
    if any(clause.match is Match.NOT_MATCHED_BY_SOURCE for clause in plan.merge.clauses):
        return plan
    return narrowed(plan, *key_predicates(plan, source, kinds))


def key_predicates(
    plan: MergePlan, source: pa.Table, kinds: Kinds
) -> tuple[list[Predicate], list[PartitionCondition]]:
    """What must hold for a row of the target, and for its partition, to have a match."""
    predicates: list[Predicate] = []
    partitions: list[PartitionCondition] = []
    for column, values in _keys(plan, source, kinds):
        if column in plan.table.partition_columns:
            partitions += _partition_condition(column, values)
        elif len(values) <= MAX_LISTED:
            predicates.append(
                Predicate(column=column.name, op=Comparison.IN, values=tuple(values.to_pylist()))
            )
        else:
            ends = pc.min_max(values).as_py()
            predicates.append(
                Predicate(column=column.name, op=Comparison.GREATER_EQUAL, values=(ends["min"],))
            )
            predicates.append(
                Predicate(column=column.name, op=Comparison.LESS_EQUAL, values=(ends["max"],))
            )
    return predicates, partitions


def lookup_keys(plan: MergePlan, source: pa.Table, kinds: Kinds) -> Keys | None:
    """The columns that ON equates with the source's values for them, if that alone decides what
    becomes of a row. See key_lookup.
    """
    if not decided_by_source(plan.merge):
        return None
    columns, ordinals = {c.name: c for c in plan.table.columns}, _ordinals(source)
    keys: list[tuple[Column, pa.ChunkedArray]] = []
    for name, of_source in plan.merge.keys:
        column = columns.get(name)
        if (
            column is None
            or column.type not in KEY_TYPES
            or kinds.get(of_source) != spark_type(column.type)
        ):
            return None
        keys.append((column, source.column(ordinals[of_source])))
    return keys


def _keys(plan: MergePlan, source: pa.Table, kinds: Kinds) -> Iterator[tuple[Column, pa.Array]]:
    """The columns ON equates with one of the source, and the values that has."""
    columns = {c.name: c for c in (*plan.table.columns, *plan.table.partition_columns)}
    ordinals = _ordinals(source)
    for name, of_source in plan.merge.keys:
        column = columns.get(name)
        if column is None or kinds.get(of_source) != spark_type(column.type):
            continue
        if isinstance(column.type, DecimalType) or (
            isinstance(column.type, PrimitiveType) and column.type.name in _KEY_TYPES
        ):
            values = pc.drop_null(pc.unique(source.column(ordinals[of_source])))
            if len(values):
                yield column, values


def _partition_condition(column: Column, values: pa.Array) -> list[PartitionCondition]:
    if len(values) > MAX_PARTITION_KEYS or isinstance(column.type, DecimalType):
        return []
    nowhere = Span(0, 0)
    constants = [Constant(value, column.type, nowhere) for value in values.to_pylist()]
    tree = Call("IN", (ColumnRef((column.name,), nowhere), *constants), nowhere)
    return [PartitionCondition(sql=f"{identifier(column.name)} IS NOT NULL", tree=tree)]


# ---- copies


def are_copies(plan: MergePlan, kinds: Kinds) -> bool:
    """Whether all values that rows of the target get are columns of the source as they are."""
    if plan.merge.asked is None or has_check(plan.table) or not plan.merge.asked <= kinds.keys():
        return False
    if any(clause.match is Match.NOT_MATCHED_BY_SOURCE for clause in plan.merge.clauses):
        return False
    return all(
        _copies(plan, clause, kinds)
        for clause in plan.merge.clauses
        if clause.match is Match.MATCHED
    )


def inserts_are_copies(plan: MergePlan, kinds: Kinds) -> bool:
    """Whether the rows of the one clause that inserts are copies of the source's, whatever
    there is in them."""
    inserting = [clause for clause in plan.merge.clauses if clause.match is Match.NOT_MATCHED]
    if len(inserting) != 1 or inserting[0].condition is not None or plan.table.partition_columns:
        return False
    return not has_check(plan.table) and _copies(plan, inserting[0], kinds)


def _copies(plan: MergePlan, clause: BoundMergeClause, kinds: Kinds) -> bool:
    if not clause.makes_rows and not clause.values:
        return True
    pairs = list(zip(plan.table.columns, clause.copies, strict=False))
    return len(pairs) == len(plan.table.columns) and all(
        _is_copy(column, name, kinds) for column, name in pairs
    )


def _is_copy(column: Column, name: str | None, kinds: Kinds) -> bool:
    if name == NOTHING:
        return True
    nested_timestamp = holds(column.type, is_timestamp) and not is_timestamp(column.type)
    return (
        name is not None
        and kinds.get(name) == spark_type(column.type)
        and not is_limited(column.type)
        and not nested_timestamp
    )


def asked_columns(plan: MergePlan, source: pa.Table) -> pa.Table:
    """What of the source (with SOURCE_ROW) the scan of the target needs."""
    ordinals = _ordinals(source)
    return source.select(
        [*(ordinals[name] for name in sorted(plan.merge.asked or ())), ordinals[SOURCE_ROW.lower()]]
    )


def with_copies(plan: MergePlan, pairs: pa.Table, source: pa.Table) -> pa.Table:
    """``pairs`` with the new values (``data_names``): NULL for a clause that has none.
    NotNullError.
    """
    parts = []
    for number, clause in enumerate(plan.merge.clauses):
        of_clause = pairs.filter(pc.equal(pairs.column(CLAUSE), arrow_scalar(number, pa.int32())))
        if of_clause.num_rows:
            parts.append(
                _with_values(
                    plan,
                    clause.copies,
                    of_clause,
                    source.take(of_clause.column(SOURCE_ROW).combine_chunks()),
                )
            )
    return pa.concat_tables(parts) if parts else _with_values(plan, (), pairs.slice(0, 0), source)


def copied_inserts(plan: MergePlan, unmatched: pa.Table) -> pa.Table:
    """LEADING_COLUMNS (no identity) and the values of the rows to insert. NotNullError."""
    number = next(
        i for i, clause in enumerate(plan.merge.clauses) if clause.match is Match.NOT_MATCHED
    )
    count = unmatched.num_rows
    leading = {
        SOURCE_ROW: unmatched.column(SOURCE_ROW),
        CLAUSE: pa.repeat(arrow_scalar(number, pa.int32()), count),
    }
    ids = {
        name: pa.nulls(count, kind)
        for name, kind in zip(ID_FIELDS, (pa.int64(), pa.int32(), pa.int64()), strict=True)
    }
    copies = plan.merge.clauses[number].copies
    return _with_values(plan, copies, pa.table({**leading, **ids}), unmatched)


def _with_values(
    plan: MergePlan, copies: Sequence[str | None], rows: pa.Table, source: pa.Table
) -> pa.Table:
    """``rows`` with a column of the table for each of ``copies``; NULLs where there are none."""
    fields = arrow_schema(plan.table.columns)
    ordinals = _ordinals(source)
    values: dict[str, Any] = {}
    for ordinal, (field, name) in enumerate(
        zip(fields, data_names(plan.table.columns), strict=True)
    ):
        copy = copies[ordinal] if copies else NOTHING
        values[name] = (
            pa.nulls(rows.num_rows, field.type)
            if not copy
            else source.column(ordinals[copy]).cast(field.type)
        )
    if copies:
        _check_not_null(plan, list(values.values()))
    for name, array in values.items():
        rows = rows.append_column(name, array)
    return rows


def _check_not_null(plan: MergePlan, values: Sequence[pa.ChunkedArray]) -> None:
    names = [c.name for c in plan.table.columns]
    for rule in rules_of(plan.table):
        if rule.column is not None and values[names.index(rule.column)].null_count:
            raise rule.violation()


def check_writable(rows: pa.Table) -> None:
    """NotHere for rows that only Java can write."""
    if needs_java_writer(rows):
        raise NotHere("a date or timestamp that only Java writes")


def _ordinals(source: pa.Table) -> dict[str, int]:
    return {name.lower(): ordinal for ordinal, name in enumerate(source.column_names)}
