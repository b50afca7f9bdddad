"""From a warehouse with a metastore of acidsql's own into Hive's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import field, replace

from acidsql import crash_points, interrupts
from acidsql.acid.ids import TxnId, ValidTxnList, ValidWriteIdList, WriteId
from acidsql.attach.migration.moving import (
    Files,
    Moved,
    check_compacted,
    check_given_out,
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
from acidsql.catalog.attached import (
    adopted_up_to,
    attached_write_ids,
    is_attached,
    is_overlay,
    seen_txns,
)
from acidsql.catalog.model import Database, Partition, Table, TableKind, TableName
from acidsql.catalog.names import no_database
from acidsql.commit.recovery import Recovery
from acidsql.errors import AlreadyExistsError, Error, NotSupportedError
from acidsql.files.fileio import FileIO, path_of
from acidsql.lazy import dataclass
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.metastore.hive.client import LostError
from acidsql.metastore.hms.metastore import HiveMetastore
from acidsql.metastore.hms.migration import MARK

_ROUNDS_OF_RECOVERY = 50
_STATISTICS = "statistics"
_ONCE = "which files COPY INTO .. ONCE has taken"


@dataclass(slots=True, kw_only=True)
class ToHive:
    """``forget_taken``: tables may be carried without what COPY INTO .. ONCE remembers of them."""

    source: EmbeddedMetastore
    files: FileIO
    target: HiveMetastore
    forget_taken: bool = False
    _mark: str = field(init=False)
    _recovery: Recovery = field(init=False)

    def __post_init__(self) -> None:
        self._mark = f"to {self.target.identity()}"
        self._recovery = Recovery(
            open_store=lambda: self.source, files=self.files, pause=lambda: 0.0
        )

    # ---- what would be

    def plan(self, databases: Sequence[str], tables: Sequence[TableName]) -> list[Moved]:
        """What becomes of each of the tables; nothing is changed. BindError for one that is not
        there.
        """
        names = chosen_tables(
            self.source.list_databases(), self.source.list_tables, databases, tables
        )
        planned = [self._planned(required(self.source, name)) for name in names]
        return views_last(planned)

    def _planned(self, table: Table) -> Moved:
        interrupts.check()
        partitions = self.source.list_partitions(table)
        moved = self._described(table, partitions)
        try:
            self._check(table, partitions)
        except (Error, OSError) as error:
            return replace(moved, reason=refusal(error))
        return moved

    def _described(self, table: Table, partitions: Sequence[Partition]) -> Moved:
        return Moved(
            name=table.name,
            kind=kind_of(table),
            partitions=len(partitions) if table.partition_columns else None,
            write_id=self._write_ids(table).high_watermark if table.is_transactional else None,
            state="to be carried on" if self._is_on_its_way(table) else "to be carried",
            left=tuple(self._left(table)),
        )

    def _left(self, table: Table) -> Iterator[str]:
        if table.statistics:
            yield _STATISTICS
        if self.forget_taken and self.source.has_taken_files(table):
            yield _ONCE

    def _check(self, table: Table, partitions: Sequence[Partition]) -> None:
        """Error and OSError for what cannot be carried."""
        if not self._is_on_its_way(table):
            self._check_own(table)
        self._check_target(table)
        if table.is_transactional:
            self._check_written(table, files_of(self.files, table, partitions))

    def _check_own(self, table: Table) -> None:
        if is_attached(table) or is_overlay(table):
            raise NotSupportedError(
                f"table {table.name} is attached: its files are those of others",
                hint="DETACH TABLE lets go of it; ADOPT TABLE makes it one of this warehouse.",
            )
        if not self.forget_taken and self.source.has_taken_files(table):
            raise NotSupportedError(
                f"table {table.name} remembers {_ONCE}, and a Hive metastore has no room for that",
                hint="--forget-copies carries it without.",
            )

    def _check_target(self, table: Table) -> None:
        name = table.name
        stored = self.target.find_table(name)
        if stored is not None:
            is_same_view = stored.view is not None and stored.view == table.view
            if stored.properties.get(MARK) != self._from(table) and not is_same_view:
                raise AlreadyExistsError(f'the Hive metastore has a table "{name}" already')
            return
        database = self._database(name.database)
        to_be_made = self.target.lacks_database(name.database)
        self.target.check_arrival(self._carried(table), database.location if to_be_made else None)

    def _check_written(self, table: Table, files: Files) -> None:
        txns = self._txns(table)
        valid = self._write_ids(table)
        check_given_out(table, files, valid)
        check_compacted(files, txns)
        self.target.check_compacted(table.name, sorted(files.compactors))

    # ---- what is done

    def move(self, name: TableName) -> Moved:
        """Moves a table, or goes on with that. Error and OSError if it cannot; then it is where it
        was, unless the metastore does not answer any more.
        """
        table = required(self.source, name)
        self._make_database(name.database)
        partitions = self.source.list_partitions(table)
        self._check(table, partitions)
        moved = self._described(table, partitions)
        if table.kind is TableKind.VIEW:
            if self.target.find_table(name) is None:
                self.target.create_table(self._carried(table))
            self.source.drop_table(name)
            return replace(moved, state="carried")
        if not self._is_on_its_way(table):
            table = self._leave(table)
        crash_points.reached("migration: left")
        try:
            self._take_in(table)
        except LostError:  # it may be made yet
            raise
        except (Error, OSError):
            with suppress(Error, OSError):
                self._take_back(table)
            raise
        crash_points.reached("migration: taken in")
        self.source.drop_on_its_way(name)  # attached: its files stay
        return replace(moved, state="carried")

    def take_back(self, name: TableName) -> bool:
        """Ends what was begun of a table that is on its way; False if it was not. Error if it is in
        the Hive metastore as a whole already.
        """
        table = required(self.source, name)
        if not self._is_on_its_way(table):
            return False
        if not self._take_back(table):
            raise AlreadyExistsError(
                f'table "{name}" has come to the Hive metastore already',
                hint="acidsql migrate finishes that, and takes it back then the other way round.",
            )
        return True

    def _leave(self, table: Table) -> Table:
        """The table as it is attached from now on, which nobody here writes."""
        self.source.reap()
        write_ids = self._cleaned_up(table)
        left = on_its_way(table, self._mark, write_ids, self._txns(table))
        self.source.leave_table(table, left)
        return required(self.source, table.name)

    def _cleaned_up(self, table: Table) -> ValidWriteIdList | None:
        """The write ids that count, once nothing is left of those that do not."""
        if not table.is_transactional:
            return None
        for _ in range(_ROUNDS_OF_RECOVERY):
            valid = self._write_ids(table)
            if not valid.aborted:
                return valid
            self._recovery.after()
            if self._write_ids(table) == valid:
                break
        raise NotSupportedError(
            f"write ids {', '.join(map(str, valid.aborted))} of table {table.name} were aborted,"
            " and something is left of them",
            hint="ALTER TABLE .. COMPACT 'major', and run the command again.",
        )

    def _take_in(self, table: Table) -> None:
        """Has the Hive metastore have it, all of it or with a mark that something is missing."""
        name, partitions = table.name, self.source.list_partitions(table)
        with self.target.locking_out(name) as txn_id:
            valid = attached_write_ids(table)
            if valid is not None:
                files = files_of(self.files, table, partitions)
                self._check_written(table, files)
                self.target.pass_txns(max((TxnId(0), *files.compactors)))
                self.target.pass_write_ids(name, valid.high_watermark, self._known(table))
                crash_points.reached("migration: write ids given")
            self.target.take_in(self._carried(table), partitions, self._from(table), txn_id)

    def _take_back(self, table: Table) -> bool:
        """Has the source write the table again; False if Hive's metastore has something of it."""
        stored = self.target.find_table(table.name)
        if stored is not None and stored.properties.get(MARK) == self._from(table):
            return False
        settle(self.source, table, original_of(table))
        return True

    # ---- what is known of it

    def _is_on_its_way(self, table: Table) -> bool:
        return is_on_its_way(table, self._mark)

    def _from(self, table: Table) -> str:
        """What tells a table of this warehouse from every other one."""
        return f"{self.source.warehouse}#{table.table_id}"

    def _carried(self, table: Table) -> Table:
        """The table as the Hive metastore is told it."""
        whole = original_of(table) if self._is_on_its_way(table) else table
        return replace(whole, properties=plain_properties(whole), statistics={}, table_id=0)

    def _txns(self, table: Table) -> ValidTxnList:
        """The transactions whose compactions of it count."""
        return seen_txns(table, self.source.valid_txns())

    def _write_ids(self, table: Table) -> ValidWriteIdList:
        return self.source.valid_write_ids(table.name, self.source.valid_txns())

    def _known(self, table: Table) -> WriteId:
        """Up to which write id this metastore knows what became of them, because it had the table
        before.
        """
        was_there = table.properties.get(MARK) == self._mark.partition(" ")[2]
        return adopted_up_to(table) if was_there else WriteId(0)

    def _database(self, name: str) -> Database:
        database = self.source.find_database(name)
        if database is None:
            raise no_database(name)
        return database

    def _make_database(self, name: str) -> None:
        if not self.target.lacks_database(name):
            return
        with suppress(AlreadyExistsError):
            superfluous = self.target.make_database(self._database(name))
            if superfluous is not None:
                with suppress(OSError):
                    self.files.remove_empty_directory(path_of(superfluous))
