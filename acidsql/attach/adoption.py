"""ADOPT TABLE: a table that is attached becomes one of this warehouse, where it lies. Others no
longer write it: their ids end where ours begin.

What did not count never will: those write ids are of aborted transactions from now on, whose
directories go as those of any other. A compaction that never committed is removed, before the store
says that the table is ours; who dies in between has removed what held nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

import numpy as np
import pyarrow as pa

from acidsql.acid.bucketing import bucket_numbers
from acidsql.acid.ids import TxnId, ValidTxnList, WriteId, bucket_ids
from acidsql.acid.orc_types import ID_FIELDS
from acidsql.arrow_arrays import numpy_array
from acidsql.attach.assumptions import question_lines, shortened
from acidsql.attach.layout import LaidOut, changes_since, laid_out
from acidsql.attach.old_events import check_no_old_events
from acidsql.attach.overlays import overlays_over
from acidsql.catalog.attached import (
    ADOPTED,
    ASSUMED,
    ATTACHED,
    MOVED,
    SOURCE,
    TXNS,
    WRITE_IDS,
    attached_write_ids,
    is_metastore,
    seen_txns,
)
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Bucketing, Table, TableKind
from acidsql.errors import BindError, ExecutionError, Warning
from acidsql.expressions.not_here import NotHere
from acidsql.lazy import dataclass
from acidsql.planner.bind.bound_catalog import BoundAdoptTable
from acidsql.result import Result, Stats
from acidsql.run.engine import Engine
from acidsql.txn.reading import Reads

# ---- buckets
#
# The buckets of a table that is adopted. Its writers must know them: a row in another bucket than
# Hive's is read by a scan, and lost to whatever looks into one bucket alone.
#
# Files never say that a table has buckets. They say that it has none where a file is named like no
# bucket; and where buckets are given, the rows of a full ACID table tell whether that is right,
# and by which of Hive's two hashes.


MOST_ROWS = 1_000_000
"""The number of rows whose buckets are compared."""

VERSIONS: tuple[Literal[1, 2], ...] = (2, 1)

Rows = Callable[[tuple[str, ...]], Iterable[pa.RecordBatch]]
"""The visible rows of a full ACID table: ID_FIELDS and these columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Buckets:
    """``bucketing``: None for none. ``reason``: how that is known."""

    bucketing: Bucketing | None
    reason: str


def buckets_of(action: BoundAdoptTable, layout: LaidOut, rows: Rows) -> Buckets | None:
    """None where somebody has to say it. BindError for what contradicts the files."""
    table, given = action.table, action.bucketing
    if SOURCE in table.properties:
        reason = f"of the dump {table.properties[SOURCE]}"
        return Buckets(bucketing=table.bucketing, reason=reason)
    if given is not None:
        return _checked(action, given, layout, rows)
    if layout.no_bucket is not None:
        reason = f"{layout.no_bucket} is named like no bucket"
        return Buckets(bucketing=None, reason=reason)
    return Buckets(bucketing=None, reason="as given") if action.not_clustered else None


def unknown_error(action: BoundAdoptTable) -> BindError:
    return BindError(
        f"the files do not tell whether table {action.table.name} has buckets",
        hint=(
            "SHOW CREATE TABLE in Hive tells. Say ADOPT TABLE .. NOT CLUSTERED, or ADOPT TABLE .."
            " CLUSTERED BY (id) INTO 4 BUCKETS."
        ),
        span=action.span,
    )


def _checked(action: BoundAdoptTable, given: Bucketing, layout: LaidOut, rows: Rows) -> Buckets:
    highest = max(layout.buckets, default=0)
    if layout.no_bucket is not None:
        raise BindError(
            f'the table is not clustered: "{layout.no_bucket}" is named like no bucket',
            span=action.clause_span,
        )
    if highest >= given.count:
        raise BindError(
            f"there are files of bucket {highest}, and {given.count} buckets are given",
            span=action.clause_span,
        )
    try:
        fits = _versions_that_fit(action.table, given, rows) if action.table.is_full_acid else None
    except NotHere:
        fits = None
    if action.version_is_given and (fits is None or given.version in fits):
        return Buckets(bucketing=given, reason="as given")
    if fits is None or (len(fits) == len(VERSIONS) and given.count > 1):
        raise BindError(
            "the rows do not tell by which of Hive's hashes they lie in their buckets",
            hint=(
                "SHOW CREATE TABLE in Hive tells: add TBLPROPERTIES ('bucketing_version'='2'), or"
                " '1' where it has no such property."
            ),
            span=action.clause_span,
        )
    if not fits or action.version_is_given:
        raise BindError(
            "the rows lie in other buckets than CLUSTERED BY says", span=action.clause_span
        )
    version = fits[0]
    reason = (
        "as given" if given.count == 1 else f"as given; the rows are hashed by version {version}"
    )
    return Buckets(bucketing=replace(given, version=version), reason=reason)


