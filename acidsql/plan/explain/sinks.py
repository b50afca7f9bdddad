"""Where a statement writes, in words: the directory of each sink, and what comes to lie there."""

from __future__ import annotations

from acidsql.catalog.model import Table
from acidsql.catalog.partitions import partition_name
from acidsql.plan.plans import Sink, SinkKind
from acidsql.planner.bind.bound import BoundPartition


def partition_words(table: Table, partition: BoundPartition | None) -> str:
    """The partition's directory below the table's; ``<hr>`` is a value that comes with the rows."""
    static = dict(partition.static) if partition is not None else {}
    names = [c.name for c in table.partition_columns]
    parts = [partition_name([n], [static[n]]) if n in static else f"{n}=<{n}>" for n in names]
    return "".join(f"{part}/" for part in parts)


def sink_words(
    sink: Sink, table: Table, *, truncated: bool = False, as_they_are: bool = False
) -> str:
    what = "the files as they are" if as_they_are else f"rows{_by_bucket(table)}"
    if sink.overwrite:
        return f"base_<w>, {'which hides what was there' if truncated else what}"
    prefix = "delete_delta" if sink.kind is SinkKind.DELETE else "delta"
    directory = f"{prefix}_<w>_<w>_{sink.statement_id:04d}"
    if sink.kind is SinkKind.DELETE:
        return f"{directory}, delete events by the bucket of each row"
    return f"{directory}, {what}"


def _by_bucket(table: Table) -> str:
    return (
        f" by bucket ({', '.join(table.bucketing.columns)}) of {table.bucketing.count}"
        if table.bucketing
        else ""
    )
