"""Keeps a transaction alive: a daemon thread that does nothing until the transaction is older than
one interval.
"""

from __future__ import annotations

import threading

from acidsql.acid.ids import TxnId
from acidsql.errors import MetastoreError, TransactionAbortedError
from acidsql.txn.manager import TxnManager


class Heartbeat:
    """Beats every ``seconds`` until stopped. ``lost`` says why the transaction is no longer open,
    once that is known.

    A store that cannot be reached for a moment is no loss: the next beat tries again, and a commit
    asks the store anyway.
    """

    def __init__(self, manager: TxnManager, txn_id: TxnId, seconds: float) -> None:
        self._manager = manager
        self._txn_id = txn_id
        self._seconds = seconds
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name=f"acidsql heartbeat of txnid:{txn_id}", daemon=True
        )
        self.lost: TransactionAbortedError | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the beating; returns when no beat is under way any more."""
        self._stopped.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._seconds):
            try:
                self._manager.heartbeat(self._txn_id)
            except TransactionAbortedError as error:
                self.lost = error
                return
            except MetastoreError:
                continue
