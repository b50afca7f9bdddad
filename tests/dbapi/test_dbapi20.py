"""PEP 249 as a driver's user relies on it: the cases of the public compliance suite ``dbapi20``,
and what it leaves out of transactions.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import acidsql as driver
from acidsql.dbapi import Connection, Cursor

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Connect = Callable[..., Connection]

CHEESES = ["Brie", "Comté", "Feta", "Gouda", "Manchego", "Tilsiter"]
TABLE = "CREATE TABLE cheese (name STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
ALL = "SELECT name FROM cheese ORDER BY name"
needs_java = pytest.mark.spark


@pytest.fixture
def connect(warehouse: Path) -> Iterator[Connect]:
    """Opens connections to one warehouse, without Spark; all are closed in the end."""
    opened: list[Connection] = []

    def open_one(**options: Any) -> Connection:
        opened.append(driver.connect(warehouse, **options))
        return opened[-1]

    yield open_one
    for connection in opened:
        connection.close()


@pytest.fixture
def connection(connect: Connect) -> Connection:
    """With an empty table ``cheese``; it can be written to without Java."""
    made = connect()
    made.execute(TABLE)
    return made


@pytest.fixture
def reading(connect: Connect, spark: SparkSession) -> Connection:
    """With an empty table ``cheese``; queries run on the shared Spark."""
    made = connect(spark=spark)
    made.execute(TABLE)
    return made


@pytest.fixture
def filled(reading: Connection) -> Connection:
    """With the cheeses in the table, committed."""
    fill(reading.cursor())
    reading.commit()
    return reading


def fill(cursor: Cursor) -> None:
    for name in CHEESES:
        cursor.execute("INSERT INTO cheese VALUES (?)", (name,))


def names(connection: Connection) -> list[str]:
    return [name for (name,) in connection.execute(ALL)]


# ---- the module


def test_apilevel() -> None:
    """The module is of DB API level 2.0."""
    assert driver.apilevel == "2.0"


def test_threadsafety() -> None:
    """Threads may share the module: one of the four levels the PEP knows."""
    assert driver.threadsafety in (0, 1, 2, 3)


def test_paramstyle() -> None:
    """Parameters are written in one of the five styles."""
    assert driver.paramstyle in ("qmark", "numeric", "named", "format", "pyformat")


def test_exceptions() -> None:
    """Warning and Error stand beside each other; all other errors descend from Error, the
    database's own from DatabaseError.
    """
    assert issubclass(driver.Warning, Exception)
    assert issubclass(driver.Error, Exception)
    assert issubclass(driver.InterfaceError, driver.Error)
    assert issubclass(driver.DatabaseError, driver.Error)
    for child in (
        driver.OperationalError,
        driver.IntegrityError,
        driver.InternalError,
        driver.ProgrammingError,
        driver.NotSupportedError,
        driver.DataError,
    ):
        assert issubclass(child, driver.DatabaseError)
    assert not issubclass(driver.InterfaceError, driver.DatabaseError)


def test_exceptions_as_attributes_of_the_connection(connection: Connection) -> None:
    """The optional extension: each class of error hangs on the connection as well."""
    for name in (
        "Warning",
        "Error",
        "InterfaceError",
        "DatabaseError",
        "OperationalError",
        "IntegrityError",
        "InternalError",
        "ProgrammingError",
        "NotSupportedError",
        "DataError",
    ):
        assert getattr(connection, name) is getattr(driver, name)


# ---- the connection


def test_connect(connect: Connect) -> None:
    """Connecting, and leaving at once."""
    connect().close()


def test_commit(connection: Connection) -> None:
    """Committing is allowed when there is nothing to commit."""
    connection.commit()
    connection.commit()


def test_rollback(connection: Connection) -> None:
    """So is rolling back."""
    connection.rollback()
    connection.rollback()


def test_cursor(connection: Connection) -> None:
    """Cursors are made as one pleases, and know where they come from."""
    cursors = [connection.cursor(), connection.cursor()]
    assert cursors[0] is not cursors[1]
    assert [cursor.connection for cursor in cursors] == [connection, connection]


def test_close(connection: Connection) -> None:
    """What is closed cannot be used any more; closing it again does no harm."""
    cursor = connection.cursor()
    connection.close()
    with pytest.raises(driver.Error):
        cursor.execute("SHOW TABLES")
    with pytest.raises(driver.Error):
        connection.commit()
    with pytest.raises(driver.Error):
        connection.rollback()
    with pytest.raises(driver.Error):
        connection.cursor()
    connection.close()


def test_a_closed_cursor(connection: Connection) -> None:
    """A closed cursor cannot be used; its connection can."""
    cursor = connection.execute("SHOW TABLES")
    cursor.close()
    cursor.close()
    for use in (
        cursor.fetchone,
        cursor.fetchmany,
        cursor.fetchall,
        lambda: cursor.execute("SHOW TABLES"),
    ):
        with pytest.raises(driver.Error):
            use()
    assert connection.execute("SHOW TABLES").fetchall() == [("cheese",)]


# ---- what transactions promise


@needs_java
def test_cursors_of_one_connection_are_not_isolated(reading: Connection) -> None:
    """What one cursor has written another of the same connection sees, committed or not."""
    one, other = reading.cursor(), reading.cursor()
    one.execute("INSERT INTO cheese VALUES ('Brie')")
    assert other.execute(ALL).fetchall() == [("Brie",)]


@needs_java
def test_connections_are_isolated(
    reading: Connection, connect: Connect, spark: SparkSession
) -> None:
    """Another connection sees nothing before the commit, and everything of it behind it, once its
    own transaction has ended.
    """
    other = connect(spark=spark)
    reading.execute("INSERT INTO cheese VALUES ('Brie')")
    assert names(other) == []
    reading.commit()
    assert names(other) == []
    other.rollback()
    assert names(other) == ["Brie"]


@needs_java
def test_a_rolled_back_insert_never_was(
    reading: Connection, connect: Connect, spark: SparkSession
) -> None:
    """Neither this connection nor another sees it; the next insert is not touched by it."""
    fill(reading.cursor())
    assert names(reading) == CHEESES
    reading.rollback()
    assert names(reading) == []
    reading.execute("INSERT INTO cheese VALUES ('Brie')")
    reading.commit()
    assert names(reading) == ["Brie"]
    assert names(connect(spark=spark)) == ["Brie"]


@needs_java
def test_closing_loses_what_was_not_committed(
    reading: Connection, connect: Connect, spark: SparkSession, warehouse: Path
) -> None:
    """An implicit rollback, which leaves no file either."""
    reading.execute("INSERT INTO cheese VALUES ('Brie')")
    reading.commit()
    reading.execute("INSERT INTO cheese VALUES ('Feta')")
    reading.execute("UPDATE cheese SET name = 'Gouda'")
    reading.close()
    assert names(connect(spark=spark)) == ["Brie"]
    assert [p.name for p in (warehouse / "cheese").iterdir()] == ["delta_0000001_0000001_0000"]


@needs_java
def test_with_commits(connect: Connect, spark: SparkSession) -> None:
    """The context manager commits and closes; an error that leaves it rolls back."""
    with connect(spark=spark) as writing:
        writing.execute(TABLE)
        writing.execute("INSERT INTO cheese VALUES ('Brie')")
    assert writing.closed
    failing = connect(spark=spark)

    def insert_and_fail() -> None:
        with failing:
            failing.execute("INSERT INTO cheese VALUES ('Feta')")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        insert_and_fail()
    assert failing.closed
    assert names(connect(spark=spark)) == ["Brie"]


@needs_java
def test_a_failing_statement_leaves_the_others(reading: Connection) -> None:
    """Only the statement that fails is undone; what stood before it can be committed."""
    reading.execute("INSERT INTO cheese VALUES ('Brie')")
    with pytest.raises(driver.Error):
        reading.execute("INSERT INTO cheese SELECT raise_error('sour') FROM cheese")
    with pytest.raises(driver.Error):
        reading.execute("INSERT INTO cheese VALUES ('Feta', 'Gouda')")
    reading.execute("INSERT INTO cheese VALUES ('Tilsiter')")
    reading.commit()
    assert names(reading) == ["Brie", "Tilsiter"]


@needs_java
def test_autocommit(reading: Connection, connect: Connect, spark: SparkSession) -> None:
    """Off at first; while it is on each statement is committed as it ends, and turning it on
    commits what is open.
    """
    other = connect(spark=spark, autocommit=True)
    assert (reading.autocommit, other.autocommit) == (False, True)
    reading.execute("INSERT INTO cheese VALUES ('Brie')")
    assert names(other) == []
    reading.autocommit = True
    assert names(other) == ["Brie"]
    reading.execute("INSERT INTO cheese VALUES ('Feta')")
    assert names(other) == ["Brie", "Feta"]
    reading.rollback()
    assert names(other) == ["Brie", "Feta"]


@needs_java
def test_changes_of_several_tables_are_committed_together(
    reading: Connection, connect: Connect, spark: SparkSession
) -> None:
    """One commit for all tables, whatever the statements: before it the other side sees nothing of
    any.
    """
    reading.execute(TABLE.replace("cheese", "cellar"))
    other = connect(spark=spark, autocommit=True)
    fill(reading.cursor())
    reading.execute("INSERT INTO cellar SELECT name FROM cheese WHERE name > 'G'")
    reading.execute("DELETE FROM cheese WHERE name > 'G'")
    both = "SELECT (SELECT count(*) FROM cheese), (SELECT count(*) FROM cellar)"
    assert other.execute(both).fetchone() == (0, 0)
    reading.commit()
    assert other.execute(both).fetchone() == (3, 3)


# ---- the cursor: what it says


@needs_java
def test_description(filled: Connection) -> None:
    """None where no rows come; else one sequence of seven for each column, name and type first."""
    cursor = filled.cursor()
    assert cursor.description is None
    cursor.execute("INSERT INTO cheese VALUES ('Edam')")
    assert cursor.description is None
    cursor.execute("SELECT name, length(name) AS width FROM cheese")
    assert cursor.description is not None
    assert [len(column) for column in cursor.description] == [7, 7]
    assert [column[0] for column in cursor.description] == ["name", "width"]
    assert cursor.description[0][1] == driver.STRING
    assert cursor.description[1][1] == driver.NUMBER
    assert cursor.description[0][1] != driver.NUMBER
    filled.rollback()
    cursor.execute(TABLE.replace("cheese", "other"))
    assert cursor.description is None


@needs_java
def test_rowcount(reading: Connection) -> None:
    """The rows a statement changed; -1 where there is no such number."""
    cursor = reading.cursor()
    assert cursor.rowcount == -1
    assert cursor.execute(TABLE.replace("cheese", "other")).rowcount == -1
    assert cursor.execute("INSERT INTO cheese VALUES ('Brie'), ('Feta'), ('Gouda')").rowcount == 3
    assert cursor.execute("UPDATE cheese SET name = upper(name) WHERE name > 'C'").rowcount == 2
    assert cursor.execute("DELETE FROM cheese WHERE name = 'FETA'").rowcount == 1
    assert cursor.execute("DELETE FROM cheese WHERE name = 'FETA'").rowcount == 0
    assert cursor.execute(ALL).rowcount in (-1, 2)


def test_there_are_no_procedures(connection: Connection) -> None:
    """The PEP's optional methods that mean nothing here are not there at all."""
    cursor = connection.cursor()
    assert not hasattr(cursor, "callproc")
    assert not hasattr(cursor, "nextset")


