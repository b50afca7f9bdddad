"""A table that is attached takes what its source tells of it now: which write ids and compactions
count, which partitions there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acidsql.catalog.attached import ASKED
from acidsql.catalog.model import Partition, Table
from acidsql.metastore.rows.partitions import (
    delete_partitions,
    insert_partitions,
    read_partitions,
)
from acidsql.metastore.rows.tables import update_table
from acidsql.metastore.sql import Connection
from acidsql.metastore.store import Store

_CLOCK_SET_BACK_MILLISECONDS = 60_000
"""Where a source was asked so much later than now, its clock was set back meanwhile."""


def refresh(
    store: Store,
    connection: Connection,
    stored: Table,
    after: Table,
    partitions: Sequence[Partition],
) -> None:
    """Nothing changes if somebody else has asked the source later than ``after`` is of."""
    ahead = _asked(stored.properties) - _asked(after.properties)
    if 0 < ahead < _CLOCK_SET_BACK_MILLISECONDS:
        return
    update_table(connection, after)
    known = {
        one.values: one for one in read_partitions(connection, stored.table_id, store.warehouse)
    }
    now = {one.values: one for one in partitions}
    gone = [
        one for one in known.values()
        if one.values not in now or now[one.values].location != one.location
    ]  # fmt: skip
    left = known.keys() - {one.values for one in gone}
    delete_partitions(connection, stored, gone, store.warehouse)
    new = [one for one in now.values() if one.values not in left]
    insert_partitions(connection, stored, new, store.warehouse)


def _asked(properties: Mapping[str, str]) -> int:
    return int(properties.get(ASKED, 0))