def _versions_that_fit(table: Table, given: Bucketing, rows: Rows) -> list[Literal[1, 2]]:
    """The hashes by which all rows that are looked at lie in the buckets they are in."""
    types = {column.name: str(column.type) for column in table.columns}
    fits, left = list(VERSIONS), MOST_ROWS
    for batch in rows(given.columns):
        keys = [(batch.column(name), types[name]) for name in given.columns]
        actual = bucket_ids(numpy_array(batch.column(ID_FIELDS[1])))
        fits = [
            version
            for version in fits
            if np.array_equal(bucket_numbers(keys, given.count, version), actual)
        ]
        left -= batch.num_rows
        if not fits or left <= 0:
            break
    return fits


# ---- adoption


@dataclass(frozen=True, slots=True)
class Adopter:
    """Adopts tables of one warehouse."""

    store: Catalog
    engine: Engine
    reads: Reads

    def adopt(self, action: BoundAdoptTable) -> Result:
        """BindError where somebody still writes to the table, or where something has to be said
        first; WriteConflictError while a transaction reads it.
        """
        table = action.table
        overlay = next(overlays_over(self.store, table.location), None)
        if overlay is not None:
            raise BindError(
                f"overlay {overlay} lies over table {table.name}",
                hint="DETACH TABLE the overlay first: it reads files that go from then on.",
                span=action.span,
            )
        with _file_errors(table):
            layout = self._look(action)
            check_no_old_events(action, layout.old_events)
            changes = list(changes_since(table, layout))
            if changes:
                raise _changed_error(action, changes)
            buckets = self._buckets(action, layout)
            if buckets is None:
                raise unknown_error(action)
            uncounted, txns = _uncounted(table), _txns(table, layout)
            with (
                self.store.adopting_table(
                    table,
                    _adopted(action, buckets.bucketing, txns),
                    uncounted=uncounted,
                    highest_txn=TxnId(0) if txns is None else txns.high_watermark,
                ),
                _file_errors(table),
            ):  # which are none of the store's
                for path in layout.unfinished.values():
                    self._remove(path)
        return Result(
            (), Stats(), notes=list(_notes(table)), warnings=list(_warnings(table, layout))
        )

    def explain(self, action: BoundAdoptTable) -> Iterator[str]:
        """What ADOPT would assume and do, each with its reason. Changes nothing."""
        table = action.table
        with _file_errors(table):
            layout = self._look(action)
            check_no_old_events(action, layout.old_events)
            buckets = self._buckets(action, layout)
        yield f"ADOPT TABLE {table.name}"
        yield f"  location: {table.location}: written to from then on; DROP TABLE deletes it"
        changes = list(changes_since(table, layout))
        if changes:
            yield "  refused, because somebody has written to it since it was attached:"
            yield from (f"    {line}" for line in shortened(changes))
        if table.partition_columns:
            yield from (f"  a partition without directory: {path}" for path in layout.missing)
        yield f"  buckets: {_bucket_words(buckets)}"
        if table.is_transactional:
            yield from _ids(table, layout)
        for path in layout.unfinished.values():
            yield f"  removed: {path} (a compaction that never committed)"
        yield "  statistics: unknown"

    def _look(self, action: BoundAdoptTable) -> LaidOut:
        table = action.table
        return laid_out(self.engine.files, table, self.store.list_partitions(table))

    def _buckets(self, action: BoundAdoptTable, layout: LaidOut) -> Buckets | None:
        table = action.table
        names = [table.name] if table.is_transactional else []

        def rows(columns: tuple[str, ...]) -> Iterable[pa.RecordBatch]:
            with self.reads.reading(names, f"ADOPT TABLE {table.name}") as (visible, _):
                snapshot = self.engine.snapshots(visible).take(
                    table, self.store.list_partitions(table)
                )
                scanner = self.engine.driver.scanner
                yield from scanner.batches(snapshot, columns, ids=True)

        return buckets_of(action, layout, rows)

    def _remove(self, path: str) -> None:
        """OSError if it is there still."""
        files = self.engine.files
        files.delete_tree(path)
        if files.exists(path):
            raise OSError(f'"{path}" could not be removed')


