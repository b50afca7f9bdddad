"""Small statements that need no Spark: NULL alone, text beside numbers, names Spark makes, relative
paths. Held against Spark: the same names, types and rows.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import orc
from pyarrow import parquet as pq

from acidsql.errors import BindError
from acidsql.session import Session

pytestmark = pytest.mark.spark

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
QUERIES = [
    "SELECT NULL",
    "SELECT NULL AS a, id FROM t",
    "SELECT coalesce(NULL, NULL), NULL IS NULL, NULL + 1, count(NULL) FROM t",
    "SELECT id, CASE WHEN id = '1' THEN 'a' ELSE NULL END FROM t",
    "SELECT NULL, count(*) FROM t WHERE id > '1'",
    "SELECT year(current_date), year(current_timestamp()), quarter(current_date)",
    "SELECT last_day(current_date - 1) = current_date + 400",
    "SELECT date_format(d, 'yyyy-MM-dd'), trim(s), if(x, 1, 0), nvl(id, 0), id <> 1, id IN (1, 2), -id, id DIV 2 FROM t",
    "SELECT id = '1', '2' < b, n = '1.50', f > '1e0', s = 1, x = 'true', d = '2024-02-29', d > '2024' FROM t",
    "SELECT id IN ('1', '02'), b IN (s, 2), n IN ('1.5'), id BETWEEN '1' AND '2', nullif(id, '1') FROM t",
    "SELECT id + '1', s * 2, n / s FROM t",
    "SELECT id FROM t WHERE year(d) < year(current_date) AND id = '1'",
    "SELECT id FROM t WHERE p = '7' AND p IN ('7', '8')",
    "SELECT 1.5, -2.50, 7L, 'a', TRUE",
    "SELECT * FROM VALUES (NULL, 1), (NULL, NULL) AS v (a, b)",
    "SELECT a IS NULL FROM (VALUES (NULL), (NULL)) AS v (a)",
]  # fmt: skip
CHANGES = [
    "UPDATE t SET s = 'hit' WHERE id = '1'",
    "UPDATE t SET s = NULL, b = year(current_date) WHERE s > 1 OR d = '2023'",
    "UPDATE t SET n = id + '0.5' WHERE id IN ('1', '3')",
    "DELETE FROM t WHERE p = '7' AND f >= '2.5'",
    "DELETE FROM t WHERE '2' = b AND year(d) < year(current_date)",
    "INSERT INTO t SELECT 9, NULL, NULL, NULL, NULL, NULL, NULL, 7",
    "MERGE INTO t USING (SELECT 2 AS k, NULL AS v) m ON t.id = m.k WHEN MATCHED AND t.s = '2' THEN UPDATE SET s = m.v",
]  # fmt: skip


@pytest.fixture
def both(session: Session) -> Session:
    session.sql(
        "CREATE TABLE t (id INT, b BIGINT, n DECIMAL(10,2), f DOUBLE, s STRING, d DATE, x BOOLEAN)"
        f" PARTITIONED BY (p INT) {ACID}"
    )
    return session


def fill(session: Session) -> None:
    session.sql("DELETE FROM t")
    session.sql(
        "INSERT INTO t VALUES (1, 2, 1.50, 2.5, '1', DATE '2024-02-29', true, 7),"
        " (2, 2, 0.10, 0.5, '2', DATE '2023-01-01', false, 7),"
        " (3, -4, NULL, NULL, ' 3 ', NULL, NULL, 8),"
        " (NULL, 9223372036854775807, 99.99, 10, 'abc', DATE '9999-12-31', true, 8)"
    )


@pytest.mark.parametrize("ansi", ["false", "true"])
def test_queries_are_sparks(both: Session, ansi: str) -> None:
    """Names, types and rows, with ANSI semantics or without, if no value fails."""
    fill(both)
    if ansi == "true":
        both.sql("UPDATE t SET s = '4' WHERE s = 'abc'")
    both.sql(f"SET acidsql.ansi={ansi}")
    for sql in QUERIES:
        answers = []
        for engine in ("local", "spark"):
            both.sql(f"SET acidsql.engine={engine}")
            answer = both.sql(sql)
            shape = [(column.name, column.type) for column in answer.columns]
            table = answer.to_arrow()
            answers.append((shape, table.schema.types, sorted(map(repr, table.to_pylist()))))
        assert answers[0] == answers[1], sql


def test_changes_are_sparks(both: Session) -> None:
    """What UPDATE, DELETE, INSERT and MERGE leave behind."""
    for sql in CHANGES:
        left = []
        for engine in ("local", "spark"):
            both.sql("SET acidsql.engine=auto")
            fill(both)
            both.sql(f"SET acidsql.engine={engine}")
            result = str(both.sql(sql))
            both.sql("SET acidsql.engine=auto")
            rows = sorted(map(repr, both.sql("SELECT * FROM t").fetchall()))
            left.append((result, rows))
        assert left[0] == left[1], sql
        assert "no rows" not in left[0][0], sql


def test_a_table_of_null_is_refused(both: Session) -> None:
    """NULL alone is shown as text, but no column is made of it."""
    for engine in ("local", "spark"):
        both.sql(f"SET acidsql.engine={engine}")
        with pytest.raises(BindError) as caught:
            both.sql(f"CREATE TABLE made {ACID} AS SELECT id, NULL AS a FROM t")
        assert caught.value.code == 10305


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_a_relative_path_is_below_the_working_directory(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    """The driver takes the file that Spark takes; where Spark was started elsewhere it is asked."""
    rows = pa.table({"k": pa.array([1, 2], pa.int32())})
    other = pa.table({"k": pa.array([3], pa.int32())})
    name = f"acidsql_relative_{tmp_path.name}"
    here = Path.cwd() / name
    write = orc.write_table if format == "orc" else pq.write_table
    here.mkdir()
    try:
        write(rows, here / "rows")
        for path in (f"{name}/rows", f"./{name}/rows", name, f"{name}/../{name}"):
            answers = []
            for engine in ("local", "spark"):
                session.sql(f"SET acidsql.engine={engine}")
                answers.append(session.sql(f"SELECT * FROM {format}.`{path}`").fetchall())
            assert answers == [[(1,), (2,)]] * 2, path
        (tmp_path / name).mkdir()
        write(other, tmp_path / name / "rows")
        monkeypatch.chdir(tmp_path)
        session.sql("SET acidsql.engine=auto")
        sql = f"SELECT * FROM {format}.`{name}/rows`"
        assert "where Spark was started" in session.explain(sql)
        assert session.sql(sql).fetchall() == [(1,), (2,)]
    finally:
        (here / "rows").unlink()
        here.rmdir()
