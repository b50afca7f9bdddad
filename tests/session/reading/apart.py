"""A session in a process of its own, which reads when it is told to, and can be killed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

from acidsql.errors import Error
from acidsql.result import Result
from acidsql.session import Session
from acidsql.session.scan import TableScan
from tests.forks import PROCESSES


class SessionApart:
    """Orders are carried out before they return, but for ``kill``."""

    def __init__(self, warehouse: Path, metastore: str) -> None:
        self._orders, theirs = PROCESSES.Pipe()
        arguments = theirs, str(warehouse), metastore
        self._process = PROCESSES.Process(target=_carry_out, args=arguments, daemon=True)
        self._process.start()
        theirs.close()

    def sql(self, *statements: str) -> None:
        for statement in statements:
            self._order("sql", statement)

    def open(self, how: str, asked: str) -> None:
        """Opens a result of a query, or a scan of a table, which is not read."""
        self._order("open", how, asked)

    def begin(self) -> Any:
        """The first row of a scan, whose others are left to be read."""
        return self._order("begin")

    def fetch(self) -> Any:
        """All rows of what was opened, sorted; or the error that came instead."""
        return self._order("fetch")

    def kill(self) -> None:
        self._process.kill()
        self._process.join(30)

    def _order(self, *words: str) -> Any:
        self._orders.send(words)
        return json.loads(self._orders.recv())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._orders.close()


def _carry_out(orders: Connection, warehouse: str, metastore: str) -> None:
    with Session(warehouse, metastore=metastore, settings={"acidsql.engine": "local"}) as session:
        opened: Result | TableScan | None = None
        batches: Iterator[Any] = iter(())
        while True:
            word, *rest = orders.recv()
            answer: object = None
            match word:
                case "sql":
                    session.sql(rest[0])
                case "open" if rest[0] == "scan":
                    opened = session.scan(rest[1], batch_size=1000)
                    batches = iter(opened)
                case "open":
                    opened = session.sql(rest[1])
                    batches = opened.batches() if rest[0] == "stream" else iter(())
                case "begin":
                    answer = next(batches).to_pylist()[0]
                case "fetch":
                    answer = _fetched(opened, batches)
                    opened, batches = None, iter(())
            orders.send(json.dumps(answer))


def _fetched(opened: Result | TableScan | None, batches: Iterator[Any]) -> object:
    try:
        if isinstance(opened, Result) and (rows := opened.fetchall()):
            return sorted(rows)
        return sorted(tuple(row.values()) for batch in batches for row in batch.to_pylist())
    except Error as error:
        return type(error).__name__
