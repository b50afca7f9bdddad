"""What the operators of one statement hand each other. A way of a plan works on a flow of its own,
which counts once the way has gone through.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Protocol, Self

from acidsql.lazy_dataclass import dataclass

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
    from acidsql.storage.load.sources import Source
    from acidsql.storage.snapshots import Snapshots
    from acidsql.storage.write.target import WriteTarget, Written
    from acidsql.storage.write.touched import Touching


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
