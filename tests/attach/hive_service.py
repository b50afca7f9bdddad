"""The service of a Hive metastore, as Hive 3.1 and 4 answer: a thread on this machine that tells what
stands in the metastore's database. It answers reading calls alone.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from sqlalchemy import text as sql

from tests.attach.hive_metastore import HiveMetastore
from tests.attach.thrift_bytes import (  # fmt: skip
    LIST,
    SET,
    Asked,
    Said,
    many,
    mapping,
    message,
    number,
    record,
    text,
    texts,
)

LONGEST_WAIT = 60
READING = {"set_ugi", "get_table_req", "get_open_txns", "get_valid_write_ids", "get_partition_names", "get_partitions_by_names"}  # fmt: skip


class DeclaredError(Exception):
    def __init__(self, place: int, words: str) -> None:
        self.place = place
        self.words = words


class HiveService:
    """``calls``: the names of the methods in their order; ``open``: how many are connected."""

    def __init__(self, metastore: HiveMetastore, *, framed: bool = False) -> None:
        self.metastore = metastore
        self.framed = framed
        self.calls: list[str] = []
        self.connections = 0
        self.open = 0
        self.before: Callable[[str], None] = lambda name: None
        self._lock = Lock()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._threads = [Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def server(self) -> str:
        return f"127.0.0.1:{self._listening.getsockname()[1]}"

    @property
    def url(self) -> str:
        return f"thrift://{self.server}{'?framed=true' if self.framed else ''}"

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._check_ended(self._threads)

    def check_left(self) -> None:
        """Nobody is connected any more, or an AssertionError."""
        self._check_ended(self._threads[1:])

    def _check_ended(self, threads: Sequence[Thread]) -> None:
        for thread in threads:
            thread.join(LONGEST_WAIT)
            assert not thread.is_alive()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            thread = Thread(target=self._serve, args=(connection,), daemon=True)
            thread.start()  # first: whoever sees it may wait for its end
            self._threads.append(thread)

    def _serve(self, connection: socket.socket) -> None:
        with self._lock:
            self.open += 1
            self.connections += 1
        try:
            with connection, connection.makefile("rb") as incoming:
                while self._answer_one(connection, incoming.read):
                    pass
        finally:
            with self._lock:
                self.open -= 1

    def _answer_one(self, connection: socket.socket, read: Callable[[int], bytes]) -> bool:
        try:
            if self.framed and len(read(4)) < 4:
                return False
            name, sequence, arguments = Asked(read).message()
        except struct.error:  # it has gone
            return False
        self.calls.append(name)
        try:
            self.before(name)
        except ConnectionError:  # it closes the connection
            return False
        raw = self._answered(name, sequence, arguments)
        connection.sendall((struct.pack(">I", len(raw)) if self.framed else b"") + raw)
        return True

    def _answered(self, name: str, sequence: int, arguments: dict[int, Any]) -> bytes:
        method = getattr(self, f"_{name}", None)
        if method is None:
            failure = record({1: text(f"Invalid method name: '{name}'"), 2: number("i32", 1)})
            return message(3, name, sequence, failure)
        try:
            answer = record({0: method(*(arguments[key] for key in sorted(arguments)))})
        except DeclaredError as error:
            answer = record({error.place: record({1: text(error.words)})})
        return message(2, name, sequence, answer)

    # ---- the database

    def _rows(self, table: str, columns: str, order: str = "", **where: Any) -> list[tuple[Any, ...]]:  # fmt: skip
        quoted = self.metastore.quoted
        listed = ", ".join(quoted(table, one) for one in columns.split())
        query = f"SELECT {listed} FROM {quoted(table, table)}"
        held = " AND ".join(f"{quoted(table, name)} = :{name}" for name in where)
        query += f" WHERE {held}" if where else ""
        query += f" ORDER BY {quoted(table, order)}" if order else ""
        with self.metastore.engine.connect() as connection:
            return [tuple(row) for row in connection.execute(sql(query), where)]

    # ---- tables

    def _set_ugi(self, user: bytes, groups: list[bytes]) -> Said:
        assert user
        return texts([user.decode(), *(one.decode() for one in groups)])

    def _table(self, catalog: str, database: str, table: str) -> tuple[Any, ...]:
        databases = self._rows("DBS", "DB_ID", NAME=database, CTLG_NAME=catalog)
        columns = "TBL_ID SD_ID TBL_TYPE CREATE_TIME"
        tables = self._rows("TBLS", columns, DB_ID=databases[0][0], TBL_NAME=table) if databases else []  # fmt: skip
        if not tables:
            raise DeclaredError(2, f"{catalog}.{database}.{table} table not found")
        return tables[0]

    def _get_table_req(self, request: dict[int, Any]) -> Said:
        database, name = request[1].decode(), request[2].decode()
        table, storage, kind, created = self._table(request[4].decode(), database, name)
        properties = dict(self._rows("TABLE_PARAMS", "PARAM_KEY PARAM_VALUE", TBL_ID=table))
        if properties.get("transactional_properties") == "insert_only" and 2 not in request[3][1]:
            raise DeclaredError(1, "Your client does not appear to support insert-only tables.")
        keys = self._rows("PARTITION_KEYS", "PKEY_NAME PKEY_TYPE PKEY_COMMENT", "INTEGER_IDX", TBL_ID=table)  # fmt: skip
        is_view = kind == "VIRTUAL_VIEW"
        described = record(
            {
                1: text(name), 2: text(database), 3: text("hive"), 4: number("i32", created), 5: number("i32", 0),
                6: number("i32", 0), 7: self._storage(storage), 8: many([_field(*one) for one in keys], 12),
                9: mapping(properties), 10: text("SELECT 1") if is_view else None, 12: text(kind),
                13: record({1: many([text("x")], of=SET)}), 14: number("bool", False), 17: text("hive"), 18: number("i32", 1),
                19: None if self.metastore.is_old else number("i64", -1), 25: None if self.metastore.is_old else number("i64", table),
            }
        )  # fmt: skip
        return record({1: described, 2: number("bool", True)})

    def _storage(self, storage: int, columns_of: int | None = None) -> Said:
        kept = "CD_ID SERDE_ID LOCATION INPUT_FORMAT NUM_BUCKETS"
        [(columns_id, serde, location, input_format, buckets)] = self._rows("SDS", kept, SD_ID=storage)  # fmt: skip
        columns = self._rows(
            "COLUMNS_V2", "COLUMN_NAME TYPE_NAME COMMENT", "INTEGER_IDX", CD_ID=columns_of or columns_id
        )  # fmt: skip
        [(library,)] = self._rows("SERDES", "SLIB", SERDE_ID=serde)
        clustered = self._rows("BUCKETING_COLS", "BUCKET_COL_NAME", "INTEGER_IDX", SD_ID=storage)
        ordered = self._rows("SORT_COLS", "COLUMN_NAME ORDER", "INTEGER_IDX", SD_ID=storage)
        return record(
            {
                1: many([_field(*one) for one in columns], 12), 2: None if location is None else text(location),
                3: text(input_format), 4: text(""), 5: number("bool", False), 6: number("i32", buckets),
                7: record({1: text(""), 2: text(library), 3: mapping({"serialization.format": "1"})}),
                8: texts([one for (one,) in clustered]),
                9: many([record({1: text(name), 2: number("i32", order)}) for name, order in ordered], 12),
                10: mapping({}), 11: record({1: texts([]), 2: many([], LIST), 3: mapping({})}), 12: number("bool", False),
            }
        )  # fmt: skip

    # ---- partitions

    def _named(self, database: bytes, table: bytes) -> tuple[int, dict[str, tuple[int, int]]]:
        mark, _, name = database.decode().partition("#")
        row = self._table(mark.removeprefix("@"), name, table.decode())
        parts = self._rows("PARTITIONS", "PART_NAME PART_ID SD_ID", TBL_ID=row[0])
        return row[0], {name: (number, storage) for name, number, storage in parts}

    def _get_partition_names(self, database: bytes, table: bytes, limit: int) -> Said:
        assert limit == -1
        return texts(sorted(self._named(database, table)[1]))

    def _get_partitions_by_names(self, database: bytes, table: bytes, names: list[bytes]) -> Said:
        table_id, known = self._named(database, table)
        wanted = [known[one.decode()] for one in names if one.decode() in known]
        return many([self._partition(table_id, *one) for one in wanted], 12)

    def _partition(self, table_id: int, number_of: int, storage: int) -> Said:
        values = self._rows("PARTITION_KEY_VALS", "PART_KEY_VAL", "INTEGER_IDX", PART_ID=number_of)
        return record(
            {
                1: texts([one for (one,) in values]), 2: text("sales"), 3: text("orders"), 4: number("i32", 1),
                6: self._storage(storage, table_id), 7: mapping({"numRows": "1", "part": str(number_of)}),
                10: number("i64", -1), 12: record({1: number("double", 0.5), 2: number("byte", 1), 3: number("i16", 3)}),
            }
        )  # fmt: skip

    # ---- transactions

    def _get_open_txns(self) -> Said:
        """Hive 3 counts in NEXT_TXN_ID. In Hive 4 a number without a row, of the last second, is of
        a transaction that is about to appear.
        """
        rows = self._rows("TXNS", "TXN_ID TXN_STATE TXN_STARTED", "TXN_ID")
        if self.metastore.is_old:
            highest = self._rows("NEXT_TXN_ID", "NTXN_NEXT")[0][0] - 1
        else:
            highest = rows[-1][0]
            latest = max(started for _, _, started in rows)
            late = [
                (missing, "o", started)
                for (before, _, _), (after, _, started) in pairwise(rows)
                for missing in range(before + 1, after)
                if started > latest - 1000 and after - before < 100  # the clock is the last one's
            ]
            rows = sorted([*rows, *late])
        listed = [(number_of, state) for number_of, state, _ in rows if state != "c"]
        return record(
            {
                1: number("i64", highest), 2: many([number("i64", one) for one, _ in listed], 10),
                3: number("i64", 1), 4: text(_bits(listed)),
            }
        )  # fmt: skip

    def _get_valid_write_ids(self, request: dict[int, Any]) -> Said:
        highest, _, still_open, aborted = request[2].decode().split(":")
        invalid = {int(one): "o" for one in still_open.split(",") if one}
        invalid |= {int(one): "a" for one in aborted.split(",") if one}
        tables = [self._of_table(one.decode(), int(highest), invalid) for one in request[1]]
        return record({1: many(tables, 12)})

    def _of_table(self, full: str, highest_txn: int, invalid: dict[int, str]) -> Said:
        database, _, table = full.partition(".")
        rows = self._rows(
            "TXN_TO_WRITE_ID", "T2W_TXNID T2W_WRITEID", "T2W_WRITEID", T2W_DATABASE=database, T2W_TABLE=table
        )  # fmt: skip
        following = self._rows("NEXT_WRITE_ID", "NWI_NEXT", NWI_DATABASE=database, NWI_TABLE=table)
        highest = max((write_id for txn, write_id in rows if txn <= highest_txn), default=0)
        if not highest and following:
            highest = following[0][0] - 1
        listed = [
            (write_id, invalid.get(txn, "o"))
            for txn, write_id in rows
            if write_id <= highest and (txn in invalid or txn > highest_txn)
        ]
        is_reduced = not self.metastore.is_old and listed and len(listed) == len(rows)
        if is_reduced:
            listed = listed[:1]
            highest = listed[0][0]
        return record(
            {
                1: text(full), 2: number("i64", highest), 3: many([number("i64", one) for one, _ in listed], 10),
                5: text(_bits(listed)),
            }
        )  # fmt: skip


def _field(name: str, type_name: str, comment: str | None) -> Said:
    return record({1: text(name), 2: text(type_name), 3: None if comment is None else text(comment)})  # fmt: skip


def _bits(listed: list[tuple[int, str]]) -> bytes:
    """As java.util.BitSet writes itself."""
    bits = sum(1 << at for at, (_, state) in enumerate(listed) if state == "a")
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")


@contextmanager
def served(folder: Path, version: str) -> Iterator[HiveMetastore]:
    """An empty metastore in a file, with its service; only reading calls are made of it, and all
    connections are closed behind the block.
    """
    metastore = HiveMetastore(f"sqlite:///{folder / 'hive.db'}", version)
    metastore.make_tables()
    metastore.empty()
    with serving(metastore) as service:
        yield metastore
    metastore.close()
    assert set(service.calls) <= READING


@contextmanager
def serving(metastore: HiveMetastore, *, framed: bool = False) -> Iterator[HiveService]:
    service = HiveService(metastore, framed=framed)
    metastore.service = service
    try:
        yield service
    finally:
        metastore.service = None
        service.close()
        assert service.open == 0