def test_arraysize(connection: Connection) -> None:
    """One row at first; it can be changed."""
    cursor = connection.cursor()
    assert cursor.arraysize == 1
    cursor.arraysize = 7
    assert cursor.arraysize == 7
    assert connection.cursor().arraysize == 1


def test_setinputsizes(connection: Connection) -> None:
    """Any sizes may be announced; the statement works as before."""
    cursor = connection.cursor()
    cursor.setinputsizes((25,))
    assert cursor.execute("INSERT INTO cheese VALUES (?)", ("Brie",)).rowcount == 1


def test_setoutputsize(connection: Connection) -> None:
    """For all columns or for one."""
    cursor = connection.cursor()
    cursor.setoutputsize(1000)
    cursor.setoutputsize(2000, 0)
    assert cursor.execute("SHOW TABLES").fetchall() == [("cheese",)]


# ---- the cursor: running statements


@needs_java
def test_execute(reading: Connection) -> None:
    """With and without parameters; a value is never read as SQL."""
    cursor = reading.cursor()
    cursor.execute("INSERT INTO cheese VALUES ('Brie')")
    cursor.execute("INSERT INTO cheese VALUES (?)", ("it's ?; --",))
    cursor.execute("INSERT INTO cheese VALUES (?)", ["Feta"])
    assert names(reading) == ["Brie", "Feta", "it's ?; --"]
    for wrong in ((), ("Brie", "Feta")):
        with pytest.raises(driver.ProgrammingError):
            cursor.execute("INSERT INTO cheese VALUES (?)", wrong)


