"""Tables that come to a Hive metastore from another store, or leave it for one, with their files.

A metastore has no step of its own for several calls. So a table that comes is locked while it is
made, in an order in which nobody reads or writes it wrongly: first its write ids (a name needs no
table for that), then the table, then its partitions; a mark stays on it until all of that is done.
Whoever goes on with one that was left half done finds out by the mark.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from acidsql import crash_points
from acidsql.acid.ids import TxnId, ValidWriteIdList, WriteId
from acidsql.batched import batched
from acidsql.catalog.model import Database, Partition, Table, TableKind, TableName
from acidsql.errors import AlreadyExistsError, NotSupportedError, WriteConflictError
from acidsql.metastore.hive.calls.catalog import ALTER_DATABASE, CREATE_DATABASE, GET_DATABASE
from acidsql.metastore.hive.calls.reading import ALREADY_EXISTS
from acidsql.metastore.hive.calls.txns import (
    GET_DB_UUID,
    GET_MAX_WRITE_ID,
    OPEN_TXNS,
    REPL_TBL_WRITEID_STATE,
    SEED_TXN_ID,
)
from acidsql.metastore.hms.catalog import HiveCatalog
from acidsql.metastore.hms.server import AGENT
from acidsql.metastore.hms.tables import Struct, database_struct, sent_location
from acidsql.txn.locks import LockComponent, LockRequest, LockState, LockType

MARK = "acidsql.migrated.from"
"""The property that says which table of which warehouse a table was."""
HALF_DONE = "acidsql.migrating"
"""The property of a table that has not all of its partitions yet."""
_TO_BE_MADE = ".acidsql_database"
"""What the directory is called that Hive 4 makes for a database; no reader looks at such a name."""
_MOST_SKIPPED = 100_000
"""The most write ids that are given out one by one to get behind those of files."""
_TXNS_AT_ONCE = 500
_PARTITIONS_AT_ONCE = 5000
"""All of them are there at once, or none."""
_SETTLING_SECONDS = 30.0
"""How long it may take until the metastore calls ids that were left out ended ones."""


class HiveMigration(HiveCatalog):
    """What ``acidsql migrate`` asks of a Hive metastore, beside what a session does."""

    def identity(self) -> str:
        """What tells this metastore from every other one."""
        uuid: str = self._ask(GET_DB_UUID, again=True)
        return uuid

    @contextmanager
    def locking_out(self, name: TableName) -> Iterator[TxnId]:
        """A transaction that keeps all others off a table, there or to come. WriteConflictError if
        somebody uses it.
        """
        with self._own_txn() as txn_id:
            component = LockComponent(
                database=name.database, table=name.table, type=LockType.EXCLUSIVE
            )
            answer = self.lock(LockRequest(components=(component,)), txn_id)
            if answer.state is not LockState.ACQUIRED:
                users = sorted({str(lock.txn_id) for lock in answer.blockers if lock.txn_id})
                raise WriteConflictError(
                    f'table "{name}" is in use in the Hive metastore',
                    detail=f"transactions {', '.join(users)}" if users else None,
                    hint="Run the command again when that has ended. SHOW LOCKS lists who uses it.",
                )
            yield txn_id

    # ---- what comes

    def lacks_database(self, name: str) -> bool:
        """Whether a database is to be made, or was left half made."""
        struct = self._ask_for(GET_DATABASE, name=name)
        return struct is None or _is_half_made(struct)

    def make_database(self, database: Database) -> str | None:
        """Makes a database whose managed tables lie where those of ``database`` do. Hive 4 has
        another directory for external ones, and makes that of managed ones itself; it refuses one
        that is there. So it is given one to make, which is returned: nobody needs it any more.
        """
        superfluous = f"{database.location}/{_TO_BE_MADE}"
        struct = database_struct(database)
        if not self.is_hive_3:
            del struct["locationUri"]
            struct["managedLocationUri"] = sent_location(superfluous)
        if self._ask_for(GET_DATABASE, name=database.name) is None:
            refusals = {ALREADY_EXISTS: AlreadyExistsError}
            self._ask(CREATE_DATABASE, refusals=refusals, database=struct)
            crash_points.reached("migration: database made")
        stored = self._ask_for(GET_DATABASE, name=database.name)
        if stored is None or not _is_half_made(stored):
            return None
        stored["managedLocationUri"] = sent_location(database.location)
        self._ask(ALTER_DATABASE, dbname=database.name, db=stored)
        return superfluous

    def check_arrival(self, table: Table, location: str | None) -> Table:
        """The table as the metastore would make it where it lies. NotSupportedError and
        MetastoreError if it would not. ``location``: of the database, if that is to be made.
        """
        if table.kind is TableKind.VIEW:
            return table
        if location is not None:
            is_managed = table.kind is TableKind.MANAGED and table.is_transactional
            is_outside = not f"{table.location}/".startswith(f"{location}/")
            if is_managed and is_outside and not self.is_hive_3:
                raise NotSupportedError(
                    f'table {table.name} lies at "{table.location}", outside of its database',
                    detail="where a Hive 4 metastore lets no managed table lie",
                )
            return table
        planned = self.planned_table(table, located=True)
        return self._prepared(planned)

    def check_compacted(self, table: TableName, txn_ids: Sequence[TxnId]) -> None:
        """NotSupportedError if Hive would pass over what these transactions of another store have
        compacted, since it gave the number of one to a transaction that failed or is open.
        """
        if txn_ids and self.is_hive_3:
            raise NotSupportedError(
                f"table {table} has directories that Hive 3 cannot read: _v{txn_ids[0]:07}",
                hint=(
                    "ALTER TABLE .. COMPACT 'major' in the warehouse, where directories can be"
                    " renamed, makes one that it reads."
                ),
            )
        exceptions = set(self.valid_txns().exceptions)
        taken = [one for one in txn_ids if one in exceptions]
        if taken:
            raise NotSupportedError(
                f"transaction {taken[0]} has compacted table {table}, and in the Hive metastore a"
                " transaction of that number is open or was aborted",
                hint="ALTER TABLE .. COMPACT 'major' in the warehouse, and migrate it then.",
            )

    def pass_txns(self, txn_id: TxnId) -> None:
        """Has no transaction of a number up to ``txn_id`` come any more: what has it in its name
        counts as committed.
        """
        if self.is_hive_3 or txn_id <= self.valid_txns().high_watermark:
            return
        self._ask(SEED_TXN_ID, rqst={"seedTxnId": txn_id})
        self.commit(self.open_txn())
        until = time.monotonic() + _SETTLING_SECONDS
        while not self.valid_txns().is_valid(txn_id):  # ids left out may be about to be given out
            if time.monotonic() > until:
                raise WriteConflictError(
                    f"the metastore does not call transaction {txn_id} ended",
                    hint="Run the command again.",
                )
            time.sleep(0.2)

    def pass_write_ids(self, table: TableName, write_id: WriteId, known_aborted: WriteId) -> None:
        """Has no write id of a table, there or to come, up to ``write_id`` be given out any more:
        all of them count as committed. NotSupportedError if the metastore has on record that one of
        these was aborted, of an earlier table of the name; up to ``known_aborted`` that is known.
        """
        valid = self._write_ids_now(table)
        if valid.high_watermark == 0 and write_id > 0:
            gone_by = ValidWriteIdList(table=str(table), high_watermark=write_id)
            self._ask(
                REPL_TBL_WRITEID_STATE,
                again=True,
                rqst={
                    "validWriteIdlist": str(gone_by),
                    "user": self._user,
                    "hostName": self._host,
                    "dbName": table.database,
                    "tableName": table.table,
                },
            )
            valid = self._write_ids_now(table)
        strange = [one for one in valid.exceptions if known_aborted < one <= write_id]
        if strange:
            raise NotSupportedError(
                f"the Hive metastore says that write id {strange[0]} of {table} was aborted: of an"
                " earlier table of that name",
                hint="RENAME the table before, or migrate it when Hive has forgotten that one.",
            )
        if write_id - valid.high_watermark > _MOST_SKIPPED:
            raise NotSupportedError(
                f"the Hive metastore has given out write ids of {table} up to"
                f" {valid.high_watermark}, far below {write_id}: of an earlier table of that name",
                hint="RENAME the table before, and back in Hive.",
            )
        while self._highest_write_id(table) < write_id:
            self._skip_write_ids(table, write_id - self._highest_write_id(table))

    def _write_ids_now(self, table: TableName) -> ValidWriteIdList:
        return self.valid_write_ids(table, self.valid_txns())

    def _highest_write_id(self, table: TableName) -> WriteId:
        """The highest one that was given out."""
        shown = self._write_ids_now(table).high_watermark
        if self.is_hive_3:
            return shown
        request = {"dbName": table.database, "tableName": table.table}
        answer = self._ask(GET_MAX_WRITE_ID, again=True, rqst=request)
        return WriteId(max(shown, answer["maxWriteId"]))

    def _skip_write_ids(self, table: TableName, count: int) -> None:
        """Gives out write ids to transactions that write nothing."""
        number = min(count, _TXNS_AT_ONCE)
        opened = self._ask(
            OPEN_TXNS,
            rqst={
                "num_txns": number,
                "user": self._user,
                "hostname": self._host,
                "agentInfo": AGENT,
            },
        )
        for txn_id in sorted(opened["txn_ids"]):
            self.allocate_write_id(TxnId(txn_id), table)
            self.commit(TxnId(txn_id))

    def take_in(
        self,
        table: Table,
        partitions: Sequence[Partition],
        mark: str,
        txn_id: TxnId,
    ) -> None:
        """Makes a table of files that are there, or goes on with one that was left half done.
        ``mark``: what tells where it was; ``txn_id``: that of ``locking_out``. AlreadyExistsError
        for another table of the name.
        """
        name = table.name
        stored = self.find_table(name)
        if stored is None:
            table = self.planned_table(table, located=True)
            properties = dict(table.properties) | {MARK: mark}
            if partitions:
                properties[HALF_DONE] = "true"
            self.create_table(replace(table, properties=properties))
            crash_points.reached("migration: table made")
        elif stored.properties.get(MARK) != mark:
            raise AlreadyExistsError(f'the Hive metastore has a table "{name}" already')
        for batch in batched(partitions, _PARTITIONS_AT_ONCE):
            self.heartbeat(txn_id)
            self.add_partitions(name, batch, if_not_exists=True)
            crash_points.reached("migration: partitions added")
        self._finish(name)

    def _finish(self, name: TableName) -> None:
        whole = self._require_table(name)
        if HALF_DONE in whole.properties:
            properties = {k: text for k, text in whole.properties.items() if k != HALF_DONE}
            self.alter_table(whole, replace(whole, properties=properties))

    # ---- what goes

    def highest_write_id(self, valid: ValidWriteIdList, table: TableName) -> WriteId:
        """The highest write id that was given out on a table, of which ``valid`` is told: a list
        may end below aborted ones.
        """
        return WriteId(max(valid.high_watermark, self._highest_write_id(table)))

    def let_go(self, table: Table) -> None:
        """Drops a table, and leaves its files."""
        self._drop(table.name, delete=False)


def _is_half_made(database: Struct) -> bool:
    return str(database.get("managedLocationUri", "")).endswith(f"/{_TO_BE_MADE}")
