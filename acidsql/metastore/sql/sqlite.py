"""Statements of the store as the SQL of SQLite, what SQLAlchemy compiles them to; and connections
that run them.

``sqlite.json`` has what most statements of users need, compiled ahead, so that their processes need
no SQLAlchemy; ``python -m tests.metastore.ahead`` makes it anew, and a test compares. What is not
there is compiled when it is asked for.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

from acidsql.errors import InternalError
from acidsql.metastore.sql import Expression, real

AHEAD = Path(__file__).with_name("sqlite.json")
_MOST_KEPT = 1000
"""Statements beyond them, which differ by what is asked for, are compiled again."""

VALUE = "value_"
"""What the names of values begin with, before their numbers."""


class Compiled(NamedTuple):
    """A statement's text.

    ``params``: what is bound, in order: the number of a value of the statement, the name of a
    parameter, or a constant alone in a list. ``lists``: the ones among them that stand for several
    values, each with what is written for none. ``booleans``: which columns of a result are.
    """

    sql: str
    params: Sequence[int | str | list[Any]]
    lists: Mapping[str, str] = {}
    booleans: Sequence[int] = ()


known: dict[str, Compiled] = {}
"""What this process has asked for, by what it is found by."""


def _key(statement: Expression, names: Collection[str]) -> str:
    """What a statement is found by. ``names``: of the parameters it is given."""
    text = statement._text
    return f"{text} {' '.join(names)}" if names and not text.startswith("select(") else text


def compiled(statement: Any, names: Collection[str]) -> Compiled:
    """A statement, of the store's or one of SQLAlchemy's, with parameters of these names."""
    if not isinstance(statement, Expression):
        return _compile(statement, names)
    key = _key(statement, names)
    entry = known.get(key)
    if entry is None:
        ahead = _ahead()["statements"].get(key)
        entry = _compile_now(statement, names) if ahead is None else Compiled(*ahead)
        if len(known) >= _MOST_KEPT:
            known.clear()
        known[key] = entry
    return entry


@cache
def _ahead() -> Any:
    return json.loads(AHEAD.read_text(encoding="utf-8"))


def creation() -> Mapping[str, Sequence[str]]:
    """What makes each table of the schema and its indexes."""
    tables: Mapping[str, Sequence[str]] = _ahead()["tables"]
    return tables


# ---- by SQLAlchemy


def named(name: str) -> Any:
    """What SQLAlchemy means by a name."""
    import sqlalchemy

    return getattr(sqlalchemy, name)


@cache
def dialect() -> Any:
    """SQLite's, whatever its version is here."""
    from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

    return SQLiteDialect_pysqlite()


def _compile_now(statement: Expression, names: Collection[str]) -> Compiled:
    """What SQLAlchemy compiles a statement to."""
    from sqlalchemy import bindparam

    count = 0

    def bind(value: object) -> object:
        nonlocal count
        count += 1
        name = f"{VALUE}{count - 1}"
        if isinstance(value, str) or not isinstance(value, Collection):
            return bindparam(name, value)
        return bindparam(name, expanding=True)

    return _compile(real(statement, bind), names)


def _compile(statement: Any, names: Collection[str]) -> Compiled:
    text = statement.compile(dialect=dialect(), column_keys=list(names))
    binds = {name: text.binds[name] for name in text.positiontup}
    lists = {
        name: text.visit_empty_set_op_expr([bind.type], bind.expand_op)
        for name, bind in binds.items()
        if bind in text.post_compile_params
    }
    params = [_param(name, binds[name]) for name in text.positiontup]
    return Compiled(str(text), params, lists, _booleans(text))


def _param(name: str, bind: Any) -> int | str | list[Any]:
    if name.startswith(VALUE):
        return int(name.removeprefix(VALUE))
    return name if bind.required else [bind.value]


def _booleans(text: Any) -> list[int]:
    from sqlalchemy import Boolean

    types = [column.type for column in text._result_columns]
    return [at for at, one in enumerate(types) if isinstance(one, Boolean)]


def create_texts(metadata: Any, dialect: Any) -> dict[str, list[str]]:
    """The texts of CREATE TABLE and its indexes, by table, each behind those it refers to."""
    from sqlalchemy.schema import CreateIndex, CreateTable

    texts = {}
    for table in metadata.sorted_tables:
        indexes = sorted(table.indexes, key=lambda index: str(index.name))
        elements: list[Any] = [CreateTable(table), *map(CreateIndex, indexes)]
        texts[table.name] = [str(element.compile(dialect=dialect)) for element in elements]
    return texts


# ---- connections
#
# Connections to a metastore in a file, by Python's own ``sqlite3``: they are asked as SQLAlchemy's
# are, and answer so, in what the store needs of them.


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
