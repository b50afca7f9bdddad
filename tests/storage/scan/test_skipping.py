"""What a scan skips: files that no wanted row is in, and rows that delete events hit."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from acidsql.expressions.pruning import Comparison, Predicate
from acidsql.storage.events.delete_events import DeadIds, DeleteEvents
from tests.spark.event_tables import EventTable, bucket_property, columns, valid
from tests.storage.scan.reading import scanned

MEETS: dict[Comparison, Any] = {
    Comparison.EQUAL: operator.eq,
    Comparison.LESS: operator.lt,
    Comparison.LESS_EQUAL: operator.le,
    Comparison.GREATER: operator.gt,
    Comparison.GREATER_EQUAL: operator.ge,
    Comparison.IN: lambda value, *values: value in values,
}


def table_of(root: Path) -> EventTable:
    """Ten deltas of ten numbers each, one of them with NULLs alone; a nested column before them."""
    table = EventTable(root=root, columns=columns("n struct<a:int,b:string>, k int"))
    for number in range(10):
        values = [None if number == 5 else 10 * number + i for i in range(10)]
        write_id = number + 1
        table.insert(
            f"delta_{write_id:07d}_{write_id:07d}_0000/bucket_00000",
            [
                ((write_id, bucket_property(0), i), {"n": {"a": 1000, "b": "x"}, "k": value})
                for i, value in enumerate(values)
            ],
        )
    return table


def test_no_wanted_row_is_skipped(tmp_path: Path) -> None:
    """By any comparison, at the edges of files and beyond them; and files are skipped."""
    seen = table_of(tmp_path / "t").snapshot(valid(10))
    all_rows = scanned(seen, ["k"]).column("k").to_pylist()
    assert len(all_rows) == 100
    fewest = 100
    for op, meets in MEETS.items():
        for value in (-1, 0, 9, 10, 45, 49, 50, 60, 99, 100):
            values = (value, 72) if op is Comparison.IN else (value,)
            test = Predicate(column="k", op=op, values=values)
            found = scanned(seen, ["k"], predicates=[test])
            kept = found.column("k").to_pylist() if found.num_columns else []
            fewest = min(fewest, len(kept))

            def wanted(
                rows: list[int | None], meets: Any = meets, values: Any = values
            ) -> list[int]:
                return [row for row in rows if row is not None and meets(row, *values)]

            assert wanted(kept) == wanted(all_rows), test
    assert fewest == 10  # of NULLs a file tells nothing


@given(
    st.lists(st.integers(0, 60), max_size=40),
    st.sets(st.integers(0, 60), max_size=20),
    st.booleans(),
)
def test_dead_rows_are_found_either_way(rows: list[int], dead: set[int], ascending: bool) -> None:
    """Among ascending rows and among any."""
    values = np.array(sorted(set(rows)) if ascending else rows, np.int64)
    hit = np.array(sorted(dead), np.int64)
    same = np.zeros(len(hit), np.int64)
    ids = DeadIds.of(
        [
            DeleteEvents(
                write_ids=same + 1,
                bucket_properties=same + 2,
                rows=hit,
                event_write_ids=same + 3,
                partition_numbers=same,
            )
        ]
    )
    assert ids.alive_of(0, 1, 2, values).tolist() == [row not in dead for row in values.tolist()]
