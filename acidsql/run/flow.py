"""What the operators of one statement hand each other: where its rows go, what was read and
written, and what each operator came to. A way of a plan works on a flow of its own, which
counts once the way has gone through.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol, Self

from acidsql.acid.ids import NO_STATEMENT, TxnId, WriteId
from acidsql.catalog.model import Partition
from acidsql.expressions.not_here import NotHere
from acidsql.lazy import dataclass
from acidsql.plan.operators import Operator, Ran
from acidsql.plan.plans import MergePlan, WritePlan
from acidsql.planner.bind.bound import BoundInsert, BoundLoad
from acidsql.settings import Settings
from acidsql.storage.partitions import PartitionIndex
from acidsql.storage.snapshots import Snapshots
from acidsql.storage.write.pending import PendingWrites
from acidsql.storage.write.target import WriteTarget

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from acidsql.errors import Warning
    from acidsql.expressions.losses import Counter
    from acidsql.plan.operators import LocalScan, Scan
    from acidsql.plan.plans import MergePlan, WritePlan
    from acidsql.planner.bind.bound import BoundRead
    from acidsql.storage.load import Source
    from acidsql.storage.snapshots import Snapshots
    from acidsql.storage.write.target import WriteTarget, Written
    from acidsql.storage.write.touched import Touching


# ---- trace
#
# The operators of a statement that ran, and what they came to: rows, files, bytes, seconds.


@dataclass(slots=True)
class Figures:
    """The figures of an operator that runs; None where nobody knows."""

    rows: int | None = None
    files: int | None = None
    bytes: int | None = None


def note_written(written: Written, figures: Figures) -> None:
    """What is told of files that were written."""
    figures.rows = written.inserted + written.updated + written.deleted
    figures.files = len(written.directories) or None


class Trace:
    """Notes what one statement, or one leg of it, did. ``notes``: whether anybody asks."""

    def __init__(self, *, notes: bool = True) -> None:
        self._notes = notes
        self.ran: list[Ran] = []

    @contextmanager
    def running(self, operator: Operator) -> Iterator[Figures]:
        """Notes an operator once it has gone well, or has begun and shown that another way is to
        be taken (NotHere).
        """
        figures = Figures()
        started = time.perf_counter()
        try:
            yield figures
        except NotHere as signal:
            if signal.begun:
                self._note(operator, figures, time.perf_counter() - started, in_vain=True)
            raise
        self._note(operator, figures, time.perf_counter() - started)

    def _note(
        self, operator: Operator, figures: Figures, seconds: float, *, in_vain: bool = False
    ) -> None:
        if not self._notes:
            return
        ran = Ran(
            operator=operator,
            seconds=seconds,
            rows=figures.rows,
            files=figures.files,
            bytes=figures.bytes,
            in_vain=in_vain,
        )
        self.ran.append(ran)


UNTRACED = Trace(notes=False)
"""For work that is part of no statement's plan."""


# ---- target
#
# Where the rows of a statement go: what its transaction gives it, and its writers' target.


