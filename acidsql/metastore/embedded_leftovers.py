"""What the embedded metastore tells whoever cleans up, and who that is: each call one SQL
transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from sqlalchemy import Connection

from acidsql.catalog.model import Table
from acidsql.metastore.embedded_txns import EmbeddedTxns
from acidsql.metastore.locking import find_dead_locks
from acidsql.metastore.opening import open_txns, purge
from acidsql.metastore.process import Process
from acidsql.metastore.rows.daemons import (
    beat_daemon,
    delete_daemons,
    insert_daemon,
    select_daemons,
)
from acidsql.metastore.rows.directories import (
    delete_directories,
    find_directories,
    insert_directories,
)
from acidsql.metastore.rows.leftovers import find_aborted, forget, recorded
from acidsql.metastore.rows.tables import find_table
from acidsql.txn.daemons import CompactorDaemon
from acidsql.txn.leftovers import AbortedWrite, NotedDirectory

LONG_AGO = 12
"""After so many times hive.txn.timeout without a heartbeat, a process nobody knows of writes
nothing any more.
"""

_A_DAY = 86_400_000


class EmbeddedLeftovers(EmbeddedTxns):
    """Implements Leftovers and CompactorDaemons."""

    def aborted_writes(self, limit: int) -> tuple[AbortedWrite, ...]:
        process = Process.current()
        with self._store.read() as connection:
            if not self._somebody_is_dead(connection, process):
                return self._aborted_writes(connection, process, limit)
        self.reap()
        with self._store.read() as connection:
            return self._aborted_writes(connection, process, limit)

    def _somebody_is_dead(self, connection: Connection, process: Process) -> bool:
        cutoff = self._cutoff(self._now(connection)) - self._jump(connection)
        txns = open_txns(connection, host=self._host, process=process, cutoff=cutoff)
        return txns.some_are_dead or bool(
            find_dead_locks(connection, host=self._host, process=process, cutoff=cutoff)
        )

    def _aborted_writes(
        self, connection: Connection, process: Process, limit: int
    ) -> tuple[AbortedWrite, ...]:
        now = self._now(connection) - self._jump(connection)
        long_ago = now - int(LONG_AGO * self._txn_timeout * 1000)
        cutoff = self._cutoff(now)
        return find_aborted(connection, process, cutoff=cutoff, long_ago=long_ago, limit=limit)

    def note_directory(self, location: str, *, moved_from: str | None = None) -> None:
        with self._store.write(durable=not self._store.one_host) as connection:
            insert_directories(
                connection,
                [location],
                self._store.warehouse,
                now=self._now(connection),
                moved_from=moved_from,
            )

    def forget_directories(self, locations: Collection[str]) -> None:
        with self._store.write(durable=False) as connection:
            delete_directories(connection, locations, self._store.warehouse)

    def noted_directories(self) -> tuple[NotedDirectory, ...]:
        with self._store.read() as connection:
            long_ago = self._now(connection) - _A_DAY
            return find_directories(
                connection,
                self._store.warehouse,
                Process.current(),
                long_ago=long_ago,
                one_host=self._store.one_host,
            )

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._store.write(durable=False):
            yield

    @contextmanager
    def removing(
        self, table: Table, writes: Collection[AbortedWrite]
    ) -> Iterator[Collection[AbortedWrite]]:
        with self._store.write(durable=False) as connection:
            stored = find_table(connection, table.name, self._store.warehouse)
            same = (
                stored is not None
                and stored.table_id == table.table_id
                and stored.location == table.location
            )
            yield recorded(connection, writes) if same else ()

    def forget_writes(self, writes: Collection[AbortedWrite]) -> None:
        with self._store.write(durable=False) as connection:
            forget(connection, tuple(writes))

    # ---- daemons that do it

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
            purge(connection)
