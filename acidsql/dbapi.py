"""PEP 249 over a Session: connections, cursors, type objects.

As the PEP wants it, ``autocommit`` is off at first: a transaction begins with the first statement
that reads or writes rows, over all tables, and ``commit`` makes what it did visible at once. DDL
takes effect at once: a transaction that has only read ends for it, in one that has written it is
refused. With ``autocommit`` on every statement is a transaction of its own, as Hive has it. A
statement that fails is undone by itself; the transaction goes on. ``paramstyle`` is qmark, and a
mapping fills ``:name``.
"""

from __future__ import annotations

import datetime
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from acidsql import errors
from acidsql.catalog.types import DecimalType, HiveType
from acidsql.errors import InterfaceError, ProgrammingError
from acidsql.parser.parameters import Params, check_kind, many_rows
from acidsql.session import Session

if TYPE_CHECKING:
    import os

    from pyspark.sql import SparkSession

    from acidsql.result import Result

apilevel = "2.0"
threadsafety = 1
paramstyle = "qmark"

DML = ("INSERT", "UPDATE", "DELETE", "MERGE")

Row = tuple[Any, ...]
Description = tuple[str, str, None, None, int | None, int | None, None]


def connect(
    warehouse: str | os.PathLike[str] | None = None,
    *,
    metastore: str | None = None,
    spark: SparkSession | None = None,
    database: str = "default",
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    autocommit: bool = False,
    settings: Mapping[str, str | float] | None = None,
    **more: Any,
) -> Connection:
    """Opens a warehouse: ``warehouse``, else $ACIDSQL_WAREHOUSE, else ``./warehouse``.

    autocommit: whether every statement is a transaction of its own; else ``commit`` ends one.
    metastore, spark, master, conf, settings: as for ``Session``.  more: settings by name, dots and
    all: ``connect("w", **{"hive.txn.timeout": "60s"})``. InterfaceError for a name without a dot.
    """
    for name in more:
        if "." not in name:
            hint = "Settings have names with dots: settings={'acidsql.engine': 'local'}."
            raise InterfaceError(f'connect has no parameter "{name}"', hint=hint)
    session = Session(
        warehouse,
        metastore=metastore,
        spark=spark,
        database=database,
        master=master,
        conf=conf,
        settings={**(settings or {}), **more},
    )
    connection = Connection(session)
    connection.autocommit = autocommit
    return connection


