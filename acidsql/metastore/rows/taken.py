"""The files that tables have taken: see txn.taken. A row comes with the commit of its transaction,
and goes with its table.
"""

from __future__ import annotations

from collections.abc import Collection

from acidsql.acid.ids import TxnId
from acidsql.metastore.sql import Connection, bindparam, insert, select
from acidsql.metastore.tables import TAKEN_FILES, TBLS
from acidsql.txn.runs import Taken, TakenFile

_TF = TAKEN_FILES.c
_AT_ONCE = 500
"""The most names that one statement asks for."""
_INSERT = insert(TAKEN_FILES)
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
        connection.execute(_INSERT, rows)
