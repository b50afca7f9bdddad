"""The service of a Hive metastore, 3.1 or 4, as a thread: enough of it for a session. Transactions and
locks are those of an embedded store, whose rules are Hive's; tables are the structs that it was given.
"""

from __future__ import annotations

import shutil
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from acidsql.acid.ids import TxnId, ValidTxnList, ValidWriteIdList, WriteId, _ValidIds
from acidsql.catalog.model import TableName
from acidsql.catalog.partitions import partition_name
from acidsql.errors import Error, MetastoreError, TransactionAbortedError, WriteConflictError
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.metastore.hive.calls import catalog, reading, txns
from acidsql.metastore.hive.calls.reading import FAILURE, Method
from acidsql.metastore.hive.protocol import TEXT, Decoder, MessageType, encode
from acidsql.metastore.hms.locks import _KINDS, _TYPES
from acidsql.metastore.rows.txns import forget_transactions, rename_transactions
from acidsql.metastore.successors import leave_write_ids, rename_write_ids
from acidsql.metastore.tables import TXNS
from acidsql.txn.locks import NO_TXN, LockComponent, LockRequest, LockState, LockType
from acidsql.txn.manager import OperationType, TxnComponent, TxnState

Struct = dict[str, Any]
LONGEST_WAIT = 60
METHODS: dict[str, Method] = {
    one.name: one
    for module in (reading, catalog, txns)
    for one in vars(module).values()
    if isinstance(one, Method)
}
OPERATIONS = {2: OperationType.INSERT, 3: OperationType.UPDATE, 4: OperationType.DELETE}
KEYS = ("primaryKeys", "foreignKeys", "uniqueConstraints")
CONSTRAINTS = (*KEYS, "notNullConstraints", "defaultConstraints", "checkConstraints")
LOCK_STATES = {LockState.ACQUIRED: 1, LockState.WAITING: 2, LockState.NOT_ACQUIRED: 4}
TXN_STATES = {TxnState.ABORTED: 2, TxnState.OPEN: 3}


