"""Where a statement writes, and what it has written: the facts the small and the big path share. No
pyspark here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from acidsql.acid.ids import BucketId, StatementId, WriteId
from acidsql.acid.orc_tail import OrcCodec
from acidsql.acid.orc_types import OrcType, event_type
from acidsql.acid.paths import base_name, delete_delta_name, delta_name
from acidsql.catalog.model import Partition, Table
from acidsql.errors import BindError, UnsupportedStatementError, Warning
from acidsql.lazy_dataclass import dataclass
from acidsql.storage.stored import orc_row_type

if TYPE_CHECKING:
    import pyarrow as pa

    from acidsql.expressions.losses import Lost
    from acidsql.storage.partitions import PartitionIndex
    from acidsql.storage.write.pending import PendingWrites

WritePath = Literal["small", "big"]

ID_BYTES = 20
"""originalTransaction, bucket and rowId of one row."""

DEFAULT_STRIPE_SIZE = 64 << 20
"""Hive's, and both writers' own."""

_CODECS = {OrcCodec.NONE, OrcCodec.ZLIB, OrcCodec.SNAPPY, OrcCodec.LZ4}


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTarget:
    """One sink of a statement.

    ``codec``: what the table property ``orc.compress`` says. ``force_path``: auto, small or big.
    ``max_bytes``: what the small path may hold on the driver. ``staging``: a hidden name below the
    table's location that no other transaction uses. ``partition_index``: the partitions of a table
    that has some, by the values that come with the rows. ``partition``: the one these rows go to,
    once it is known. ``sure``: those the statement names. ``max_partitions``: to how many dynamic
    partitions rows may go. ``overwrite``: the rows make a ``base_N``, also when there are none.
    ``pending``: takes the files until the commit; None in Spark's tasks, which only make them.
    ``returns``: the rows are given back. ``first_write_id``: where the range of a compaction begins
    that ends with ``write_id``.
    """

    table: Table
    write_id: WriteId
    statement_id: StatementId
    codec: str = "ZLIB"
    max_bytes: int = 64 << 20
    force_path: str = "auto"
    staging: str
    partition_index: PartitionIndex | None = None
    partition: Partition | None = None
    sure: tuple[Partition, ...] = ()
    max_partitions: int | None = None
    overwrite: bool = False
    pending: PendingWrites | None
    returns: bool = False
    first_write_id: WriteId | None = None

    def at(self, values: tuple[str, ...]) -> WriteTarget:
        """The target of the rows with these partition values (Hive's text), () for a table without
        partitions.
        """
        index = self.partition_index
        return self if index is None else replace(self, partition=index.find(values))

    def parts(self, rows: pa.Table) -> Iterator[tuple[WriteTarget, pa.Table]]:
        """The rows of each partition, without their texts, and the target of these; all rows of a
        table without partitions.
        """
        from acidsql.storage.partitions import by_values

        index = self.partition_index
        for values, part in by_values(self.table, rows, index.look_up if index else None):
            yield self.at(values), part

    def at_partition(self, partition: Partition | None) -> WriteTarget:
        return self if partition is None else replace(self, partition=partition)

    @property
    def for_tasks(self) -> WriteTarget:
        """What a task needs of it to finish one file: nothing that belongs to the statement as a
        whole.
        """
        return replace(self, partition_index=None, pending=None)

    @property
    def sure_targets(self) -> tuple[WriteTarget, ...]:
        """The table or partitions that the statement writes to whatever rows there are."""
        return tuple(map(self.at_partition, self.sure)) if self.table.partition_columns else (self,)

    @property
    def sure_directories(self) -> tuple[str, ...]:
        """The directories that are made though no row goes there: an overwriting leaves nothing of
        what was.
        """
        return (
            tuple(target.insert_directory for target in self.sure_targets) if self.overwrite else ()
        )

    @property
    def root(self) -> str:
        """The directory that holds the deltas: the table's, or the partition's."""
        return self.partition.location if self.partition is not None else self.table.location

    @property
    def staging_path(self) -> str:
        return f"{self.table.location}/{self.staging}"

    @property
    def orc_codec(self) -> OrcCodec:
        """The codec of the table's files. BindError for an unknown name, UnsupportedStatementError
        for a codec Hive 3.1 cannot read.
        """
        return parse_codec(self.codec)

    @property
    def stripe_size(self) -> int:
        """Bytes of a stripe, by the table property ``orc.stripe.size``; BindError if that is no
        number.
        """
        text = _property(self.table, "orc.stripe.size") or str(DEFAULT_STRIPE_SIZE)
        if not (text.isascii() and text.isdigit()) or not int(text):
            raise BindError(f'table property "orc.stripe.size" is not a number of bytes: "{text}"')
        return int(text)

    @property
    def insert_directory(self) -> str:
        """The directory of insert events."""
        name = (
            base_name(self.write_id)
            if self.overwrite
            else delta_name(self._first_id, self.write_id, self.statement_id)
        )
        return f"{self.root}/{name}"

    @property
    def plain_directory(self) -> str:
        """The directory of rows that are no events: of an insert-only table, or of one that is not
        transactional.
        """
        return self.insert_directory if self.table.is_insert_only else self.root

    @property
    def delete_directory(self) -> str:
        return f"{self.root}/{delete_delta_name(self._first_id, self.write_id, self.statement_id)}"

    @property
    def _first_id(self) -> WriteId:
        return self.write_id if self.first_write_id is None else self.first_write_id

    @property
    def row_schema(self) -> OrcType:
        """The ORC type of the table's columns."""
        return orc_row_type(self.table.columns)

    @property
    def event_schema(self) -> OrcType:
        """The ORC type of an ACID file of the table."""
        return event_type(self.row_schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedFile:
    """A finished file and where it belongs: ``directory`` is that of its events, or of the rows of
    a table without transactions.

    ``size``: in bytes.  ``deletes``: it holds delete events.  ``original``: it has no ACID columns,
    and is called ``000003_0`` or, if it has a ``name``, by that. ``counted``: the number of
    ``rows`` is known. ``synced``: its contents outlive a crash of the machine; else who
    publishes it sees to that.
    """

    path: str
    directory: str
    bucket: BucketId
    rows: int
    size: int
    partition: Partition | None = None
    deletes: bool = False
    original: bool = False
    name: str | None = None
    counted: bool = True
    synced: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a statement has written. ``directories``: that the commit makes, none if no row was
    touched. ``partitions``: that were written to.
    ``clauses``: the rows of each clause of a MERGE. ``moved``: files elsewhere that are to go once
    the rows are there for good. ``lost``: what values have lost to their columns' types;
    ``warnings``: what else the user is to know. ``returned``: rows that are given back.
    """

    directories: tuple[str, ...] = ()
    partitions: tuple[Partition, ...] = ()
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    clauses: tuple[int, ...] = ()
    moved: tuple[str, ...] = ()
    path: WritePath = "small"
    lost: tuple[Lost, ...] = ()
    warnings: tuple[Warning, ...] = ()
    returned: tuple[pa.Table, ...] = ()


def parse_codec(text: str) -> OrcCodec:
    """A value of the table property ``orc.compress``."""
    name = text.strip().upper()
    if name not in OrcCodec.__members__:
        raise BindError(
            f'table property "orc.compress" has an unknown value "{text}"',
            hint=f"Use one of {_names()}.",
        )
    if OrcCodec[name] not in _CODECS:
        raise UnsupportedStatementError(
            f"Hive 3.1 cannot read ORC files compressed with {name}", hint=f"Use one of {_names()}."
        )
    return OrcCodec[name]


def _property(table: Table, name: str) -> str | None:
    return next(
        (value.strip() for key, value in table.properties.items() if key.lower() == name), None
    )


def _names() -> str:
    return ", ".join(sorted(c.name for c in _CODECS))
