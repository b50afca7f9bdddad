"""The locks of the embedded metastore: each call one SQL transaction on the store, which need not
outlive a loss of power where no process that holds or awaits a lock does. Nor need what frees a
lock, or keeps it alive: if that is lost, the lock is freed when its time is over.
"""

from __future__ import annotations

from acidsql.acid.ids import TxnId
from acidsql.metastore.locking import Asker, ask, check, give_up, reap_locks
from acidsql.metastore.opening import OpenTxns, reap
from acidsql.metastore.process import Process
from acidsql.metastore.rows.locks import beat, find_request, select_locks
from acidsql.metastore.rows.txns import jump, keep_in_step, require_open
from acidsql.metastore.sql import Connection, update
from acidsql.metastore.store import Clock, Store
from acidsql.metastore.txn_tables import TXNS
from acidsql.txn.locks import NO_TXN, LockAnswer, LockInfo, LockRequest, LockState, LockType

_TOLERANCE = 10_000


class EmbeddedLocks:
    """Implements the part of TxnManager that is about locks, and about who is still alive.
    ``steady``: seconds that neither jump nor pass while the machine sleeps; None where the store
    has a clock of its own, which is the same for all.
    """

    def __init__(
        self,
        store: Store,
        *,
        user: str,
        host: str,
        steady: Clock | None,
        txn_timeout_seconds: float,
        max_open_txns: int,
    ) -> None:
        self._store = store
        self._user = user
        self._host = host
        self._steady = steady
        self._txn_timeout = txn_timeout_seconds
        self._max_open_txns = max_open_txns

    def lock(self, request: LockRequest, txn_id: TxnId = NO_TXN) -> LockAnswer:
        with self._store.write(durable=not self._store.one_host) as connection:
            if txn_id != NO_TXN:
                require_open(connection, txn_id)
            return self._ask(connection, request, txn_id, self._time(connection))

    def check_lock(self, lock_id: int, txn_id: TxnId = NO_TXN) -> LockAnswer:
        with self._store.write(durable=not self._store.one_host) as connection:
            if txn_id != NO_TXN:
                require_open(connection, txn_id)
            owner = find_request(connection, lock_id)[0].txn_id
            self._beat(connection, lock_id, owner)
            return check(
                connection,
                lock_id,
                now=self._time(connection),
                reap=lambda: self._reap_all(connection),
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

    def _ask(
        self, connection: Connection, request: LockRequest, txn_id: TxnId, now: int
    ) -> LockAnswer:
        def reap_others() -> bool:
            self._beat_txn(connection, txn_id)  # who asks is alive
            return self._reap_all(connection)

        asker = Asker(
            txn_id=txn_id,
            user=self._user,
            host=self._host,
            process=Process.current(),
            now=now,
        )
        return ask(connection, request, asker, reap=reap_others)

    def _beat(self, connection: Connection, lock_id: int, txn_id: TxnId) -> None:
        if txn_id == NO_TXN:
            beat(connection, lock_id, now=self._time(connection))
        else:
            self._beat_txn(connection, txn_id)

    def _beat_txn(self, connection: Connection, txn_id: TxnId) -> None:
        now = self._time(connection)
        connection.execute(
            update(TXNS).where(TXNS.c.TXN_ID == txn_id).values(TXN_LAST_HEARTBEAT=now)
        )

    def _reap_all(self, connection: Connection) -> bool:
        process = Process.current()
        txns = self._reap_txns(connection, process, self._time(connection))
        cutoff = self._cutoff(self._now(connection))
        locks = reap_locks(connection, host=self._host, process=process, cutoff=cutoff)
        return txns.some_are_dead or locks

    def _reap_txns(self, connection: Connection, process: Process, now: int) -> OpenTxns:
        cutoff = self._cutoff(now)
        return reap(connection, host=self._host, process=process, cutoff=cutoff)

    def _cutoff(self, now: int) -> int:
        """Who gave no sign of life since is dead; epoch milliseconds."""
        return now - int(self._txn_timeout * 1000)

    def _time(self, connection: Connection) -> int:
        """Epoch milliseconds, with which all signs of life are in step; for a write transaction."""
        now = self._now(connection)
        boot = Process.current().boot
        if boot and self._steady is not None:
            keep_in_step(
                connection,
                now=now,
                offset=now - _milliseconds(self._steady),
                boot=boot,
                tolerance=self._tolerance,
            )
        return now

    def _jump(self, connection: Connection) -> int:
        """How far all signs of life are out of step; milliseconds."""
        if self._steady is None:
            return 0
        offset = self._now(connection) - _milliseconds(self._steady)
        boot = Process.current().boot
        return jump(connection, offset=offset, boot=boot, tolerance=self._tolerance)

    @property
    def _tolerance(self) -> int:
        """Clocks are corrected a little all the time; milliseconds."""
        return min(_TOLERANCE, int(self._txn_timeout * 100))

    def _now(self, connection: Connection) -> int:
        return self._store.now(connection)


def _milliseconds(clock: Clock) -> int:
    return int(clock() * 1000)
