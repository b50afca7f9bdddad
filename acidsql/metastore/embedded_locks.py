"""The locks of the embedded metastore: each call one SQL transaction on the store, which need not
outlive a loss of power, as no process that holds or awaits a lock does.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, update

from acidsql.acid.ids import TxnId
from acidsql.metastore.locking import Asker, ask, check, give_up, reap_locks
from acidsql.metastore.opening import reap
from acidsql.metastore.process import Process
from acidsql.metastore.rows.locks import beat, find_request, select_locks
from acidsql.metastore.rows.txns import require_open
from acidsql.metastore.store import Store
from acidsql.metastore.txn_tables import TXNS
from acidsql.txn.locks import NO_TXN, LockAnswer, LockInfo, LockRequest, LockState, LockType


class EmbeddedLocks:
    """Implements the part of TxnManager that is about locks, and about who is still alive.
    ``clock`` gives epoch seconds.
    """

    def __init__(
        self,
        store: Store,
        *,
        user: str,
        host: str,
        clock: Callable[[], float],
        txn_timeout_seconds: float,
        max_open_txns: int,
    ) -> None:
        self._store = store
        self._user = user
        self._host = host
        self._clock = clock
        self._txn_timeout = txn_timeout_seconds
        self._max_open_txns = max_open_txns

    def lock(self, request: LockRequest, txn_id: TxnId = NO_TXN) -> LockAnswer:
        with self._store.write(durable=False) as connection:
            if txn_id != NO_TXN:
                require_open(connection, txn_id)
            return self._ask(connection, request, txn_id)

    def check_lock(self, lock_id: int, txn_id: TxnId = NO_TXN) -> LockAnswer:
        with self._store.write(durable=False) as connection:
            if txn_id != NO_TXN:
                require_open(connection, txn_id)
            owner = find_request(connection, lock_id)[0].txn_id
            self._beat(connection, lock_id, owner)
            return check(
                connection, lock_id, now=self._now(), reap=lambda: self._reap_all(connection)
            )

    def unlock(self, lock_id: int) -> None:
        with self._store.write(durable=False) as connection:
            give_up(connection, lock_id)

    def heartbeat_lock(self, lock_id: int) -> None:
        with self._store.write(durable=False) as connection:
            self._beat(connection, lock_id, find_request(connection, lock_id)[0].txn_id)

    def list_locks(self) -> tuple[LockInfo, ...]:
        with self._store.read() as connection:
            locks = select_locks(connection)
        strength = list(LockType).index
        return tuple(
            sorted(
                locks,
                key=lambda lock: (
                    lock.state is not LockState.ACQUIRED,
                    strength(lock.component.type),
                ),
            )
        )

    def reap(self) -> None:
        with self._store.write() as connection:
            self._reap_all(connection)

    def _ask(self, connection: Connection, request: LockRequest, txn_id: TxnId) -> LockAnswer:
        def reap_others() -> bool:
            self._beat_txn(connection, txn_id)  # whoever asks is alive
            return self._reap_all(connection)

        asker = Asker(
            txn_id=txn_id,
            user=self._user,
            host=self._host,
            process=Process.current(),
            now=self._now(),
        )
        return ask(connection, request, asker, reap=reap_others)

    def _beat(self, connection: Connection, lock_id: int, txn_id: TxnId) -> None:
        if txn_id == NO_TXN:
            beat(connection, lock_id, now=self._now())
        else:
            self._beat_txn(connection, txn_id)

    def _beat_txn(self, connection: Connection, txn_id: TxnId) -> None:
        connection.execute(
            update(TXNS).where(TXNS.c.TXN_ID == txn_id).values(TXN_LAST_HEARTBEAT=self._now())
        )

    def _reap_all(self, connection: Connection) -> bool:
        process = Process.current()
        txns = self._reap_txns(connection, process)
        locks = reap_locks(connection, host=self._host, process=process, cutoff=self._cutoff())
        return txns or locks

    def _reap_txns(self, connection: Connection, process: Process) -> bool:
        return reap(connection, host=self._host, process=process, cutoff=self._cutoff())

    def _cutoff(self) -> int:
        """Whoever gave no sign of life since is dead; epoch milliseconds."""
        return self._now() - int(self._txn_timeout * 1000)

    def _now(self) -> int:
        return int(self._clock() * 1000)
