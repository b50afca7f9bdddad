"""The Initiator: it looks at the tables and partitions that were written to, and asks for the
compactions that are due. Hive: Initiator.

An object is passed over, in this order, where an entry of it waits or is worked on, where its last
compactions have all failed, where it is gone, where NO_AUTO_COMPACTION or a setting forbids it.
Hive gives an object up for seven days after two failures. Here the pause doubles from one failure
to the next, and the history says until when it lasts. What could not be told yet, because an older
transaction is open or an entry stands in the way, is looked at again the next time.
"""

from __future__ import annotations

import datetime
import os
import socket
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field

from acidsql.acid.ids import ValidTxnList, ValidWriteIdList
from acidsql.acid.listed import AcidDirectory
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Database, Partition, Table, TableKind, TableName
from acidsql.catalog.partitions import name_of
from acidsql.compaction.decision import (
    BY_CLEANER,
    AbortedTxns,
    Decision,
    Facts,
    Store,
    Thresholds,
    aborted_txns,
    decide,
    directory_of,
    facts_of,
)
from acidsql.errors import Error, MetastoreError
from acidsql.files.fileio import FileIO
from acidsql.lazy import dataclass
from acidsql.settings import Settings
from acidsql.txn.compactions import (
    Compaction,
    CompactionRequest,
    CompactionState,
    CompactionType,
)

FAILURES = "hive.compactor.initiator.failed.compacts.threshold"
LONGEST_PAUSE = "metastore.compactor.initiator.failed.retry.time"
CHECK_INTERVAL = "hive.compactor.check.interval"
POOL = "hive.compactor.worker.pool"
NO_AUTO_COMPACTION = "no_auto_compaction"
GAVE_UP = (
    "Compaction is not initiated since last"
    " metastore.compactor.initiator.failed.compacts.threshold consecutive compaction attempts"
    " failed)"
)
"""Hive's words, its parenthesis and all."""

_SLACK_MS = 60_000
"""Clocks of hosts may differ by so much; what is looked at twice is asked for once."""
_ABORTED_LOOKED_AT = 10_000

Where = tuple[TableName, str | None]
"""A table without partitions, or a partition by Hive's name."""

Leave = Callable[[Table, Facts], str | None]
Say = Callable[[Where, str], None]
"""Hears of every object what was done about it, or why nothing was."""


def name_of_role(number: int = 0) -> str:
    """``<host>-<id>``, as Hive's workers and initiators are called."""
    return f"{socket.gethostname()}-{os.getpid()}" + (f".{number}" if number else "")


def _ignore(where: Where, what: str) -> None:
    pass