NO_TXN, NO_WRITE = TxnId(0), WriteId(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a statement that writes has of its transaction; a table that is not transactional needs
    no more than ``snapshots``.
    """

    snapshots: Snapshots
    txn_id: TxnId = NO_TXN
    write_id: WriteId = NO_WRITE
    pending: PendingWrites | None = None


def write_target(settings: Settings, plan: WritePlan | MergePlan, work: Work) -> WriteTarget:
    """The target of the plan's first sink; nothing is written under its staging name yet."""
    table, snapshots = plan.table, work.snapshots
    insert = (
        plan.action
        if isinstance(plan, WritePlan) and isinstance(plan.action, BoundInsert | BoundLoad)
        else None
    )
    partition_index = (
        PartitionIndex(table, partial(snapshots.partitions, table))
        if table.partition_columns
        else None
    )
    return WriteTarget(
        table=table,
        write_id=work.write_id,
        statement_id=plan.sinks[0].statement_id if plan.sinks else NO_STATEMENT,
        codec=table.properties.get("orc.compress")
        or settings.text("hive.exec.orc.default.compress"),
        max_bytes=int(settings.number("acidsql.write.driver.max.bytes")),
        force_path=settings.text("acidsql.write.path"),
        staging=f".acidsql_{work.txn_id}_{uuid.uuid4().hex[:8]}",
        partition_index=partition_index,
        sure=(
            ()
            if insert is None or partition_index is None
            else _named_partitions(insert, partition_index, snapshots)
        ),
        max_partitions=_max_partitions(settings, insert),
        overwrite=insert is not None and insert.overwrite,
        pending=work.pending,
        returns=plan.returning is not None,
    )


def _max_partitions(settings: Settings, insert: BoundInsert | BoundLoad | None) -> int | None:
    dynamic = insert is not None and insert.partition is not None and insert.partition.dynamic
    return int(settings.number("hive.exec.max.dynamic.partitions")) if dynamic else None


def _named_partitions(
    action: BoundInsert | BoundLoad, partition_index: PartitionIndex, snapshots: Snapshots
) -> tuple[Partition, ...]:
    """The partitions a statement names, whatever rows there are."""
    if isinstance(action, BoundInsert) and action.truncate:
        return truncated_partitions(action, snapshots)
    values = action.partition.values if action.partition is not None else None
    return () if values is None else (partition_index.find(values),)


def truncated_partitions(action: BoundInsert, snapshots: Snapshots) -> tuple[Partition, ...]:
    """The partitions that a TRUNCATE empties."""
    columns, wanted = [c.name for c in action.table.partition_columns], set(action.truncated)
    return tuple(
        p
        for p in snapshots.partitions(action.table)
        if wanted <= set(zip(columns, p.values, strict=True))
    )


# ---- flow
#
# What the operators of one statement hand each other. A way of a plan works on a flow of its own,
# which counts once the way has gone through.


@dataclass(slots=True, kw_only=True)
class Flow:
    """A query under ``snapshots``. The driver: ``batches`` of the scans by their numbers, those
    ``tested`` whose rows meet WHERE already, the ``results`` of other operators by theirs,
    and the ``weight`` of all scans in bytes. Spark's: ``views`` of the tables by their numbers, and
    the DataFrame over them. ``rows``: in the end.
    """

    snapshots: Snapshots
    batches: dict[int, Iterable[pa.RecordBatch]] = field(default_factory=dict)
    tested: set[int] = field(default_factory=set)
    results: dict[int, pa.Table] = field(default_factory=dict)
    weight: int = 0
    views: dict[int, str] = field(default_factory=dict)
    frame: DataFrame | None = None
    rows: pa.Table | None = None

    def trial(self) -> Self:
        """A flow that goes on from here, and leaves this one as it is."""
        return replace(
            self,
            batches=dict(self.batches),
            tested=set(self.tested),
            results=dict(self.results),
            views=dict(self.views),
        )

    def read_of(self, scan: LocalScan | Scan) -> BoundRead:
        """What a scan reads, as far as it is known by now."""
        return scan.read


@dataclass(slots=True, kw_only=True)
class Change(Flow):
    """INSERT, LOAD DATA, UPDATE or DELETE. ``rows`` (or ``frame``) have marks of what values lose,
    which ``counters`` count; ``values`` are those of ``rows`` as the table's types have them.
    ``coming``: in place of ``rows``, such as they come, where they are many; ``values`` are those
    of the last that came. ``sources``: files that were found. It ends with ``written``, or
    ``touching`` if that is only counted.
    """

    leg: WritePlan | MergePlan
    target: WriteTarget
    values: list[pa.Array] = field(default_factory=list)
    counters: tuple[Counter, ...] = ()
    coming: Iterator[pa.Table] | None = None
    warnings: tuple[Warning, ...] = ()
    sources: tuple[Source, ...] = ()
    written: Written | None = None
    touching: Touching | None = None


class SourceRows(Protocol):
    """The rows of a MERGE's source on the driver. ``table``: with SOURCE_ROW behind the columns,
    under names in lower case; timestamps are wall clocks. ``kinds``: Spark's names of their types.
    """

    @property
    def table(self) -> pa.Table: ...
    @property
    def kinds(self) -> Mapping[str, str]: ...

    def matched_clauses(self) -> pa.Array:
        """The number of the clause that acts on each row's match; NULL if none does."""
        ...


@dataclass(slots=True, kw_only=True)
class Merging(Change):
    """MERGE. ``read``: the target, narrowed by what the source's keys tell. ``changes`` and
    ``inserts``: LEADING_COLUMNS and values of the rows to change, and of those to insert;
    ``matched``: which rows of the source have a match.
    """

    plan: MergePlan
    source: SourceRows | None = None
    matched: npt.NDArray[np.bool_] | None = None
    changes: pa.Table | None = None
    inserts: pa.Table | None = None

    def read_of(self, scan: LocalScan | Scan) -> BoundRead:
        return scan.read if scan.number else self.plan.merge.reads[0]