@needs_java
def test_executemany(reading: Connection) -> None:
    """Once for each sequence of parameters; the counts are added up."""
    cursor = reading.cursor()
    cursor.executemany("INSERT INTO cheese VALUES (?)", [("Feta",), ("Brie",)])
    assert cursor.rowcount == 2
    assert names(reading) == ["Brie", "Feta"]
    cursor.executemany("DELETE FROM cheese WHERE name = ?", [("Feta",), ("Brie",), ("Edam",)])
    assert cursor.rowcount == 2
    assert names(reading) == []


@needs_java
def test_executemany_belongs_to_the_transaction(reading: Connection) -> None:
    """What went well before a failure stays with the open transaction: to be committed or taken
    back.
    """
    cursor = reading.cursor()
    cursor.executemany("INSERT INTO cheese VALUES (?)", [("Brie",), ("Feta",)])
    with pytest.raises(driver.Error):
        cursor.executemany(
            "UPDATE cheese SET name = if(? = name, 'Edam', raise_error('sour')) WHERE name = ?",
            [("Brie", "Brie"), ("?", "Feta")],
        )
    assert names(reading) == ["Edam", "Feta"]
    reading.rollback()
    assert names(reading) == []


# ---- the cursor: fetching


@needs_java
def test_fetching_without_a_query(reading: Connection) -> None:
    """Before any statement, and behind one that gives no rows, fetching is an error."""
    cursor = reading.cursor()
    for prepare in (lambda: None, lambda: cursor.execute("INSERT INTO cheese VALUES ('Brie')")):
        prepare()
        for fetch in (
            cursor.fetchone,
            cursor.fetchmany,
            lambda: cursor.fetchmany(4),
            cursor.fetchall,
        ):
            with pytest.raises(driver.Error):
                fetch()


