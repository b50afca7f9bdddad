"""A table as the service of Hive's metastore tells it. All calls only read: no transaction is
opened there, and nothing is locked.

The service has no snapshot for several calls, so their order has to do. Transactions are asked for
before partitions: a transaction that committed has added its partitions before. The table is
asked for before and after all of that: if it is another one then, or a partition is gone, all is
asked again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from acidsql.acid.ids import WriteId
from acidsql.attach.facts import PartitionFacts, TableFacts
from acidsql.attach.sources.database import (
    CATALOG,
    NAME_IT,
    attachable_location,
    hive_column,
    hive_partition,
)
from acidsql.attach.sources.urls import ServiceUrl
from acidsql.batched import batched
from acidsql.catalog.model import Bucketing, Column, SortColumn, TableName
from acidsql.errors import BindError, MetastoreError
from acidsql.metastore.embedded import current_user
from acidsql.metastore.hive.authorizers import REFUSE, find_authorizer, refused_error
from acidsql.metastore.hive.calls.reading import (
    GET_CONFIG_VALUE,
    GET_OPEN_TXNS,
    GET_PARTITION_NAMES,
    GET_PARTITIONS,
    GET_TABLE,
    GET_VALID_WRITE_IDS,
    INSERT_ONLY_TABLES,
    NO_LIMIT,
    NO_SUCH_OBJECT,
    plain_text,
    txn_list,
    write_id_lists,
)
from acidsql.metastore.hive.client import Connection, DeclaredError, ask_first
from acidsql.metastore.hive.protocol import WireError
from acidsql.metastore.hive.reaching import access_of
from acidsql.settings import Settings

PARTITIONS_AT_ONCE = 500
_ATTEMPTS = 3


def ask_service(source: ServiceUrl, name: TableName, settings: Settings) -> TableFacts:
    """What the service knows of a table, reached as the settings say. BindError for one that is
    not there or cannot be attached; MetastoreError if no server answers.
    """
    access = access_of(settings, framed=source.framed)
    refuses = settings.flag(REFUSE)

    def ask(connection: Connection) -> TableFacts:
        if refuses:
            _check_policies(connection, source)
        return read_facts(connection, name)

    return ask_first(
        source.servers,
        ask,
        access=access,
        user=access.user(current_user()),
        shown=source.shown,
    )


def _check_policies(connection: Connection, source: ServiceUrl) -> None:
    """Raises NotSupportedError where an authorizer's policies may hold."""

    def configured(name: str) -> str:
        value: str = connection.call(GET_CONFIG_VALUE, name=name, defaultValue="")
        return value

    authorizer = find_authorizer(configured)
    if authorizer is not None:
        raise refused_error(f"the metastore {source.shown}", authorizer)


def read_facts(connection: Connection, name: TableName) -> TableFacts:
    """What a server knows of a table; MetastoreError if that changes all the time."""
    for _ in range(_ATTEMPTS):
        try:
            before = _table_facts(connection, name)
            facts = _with_txns(connection, before) if before.transactional else before
            if before.partition_columns:
                facts = replace(facts, partitions=tuple(_partitions(connection, before)))
            if _table_facts(connection, name) == before:
                return facts
        except _ChangedError:
            continue
    raise MetastoreError(f"{name} changes in Hive while it is asked for")


class _ChangedError(Exception):
    """Something is not there any more that was a moment ago."""


# ---- the table


def _table_facts(connection: Connection, name: TableName) -> TableFacts:
    """Columns, keys, buckets, location and identity."""
    table = _get_table(connection, name)
    storage, properties = table.get("sd", {}), _lower_keys(table.get("parameters", {}))
    home = attachable_location(
        name,
        table.get("tableType"),
        storage.get("location"),
        storage.get("inputFormat"),
        storage.get("serdeInfo", {}).get("serializationLib"),
    )
    transactional = properties.get("transactional", "").lower() == "true"
    kind = properties.get("transactional_properties", "").lower()
    return TableFacts(
        columns=_columns(name, storage.get("cols", [])),
        partition_columns=_columns(name, table.get("partitionKeys", [])),
        bucketing=_bucketing(storage, properties.get("bucketing_version") or "1"),
        transactional=transactional,
        insert_only=kind == "insert_only",
        location=home,
        high_watermark=WriteId(0),
        open=(),
        aborted=(),
        partitions=(),
        name=name,
        table_id=_identity(table),
    )


