"""Hive's metastore as the one store of a session: catalog and transaction manager.

Nothing of acidsql's own is kept beside it: databases, tables, transactions, locks and write ids are
those of the metastore, which Hive and others use at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from acidsql.catalog.model import DEFAULT_DATABASE, TableName
from acidsql.metastore.hive.client import Client
from acidsql.metastore.hive.reaching import Access
from acidsql.metastore.hms.leftovers import HiveLeftovers
from acidsql.metastore.hms.migration import HiveMigration
from acidsql.metastore.hms.workers import HiveWorkers


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