@needs_java
def test_a_query_without_rows(reading: Connection) -> None:
    """None and empty lists, as often as they are asked for."""
    cursor = reading.execute(ALL)
    assert cursor.rowcount in (-1, 0)
    assert [cursor.fetchone(), cursor.fetchone()] == [None, None]
    assert [cursor.fetchmany(), cursor.fetchmany(3), cursor.fetchall(), cursor.fetchall()] == [
        [],
        [],
        [],
        [],
    ]


@needs_java
def test_fetchone(filled: Connection) -> None:
    """Row by row; None behind the last."""
    cursor = filled.execute("SELECT name FROM cheese WHERE name < 'C'")
    row = cursor.fetchone()
    assert row is not None
    assert len(row) == 1
    assert row[0] == "Brie"
    assert cursor.fetchone() is None
    assert cursor.rowcount in (-1, 1)


@needs_java
def test_fetchmany(filled: Connection) -> None:
    """As many as ``arraysize`` or the argument says, fewer at the end, then none."""
    cursor = filled.execute(ALL)
    assert cursor.fetchmany() == [("Brie",)]
    cursor.arraysize = 10
    assert [name for (name,) in cursor.fetchmany(3)] == CHEESES[1:4]
    assert [name for (name,) in cursor.fetchmany(4)] == CHEESES[4:]
    assert cursor.fetchmany(4) == []
    assert [name for (name,) in cursor.execute(ALL).fetchmany()] == CHEESES
    cursor.arraysize = 4
    assert [
        len(cursor.execute(ALL).fetchmany()),
        len(cursor.fetchmany()),
        len(cursor.fetchmany()),
    ] == [4, 2, 0]
    cursor.arraysize = 6
    assert len(cursor.execute(ALL).fetchmany()) == len(CHEESES)


