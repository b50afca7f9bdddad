"""What one compaction is to write, before it has names: finished files below a staging directory.

    events of the inputs --write ids that are valid--> in the order of their ids --> a file a bucket

MAJOR: the rows that are alive, with the ids and the currentTransaction they have; originals get the
ids that readers give them. MINOR: insert events and delete events, each kind for itself; no delete
event can be left out, because the row it hits may lie below. What is not too much for the driver is
merged there without Spark (``small``); else by a job of Spark's (``run.spark.compacting``).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from acidsql.acid.ids import NO_STATEMENT, TxnId, ValidWriteIdList
from acidsql.acid.listed import AcidDirectory, visible_files
from acidsql.catalog.model import Partition, Table
from acidsql.compaction.merging.choosing import Inputs
from acidsql.errors import ProgrammingError
from acidsql.files.fileio import path_of
from acidsql.lazy import dataclass
from acidsql.settings import Settings
from acidsql.storage.snapshots import PartitionSnapshot, TableSnapshot
from acidsql.storage.write.target import WriteTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """One compaction of a table without partitions, or of one partition. ``table``: as it is after
    the write ids were decided. ``buckets``, ``order_by``: of a rebalance. ``renames``: a directory
    gets its name in one step.
    """

    table: Table
    partition: Partition | None
    inputs: Inputs
    write_ids: ValidWriteIdList
    txn_id: TxnId
    buckets: int | None = None
    order_by: str | None = None
    renames: bool = True

    @property
    def root(self) -> str:
        """The directory of the table or partition."""
        return path_of(self.table.location if self.partition is None else self.partition.location)

    @property
    def unpartitioned(self) -> Table:
        """The table as if its partition were all of it: the rows that move know no others."""
        return replace(self.table, partition_columns=())

    @property
    def bucket_count(self) -> int:
        """How many buckets a rebalance makes: as many as were asked for, or as there are."""
        files = self.inputs.directory.insert_files
        return self.buckets or max(1, len({file.bucket for file in files}))

    def target(self, settings: Settings) -> WriteTarget:
        """Where its rows go."""
        return WriteTarget(
            table=self.unpartitioned,
            write_id=self.inputs.max_write_id,
            statement_id=NO_STATEMENT,
            codec=self.table.properties.get("orc.compress")
            or settings.text("hive.exec.orc.default.compress"),
            max_bytes=int(settings.number("acidsql.write.driver.max.bytes")),
            force_path=settings.text("acidsql.write.path"),
            staging=f".acidsql_{self.txn_id}_{uuid.uuid4().hex[:8]}",
            partition=self.partition,
            overwrite=not self.inputs.is_minor,
            pending=None,
            first_write_id=self.inputs.min_write_id,
        )

    def snapshot(self, directory: AcidDirectory | None = None) -> TableSnapshot:
        """The inputs, or some of them, as a scan wants them."""
        chosen = self.inputs.directory if directory is None else directory
        part = PartitionSnapshot(root=self.root, directory=chosen)
        return TableSnapshot(table=self.unpartitioned, write_ids=self.write_ids, partitions=(part,))

    @property
    def insert_snapshot(self) -> TableSnapshot:
        """The inputs without their delete events."""
        chosen = self.inputs.directory
        return self.snapshot(replace(chosen, current=chosen.deltas))

    @property
    def plain_snapshot(self) -> TableSnapshot:
        """The inputs of an insert-only table, whose files have no events."""
        files = visible_files(self.inputs.directory, self.write_ids)
        part = PartitionSnapshot(root=self.root, files=files)
        return TableSnapshot(table=self.unpartitioned, partitions=(part,))


def bytes_of(merge: Merge) -> int:
    """The bytes of all files that go in."""
    chosen = merge.inputs.directory
    directories = chosen.current if chosen.base is None else (chosen.base, *chosen.current)
    files: Sequence[int] = [f.size for d in directories for f in d.files]
    return sum(files) + sum(file.size for file in chosen.originals)


# ---- properties of one compaction
#
# The properties that one compaction may be given, by its request or by its table.
#
# ``compactor.<setting>`` is a setting for the time of the compaction, ``tblprops.<property>`` a
# property that the table has for as long; those of WITH OVERWRITE TBLPROPERTIES go before the
# table's. Settings of Hadoop's jobs mean nothing here. Hive: CompactorMR.overrideMRProps,
# overrideTblProps.


SETTING_PREFIX, PROPERTY_PREFIX = "compactor.", "tblprops."


def overridden_settings(settings: Settings, table: Table, given: Mapping[str, str]) -> Settings:
    """The settings of a compaction. A name or value that there is not is passed over."""
    changed = Settings({name: settings.text(name) for name in settings.changed()})
    for properties in (table.properties, given):
        for name, text in _without_prefix(properties, SETTING_PREFIX):
            with suppress(ProgrammingError):
                changed.set(name, text)
    return changed


def overridden_table(table: Table, given: Mapping[str, str]) -> Table:
    """The table as the compaction is to see it."""
    properties = dict(_without_prefix(given, PROPERTY_PREFIX))
    return replace(table, properties={**table.properties, **properties})


def _without_prefix(properties: Mapping[str, str], prefix: str) -> Iterator[tuple[str, str]]:
    for name, text in properties.items():
        if name.startswith(prefix):
            yield name.removeprefix(prefix), text