@dataclass(slots=True, kw_only=True)
class Initiator:
    """``clock``: epoch seconds; ``name``: ``<host>-<thread>``, the initiator of its entries.
    ``since``: what was written before is not looked at, epoch milliseconds; None: every table is.
    ``leave``: why an object is left to others, None if it is not.
    """

    store: Store
    files: FileIO
    settings: Settings
    clock: Callable[[], float]
    name: str
    say: Say = _ignore
    since: int | None = None
    leave: Leave | None = None
    _again: set[Where] = field(default_factory=set)

    def run_once(self) -> bool:
        """Looks at what was written to since the last time, the first time at every table; returns
        whether it has asked for a compaction. MetastoreError if the store cannot be used; whatever
        else fails is noted in the history.
        """
        began = int(self.clock() * 1000)
        due = self._candidates()
        most = int(self.settings.number("metastore.compactor.fetch.size"))
        now, later = due[:most], due[most:]
        self._again = set(later)
        self.since = began
        return self.consider(now) > 0

    def consider(self, objects: Iterable[Where]) -> int:
        """Looks at these; returns how many compactions it has asked for."""
        look = self._look()
        return sum(self._consider(look, where) for where in objects)

    def judge(self, where: Where) -> Decision:
        """What would become of a table or partition now, and why; nothing is changed."""
        return self.judging()(where)

    def judging(self) -> Callable[[Where], Decision]:
        """``judge`` of many, as of one look: what the store says is asked once for each table."""
        look = self._look()
        return lambda where: self._judge(look, where)

    def _judge(self, look: _Look, where: Where) -> Decision:
        hindrance = self._hindrance(look, where)
        if hindrance is not None:
            return Decision(type=None, why=hindrance)
        target = look.find(where)
        if isinstance(target, str):
            return Decision(type=None, why=target)
        return self._due(look, *target)

    # ---- which

    def _candidates(self) -> list[Where]:
        if self.since is None:
            return [
                (table.name, None if partition is None else name_of(table, partition))
                for table in transactional_tables(self.store)
                for partition in objects_of(self.store, table)
            ]
        written = set(self.store.written_since(self.since - _SLACK_MS))
        if not self.settings.flag(BY_CLEANER):
            written |= set(self._aborted())
        return sorted(written | self._again, key=lambda where: (where[0], where[1] or ""))

    def _aborted(self) -> Mapping[Where, AbortedTxns]:
        return aborted_txns(self.store, self.store.aborted_writes(_ABORTED_LOOKED_AT))

    def _look(self) -> _Look:
        aborted = {} if self.settings.flag(BY_CLEANER) else self._aborted()
        return _Look(self.store, self.settings, self.store.compactions(), aborted)

    # ---- one of them

    def _consider(self, look: _Look, where: Where) -> bool:
        try:
            return self._initiate(look, where)
        except MetastoreError:
            raise
        except (Error, OSError) as error:
            self._note(look, where, str(error))
            return False

    def _initiate(self, look: _Look, where: Where) -> bool:
        busy = look.busy(where)
        if busy is not None:
            self._again.add(where)
            self.say(where, busy)
            return False
        pause = look.pause(where, self.clock())
        if pause is not None:
            self._again.add(where)
            self._note(look, where, pause)
            return False
        target = look.find(where)
        if isinstance(target, str):
            self.say(where, target)
            return False
        table, partition = target
        decision = self._due(look, table, partition)
        if decision.type is None:
            if look.write_ids(table.name).open:  # compactors do not see all that is written
                self._again.add(where)
            self.say(where, f"not compacted: {decision.why}")
            return False
        return self._enqueue(look, table, where, decision)

    def _enqueue(self, look: _Look, table: Table, where: Where, decision: Decision) -> bool:
        assert decision.type is not None
        request = CompactionRequest(
            table=table.name,
            partition=where[1],
            type=decision.type,
            initiator=self.name,
            pool=look.pool(table),
        )
        answer = self.store.enqueue_compaction(request)
        what = decision.type.name.lower()
        if answer.accepted:
            entry = f"{what} compaction {answer.compaction_id} enqueued"
            self.say(where, f"{entry}: {decision.why}")
        else:
            state = f"compaction {answer.compaction_id} is {answer.state.words}"
            self.say(where, f"{what} compaction due ({decision.why}), but {state}")
        return answer.accepted

    def _due(self, look: _Look, table: Table, partition: Partition | None) -> Decision:
        thresholds = Thresholds.of(self.settings, table)
        directory = self._directory(look, table, partition)
        where = table.name, None if partition is None else name_of(table, partition)
        facts = facts_of(table, directory, look.aborted.get(where), now=self.clock())
        decision = decide(facts, thresholds)
        reason = None if self.leave is None or decision.type is None else self.leave(table, facts)
        return decision if reason is None else Decision(type=None, why=f"{reason}: {decision.why}")

    def _directory(self, look: _Look, table: Table, partition: Partition | None) -> AcidDirectory:
        """What a compactor sees, by the look's write ids, or by those of now where a compaction has
        since been made that those are too old for.
        """
        with suppress(Error):
            write_ids = look.write_ids(table.name)
            return directory_of(self.store, self.files, table, partition, write_ids, look.txns)
        return directory_of(self.store, self.files, table, partition)

    def _hindrance(self, look: _Look, where: Where) -> str | None:
        return look.busy(where) or look.pause(where, self.clock())

    def _note(self, look: _Look, where: Where, message: str) -> None:
        """Enters into the history that nothing was done, once for each reason in a row."""
        last = look.last(where)
        self.say(where, f"did not initiate: {message}")
        if (
            last is not None
            and last.state is CompactionState.DID_NOT_INITIATE
            and last.message == message
        ):
            return
        request = CompactionRequest(
            table=where[0],
            partition=where[1],
            type=CompactionType.MAJOR if last is None else last.request.type,
            initiator=self.name,
        )
        self.store.note_compaction(request, CompactionState.DID_NOT_INITIATE, message)


