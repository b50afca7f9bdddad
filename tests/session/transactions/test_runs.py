"""Work under a run id is committed once: however its process ends, and whoever tries it again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql import crash_points
from acidsql.catalog.model import TableName
from acidsql.dbapi import connect
from acidsql.errors import (
    BindError,
    InterfaceError,
    NotRecordableError,
    ProgrammingError,
    RunCommittedError,
)
from acidsql.session import Session
from acidsql.txn.runs import digest_of
from tests.session.transactions.crashes import killed

TABLE = "CREATE TABLE t (id INT, name STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
PLAIN = "CREATE TABLE p (id INT) STORED AS ORC"
INSERT = "INSERT INTO t VALUES (1, 'a'), (2, 'b')"


@pytest.fixture
def here(warehouse: Path) -> Iterator[Session]:
    """A session that needs no Spark, with an empty table."""
    with Session(str(warehouse), settings={"acidsql.engine": "local"}) as session:
        session.sql(TABLE)
        yield session


def rows_of(session: Session, name: str) -> list[tuple[object, ...]]:
    """The rows that anybody sees now, sorted."""
    with session.open_beside() as beside:
        rows = sorted(beside.sql(f"SELECT * FROM {name}").rows())
        assert not beside.spark_started
    return rows


@pytest.mark.processes
@pytest.mark.parametrize(
    ("point", "committed"), [("written", False), ("commit prepared", False), ("committed", True)]
)
def test_a_process_that_is_killed_around_its_commit(
    here: Session, warehouse: Path, point: str, committed: bool
) -> None:
    """Whoever runs the work again finds its rows there once, whether the commit had taken place."""
    assert killed(warehouse, point, INSERT, run_id="load")
    assert (here.find_run("load") is not None) is committed
    try:
        here.sql(INSERT, run_id="load")
        assert not committed
    except RunCommittedError:
        assert committed
    assert rows_of(here, "t") == [(1, "a"), (2, "b")]
    with pytest.raises(RunCommittedError):
        here.sql(INSERT, run_id="load")


def test_what_is_on_record(here: Session) -> None:
    """The counts of all statements of the transaction, its write ids, and their digest."""
    here.sql(TABLE.replace("TABLE t (id INT, name STRING)", "TABLE u (id INT)"))
    here.sql(INSERT)
    with here.transaction(run_id="load"):
        here.sql("SELECT * FROM t")
        here.sql("INSERT INTO u VALUES (?)", [3])
        stats = here.sql("INSERT INTO t VALUES (4, 'd'), (5, 'e')").stats
    run = here.find_run("load")
    assert run is not None
    assert (run.rows_inserted, run.rows_updated, run.rows_deleted) == (3, 0, 0)
    assert run.write_ids == {"default.t": stats.write_ids["default.t"], "default.u": 1}
    assert run.txn_id == stats.txn_id
    texts = [
        "INSERT INTO u VALUES (3)",
        "INSERT INTO t VALUES (4, 'd'), (5, 'e')",
    ]
    assert run.digest == digest_of(texts)
    assert not here.spark_started
    assert digest_of(["ab"]) != digest_of(["a", "b"])


def test_a_transaction_that_was_committed_before_does_not_begin(here: Session) -> None:
    """Nothing of its body is carried out, and the session is free for another."""
    here.sql(INSERT, run_id="load")
    with (
        pytest.raises(RunCommittedError, match='run "load" was committed before') as caught,
        here.transaction(run_id="load"),
    ):
        raise AssertionError
    assert caught.value.txn_id == here.find_run("load").txn_id  # type: ignore[union-attr]
    assert not here.in_transaction
    with here.transaction(run_id="another load"):
        here.sql("INSERT INTO t VALUES (3, 'c')")
    assert len(rows_of(here, "t")) == 3


def test_two_attempts_side_by_side(here: Session) -> None:
    """The one that commits late is rolled back, files and all, and is told so."""
    with here.open_beside() as other:
        here.begin(run_id="load")
        here.sql(INSERT)
        with other.transaction(run_id="load"):
            other.sql(INSERT)
        with pytest.raises(RunCommittedError):
            here.commit()
    assert not here.in_transaction
    assert rows_of(here, "t") == [(1, "a"), (2, "b")]


def test_statements_that_change_no_row_are_on_record(here: Session) -> None:
    """What found nothing to change is not to find something later; a query alone leaves none."""
    here.sql("DELETE FROM t WHERE id = 1", run_id="tidy")
    here.sql(INSERT)
    with pytest.raises(RunCommittedError):
        here.sql("DELETE FROM t WHERE id = 1", run_id="tidy")
    with here.transaction(run_id="look"):
        here.sql("SELECT * FROM t")
    assert here.find_run("look") is None


def test_a_run_that_fails_or_is_rolled_back_may_be_tried_again(here: Session) -> None:
    """A failed statement, ROLLBACK and an error of the program's leave nothing on record."""

    def fail(point: str) -> None:
        if point == "written":
            raise OSError("no space left")

    crash_points.hook = fail
    try:
        with pytest.raises(OSError, match="no space left"):
            here.sql(INSERT, run_id="load")
    finally:
        crash_points.hook = None
    here.begin(run_id="load")
    here.sql(INSERT)
    here.rollback()
    with pytest.raises(ZeroDivisionError), here.transaction(run_id="load"):
        here.sql(f"{INSERT}, ({1 // len(rows_of(here, 't'))}, '')")
    here.sql(INSERT, run_id="load")
    assert len(rows_of(here, "t")) == 2


