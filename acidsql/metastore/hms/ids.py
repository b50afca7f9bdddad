"""Ids of transactions and write ids, and which of them may be seen."""

from __future__ import annotations

from collections.abc import Iterable

from acidsql.acid.ids import TxnId, ValidTxnList, ValidWriteIdList, WriteId
from acidsql.catalog.model import TableName
from acidsql.metastore.hive.calls.reading import GET_OPEN_TXNS, GET_VALID_WRITE_IDS
from acidsql.metastore.hive.calls.txns import ALLOCATE_WRITE_IDS, OPEN_TXNS
from acidsql.metastore.hive.lists import plain_text, txn_list, write_id_lists
from acidsql.metastore.hms.server import AGENT, Server

COMPACTION_TXN = 3
"""TxnType.COMPACTION, which Hive 4 has."""


class HiveIds(Server):
    """The ids of a TxnManager."""

    def open_txn(self, kind: int | None = None) -> TxnId:
        self._make_up()
        opened = self._ask(
            OPEN_TXNS,
            rqst={
                "num_txns": 1,
                "user": self._user,
                "hostname": self._host,
                "agentInfo": AGENT,
                "txn_type": kind,
            },
        )
        return TxnId(opened["txn_ids"][0])

    def valid_txns(self, txn_id: TxnId | None = None) -> ValidTxnList:
        return txn_list(self._ask(GET_OPEN_TXNS, again=True), txn_id)

    def valid_write_ids(self, table: TableName, txns: ValidTxnList) -> ValidWriteIdList:
        return self.valid_of_tables([table], txns)[table]

    def seen_compactions(self, txns: ValidTxnList) -> ValidTxnList | None:
        return txns

    def valid_of_tables(
        self, tables: Iterable[TableName], txns: ValidTxnList
    ) -> dict[TableName, ValidWriteIdList]:
        """The write ids of tables that are valid in ``txns``."""
        names = tuple(dict.fromkeys(tables))
        if not names:
            return {}
        request = {"fullTableNames": list(map(str, names)), "validTxnList": plain_text(txns)}
        return write_id_lists(self._ask(GET_VALID_WRITE_IDS, again=True, rqst=request), names)

    def allocate_write_id(self, txn_id: TxnId, table: TableName) -> WriteId:
        """Asked for again where no answer came: the metastore gives the same one out."""
        request = {"dbName": table.database, "tableName": table.table, "txnIds": [txn_id]}
        given = self._ask_in_txn(txn_id, ALLOCATE_WRITE_IDS, again=True, rqst=request)
        return WriteId(given["txnToWriteIds"][0]["writeId"])

    def first_write_id(self, table: TableName) -> WriteId:
        return WriteId(self.valid_write_ids(table, self.valid_txns()).high_watermark + 1)