class Connection:
    """One session: for one process, and one thread at a time; see ``Session``.

    As a context manager it commits at the end, or rolls back if an error leaves it, and closes. In
    a forked child it leaves all to its parent.
    """

    Warning = errors.Warning
    Error = errors.Error
    InterfaceError = errors.InterfaceError
    DatabaseError = errors.DatabaseError
    DataError = errors.DataError
    OperationalError = errors.OperationalError
    IntegrityError = errors.IntegrityError
    InternalError = errors.InternalError
    ProgrammingError = errors.ProgrammingError
    NotSupportedError = errors.NotSupportedError

    def __init__(self, session: Session) -> None:
        self._session: Session | None = session

    @property
    def session(self) -> Session:
        """The session underneath. InterfaceError once the connection is closed."""
        if self._session is None:
            raise InterfaceError("the connection is closed")
        self._session.turn.check_process()
        return self._session

    @property
    def closed(self) -> bool:
        return self._session is None

    @property
    def autocommit(self) -> bool:
        """Whether each statement is committed as it ends. Turning it on commits what is open."""
        return self.session.autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        self.session.autocommit = bool(value)

    def cursor(self) -> Cursor:
        return Cursor(self)

    def execute(self, operation: str, params: Params | None = None) -> Cursor:
        """A new cursor that has run ``operation``; see ``Cursor.execute``."""
        return self.cursor().execute(operation, params)

    def commit(self) -> None:
        """Makes all changes since the last commit visible at once; see ``Session.commit`` for how
        it fails.
        """
        self.session.commit()

    def rollback(self) -> None:
        """Takes back all changes since the last commit."""
        self.session.rollback()

    def close(self) -> None:
        """Rolls back what is not committed and closes the session; closing twice is no error."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def __enter__(self) -> Self:
        _ = self.session
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and self._session is not None and not self._session.turn.is_elsewhere:
                self.commit()
        finally:
            self.close()


class Cursor:
    """Runs statements and hands out the rows of the last one."""

    arraysize = 1

    def __init__(self, connection: Connection) -> None:
        _ = connection.session
        self.connection = connection
        self.query_id: str | None = None
        self.rowcount = -1
        self.rownumber: int | None = None
        self._description: tuple[Description, ...] | None = None
        self.messages: list[tuple[type[errors.Warning], errors.Warning]] = []
        """PEP 249's list of (class, warning) of the last statement, as of literals that their
        columns cannot hold.
        """
        self._rows: Iterator[Row] | None = None
        self._result: Result | None = None
        self._closed = False

    @property
    def description(self) -> tuple[Description, ...] | None:
        """One 7-tuple a column: name, Hive's type text (equal to one of the type objects), -, -,
        precision, scale, -.
        """
        return self._description

    @property
    def result(self) -> Result | None:
        """What ``Session.sql`` gave for the last statement: Arrow, pandas, stats."""
        return self._result

    def execute(
        self, operation: str, params: Params | None = None, *, run_id: str | None = None
    ) -> Self:
        """Runs one statement. The cursor itself is the result, so that it can be iterated at once.

        params: a sequence fills ``?``, a mapping ``:name``; params, run_id: as for ``Session.sql``.
        """
        session = self._session()
        self._forget()
        self.query_id = f"acidsql-{uuid.uuid4()}"
        self._take(session.sql(operation, params, run_id=run_id))
        return self

    def executemany(self, operation: str, seq_of_params: Sequence[Params]) -> Self:
        """Runs the statement once for each set of parameters, and adds up the row counts.

        Each set is as for ``execute``. ``INSERT .. VALUES (?, ..)`` or ``(:name, ..)`` becomes one
        statement with all the rows and one set of files. Of other statements, those before a
        failing one stay: in the open transaction, or committed where ``autocommit`` is on.
        """
        session = self._session()
        if not isinstance(seq_of_params, Iterable):
            raise ProgrammingError(
                f"executemany takes many sets of parameters, not {type(seq_of_params).__name__}"
            )
        batch = list(seq_of_params)
        for params in batch:
            check_kind(params)
        self._forget()
        if len(batch) > 1 and (text := many_rows(operation, batch)) is not None:
            return self.execute(text)
        self.query_id = f"acidsql-{uuid.uuid4()}"
        total = 0
        for params in batch:
            self._take(session.sql(operation, params))
            if self._rows is not None:
                self._forget()
                raise ProgrammingError("executemany is for statements that give no rows")
            total = total + self.rowcount if min(total, self.rowcount) >= 0 else -1
        self.rowcount = total
        return self

    def fetchone(self) -> Row | None:
        return next(self._fetching(), None)

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """The next ``size`` rows (``arraysize`` if not given), fewer at the end."""
        return list(islice(self._fetching(), self.arraysize if size is None else size))

    def fetchall(self) -> list[Row]:
        return list(self._fetching())

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Row:
        return next(self._fetching())

    def setinputsizes(self, sizes: Sequence[object]) -> None:
        """Takes anything and does nothing, as PEP 249 allows."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Takes anything and does nothing, as PEP 249 allows."""

    def cancel(self) -> None:
        """Cancels the running statement; for another thread."""
        self._session().cancel()

    def close(self) -> None:
        """Gives the rows up; ``rowcount`` stays, which SQLAlchemy asks for afterwards."""
        rowcount = self.rowcount
        self._forget()
        self.rowcount = rowcount
        self._closed = True

    def __enter__(self) -> Self:
        _ = self._session()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _session(self) -> Session:
        if self._closed:
            raise InterfaceError("the cursor is closed")
        return self.connection.session

    def _forget(self) -> None:
        self._description = self._rows = self._result = self.rownumber = None
        self.rowcount = -1
        self.messages.clear()

    def _take(self, result: Result) -> None:
        self._result = result
        self.messages += [(type(warning), warning) for warning in result.warnings]
        self.messages += [(errors.Warning, errors.Warning(note)) for note in result.notes]
        stats = result.stats
        self.rowcount = stats.rows_changed if stats.statement in DML else -1
        if result.columns:
            self._description = tuple(_described(c.name, c.type) for c in result.columns)
            self._rows = self._numbered(result)

    def _numbered(self, result: Result) -> Iterator[Row]:
        self.rownumber = 0
        for row in result.rows():
            self.rownumber += 1
            yield row

    def _fetching(self) -> Iterator[Row]:
        _ = self._session()
        if self._rows is None:
            raise ProgrammingError("there are no rows to fetch: run a query first")
        return self._rows


def _described(name: str, hive_type: HiveType) -> Description:
    precision, scale = (
        (hive_type.precision, hive_type.scale)
        if isinstance(hive_type, DecimalType)
        else (None, None)
    )
    return name, str(hive_type), None, None, precision, scale, None


# -- types


class TypeObject:
    """One of PEP 249's five kinds; equal to the text of every Hive type of the kind."""

    def __init__(self, name: str, types: frozenset[str]) -> None:
        self.name = name
        self._types = types

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeObject):
            return self.name == other.name
        return _base(other) in self._types if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name


_ROW_ID = "struct<writeid:bigint,bucketid:int,rowid:bigint>"


def _base(type_text: str) -> str:
    """The type's name alone, ``decimal`` for ``decimal(10,2)``, ``array`` for ``array<int>``;
    ROW__ID's struct as it is.
    """
    text = type_text.lower()
    return text if text == _ROW_ID else text.partition("(")[0].partition("<")[0]


STRING = TypeObject("STRING", frozenset(("string", "varchar", "char", "array", "map", "struct")))
BINARY = TypeObject("BINARY", frozenset(("binary",)))
NUMBER = TypeObject(
    "NUMBER",
    frozenset(("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal")),
)
DATETIME = TypeObject("DATETIME", frozenset(("date", "timestamp")))
ROWID = TypeObject("ROWID", frozenset((_ROW_ID,)))

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary: Callable[[bytes | bytearray | memoryview], bytes] = bytes


def DateFromTicks(ticks: float) -> datetime.date:
    return Date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> datetime.time:
    return Time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime.datetime:
    return Timestamp(*time.localtime(ticks)[:6])
