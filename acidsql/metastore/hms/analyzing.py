"""What ANALYZE has measured goes to a Hive metastore, with the promise that it holds.

Nothing keeps writers away meanwhile. Whoever commits takes the promise back before its rows are
visible, if there is one by then. So ANALYZE looks once more when the promise is given: who has
written, or has a write id still, may have looked before that.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from acidsql.acid.ids import TxnId, ValidWriteIdList, WriteId
from acidsql.batched import batched
from acidsql.catalog.model import Column, Partition, Table, TableName
from acidsql.catalog.partitions import name_of
from acidsql.catalog.statistics import (
    ACCURATE,
    KEYS,
    Analyzed,
    ColumnStatistics,
    analyzed,
    doubted,
)
from acidsql.errors import TableNotFoundError
from acidsql.metastore.hive.calls.catalog import (
    GET_PARTITION_STATISTICS,
    GET_TABLE_STATISTICS,
    SET_COLUMN_STATISTICS,
)
from acidsql.metastore.hms.statistics import AT_ONCE, column_objects, column_statistics
from acidsql.metastore.hms.tables import CATALOG, Struct
from acidsql.metastore.hms.txns import HiveTxns


class HiveAnalyzing(HiveTxns):
    """The statistics of a Catalog, as far as ANALYZE makes them and DESCRIBE shows them."""

    def put_statistics(
        self,
        table: Table,
        measured: Sequence[Analyzed],
        write_ids: ValidWriteIdList | None,
        *,
        outdated: bool = False,
    ) -> bool:
        if write_ids is None:
            return self._put_statistics(table, measured, None, {}, fresh=True)
        with self._own_txn() as txn_id:
            own = self.allocate_write_id(txn_id, table.name)
            fresh = not self._others_wrote(table.name, write_ids, own)
            if not fresh and not outdated:
                return False
            self._put_statistics(table, measured, txn_id, {"writeId": own}, fresh=fresh)
            if fresh and self._others_wrote(table.name, write_ids, own):
                self._doubt(table.name, _named(table, measured), txn_id)
                return outdated
            return True

    def _others_wrote(self, name: TableName, seen: ValidWriteIdList, own: WriteId) -> bool:
        """Whether another write id is committed now that was not ``seen``, or may be in a while."""
        now = self.valid_write_ids(name, self.valid_txns())
        later = (WriteId(one) for one in range(seen.high_watermark + 1, now.high_watermark + 1))
        return any(one != own for one in now.open) or any(
            now.is_valid(one) for one in (*seen.open, *later) if one != own
        )

    def _put_statistics(
        self,
        table: Table,
        measured: Sequence[Analyzed],
        txn_id: TxnId | None,
        written: Struct,
        *,
        fresh: bool,
    ) -> bool:
        """``written``: what the structs say of the write id."""
        struct = self._whole_table(table.name)
        if struct is None:
            raise TableNotFoundError(f'table "{table.name}" was dropped meanwhile')
        if not table.partition_columns:
            for one in measured:
                self._write_table(table.name, _analyzed(struct, one, fresh=fresh) | written, txn_id)
        else:
            by_values = {one.partition.values: one for one in measured if one.partition}
            structs = self._whole_partitions(table.name, _named(table, measured))
            for batch in batched(structs, AT_ONCE):
                changed = [
                    _analyzed(one, by_values[tuple(one["values"])], fresh=fresh) | written
                    for one in batch
                ]
                self._write_partitions(table.name, changed, txn_id)
        if fresh:
            self._put_columns(table, measured, txn_id)
        return True

    def _put_columns(
        self, table: Table, measured: Sequence[Analyzed], txn_id: TxnId | None
    ) -> None:
        """Stores the numbers of columns."""
        sent = []
        for one in measured:
            objects = list(column_objects(one.columns, hive_3=self.is_hive_3))
            described = {
                "isTblLevel": one.partition is None,
                "dbName": table.name.database,
                "tableName": table.name.table,
                "partName": None if one.partition is None else name_of(table, one.partition),
                "lastAnalyzed": int(time.time()),
                "catName": CATALOG,
            }
            if objects:
                sent.append({"statsDesc": described, "statsObj": objects} | self._engine)
        of_txn = {} if self.is_hive_3 else self._txn_fields(table.name, txn_id)
        for batch in batched(sent, AT_ONCE):
            request = {"colStats": batch, "needMerge": False}
            self._ask(SET_COLUMN_STATISTICS, request=request | of_txn | self._engine)

    @property
    def _engine(self) -> Struct:
        """Whose numbers of columns these are: Hive 4 asks."""
        return {} if self.is_hive_3 else {"engine": "hive"}

    def list_column_statistics(
        self, table: Table, column: Column, partition: Partition | None = None
    ) -> tuple[ColumnStatistics, ...]:
        request = {
            "dbName": table.name.database,
            "tblName": table.name.table,
            "colNames": [column.name],
            "catName": CATALOG,
        } | self._engine
        if not table.partition_columns:
            answer = self._ask_for(GET_TABLE_STATISTICS, request=request) or {}
            return tuple(column_statistics(column, answer.get("tableStats", [])))
        if partition is None:
            names = self._partition_names(table.name)
        else:
            names = [name_of(table, partition)]
        columns: list[ColumnStatistics] = []
        for batch in batched(names, AT_ONCE):
            asked = request | {"partNames": batch}
            answer = self._ask_for(GET_PARTITION_STATISTICS, request=asked) or {}
            for structs in answer.get("partStats", {}).values():
                columns += column_statistics(column, structs)
        return tuple(columns)


def _named(table: Table, measured: Sequence[Analyzed]) -> list[str]:
    return [name_of(table, one.partition) for one in measured if one.partition is not None]


def _analyzed(struct: Struct, measured: Analyzed, *, fresh: bool) -> Struct:
    """The struct with what ANALYZE has measured. What is not ``fresh`` replaces nothing that is
    promised.
    """
    params = struct.get("parameters", {})
    before = {key: text for key, text in params.items() if key in KEYS}
    if not fresh and ACCURATE in before:
        return struct
    after = analyzed(before, measured)
    kept = {key: text for key, text in params.items() if key not in KEYS}
    return struct | {"parameters": kept | (dict(after) if fresh else doubted(after))}
