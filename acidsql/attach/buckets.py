"""The buckets of a table that is adopted. Its writers must know them: a row in another
bucket than Hive's is read by a scan, and lost to whatever looks into one bucket alone.

Files never say that a table has buckets. They say that it has none where a file is named like no
bucket; and where buckets are given, the rows of a full ACID table tell whether that is right, and
by which of Hive's two hashes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Literal

import numpy as np
import pyarrow as pa

from acidsql.acid.bucketing import bucket_numbers
from acidsql.acid.ids import bucket_ids
from acidsql.acid.orc_types import ID_FIELDS
from acidsql.arrow_arrays import numpy_array
from acidsql.attach.layout import LaidOut
from acidsql.catalog.attached import SOURCE
from acidsql.catalog.model import Bucketing, Table
from acidsql.errors import BindError
from acidsql.expressions.not_here import NotHere
from acidsql.lazy_dataclass import dataclass
from acidsql.planner.bind.bound_catalog import BoundAdoptTable

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
