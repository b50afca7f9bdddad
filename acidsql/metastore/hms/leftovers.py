"""What killed processes leave in tables: on a Hive metastore that is Hive's business. Its cleaner
takes away files of aborted write ids, where a compaction comes by or many have come together; what
has no name yet (staging directories, hidden from readers) nobody does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext

from acidsql.acid.ids import TxnId
from acidsql.catalog.model import Table, TableName
from acidsql.metastore.hms.server import Server
from acidsql.txn.leftovers import AbortedWrite, NotedDirectory, RecordedWriteIds


class HiveLeftovers(Server):
    """Implements Leftovers."""

    def note_directory(self, location: str) -> None:
        """Does nothing: a process that dies leaves the directory."""

    def note_moves(self, moves: Mapping[str, str]) -> None:
        """Does nothing: what is moved with a change of the catalog the metastore moves itself."""

    def forget_directories(self, locations: Collection[str]) -> None:
        """Does nothing: none is noted."""

    def noted_directories(self) -> tuple[NotedDirectory, ...]:
        return ()

    def is_noted(self, location: str) -> bool:
        return False

    def hidden_names(self, locations: Collection[str]) -> Mapping[str, str]:
        return {}

    def kept(self, locations: Collection[str]) -> Collection[str]:
        return ()

    def hiding(self, location: str, hidden: str) -> AbstractContextManager[None]:
        return self.alone()

    def keep_none(self, hidden: Collection[str]) -> None:
        """Does nothing: nothing is kept."""

    def alone(self) -> AbstractContextManager[None]:
        self._cannot("keep all others out")

    def aborted_writes(self, limit: int) -> tuple[AbortedWrite, ...]:
        return ()

    def removing(
        self, table: Table, writes: Collection[AbortedWrite]
    ) -> AbstractContextManager[Collection[AbortedWrite]]:
        """A context in which no files may go: the locks of an aborted transaction are gone, and who
        has dropped the table may have made another one of its name there.
        """
        return nullcontext(())

    def forget_writes(self, writes: Collection[AbortedWrite]) -> None:
        """Does nothing: the metastore has them on record until its cleaner has been there."""

    def leave_writes(self, txn_id: TxnId) -> None:
        """Does nothing: an aborted write id is never given out again."""

    def recorded_write_ids(self, table: TableName) -> RecordedWriteIds | None:
        return None
