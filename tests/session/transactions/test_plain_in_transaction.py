"""Tables that are not transactional beside a transaction: their rows are refused, or are visible at
once with a warning.
"""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import acidsql
from acidsql.cli.console import Console
from acidsql.cli.runner import ExitCode, Runner, Script
from acidsql.errors import BindError
from acidsql.session import Session

WARN = {"acidsql.plain.in.transaction": "warn"}
ACID = "TBLPROPERTIES ('transactional'='true')"
WRITES = (
    "INSERT INTO plain VALUES (2)",
    "INSERT OVERWRITE TABLE plain VALUES (2)",
    "TRUNCATE TABLE plain",
    "LOAD DATA LOCAL INPATH '{files}' INTO TABLE plain",
    "LOAD DATA LOCAL INPATH '{files}' OVERWRITE INTO TABLE plain",
)


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """With ``plain`` of one row, an ACID table ``t`` without any, and, beside it, a directory of
    files to load.
    """
    path = tmp_path / "warehouse"
    with Session(path) as session:
        session.sql("CREATE TABLE plain (id INT) STORED AS ORC")
        session.sql(f"CREATE TABLE t (id INT) STORED AS ORC {ACID}")
        session.sql("CREATE TABLE files (id INT) STORED AS ORC")
        session.sql("INSERT INTO plain VALUES (1)")
        session.sql("INSERT INTO files VALUES (3), (4)")
    return path


def count(warehouse: Path, table: str = "plain") -> int:
    """The rows that another session sees, counted from the files."""
    with Session(warehouse) as other:
        return int(next(other.sql(f"SELECT count(*) FROM {table}").rows())[0])


@pytest.mark.parametrize("begin", ["START TRANSACTION", "SET AUTOCOMMIT FALSE"])
@pytest.mark.parametrize("statement", WRITES)
def test_rows_that_could_not_be_rolled_back_are_refused(
    warehouse: Path, begin: str, statement: str
) -> None:
    """As the first statement of a transaction and later, in Hive's words, at their place, with what
    to do.
    """
    text = statement.format(files=warehouse / "files")
    with Session(warehouse) as session:
        session.sql(begin)
        for _ in range(2):
            with pytest.raises(BindError, match="is not allowed in a transaction") as caught:
                session.sql(text)
            assert caught.value.code == 20007
            assert caught.value.span is not None
            assert "default.plain is not transactional" in (caught.value.detail or "")
            assert "acidsql.plain.in.transaction=warn" in (caught.value.hint or "")
            session.sql("INSERT INTO t VALUES (1)")
        session.commit()
    assert (count(warehouse), count(warehouse, "t")) == (1, 2)


def test_a_connection_of_pep_249_refuses_them_until_autocommit_is_on(warehouse: Path) -> None:
    """Its autocommit is off at first: a rollback would leave the rows."""
    with acidsql.connect(warehouse) as connection:
        with pytest.raises(
            acidsql.ProgrammingError, match="Operation INSERT is not allowed in a transaction"
        ) as caught:
            connection.execute("INSERT INTO plain VALUES (2)")
        assert "SET AUTOCOMMIT TRUE first" in (caught.value.hint or "")
        connection.autocommit = True
        connection.execute("INSERT INTO plain VALUES (2)")
    assert count(warehouse) == 2


@pytest.mark.parametrize("begin", ["START TRANSACTION", "SET AUTOCOMMIT FALSE"])
def test_the_setting_lets_them_take_effect_at_once(warehouse: Path, begin: str) -> None:
    """Each result carries a warning; a rollback takes back the rest and not these."""
    with Session(warehouse, settings=WARN) as session:
        session.sql(begin)
        session.sql("INSERT INTO t VALUES (1)")
        done = session.sql("INSERT INTO plain VALUES (2)")
        assert [w.message for w in done.warnings] == [
            "table default.plain is not transactional: INSERT took effect at once and ROLLBACK will not take it back"
        ]
        assert count(warehouse) == 2
        assert session.sql("INSERT INTO t VALUES (1)").warnings == ()
        session.rollback()
    assert (count(warehouse), count(warehouse, "t")) == (2, 0)


def test_without_a_transaction_nothing_is_said(warehouse: Path) -> None:
    """A statement of its own is as it ever was."""
    with Session(warehouse, settings=WARN) as session:
        assert session.sql("INSERT INTO plain VALUES (2)").warnings == ()


def test_a_transaction_that_only_reads_writes_no_plain_rows_either(warehouse: Path) -> None:
    """READ ONLY holds whatever the setting says."""
    with Session(warehouse, settings=WARN) as session:
        session.begin(read_only=True)
        with pytest.raises(BindError, match="READ ONLY"):
            session.sql("INSERT INTO plain VALUES (2)")


def test_files_are_not_loaded_past_a_transaction(warehouse: Path) -> None:
    """LOAD DATA takes effect at once in a transactional table too: it is no DDL, so autocommit
    being off is enough to refuse it.
    """
    with Session(warehouse, settings=WARN) as session:
        session.autocommit = False
        with pytest.raises(
            BindError, match="Operation LOAD DATA is not allowed in a transaction"
        ) as caught:
            session.sql(f"LOAD DATA LOCAL INPATH '{warehouse / 'files'}' INTO TABLE t")
        assert caught.value.hint == "SET AUTOCOMMIT TRUE first."
        session.autocommit = True
        session.sql(f"LOAD DATA LOCAL INPATH '{warehouse / 'files'}' INTO TABLE t")
    assert count(warehouse, "t") == 2


def test_the_command_line_warns_and_knows_what_stays(warehouse: Path) -> None:
    """The warning goes to the notes; a script that fails afterwards may not be run again, for the
    rows are there.
    """
    notes = io.StringIO()
    with Session(warehouse, settings=WARN) as session:
        runner = Runner(session=session, console=Console(io.StringIO(), notes), silent=True)
        runner.run(
            Script("BEGIN; INSERT INTO t VALUES (1); INSERT INTO plain VALUES (2); ROLLBACK")
        )
        assert runner.tally.changed
        assert not runner.tally.uncommitted
        assert runner.tally.exit_code is ExitCode.OK
    assert notes.getvalue().startswith(
        "warning: table default.plain is not transactional: INSERT took effect at once"
    )
