"""Who reads which table, as the store knows it: what a cleaner may not take away yet. The protocol
of those who register, and of the cleaner who asks.

A transaction registers each table when it first asks what it may read of it, until it ends (Hive 4:
MIN_HISTORY_WRITE_ID). A read outside of one registers under a **lease** that its process renews,
until its rows have come. Both are on record before any file is looked at, in the step that fixes
what is seen or in one that checks that nothing of it is gone yet::

    reader      snapshot + registration -- list -- read -- ended
    compaction                  output renamed -- commit
    cleaner                                              claim -- delete

A claim is one step of the store: it is granted only if no living registration of the table is older
than the commit. A reader that registers later sees the commit in its snapshot and so has no use for
what goes; but for a transaction with an older snapshot, which the claim's note then refuses where
what it needs may be gone. So a reader has its files for as long as it is registered; and one that
is not any more (its lease ended, others aborted its transaction) gets SnapshotTooOldError, never
fewer rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from acidsql.acid.ids import TxnId, ValidTxnList, ValidWriteIdList, WriteId
from acidsql.catalog.model import TableName
from acidsql.errors import MetastoreError, SnapshotTooOldError
from acidsql.lazy import dataclass
from acidsql.txn.compactions import Compaction
from acidsql.txn.locks import LockAnswer, LockRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """What a read outside of a transaction registers. ``statement``: its text, for those who wait
    for it; ``lease_seconds``: the longest that it may keep files, however often it is renewed.

    ``as_of``: the highest write id of its tables that it sees, None for all of its snapshot.
    """

    tables: tuple[TableName, ...]
    statement: str = ""
    lease_seconds: float
    as_of: WriteId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedReader:
    """A registered read: its snapshot, and what it sees of each table asked for. ``locks``: what
    became of those asked for with it; while these wait nothing is registered, and the snapshot is
    empty. ``reader_id``: None if nothing is registered, as no table was asked for.
    """

    reader_id: int | None
    txns: ValidTxnList = field(default_factory=lambda: ValidTxnList(high_watermark=TxnId(0)))
    write_ids: Mapping[TableName, ValidWriteIdList] = field(default_factory=dict)
    locks: LockAnswer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderInfo:
    """A registration of one table. Times in epoch milliseconds.

    ``reader_id``: None of a transaction, ``txn_id``: None of a read outside of one. ``write_id``:
    the lowest that was open for it, else the one behind the highest. ``until``: when its lease ends
    if it is renewed no more, None of a transaction.
    """

    reader_id: int | None
    txn_id: TxnId | None
    table: TableName
    write_id: WriteId
    started: int
    until: int | None
    user: str
    host: str
    statement: str


class UnwritableError(MetastoreError):
    """The store cannot be written, but it can be read: who reads does so without being known."""


def too_old(message: str) -> SnapshotTooOldError:
    return SnapshotTooOldError(
        message,
        hint="Run the statement again, with a snapshot of its own; acidsql.history.retention keeps"
        " files for longer.",
    )


def lost_error() -> SnapshotTooOldError:
    """The error of a read that is not registered any more."""
    return SnapshotTooOldError(
        "the files that the statement reads are not kept for it any more",
        detail="its lease has ended, or its process gave no sign of life for hive.txn.timeout",
        hint="Run the statement again; acidsql.reader.lease says how long results and DataFrames"
        " keep their files.",
    )


def gone_error(table: TableName) -> SnapshotTooOldError:
    """The error of a read of a table that others have taken away with its files."""
    return SnapshotTooOldError(
        f"the rows of table {table} are gone: it was dropped, renamed or moved before they were"
        " fetched",
        hint="Run the statement again, or fetch its rows at once.",
    )


def overwritten_error(directory: str) -> SnapshotTooOldError:
    """The error of a read of files that others have taken away."""
    return SnapshotTooOldError(
        f'files in "{directory}" are not what the statement saw any more: rows were overwritten,'
        " truncated or dropped with their partition before they were fetched",
        hint="Run the statement again, or fetch its rows at once.",
    )


class Readers(Protocol):
    def open_reader(self, request: ReadRequest, locks: LockRequest | None = None) -> OpenedReader:
        """Takes a snapshot of now and registers its tables in the same step; with ``locks``, that
        as well, if they are free. SnapshotTooOldError if what it needs ``as_of`` may be gone.
        """

    def read_unknown(self, request: ReadRequest) -> OpenedReader:
        """Takes a snapshot of now, and registers nothing: for a store that cannot be written, where
        no cleaner waits for who reads.
        """

    def read_also(
        self,
        reader_id: int | None,
        txns: ValidTxnList,
        request: ReadRequest,
    ) -> OpenedReader:
        """Registers more tables of a read, or the first of one (None), that has its snapshot
        already.

        SnapshotTooOldError if it is not registered any more, or what it needs may be gone.
        """

    def read_in_txn(
        self, txn_id: TxnId, txns: ValidTxnList, tables: Iterable[TableName]
    ) -> Mapping[TableName, ValidWriteIdList]:
        """Registers tables of an open transaction; what it may read of them. Asked again it gives
        what it gave, and its own write id with it.

        TransactionAbortedError if it is not open; SnapshotTooOldError as above. Hive:
        addWriteIdsToMinHistory.
        """

    def keep_reading(self, txn_id: TxnId, txns: ValidTxnList, request: ReadRequest) -> OpenedReader:
        """Registers what an open transaction reads as a read outside of it, which outlives it.
        ``request``: without tables, all of the transaction are meant.

        TransactionAbortedError if it is not open.
        """

    def is_registered(self, txn_id: TxnId, table: TableName) -> bool:
        """Whether an open transaction has registered a table."""

    def renew_readers(
        self, reader_ids: Sequence[int], closed: Collection[int] = ()
    ) -> Collection[int]:
        """Renews leases, and gives up those of ``closed``; returns the ``reader_ids`` that are not
        registered any more.
        """

    def close_readers(
        self, reader_ids: Sequence[int], lock_id: int | None = None
    ) -> Collection[int]:
        """Gives registrations up, and a lock that belongs to no transaction; returns those that
        were lost before. What is unknown is no error.
        """

    def kept_for(self, reader_id: int, *, behind: bool = False) -> Mapping[str, str]:
        """Where the store keeps, or is about to, what was dropped or moved while a reader read it,
        by where the reader looks for it. ``behind``: after the change of that which is going on.
        """

    def list_readers(self) -> tuple[ReaderInfo, ...]:
        """All living registrations, the oldest first."""

    def begin_cleaning(
        self, compaction: Compaction, base: WriteId | None, directories: Collection[str] = ()
    ) -> bool:
        """Claims what the compaction has made obsolete: whether it may be removed now, because no
        living registration of the table is older than the compaction's commit. ``base``: what lies
        below it is what goes, None for no such; no older snapshot is given the table from then on.
        ``directories``: the names of those that go, which are missed by nobody from then on.
        """
