"""ALTER TABLE .. COMPACT, SHOW COMPACTIONS and ABORT COMPACTIONS. Hive: AlterTableCompactOperation,
ShowCompactionsOperation, AbortCompactionsOperation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

from acidsql import interrupts
from acidsql.catalog.model import Partition
from acidsql.catalog.partitions import name_of, names_words
from acidsql.ddl.warehouse import Warehouse, file_errors
from acidsql.errors import BindError, ExecutionError, Warning
from acidsql.lazy import dataclass
from acidsql.planner.bind.bound_transactions import (
    BoundAbortCompactions,
    BoundCompact,
    BoundShowCompactions,
    hive_partition,
)
from acidsql.result import Result, Stats
from acidsql.txn.compactions import (
    NOT_ENOUGH,
    Compaction,
    CompactionRequest,
    CompactionState,
    CompactionType,
    EnqueueAnswer,
)

REFUSED = 10432
FIRST_PAUSE = 0.1
"""Seconds until a compaction that is waited for is looked at again; each other pause is twice the
one before, up to hive.compactor.wait.timeout. Hive begins with two seconds.
"""

STRICT = "acidsql.strict.hive asks the initiator's thresholds; without it all are compacted."
LOG_IN_USE = (
    "others use the metastore: its log may still hold words and figures of what was deleted"
)
LOG_HINT = "Compact again later; the log is emptied then, or when the last process has ended."
NOTHING = " --- "
DEFAULT_POOL = "default"
COLUMNS = (
    "compactionid", "dbname", "tabname", "partname", "type", "state", "workerhost", "workerid",
    "enqueuetime", "starttime", "duration", "hadoopjobid", "errormessage", "initiatorhost",
    "initiatorid", "poolname", "txnid", "nexttxnid", "committime", "hightestwriteid",
)  # fmt: skip
"""Hive's, with its spelling of the last."""

_UNDER_WAY = (CompactionState.INITIATED, CompactionState.WORKING)
_WITHOUT_RESULT = (CompactionState.FAILED, CompactionState.REFUSED, CompactionState.ABORTED)


# ---- COMPACT


def compact(
    warehouse: Warehouse, action: BoundCompact, *, sleep: Callable[[float], None] = time.sleep
) -> Result:
    """Asks for compactions, and waits for them where the statement says so. The notes are Hive's
    lines, and that there is nothing to do; what was asked for and is not done are warnings.
    BindError if none was accepted because of those there are.
    """
    asked = _Asked(warehouse=warehouse, action=action)
    refused: list[str] = []
    accepted: dict[int, Partition | None] = {}
    for partition in asked.eligible():
        answer = warehouse.store.enqueue_compaction(_request(warehouse, action, partition))
        if answer.accepted:
            accepted[answer.compaction_id] = partition
            asked.notes.append(f"Compaction enqueued with id {answer.compaction_id}")
        else:
            refused.append(_refusal(action, partition, answer))
    if refused and not accepted:
        more = f"{len(refused) - 1} more like this" if len(refused) > 1 else None
        hint = "SHOW COMPACTIONS lists it; ABORT COMPACTIONS takes back what is only initiated."
        raise BindError(refused[0], code=REFUSED, detail=more, hint=hint, span=action.span)
    asked.warnings += map(Warning, refused)
    if action.wait:
        asked.wait(accepted, sleep)
    asked.look_at_the_rest()
    return Result((), Stats(), warnings=asked.warnings, notes=asked.notes)


