"""Which ids may be seen, and reads outside of a transaction. To the metastore each is a transaction
that changes nothing, for as long as its rows may be asked for: that is what Hive 4's cleaner waits
for. Hive 3's waits for locks on just the table or partition that was compacted: there a reader has
these as well.

Hive's cleaner keeps no list of what it has taken away, so nobody can be told that a snapshot has
become too old; whoever then finds a base that is newer than it, or no file, gets an error.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from acidsql.acid.ids import TxnId, ValidTxnList, ValidWriteIdList, WriteId
from acidsql.catalog.model import TableName
from acidsql.errors import Error
from acidsql.metastore.hive.calls.reading import (
    GET_OPEN_TXNS,
    GET_PARTITION_NAMES,
    GET_VALID_WRITE_IDS,
    NO_LIMIT,
    plain_text,
    txn_list,
    write_id_lists,
)
from acidsql.metastore.hive.calls.txns import (
    ABORT_TXN,
    ADD_WRITE_IDS_TO_MIN_HISTORY,
    ALLOCATE_WRITE_IDS,
    COMMIT_TXN,
    OPEN_TXNS,
)
from acidsql.metastore.hive.client import DeclaredError
from acidsql.metastore.hms.locks import HiveLocks
from acidsql.metastore.hms.server import AGENT, Server
from acidsql.txn.compactions import Compaction
from acidsql.txn.locks import LockComponent, LockRequest, LockState, LockType
from acidsql.txn.readers import OpenedReader, ReaderInfo, ReadRequest

# ---- ids
#
# Ids of transactions and write ids, and which of them may be seen.


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


# ---- readers


class HiveReaders(HiveLocks, HiveIds):
    """The Readers of a store that no cleaner of ours looks after."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._leases: dict[int, float] = {}
        self._wants_write_ids: bool | None = None

    def open_reader(self, request: ReadRequest, locks: LockRequest | None = None) -> OpenedReader:
        answer = None if locks is None else self.lock(locks)
        if answer is not None and answer.state is not LockState.ACQUIRED:
            return OpenedReader(reader_id=None, locks=answer)
        try:
            if not request.tables:
                return OpenedReader(reader_id=None, txns=self.valid_txns(), locks=answer)
            reader = self._open_reader(request)
        except BaseException:
            if answer is not None:
                with suppress(Error):
                    self.unlock(answer.lock_id)
            raise
        return OpenedReader(
            reader_id=reader.reader_id, txns=reader.txns, write_ids=reader.write_ids, locks=answer
        )

    def _open_reader(self, request: ReadRequest, txns: ValidTxnList | None = None) -> OpenedReader:
        """A reader with a snapshot of now, or with one that it has already."""
        txn_id = self.open_txn()
        try:
            self._leases[txn_id] = time.monotonic() + request.lease_seconds
            self._keep_files(txn_id, request.tables)
            seen = self.valid_txns(txn_id) if txns is None else txns
            write_ids = self.read_in_txn(txn_id, seen, request.tables)
        except BaseException:
            self._leases.pop(txn_id, None)
            with suppress(Error, DeclaredError):
                self._end_surely(ABORT_TXN, {"txnid": txn_id})
            raise
        return OpenedReader(reader_id=txn_id, txns=seen, write_ids=write_ids)

    def read_unknown(self, request: ReadRequest) -> OpenedReader:
        txns = self.valid_txns()
        return OpenedReader(
            reader_id=None, txns=txns, write_ids=self.valid_of_tables(request.tables, txns)
        )

    def read_also(
        self, reader_id: int | None, txns: ValidTxnList, request: ReadRequest
    ) -> OpenedReader:
        if reader_id is None:
            return self._open_reader(request, txns)
        self._keep_files(TxnId(reader_id), request.tables)
        write_ids = self.read_in_txn(TxnId(reader_id), txns, request.tables)
        return OpenedReader(reader_id=reader_id, txns=txns, write_ids=write_ids)

    def read_in_txn(
        self, txn_id: TxnId, txns: ValidTxnList, tables: Iterable[TableName]
    ) -> Mapping[TableName, ValidWriteIdList]:
        seen = self.valid_of_tables(tables, txns)
        if seen and self._tells_write_ids():
            lowest = {
                str(name): WriteId(one.min_open or one.high_watermark + 1)
                for name, one in seen.items()
            }
            self._ask(ADD_WRITE_IDS_TO_MIN_HISTORY, again=True, txnId=txn_id, writeIds=lowest)
        return seen

    def keep_reading(self, txn_id: TxnId, txns: ValidTxnList, request: ReadRequest) -> OpenedReader:
        """A transaction of its own, from while the other is open: so nothing was taken away that
        either needs.
        """
        self._beat_txn(txn_id)
        return self._open_reader(request, txns)

    def is_registered(self, txn_id: TxnId, table: TableName) -> bool:
        return True

    def renew_readers(
        self, reader_ids: Sequence[int], closed: Collection[int] = ()
    ) -> Collection[int]:
        if closed:
            self.close_readers(list(closed))
        now = time.monotonic()
        over = {one for one in reader_ids if self._leases.get(one, math.inf) <= now}
        if over:
            self.close_readers(list(over))
        return over | self._beat_all(TxnId(one) for one in reader_ids if one not in over)

    def close_readers(
        self, reader_ids: Sequence[int], lock_id: int | None = None
    ) -> Collection[int]:
        lost = set()
        for one in reader_ids:
            self._leases.pop(one, None)
            try:
                self._end_surely(COMMIT_TXN, {"txnid": one})
            except DeclaredError:
                lost.add(one)
        if lock_id is not None:
            self.unlock(lock_id)
        return lost

    def kept_for(self, reader_id: int, *, behind: bool = False) -> Mapping[str, str]:
        """Nothing: what others drop they delete at once, once no lock keeps them out."""
        return {}

    def list_readers(self) -> tuple[ReaderInfo, ...]:
        """None: the metastore does not say which of its transactions read, or what."""
        return ()

    def begin_cleaning(
        self, compaction: Compaction, base: WriteId | None, directories: Collection[str] = ()
    ) -> bool:
        """Never: Hive's cleaner takes away what compactions have made obsolete."""
        return False

    def _tells_write_ids(self) -> bool:
        """Whether the metastore's cleaner goes by the write ids that readers tell it."""
        if self._wants_write_ids is None:
            value = "" if self.is_hive_3 else self._config("txn.use.minhistorywriteid")
            self._wants_write_ids = value.lower() == "true"
        return self._wants_write_ids

    def _keep_files(self, txn_id: TxnId, tables: Iterable[TableName]) -> None:
        """Has Hive 3's cleaner see that somebody reads: it looks at locks, of a partition only at
        its own.
        """
        if not self.is_hive_3:
            return
        components = [
            LockComponent(
                database=table.database,
                table=table.table,
                partition=partition,
                type=LockType.SHARED_READ,
            )
            for table in tables
            for partition in (None, *self._partition_names(table))
        ]
        if components:
            answer = self.lock(LockRequest(components=tuple(components)), txn_id)
            if answer.state is LockState.WAITING:  # behind somebody who waits for us, maybe
                self.unlock(answer.lock_id)

    def _partition_names(self, table: TableName) -> list[str]:
        names = self._ask_for(
            GET_PARTITION_NAMES,
            db_name=table.database,
            tbl_name=table.table,
            max_parts=NO_LIMIT,
        )
        return names or []
