"""EXPLAIN ANALYZE does what its statement does: it is refused, counted and warned of as that is."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.cli.console import Console
from acidsql.cli.runner import ExitCode, Runner, Script
from acidsql.errors import BindError, UnsupportedStatementError
from acidsql.session import Session

INSERT = "EXPLAIN ANALYZE INSERT INTO t VALUES (1), (2)"


@pytest.fixture
def table(warehouse: Path) -> Iterator[Session]:
    with Session(warehouse) as session:
        session.sql("CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
        yield session


def count(session: Session) -> int:
    return next(iter(session.sql("SELECT count(*) FROM t").rows()))[0]


def test_rows_that_cannot_be_written_are_refused(table: Session) -> None:
    """As without it: nothing writes rows of a sorted table without their order."""
    table.sql(
        "CREATE TABLE s (id INT) CLUSTERED BY (id) SORTED BY (id) INTO 2 BUCKETS STORED AS ORC"
    )
    for text in ("INSERT INTO s VALUES (2), (1)", "EXPLAIN ANALYZE INSERT INTO s VALUES (2), (1)"):
        with pytest.raises(UnsupportedStatementError, match="SORTED BY"):
            table.sql(text)


def test_a_transaction_that_only_reads_writes_nothing(table: Session) -> None:
    """READ ONLY refuses it."""
    table.sql("START TRANSACTION READ ONLY")
    with pytest.raises(BindError, match="READ ONLY"):
        table.sql(INSERT)
    table.sql("ROLLBACK")
    assert count(table) == 0


def test_a_dry_run_changes_nothing(table: Session) -> None:
    """It says what the statement would do; a query is carried out."""
    table.sql("SET acidsql.dry.run=true")
    assert table.sql(INSERT).columns[0].name == "Dry run"
    assert table.sql("EXPLAIN ANALYZE SELECT count(*) FROM t").columns[0].name == "Explain"
    table.sql("SET acidsql.dry.run=false")
    assert count(table) == 0


def test_a_dry_run_aborts_nothing(table: Session) -> None:
    """ABORT TRANSACTIONS is told: the other transaction goes on, and commits."""
    with Session(table.warehouse) as other:
        other.sql("START TRANSACTION")
        other.sql("INSERT INTO t VALUES (3)")
        (txn_id,) = (txn.txn_id for txn in table.store.list_txns() if txn.state == "o")
        table.sql("SET acidsql.dry.run=true")
        [[head], [goes], _] = table.sql(f"ABORT TRANSACTIONS {txn_id}").rows()
        assert head.startswith(f"ABORT TRANSACTIONS {txn_id}: open, of ")
        assert goes == "  what it has written to default.t is never seen; its files are deleted"
        table.sql("SET acidsql.dry.run=false")
        other.sql("COMMIT")
    assert count(table) == 1


def test_its_numbers_are_those_of_the_statement(table: Session) -> None:
    """Rows, write ids and steps."""
    stats = table.sql(INSERT).stats
    assert (stats.rows_inserted, dict(stats.write_ids)) == (2, {"default.t": 1})
    assert stats.steps


def test_a_script_with_it_has_changed_rows(table: Session) -> None:
    """So that nobody runs it once more after an error that would allow that."""
    runner = Runner(session=table, console=Console(io.StringIO(), io.StringIO()), force=True)
    runner.run(Script(INSERT))
    assert runner.tally.changed
    table.sql("START TRANSACTION")
    table.sql("INSERT INTO t VALUES (3)")
    with Session(table.warehouse, settings={"hive.lock.numretries": "0"}) as other:
        late = Runner(session=other, console=Console(io.StringIO(), io.StringIO()), force=True)
        late.run(Script(f"{INSERT}; DROP TABLE t"))
        assert late.tally.exit_code is ExitCode.FAILED
    table.sql("ROLLBACK")
