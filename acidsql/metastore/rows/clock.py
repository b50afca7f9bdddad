"""Signs of life on a clock that neither jumps nor runs while the machine sleeps.

Heartbeats are stored in epoch milliseconds, as in Hive. All processes of a store run on one
machine, so the time between two of them is what its steady clock says. AUX_TABLE keeps how far the
two clocks are apart. When that changes, somebody has set the wall clock or the machine has slept:
all signs of life move along, and nobody has been silent for longer than before.
"""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, insert, select, true, update

from acidsql.metastore.compaction_tables import COMPACTION_QUEUE
from acidsql.metastore.tables import DIRECTORIES_TO_DELETE
from acidsql.metastore.txn_tables import AUX_TABLE, COMPACTOR_DAEMONS, HIVE_LOCKS, READERS, TXNS
from acidsql.txn.manager import TxnState

CLOCK_OFFSET = "ClockOffset"
"""AUX_TABLE key: MT_KEY2 is the wall clock less the steady one, in milliseconds; MT_COMMENT names
the boot of the machine that the steady one counts from.
"""

_KNOWN = select(AUX_TABLE.c.MT_KEY2, AUX_TABLE.c.MT_COMMENT).where(
    AUX_TABLE.c.MT_KEY1 == CLOCK_OFFSET
)
_NOTE = (
    update(AUX_TABLE)
    .where(AUX_TABLE.c.MT_KEY1 == CLOCK_OFFSET)
    .values(MT_KEY2=bindparam("offset"), MT_COMMENT=bindparam("boot"))
)


def jump(connection: Connection, *, offset: int, boot: str, tolerance: int) -> int:
    """How far the wall clock has jumped against the steady one since signs of life were last in
    step with it; milliseconds. 0 if by no more than ``tolerance``, or in another boot.
    """
    known = connection.execute(_KNOWN).first()
    if known is None or known.MT_COMMENT != boot:
        return 0
    difference: int = offset - known.MT_KEY2
    return difference if abs(difference) > tolerance else 0


def keep_in_step(
    connection: Connection, *, now: int, offset: int, boot: str, tolerance: int
) -> None:
    """Moves all signs of life with the wall clock if that has jumped. ``now``: what it shows."""
    known = connection.execute(_KNOWN).first()
    if known is None:
        connection.execute(
            insert(AUX_TABLE).values(MT_KEY1=CLOCK_OFFSET, MT_KEY2=offset, MT_COMMENT=boot)
        )
        return
    difference = offset - known.MT_KEY2
    if known.MT_COMMENT == boot and abs(difference) <= tolerance:
        return
    if known.MT_COMMENT == boot:
        _move(connection, difference, now)
    connection.execute(_NOTE, {"offset": offset, "boot": boot})


def _move(connection: Connection, difference: int, now: int) -> None:
    """None lies in the future afterwards: those that were given after the jump are as they were."""
    beats = (
        (TXNS, TXNS.c.TXN_LAST_HEARTBEAT, TXNS.c.TXN_STATE != TxnState.COMMITTED.value),
        (HIVE_LOCKS, HIVE_LOCKS.c.HL_LAST_HEARTBEAT, HIVE_LOCKS.c.HL_LAST_HEARTBEAT > 0),
        (DIRECTORIES_TO_DELETE, DIRECTORIES_TO_DELETE.c.DD_TIME, true()),
        (COMPACTION_QUEUE, COMPACTION_QUEUE.c.CQ_LAST_HEARTBEAT, true()),
        (COMPACTOR_DAEMONS, COMPACTOR_DAEMONS.c.CD_LAST_HEARTBEAT, true()),
        (READERS, READERS.c.RD_LAST_HEARTBEAT, true()),
    )
    for table, beat, living in beats:
        connection.execute(update(table).where(living).values({beat: beat + difference}))
        connection.execute(update(table).where(living, beat > now).values({beat: now}))
    until = READERS.c.RD_UNTIL
    connection.execute(update(READERS).values({until: until + difference}))