def _get_table(connection: Connection, name: TableName) -> dict[str, Any]:
    request = {
        "dbName": name.database,
        "tblName": name.table,
        "capabilities": {"values": [INSERT_ONLY_TABLES]},
        "catName": CATALOG,
    }
    try:
        table: dict[str, Any] = connection.call(GET_TABLE, req=request).get("table", {})
    except DeclaredError as error:
        if error.kind != NO_SUCH_OBJECT:
            raise
        raise BindError(f"the metastore has no table {name}", hint=NAME_IT) from error
    answered = table.get("dbName", "").lower(), table.get("tableName", "").lower()
    if answered != (name.database, name.table):
        raise WireError(f"it tells of another table than {name}")
    return table


def _identity(table: dict[str, Any]) -> int | str:
    """What tells the table from a later one of its name: Hive 3 tells no id."""
    number: int = table.get("id", 0)
    return number if number > 0 else f"created {table.get('createTime', 0)}"


def _lower_keys(properties: dict[str, str]) -> dict[str, str]:
    return {key.lower(): value for key, value in properties.items()}


def _columns(table: TableName, fields: list[dict[str, str]]) -> tuple[Column, ...]:
    return tuple(
        hive_column(table, one.get("name", ""), one.get("type", ""), one.get("comment"))
        for one in fields
    )


def _bucketing(storage: dict[str, Any], version: str) -> Bucketing | None:
    count, columns = storage.get("numBuckets", 0), storage.get("bucketCols", [])
    if count < 1 or not columns:
        return None
    return Bucketing(
        columns=tuple(one.lower() for one in columns),
        count=count,
        version=2 if version.strip() == "2" else 1,
        sorted_by=tuple(
            SortColumn(name=one.get("col", "").lower(), descending=one.get("order") == 0)
            for one in storage.get("sortCols", [])
        ),
    )


# ---- its partitions


def _partitions(connection: Connection, facts: TableFacts) -> Iterator[PartitionFacts]:
    name, home = facts.name, facts.location
    assert name is not None
    assert home is not None
    where = {"db_name": f"@{CATALOG}#{name.database}", "tbl_name": name.table}
    try:
        names = connection.call(GET_PARTITION_NAMES, **where, max_parts=NO_LIMIT)
        for batch in batched(names, PARTITIONS_AT_ONCE):
            partitions = connection.call(GET_PARTITIONS, **where, names=batch)
            if len(partitions) != len(batch):
                raise _ChangedError
            for one in partitions:
                yield _partition(facts, name, home, one)
    except DeclaredError as error:
        if error.kind != NO_SUCH_OBJECT:
            raise
        raise _ChangedError from error


def _partition(
    facts: TableFacts, name: TableName, home: str, partition: dict[str, Any]
) -> PartitionFacts:
    values, storage = partition.get("values", []), partition.get("sd", {})
    location = storage.get("location")
    if len(values) != len(facts.partition_columns) or not location:
        raise BindError(f"partition ({', '.join(values)}) of {name} is not whole in the metastore")
    return hive_partition(name, home, values, location, storage.get("inputFormat"))


# ---- its transactions


def _with_txns(connection: Connection, facts: TableFacts) -> TableFacts:
    """The facts with the write ids that count and the transactions that do, of one moment: these
    are asked for first, and write ids as they are seen by them.
    """
    assert facts.name is not None
    txns = txn_list(connection.call(GET_OPEN_TXNS))
    request = {"fullTableNames": [str(facts.name)], "validTxnList": plain_text(txns)}
    write_ids = write_id_lists(connection.call(GET_VALID_WRITE_IDS, rqst=request), [facts.name])
    of_table = write_ids[facts.name]
    return replace(
        facts,
        high_watermark=of_table.high_watermark,
        open=of_table.open,
        aborted=of_table.aborted,
        txns=txns,
    )
