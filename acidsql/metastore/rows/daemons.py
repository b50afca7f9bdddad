"""The rows of daemons that compact."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.metastore.process import Process
from acidsql.metastore.sql import Connection, delete, select, update
from acidsql.metastore.store import insert_row
from acidsql.metastore.tables import COMPACTOR_DAEMONS
from acidsql.txn.daemons import CompactorDaemon

_CD = COMPACTOR_DAEMONS.c
_ALL = select(COMPACTOR_DAEMONS).order_by(_CD.CD_ID)
_BETWEEN = ","


def insert_daemon(
    connection: Connection,
    *,
    host: str,
    process: Process,
    roles: Sequence[str],
    pools: Sequence[str],
    now: int,
) -> int:
    """Stores a daemon; returns its number."""
    return insert_row(
        connection,
        COMPACTOR_DAEMONS,
        CD_HOST=host,
        CD_AGENT_INFO=str(process),
        CD_ROLES=_BETWEEN.join(roles),
        CD_POOLS=_BETWEEN.join(pools),
        CD_STARTED=now,
        CD_LAST_HEARTBEAT=now,
    )


def beat_daemon(connection: Connection, daemon_id: int, *, now: int) -> bool:
    """Returns whether the daemon is known."""
    beat = update(COMPACTOR_DAEMONS).where(_CD.CD_ID == daemon_id).values(CD_LAST_HEARTBEAT=now)
    return connection.execute(beat).rowcount > 0


def delete_daemons(connection: Connection, daemon_ids: Sequence[int]) -> None:
    connection.execute(delete(COMPACTOR_DAEMONS).where(_CD.CD_ID.in_(daemon_ids)))


def select_daemons(
    connection: Connection, *, host: str, observer: Process, cutoff: int
) -> tuple[list[CompactorDaemon], list[int]]:
    """The daemons that live, and the numbers of those that do not. ``cutoff``: none of them has
    been silent since; epoch milliseconds.
    """
    living: list[CompactorDaemon] = []
    dead: list[int] = []
    for row in connection.execute(_ALL):
        process = Process.parse(row.CD_AGENT_INFO)
        gone = row.CD_HOST == host and process is not None and process.is_gone(observer)
        if gone or row.CD_LAST_HEARTBEAT < cutoff:
            dead.append(row.CD_ID)
            continue
        living.append(
            CompactorDaemon(
                daemon_id=row.CD_ID,
                host=row.CD_HOST,
                process=row.CD_AGENT_INFO,
                roles=tuple(row.CD_ROLES.split(_BETWEEN)),
                pools=tuple(row.CD_POOLS.split(_BETWEEN)),
                started=row.CD_STARTED,
                heartbeat=row.CD_LAST_HEARTBEAT,
            )
        )
    return living, dead
