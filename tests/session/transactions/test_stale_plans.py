"""A statement whose tables others change between its plan and its locks does what it would have done
had it come behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acidsql.errors import TableNotFoundError
from acidsql.result import Result
from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
Late = Callable[[str, str], Result]


@pytest.fixture
def other(warehouse: Path) -> Iterator[Session]:
    with Session(str(warehouse)) as opened:
        opened.sql(f"CREATE TABLE t (id INT, a STRING) {ACID}")
        opened.sql("INSERT INTO t VALUES (1, 'x')")
        opened.sql(f"CREATE TABLE p (id INT) PARTITIONED BY (k INT) {ACID}")
        yield opened


@pytest.fixture
def late(warehouse: Path, other: Session) -> Iterator[Late]:
    """Carries out a statement that was planned before another session's."""
    with Session(str(warehouse)) as session:

        def run(text: str, before: str) -> Result:
            source, plan = session._spine.plan(text)
            other.sql(before)
            return session._spine.run(plan, source)

        yield run


def rows(session: Session, query: str) -> list[tuple[object, ...]]:
    return list(session.sql(query).rows())


def test_rows_go_into_the_columns_of_now(late: Late, other: Session) -> None:
    """A column that has another name meanwhile gets its values under that."""
    late("INSERT INTO t VALUES (2, 'y')", "ALTER TABLE t CHANGE a c STRING")
    assert rows(other, "SELECT c FROM t WHERE id = 2") == [("y",)]


def test_nothing_is_written_where_a_table_was(late: Late, other: Session, warehouse: Path) -> None:
    """Renamed meanwhile it is not found: no row is lost in the directory that it left."""
    with pytest.raises(TableNotFoundError):
        late("INSERT INTO t VALUES (2, 'y')", "ALTER TABLE t RENAME TO away")
    assert not (warehouse / "t").exists()
    assert rows(other, "SELECT id FROM away") == [(1,)]


def test_no_partition_is_made_where_a_table_was(late: Late, warehouse: Path) -> None:
    """ADD PARTITION of a renamed table makes no directory, not even for a moment that others see."""
    with pytest.raises(TableNotFoundError):
        late("ALTER TABLE p ADD PARTITION (k=1)", "ALTER TABLE p RENAME TO away")
    assert not (warehouse / "p").exists()


def test_a_query_finds_the_table_of_its_snapshot(late: Late) -> None:
    """Dropped and made anew, or renamed: neither the old rows nor none where there are some."""
    result = late("SELECT * FROM t", "ALTER TABLE t CHANGE a c STRING")
    assert [column.name for column in result.columns] == ["id", "c"]
    with pytest.raises(TableNotFoundError):
        late("SELECT count(*) FROM t", "ALTER TABLE t RENAME TO away")


def test_what_is_gone_already_need_not_be_dropped(late: Late) -> None:
    """IF EXISTS holds for the moment in which the statement has its locks."""
    late("DROP TABLE IF EXISTS t", "DROP TABLE t")
