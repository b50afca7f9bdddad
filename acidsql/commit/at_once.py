"""Units of work without a transaction: rows of a table that has none, and a table that appears
together with its first rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from acidsql import crash_points, interrupts
from acidsql.acid.ids import WriteId
from acidsql.catalog.model import Table, TableName
from acidsql.commit.unit_of_work import Leg, Store, UnitOfWork
from acidsql.errors import Error, not_again
from acidsql.plan.operators import Ran
from acidsql.run.engine import Engine
from acidsql.run.flow import NO_WRITE, Trace, Work
from acidsql.storage.snapshots import Snapshots
from acidsql.storage.write.pending import PendingWrites, Roots
from acidsql.storage.write.target import Written


class PlainWork(UnitOfWork):
    """One statement on a table without transactions; ``snapshots``: what it sees.

    Its rows are visible, one file after the other, from when the commit begins.
    """

    def __init__(self, store: Store, engine: Engine, table: Table, snapshots: Snapshots) -> None:
        super().__init__(store, engine)
        self._noted: list[str] = []
        self._is_creating = False
        self._pending = PendingWrites(self._note_directory)
        self._table = table
        self._snapshots = snapshots

    def __str__(self) -> str:
        return f"what was written to table {self._table.name}"

    @property
    def write_ids(self) -> Mapping[TableName, WriteId]:
        return {}

    def _work_on(self, leg: Leg, before: Roots) -> Work:
        self._snapshots.check_unchanged(leg.table)
        return Work(snapshots=self._snapshots, pending=self._pending)

    def _note(self, leg: Leg, written: Written, work: Work) -> None:
        """Notes nothing: the commit tells all by the files alone."""

    def _note_directory(self, location: str) -> None:
        """Notes a directory that is to go should the process die. In the commit of a new table
        nothing can be noted: what is made then lies in a directory that was.
        """
        if self._is_creating:
            return
        self._noted.append(location)
        self._store.note_directory(location)

    def _forget_directories(self) -> None:
        noted, self._noted = self._noted, []
        with suppress(Error):
            if noted:
                self._store.forget_directories(noted)

    def commit(self) -> tuple[Ran, ...]:
        self._snapshots.confirm()  # else what it read may not be whole, and cannot be taken back
        ran = super().commit()
        self._forget_directories()
        return ran

    def rollback(self) -> None:
        super().rollback()
        self._forget_directories()

    @contextmanager
    def _committing(self, trace: Trace) -> Iterator[None]:
        interrupts.too_late()
        yield
        publisher = self._publisher
        with not_again():  # the files have their names, and were seen
            partitions = publisher.published(self._table, self._pending)
            if partitions:
                self._store.add_partitions(self._table.name, partitions, if_not_exists=True)
            self._store.change_statistics(publisher.statistics(self._pending))


class NewTableWork(PlainWork):
    """The statement that makes a table of its rows. The catalog's entry and the files' names become
    visible in one step. ``new_directory``: there was nothing at its location before.
    """

    def __init__(
        self,
        store: Store,
        engine: Engine,
        table: Table,
        snapshots: Snapshots,
        *,
        new_directory: bool,
    ) -> None:
        super().__init__(store, engine, table, snapshots)
        self._write_id = store.first_write_id(table.name)
        if new_directory:
            self._note_directory(table.location)

    @property
    def write_ids(self) -> Mapping[TableName, WriteId]:
        return {self._table.name: self._write_id} if self._table.is_transactional else {}

    def _work_on(self, leg: Leg, before: Roots) -> Work:
        write_id = self.write_ids.get(self._table.name, NO_WRITE)
        return Work(snapshots=self._snapshots, write_id=write_id, pending=self._pending)

    @contextmanager
    def _committing(self, trace: Trace) -> Iterator[None]:
        """Creates the table around the files' new names. If another session was faster, it raises
        AlreadyExistsError before the first file has its name.
        """
        interrupts.too_late()
        if not self.has_written:
            self._engine.files.make_directory(self._table.location)
        table, partitions = self._publisher.new_table(self._table, self._pending)
        self._is_creating = True
        with self._store.creating_table(
            table,
            partitions,
            write_id=self._write_id,
            written=self._publisher.statistics(self._pending),
        ):
            try:
                yield
                crash_points.reached("files of new table in place")
            except BaseException:
                # while nobody else can make a table of this name, whose files these would be
                with suppress(Error, OSError):
                    self._pending.discard(published=True)
                raise
            self._pending.published.clear()