@contextmanager
def _file_errors(table: Table) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise ExecutionError(f'cannot adopt "{table.location}": {reason}') from error


def _changed_error(action: BoundAdoptTable, changes: Sequence[str]) -> BindError:
    return BindError(
        f"table {action.table.name} was changed since it was attached: somebody still writes it",
        detail="\n".join(shortened(changes)),
        hint=(
            "When nobody writes to it any more, DETACH TABLE and ATTACH TABLE it anew (with a new"
            " dump, if it was attached with one), and ADOPT TABLE then."
        ),
        span=action.span,
    )


def _uncounted(table: Table) -> tuple[WriteId, ...]:
    """The write ids that do not count, in their order."""
    known = attached_write_ids(table)
    return () if known is None else known.exceptions


def _txns(table: Table, layout: LaidOut) -> ValidTxnList | None:
    """The transactions of others whose compactions are read; None for a table without any."""
    known = seen_txns(table)
    if known is None:
        return None
    return replace(known, aborted=(*known.aborted, *layout.unfinished))


def _adopted(
    action: BoundAdoptTable, bucketing: Bucketing | None, txns: ValidTxnList | None
) -> Table:
    table, write_ids = action.table, attached_write_ids(action.table)
    gone = ("EXTERNAL", ATTACHED, MOVED, WRITE_IDS)
    properties = {key: text for key, text in table.properties.items() if key not in gone}
    properties["bucketing_version"] = "2" if bucketing is None else str(bucketing.version)
    properties["transient_lastDdlTime"] = str(action.now)
    if write_ids is not None and txns is not None:
        properties |= {ADOPTED: str(write_ids.high_watermark), TXNS: str(txns)}
    return replace(table, kind=TableKind.MANAGED, bucketing=bucketing, properties=properties)


# ---- words


def _notes(table: Table) -> Iterator[str]:
    known, uncounted = attached_write_ids(table), _uncounted(table)
    if known is not None:
        yield f"the next write id is {known.high_watermark + 1}"
    if uncounted:
        which = "1 write id counts" if len(uncounted) == 1 else f"{len(uncounted)} write ids count"
        yield f"{which} as aborted: such directories are removed"


def _warnings(table: Table, layout: LaidOut) -> Iterator[Warning]:
    known = attached_write_ids(table)
    directories = {} if known is None else _directories(layout, known.open)
    lines = question_lines({one: paths for one, paths in directories.items() if paths})
    if lines:
        yield Warning(f"open when that was told, and never to count: {'; '.join(lines)}")
    for path in layout.missing:
        yield Warning(f'a partition has no directory: "{path}"')
    for path in layout.unfinished.values():
        yield Warning(f'removed, a compaction that never committed: "{path}"')


def _bucket_words(buckets: Buckets | None) -> str:
    if buckets is None:
        return "to be said with CLUSTERED BY or NOT CLUSTERED, because no file tells"
    bucketing = buckets.bucketing
    if bucketing is None:
        return f"none ({buckets.reason})"
    return f"{bucketing.count} by {', '.join(bucketing.columns)} ({buckets.reason})"


def _ids(table: Table, layout: LaidOut) -> Iterator[str]:
    known = attached_write_ids(table)
    assert known is not None
    yield f"  next write id: {known.high_watermark + 1} (behind the highest when it was attached)"
    if layout.highest_txn:
        yield f"  next transaction: above {layout.highest_txn} (of the names of directories)"
    if not known.exceptions:
        return
    assumed, source = table.properties.get(ASSUMED), table.properties.get(SOURCE)
    kind = "metastore" if is_metastore(source or "") else "dump"
    reason = f"ASSUME {assumed}" if source is None else f"of the {kind} {source}"
    for write_ids, fate in (
        (known.aborted, "never to count"),
        (known.open, "open, and never to count"),
    ):
        if write_ids:
            yield f"  {fate}; removed where nothing else is in it ({reason}):"
            lines = question_lines(_directories(layout, write_ids))
            yield from (f"    {line}" for line in lines)


def _directories(layout: LaidOut, write_ids: Sequence[WriteId]) -> dict[WriteId, list[str]]:
    """The directories of each of these."""
    directories: dict[WriteId, list[str]] = {write_id: [] for write_id in write_ids}
    for root, evidence in layout.evidence.items():
        for write_id, paths in evidence.unproven.items():
            if write_id in directories:
                directories[write_id] += [f"{root}/{path}" for path in paths]
    return directories
