"""Compactions as the store keeps them: Hive's COMPACTION_QUEUE and its history, and the protocol of
who asks for them, carries them out and cleans up behind them.

    enqueue -> initiated --worker--> working --done--> ready for cleaning --cleaner--> succeeded
                   |                    |--nothing to do--> refused, or ready for cleaning
                   |                    |--error--> failed
                   |                    |--its process is dead, its lease is over--> initiated
                   |--ABORT COMPACTIONS--> aborted
    the initiator would, but may not --> did not initiate

An entry is in the queue up to "ready for cleaning", then in the history. A minor or major
compaction keeps ROW__IDs and takes only write ids that are all decided, so it conflicts with no
writer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import field
from enum import StrEnum
from typing import Protocol

from acidsql.acid.ids import NO_VISIBILITY, TxnId, ValidCompactorWriteIdList, ValidTxnList, WriteId
from acidsql.catalog.model import Partition, Table, TableName
from acidsql.errors import MetastoreError
from acidsql.lazy import dataclass

NOT_ENOUGH = "None of the compaction thresholds met, compaction request is refused!"
"""The message of an entry that had nothing to do, in Hive's words."""


class CompactionType(StrEnum):
    """CQ_TYPE, by Hive's letters. ABORT_TXN_CLEANUP is work for the cleaner alone."""

    MAJOR = "a"
    MINOR = "i"
    REBALANCE = "r"
    ABORT_TXN_CLEANUP = "c"


class CompactionState(StrEnum):
    """CQ_STATE and CC_STATE, by Hive's letters."""

    INITIATED = "i"
    WORKING = "w"
    READY_FOR_CLEANING = "r"
    SUCCEEDED = "s"
    FAILED = "f"
    DID_NOT_INITIATE = "a"
    REFUSED = "c"
    ABORTED = "x"

    @property
    def words(self) -> str:
        """The state as SHOW COMPACTIONS has it: ``ready for cleaning``."""
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionRequest:
    """What is to be compacted, and how. ``partition`` is Hive's ``p=1/q=2``, or None of a table
    without. ``initiator``: ``<host>-manual`` or ``<host>-<thread>``. ``properties``: of WITH
    OVERWRITE TBLPROPERTIES. ``buckets``, ``order_by``: of a rebalance.
    """

    table: TableName
    partition: str | None
    type: CompactionType
    initiator: str
    properties: Mapping[str, str] = field(default_factory=dict)
    pool: str | None = None
    buckets: int | None = None
    order_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EnqueueAnswer:
    """What became of a request. ``compaction_id``: of the entry that was made, or, if it was not
    ``accepted``, of the one that is there already, in ``state``.
    """

    compaction_id: int
    state: CompactionState
    accepted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """An entry of the queue or of its history; times in epoch milliseconds, None for what has not
    happened. ``attempts``: how often cleaning has failed; ``retry_after``: when it is tried again,
    or the entry given out again after it was given back. ``next_txn_id``: the lowest
    transaction id that was not given out when it was committed. ``lease``: how often it was taken;
    its worker shows it, and so is told apart from those that had the entry before.
    """

    compaction_id: int
    request: CompactionRequest
    state: CompactionState
    enqueued: int
    started: int | None = None
    ended: int | None = None
    worker: str | None = None
    worker_version: str | None = None
    initiator_version: str | None = None
    highest_write_id: WriteId | None = None
    txn_id: TxnId | None = None
    next_txn_id: TxnId | None = None
    committed: int | None = None
    message: str | None = None
    attempts: int = 0
    retry_after: int | None = None
    lease: int | None = None


