"""The work of processes of their own on one warehouse: of those that run side by side, and of those
that hold something until they are killed: ``python -m tests.metastore.worker WAREHOUSE ROLE``, with
the metastore of $ACIDSQL_METASTORE, prints what it holds as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection

from acidsql.catalog.model import TableName
from acidsql.errors import WriteConflictError
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.txn.locks import NO_TXN, LockComponent, LockRequest, LockState, LockType
from acidsql.txn.manager import OperationType, TxnComponent

T = TableName("default", "t")
Facts = dict[str, object]
BETWEEN_CHECKS = 0.005
EXCLUSIVE = LockRequest(
    components=(LockComponent(database="default", table="t", type=LockType.EXCLUSIVE),)
)


def write(metastore: EmbeddedMetastore, operation: OperationType) -> Facts:
    """One transaction: what it saw, and whether it committed."""
    opened = metastore.begin([T])
    seen = metastore.valid_write_ids(T, opened.txns)
    write_id = opened.write_ids[T]
    facts = {
        "txn": opened.txn_id,
        "write_id": write_id,
        "invalid": [w for w in range(1, write_id) if not seen.is_valid(w)],
    }  # type: ignore[arg-type]
    try:
        metastore.commit(
            opened.txn_id,
            [TxnComponent(table=T, partition=None, operation=operation, write_id=write_id)],
        )
        return facts | {"committed": True}
    except WriteConflictError as error:
        return facts | {"committed": False, "message": error.message}


def take_turn(metastore: EmbeddedMetastore) -> Facts:
    """One change under a lock, which so never conflicts."""
    opened = metastore.begin([T], EXCLUSIVE)
    assert opened.locks is not None
    if opened.locks.state is LockState.WAITING:
        while metastore.check_lock(opened.locks.lock_id, opened.txn_id).state is LockState.WAITING:
            time.sleep(BETWEEN_CHECKS)  # else those who look keep away those who end
        opened = metastore.renew(opened.txn_id, [T])
    write_id = opened.write_ids[T]
    update = TxnComponent(
        table=T, partition=None, operation=OperationType.UPDATE, write_id=write_id
    )
    metastore.commit(opened.txn_id, [update])
    return {"txn": opened.txn_id, "write_id": write_id}


def compact(metastore: EmbeddedMetastore) -> Iterator[Facts]:
    """Works until there is nothing to do."""
    while taken := metastore.next_compaction(f"node1-{os.getpid()}"):
        opened = metastore.begin_compaction(taken.compaction_id)
        metastore.finish_compaction(taken.compaction_id)
        yield {"compaction": taken.compaction_id, "txn": opened.txn_id}


def work(test: Connection, warehouse: str, url: str | None, role: str, count: int) -> None:
    test.send("ready")
    test.recv()
    with EmbeddedMetastore(warehouse, metastore=url) as metastore:
        match role:
            case "insert" | "update":
                operation = OperationType[role.upper()]
                test.send([write(metastore, operation) for _ in range(count)])
            case "compact":
                test.send(list(compact(metastore)))
            case "take_turns":
                test.send([take_turn(metastore) for _ in range(count)])


def say(**facts: object) -> None:
    """What is held until somebody kills this process."""
    print(json.dumps(facts), flush=True)
    sys.stdin.readline()


def main(warehouse: str, role: str) -> None:
    url = os.environ.get("ACIDSQL_METASTORE") or None
    with EmbeddedMetastore(warehouse, metastore=url) as metastore:
        match role:
            case "hang":
                opened = metastore.begin([T])
                say(txn=opened.txn_id, write_id=opened.write_ids[T])
            case "lock" | "lock_in_txn":
                txn_id = metastore.open_txn() if role == "lock_in_txn" else NO_TXN
                say(lock=metastore.lock(EXCLUSIVE, txn_id).lock_id)
            case "compact_and_hang":
                taken = metastore.next_compaction(f"node1-{os.getpid()}")
                assert taken is not None
                opened = metastore.begin_compaction(taken.compaction_id)
                say(compaction=taken.compaction_id, txn=opened.txn_id)


if __name__ == "__main__":
    main(*sys.argv[1:])
