"""Which directories a compaction takes, what its outputs are called, and whether it is worth it.

A pure function of what a reader with the compactor's write ids sees. Hive: CompactorMR,
CompactorUtil.isEnoughToCompact. Names carry no ``_v<txn>`` where a directory can be renamed, as
Hive 3 writes them, so a name that is taken cannot be written once more: then there is nothing to
do. It is so on object stores, too, where they do; but not where all names have one, as on a Hive
metastore.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from acidsql.acid.ids import (
    BEFORE_ALL_WRITES,
    NO_VISIBILITY,
    Base,
    DeleteDelta,
    Delta,
    DirectoryName,
    TxnId,
    WriteId,
)
from acidsql.acid.listed import AcidDirectory, Directory, id_range
from acidsql.catalog.attached import ONLY_MINOR, is_overlay
from acidsql.catalog.model import Table
from acidsql.lazy import dataclass
from acidsql.txn.compactions import CompactionType


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What one compaction merges. ``type``: MAJOR, MINOR or REBALANCE. ``directory``: the
    directories and originals it takes, and no others. ``min_write_id``, ``max_write_id``: the range
    of its outputs. ``has_own_write_id``: the output is named by the compaction's own write id, and
    so is seen from its commit on, as that of an INSERT OVERWRITE. ``visibility``: the transaction
    whose commit shows the outputs, which their names say; without one they are seen as soon as they
    have their names. ``as_hive``: it is one of Hive's, which knows what it was made from.
    """

    type: CompactionType
    directory: AcidDirectory
    min_write_id: WriteId
    max_write_id: WriteId
    has_own_write_id: bool = False
    visibility: TxnId = NO_VISIBILITY
    as_hive: bool = False

    @property
    def is_minor(self) -> bool:
        return self.type is CompactionType.MINOR

    @property
    def base(self) -> Base:
        return Base(write_id=self.max_write_id, visibility_txn_id=self.visibility)

    @property
    def delta(self) -> Delta:
        return Delta(
            min_write_id=self.min_write_id,
            max_write_id=self.max_write_id,
            visibility_txn_id=self.visibility,
        )

    @property
    def delete_delta(self) -> DeleteDelta:
        return DeleteDelta(
            min_write_id=self.min_write_id,
            max_write_id=self.max_write_id,
            visibility_txn_id=self.visibility,
        )

    @property
    def outputs(self) -> tuple[DirectoryName, ...]:
        """The directories that may come out."""
        return (self.delta, self.delete_delta) if self.is_minor else (self.base,)

    @property
    def paths(self) -> tuple[str, ...]:
        """The directories and original files that go in, below the table's or partition's."""
        chosen = self.directory
        base = () if chosen.base is None else (chosen.base.path,)
        originals = tuple(file.path for file in chosen.originals)
        return (*base, *(directory.path for directory in chosen.current), *originals)


def refusal(table: Table, type: CompactionType) -> str | None:
    """Why no compaction of the table is made, in Hive's words; None if it may be. Hive: Worker."""
    if is_overlay(table) and type is not CompactionType.MINOR:
        return f"table {table.name} is an overlay: {ONLY_MINOR}"
    if table.bucketing is not None and table.bucketing.sorted_by:
        return f"Attempt to compact sorted table {table.name}, which is not yet supported!"
    if (
        type is CompactionType.REBALANCE
        and table.bucketing is not None
        and not table.is_insert_only
    ):
        return "Cannot execute rebalancing compaction on bucketed tables."
    return None


