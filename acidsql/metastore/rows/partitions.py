"""The partitions of a table as rows of PARTITIONS, PARTITION_KEY_VALS, PARTITION_PARAMS and SDS,
and back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from acidsql.batched import batched
from acidsql.catalog.model import Partition, Table
from acidsql.catalog.partitions import name_of, partition_name
from acidsql.catalog.statistics import KEYS
from acidsql.errors import AlreadyExistsError, WriteConflictError
from acidsql.metastore.locations import given_location, stored_location
from acidsql.metastore.rows.storage import delete_storage, insert_storage
from acidsql.metastore.sql import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)
from acidsql.metastore.store import insert_row
from acidsql.metastore.tables import PARTITION_KEY_VALS, PARTITION_PARAMS, PARTITIONS, SDS, TBLS

if TYPE_CHECKING:
    from acidsql.catalog.partitions import Among, NameRanges

PARTITION_EXISTS = 10118
_BATCH = 500
"""The most ids in one IN list."""
_FEW = 64
"""To read so many partitions takes less than to choose from them."""


def insert_partitions(
    connection: Connection,
    table: Table,
    partitions: Iterable[Partition],
    warehouse: str,
    *,
    if_not_exists: bool = False,
) -> tuple[Partition, ...]:
    """Stores partitions of a stored table. Returns the new ones; AlreadyExistsError if one is
    there, unless ``if_not_exists`` passes over it.
    """
    cd_id = connection.scalar(_COLUMNS_OF_TABLE, {"id": table.table_id})
    keys = [c.name for c in table.partition_columns]
    added = []
    for partition in partitions:
        name = partition_name(keys, partition.values)
        if connection.execute(_BY_NAME, {"id": table.table_id, "name": name}).first() is not None:
            if if_not_exists:
                continue
            raise AlreadyExistsError(
                f"Partition already exists: {table.name} {name}", code=PARTITION_EXISTS
            )
        located = replace(table, location=partition.location)
        sd_id = insert_storage(connection, located, cd_id or 0, warehouse)
        _insert_partition(connection, table, partition, name, sd_id)
        added.append(partition)
    return tuple(added)


def _insert_partition(
    connection: Connection, table: Table, partition: Partition, name: str, sd_id: int
) -> None:
    """Stores a new partition, whose files are stored as the row ``sd_id`` of SDS says."""
    part_id = insert_row(
        connection,
        PARTITIONS,
        TBL_ID=table.table_id,
        SD_ID=sd_id,
        PART_NAME=name,
        CREATE_TIME=partition.created_at,
    )
    values = [
        {"PART_ID": part_id, "INTEGER_IDX": i, "PART_KEY_VAL": value}
        for i, value in enumerate(partition.values)
    ]
    connection.execute(insert(PARTITION_KEY_VALS), values)
    texts = {**partition.properties, **partition.statistics}
    params = [{"PART_ID": part_id, "PARAM_KEY": k, "PARAM_VALUE": v} for k, v in texts.items()]
    if params:
        connection.execute(insert(PARTITION_PARAMS), params)


def delete_partitions(
    connection: Connection, table: Table, partitions: Iterable[Partition], warehouse: str
) -> tuple[Partition, ...]:
    """Deletes the partitions that are there, with their storage; they come back as they were
    stored."""
    # few statements drop any
    from acidsql.catalog.partitions import ranges_of

    names = [name_of(table, partition) for partition in partitions]
    few = ranges_of(names) if len(names) <= _RANGES else None
    listed = read_partitions(connection, table.table_id, warehouse, few)
    wanted = set(names)
    dropped = {name: p for p in listed if (name := name_of(table, p)) in wanted}
    rows = [
        row
        for some in batched(list(dropped), _BATCH)
        for row in connection.execute(_BY_NAMES, {"id": table.table_id, "names": some})
    ]
    if rows:
        connection.execute(
            delete(PARTITIONS).where(PARTITIONS.c.PART_ID == bindparam("part")),
            [{"part": row.PART_ID} for row in rows],
        )
    for some in batched(rows, _BATCH):
        delete_storage(connection, [row.SD_ID for row in some])
    return tuple(dropped.values())


def update_partition(
    connection: Connection, table: Table, before: Partition, after: Partition, warehouse: str
) -> None:
    """Changes the values and the location of a partition. WriteConflictError if it is not what
    ``before`` says, AlreadyExistsError if ``after`` is there.
    """
    old, new = name_of(table, before), name_of(table, after)
    row = connection.execute(_BY_NAME, {"id": table.table_id, "name": old}).first()
    if row is None or given_location(row.LOCATION, warehouse) != before.location:
        hint = "Run the statement again: it will see the other session's change."
        raise WriteConflictError(
            f'partition {old} of table "{table.name}" was changed by another session meanwhile',
            hint=hint,
        )
    if (
        new != old
        and connection.execute(_BY_NAME, {"id": table.table_id, "name": new}).first() is not None
    ):
        raise AlreadyExistsError(
            f"Partition already exists: {table.name} {new}", code=PARTITION_EXISTS
        )
    connection.execute(
        update(PARTITIONS).where(PARTITIONS.c.PART_ID == row.PART_ID).values(PART_NAME=new)
    )
    values = PARTITION_KEY_VALS.c
    new_values = update(PARTITION_KEY_VALS).where(
        values.PART_ID == row.PART_ID, values.INTEGER_IDX == bindparam("ordinal")
    )
    texts = [{"ordinal": i, "value": value} for i, value in enumerate(after.values)]
    connection.execute(new_values.values(PART_KEY_VAL=bindparam("value")), texts)
    location = stored_location(after.location, warehouse)
    connection.execute(update(SDS).where(SDS.c.SD_ID == row.SD_ID).values(LOCATION=location))


def read_partitions(
    connection: Connection, table_id: int, warehouse: str, among: Among | None = None
) -> tuple[Partition, ...]:
    """The partitions of a table, sorted by name; ``among``: see ``Catalog.list_partitions``."""
    ids = None if among is None else _asked_for(connection, table_id, among)
    if ids is None:
        return _read(connection, _OF_TABLE, {"id": table_id}, warehouse)
    return tuple(
        partition
        for some in batched(ids, _BATCH)
        for partition in _read(connection, _of_ids(some), {}, warehouse)
    )


def _asked_for(connection: Connection, table_id: int, among: Among) -> list[int] | None:
    """The ids of partitions in the order of their names; None where it takes less to read all."""
    if isinstance(among, tuple):
        return list(_in_ranges(connection, table_id, among).values())
    ranges = among.ranges
    if ranges is not None:
        named = _in_ranges(connection, table_id, ranges)
        return [named[name] for name in among.chosen(list(named))]
    named = dict(connection.execute(_NAMES, {"id": table_id}).all())
    if len(named) <= _FEW:
        return None
    names = among.chosen(list(named))
    return None if len(names) > len(named) // 2 else [named[name] for name in names]


def _in_ranges(connection: Connection, table_id: int, among: NameRanges) -> dict[str, int]:
    """The ids by name, in the order of the names."""
    named: dict[str, int] = {}
    for part in batched(among, _RANGES):
        bounds = dict(zip(_BOUNDS, (*chain(*part), *[""] * 2 * (_RANGES - len(part))), strict=True))
        in_ranges = connection.execute(_IN_RANGES, {"id": table_id, **bounds})
        named.update((name, part_id) for name, part_id in in_ranges)
    return {name: named[name] for name in sorted(named)}


def count_partitions(connection: Connection, table_id: int) -> int:
    """How many partitions a table has."""
    return int(connection.scalar(_COUNT, {"id": table_id}) or 0)


def find_partition(
    connection: Connection, table_id: int, name: str, warehouse: str
) -> Partition | None:
    """The partition of a table by its name; None if there is none."""
    named = _read(connection, _OF_NAME, {"id": table_id, "name": name}, warehouse)
    return named[0] if named else None


def _read(
    connection: Connection, chosen: _Queries, which: Mapping[str, object], warehouse: str
) -> tuple[Partition, ...]:
    values: defaultdict[int, list[str]] = defaultdict(list)
    for part_id, value in connection.execute(chosen.values, which):
        values[part_id].append(value)
    properties: defaultdict[int, dict[str, str]] = defaultdict(dict)
    statistics: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for part_id, key, value in connection.execute(chosen.params, which):
        (statistics if key in KEYS else properties)[part_id][key] = value
    return tuple(
        Partition(
            values=tuple(values[part_id]),
            location=given_location(location, warehouse),
            properties=properties.get(part_id) or {},
            statistics=statistics.get(part_id) or {},
            created_at=created_at,
        )
        for part_id, location, created_at in connection.execute(chosen.partitions, which)
    )


def find_location(connection: Connection, table_id: int, name: str, warehouse: str) -> str | None:
    """The location of the partition of a table by its name; None if there is none."""
    row = connection.execute(_BY_NAME, {"id": table_id, "name": name}).one_or_none()
    return None if row is None else given_location(row.LOCATION, warehouse)


_ID = bindparam("id", type_=BigInteger)
_COLUMNS_OF_TABLE = (
    select(SDS.c.CD_ID).join(TBLS, TBLS.c.SD_ID == SDS.c.SD_ID).where(TBLS.c.TBL_ID == _ID)
)
_BY_NAME = (
    select(PARTITIONS.c.PART_ID, PARTITIONS.c.SD_ID, SDS.c.LOCATION)
    .join(SDS, SDS.c.SD_ID == PARTITIONS.c.SD_ID)
    .where(PARTITIONS.c.TBL_ID == _ID, PARTITIONS.c.PART_NAME == bindparam("name"))
)
_BY_NAMES = select(PARTITIONS.c.PART_ID, PARTITIONS.c.SD_ID).where(
    PARTITIONS.c.TBL_ID == _ID,
    PARTITIONS.c.PART_NAME.in_(bindparam("names", expanding=True)),
)


class _Queries(NamedTuple):
    """What partitions consist of."""

    partitions: Select[Any]
    values: Select[Any]
    params: Select[Any]

    def of(self, condition: ColumnElement[bool]) -> _Queries:
        """The queries of those that meet a condition on PARTITIONS."""
        return _Queries(*(query.where(condition) for query in self))


_ALL = _Queries(
    partitions=(
        select(PARTITIONS.c.PART_ID, SDS.c.LOCATION, PARTITIONS.c.CREATE_TIME)
        .join(SDS, SDS.c.SD_ID == PARTITIONS.c.SD_ID)
        .order_by(PARTITIONS.c.PART_NAME)
    ),
    values=(
        select(PARTITION_KEY_VALS.c.PART_ID, PARTITION_KEY_VALS.c.PART_KEY_VAL)
        .join(PARTITIONS, PARTITIONS.c.PART_ID == PARTITION_KEY_VALS.c.PART_ID)
        .order_by(PARTITION_KEY_VALS.c.PART_ID, PARTITION_KEY_VALS.c.INTEGER_IDX)
    ),
    params=(
        select(PARTITION_PARAMS)
        .join(PARTITIONS, PARTITIONS.c.PART_ID == PARTITION_PARAMS.c.PART_ID)
        .order_by(PARTITION_PARAMS.c.PARAM_KEY)
    ),
)
_OF_TABLE = _ALL.of(PARTITIONS.c.TBL_ID == _ID)
_OF_NAME = _OF_TABLE.of(PARTITIONS.c.PART_NAME == bindparam("name"))
_RANGES = 16
"""How many ranges of names one statement asks for, whose text is always the same."""
_BOUNDS = tuple(f"{end}{number}" for number in range(_RANGES) for end in ("low", "high"))
_IN_RANGES = select(PARTITIONS.c.PART_NAME, PARTITIONS.c.PART_ID).where(
    or_(
        *(
            and_(
                PARTITIONS.c.TBL_ID == _ID,
                PARTITIONS.c.PART_NAME >= bindparam(low),
                PARTITIONS.c.PART_NAME < bindparam(high),
            )
            for low, high in zip(_BOUNDS[::2], _BOUNDS[1::2], strict=True)
        )
    )
)
_NAMES = (
    select(PARTITIONS.c.PART_NAME, PARTITIONS.c.PART_ID)
    .where(PARTITIONS.c.TBL_ID == _ID)
    .order_by(PARTITIONS.c.PART_NAME)
)
_COUNT = select(func.count()).where(PARTITIONS.c.TBL_ID == _ID)


def _of_ids(ids: Sequence[int]) -> _Queries:
    return _ALL.of(PARTITIONS.c.PART_ID.in_(ids))