@dataclass(slots=True, kw_only=True)
class _Asked:
    """What becomes of one statement. ``done``: how the compactions have ended that went well, None
    for what there was nothing to do for, which is ``idle``, too.
    """

    warehouse: Warehouse
    action: BoundCompact
    notes: list[str] = field(default_factory=list)
    warnings: list[Warning] = field(default_factory=list)
    done: list[tuple[Partition | None, Compaction | None]] = field(default_factory=list)
    idle: list[Partition | None] = field(default_factory=list)

    def eligible(self) -> Iterator[Partition | None]:
        """What to ask for: what was named without a question, of all partitions those for which
        there is something to do, and under acidsql.strict.hive those for which enough is.
        """
        action, warehouse = self.action, self.warehouse
        if not action.table.partition_columns:
            yield None
            return
        if action.is_named:
            yield from action.partitions
            return
        with file_errors("COMPACT"):
            needs = warehouse.need_compaction(action.table, action.partitions, action.type)
        declined = []
        for partition, is_needed in zip(action.partitions, needs, strict=True):
            if is_needed:
                yield partition
            else:
                declined.append(partition)
        if warehouse.settings.flag("acidsql.strict.hive"):
            self.warnings += [_not_enough(action, partition) for partition in declined]
        else:
            self.idle += declined
            self.done += [(partition, None) for partition in declined]

    def wait(
        self, accepted: Mapping[int, Partition | None], sleep: Callable[[float], None]
    ) -> None:
        """Waits for compactions, and tells how each has ended."""
        for ended in _waited(self.warehouse, list(accepted), sleep):
            words, partition = ended.state.words, accepted[ended.compaction_id]
            self.notes.append(
                f"Compaction with id {ended.compaction_id} finished with status: {words}"
            )
            if ended.state is CompactionState.REFUSED and ended.message == NOT_ENOUGH:
                self.idle.append(partition)
            elif ended.state in _WITHOUT_RESULT:
                self.warnings.append(_without_result(ended))
                continue
            self.done.append((partition, ended))

    def look_at_the_rest(self) -> None:
        """Tells where there was nothing to do, and what a major compaction has not taken away."""
        table, left = self.action.table, list[Warning]()
        if self.done and self.action.type is not CompactionType.MINOR:
            with file_errors("COMPACT"):
                left = self.warehouse.left_by_compactions(table, self.done)
            self.warnings += left
            if self.action.wait and not self.warehouse.store.empty_log():
                self.warnings.append(Warning(LOG_IN_USE, hint=LOG_HINT))
        if table.partition_columns and not self.action.partitions:
            self.notes.append(f"nothing to compact: table {table.name} has no partitions")
        if self.idle:
            names = [name_of(table, partition) for partition in self.idle if partition is not None]
            where = f"{table.name} {names_words(names)}" if names else f"table {table.name}"
            why = _why_idle(self.action.type, is_all=not left)
            self.notes.append(f"nothing to compact in {where}: {why}")


def _why_idle(type: CompactionType, *, is_all: bool) -> str:
    """What was looked at and found as it should be; ``is_all``: all that there is."""
    if type is CompactionType.MINOR:
        return "there are no two deltas to merge; a major compaction takes out what was deleted"
    if is_all:
        return "no file has rows that were deleted, and there is nothing to merge"
    return "there is nothing that can be merged now"


def _not_enough(action: BoundCompact, partition: Partition) -> Warning:
    where = f"table={action.table.name.table} partition={name_of(action.table, partition)}"
    return Warning(f"Not enough deltas to initiate compaction for {where}", hint=STRICT)


def _request(
    warehouse: Warehouse, action: BoundCompact, partition: Partition | None
) -> CompactionRequest:
    return CompactionRequest(
        table=action.table.name,
        partition=None if partition is None else name_of(action.table, partition),
        type=action.type,
        initiator=f"{warehouse.store.host}-manual",
        properties=action.properties,
        pool=action.pool,
        buckets=action.buckets,
        order_by=action.order_by,
    )


def _refusal(action: BoundCompact, partition: Partition | None, answer: EnqueueAnswer) -> str:
    where = "" if partition is None else f" {hive_partition(action.table, partition)}"
    state = f"state='{answer.state.words}' and id={answer.compaction_id}"
    return (
        f"Compaction request for {action.table.name}{where} is refused, details: Compaction is"
        f" already scheduled with {state}."
    )


def _waited(
    warehouse: Warehouse, compaction_ids: Sequence[int], sleep: Callable[[float], None]
) -> Iterator[Compaction]:
    """The compactions as they have ended, one by one, or are ready for cleaning. Those that nobody
    else carries out are all carried out when the first is asked for.
    """
    waiting = list(compaction_ids)
    while waiting:
        try:
            yield _until_ended(warehouse, waiting, sleep)
        except KeyboardInterrupt as interrupt:
            interrupt.add_note(f"Interrupted while waiting for compaction with id={waiting[0]}")
            raise
        del waiting[0]


def _until_ended(
    warehouse: Warehouse, waiting: Sequence[int], sleep: Callable[[float], None]
) -> Compaction:
    """The first of those that are waited for."""
    compaction_id = waiting[0]
    longest = warehouse.settings.number("hive.compactor.wait.timeout") / 1000
    pause = FIRST_PAUSE
    while True:
        entry = warehouse.store.find_compaction(compaction_id)
        if entry is not None and entry.state in _UNDER_WAY:
            warehouse.compact_until(waiting)
            entry = warehouse.store.find_compaction(compaction_id)
        if entry is None:
            detail = f"compaction {compaction_id} is in no list any more"
            raise ExecutionError("No suitable compaction found", detail=detail)
        if entry.state not in _UNDER_WAY:
            return entry
        with interrupts.at_once():
            sleep(min(pause, longest))
        pause *= 2


def _without_result(ended: Compaction) -> Warning:
    verb = "failed" if ended.state is CompactionState.FAILED else f"was {ended.state.words}"
    return Warning(f"compaction {ended.compaction_id} {verb}", detail=ended.message)


