"""Values as the columns of a table store them, held against its rules; values of partition columns
as Hive's text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from acidsql.arrow_arrays import arrow_array, filled, numpy_array
from acidsql.catalog.model import DEFAULT_PARTITION, Table
from acidsql.catalog.partitions import partition_text
from acidsql.catalog.types import HiveType
from acidsql.errors import Span
from acidsql.planner.bind.local.query_trees import Semantics, Stored
from acidsql.planner.bind.local.stores import checks_of, stored
from acidsql.planner.bind.tables import rules_of

if TYPE_CHECKING:
    import pyarrow as pa

_NOWHERE = Span(0, 0)


def stored_arrays(
    stores: Sequence[Stored],
    batch: pa.RecordBatch,
    types: Mapping[str, HiveType],
    semantics: Semantics,
) -> list[pa.Array]:
    """What each column gets of the rows of a batch, whose columns have these types. Uncertain."""
    return [stored(one, types, semantics).run(batch) for one in stores]


def check_new_rows(table: Table, columns: Sequence[pa.Array], semantics: Semantics) -> None:
    """Raises the error of the first row that breaks a rule. ``columns``: the table's, those of its
    partitions behind the others. Uncertain.
    """
    import pyarrow as pa

    rules = rules_of(table)
    if not rules:
        return
    names = [c.name for c in (*table.columns, *table.partition_columns)]
    batch = pa.RecordBatch.from_arrays(list(columns), names=names)
    first: tuple[int, int] | None = None
    for number, (rule, check) in enumerate(
        zip(rules, checks_of(table, semantics, _NOWHERE), strict=True)
    ):
        if check is None:
            assert rule.column is not None
            broken = batch.column(rule.column).is_null()
        else:
            broken = _is_false(check.run(batch))
        row_numbers = np.flatnonzero(numpy_array(broken))
        if len(row_numbers) and (first is None or (int(row_numbers[0]), number) < first):
            first = (int(row_numbers[0]), number)
    if first is not None:
        raise rules[first[1]].violation()


def _is_false(values: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    return pc.invert(filled(values, True))


def key_texts(values: pa.Array) -> pa.Array:
    """Values of a partition column as Hive's text."""
    import pyarrow as pa

    encoded = values.dictionary_encode()
    texts = [partition_text(value) or DEFAULT_PARTITION for value in encoded.dictionary.to_pylist()]
    own = arrow_array([*texts, DEFAULT_PARTITION], pa.string())
    return own.take(filled(encoded.indices, len(texts)))


def one_batch(rows: pa.Table) -> pa.RecordBatch:
    """All rows in one batch."""
    import pyarrow as pa

    columns = [
        column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        for column in rows.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=rows.column_names)
