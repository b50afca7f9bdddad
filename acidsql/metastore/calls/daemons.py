"""Daemons that look after the tables, and the housekeeping of the store: each call one SQL
transaction.
"""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.metastore.calls.txns import EmbeddedTxns
from acidsql.metastore.opening import purge
from acidsql.metastore.process import Process
from acidsql.metastore.rows.daemons import (
    beat_daemon,
    delete_daemons,
    insert_daemon,
    select_daemons,
)
from acidsql.txn.daemons import ALL_ROLES, CompactorDaemon


class EmbeddedDaemons(EmbeddedTxns):
    """Implements CompactorDaemons."""

    daemon_roles: Sequence[str] = ALL_ROLES

    def register_daemon(self, roles: Sequence[str], pools: Sequence[str]) -> int:
        process = Process.current()
        with self._store.write(durable=False) as connection:
            now = self._time(connection)
            _, dead = select_daemons(
                connection, host=self._host, observer=process, cutoff=self._cutoff(now)
            )
            delete_daemons(connection, dead)
            return insert_daemon(
                connection, host=self._host, process=process, roles=roles, pools=pools, now=now
            )

    def heartbeat_daemon(self, daemon_id: int) -> bool:
        with self._store.write(durable=False) as connection:
            return beat_daemon(connection, daemon_id, now=self._time(connection))

    def end_daemon(self, daemon_id: int) -> None:
        with self._store.write(durable=False) as connection:
            delete_daemons(connection, [daemon_id])

    def compactor_daemons(self) -> tuple[CompactorDaemon, ...]:
        process = Process.current()
        with self._store.read() as connection:
            cutoff = self._cutoff(self._now(connection)) - self._jump(connection)
            living, _ = select_daemons(connection, host=self._host, observer=process, cutoff=cutoff)
        return tuple(living)

    def keep_house(self) -> None:
        with self._store.write(durable=False) as connection:
            purge(connection, self._now(connection))
