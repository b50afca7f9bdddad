"""From Hive's metastore into a warehouse with a metastore of acidsql's own."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field, replace

from acidsql import crash_points, interrupts
from acidsql.acid.ids import TxnId, ValidTxnList, ValidWriteIdList, WriteId
from acidsql.attach.facts import FLAGS
from acidsql.attach.migration.moving import (
    Files,
    Moved,
    check_given_out,
    check_old_events,
    chosen_tables,
    files_of,
    is_on_its_way,
    kind_of,
    on_its_way,
    original_of,
    plain_properties,
    refusal,
    required,
    settle,
    views_last,
)
from acidsql.attach.statements import taken_directories
from acidsql.catalog.attached import TABLE_ID, attached_write_ids
from acidsql.catalog.model import Partition, Table, TableKind, TableName
from acidsql.catalog.names import table_exists
from acidsql.errors import (
    AlreadyExistsError,
    BindError,
    Error,
    NotSupportedError,
    WriteConflictError,
)
from acidsql.files.fileio import FileIO, is_inside, path_of, real_path
from acidsql.lazy import dataclass
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.metastore.hive.client import LostError
from acidsql.metastore.hms.metastore import HiveMetastore
from acidsql.metastore.hms.migration import HALF_DONE, MARK
from acidsql.txn.compactions import CompactionState
from acidsql.txn.locks import LockState


@dataclass(slots=True, kw_only=True)
class FromHive:
    source: HiveMetastore
    files: FileIO
    target: EmbeddedMetastore
    _mark: str = field(init=False)

    def __post_init__(self) -> None:
        self._mark = f"from {self.source.identity()}"

    # ---- what would be

    def plan(self, databases: Sequence[str], tables: Sequence[TableName]) -> list[Moved]:
        """What becomes of each of the tables; nothing is changed. BindError for one that is not
        there.
        """
        names = list(
            chosen_tables(self.source.list_databases(), self.source.list_tables, databases, tables)
        )
        names += (name for name in self._half_way(databases, tables) if name not in names)
        return views_last(map(self._planned, names))

    def _half_way(self, databases: Sequence[str], tables: Sequence[TableName]) -> list[TableName]:
        """The tables that Hive's metastore has let go of, and that are not adopted yet."""
        names = []
        for database in self.target.list_databases():
            if databases and database not in databases:
                continue
            for table in self.target.list_tables(database):
                name = TableName(database, table)
                entry = self.target.find_table(name)
                wanted = name in tables or database in databases or not (databases or tables)
                if wanted and entry is not None and is_on_its_way(entry, self._mark):
                    names.append(name)
        return names

    def _planned(self, name: TableName) -> Moved:
        interrupts.check()
        try:
            gone = self._let_go(name)
            table = gone or required(self.source, name)
        except Error as error:
            return Moved(
                name=name,
                kind="",
                partitions=None,
                write_id=None,
                state="",
                reason=refusal(error),
            )
        store = self.source if gone is None else self.target
        partitions = store.list_partitions(table)
        highest = None
        if table.is_transactional:
            known = attached_write_ids(table)
            highest = (self._write_ids(table) if known is None else known).high_watermark
        moved = Moved(
            name=name,
            kind=kind_of(table),
            partitions=len(partitions) if table.partition_columns else None,
            write_id=highest,
            state="to be carried",
            left=("statistics",) if table.statistics else (),
        )
        if gone is not None:
            return replace(moved, kind=kind_of(original_of(table)), state="to be carried on")
        try:
            self._check(table, partitions)
        except (Error, OSError) as error:
            return replace(moved, reason=refusal(error))
        return moved

    def _check(self, table: Table, partitions: Sequence[Partition]) -> None:
        """Error and OSError for what cannot be carried."""
        name = table.name
        entry = self.target.find_table(name)
        is_same_view = entry is not None and table.view is not None and entry.view == table.view
        if not (entry is None or is_same_view or is_on_its_way(entry, self._mark)):
            raise table_exists(name)
        if HALF_DONE in table.properties:
            raise NotSupportedError(
                f"table {name} is on its way into the Hive metastore: not all of it is there",
                hint="acidsql migrate, run again as it was, finishes that.",
            )
        if table.kind is TableKind.VIEW:
            return
        self._check_apart(table)
        if table.is_transactional:
            files = files_of(self.files, table, partitions)
            check_old_events(table, files)
            check_given_out(table, files, self._write_ids(table))

    def _check_apart(self, table: Table) -> None:
        path = real_path(path_of(table.location))
        for name, other in taken_directories(self.target):
            if name != table.name and (is_inside(path, other) or is_inside(other, path)):
                raise NotSupportedError(
                    f'directory "{table.location}" overlaps that of table {name} of the warehouse'
                )

    # ---- what is done

    def move(self, name: TableName) -> Moved:
        """Moves a table, or goes on with that. Error and OSError if it cannot; then it is where it
        was.
        """
        moved = self._planned(name)
        self._make_database(name.database)
        if self._let_go(name) is None:
            table = required(self.source, name)
            self._check(table, self.source.list_partitions(table))
            if table.kind is TableKind.VIEW:
                if self.target.find_table(name) is None:
                    self.target.create_table(_own(table))
                self.source.drop_table(name)
                return replace(moved, state="carried")
            self._enter(name)
        self._adopt(required(self.target, name))
        return replace(moved, state="carried")

    def take_back(self, name: TableName) -> bool:
        """Ends what was begun of a table that is on its way; False if it was not. BindError if
        Hive's metastore has let go of it already.
        """
        entry = self.target.find_table(name)
        if entry is None or not is_on_its_way(entry, self._mark):
            return False
        if self._let_go(name) is not None:
            raise BindError(
                f'the Hive metastore has let go of table "{name}" already',
                hint="acidsql migrate finishes that, and takes it back then the other way round.",
            )
        self.target.drop_on_its_way(name)
        return True

    def _enter(self, name: TableName) -> None:
        """Has the warehouse attach the table, and Hive's metastore let go of it."""
        with self.source.locking_out(name) as txn_id:
            table = required(self.source, name)
            self._refuse_busy(table)
            partitions = self.source.list_partitions(table)
            write_ids = self._write_ids(table) if table.is_transactional else None
            if write_ids is not None and write_ids.open:
                raise WriteConflictError(
                    f'a transaction has write id {write_ids.open[0]} of table "{name}" and is open',
                    hint="Run the command again when it has ended.",
                )
            self._check(table, partitions)
            old = self.target.find_table(name)
            if old is not None:  # of an attempt that came no further
                self.target.drop_on_its_way(name)
            entry = self._entry(table, partitions, write_ids)
            with self.target.creating_table(entry, partitions):
                pass
            crash_points.reached("migration: entered")
            self.source.heartbeat(txn_id)
            try:
                self._refuse_busy(table)
                self.source.let_go(table)
            except LostError:  # it may be dropped yet
                raise
            except Error:
                with suppress(Error):
                    if self.source.find_table(name) is not None:
                        self.target.drop_on_its_way(name)
                raise
            crash_points.reached("migration: let go")

    def _entry(
        self,
        table: Table,
        partitions: Sequence[Partition],
        write_ids: ValidWriteIdList | None,
    ) -> Table:
        """The attached table that stands for it. The properties are as it will have them."""
        txns = ValidTxnList(high_watermark=TxnId(0))
        if write_ids is not None:
            txns = self._txns(files_of(self.files, table, partitions))
        entry = on_its_way(_own(table), self._mark, write_ids, txns)
        came_from = {TABLE_ID: str(table.table_id), MARK: self._mark.partition(" ")[2]}
        return replace(entry, properties={**entry.properties, **came_from})

    def _txns(self, files: Files) -> ValidTxnList:
        """The transactions whose compactions count, as far as the names of directories tell them:
        Hive's metastore may know of very many others.
        """
        txns = self.source.valid_txns()
        failed = (one for one in files.compactors if not txns.is_valid(one))
        return ValidTxnList(
            high_watermark=max((txns.high_watermark, *files.compactors)),
            aborted=tuple({*failed, *files.layout.unfinished}),
        )

    def _refuse_busy(self, table: Table) -> None:
        """WriteConflictError if a compaction is under way, or if somebody waits for the table: that
        one would write it once it is gone from Hive's metastore.
        """
        for lock in self.source.list_locks():
            of = lock.component
            is_here = (of.database, of.table) == (table.name.database, table.name.table)
            if is_here and lock.state is LockState.WAITING:
                raise WriteConflictError(
                    f'transaction {lock.txn_id} waits for table "{table.name}" in Hive',
                    hint="Run the command again when it has ended.",
                )
        for one in self.source.compactions():
            if one.request.table == table.name and one.state is CompactionState.WORKING:
                raise WriteConflictError(
                    f'table "{table.name}" is being compacted in Hive',
                    hint="Run the command again when that has ended. SHOW COMPACTIONS tells.",
                )

    def _adopt(self, entry: Table) -> None:
        after = original_of(entry)
        properties = {key: text for key, text in after.properties.items() if key != TABLE_ID}
        settle(self.target, entry, replace(after, properties=properties))

    # ---- what is known of it

    def _let_go(self, name: TableName) -> Table | None:
        """The table that is attached here, and of which Hive's metastore has let go; None where
        that is not so.
        """
        entry = self.target.find_table(name)
        if entry is None or not is_on_its_way(entry, self._mark):
            return None
        stored = self.source.find_table(name)
        is_gone = stored is None or str(stored.table_id) != entry.properties.get(TABLE_ID)
        return entry if is_gone else None

    def _write_ids(self, table: Table) -> ValidWriteIdList:
        """The write ids, up to the highest that was given out: those that the metastore does not
        tell of do not count.
        """
        valid = self.source.valid_write_ids(table.name, self.source.valid_txns())
        highest = self.source.highest_write_id(valid, table.name)
        untold = (WriteId(one) for one in range(valid.high_watermark + 1, highest + 1))
        return replace(valid, high_watermark=highest, aborted=(*valid.aborted, *untold))

    def _make_database(self, name: str) -> None:
        if self.target.find_database(name) is not None:
            return
        database = self.source.find_database(name)
        if database is not None:
            with suppress(AlreadyExistsError):
                self.target.create_database(database)


def _own(table: Table) -> Table:
    """The table of Hive's as one of acidsql's own."""
    properties = plain_properties(table)
    if table.kind is TableKind.EXTERNAL:
        properties |= FLAGS
    if table.bucketing is not None:
        properties["bucketing_version"] = str(table.bucketing.version)
    return replace(table, properties=properties, statistics={}, table_id=0)
