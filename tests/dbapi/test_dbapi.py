"""What PEP 249 promises, clause by clause."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import acidsql
from acidsql import dbapi
from acidsql.dbapi import Connection
from acidsql.parser.parameters import many_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CREATE = "CREATE TABLE t (id INT, name STRING, amount DECIMAL(10,2)) STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture
def connection(warehouse: Path) -> Iterator[Connection]:
    """A connection that needs no Spark, with an empty table ``t``."""
    with acidsql.connect(warehouse) as opened:
        opened.execute(CREATE)
        yield opened


@pytest.mark.parametrize("module", [acidsql, dbapi])
def test_the_module_says_what_it_is(module: object) -> None:
    """The three globals, the constructors, type objects and errors are where PEP 249 puts them."""
    assert (module.apilevel, module.threadsafety, module.paramstyle) == ("2.0", 1, "qmark")  # type: ignore[attr-defined]
    names = "connect Date Time Timestamp DateFromTicks TimeFromTicks TimestampFromTicks Binary STRING BINARY NUMBER DATETIME ROWID"
    assert all(hasattr(module, name) for name in names.split())


def test_the_error_tree_is_pep_249s() -> None:
    """Each class stands under the parent the PEP gives it."""
    assert issubclass(acidsql.Warning, Exception)
    assert issubclass(acidsql.Error, Exception)
    assert not issubclass(acidsql.Warning, acidsql.Error)
    assert acidsql.InterfaceError.__bases__ == (acidsql.Error,)
    assert acidsql.DatabaseError.__bases__ == (acidsql.Error,)
    for child in "DataError OperationalError IntegrityError InternalError ProgrammingError NotSupportedError".split():
        assert getattr(acidsql, child).__bases__ == (acidsql.DatabaseError,)


def test_a_connection_carries_the_errors(connection: Connection) -> None:
    """Code that has only a connection can catch its errors."""
    for name in "Warning Error InterfaceError DatabaseError DataError OperationalError IntegrityError InternalError".split():
        assert getattr(connection, name) is getattr(acidsql, name)
    assert connection.ProgrammingError is acidsql.ProgrammingError
    assert connection.NotSupportedError is acidsql.NotSupportedError
    with pytest.raises(connection.ProgrammingError):
        connection.execute("DESCRIBE nothing")


def test_the_constructors_make_python_values() -> None:
    """Dates, times and binary from parts and from ticks."""
    assert acidsql.Date(2024, 2, 29) == datetime.date(2024, 2, 29)
    assert acidsql.Time(1, 2, 3) == datetime.time(1, 2, 3)
    assert acidsql.Timestamp(2024, 2, 29, 1, 2, 3) == datetime.datetime(2024, 2, 29, 1, 2, 3)
    assert acidsql.Binary(b"\x00\xff") == b"\x00\xff"
    moment = datetime.datetime(2024, 2, 29, 1, 2, 3)
    ticks = time.mktime(moment.timetuple())
    assert acidsql.TimestampFromTicks(ticks) == moment
    assert acidsql.DateFromTicks(ticks) == moment.date()
    assert acidsql.TimeFromTicks(ticks) == moment.time()


@pytest.mark.parametrize(
    ("type_text", "kind"),
    [
        ("string", "STRING"),
        ("varchar(7)", "STRING"),
        ("array<int>", "STRING"),
        ("decimal(10,2)", "NUMBER"),
        ("bigint", "NUMBER"),
        ("timestamp", "DATETIME"),
        ("binary", "BINARY"),
        ("struct<writeid:bigint,bucketid:int,rowid:bigint>", "ROWID"),
        ("struct<a:int>", "STRING"),
    ],
)
def test_every_type_equals_one_type_object(type_text: str, kind: str) -> None:
    """A type code equals the object of its kind, from either side, and no other."""
    equal = [
        o
        for o in (acidsql.STRING, acidsql.NUMBER, acidsql.DATETIME, acidsql.BINARY, acidsql.ROWID)
        if o == type_text
    ]
    assert [o.name for o in equal] == [kind]
    assert type_text == getattr(acidsql, kind)
    assert len({acidsql.STRING, acidsql.NUMBER, acidsql.STRING}) == 2


def test_a_new_cursor_knows_nothing_yet(connection: Connection) -> None:
    """No description, no row count, nothing to fetch."""
    cursor = connection.cursor()
    assert cursor.description is None
    assert cursor.rowcount == -1
    assert cursor.arraysize == 1
    assert cursor.connection is connection
    for fetch in (cursor.fetchone, cursor.fetchmany, cursor.fetchall):
        with pytest.raises(acidsql.Error):
            fetch()


def test_the_description_has_seven_things_a_column(connection: Connection) -> None:
    """Name and type code first; a statement without rows has no description."""
    cursor = connection.cursor()
    cursor.execute("SHOW DATABASES")
    assert cursor.description is not None
    assert [len(column) for column in cursor.description] == [7]
    assert cursor.description[0][0] == "database_name"
    assert cursor.description[0][1] == acidsql.STRING
    cursor.execute("INSERT INTO t VALUES (1, 'a', 1.5)")
    assert cursor.description is None
    with pytest.raises(acidsql.Error):
        cursor.fetchone()


def test_rowcount_counts_changed_rows(connection: Connection) -> None:
    """DML counts; for anything else the number is not known."""
    cursor = connection.cursor()
    assert cursor.execute("INSERT INTO t VALUES (1, 'a', 1.5), (2, NULL, NULL)").rowcount == 2
    assert cursor.execute("SHOW TABLES").rowcount == -1
    connection.commit()
    assert cursor.execute("CREATE DATABASE d").rowcount == -1


def test_fetching(connection: Connection) -> None:
    """One row, some rows, the rest; then None and empty lists."""
    for name in "bcde":
        connection.execute(f"CREATE DATABASE {name}")
    cursor = connection.cursor()
    cursor.execute("SHOW DATABASES")
    assert cursor.fetchone() == ("b",)
    assert cursor.fetchmany() == [("c",)]
    assert cursor.fetchmany(2) == [("d",), ("default",)]
    assert cursor.rownumber == 4
    assert cursor.fetchmany(0) == []
    assert cursor.fetchall() == [("e",)]
    assert cursor.fetchone() is None
    assert cursor.fetchmany(3) == []
    assert cursor.fetchall() == []
    cursor.arraysize = 3
    assert len(cursor.execute("SHOW DATABASES").fetchmany()) == 3


def test_a_cursor_can_be_iterated(connection: Connection) -> None:
    """``for row in cursor.execute(..)``."""
    assert list(connection.cursor().execute("SHOW DATABASES")) == [("default",)]
    assert list(connection.execute("SHOW TABLES")) == [("t",)]


def test_cursors_see_each_others_changes(connection: Connection) -> None:
    """Two cursors of one connection are not isolated, and their rows do not mix."""
    one, other = connection.cursor(), connection.cursor()
    one.execute("SHOW DATABASES")
    other.execute("CREATE DATABASE seen")
    assert one.fetchall() == [("default",)]
    assert one.execute("SHOW DATABASES LIKE 's*'").fetchall() == [("seen",)]


def test_each_statement_has_an_id_of_its_own(connection: Connection) -> None:
    """query_id tells executions apart."""
    cursor = connection.cursor()
    assert cursor.query_id is None
    ids = {cursor.execute("SHOW TABLES").query_id for _ in range(3)}
    assert len(ids) == 3
    assert None not in ids


def test_parameters_are_values_never_sql(connection: Connection) -> None:
    """A quote, a semicolon or a question mark in a value stays a value."""
    nasty = "it's; DROP TABLE t -- ? \\"
    assert (
        connection.execute("INSERT INTO t VALUES (?, ?, ?)", (1, nasty, Decimal("1.50"))).rowcount
        == 1
    )
    assert list(connection.execute("SHOW TABLES")) == [("t",)]
    with pytest.raises(acidsql.ProgrammingError):
        connection.execute("INSERT INTO t VALUES (?, ?, ?)", (1,))
    with pytest.raises(acidsql.ProgrammingError, match="sequence"):
        connection.execute("INSERT INTO t VALUES (?, ?, ?)", {"id": 1})


def test_parameters_may_be_named(connection: Connection) -> None:
    """A mapping fills :name, in execute and executemany, which still inserts in one statement."""
    cursor = connection.cursor()
    row = {"name": "it's :id", "id": 1}
    assert cursor.execute("INSERT INTO t (id, name) VALUES (:id, :name)", row).rowcount == 1
    rows = [{"id": number, "name": None} for number in range(2, 12)]
    assert cursor.executemany("INSERT INTO t (id, name) VALUES (:id, :name)", rows).rowcount == 10
    assert cursor.result is not None
    assert len(cursor.result.stats.directories) == 1
    with pytest.raises(acidsql.ProgrammingError, match=r'^row 2: there is no value for ":name"'):
        cursor.executemany("INSERT INTO t (id, name) VALUES (:id, :name)", [row, {"id": 3}])
    with pytest.raises(acidsql.ProgrammingError, match='no marker ":typo"'):
        cursor.execute("INSERT INTO t (id) VALUES (:id)", {"id": 1, "typo": 2})


@pytest.mark.parametrize("params", ["ab", b"ab", {1, 2}, iter((1, 2)), 5])
def test_what_fills_no_markers_is_refused(connection: Connection, params: Any) -> None:
    """A text's letters and a set's items are no values one after the other; executemany runs
    nothing then.
    """
    text = "INSERT INTO t (id, name) VALUES (?, ?)"
    with pytest.raises(acidsql.ProgrammingError, match="sequence or a mapping"):
        connection.execute(text, params)
    for operation in (text, "INSERT INTO t (id, name) SELECT ?, ?"):
        with pytest.raises(acidsql.ProgrammingError, match="sequence or a mapping"):
            connection.cursor().executemany(operation, [(1, "a"), params])
    assert not connection.session.in_transaction


def test_no_values_are_too_few(connection: Connection) -> None:
    """An empty sequence or mapping is counted as any other; without one nothing is read as a
    marker.
    """
    for params in ((), {}):
        with pytest.raises(acidsql.ProgrammingError, match="marker"):
            connection.execute("INSERT INTO t (id) VALUES (?)", params)
    assert connection.execute("SET x=it's :me", ()).rowcount == -1
    assert connection.execute("SET x=it's :me ?").rowcount == -1


@pytest.mark.spark
def test_lists_and_names_in_queries(connection: Connection) -> None:
    """IN takes a list; NULL in it means what it means in SQL."""
    cursor = connection.cursor()
    cursor.executemany("INSERT INTO t (id, name) VALUES (?, ?)", [(1, "a"), (2, "b"), (3, None)])
    assert sorted(
        cursor.execute("SELECT id FROM t WHERE name IN (:names)", {"names": ["a", "b", None]})
    ) == [(1,), (2,)]
    assert list(cursor.execute("SELECT id FROM t WHERE name NOT IN (?)", [("a", None)])) == []
    cursor.executemany(
        "UPDATE t SET name = :name WHERE id IN (:ids)",
        [{"ids": [1, 3], "name": "x"}, {"ids": (2,), "name": "y"}],
    )
    assert cursor.rowcount == 3
    assert sorted(cursor.execute("SELECT * FROM t").fetchall()) == [
        (1, "x", None),
        (2, "y", None),
        (3, "x", None),
    ]


def test_executemany_inserts_in_one_statement(connection: Connection) -> None:
    """Many rows of one INSERT are one transaction."""
    cursor = connection.cursor()
    cursor.executemany("INSERT INTO t (id, name) VALUES (?, ?)", [(i, f"n{i}") for i in range(100)])
    assert cursor.rowcount == 100
    assert cursor.result is not None
    assert cursor.result.stats.txn_id == 1
    assert cursor.executemany("INSERT INTO t (id) VALUES (?)", [(1,)]).rowcount == 1
    assert cursor.executemany("INSERT INTO t (id) VALUES (?)", []).rowcount == 0


def test_executemany_wants_rows_of_one_length(connection: Connection) -> None:
    """A short row cannot borrow a value from the next one."""
    with pytest.raises(
        acidsql.ProgrammingError, match=r"^row 2: .* 2 parameter markers, but 1 value was given"
    ):
        connection.cursor().executemany(
            "INSERT INTO t (id, name) VALUES (?, ?)", [(1, "a"), (2,), (3, "c", 4)]
        )


def test_executemany_is_not_for_queries(connection: Connection) -> None:
    """Rows that nobody could fetch are refused."""
    with pytest.raises(acidsql.ProgrammingError, match="no rows"):
        connection.cursor().executemany("SHOW DATABASES", [(), ()])


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        ("INSERT INTO t VALUES (?, 'x') ;", "INSERT INTO t VALUES (1, 'x'), (2, 'x') ;"),
        (
            "insert into t (a) values(? -- one\n)",
            "insert into t (a) values(1 -- one\n),(2 -- one\n)",
        ),
        ("INSERT INTO t VALUES /* ( */ (?)", "INSERT INTO t VALUES /* ( */ (1), /* ( */ (2)"),
        ("INSERT INTO t VALUES (?), (?)", None),
        ("INSERT INTO t SELECT ?", None),
        ("UPDATE t SET a = ?", None),
    ],
)
def test_only_an_insert_of_one_row_is_multiplied(operation: str, text: str | None) -> None:
    """One row of markers becomes several; anything else stays as it is."""
    assert many_rows(operation, [(1,), (2,)]) == text
    assert many_rows(operation.replace("?", ":a"), [{"a": 1}, {"a": 2}]) == text


@pytest.mark.parametrize("autocommit", [False, True])
def test_ddl_takes_effect_at_once(
    warehouse: Path, connection: Connection, autocommit: bool
) -> None:
    """Another connection sees it before any commit, and rolling back does not take it back."""
    connection.autocommit = autocommit
    connection.execute("CREATE DATABASE d")
    connection.rollback()
    connection.commit()
    with acidsql.connect(warehouse) as other:
        assert list(other.execute("SHOW DATABASES LIKE 'd'")) == [("d",)]


def test_ddl_cannot_be_mixed_into_changes(connection: Connection) -> None:
    """Behind a change that is not committed it is refused, as it could not be rolled back; the
    change is still there to be committed.
    """
    connection.execute("INSERT INTO t (id) VALUES (1)")
    with pytest.raises(
        acidsql.ProgrammingError, match="CREATE DATABASE is not allowed in a transaction"
    ):
        connection.execute("CREATE DATABASE d")
    connection.commit()
    connection.execute("CREATE DATABASE d")
    assert connection.execute("INSERT INTO t (id) VALUES (1)").result.stats.write_ids == {
        "default.t": 2
    }  # type: ignore[union-attr]


def test_statements_share_a_transaction_until_the_commit(connection: Connection) -> None:
    """With autocommit off, as at first, statements have one transaction id; with it on each has its
    own.
    """
    assert connection.autocommit is False

    def txn_id() -> int | None:
        result = connection.execute("INSERT INTO t (id) VALUES (1)").result
        assert result is not None
        return result.stats.txn_id

    assert [txn_id(), txn_id()] == [1, 1]
    connection.commit()
    assert [txn_id(), txn_id()] == [2, 2]
    connection.rollback()
    connection.autocommit = True
    assert connection.autocommit is True
    assert [txn_id(), txn_id()] == [3, 4]


def test_turning_autocommit_on_commits(warehouse: Path, connection: Connection) -> None:
    """What was open is committed; ``connect`` can ask for it from the start."""
    connection.execute("INSERT INTO t (id) VALUES (1)")
    assert connection.session.in_transaction
    connection.autocommit = True
    assert not connection.session.in_transaction
    assert [p.name for p in (warehouse / "t").iterdir()] == ["delta_0000001_0000001_0000"]
    with acidsql.connect(warehouse, autocommit=True) as other:
        other.execute("INSERT INTO t (id) VALUES (2)")
        assert not other.session.in_transaction
    assert {p.name for p in (warehouse / "t").iterdir()} == {
        "delta_0000001_0000001_0000",
        "delta_0000002_0000002_0000",
    }


def test_transactions_in_sql(connection: Connection) -> None:
    """COMMIT and ROLLBACK can be statements as well; START TRANSACTION has nothing to start where
    one is always open.
    """
    connection.execute("INSERT INTO t (id) VALUES (1)")
    with pytest.raises(acidsql.Error, match="open already"):
        connection.execute("START TRANSACTION")
    connection.execute("COMMIT")
    assert not connection.session.in_transaction
    connection.execute("START TRANSACTION READ ONLY")
    with pytest.raises(acidsql.ProgrammingError, match="READ ONLY"):
        connection.execute("INSERT INTO t (id) VALUES (1)")
    connection.execute("ROLLBACK")
    assert connection.execute("SET AUTOCOMMIT TRUE").rowcount == -1
    assert connection.autocommit


def test_what_is_closed_stays_closed(connection: Connection) -> None:
    """Every use of a closed cursor or connection is an InterfaceError; closing again is none."""
    cursor = connection.execute("SHOW TABLES")
    cursor.close()
    cursor.close()
    for use in (
        cursor.fetchall,
        cursor.fetchone,
        lambda: cursor.execute("SHOW TABLES"),
        lambda: cursor.executemany("SHOW TABLES", []),
    ):
        with pytest.raises(acidsql.InterfaceError):
            use()
    left_open = connection.cursor()
    assert not connection.closed
    connection.close()
    connection.close()
    assert connection.closed
    for use in (
        connection.cursor,
        connection.commit,
        connection.rollback,
        lambda: left_open.execute("SHOW TABLES"),
    ):
        with pytest.raises(acidsql.InterfaceError):
            use()


def test_sizes_are_taken_and_ignored(connection: Connection) -> None:
    """setinputsizes and setoutputsize are there."""
    cursor = connection.cursor()
    cursor.setinputsizes([None, 10])
    cursor.setoutputsize(1000)
    cursor.setoutputsize(1000, 1)


def test_with_closes(warehouse: Path) -> None:
    """The context manager of a connection and of a cursor close them, whatever happens inside."""
    connection = acidsql.connect(warehouse)
    with pytest.raises(ZeroDivisionError), connection, connection.cursor() as cursor:
        raise ZeroDivisionError
    assert connection.closed
    with pytest.raises(acidsql.InterfaceError):
        cursor.fetchall()


def test_settings_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The warehouse may come from the environment; settings are given by name, and a wrong one is
    refused.
    """
    monkeypatch.setenv("ACIDSQL_WAREHOUSE", str(tmp_path / "from_env"))
    with acidsql.connect(
        **{"acidsql.write.path": "big", "hive.cli.print.header": True}
    ) as connection:
        assert list(connection.execute("SET acidsql.write.path")) == [("acidsql.write.path=big",)]
        assert connection.session.settings.flag("hive.cli.print.header")
    assert (tmp_path / "from_env").is_dir()
    with pytest.raises(acidsql.ProgrammingError):
        acidsql.connect(tmp_path / "other", **{"acidsql.write.paht": "big"})


