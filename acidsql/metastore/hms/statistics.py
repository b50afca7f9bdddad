"""Statistics of tables on a Hive metastore. No commit there changes numbers along with rows, so
what acidsql writes ends the promise that they hold: Hive would answer ``count(*)`` by them. The
numbers stay; ANALYZE makes them hold again (``analyzing``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from acidsql.acid.ids import TxnId
from acidsql.batched import batched
from acidsql.catalog.model import Column, Partition, Table, TableName
from acidsql.catalog.partitions import name_of
from acidsql.catalog.statistics import (
    ACCURATE,
    ColumnStatistics,
    StatisticsChange,
    WrittenDirectory,
)
from acidsql.metastore.hive.calls.catalog import (
    ALTER_PARTITIONS,
    ALTER_PARTITIONS_REQ,
    ALTER_TABLE,
    ALTER_TABLE_REQ,
    GET_WHOLE_PARTITIONS,
    GET_WHOLE_TABLE,
)
from acidsql.metastore.hive.calls.reading import INSERT_ONLY_TABLES, Method
from acidsql.metastore.hms.readers import HiveIds
from acidsql.metastore.hms.server import AGENT, CAPABILITIES
from acidsql.metastore.hms.tables import CATALOG, Struct

AT_ONCE = 500
"""The most partitions in one call."""
UNCOUNTED = {"properties": {"DO_NOT_UPDATE_STATS": "true"}}
"""What tells the metastore not to count files for an ALTER."""


class HiveStatistics(HiveIds):
    """The statistics of a Catalog, and the writing back of structs."""

    def _whole_table(self, name: TableName) -> Struct | None:
        """The struct of a table; None if there is none."""
        request = {
            "dbName": name.database,
            "tblName": name.table,
            "capabilities": {"values": [INSERT_ONLY_TABLES]},
            "catName": CATALOG,
        }
        answer = self._ask_for(GET_WHOLE_TABLE, req=request)
        return None if answer is None else answer["table"]

    def _whole_partitions(self, name: TableName, names: Sequence[str]) -> list[Struct]:
        """The structs of those of the partitions that are there."""
        structs: list[Struct] = []
        for batch in batched(names, AT_ONCE):
            structs += self._ask(
                GET_WHOLE_PARTITIONS,
                again=True,
                db_name=name.database,
                tbl_name=name.table,
                names=list(batch),
            )
        return structs

    # ---- what is doubted

    def change_statistics(self, changes: Iterable[StatisticsChange]) -> None:
        """Ends what is promised, unless the rows are what they were, as behind a compaction."""
        for change in changes:
            if change.rows != 0 or change.replaces:
                self._doubt(change.table.name, _names([change]), None)

    def _doubt_in_txn(self, txn_id: TxnId, changes: Sequence[StatisticsChange]) -> None:
        """Ends what is promised of the tables and partitions that a transaction has changed, before
        its rows are visible. If it is aborted then, less is known than could be.
        """
        for name in dict.fromkeys(change.table.name for change in changes):
            of_table = [change for change in changes if change.table.name == name]
            self._doubt(name, _names(of_table), txn_id)

    def _doubt(self, name: TableName, partitions: Sequence[str], txn_id: TxnId | None) -> None:
        table = self._whole_table(name)
        if table is None:
            return
        if is_promised(table):
            self._write_table(name, _doubted(table), txn_id)
        promised = [one for one in self._whole_partitions(name, partitions) if is_promised(one)]
        if promised:
            self._write_partitions(name, list(map(_doubted, promised)), txn_id)

    def _write_table(self, name: TableName, struct: Struct, txn_id: TxnId | None) -> None:
        """Writes a table back, as a change of a transaction."""
        if self.is_hive_3:
            self._write_back(ALTER_TABLE, name, dbname=name.database, new_tbl=struct)
            return
        request = {
            "table": struct,
            "processorCapabilities": CAPABILITIES,
            "processorIdentifier": AGENT,
        }
        self._write_back_in_txn(ALTER_TABLE_REQ, name, txn_id, request)

    def _write_partitions(
        self, name: TableName, structs: list[Struct], txn_id: TxnId | None
    ) -> None:
        if self.is_hive_3:
            self._write_back(ALTER_PARTITIONS, name, db_name=name.database, new_parts=structs)
            return
        self._write_back_in_txn(ALTER_PARTITIONS_REQ, name, txn_id, {"partitions": structs})

    def _write_back(self, method: Method, name: TableName, **arguments: Any) -> None:
        """Makes a call of Hive 3."""
        self._ask(method, tbl_name=name.table, environment_context=UNCOUNTED, **arguments)

    def _write_back_in_txn(
        self, method: Method, name: TableName, txn_id: TxnId | None, request: Struct
    ) -> None:
        """Makes a call of Hive 4."""
        of_table = {
            "catName": CATALOG,
            "dbName": name.database,
            "tableName": name.table,
            "environmentContext": UNCOUNTED,
        }
        self._ask(method, req=of_table | request | self._txn_fields(name, txn_id))

    def _txn_fields(self, name: TableName, txn_id: TxnId | None) -> Struct:
        """What Hive 4 wants to know of a transaction that alters a table."""
        if txn_id is None:
            return {}
        seen = self.valid_of_tables([name], self.valid_txns(txn_id))[name]
        return {
            "writeId": self.allocate_write_id(txn_id, name),
            "validWriteIdList": str(seen),
        }

    # ---- what is not kept

    def written_directories(self, table: Table) -> tuple[WrittenDirectory, ...]:
        """None: a Hive metastore has no room for them."""
        return ()

    def forget_written(
        self, table: Table, partition: Partition | None, directories: Collection[str]
    ) -> None:
        self._cannot("tell which directories were committed")

    def forget_doubted_columns(self, table: Table, partition: Partition | None = None) -> None:
        """Does nothing: what does not hold is no use to anybody."""


def _names(changes: Iterable[StatisticsChange]) -> list[str]:
    names = (
        name_of(change.table, change.partition)
        for change in changes
        if change.partition is not None
    )
    return list(dict.fromkeys(names))


def is_promised(struct: Struct) -> bool:
    return ACCURATE in struct.get("parameters", {})


def _doubted(struct: Struct) -> Struct:
    params = struct.get("parameters", {})
    return struct | {"parameters": {key: text for key, text in params.items() if key != ACCURATE}}


# ---- statistics of columns
#
# Statistics of columns as the structs of Hive's metastore, and back. Which numbers there are goes
# by the type of a column; of some types Hive keeps none.


_WHOLE = frozenset({"tinyint", "smallint", "int", "bigint"})
_BROKEN = frozenset({"float", "double"})
_TEXTS = frozenset({"string", "varchar", "char"})


def column_objects(columns: Iterable[ColumnStatistics], *, hive_3: bool) -> Iterator[Struct]:
    """The structs of those columns of which Hive keeps numbers."""
    for one in columns:
        data = _data(one, hive_3=hive_3)
        if data is not None:
            yield {
                "colName": one.column.name,
                "colType": str(one.column.type),
                "statsData": data,
            }


def _kind(column: Column) -> str:
    return str(column.type).partition("(")[0]


def _data(one: ColumnStatistics, *, hive_3: bool) -> Struct | None:
    kind = _kind(one.column)
    counts = {"numNulls": one.nulls, "numDVs": one.distinct or 0}
    lengths = {"maxColLen": one.longest or 0, "avgColLen": float(one.average_length or 0)}
    if kind in _WHOLE or (kind == "timestamp" and hive_3):
        return {"longStats": _ends(one, int) | counts}
    if kind in _BROKEN:
        return {"doubleStats": _ends(one, float) | counts}
    if kind in _TEXTS:
        return {"stringStats": lengths | counts}
    match kind:
        case "boolean":
            trues = {"numTrues": one.trues or 0, "numFalses": one.falses or 0}
            return {"booleanStats": trues | counts}
        case "binary":
            return {"binaryStats": lengths | counts}
        case "decimal":
            return {"decimalStats": _ends(one, lambda value: _decimal(Decimal(value))) | counts}
        case "date":
            return {"dateStats": _ends(one, lambda value: {"daysSinceEpoch": value}) | counts}
        case "timestamp":
            ends = _ends(one, lambda value: {"secondsSinceEpoch": value})
            return {"timestampStats": ends | counts}
    return None


def _ends(
    one: ColumnStatistics, as_sent: Callable[[int | float | Decimal], object]
) -> dict[str, object]:
    """The least and greatest value, where they are known."""
    ends = {"lowValue": one.low, "highValue": one.high}
    return {name: as_sent(value) for name, value in ends.items() if value is not None}


def _decimal(value: Decimal) -> Struct:
    """Java: BigDecimal, its unscaled value as BigInteger.toByteArray."""
    scale = max(0, -int(value.as_tuple().exponent))
    unscaled = int(value.scaleb(scale)) if scale else int(value)
    size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return {"scale": scale, "unscaled": unscaled.to_bytes(size, "big", signed=True)}


def column_statistics(column: Column, structs: Sequence[Struct]) -> Iterator[ColumnStatistics]:
    """What structs tell of a column."""
    for one in structs:
        if one["colName"].lower() == column.name:
            for data in one["statsData"].values():
                yield _statistics(column, data)


def _statistics(column: Column, data: Struct) -> ColumnStatistics:
    return ColumnStatistics(
        column=column,
        nulls=data["numNulls"],
        distinct=data.get("numDVs"),
        low=_end(data.get("lowValue")),
        high=_end(data.get("highValue")),
        average_length=data.get("avgColLen"),
        longest=data.get("maxColLen"),
        trues=data.get("numTrues"),
        falses=data.get("numFalses"),
    )


def _end(value: Any) -> int | float | Decimal | None:
    if not isinstance(value, dict):
        return value  # type: ignore[no-any-return]
    if "unscaled" in value:
        unscaled = int.from_bytes(value["unscaled"], "big", signed=True)
        return Decimal(unscaled).scaleb(-value.get("scale", 0))
    return next(iter(value.values()), None)
