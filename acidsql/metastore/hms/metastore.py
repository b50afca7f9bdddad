"""Hive's metastore as the one store of a session: catalog and transaction manager.

Nothing of acidsql's own is kept beside it: databases, tables, transactions, locks and write ids are
those of the metastore, which Hive and others use at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Self

from acidsql.acid.ids import TxnId
from acidsql.catalog.model import DEFAULT_DATABASE, Table, TableName
from acidsql.metastore.hive.client import Client
from acidsql.metastore.hive.reaching import Access
from acidsql.metastore.hms.migration import HiveMigration
from acidsql.metastore.hms.server import Server
from acidsql.metastore.hms.workers import HiveWorkers
from acidsql.txn.leftovers import AbortedWrite, NotedDirectory, RecordedWriteIds

# ---- what killed processes leave
#
# What killed processes leave in tables: on a Hive metastore that is Hive's business. Its cleaner
# takes away files of aborted write ids, where a compaction comes by or many have come together;
# what has no name yet (staging directories, hidden from readers) nobody does.


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


# ---- metastore


class HiveMetastore(HiveWorkers, HiveMigration, HiveLeftovers):
    """``metastore``: the URL it was opened by. Implements what a session asks of its store. The
    version is asked for at once: MetastoreError if no server answers, NotSupportedError before Hive
    3.
    """

    def __init__(
        self,
        metastore: str,
        servers: Sequence[tuple[str, int]],
        *,
        access: Access,
        user: str,
        answer_seconds: float,
        refuses_policies: Callable[[], bool] = lambda: False,
    ) -> None:
        user = access.user(user)
        client = Client(
            servers,
            access=access,
            user=user,
            shown=metastore,
            answer_seconds=answer_seconds,
        )
        super().__init__(client, user=user, refuses_policies=refuses_policies)
        self.metastore: str | None = metastore
        try:
            self._check_version()
        except BaseException:
            client.close()
            raise

    def _check_version(self) -> None:
        """Asks for the version, which is remembered. Hive 2 says it is 3.0, and has no write
        ids.
        """
        if self.is_hive_3:
            self.valid_of_tables([TableName(DEFAULT_DATABASE, "t")], self.valid_txns())

    @property
    def host(self) -> str:
        """What this host is called in transactions and locks."""
        return self._host

    def make(self) -> None:
        """Does nothing: somebody has made it."""

    def empty_log(self) -> bool:
        """True: the log of its database is its server's business."""
        return True

    def close(self) -> None:
        """Closes its connections; transactions stay as they are, but for those that could not be
        ended.
        """
        self._make_up()
        self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
