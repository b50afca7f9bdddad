"""What transactions that never committed have left in tables, as the store knows it.

It is invisible for ever, so nobody can need it once its transaction has ended. What must not happen
is the reverse: that the store forgets that a write id was aborted while a file of it is there, or
may still come. Its rows would appear.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from acidsql.acid.ids import TxnId, WriteId
from acidsql.catalog.model import Table, TableName
from acidsql.lazy import dataclass

HIDDEN = ".acidsql_"
"""What the names of directories begin with that are no table's or partition's."""


OF_COMPACTION = WriteId(-1)
"""Stands on record for what a compaction writes to directories that have its transaction in their
names: its rows have write ids of others.
"""


def hidden_name(directory: str) -> str:
    """A hidden name in a directory, one that nothing has, for what is dropped."""
    return f"{directory}/{HIDDEN}dropped_{uuid.uuid4().hex[:16]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortedWrite:
    """What is on record of an aborted transaction's change of a table or partition, or of a
    compaction's directories there.

    ``is_over``: its process has ended or has given it up, so that no file of it can come any more;
    ``is_long_over``: nor by a request to a distant store that is still under way.
    ``record_is_whole``: if no partition is named of a table that has some, no file was published.
    """

    txn_id: TxnId
    table: TableName
    partition: str | None
    write_id: WriteId
    is_over: bool
    is_long_over: bool
    record_is_whole: bool

    @property
    def is_compaction(self) -> bool:
        return self.write_id == OF_COMPACTION


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedDirectory:
    """A directory that is to be deleted; or, if it was ``moved_from`` another place, to be moved
    back, should it belong there still.

    ``is_over``: its process has ended; else it may go on after it has stood still, and the note
    stays.
    """

    location: str
    moved_from: str | None = None
    is_over: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedWriteIds:
    """The write ids of a table that have a record of their transaction. From ``since`` on each had
    one when it was given out, and only that of an aborted one is deleted by itself; older records
    are deleted when nobody asks for them any more. ``is_certain``: none was yet; else one of a
    transaction that was open across the border may be among those.
    """

    since: WriteId
    ids: frozenset[WriteId]
    is_certain: bool


class Leftovers(Protocol):
    """A store that leaves it to the next writer to clean up; a Hive Metastore does so itself
    (Hive: Cleaner, AcidHouseKeeperService).
    """

    def note_directory(self, location: str) -> None:
        """Notes a directory that the current process makes and will delete, or make a table's."""

    def note_moves(self, moves: Mapping[str, str]) -> None:
        """Notes directories that the current process moves, each from the second place to the
        first, before it does: what has moved outlives a crash of the machine, and so do these.
        """

    def forget_directories(self, locations: Collection[str]) -> None:
        """Forgets directories that are gone, or are a table's now; what is kept for readers stays
        noted. Those of a table or partition are noted when that is dropped.
        """

    def noted_directories(self) -> tuple[NotedDirectory, ...]:
        """The noted directories whose process has ended; of those that are kept for readers also
        the ones that nobody reads any more, and of moves also those that have taken for so long
        that their process may have lost its locks.
        """

    def is_noted(self, location: str) -> bool:
        """Whether the directory is noted by anybody, also by who is at work on it now."""

    def hidden_names(self, locations: Collection[str]) -> Mapping[str, str]:
        """The hidden names by which directories are to be kept that were dropped while somebody
        read them, of those that are not moved yet.
        """

    def kept(self, locations: Collection[str]) -> Collection[str]:
        """The ones of these hidden names by which something is kept for readers."""

    def hiding(self, location: str, hidden: str) -> AbstractContextManager[None]:
        """The context in which such a directory gets its hidden name, as in ``alone``; it is noted
        by that from then on.
        """

    def keep_none(self, hidden: Collection[str]) -> None:
        """Gives up the readers for whom directories cannot be kept by these names."""

    def alone(self) -> AbstractContextManager[None]:
        """The context in which nobody else changes the store: where no table lies, none will. It
        should be short.
        """

    def aborted_writes(self, limit: int) -> tuple[AbortedWrite, ...]:
        """The first of them by transaction, without those that lie where nobody can look. Does
        ``TxnManager.reap`` before, if there is somebody to reap; most often there is neither, which
        one read tells.
        """

    def removing(
        self, table: Table, writes: Collection[AbortedWrite]
    ) -> AbstractContextManager[Collection[AbortedWrite]]:
        """The context in which their files may go: those of the ``writes`` that are still on
        record. No write id is given out in it and no table dropped, so it should be short.
        """

    def forget_writes(self, writes: Collection[AbortedWrite]) -> None:
        """Forgets what has no files any more. The write id counts as a committed one from then on,
        once nothing is on record of it. Hive: MarkCleanedFunction.
        """

    def leave_writes(self, txn_id: TxnId) -> None:
        """Has nobody remove what lies under the write ids of an aborted transaction: others' files
        do, and it has taken its own away. The write ids stay aborted for ever.
        """

    def recorded_write_ids(self, table: TableName) -> RecordedWriteIds | None:
        """Which write ids of a table are on record; None if none is."""