class CompactionBlockedError(MetastoreError):
    """Somebody keeps others away from what is to be compacted, who drops it, say. The entry was
    given back, and nobody takes it for some seconds.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedCompaction:
    """The transaction of a worker, and what it may merge: write ids that are all decided.
    ``visibility``: the transaction whose number its outputs have in their names, because others
    read them from its commit on; it is one of the valid ones then, so that a step finds what the
    one before has made. Else the outputs are read as soon as they have their names, and it is none.
    """

    txn_id: TxnId
    txns: ValidTxnList
    write_ids: ValidCompactorWriteIdList
    visibility: TxnId = NO_VISIBILITY


class CompactionQueue(Protocol):
    """``lease`` of a worker's calls: the number that it was given with its entry. Then one whose
    entry was taken away from it, and given to another worker of its process, is told so, too.
    Without it a call speaks for whichever worker of its process has the entry.
    """

    def enqueue_compaction(self, request: CompactionRequest) -> EnqueueAnswer:
        """Asks for a compaction. It is not accepted where one of the same table or partition is
        initiated or working, or is ready for cleaning and nothing was written since. Hive:
        CompactFunction.
        """

    def note_compaction(
        self, request: CompactionRequest, state: CompactionState, message: str
    ) -> int:
        """Enters into the history what never came into the queue: DID_NOT_INITIATE; returns its
        id. Hive: TxnHandler.markFailed of an entry without id.
        """

    def next_compaction(
        self, worker: str, *, pool: str | None = None, only: int | None = None
    ) -> Compaction | None:
        """Takes the oldest initiated entry, which is ``working`` then, for a worker of this
        process: of ``pool``; or of none, or of one that nobody has served for
        metastore.compactor.worker.pool.timeout. ``only``: this entry of whatever pool, or none.
        Hive: FindNextCompactFunction.
        """

    def begin_compaction(self, compaction_id: int, *, lease: int | None = None) -> OpenedCompaction:
        """Opens the transaction of a worker (Hive's type COMPACTION) and notes it and its highest
        write id with the entry; others neither wait for it nor conflict with it.

        It holds SHARED_READ on its table or partition, EXCL_WRITE where ROW__IDs will change.
        CompactionBlockedError if that is not free; MetastoreError if the entry is not this
        process's any more.
        """

    def heartbeat_compaction(self, compaction_id: int, *, lease: int | None = None) -> None:
        """Keeps a worker's entry and transaction. MetastoreError if it was given to another."""

    def finish_compaction(
        self,
        compaction_id: int,
        highest_write_id: WriteId | None = None,
        *,
        lease: int | None = None,
    ) -> None:
        """Commits the worker's transaction; the entry is ready for cleaning. ``highest_write_id``:
        the highest that its result took in. MetastoreError as above. Hive: markCompacted.
        """

    def end_compaction(
        self,
        compaction_id: int,
        state: CompactionState,
        message: str,
        *,
        lease: int | None = None,
    ) -> None:
        """Ends an entry as REFUSED, FAILED or ABORTED, and aborts its transaction; one that is
        ready for cleaning, too, unless a worker asks, with its ``lease``. Hive: markRefused,
        markFailed.
        """

    def return_compaction(
        self, compaction_id: int, *, lease: int | None = None, at_once: bool = False
    ) -> None:
        """Gives an entry back that was begun and cannot be ended: it is initiated again, and
        nobody takes it for some seconds, unless it may be taken ``at_once``.
        """

    def revoke_compactions(self) -> Collection[int]:
        """Makes entries of workers that are dead, or gave no sign of life for
        hive.compactor.worker.timeout (hive.txn.timeout before they begin), or whose transaction is
        over, initiated again, and aborts their transactions. Hive: revokeTimedoutWorkers.
        """

    def abort_compactions(
        self, compaction_ids: Collection[int]
    ) -> Mapping[int, CompactionState | None]:
        """Aborts entries that are initiated; returns the state that each had before, None for an
        unknown one. Hive: AbortCompactionFunction.
        """

    def publishing(
        self,
        compaction_id: int,
        table: Table,
        partition: Partition | None,
        *,
        lease: int | None = None,
    ) -> AbstractContextManager[None]:
        """The context in which a worker gives its result names. MetastoreError, as
        ``heartbeat_compaction`` raises it, and if the table or partition is not there any more, or
        elsewhere, or under another name: else it would appear in another one. Nobody changes the
        store in it, so it should be short.
        """

    def cleaning(
        self, compaction: Compaction, table: Table, partition: Partition | None
    ) -> AbstractContextManager[None]:
        """The context in which a cleaner takes directories away, as ``publishing``: of an entry
        that is still ready for cleaning.
        """

    def compactions(self) -> tuple[Compaction, ...]:
        """Every entry of the queue and of the history, by id."""

    def find_compaction(self, compaction_id: int) -> Compaction | None:
        """The entry of this id, of the queue or of the history; None if there is none."""

    def ready_for_cleaning(self) -> tuple[Compaction, ...]:
        """The entries in this state, by id."""

    def postpone_cleaning(self, compaction_id: int, message: str, *, retry_after: int) -> None:
        """Notes that cleaning has failed once more. Hive: setCleanerRetryRetentionTimeOnError."""

    def mark_cleaned(self, compaction_id: int) -> None:
        """Ends an entry as SUCCEEDED: what it made obsolete is gone. Forgets which writes of the
        table or partition up to its highest write id were committed. Hive: MarkCleanedFunction.
        """

    def purge_compactions(
        self, keep: Mapping[CompactionState, int], *, timeout_seconds: float
    ) -> None:
        """Keeps the newest entries of the history, so many of each state for each table or
        partition (all of a state that is not named), and none that failed before a success and
        longer ago than the timeout. Hive: PurgeCompactionHistoryFunction.
        """

    def written_since(self, time: int) -> Collection[tuple[TableName, str | None]]:
        """The tables and partitions that transactions have written to since ``time`` (epoch
        milliseconds) or of which the newest entry of the history is a failed one. Hive:
        findPotentialCompactions.
        """