def test_a_run_id_is_for_one_transaction(here: Session) -> None:
    """What follows its commit is not recorded."""
    with here.transaction(run_id="load"):
        here.sql(INSERT)
    here.sql("INSERT INTO t VALUES (3, 'c')")
    with here.transaction():
        here.sql("INSERT INTO t VALUES (4, 'd')")
    assert len(rows_of(here, "t")) == 4


def test_retries_of_one_statement_are_one_run(here: Session) -> None:
    """A statement that lost a row to another is run again under its run id."""
    here.sql(INSERT)
    here.sql("SET acidsql.retries=1")
    others = iter([True])

    def change(point: str) -> None:
        if point == "written" and next(others, False):
            crash_points.hook = None
            with here.open_beside() as other:
                other.sql("UPDATE t SET name = 'other' WHERE id = 1")

    crash_points.hook = change
    try:
        result = here.sql("UPDATE t SET name = concat(name, '!') WHERE id = 1", run_id="shout")
    finally:
        crash_points.hook = None
    assert "run again 1 time" in str(result.warnings[0])
    assert rows_of(here, "t")[0] == (1, "other!")
    run = here.find_run("shout")
    assert run is not None
    assert (run.rows_updated, run.txn_id) == (1, result.stats.txn_id)


def test_the_run_of_a_connection_without_autocommit(warehouse: Path) -> None:
    """Has the next commit recorded: DDL that takes effect at once may come before."""
    with connect(warehouse) as connection:
        connection.session.record_run("load")
        connection.execute(TABLE)
        with pytest.raises(InterfaceError, match="has a run id"):
            connection.session.record_run("another")
        connection.execute(INSERT)
        connection.commit()
        connection.execute("INSERT INTO t VALUES (3, 'c')")
        with pytest.raises(InterfaceError, match="has changed rows already"):
            connection.session.record_run("late")
        connection.rollback()
        with pytest.raises(RunCommittedError):
            connection.session.record_run("load")
        assert rows_of(connection.session, "t") == [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("SELECT 1", "QUERY"),
        ("CREATE TABLE u (id INT)", "CREATETABLE"),
        ("INSERT INTO p VALUES (1)", "INSERT"),
        ("START TRANSACTION", "START TRANSACTION"),
        ("SET acidsql.retries=1", "SET"),
        ("EXPLAIN INSERT INTO t VALUES (1, 'a')", "EXPLAIN"),
    ],
)
def test_what_has_no_commit_to_be_recorded_with(here: Session, statement: str, name: str) -> None:
    """Is refused under a run id, before it does anything."""
    here.sql(PLAIN)
    with pytest.raises(NotRecordableError, match="cannot be recorded as a run"):
        here.sql(statement, run_id="load")
    assert here.store.find_table(TableName("default", "u")) is None
    assert here.settings.text("acidsql.retries") == "0"
    assert here.find_run("load") is None
    assert not here.in_transaction
    assert rows_of(here, "p") == []


def test_rows_that_could_not_be_rolled_back(here: Session) -> None:
    """A table without transactions is refused in a run even where a transaction allows it."""
    here.sql(PLAIN)
    here.sql("SET acidsql.plain.in.transaction=warn")
    with (
        pytest.raises(BindError, match="not allowed in a transaction"),
        here.transaction(run_id="load"),
    ):
        here.sql("INSERT INTO p VALUES (1)")
    assert rows_of(here, "p") == []


def test_loaded_files_are_a_run(here: Session, warehouse: Path, tmp_path: Path) -> None:
    """LOAD DATA, which no open transaction takes, has its run; the second is no error about
    files that are gone.
    """
    source = tmp_path / "rows.csv"
    source.write_text("1,a\n")
    here.sql(
        "CREATE TABLE text_t (id INT, name STRING) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' STORED AS TEXTFILE"
    )
    here.sql(f"LOAD DATA LOCAL INPATH '{source}' INTO TABLE text_t")
    (file,) = (warehouse / "text_t").iterdir()
    landing = tmp_path / "landing"
    landing.mkdir()
    here.sql("CREATE TABLE orc_t (id INT, name STRING) STORED AS ORC")
    here.sql(INSERT.replace("INTO t", "INTO orc_t"))
    for file in (warehouse / "orc_t").iterdir():
        file.rename(landing / "part-0.orc")
    load = f"LOAD DATA INPATH '{landing}' INTO TABLE t"
    here.sql(load, run_id="load")
    with pytest.raises(RunCommittedError):
        here.sql(load, run_id="load")
    assert rows_of(here, "t") == [(1, "a"), (2, "b")]


def test_one_statement_of_a_transaction_has_no_run_of_its_own(here: Session) -> None:
    """A transaction is recorded as a whole, and only one that is open can be."""
    with here.transaction(), pytest.raises(InterfaceError, match="one statement of a transaction"):
        here.sql(INSERT, run_id="load")
    with pytest.raises(InterfaceError, match="no transaction is open"):
        here.record_run("load")


@pytest.mark.parametrize("run_id", ["", "x" * 501, "\ud800"])
def test_names_that_cannot_be_stored(here: Session, run_id: str) -> None:
    """Are refused before anything is done."""
    with pytest.raises((InterfaceError, ProgrammingError)):
        here.sql(INSERT, run_id=run_id)
    assert rows_of(here, "t") == []


def test_a_forgotten_run_is_done_again(here: Session) -> None:
    """On demand, and by itself when acidsql.run.kept is over."""
    here.sql(INSERT, run_id="load")
    assert here.forget_run("load")
    here.sql("SET acidsql.run.kept=1ms")
    here.sql(INSERT, run_id="load")
    for _ in range(64):
        here.store.abort(here.store.open_txn())
    here.sql(INSERT, run_id="load")
    assert len(rows_of(here, "t")) == 6