@needs_java
def test_fetchall(filled: Connection) -> None:
    """Everything that is left, whatever ``arraysize`` says."""
    cursor = filled.execute(ALL)
    cursor.arraysize = 2
    assert [name for (name,) in cursor.fetchall()] == CHEESES
    assert cursor.fetchall() == []


@needs_java
def test_mixed_fetches(filled: Connection) -> None:
    """The ways of fetching go on where the last one stopped."""
    cursor = filled.execute(ALL)
    first, some, one, rest = (
        cursor.fetchone(),
        cursor.fetchmany(2),
        cursor.fetchone(),
        cursor.fetchall(),
    )
    assert [len(some), len(rest)] == [2, 2]
    assert [row[0] for row in (first, *some, one, *rest) if row is not None] == CHEESES


@needs_java
def test_iterating(filled: Connection) -> None:
    """The optional extension: a cursor is an iterator over the rows that are left."""
    cursor = filled.execute(ALL)
    assert next(cursor) == ("Brie",)
    assert [name for (name,) in cursor] == CHEESES[1:]
    with pytest.raises(StopIteration):
        next(cursor)


@needs_java
def test_none(reading: Connection) -> None:
    """None is NULL, going in and coming out."""
    reading.execute("INSERT INTO cheese VALUES (?)", (None,))
    assert reading.execute(ALL).fetchone() == (None,)


# ---- types


def test_date() -> None:
    """From a year, a month and a day; from ticks the same."""
    assert driver.Date(2002, 12, 25) == driver.DateFromTicks(
        time.mktime((2002, 12, 25, 0, 0, 0, 0, 0, 0))
    )
    assert str(driver.Date(2002, 12, 25)) == "2002-12-25"


def test_time() -> None:
    """From hour, minute and second; from ticks the same."""
    assert driver.Time(13, 45, 30) == driver.TimeFromTicks(
        time.mktime((2001, 1, 1, 13, 45, 30, 0, 0, 0))
    )
    assert str(driver.Time(13, 45, 30)) == "13:45:30"


def test_timestamp() -> None:
    """From both together; from ticks the same."""
    assert driver.Timestamp(2002, 12, 25, 13, 45, 30) == driver.TimestampFromTicks(
        time.mktime((2002, 12, 25, 13, 45, 30, 0, 0, 0))
    )
    assert isinstance(driver.Timestamp(2002, 12, 25, 13, 45, 30), datetime.datetime)


def test_binary() -> None:
    """From bytes, the empty ones too."""
    assert [driver.Binary(b"Something"), driver.Binary(b"")] == [b"Something", b""]


@pytest.mark.parametrize("name", ["STRING", "BINARY", "NUMBER", "DATETIME", "ROWID"])
def test_type_objects(name: str) -> None:
    """The five kinds of columns, each unlike the others."""
    kind = getattr(driver, name)
    assert [
        other
        for other in ("STRING", "BINARY", "NUMBER", "DATETIME", "ROWID")
        if getattr(driver, other) == kind
    ] == [name]
