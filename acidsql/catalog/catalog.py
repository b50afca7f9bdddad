"""The protocol of a catalog: what the planner may ask and what DDL may do. Names come in lower
case.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from acidsql.acid.ids import FIRST_WRITE_ID, TxnId, ValidWriteIdList, WriteId
from acidsql.catalog.model import Column, Database, Partition, Table, TableKind, TableName
from acidsql.catalog.statistics import (
    Analyzed,
    ColumnStatistics,
    StatisticsChange,
    WrittenDirectory,
)

if TYPE_CHECKING:
    from acidsql.catalog.partitions import Among


class Catalog(Protocol):
    @property
    def moves_directories(self) -> bool:
        """Whether the store itself moves the directory of a table or partition that gets another
        name, as Hive's metastore does.
        """

    def create_database(self, database: Database) -> None:
        """Stores a database. AlreadyExistsError if there is one of that name."""

    def drop_database(
        self, name: str, *, cascade: bool = False, keeps_directory: bool = False
    ) -> tuple[Table, ...]:
        """Drops it and returns the tables dropped with it. ``keeps_directory``: its directory is
        not about to be deleted. DatabaseNotFoundError; BindError if not empty and not cascade.
        """

    def find_database(self, name: str) -> Database | None: ...

    def list_databases(self) -> tuple[str, ...]:
        """The names of all databases, sorted."""

    def planned_table(self, table: Table, *, located: bool) -> Table:
        """The table as the store would make it: Hive 4 makes a managed one without transactions an
        external one, elsewhere unless it is ``located`` by the user. Nothing is made.
        """

    def create_table(self, table: Table) -> Table:
        """Stores it and returns it with its ``table_id``. AlreadyExistsError,
        DatabaseNotFoundError.
        """

    def creating_table(
        self,
        table: Table,
        partitions: Iterable[Partition] = (),
        *,
        write_id: WriteId = FIRST_WRITE_ID,
        written: Iterable[StatisticsChange] = (),
    ) -> AbstractContextManager[None]:
        """Creates a table that comes with files: it exists, with its partitions, when the block
        ends that publishes them. ``written``: the directories of these changes go on record, their
        numbers are those of the table and its partitions already.

        If the block fails it has never been. ``write_id`` of a transactional table counts as
        committed: that of the files, its ``first_write_id``; WriteConflictError if it is not any
        more.
        """

    def adopting_table(
        self, before: Table, after: Table, *, uncounted: Sequence[WriteId], highest_txn: TxnId
    ) -> AbstractContextManager[None]:
        """Makes a table that was attached one of this warehouse (see ``catalog.attached``), with
        its kind, properties and buckets, when the block ends that takes away what it must not
        have. Its statistics are unknown then.

        ``uncounted``: the write ids of others that do not count: they are those of aborted
        transactions. ``highest_txn``: of those that compacted it: later ones have higher ids.
        WriteConflictError while a transaction reads it, or if it is not ``before`` any more.
        """

    def refresh_attached(
        self, before: Table, after: Table, partitions: Sequence[Partition]
    ) -> Table:
        """Gives a table that is attached the properties of ``after``, and these partitions, unless
        its source has told another session of later things meanwhile. Returns the table as it is
        then. WriteConflictError if it is not the one that was attached any more.
        """

    def clock(self) -> int:
        """Now, in epoch milliseconds, by the clock of all who open the warehouse."""

    def drop_table(self, name: TableName) -> Table:
        """Drops it with its write ids (but see ``TxnManager.first_write_id``); open transactions
        that wrote to it are aborted. Returns what it was. TableNotFoundError.
        """

    def find_table(self, name: TableName) -> Table | None: ...

    def alter_table(
        self, before: Table, after: Table, *, move: Callable[[], None] | None = None
    ) -> None:
        """Alters a table: kind, properties, comment, columns with their names in bucketing and
        constraints, view text and location become those of ``after``. If the table becomes full
        ACID all write ids up to CONVERSION_SEED count as committed, if it becomes insert-only
        FIRST_WRITE_ID.

        ``move`` moves files; it is called once nothing but itself can fail any more, and nothing is
        altered if it does. WriteConflictError if the table is not what ``before`` says any more, or
        is to lie elsewhere while a transaction writes to it; TableNotFoundError.
        """

    def rename_table(
        self, before: Table, after: Table, *, move: Callable[[], None] | None = None
    ) -> None:
        """Renames a table: name, location and properties become those of ``after``; its write ids
        and its partitions go with it.

        ``move`` moves the directory; it is called once nothing but itself can fail any more, and
        nothing is renamed if it does. WriteConflictError if the table is not what ``before`` says
        any more or a transaction writes to it, AlreadyExistsError, DatabaseNotFoundError,
        TableNotFoundError.
        """

    def exchange_tables(self, before: Table, aside: TableName, new: Table) -> None:
        """Gives ``new`` the name of ``before``, which is called ``aside`` from then on: both at
        once, and both stay where they lie.

        WriteConflictError if one of them is not what is given any more or a transaction writes to
        it, AlreadyExistsError, DatabaseNotFoundError, TableNotFoundError.
        """

    def list_tables(self, database: str, kind: TableKind | None = None) -> tuple[str, ...]:
        """Tables and views, or those of one kind, sorted by name. DatabaseNotFoundError."""

    def list_locations(self) -> tuple[tuple[TableName, str], ...]:
        """Every table that has files, with its location; also the location of each partition that
        lies elsewhere than below its table.
        """

    def add_partitions(
        self,
        name: TableName,
        partitions: Iterable[Partition],
        *,
        if_not_exists: bool = False,
        txn_id: TxnId | None = None,
    ) -> tuple[Partition, ...]:
        """Adds all partitions or none; ``if_not_exists`` passes over those that are there. Returns
        those added.

        A transaction that began before cannot commit rows of one that is not added where its name
        says (``default_location``). TableNotFoundError, AlreadyExistsError, WriteConflictError if
        the table has other partition columns by now; TransactionAbortedError if those of ``txn_id``
        are to be added and it is not open.
        """

    def drop_partitions(
        self,
        table: Table,
        partitions: Iterable[Partition],
        *,
        take_away: Callable[[tuple[Partition, ...]], Mapping[str, str]] | None = None,
    ) -> tuple[Partition, ...]:
        """Drops the partitions that are there; open transactions that wrote to them are aborted.
        Returns them as they were. ``take_away`` is called with them once nothing but itself can
        fail any more, and returns the directories that are to be deleted, by the caller or, should
        that die, by others, each with where it was; those that were moved are kept for readers.

        WriteConflictError if the table is not what ``table`` says any more, TableNotFoundError.
        """

    def alter_partition(
        self,
        table: Table,
        before: Partition,
        after: Partition,
        *,
        move: Callable[[], None] | None = None,
    ) -> None:
        """Alters a partition: its values and its location become those of ``after``; ``move`` is
        called once nothing but itself can fail any more.

        WriteConflictError if it or the table is not what was said any more, or an open transaction
        has written to it; AlreadyExistsError, TableNotFoundError.
        """

    def list_partitions(self, table: Table, among: Among | None = None) -> tuple[Partition, ...]:
        """The partitions of a stored table, sorted by name. ``among``: those whose names it asks
        for, at least.
        """

    def count_partitions(self, table: Table) -> int:
        """How many partitions a stored table has."""

    def find_partition(self, table: Table, name: str) -> Partition | None:
        """The partition of a stored table by its name, as ``name_of`` gives it; None if there is
        none.
        """

    def change_statistics(self, changes: Iterable[StatisticsChange]) -> None:
        """Changes statistics of tables without transactions; a commit brings its own. Tables and
        partitions that are there no more are passed over.
        """

    def written_directories(self, table: Table) -> tuple[WrittenDirectory, ...]:
        """The ACID directories of a stored table that are on record: those of commits and
        compactions that nobody has taken away since. A directory is there before its record is, and
        until after that is gone; but what ``alone`` keeps out may be half-way in between.
        """

    def forget_written(
        self, table: Table, partition: Partition | None, directories: Collection[str]
    ) -> None:
        """Takes directories off the record: their files are lost for good."""

    def alone(self) -> AbstractContextManager[None]:
        """The context in which nobody else changes the store. It should be short."""

    def put_statistics(
        self,
        table: Table,
        measured: Sequence[Analyzed],
        write_ids: ValidWriteIdList | None,
        *,
        outdated: bool = False,
    ) -> bool:
        """Stores what ANALYZE has measured under ``write_ids`` (None: the table has no
        transactions). TableNotFoundError.

        If somebody has committed since, it returns False and nothing is stored; with ``outdated``
        the numbers are stored and not marked as accurate, where there are none that are.
        """

    def forget_doubted_columns(self, table: Table, partition: Partition | None = None) -> None:
        """Deletes the statistics of columns that do not hold, of a table without partitions or of
        one partition: their least and greatest values may be those of rows that are gone.
        """

    def list_column_statistics(
        self, table: Table, column: Column, partition: Partition | None = None
    ) -> tuple[ColumnStatistics, ...]:
        """A column's statistics in the table or the partition, if there are any; in a table with
        partitions, one entry for each partition that has any.
        """