def test_what_connect_has_no_parameter_for_is_refused(tmp_path: Path) -> None:
    """A misspelt word is no setting of that name; settings may also be one mapping."""
    with pytest.raises(acidsql.InterfaceError, match='connect has no parameter "user"'):
        acidsql.connect(tmp_path / "w", user="ann")
    with acidsql.connect(tmp_path / "w", settings={"acidsql.retries": 3}) as connection:
        assert connection.session.settings.number("acidsql.retries") == 3


@pytest.mark.spark
def test_values_come_back_as_they_went(warehouse: Path, spark: SparkSession) -> None:
    """Every type of parameter makes the round trip through a table, and the description tells the
    types.
    """
    row = (
        7,
        "it's ${env:HOME}",
        Decimal("1.50"),
        2.5,
        True,
        b"\x00\xff",
        datetime.date(2024, 2, 29),
        datetime.datetime(2024, 2, 29, 1, 2, 3, 500000),
    )
    with acidsql.connect(warehouse, spark=spark) as connection:
        connection.execute(
            "CREATE TABLE v (i INT, s STRING, n DECIMAL(10,2), d DOUBLE, b BOOLEAN, x BINARY, dt DATE, ts TIMESTAMP) "
            "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
        )
        connection.cursor().executemany(
            "INSERT INTO v VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [row, (None,) * 8]
        )
        cursor = connection.execute(
            "SELECT * FROM v WHERE i = ? OR i IS NULL ORDER BY i DESC", (7,)
        )
        assert cursor.description is not None
        assert [c[1] for c in cursor.description] == [
            "int",
            "string",
            "decimal(10,2)",
            "double",
            "boolean",
            "binary",
            "date",
            "timestamp",
        ]
        assert cursor.description[2][4:6] == (10, 2)
        assert cursor.fetchall() == [row, (None,) * 8]
        assert connection.execute("UPDATE v SET s = ? WHERE i = ?", ("changed", 7)).rowcount == 1
        assert connection.execute("DELETE FROM v WHERE i = ?", (8,)).rowcount == 0
        assert connection.execute("SELECT s FROM v WHERE i = 7").fetchone() == ("changed",)
