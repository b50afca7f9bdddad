"""Constants that fail and that no row needs: one rule on every way."""

from __future__ import annotations

import pytest

from acidsql.errors import DataError, UnsupportedStatementError
from acidsql.session import Session
from tests.session.rows.ways import WAYS, take

pytestmark = pytest.mark.spark

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
NO_MATCH = "MERGE INTO t USING s ON t.id = s.id + 100"
FAILING = [
    "SELECT 1 / 0 FROM t WHERE id > 100",
    "SELECT id FROM t WHERE id > 100 AND 1 / 0 > 1",
    "SELECT id, max(v + 1 / 0) FROM t WHERE id > 100 GROUP BY id",
    "UPDATE t SET v = 1 / 0 WHERE id = 100",
    "UPDATE t SET v = CAST('x' AS INT) + v WHERE id = 100",
    "UPDATE t SET v = 5 WHERE id = 100 AND 1 / 0 > 1",
    "DELETE FROM t WHERE id = 100 AND CAST('x' AS INT) = 1",
    "INSERT INTO t SELECT id, 1 / 0 FROM none",
    "INSERT INTO t SELECT id, 4000000000L FROM none",
    f"{NO_MATCH} WHEN MATCHED THEN UPDATE SET v = 1 / 0",
    f"{NO_MATCH} WHEN MATCHED THEN UPDATE SET v = s.v + 2147483647 + (2147483647 + 1)",
    f"{NO_MATCH} WHEN MATCHED AND 1 / 0 > 1 THEN DELETE",
    f"{NO_MATCH} WHEN MATCHED AND s.v > 1000 THEN UPDATE SET v = 1 / 0 WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v)",
    f"{NO_MATCH} WHEN NOT MATCHED AND s.v > 1000 THEN INSERT VALUES (s.id, 1 / 0)",
    "MERGE INTO t USING none s ON t.id = s.id AND 1 / 0 > 1 WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING none s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = CASE WHEN TRUE THEN 1 / 0 END",
]  # fmt: skip
WAITING = [
    "UPDATE t SET v = CASE WHEN v > 100 THEN 1 / 0 ELSE v END",
    "DELETE FROM t WHERE coalesce(id, 1 / 0) = 100",
    f"{NO_MATCH} WHEN MATCHED THEN UPDATE SET v = if(t.v > 0, 1 / 0, 3)",
    f"{NO_MATCH} WHEN MATCHED THEN UPDATE SET v = 1 / s.v WHEN NOT MATCHED AND nullif(s.v, 1 / 1) > 1000 THEN INSERT VALUES (s.id, 0)",
]  # fmt: skip
HELD = [(1, 1), (3, 3)]


@pytest.fixture
def strict(session: Session) -> Session:
    session.sql(f"CREATE TABLE t (id INT, v INT) {ACID}")
    session.sql(f"CREATE TABLE s (id INT, v INT) {ACID}")
    session.sql(f"CREATE TABLE none (id INT, v INT) {ACID}")
    session.sql("INSERT INTO t VALUES (1, 1), (3, 3)")
    session.sql("INSERT INTO s VALUES (1, 10), (2, 20)")
    session.sql("SET acidsql.ansi=true")
    return session


def test_a_constant_that_fails_is_an_error_everywhere(strict: Session) -> None:
    """Whoever makes the rows and writes them, the statement fails and changes nothing; the driver
    alone refuses it.
    """
    for sql in FAILING:
        for way in WAYS:
            take(strict, way)
            with pytest.raises(DataError):
                strict.sql(sql).fetchall()
        strict.sql("SET acidsql.engine=local")
        with pytest.raises(UnsupportedStatementError, match="does not carry this out"):
            strict.sql(sql).fetchall()
    strict.sql("SET acidsql.ansi=false")
    assert strict.sql("SELECT * FROM t ORDER BY id").fetchall() == HELD


def test_a_branch_waits_for_its_rows(strict: Session) -> None:
    """Inside of a branch nothing fails that no row comes to."""
    for sql in WAITING:
        for way in ("local", "small", "big"):
            take(strict, way)
            strict.sql(sql)
            assert strict.sql("SELECT * FROM t ORDER BY id").fetchall() == HELD, (sql, way)
        strict.sql("SET acidsql.engine=local")
        strict.sql(sql)


def test_without_ansi_semantics_nothing_fails(strict: Session) -> None:
    """The constants are NULL, on every way."""
    strict.sql("SET acidsql.ansi=false")
    for way in WAYS:
        take(strict, way)
        for sql in FAILING:
            if sql.startswith(("UPDATE", "DELETE")):
                strict.sql(sql)
        assert strict.sql("SELECT * FROM t ORDER BY id").fetchall() == HELD
