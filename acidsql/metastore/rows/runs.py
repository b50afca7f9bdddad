"""The runs that were committed, and the files that were taken: see txn.runs. A row of a run comes
with the commit of its transaction, and goes when it is old.
"""

from __future__ import annotations

import json
from collections.abc import Collection

from acidsql.acid.ids import TxnId
from acidsql.metastore.sql import Connection, bindparam, delete, insert, select
from acidsql.metastore.tables import COMMITTED_RUNS, TAKEN_FILES, TBLS
from acidsql.txn.runs import CommittedRun, Run, Taken, TakenFile

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


# ---- files that were taken
#
# The files that tables have taken: see txn.runs. A row comes with the commit of its transaction,
# and goes with its table.


_TF = TAKEN_FILES.c
_AT_ONCE = 500
"""The most names that one statement asks for."""
_INSERT_TAKEN = insert(TAKEN_FILES)
_TABLE = select(TBLS.c.TBL_ID).where(TBLS.c.TBL_ID == bindparam("table"))
_OF_TABLE = select(_TF.TF_PATH, _TF.TF_SIZE, _TF.TF_MTIME).where(
    _TF.TF_TBL_ID == bindparam("table")
)


def find_taken(
    connection: Connection, table_id: int, files: Collection[TakenFile]
) -> frozenset[TakenFile]:
    """The ones among the files that the table has taken."""
    wanted, known = frozenset(files), set[TakenFile]()
    paths = sorted({file.path for file in wanted})
    for at in range(0, len(paths), _AT_ONCE):
        asked = _OF_TABLE.where(_TF.TF_PATH.in_(paths[at : at + _AT_ONCE]))
        for row in connection.execute(asked, {"table": table_id}):
            known.add(TakenFile(path=row.TF_PATH, size=row.TF_SIZE, mtime_ns=row.TF_MTIME))
    return wanted & known


def any_taken(connection: Connection, table_id: int) -> bool:
    """Whether the table has taken a file."""
    return connection.execute(_OF_TABLE.limit(1), {"table": table_id}).first() is not None


def insert_taken(connection: Connection, taken: Taken, txn_id: TxnId, now: int) -> None:
    """Records files; for the SQL transaction that commits ``txn_id``. A table that is gone takes
    nothing.
    """
    if connection.scalar(_TABLE, {"table": taken.table_id}) is None:
        return
    rows = [
        {
            "TF_TBL_ID": taken.table_id,
            "TF_PATH": file.path,
            "TF_SIZE": file.size,
            "TF_MTIME": file.mtime_ns,
            "TF_TXNID": txn_id,
            "TF_TIME": now,
        }
        for file in taken.files
    ]
    if rows:
        connection.execute(_INSERT_TAKEN, rows)
