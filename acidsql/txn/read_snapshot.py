"""What a read outside of a transaction sees: fixed when it begins, and registered in the store (see
``readers``) so that no cleaner takes its files away.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Self

from acidsql.acid.ids import WriteId
from acidsql.acid.write_ids import ValidTxnList, ValidWriteIdList
from acidsql.catalog.model import TableName
from acidsql.errors import InterfaceError, MetastoreError
from acidsql.txn.manager import TxnManager, highest_given
from acidsql.txn.readers import OpenedReader, ReadRequest, UnwritableError, lost_error

DEFAULT_LEASE = 86_400.0
"""The default of acidsql.reader.lease; seconds."""


class ReadSnapshot:
    """The visibility of a read outside of a transaction: everything committed when it was taken.
    Registered from when it is first asked for a table until ``close``, or the end of its context.

    ``opened``: if that is so already. ``unknown``: why it is not registered, where the store cannot
    be written.
    """

    def __init__(
        self,
        manager: TxnManager,
        request: ReadRequest | None = None,
        opened: OpenedReader | None = None,
        unknown: UnwritableError | None = None,
    ) -> None:
        self._manager = manager
        self.unknown = unknown
        self._request = request or ReadRequest(tables=(), lease_seconds=DEFAULT_LEASE)
        self._write_ids: dict[TableName, ValidWriteIdList] = {}
        self.reader_id: int | None = None
        self._txns: ValidTxnList | None = None
        if opened is None and (request is None or request.tables):
            self._txns = manager.valid_txns()
        if opened is not None:
            self._txns = opened.txns
        if opened is not None:
            self._follow(opened)

    @property
    def txns(self) -> ValidTxnList:
        """The valid transactions. A read that names no tables, and so may need no store, is fixed
        when it first asks.
        """
        if self._txns is None:
            self._txns = self._manager.valid_txns()
        return self._txns

    def _follow(self, opened: OpenedReader) -> None:
        self.reader_id = opened.reader_id
        self._write_ids.update(opened.write_ids)

    def write_ids(self, table: TableName) -> ValidWriteIdList:
        """The write ids it may read, the same whenever asked. SnapshotTooOldError if first asked so
        late that what it needs may be gone, or when it is not registered any more.
        """
        if table not in self._write_ids:
            request = replace(self._request, tables=(table,))
            try:
                self._follow(self._manager.read_also(self.reader_id, self.txns, request))
            except UnwritableError as error:
                self.unknown = error
                self._write_ids[table] = self._manager.valid_write_ids(table, self.txns)
        return self._write_ids[table]

    def check_given(self, tables: Iterable[TableName], write_id: WriteId) -> None:
        """InterfaceError for a write id that nobody has: rows as of it would be others later."""
        for table in tables:
            highest = self.write_ids(table).high_watermark
            if highest < write_id:
                raise InterfaceError(
                    f"table {table} has no write id {write_id}: the highest is {highest}"
                )

    def is_latest(self, table: TableName) -> bool:
        """Whether nobody has begun or ended a change of the table since: what the metastore told of
        it meanwhile holds for the snapshot.
        """
        return self._manager.valid_write_ids(table, self._manager.valid_txns()) == self.write_ids(
            table
        )

    def highest_given(self, table: TableName) -> WriteId:
        """The highest write id that was given out by now."""
        return highest_given(self._manager, table)

    def confirm(self) -> None:
        """Raises SnapshotTooOldError if its files are not kept any more, so that what was read may
        not be whole. Renews its lease.
        """
        if self.reader_id is not None and self._manager.renew_readers([self.reader_id]):
            raise lost_error()

    def close(self) -> None:
        """Gives the registration up; doing so twice is no error."""
        if self.reader_id is not None:
            with suppress(MetastoreError):  # its lease ends
                self._manager.close_readers([self.reader_id])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
