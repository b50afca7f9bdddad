"""The runs that were committed: see txn.runs. A row comes with the commit of its transaction, and
goes when it is old.
"""

from __future__ import annotations

import json

from acidsql.acid.ids import TxnId
from acidsql.metastore.sql import Connection, bindparam, delete, insert, select
from acidsql.metastore.txn_tables import COMMITTED_RUNS
from acidsql.txn.runs import CommittedRun, Run

_CR = COMMITTED_RUNS.c
_FIND = select(COMMITTED_RUNS).where(_CR.CR_RUN_ID == bindparam("run_id"))
_INSERT = insert(COMMITTED_RUNS)
_PURGE = delete(COMMITTED_RUNS).where(_CR.CR_KEPT_UNTIL < bindparam("now"))


def insert_run(connection: Connection, run: Run, txn_id: TxnId, now: int) -> None:
    """Records a run; for the SQL transaction that commits ``txn_id``."""
    outcome = {
        "inserted": run.rows_inserted,
        "updated": run.rows_updated,
        "deleted": run.rows_deleted,
        "write_ids": dict(run.write_ids),
    }
    row = {
        "CR_RUN_ID": run.run_id,
        "CR_TXNID": txn_id,
        "CR_TIME": now,
        "CR_KEPT_UNTIL": now + int(run.kept_seconds * 1000),
        "CR_DIGEST": run.digest,
        "CR_OUTCOME": json.dumps(outcome),
    }
    connection.execute(_INSERT, row)


def find_run(connection: Connection, run_id: str) -> CommittedRun | None:
    row = connection.execute(_FIND, {"run_id": run_id}).first()
    if row is None:
        return None
    outcome = json.loads(row.CR_OUTCOME)
    return CommittedRun(
        run_id=run_id,
        txn_id=TxnId(row.CR_TXNID),
        committed=row.CR_TIME,
        digest=row.CR_DIGEST,
        rows_inserted=outcome["inserted"],
        rows_updated=outcome["updated"],
        rows_deleted=outcome["deleted"],
        write_ids=outcome["write_ids"],
    )


def delete_run(connection: Connection, run_id: str) -> bool:
    """Forgets a run; whether it was on record."""
    return connection.execute(delete(COMMITTED_RUNS).where(_CR.CR_RUN_ID == run_id)).rowcount > 0


def purge_runs(connection: Connection, now: int) -> None:
    """Forgets the runs that were kept for as long as they were to be."""
    connection.execute(_PURGE, {"now": now})