def choose_inputs(
    seen: AcidDirectory,
    type: CompactionType,
    high_watermark: WriteId,
    *,
    max_deltas: int | None = None,
    visibility: TxnId = NO_VISIBILITY,
    as_hive: bool = False,
) -> Inputs | None:
    """What a compaction takes of what its write ids let it see; None if that is not enough.

    ``high_watermark``: of these write ids; a rebalance is called after it where there is nothing to
    merge but a base. ``max_deltas``: so many directories a minor compaction takes at once, those
    with the lowest write ids; those of one range stay together. A further compaction takes its
    output and the rest. ``visibility``, ``as_hive``: of the outputs.
    """
    if not is_enough(seen, type):
        return None
    if type is not CompactionType.MINOR:
        inputs = replace(_of_all(seen, type, visibility), as_hive=as_hive)
    else:
        deltas = _first(seen.current, max_deltas)
        ranges = [id_range(delta.name) for delta in deltas]
        inputs = Inputs(
            type=type,
            directory=replace(seen, base=None, originals=(), current=deltas),
            min_write_id=min(low for low, _, _ in ranges),
            max_write_id=max(high for _, high, _ in ranges),
            visibility=visibility,
            as_hive=as_hive,
        )
    if as_hive:  # the names are nobody else's
        return inputs
    taken = {_same(one.name) for one in _directories(seen)}
    if type is CompactionType.REBALANCE and _same(inputs.base) in taken:
        inputs = replace(inputs, max_write_id=max(inputs.max_write_id, high_watermark))
    return None if any(_same(name) in taken for name in inputs.outputs) else inputs


def under_own_write_id(seen: AcidDirectory, own: WriteId) -> Inputs | None:
    """What a rebalance takes of a directory in which the names that ``choose_inputs`` knows are
    taken, because there is nothing but a base; None if that is not so. Hive's base would have the
    same write id and another ``_v``.
    """
    base = seen.base
    if base is None or seen.current or id_range(base.name)[1] >= own:
        return None
    inputs = _of_all(seen, CompactionType.REBALANCE, NO_VISIBILITY)
    return replace(inputs, max_write_id=own, has_own_write_id=True)


def is_enough(seen: AcidDirectory, type: CompactionType) -> bool:
    """Whether there is anything to merge, or, in one delta alone, rows of aborted transactions,
    which a major compaction leaves out. Hive: CompactorUtil.isEnoughToCompact.
    """
    deltas = len(seen.current)
    match type:
        case CompactionType.MINOR:
            kinds = Counter(isinstance(delta.name, DeleteDelta) for delta in seen.current)
            return deltas > 2 or (deltas == 2 and len(kinds) == 1)
        case CompactionType.MAJOR:
            dead = any(delta.needs_row_filter for delta in seen.current)
            return dead or bool(seen.originals) or deltas + (seen.base is not None) > 1
        case _:
            return bool(seen.originals) or deltas > 0 or seen.base is not None


def _of_all(seen: AcidDirectory, type: CompactionType, visibility: TxnId) -> Inputs:
    """Everything becomes a base of the highest write id that was written to it."""
    ids = [id_range(one.name)[1] for one in _directories(seen)]
    return Inputs(
        type=type,
        directory=seen,
        min_write_id=min(
            (id_range(one.name)[0] for one in _directories(seen)), default=BEFORE_ALL_WRITES
        ),
        max_write_id=max(ids, default=BEFORE_ALL_WRITES),
        visibility=visibility,
    )


def _first(deltas: tuple[Directory, ...], most: int | None) -> tuple[Directory, ...]:
    """The first deltas in reading order, at least two ranges, without tearing one range apart."""
    if most is None or len(deltas) <= most:
        return deltas
    ranges = [id_range(delta.name)[:2] for delta in deltas]
    end = max(2, most)
    while end < len(deltas) and (ranges[end] == ranges[end - 1] or len(set(ranges[:end])) < 2):
        end += 1
    return deltas[:end]


def _directories(seen: AcidDirectory) -> Iterable[Directory]:
    return seen.current if seen.base is None else (seen.base, *seen.current)


def _same(name: DirectoryName) -> tuple[type[DirectoryName], WriteId, WriteId, int]:
    """What two directories that cannot stand side by side have in common."""
    return (type(name), *id_range(name))