# ---- SHOW COMPACTIONS


def show_compactions(warehouse: Warehouse, action: BoundShowCompactions) -> Result:
    """A line for each entry of the queue and of the history; all columns are text, as in Hive."""
    shown = [c for c in warehouse.store.compactions() if _is_asked_for(c, action)]
    shown.sort(key=_newest_first)
    for column, descending in reversed(action.order_by):
        shown.sort(key=_ORDERS[column], reverse=descending)
    return Result.of_text(Stats(), COLUMNS, [_line(c) for c in shown[: action.limit]])


def _is_asked_for(entry: Compaction, action: BoundShowCompactions) -> bool:
    asked = entry.request
    pairs = (
        (action.compaction_id, entry.compaction_id),
        (action.database, asked.table.database),
        (action.table, asked.table),
        (action.partition, asked.partition),
        (action.pool, asked.pool or DEFAULT_POOL),
        (action.type, asked.type),
        (action.state, entry.state),
    )
    return all(wanted is None or wanted == value for wanted, value in pairs)


def _newest_first(entry: Compaction) -> tuple[int, int, int]:
    """Hive's order: by what happened last, what has not begun at the end."""
    last = max(entry.ended or 0, entry.started or 0, entry.committed or 0)
    return -last, entry.enqueued, entry.compaction_id


_ORDERS: dict[str, Callable[[Compaction], tuple[int | str, ...]]] = {
    "compactionid": lambda c: (c.compaction_id,),
    "dbname": lambda c: (c.request.table.database,),
    "tabname": lambda c: (c.request.table.table,),
    "partname": lambda c: (c.request.partition or "",),
    "type": lambda c: (c.request.type.name,),
    "state": lambda c: (c.state.words,),
    "workerhost": lambda c: (_host_and_id(c.worker)[0],),
    "workerid": lambda c: (_host_and_id(c.worker)[1],),
    "enqueuetime": lambda c: (c.enqueued,),
    "starttime": lambda c: (c.started or 0,),
    "duration": lambda c: (c.ended or 0,),
    "hadoopjobid": lambda c: (),
    "errormessage": lambda c: (c.message or "",),
    "initiatorhost": lambda c: (_host_and_id(c.request.initiator)[0],),
    "initiatorid": lambda c: (_host_and_id(c.request.initiator)[1],),
    "poolname": lambda c: (c.request.pool or DEFAULT_POOL,),
    "txnid": lambda c: (c.txn_id or 0,),
    "nexttxnid": lambda c: (c.next_txn_id or 0,),
    "committime": lambda c: (c.committed or 0,),
    "highestwriteid": lambda c: (c.highest_write_id or 0,),
}
"""ORDER BY's columns; by the duration Hive means the end."""


def _line(entry: Compaction) -> list[str]:
    """The twenty values. Hive never shows the highest write id, nor has anything here a job of
    Hadoop's.
    """
    asked = entry.request
    duration = None if entry.ended is None or entry.started is None else entry.ended - entry.started
    return [
        str(entry.compaction_id),
        asked.table.database,
        asked.table.table,
        asked.partition or NOTHING,
        asked.type.name,
        entry.state.words,
        *_host_and_id(entry.worker),
        str(entry.enqueued),
        _number(entry.started),
        _number(duration),
        NOTHING,
        entry.message or NOTHING,
        *_host_and_id(asked.initiator),
        asked.pool or DEFAULT_POOL,
        str(entry.txn_id or 0),
        str(entry.next_txn_id or 0),
        str(entry.committed or 0),
        NOTHING,
    ]


def _number(number: int | None) -> str:
    return NOTHING if number is None else str(number)


def _host_and_id(name: str | None) -> tuple[str, str]:
    """The two parts of ``host-id``, of which a host may have dashes of its own."""
    if name is None:
        return NOTHING, NOTHING
    host, _, one = name.rpartition("-")
    return host or NOTHING, one


# ---- ABORT COMPACTIONS


def abort_compactions(warehouse: Warehouse, action: BoundAbortCompactions) -> Result:
    """Takes back what is initiated, and says of each id what became of it, in Hive's words."""
    ids = tuple(dict.fromkeys(action.ids))
    before = warehouse.store.abort_compactions(ids)
    rows = [[str(one), *_outcome(before[one])] for one in ids]
    return Result.of_text(Stats(), ["compactionid", "status", "message"], rows)


def _outcome(state: CompactionState | None) -> tuple[str, str]:
    if state is None:
        return "Error", "No Such Compaction Id Available"
    if state is CompactionState.INITIATED:
        return "Success", "Successfully aborted compaction"
    return "Error", f"Error while aborting compaction as compaction is in state-{state.words}"
