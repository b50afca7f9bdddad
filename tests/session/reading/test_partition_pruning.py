"""Conditions that only Spark can decide prune partitions too, before their directories
are listed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from acidsql.session import Session

pytestmark = pytest.mark.spark


@pytest.fixture
def table(session: Session) -> Session:
    session.sql(
        "CREATE TABLE t (id INT) PARTITIONED BY (ds DATE) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    session.sql(
        "INSERT INTO t SELECT CAST(n AS INT), date_add(current_date, CAST(n AS INT)) FROM (SELECT id - 3 AS n FROM range(7))"
    )
    return session


def files_read(session: Session, condition: str) -> int:
    return len(session.sql(f"SELECT * FROM t WHERE {condition}").df.inputFiles())


@pytest.mark.parametrize(
    ("condition", "days", "files"),
    [
        ("ds = current_date", [0], 2),
        ("ds >= date_sub(current_date(), 1)", [-1, 0, 1, 2, 3], 5),
        ("NOT (ds <> current_date + INTERVAL 1 DAY)", [1], 7),
        ("date_trunc('DAY', ds) <= current_date AND id > -2", [-1, 0], 5),
    ],
)
def test_today(table: Session, condition: str, days: list[int], files: int) -> None:
    """Partitions that are wrong today and tomorrow are not looked at: the day may change between
    planning and reading.
    """
    assert sorted(row[0] for row in table.sql(f"SELECT id FROM t WHERE {condition}").rows()) == days
    assert files_read(table, condition) == files


@pytest.mark.parametrize("condition", ["+k = '1.0'", "+s = '1.0'", "+k IN (1)"])
def test_a_sign_makes_numbers_of_texts(session: Session, condition: str) -> None:
    """Neither partitions nor stripes are left out by the text behind it."""
    session.sql(
        "CREATE TABLE t (id INT, s STRING) PARTITIONED BY (k STRING) STORED AS ORC"
        " TBLPROPERTIES ('transactional'='true')"
    )
    session.sql("INSERT INTO t VALUES (1, '1', '1'), (2, '01', '01'), (3, 'x', 'x')")
    chosen = session.sql(f"SELECT id FROM t WHERE {condition}").rows()
    assert sorted(row[0] for row in chosen) == [1, 2]
    assert session.sql(f"UPDATE t SET id = 7 WHERE {condition}").stats.rows_updated == 2
    assert session.sql(f"DELETE FROM t WHERE {condition}").stats.rows_deleted == 2
    assert list(session.sql("SELECT id FROM t").rows()) == [(3,)]


def test_a_change_looks_at_todays_partitions_alone(table: Session, warehouse: Path) -> None:
    """A damaged file elsewhere does not matter to it."""
    [(day,)] = table.sql("SELECT CAST(date_sub(current_date, 2) AS STRING)").rows()
    [path] = (warehouse / "t").glob(f"ds={day}/delta*/bucket*")
    path.write_bytes(b"damaged")
    assert table.sql("UPDATE t SET id = 10 WHERE ds = current_date").stats.rows_updated == 1
    assert table.sql("DELETE FROM t WHERE ds > current_date").stats.rows_deleted == 3