class _Look:
    """What one run knows: the entries of each object, newest first, and what of the catalog and of
    the write ids it has asked for; each is asked for once.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        compactions: Iterable[Compaction],
        aborted: Mapping[Where, AbortedTxns],
    ) -> None:
        self._store = store
        self._settings = settings
        self.aborted = aborted
        self._entries: dict[Where, list[Compaction]] = {}
        for entry in sorted(compactions, key=lambda c: -c.compaction_id):
            request = entry.request
            self._entries.setdefault((request.table, request.partition), []).append(entry)
        self._tables: dict[TableName, Table | None] = {}
        self._databases: dict[str, Database | None] = {}
        self._partitions: dict[TableName, dict[str, Partition]] = {}
        self._txns: ValidTxnList | None = None
        self._write_ids: dict[TableName, ValidWriteIdList] = {}

    def last(self, where: Where) -> Compaction | None:
        return next(iter(self._entries.get(where, ())), None)

    def busy(self, where: Where) -> str | None:
        """The entry that waits or is worked on, in words."""
        in_queue = (CompactionState.INITIATED, CompactionState.WORKING)
        for entry in self._entries.get(where, ()):
            if entry.state in in_queue and entry.request.type is not _CLEAN_UP:
                return f"compaction {entry.compaction_id} is {entry.state.words}"
        return None

    def pause(self, where: Where, now: float) -> str | None:
        """Hive's words, and until when, if the last compactions all have failed and the pause after
        them is not over.
        """
        until = pause_after(self._entries.get(where, ()), self._settings)
        if until is None or until <= now:
            return None
        time = datetime.datetime.fromtimestamp(until, datetime.UTC).isoformat(timespec="seconds")
        return f"{GAVE_UP}; it is tried again after {time}"

    def find(self, where: Where) -> tuple[Table, Partition | None] | str:
        """The object, or why it is passed over."""
        name, partition_name = where
        if name not in self._tables:
            self._tables[name] = self._store.find_table(name)
        table = self._tables[name]
        if table is None or not table.is_transactional:
            return "there is no such transactional table"
        forbidden = self._forbidden(table)
        if forbidden is not None:
            return forbidden
        if not table.partition_columns:
            return (table, None) if partition_name is None else "the table has no partitions"
        if partition_name is None:
            return "its partitions are compacted, each by itself"
        partition = self._partitions_of(table).get(partition_name)
        return (table, partition) if partition is not None else "there is no such partition"

    def pool(self, table: Table) -> str | None:
        """The pool that the table or its database says."""
        return table.properties.get(POOL) or self._of_database(table).get(POOL) or None

    def write_ids(self, name: TableName) -> ValidWriteIdList:
        """The table's write ids, as of one snapshot of transactions for all tables."""
        if name not in self._write_ids:
            self._write_ids[name] = self._store.valid_write_ids(name, self.txns)
        return self._write_ids[name]

    @property
    def txns(self) -> ValidTxnList:
        """That snapshot."""
        if self._txns is None:
            self._txns = self._store.valid_txns()
        return self._txns

    def _forbidden(self, table: Table) -> str | None:
        if _is_off(self._of_database(table)):
            return f'its database "{table.name.database}" has NO_AUTO_COMPACTION'
        if _is_off(table.properties):
            return "the table has NO_AUTO_COMPACTION"
        if table.is_insert_only and not self._settings.flag("hive.compactor.compact.insert.only"):
            return "hive.compactor.compact.insert.only is off"
        return None

    def _of_database(self, table: Table) -> Mapping[str, str]:
        name = table.name.database
        if name not in self._databases:
            self._databases[name] = self._store.find_database(name)
        database = self._databases[name]
        return {} if database is None else database.properties

    def _partitions_of(self, table: Table) -> Mapping[str, Partition]:
        if table.name not in self._partitions:
            listed = self._store.list_partitions(table)
            self._partitions[table.name] = {name_of(table, p): p for p in listed}
        return self._partitions[table.name]


_CLEAN_UP = CompactionType.ABORT_TXN_CLEANUP


def pause_after(entries: Sequence[Compaction], settings: Settings) -> float | None:
    """Until when an object is left alone, in epoch seconds, because its last compactions have all
    failed; None where they have not. ``entries``: its own, newest first.

    The pause is hive.compactor.check.interval at first and then twice the time between the last two
    failures, at most metastore.compactor.initiator.failed.retry.time.
    """
    succeeded = (CompactionState.SUCCEEDED, CompactionState.READY_FOR_CLEANING)
    counted = [e for e in entries if e.state is CompactionState.FAILED or e.state in succeeded]
    last = counted[: int(settings.number(FAILURES))]
    if len(last) < settings.number(FAILURES) or any(e.state in succeeded for e in last):
        return None
    newest, before = _ended(counted[0]), counted[1:2]
    pause = settings.number(CHECK_INTERVAL)
    if before and before[0].state is CompactionState.FAILED:
        pause = max(pause, 2 * (newest - _ended(before[0])))
    return newest + min(pause, settings.number(LONGEST_PAUSE))


def _ended(entry: Compaction) -> float:
    return (entry.enqueued if entry.ended is None else entry.ended) / 1000


def _is_off(properties: Mapping[str, str]) -> bool:
    """Whether it says NO_AUTO_COMPACTION, in small or in large letters."""
    names = (NO_AUTO_COMPACTION, NO_AUTO_COMPACTION.upper())
    return any(properties.get(name, "").lower() == "true" for name in names)


def find_object(store: Catalog, where: Where) -> tuple[Table, Partition | None] | None:
    """A table without partitions, or a partition and its table; None for what is not there."""
    table = store.find_table(where[0])
    if table is None or where[1] is None:
        return None if table is None else (table, None)
    partition = store.find_partition(table, where[1])
    return None if partition is None else (table, partition)


def transactional_tables(store: Store) -> Iterable[Table]:
    """Every transactional table, by name."""
    for database in store.list_databases():
        for name in store.list_tables(database):
            table = store.find_table(TableName(database, name))
            if table is not None and table.is_transactional and table.kind is not TableKind.VIEW:
                yield table


def objects_of(store: Store, table: Table) -> Collection[Partition | None]:
    """What of a table is compacted by itself: its partitions, or itself (None) without any."""
    return store.list_partitions(table) if table.partition_columns else (None,)