class DeclaredError(Exception):
    """An exception of a method's own, by its name."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class HiveService:
    """``before`` and ``after`` hear of each call, and may raise ConnectionError, which closes the
    connection without an answer; ``calls``: the names in their order.
    """

    def __init__(self, home: Path, version: str = "4.0.1", **options: Any) -> None:
        self.version = version
        self.warehouse = home / "warehouse"
        self.store = EmbeddedMetastore(str(home / "txns"), **options)
        self.databases: dict[str, Struct] = {"default": self._database("default")}
        self.tables: dict[TableName, Struct] = {}
        self.partitions: dict[TableName, dict[str, Struct]] = {}
        self.constraints: dict[TableName, Struct] = {}
        self.config: dict[str, str] = {}
        self.columns: dict[tuple[TableName, str | None], dict[str, Struct]] = {}
        self.compactions: list[Struct] = []
        self.calls: list[str] = []
        self.before: Callable[[str], None] = lambda name: None
        self.after: Callable[[str], None] = lambda name: None
        self._turn = Lock()
        self._connections: set[socket.socket] = set()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._threads = [Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        return f"thrift://127.0.0.1:{self.port}"

    def _database(self, name: str) -> Struct:
        home = self.warehouse if name == "default" else self.warehouse / f"{name}.db"
        return {"name": name, "locationUri": f"file:{home}", "parameters": {}}

    # ---- the wire

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._threads[0].join(LONGEST_WAIT)
        self.drop_connections()
        for thread in self._threads:
            thread.join(LONGEST_WAIT)
        self.store.close()

    def drop_connections(self) -> None:
        for one in list(self._connections):
            with suppress(OSError):  # it has gone by itself
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self._connections.add(connection)
            thread = Thread(target=self._serve, args=(connection,), daemon=True)
            thread.start()  # first: whoever sees it may wait for its end
            self._threads.append(thread)

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                while True:
                    connection.sendall(self._answer(connection))
            except OSError:  # it has gone, or is to be
                self._connections.discard(connection)

    def _answer(self, connection: socket.socket) -> bytes:
        def receive() -> bytes:
            received = connection.recv(1 << 16)
            if not received:
                raise ConnectionError
            return received

        decoder = Decoder(receive)
        _, name, sequence = decoder.head()
        method = METHODS[name]
        arguments = decoder.value(method.arguments)
        self.before(name)
        with self._turn:
            self.calls.append(name)
            kind, body = self._answered(method, arguments)
        self.after(name)
        head = (0x8001_0000 | kind).to_bytes(4, "big") + encode(TEXT, name)
        return head + sequence.to_bytes(4, "big") + body

    def _answered(self, method: Method, arguments: Struct) -> tuple[int, bytes]:
        call = getattr(self, f"_{method.name}", None)
        if call is None:
            failure = {"message": f"Invalid method name: '{method.name}'", "type": 1}
            return MessageType.EXCEPTION, encode(FAILURE, failure)
        try:
            result = call(**arguments)
        except DeclaredError as error:
            told = {error.kind: {"message": error.message}}
            return MessageType.REPLY, encode(method.answer, told)
        return MessageType.REPLY, encode(method.answer, {"success": result})

    # ---- the server

    def _set_ugi(self, user_name: str, group_names: list[str]) -> list[str]:
        return [user_name]

    def _getVersion(self) -> str:
        return self.version

    def _get_config_value(self, name: str, defaultValue: str) -> str:
        if "warehouse" in name:
            return f"file:{self.warehouse}"
        return self.config.get(name, defaultValue)

    def _get_metastore_db_uuid(self) -> str:
        return f"uuid of {self.port}"

    # ---- transactions

    def _get_open_txns(self) -> Struct:
        txns = self.store.valid_txns()
        return {
            "txn_high_water_mark": txns.high_watermark,
            "open_txns": list(txns.exceptions),
            "abortedBits": _bits(txns),
        }

    def _get_valid_write_ids(self, rqst: Struct) -> Struct:
        txns = ValidTxnList.parse(rqst["validTxnList"])
        told = []
        for name in rqst["fullTableNames"]:
            valid = self.store.valid_write_ids(TableName(*name.split(".")), txns)
            told.append(
                {
                    "fullTableName": name,
                    "writeIdHighWaterMark": valid.high_watermark,
                    "invalidWriteIds": list(valid.exceptions),
                    "abortedBits": _bits(valid),
                }
            )
        return {"tblValidWriteIds": told}

    def _open_txns(self, rqst: Struct) -> Struct:
        return {"txn_ids": [self.store.open_txn() for _ in range(rqst["num_txns"])]}

    def _seed_txn_id(self, rqst: Struct) -> None:
        """Hive 4: the next transaction gets it."""
        assert rqst["seedTxnId"] > self.store.valid_txns().high_watermark
        with self.store._store.write() as connection:
            self.store._store.set_highest_key(connection, TXNS, rqst["seedTxnId"] - 1)

    def _repl_tbl_writeid_state(self, rqst: Struct) -> None:
        """Hive passes over a table that has a next write id."""
        valid = ValidWriteIdList.parse(rqst["validWriteIdlist"])
        assert not valid.exceptions
        with suppress(WriteConflictError):
            table = TableName(rqst["dbName"], rqst["tableName"])
            self.store.seed_write_id(table, valid.high_watermark)

    def _get_max_allocated_table_write_id(self, rqst: Struct) -> Struct:
        table = TableName(rqst["dbName"], rqst["tableName"])
        return {"maxWriteId": self.store.first_write_id(table) - 1}

    def _allocate_table_write_ids(self, rqst: Struct) -> Struct:
        table = TableName(rqst["dbName"], rqst["tableName"])
        (txn_id,) = rqst["txnIds"]
        write_id = _in_txn(lambda: self.store.allocate_write_id(txn_id, table))
        return {"txnToWriteIds": [{"txnId": txn_id, "writeId": write_id}]}

    def _add_dynamic_partitions(self, rqst: Struct) -> None:
        table = TableName(rqst["dbname"], rqst["tablename"])
        components = [
            TxnComponent(
                table=table,
                partition=name,
                operation=OPERATIONS[rqst["operationType"]],
                write_id=WriteId(rqst["writeid"]),
            )
            for name in rqst["partitionnames"]
        ]
        _in_txn(lambda: self.store.add_components(TxnId(rqst["txnid"]), components))

    def _heartbeat(self, ids: Struct) -> None:
        if "lockid" in ids:
            try:
                self.store.heartbeat_lock(ids["lockid"])
            except Error as error:
                raise DeclaredError(reading.NO_SUCH_LOCK, error.message) from error
        if "txnid" in ids:
            _in_txn(lambda: self.store.heartbeat(ids["txnid"]))

    def _commit_txn(self, rqst: Struct) -> None:
        assert rqst.get("exclWriteEnabled", False) is False
        _in_txn(lambda: self.store.commit(rqst["txnid"]))

    def _abort_txn(self, rqst: Struct) -> None:
        try:
            self.store.abort(rqst["txnid"])
        except Error as error:
            words = f"Transaction {error.message} is already committed."
            raise DeclaredError(reading.NO_SUCH_TXN, words) from error

    def _abort_txns(self, rqst: Struct) -> None:
        self.store.abort_txns(rqst["txn_ids"])

    def _get_open_txns_info(self) -> Struct:
        infos = [
            {
                "id": one.txn_id,
                "state": TXN_STATES[one.state],
                "user": one.user,
                "hostname": one.host,
                "startedTime": one.started,
                "lastHeartbeatTime": one.last_heartbeat,
            }
            for one in self.store.list_txns()
        ]
        high_watermark = self.store.valid_txns().high_watermark
        return {"txn_high_water_mark": high_watermark, "open_txns": infos}

    # ---- locks

    def _lock(self, rqst: Struct) -> Struct:
        txn_id = TxnId(rqst.get("txnid", NO_TXN))
        if self.version.startswith("3"):
            assert all(one["type"] != 4 for one in rqst["component"])
        request = LockRequest(
            components=tuple(
                LockComponent(
                    database=one["dbname"],
                    table=one.get("tablename"),
                    partition=one.get("partitionname"),
                    type=self._kind(one["type"]),
                )
                for one in rqst["component"]
            ),
            zero_wait_reads=rqst.get("zeroWaitReadEnabled", False),
            exclusive_ctas=rqst.get("exclusiveCTAS", False),
        )
        answer = _in_txn(lambda: self.store.lock(request, txn_id))
        for one in rqst["component"]:
            if one["operationType"] in OPERATIONS:
                table = TableName(one["dbname"], one["tablename"])
                component = TxnComponent(
                    table=table,
                    partition=one.get("partitionname"),
                    operation=OPERATIONS[one["operationType"]],
                    write_id=self.store.allocate_write_id(txn_id, table),
                )
                self.store.add_components(txn_id, [component])
        return {"lockid": answer.lock_id, "state": LOCK_STATES[answer.state]}

    def _kind(self, number: int) -> LockType:
        """Hive 3's SHARED_WRITE keeps out what Hive 4's EXCL_WRITE does."""
        kind = _KINDS[number]
        is_strong = self.version.startswith("3") and kind is LockType.SHARED_WRITE
        return LockType.EXCL_WRITE if is_strong else kind

    def _check_lock(self, rqst: Struct) -> Struct:
        lock_id, txn_id = rqst["lockid"], TxnId(rqst.get("txnid", NO_TXN))
        try:
            answer = self.store.check_lock(lock_id, txn_id)
        except TransactionAbortedError as error:
            raise DeclaredError(reading.TXN_ABORTED, error.message) from error
        except MetastoreError as error:
            raise DeclaredError(reading.NO_SUCH_LOCK, error.message) from error
        return {"lockid": answer.lock_id, "state": LOCK_STATES[answer.state]}

    def _unlock(self, rqst: Struct) -> None:
        try:
            self.store.unlock(rqst["lockid"])
        except Error as error:
            raise DeclaredError(reading.TXN_OPEN, error.message) from error

    def _show_locks(self, rqst: Struct) -> Struct:
        shown = []
        for lock in self.store.list_locks():
            of = lock.component
            one = {
                "lockid": lock.lock_id,
                "lockIdInternal": lock.part,
                "dbname": of.database,
                "tablename": of.table,
                "partname": of.partition,
                "state": LOCK_STATES[lock.state],
                "type": _TYPES[of.type],
                "txnid": lock.txn_id,
                "lastheartbeat": lock.last_heartbeat,
                "acquiredat": lock.acquired_at,
                "user": lock.user,
                "hostname": lock.host,
            }
            if lock.blocked_by is not None:
                one["blockedByExtId"], one["blockedByIntId"] = lock.blocked_by
            shown.append(one)
        return {"locks": shown}

    # ---- compactions

    def _compact2(self, rqst: Struct) -> Struct:
        number = len(self.compactions) + 1
        entry = {key: rqst.get(key) for key in ("dbname", "tablename", "partitionname", "type")}
        of_object = {key: entry[key] for key in ("dbname", "tablename", "partitionname")}
        if any(
            of_object.items() <= one.items() and one["state"] in ("initiated", "working")
            for one in self.compactions
        ):
            return {"id": -1, "state": "refused", "accepted": False}
        asked = {"poolName": rqst.get("poolName"), "properties": _as_text(rqst.get("properties"))}
        self.compactions.append(entry | asked | {"id": number, "state": "initiated"})
        return {"id": number, "state": "initiated", "accepted": True}

    def _show_compact(self, rqst: Struct) -> Struct:
        wanted = None if self.version.startswith("3") else rqst.get("id")
        return {"compacts": [one for one in self.compactions if wanted in (None, one["id"])]}

    def _find_next_compact2(self, rqst: Struct) -> Struct:
        for one in self.compactions:
            if one["state"] == "initiated" and one["poolName"] == rqst.get("poolName"):
                now = self.store.clock()
                one |= {"state": "working", "workerid": rqst["workerId"], "start": now}
                one["workerVersion"] = rqst["workerVersion"]
                keys = ("id", "dbname", "tablename", "partitionname", "type", "properties")
                return {"ci": {key: one[key] for key in keys}}
        return {}

    def _update_compactor_state(self, cr: Struct, txn_id: int) -> None:
        one = self._entry(cr)
        assert cr["runas"]  # else Hive's cleaner fails
        one |= {"txnId": txn_id, "hightestWriteId": cr["highestWriteId"]}

    def _mark_compacted(self, cr: Struct) -> None:
        one = self._entry(cr)
        valid = self.store.valid_txns()
        assert "txnId" not in one or valid.is_valid(one["txnId"])
        one |= {"state": "ready for cleaning", "workerid": None}

    def _mark_refused(self, cr: Struct) -> None:
        self._entry(cr).update(state="refused", errorMessage=cr["errorMessage"])

    def _mark_failed(self, cr: Struct) -> None:
        self._entry(cr).update(state="failed", errorMessage=cr["errorMessage"])

    def _entry(self, cr: Struct) -> Struct:
        """The entry that somebody works on; Hive finds no other either."""
        (one,) = (one for one in self.compactions if one["id"] == cr["id"])
        assert one["state"] == "working"
        return one

    # ---- databases and tables

    def _get_database(self, name: str) -> Struct:
        if name not in self.databases:
            raise DeclaredError(reading.NO_SUCH_OBJECT, f"database hive.{name}")
        return self.databases[name]

    def _get_all_databases(self) -> list[str]:
        return list(self.databases)

    def _create_database(self, database: Struct) -> None:
        name = database["name"]
        if name in self.databases:
            raise DeclaredError(reading.ALREADY_EXISTS, f"Database {name} already exists")
        managed = database.get("managedLocationUri")
        if managed is not None:  # Hive 4 refuses one that is there
            Path(managed.removeprefix("file:")).mkdir(parents=True)
        self.databases[name] = self._database(name) | database

    def _alter_database(self, dbname: str, db: Struct) -> None:
        self.databases[dbname] = db

    def _drop_database(self, name: str, deleteData: bool, cascade: bool) -> None:
        database = self.databases.pop(name)
        if deleteData:
            shutil.rmtree(database["locationUri"].removeprefix("file:"), ignore_errors=True)

    def _get_table_req(self, req: Struct) -> Struct:
        return {"table": self._stored(TableName(req["dbName"], req["tblName"]))}

    def _stored(self, name: TableName) -> Struct:
        if name not in self.tables:
            raise DeclaredError(reading.NO_SUCH_OBJECT, f"hive.{name} table not found")
        return self.tables[name]

    def _get_table_objects_by_name_req(self, req: Struct) -> Struct:
        names = (TableName(req["dbName"], name) for name in req["tblNames"])
        return {"tables": [self.tables[name] for name in names if name in self.tables]}

    def _get_all_tables(self, db_name: str) -> list[str]:
        return [name.table for name in self.tables if name.database == db_name]

    def _get_tables_by_type(self, db_name: str, pattern: str, tableType: str) -> list[str]:
        return [
            name
            for name in self._get_all_tables(db_name)
            if self.tables[TableName(db_name, name)]["tableType"] == tableType
        ]

    def _translate_table_dryrun(self, request: Struct) -> Struct:
        """Hive 4: MetastoreDefaultTransformer."""
        table: Struct = request["table"]
        assert "HIVEFULLACIDWRITE" in request["processorCapabilities"]
        is_acid = table["parameters"].get("transactional") == "true"
        if table["tableType"] != "MANAGED_TABLE" or is_acid:
            return table
        purged = {"EXTERNAL": "TRUE", "external.table.purge": "TRUE"}
        home = f"file:{self.warehouse}/external/{table['tableName']}"
        return table | {
            "tableType": "EXTERNAL_TABLE",
            "parameters": table["parameters"] | purged,
            "sd": {"location": home} | table["sd"],
        }

    def _create_table_req(self, request: Struct) -> None:
        self._create(self._translate_table_dryrun(request), request)

    def _create_table_with_constraints(self, tbl: Struct, **constraints: list[Struct]) -> None:
        self._create(tbl, constraints)

    def _create_table_with_environment_context(
        self, tbl: Struct, environment_context: Struct | None = None
    ) -> None:
        self._create(tbl)

    def _create(self, table: Struct, constraints: Struct | None = None) -> None:
        name = TableName(table["dbName"], table["tableName"])
        if name in self.tables:
            raise DeclaredError(reading.ALREADY_EXISTS, f"Table {name} already exists")
        made = {"transient_lastDdlTime": "1", "numFiles": "0", "totalSize": "0"}
        parameters = made | table.get("parameters", {})
        self.tables[name] = table | {"parameters": parameters, "id": len(self.calls)}
        self.partitions[name] = {}
        self.constraints[name] = {key: (constraints or {}).get(key, []) for key in CONSTRAINTS}
        for one in (one for structs in self.constraints[name].values() for one in structs):
            of = (
                ("fktable_db", "fktable_name")
                if "fktable_db" in one
                else ("table_db", "table_name")
            )
            assert tuple(one[key] for key in of) == (name.database, name.table)

    def _drop_table_with_environment_context(
        self, dbname: str, name: str, deleteData: bool, environment_context: Struct | None = None
    ) -> None:
        table = self._stored(TableName(dbname, name))
        del self.tables[TableName(dbname, name)]
        if deleteData or self.version.startswith("3"):
            with self.store._store.write() as connection:
                forget_transactions(connection, TableName(dbname, name))
                leave_write_ids(connection, TableName(dbname, name))
        if deleteData:
            shutil.rmtree(table["sd"]["location"].removeprefix("file:"), ignore_errors=True)

    def _alter_table_req(self, req: Struct) -> Struct:
        name = TableName(req["dbName"], req["tableName"])
        before = self._stored(name)["parameters"].get("COLUMN_STATS_ACCURATE")
        if before != req["table"]["parameters"].get("COLUMN_STATS_ACCURATE"):
            assert req["writeId"] > 0  # else Hive 4 cannot change the state of statistics
            assert req["validWriteIdList"].startswith(f"{name}:")
            if before is None:
                assert req["table"]["writeId"] == req["writeId"]
        self._alter(name, req["table"])
        return {}

    def _alter(self, name: TableName, table: Struct) -> None:
        """Hive: HiveAlterHandler.alterTable, which moves what lies where the database has it."""
        new = TableName(table["dbName"], table["tableName"])
        before = self.tables.pop(name)
        self.tables[new] = table
        if new == name:
            return
        with self.store._store.write() as connection:
            rename_write_ids(connection, name, new)
            rename_transactions(connection, name, new)
        self.partitions[new], self.constraints[new] = (
            self.partitions.pop(name),
            self.constraints.pop(name),
        )
        old_home = before["sd"]["location"]
        if Path(old_home).name == name.table and before["tableType"] == "MANAGED_TABLE":
            home = f"{self.databases[new.database]['locationUri']}/{new.table}"
            Path(old_home.removeprefix("file:")).rename(home.removeprefix("file:"))
            table["sd"] = table["sd"] | {"location": home}
            for one in self.partitions[new].values():
                place = one["sd"]["location"].replace(old_home, home)
                one["sd"] = one["sd"] | {"location": place}

    def _alter_table_with_environment_context(
        self, dbname: str, tbl_name: str, new_tbl: Struct, environment_context: Struct
    ) -> None:
        self._stored(TableName(dbname, tbl_name))
        self._alter(TableName(dbname, tbl_name), new_tbl)

    def _add_primary_key(self, req: Struct) -> None:
        self._add_constraint("primaryKeys", req["primaryKeyCols"])

    def _add_foreign_key(self, req: Struct) -> None:
        self._add_constraint("foreignKeys", req["foreignKeyCols"])

    def _add_unique_constraint(self, req: Struct) -> None:
        self._add_constraint("uniqueConstraints", req["uniqueConstraintCols"])

    def _add_check_constraint(self, req: Struct) -> None:
        self._add_constraint("checkConstraints", req["checkConstraintCols"])

    def _add_constraint(self, kind: str, structs: list[Struct]) -> None:
        for one in structs:
            of = "fktable" if kind == "foreignKeys" else "table"
            name = TableName(one[f"{of}_db"], one[f"{of}_name"])
            self.constraints[name][kind] = [*self.constraints[name][kind], one]

    def _drop_constraint(self, req: Struct) -> None:
        of_table = self.constraints[TableName(req["dbname"], req["tablename"])]
        for kind, structs in of_table.items():
            names = {"pk_name", "fk_name", "uk_name", "nn_name", "dc_name"}
            of_table[kind] = [
                one
                for one in structs
                if req["constraintname"] not in [one.get(key) for key in names]
            ]

    def _get_primary_keys(self, request: Struct) -> Struct:
        return self._constraints_of(request, "primaryKeys")

    def _get_foreign_keys(self, request: Struct) -> Struct:
        child = {"db_name": request["foreign_db_name"], "tbl_name": request["foreign_tbl_name"]}
        return self._constraints_of(child, "foreignKeys")

    def _get_unique_constraints(self, request: Struct) -> Struct:
        return self._constraints_of(request, "uniqueConstraints")

    def _get_not_null_constraints(self, request: Struct) -> Struct:
        return self._constraints_of(request, "notNullConstraints")

    def _get_default_constraints(self, request: Struct) -> Struct:
        return self._constraints_of(request, "defaultConstraints")

    def _get_check_constraints(self, request: Struct) -> Struct:
        return self._constraints_of(request, "checkConstraints")

    def _get_all_table_constraints(self, request: Struct) -> Struct:
        of_table = self.constraints.get(TableName(request["dbName"], request["tblName"]), {})
        return {"allTableConstraints": of_table}

    def _constraints_of(self, request: Struct, kind: str) -> Struct:
        return {"all": self.constraints[TableName(request["db_name"], request["tbl_name"])][kind]}

    # ---- partitions

    def _get_partition_names(self, db_name: str, tbl_name: str, max_parts: int) -> list[str]:
        return list(self.partitions[TableName(db_name, tbl_name)])

    def _get_partitions_by_names(
        self, db_name: str, tbl_name: str, names: list[str]
    ) -> list[Struct]:
        known = self.partitions[TableName(db_name, tbl_name)]
        return [known[name] for name in names if name in known]

    def _add_partitions_req(self, request: Struct) -> Struct:
        name = TableName(request["dbName"], request["tblName"])
        for one in request["parts"]:
            Path(one["sd"]["location"].removeprefix("file:")).mkdir(parents=True, exist_ok=True)
            self.partitions[name].setdefault(self._partition_name(name, one["values"]), one)
        return {}

    def _drop_partition_with_environment_context(
        self,
        db_name: str,
        tbl_name: str,
        part_vals: list[str],
        deleteData: bool,
        environment_context: Struct | None = None,
    ) -> bool:
        name = TableName(db_name, tbl_name)
        dropped = self.partitions[name].pop(self._partition_name(name, part_vals))
        if deleteData:
            shutil.rmtree(dropped["sd"]["location"].removeprefix("file:"))
        return True

    def _alter_partitions_req(self, req: Struct) -> Struct:
        name = TableName(req["dbName"], req["tableName"])
        for one in req["partitions"]:
            self.partitions[name][self._partition_name(name, one["values"])] = one
        return {}

    def _alter_partitions_with_environment_context(
        self, db_name: str, tbl_name: str, new_parts: list[Struct], environment_context: Struct
    ) -> None:
        self._alter_partitions_req(
            {"dbName": db_name, "tableName": tbl_name, "partitions": new_parts}
        )

    def _rename_partition(
        self, db_name: str, tbl_name: str, part_vals: list[str], new_part: Struct
    ) -> None:
        name = TableName(db_name, tbl_name)
        old, new = (self._partition_name(name, of) for of in (part_vals, new_part["values"]))
        before = self.partitions[name].pop(old)
        place = before["sd"]["location"].removesuffix(old) + new
        Path(before["sd"]["location"].removeprefix("file:")).rename(place.removeprefix("file:"))
        self.partitions[name][new] = new_part | {"sd": before["sd"] | {"location": place}}

    def _rename_partition_req(self, req: Struct) -> Struct:
        assert req["validWriteIdList"]
        self._rename_partition(req["dbName"], req["tableName"], req["partVals"], req["newPart"])
        return {}

    # ---- statistics of columns

    def _set_aggr_stats_for(self, request: Struct) -> bool:
        for one in request["colStats"]:
            of = one["statsDesc"]
            assert of["isTblLevel"] == ("partName" not in of)
            if not self.version.startswith("3"):
                assert request["writeId"] > 0
                assert (request["engine"], one["engine"]) == ("hive", "hive")
            key = (TableName(of["dbName"], of["tableName"]), of.get("partName"))
            known = self.columns.setdefault(key, {})
            known.update({column["colName"]: column for column in one["statsObj"]})
        return True

    def _get_table_statistics_req(self, request: Struct) -> Struct:
        known = self.columns.get((TableName(request["dbName"], request["tblName"]), None), {})
        return {"tableStats": [known[name] for name in request["colNames"] if name in known]}

    def _get_partitions_statistics_req(self, request: Struct) -> Struct:
        table = TableName(request["dbName"], request["tblName"])
        told = {}
        for partition in request["partNames"]:
            known = self.columns.get((table, partition), {})
            told[partition] = [known[name] for name in request["colNames"] if name in known]
        return {"partStats": told}

    def _partition_name(self, name: TableName, values: list[str]) -> str:
        keys = [one["name"] for one in self.tables[name]["partitionKeys"]]
        return partition_name(keys, values)


def _in_txn(call: Callable[[], Any]) -> Any:
    """What a call about a transaction gives, with Hive's exceptions."""
    try:
        return call()
    except (TransactionAbortedError, WriteConflictError) as error:
        raise DeclaredError(reading.TXN_ABORTED, error.message) from error
    except MetastoreError as error:
        raise DeclaredError(reading.NO_SUCH_TXN, error.message) from error


def _as_text(properties: dict[str, str] | None) -> str:
    """Hive: StringableMap."""
    pairs = (properties or {}).items()
    return f"{len(pairs)}:" + "".join(f"{len(k)}:{k}{len(v)}:{v}" for k, v in pairs)


def _bits(valid: _ValidIds[Any]) -> bytes:
    """Hive: BitSet.toByteArray."""
    number = sum(1 << at for at, one in enumerate(valid.exceptions) if valid.is_aborted(one))
    return number.to_bytes((number.bit_length() + 7) // 8, "little")
