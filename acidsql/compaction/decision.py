"""Whether a table or partition is to be compacted, and how: facts of its directory and thresholds
in, a decision with its reason in words out. Hive 4: CompactorUtil.determineCompactionType.

    too many aborted transactions, where the cleaner does not look after them    major
    an aborted transaction that is too old, likewise                             minor
    original files of a full ACID table beside deltas                            major   (ours)
    deltas larger than a share of the base                                       major
    no deltas, and a base that is obsolete                                       major
    more directories of deltas and delete deltas than a number                   minor
        .. and no base, or files that a minor compaction by query cannot read    major

Original files have no ROW__IDs of their own: a reader counts rows for them, once there are delete
events. So they are turned into a base as soon as there are. A write above the compactor's high
watermark (a transaction below it is open) is in none of the facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from acidsql.acid.ids import (
    Base,
    TxnId,
    ValidCompactorWriteIdList,
    ValidTxnList,
    ValidWriteIdList,
    parse_directory,
)
from acidsql.acid.listed import AcidDirectory, FileEntry
from acidsql.catalog.attached import is_overlay
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Partition, Table, TableName
from acidsql.compaction import DELTAS
from acidsql.errors import ProgrammingError
from acidsql.files.fileio import FileIO, path_of
from acidsql.lazy import dataclass
from acidsql.settings import Settings, find_setting
from acidsql.storage.snapshots import directory_of_table
from acidsql.txn.compactions import CompactionQueue, CompactionType
from acidsql.txn.leftovers import AbortedWrite, Leftovers
from acidsql.txn.manager import TxnManager

SHARE = "hive.compactor.delta.pct.threshold"
ABORTED = "hive.compactor.abortedtxn.threshold"
ABORTED_TIME = "hive.compactor.aborted.txn.time.threshold"
BY_CLEANER = "metastore.compactor.clean.aborts.using.cleaner"
BY_QUERY = "hive.compactor.crud.query.based"
OVERRIDE = "compactorthreshold."


class Store(Catalog, TxnManager, Leftovers, CompactionQueue, Protocol):
    """What the parts of this room need of a store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a table's or partition's directory holds. ``base_bytes``: of the base, else of original
    files; ``deltas``: directories of deltas and delete deltas, ``delta_bytes`` together.

    ``originals``: original files that are the base, or lie in it; ``raw_deltas``: deltas with files
    of LOAD DATA. ``only_minor``: of an overlay. ``aborted_txns``: those with something on record
    here, ``oldest_aborted`` the seconds since the first of them began, None without one.
    """

    base_bytes: int
    delta_bytes: int
    deltas: int
    obsolete_bases: int
    originals: int
    raw_deltas: int
    insert_only: bool
    only_minor: bool = False
    aborted_txns: int = 0
    oldest_aborted: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """More than ``deltas`` directories, more than ``share`` of the base, more than ``aborted_txns``
    aborted transactions, one that began more than ``aborted_seconds`` ago (negative: never) make a
    compaction due. ``by_cleaner``: aborted ones do not, the cleaner looks after them. ``by_query``:
    minor compactions cannot read original files.
    """

    deltas: int
    share: float
    aborted_txns: int
    aborted_seconds: float
    by_cleaner: bool
    by_query: bool

    @classmethod
    def of(cls, settings: Settings, table: Table) -> Thresholds:
        """The settings, but where the table's properties ``compactorthreshold.<setting>`` say
        otherwise, which Hive has for two of them. ProgrammingError if such a one is no number.
        """
        return cls(
            deltas=int(_overridden(settings, table, DELTAS)),
            share=_overridden(settings, table, SHARE),
            aborted_txns=int(settings.number(ABORTED)),
            aborted_seconds=settings.number(ABORTED_TIME),
            by_cleaner=settings.flag(BY_CLEANER),
            by_query=settings.flag(BY_QUERY),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """``type``: the compaction that is due, None for none. ``why``: the reason, or why not."""

    type: CompactionType | None
    why: str


def decide(facts: Facts, thresholds: Thresholds) -> Decision:
    """Whether a compaction is due, by facts alone. One for an obsolete base
    has nothing to merge, and is the cleaner's at once.
    """
    return (_of_overlay if facts.only_minor else _of_any)(facts, thresholds)


def _of_any(facts: Facts, thresholds: Thresholds) -> Decision:
    major, minor = CompactionType.MAJOR, CompactionType.MINOR
    if not thresholds.by_cleaner and facts.aborted_txns > thresholds.aborted_txns:
        limit = f"more than {thresholds.aborted_txns:,}"
        return _due(major, f"{facts.aborted_txns:,} transactions were aborted, {limit}")
    if not thresholds.by_cleaner and _is_too_old(facts, thresholds):
        return _due(minor, "an aborted transaction is too old")
    if facts.originals and facts.deltas and not facts.insert_only:
        return _due(major, "original files lie beside deltas")
    if facts.base_bytes:
        share = facts.delta_bytes / facts.base_bytes
        if share > thresholds.share:
            limit = f"more than {thresholds.share:.4g}"
            return _due(major, f"deltas are {_times(share)} of the base, {limit}")
    if not facts.delta_bytes and facts.obsolete_bases:
        return _due(major, "an obsolete base lies beside the base")
    if facts.deltas <= thresholds.deltas:
        return Decision(type=None, why=_why_not(facts, thresholds))
    many = f"{facts.deltas:,} delta directories, more than {thresholds.deltas:,}"
    if not facts.base_bytes and facts.delta_bytes:
        return _due(major, f"{many}, and no base")
    if _needs_major(facts, thresholds):
        return _due(major, f"{many}, with files that a minor compaction by query cannot read")
    return _due(minor, many)


def _of_overlay(facts: Facts, thresholds: Thresholds) -> Decision:
    """What there is to merge are its own changes."""
    minor = CompactionType.MINOR
    if not thresholds.by_cleaner and (
        facts.aborted_txns > thresholds.aborted_txns or _is_too_old(facts, thresholds)
    ):
        return _due(minor, "aborted transactions are too many or too old")
    if facts.deltas > thresholds.deltas:
        return _due(minor, f"{facts.deltas:,} delta directories, more than {thresholds.deltas:,}")
    return Decision(type=None, why=_why_not(facts, thresholds))


def _due(kind: CompactionType, why: str) -> Decision:
    return Decision(type=kind, why=why)


def _is_too_old(facts: Facts, thresholds: Thresholds) -> bool:
    oldest, limit = facts.oldest_aborted, thresholds.aborted_seconds
    return oldest is not None and 0 <= limit < oldest


def _needs_major(facts: Facts, thresholds: Thresholds) -> bool:
    """Hive: not CompactorUtil.isMinorCompactionSupported."""
    without_ids = bool(facts.originals or facts.raw_deltas)
    return without_ids and thresholds.by_query and not facts.insert_only


def _why_not(facts: Facts, thresholds: Thresholds) -> str:
    if not facts.deltas:
        return "there are no deltas"
    few = f"{facts.deltas:,} of {thresholds.deltas:,} delta directories allowed"
    if not facts.base_bytes:
        return f"{few}, and no base"
    share = facts.delta_bytes / facts.base_bytes
    return f"{few}, {_times(share)} of the base of {thresholds.share:.4g} allowed"


def _times(share: float) -> str:
    return f"{share:.3g}"


def _overridden(settings: Settings, table: Table, name: str) -> float:
    text, setting = table.properties.get(OVERRIDE + name), find_setting(name)
    if text is None or setting is None:
        return settings.number(name)
    value = setting.parse(text)
    if isinstance(value, str):
        raise ProgrammingError(f'property "{OVERRIDE}{name}" of table "{table.name}" is no number')
    return value


# The facts of a directory


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortedTxns:
    """The aborted transactions with something on record of one table or partition. ``started``:
    when the first of them began, in epoch milliseconds, None if nobody knows.
    """

    count: int
    started: int | None


def aborted_txns(
    store: Store, writes: Iterable[AbortedWrite]
) -> Mapping[tuple[TableName, str | None], AbortedTxns]:
    """The aborted transactions of each table and partition. ``writes``: those on record (see
    Leftovers.aborted_writes).
    """
    txns: dict[tuple[TableName, str | None], set[TxnId]] = {}
    for write in writes:
        txns.setdefault((write.table, write.partition), set()).add(write.txn_id)
    started = {txn.txn_id: txn.started for txn in store.list_txns()} if txns else {}
    return {
        where: AbortedTxns(
            count=len(ids), started=min((started[i] for i in ids if i in started), default=None)
        )
        for where, ids in txns.items()
    }


def directory_of(
    store: TxnManager,
    io: FileIO,
    table: Table,
    partition: Partition | None,
    write_ids: ValidWriteIdList | None = None,
    txns: ValidTxnList | None = None,
) -> AcidDirectory:
    """What a compactor sees of a transactional table's or partition's directory. ``write_ids``: the
    table's, ``txns``: those they are of, where they are known; else as they are now. OSError;
    FormatError for a layout that is not Hive's.
    """
    if txns is None:
        txns = store.valid_txns()
    if write_ids is None:
        write_ids = store.valid_write_ids(table.name, txns)
    root = path_of(table.location if partition is None else partition.location)
    compactors = ValidCompactorWriteIdList.of(write_ids)
    compactions = store.seen_compactions(txns)
    return directory_of_table(io, root, table, compactors, compactions, store.valid_txns)


def facts_of(
    table: Table, directory: AcidDirectory, aborted: AbortedTxns | None = None, *, now: float = 0.0
) -> Facts:
    """The facts of a directory as ``directory_of`` gives it. ``now``: epoch seconds."""
    base, deltas = directory.base, directory.current
    obsolete = (parse_directory(path) for path in directory.obsolete)
    in_base = () if base is None else base.files
    in_originals = base is not None and base.original and table.is_full_acid
    began = None if aborted is None else aborted.started
    return Facts(
        base_bytes=_bytes(directory.originals if base is None else in_base),
        delta_bytes=sum(_bytes(delta.files) for delta in deltas),
        deltas=len(deltas),
        obsolete_bases=sum(isinstance(name, Base) for name in obsolete),
        originals=sum(f.size > 0 for f in (in_base if in_originals else directory.originals)),
        raw_deltas=sum(delta.original for delta in deltas) if table.is_full_acid else 0,
        insert_only=table.is_insert_only,
        only_minor=is_overlay(table),
        aborted_txns=0 if aborted is None else aborted.count,
        oldest_aborted=None if began is None else now - began / 1000,
    )


def _bytes(files: Iterable[FileEntry]) -> int:
    return sum(file.size for file in files)
