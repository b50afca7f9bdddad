"""Two transactions that overlap in time and changed one table or partition: what the store tells of
them, and when that is a conflict.

By Hive's rule it always is: the second to commit is aborted. By rows it is one only where both have
deleted a common ROW__ID (an UPDATE is a delete event and a new row). Why the rest may commit:

* **They commute.** A delete event names one row by its ROW__ID, and nothing else. New rows have the
  write id of their transaction in their own ROW__ID, so those of two transactions are never the
  same. Two sets of events without a common ROW__ID leave the same rows in whichever order they are
  applied.
* **Both saw what they delete.** A ROW__ID can only come from the snapshot of a transaction (or be
  its own row, which no other can name). A row is there until a delete event of a committed
  transaction hits it. So the one way to delete what is not there any more is that another, not in
  the snapshot, deleted the row too: it committed after this one began, hence it overlaps, hence it
  is compared. That is the lost update, and it stays impossible.
* **Nobody is passed over.** The store commits only if every overlapping change that it knows then,
  under its one write lock, is among those found harmless. What commits in between is told, and
  compared in another round.

A compaction between the two changes nothing of this: it keeps ROW__IDs, and what the other deleted
stays beside the base that it went into for as long as this one reads the table (see ``readers``).

An overwriting names no rows, and what DDL did to a partition is no change of rows: these conflict
as ever. What snapshot isolation still allows is allowed here, too, and Hive's rule hides only some
of it: write skew (each reads the row that the other changes), a WHERE that would have met the
other's new rows, and two MERGEs that both insert a row which either would have found, had it seen
the other. Who needs more sets ``acidsql.conflict.granularity=partition``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from acidsql.acid.ids import ROW_ID_COLUMN, RowId, TxnId, WriteId
from acidsql.catalog.model import TableName
from acidsql.errors import WriteConflictError
from acidsql.lazy import dataclass

TXN_ABORTED = 10263
"""Hive's ErrorMsg.TXN_ABORTED."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """A change of one table or partition by another transaction, committed since this one began.

    ``write_id``: the other's on the table, None if the store has forgotten it. ``operations``:
    Hive's letters of this one's and the other's, ``u/d``. ``highest_txn``: the own commit id, had
    it come to that.
    """

    table: TableName
    partition: str | None
    txn_id: TxnId
    commit_id: TxnId
    write_id: WriteId | None
    operations: str
    highest_txn: TxnId = field(compare=False)

    def __str__(self) -> str:
        parts = (self.table.database, self.table.table, self.partition)
        return "/".join(part for part in parts if part is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """An overlap that is a conflict, with what is known of the rows that both deleted.

    ``rows``: their number; more of them if not ``all_counted``; None if nobody can tell, because of
    ``reason``.
    """

    overlap: Overlap
    rows: int | None = None
    all_counted: bool = True
    example: RowId | None = None
    reason: str | None = None

    @property
    def words(self) -> str:
        """What the error says of the rows."""
        if self.rows is None or self.example is None:
            return ""
        count = "1 row" if self.rows == 1 else f"{self.rows} rows"
        write_id, bucket_property, row = self.example
        row_id = f'{{"writeid":{write_id},"bucketid":{bucket_property},"rowid":{row}}}'
        such_as = "" if self.rows == 1 else "such as "
        least = "" if self.all_counted else "at least "
        return f": both changed {least}{count}, {such_as}{ROW_ID_COLUMN} {row_id}"


CompareRows = Callable[[Sequence[Overlap]], Clash | None]
"""Compares the rows that the transaction deleted with those that others did: the first overlap with
a common one, None if there is no such.
"""


def conflict_error(txn_id: TxnId, clash: Clash) -> WriteConflictError:
    """The error of transaction ``txn_id``, which comes second."""
    overlap = clash.overlap
    return WriteConflictError(
        f"Aborting [txnid:{txn_id},{overlap.highest_txn}] due to a write conflict on {overlap}"
        f" committed by [txnid:{overlap.txn_id},{overlap.commit_id}] {overlap.operations}"
        f"{clash.words}",
        detail=clash.reason,
        hint="Run the statement again: it will see the other transaction's changes.",
        code=TXN_ABORTED,
    )
