"""Which partitions can hold rows that meet a condition, judged by their values alone, before any
directory is listed.

A partition is dropped only if a condition is certainly false or NULL for it. The answers are
Spark's: text against a number compares as a number in ``=`` and as text in ``IN``, a cast that
fails is NULL. Where Spark's answer is not certain the partition is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acidsql.catalog.model import Column, Partition
from acidsql.catalog.types import HiveType
from acidsql.expressions.rows.compiler import compile_condition
from acidsql.expressions.tree import ColumnRef, Condition, PartitionCondition, parts_of
from acidsql.expressions.values import UNKNOWN, partition_value
from acidsql.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """``kept``: in the order given. ``undecided``: Spark SQL, over the columns' names, of each
    condition that some of them may yet fail.
    """

    kept: tuple[Partition, ...]
    undecided: tuple[str, ...] = ()


def prune(
    columns: Sequence[Column],
    partitions: Sequence[Partition],
    conditions: Sequence[PartitionCondition],
    *,
    ansi: bool = False,
) -> Pruning:
    """The partitions that can meet all of ``conditions``. ``columns``: the partition columns;
    ``ansi``: acidsql.ansi.
    """
    kept = list(partitions)
    doubted: list[tuple[str, list[Partition]]] = []
    for condition in conditions:
        answers = _answers(columns, kept, condition.tree, ansi)
        doubted.append(
            (
                condition.whenever,
                [p for p, answer in zip(kept, answers, strict=True) if answer is UNKNOWN],
            )
        )
        kept = [
            p
            for p, answer in zip(kept, answers, strict=True)
            if answer is not False and answer is not None
        ]
    left = set(map(id, kept))
    return Pruning(
        kept=tuple(kept),
        undecided=tuple(sql for sql, doubtful in doubted if any(id(p) in left for p in doubtful)),
    )


def rejects_nulls(columns: Mapping[str, HiveType], tree: Condition) -> bool:
    """Whether a condition is certainly not true where every column is NULL, as in the rows an outer
    join adds.
    """
    numbered_columns = {name: (0, hive_type) for name, hive_type in columns.items()}
    answer = compile_condition(tree, numbered_columns, ansi=False)((None,))
    return answer is False or answer is None


def columns_of(tree: Condition) -> set[str]:
    """The last part of each name."""
    return {part.parts[-1] for part in parts_of(tree) if isinstance(part, ColumnRef)}


def _answers(
    columns: Sequence[Column], partitions: Sequence[Partition], tree: Condition, ansi: bool
) -> list[Any]:
    """One for each partition; each distinct text is parsed once, and each distinct combination of
    values is judged once.
    """
    used = columns_of(tree)
    ordinals = [ordinal for ordinal, column in enumerate(columns) if column.name in used]
    test = compile_condition(
        tree, {columns[p].name: (i, columns[p].type) for i, p in enumerate(ordinals)}, ansi=ansi
    )
    if len(ordinals) == 1:
        ordinal = ordinals[0]
        texts = [p.values[ordinal] for p in partitions]
        known = {text: test((partition_value(text, columns[ordinal].type),)) for text in set(texts)}
        return [known[text] for text in texts]
    values: list[dict[str, Any]] = [
        {
            text: partition_value(text, columns[ordinal].type)
            for text in {p.values[ordinal] for p in partitions}
        }
        for ordinal in ordinals
    ]
    return [
        test([parsed[p.values[ordinal]] for ordinal, parsed in zip(ordinals, values, strict=True)])
        for p in partitions
    ]
