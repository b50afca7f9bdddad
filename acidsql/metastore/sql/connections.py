"""Connections to a metastore in a file, by Python's own ``sqlite3``: they are asked as SQLAlchemy's
are, and answer so, in what the store needs of them.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, NoReturn, Self

from acidsql.errors import InternalError
from acidsql.metastore.sql import Expression
from acidsql.metastore.sql.compiling import VALUE, Compiled, compiled

_Parameters = Mapping[str, Any] | Sequence[Mapping[str, Any]]
_KEPT = 5


class Pool:
    """Connections that were opened by ``connect``, each for one user at a time; as many as ``kept``
    are kept open for the next.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], kept: int = _KEPT) -> None:
        self._connect, self._kept = connect, kept
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()

    def connect(self) -> SQLiteConnection:
        with self._lock:
            home = self._idle
            idle = home.pop() if home else None
        return SQLiteConnection(idle or self._connect(), partial(self._give_back, home))

    def _give_back(self, home: list[sqlite3.Connection], connection: sqlite3.Connection) -> None:
        with self._lock:
            if home is self._idle and len(home) < self._kept:
                home.append(connection)
                return
        connection.close()

    def dispose(self) -> None:
        """Closes the connections that nobody uses now, and those in use when they are given
        back.
        """
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


class SQLiteConnection:
    """A connection until it is closed: what is not committed then is rolled back."""

    def __init__(
        self, connection: sqlite3.Connection, give_back: Callable[[sqlite3.Connection], None]
    ) -> None:
        self._connection: sqlite3.Connection | None = connection
        self._give_back = give_back

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def driver_connection(self) -> sqlite3.Connection:
        if self._connection is None:
            raise InternalError("the connection is closed")
        return self._connection

    def execute(
        self, statement: Any, parameters: _Parameters = (), *, execution_options: object = None
    ) -> Result:
        """A statement for one set of parameters, or for several."""
        one = parameters if isinstance(parameters, Mapping) else {}
        many = () if isinstance(parameters, Mapping) else parameters
        entry = compiled(statement, list(many[0] if many else one))
        values = statement._values if isinstance(statement, Expression) else ()
        cursor = self.driver_connection.cursor()
        if many:
            cursor.executemany(entry.sql, [_bound(entry, values, row) for row in many])
        else:
            cursor.execute(*_expanded(entry, _bound(entry, values, one)))
        return Result(cursor, entry.booleans)

    def scalar(self, statement: Any, parameters: _Parameters = ()) -> Any:
        return self.execute(statement, parameters).scalar()

    def scalars(self, statement: Any, parameters: _Parameters = ()) -> Scalars:
        return Scalars(self.execute(statement, parameters))

    def exec_driver_sql(self, sql: str) -> Result:
        return Result(self.driver_connection.execute(sql))

    def names_of_tables(self) -> set[str]:
        rows = self.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {name for (name,) in rows}

    def commit(self) -> None:
        self.driver_connection.commit()

    def rollback(self) -> None:
        self.driver_connection.rollback()

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            connection.rollback()
        except BaseException:
            with suppress(sqlite3.Error):
                connection.close()
            raise
        self._give_back(connection)


class Row(tuple[Any, ...]):
    """A row of a result, whose values have names, too."""

    __slots__ = ()
    names: ClassVar[Mapping[str, int]]

    def __getattr__(self, name: str) -> Any:
        try:
            return self[self.names[name]]
        except KeyError:
            raise AttributeError(name) from None

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self.names, self, strict=True))


class Result:
    """What a statement gives: rows, which are fetched when they are asked for."""

    def __init__(self, cursor: sqlite3.Cursor, booleans: Sequence[int] = ()) -> None:
        self._cursor, self._booleans = cursor, booleans
        self._row: type[Row] = Row
        if cursor.description is not None:
            names = {one[0]: at for at, one in enumerate(cursor.description)}
            self._row = type("Row", (Row,), {"__slots__": (), "names": names})

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""
        return self._cursor.rowcount

    @property
    def inserted_primary_key(self) -> tuple[int] | None:
        number = self._cursor.lastrowid
        return None if number is None else (number,)

    def __iter__(self) -> Iterator[Row]:
        return map(self._named, self._cursor)

    def _named(self, values: Sequence[Any]) -> Row:
        for at in self._booleans:
            truth = None if values[at] is None else bool(values[at])
            values = (*values[:at], truth, *values[at + 1 :])
        return self._row(values)

    def all(self) -> list[Row]:
        return list(self)

    def partitions(self, size: int) -> Iterator[list[Row]]:
        """The rows by so many."""
        while rows := self._cursor.fetchmany(size):
            yield [self._named(row) for row in rows]

    def first(self) -> Row | None:
        values = self._cursor.fetchone()
        self._cursor.close()
        return None if values is None else self._named(values)

    def one_or_none(self) -> Row | None:
        rows = self.all()
        if len(rows) > 1:
            self._refuse("several rows")
        return rows[0] if rows else None

    def one(self) -> Row:
        row = self.one_or_none()
        return self._refuse("no row") if row is None else row

    def scalar(self) -> Any:
        row = self.first()
        return None if row is None else row[0]

    def scalar_one(self) -> Any:
        return self.one()[0]

    def close(self) -> None:
        self._cursor.close()

    def _refuse(self, what: str) -> NoReturn:
        raise InternalError(f"{what} where the metastore has one")


class Scalars:
    """The first values of the rows of a result."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def __iter__(self) -> Iterator[Any]:
        return (row[0] for row in self._result)

    def all(self) -> list[Any]:
        return list(self)


def _bound(entry: Compiled, values: Sequence[object], row: Mapping[str, Any]) -> list[Any]:
    """What is bound, in order; several values for what stands for several."""
    bound: list[Any] = []
    for param in entry.params:
        if isinstance(param, int):
            bound.append(values[param])
        elif isinstance(param, str):
            bound.append(row[param])
        else:
            bound += param
    return bound


def _expanded(entry: Compiled, bound: list[Any]) -> tuple[str, list[Any]]:
    """The text with a mark for each value of its lists, and what is bound then."""
    if not entry.lists:
        return entry.sql, bound
    sql, flat = entry.sql, []
    for param, value in zip(entry.params, bound, strict=True):
        name = f"{VALUE}{param}" if isinstance(param, int) else param
        if not isinstance(name, str) or name not in entry.lists:
            flat.append(value)
            continue
        flat += value
        marks = ", ".join("?" * len(value)) or entry.lists[name]
        sql = sql.replace(f"__[POSTCOMPILE_{name}]", marks)
    return sql, flat
