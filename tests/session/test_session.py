"""The Python API: what a session takes, what a result gives, and that Spark is left alone where it is not needed."""

from __future__ import annotations

import datetime
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from acidsql.errors import BindError, ColumnNotFoundError, ExecutionError, InterfaceError, ParseError, TableNotFoundError
from acidsql.result import Stats
from acidsql.session import Session

TABLE = "CREATE TABLE t (id INT, name STRING, amount DECIMAL(10,2), at TIMESTAMP) STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.mark.processes
def test_import_is_light() -> None:
    """`import acidsql` loads none of the large libraries."""
    code = "import sys, acidsql; print([m for m in ('pyspark', 'sqlglot', 'lark', 'sqlalchemy', 'pyarrow', 'pandas', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.processes
def test_what_needs_no_spark(warehouse: Path) -> None:
    """DDL, INSERT VALUES, SHOW, DESCRIBE, EXPLAIN, SET and every refusal do not even import pyspark."""
    code = f"""
import sys
from acidsql.session import Session
from acidsql.errors import Error
with Session({str(warehouse)!r}) as s:
    for sql in ["{TABLE}", "INSERT INTO t VALUES (1, 'a', 1.5, '2024-01-01 10:00:00')", "INSERT INTO t (id) VALUES (2)", "SHOW TABLES",
                "DESCRIBE FORMATTED t", "SHOW CREATE TABLE t", "SHOW TRANSACTIONS", "EXPLAIN UPDATE t SET name = 'x'", "SET", "SET x=1",
                "EXPLAIN SELECT * FROM t", "CREATE DATABASE d", "USE d", "DROP DATABASE d", "CREATE TABLE p (id INT) STORED AS ORC",
                "INSERT INTO p VALUES (1)", "DROP TABLE t"]:
        s.sql(sql)
    s.sql("CREATE TABLE v (a STRING, b BINARY, c DOUBLE, d TIMESTAMP) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    import datetime
    s.sql("INSERT INTO v VALUES (?, ?, ?, ?)", ["it's \\ ${{x}}", b"\\x00\\xff", float("nan"), datetime.datetime(2024, 1, 1)])
    for sql in ["SELEC 1", "SELECT * FROM nope", "UPDATE p SET id = 1", "INSERT INTO p VALUES (1, 2)"]:
        try:
            s.sql(sql)
        except Error:
            continue
        raise AssertionError(sql)
    assert not s.spark_started
print([m for m in ("pyspark", "py4j") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.spark
def test_shapes_of_a_result(session: Session) -> None:
    """Rows come as tuples, Arrow, pandas, a DataFrame, an Arrow stream and HTML, all the same."""
    session.sql(TABLE)
    session.sql("INSERT INTO t VALUES (1, 'a', 1.5, '2024-01-01 10:00:00.25'), (2, NULL, NULL, NULL)")
    result = session.sql("SELECT * FROM t ORDER BY id")
    moment = datetime.datetime(2024, 1, 1, 10, 0, 0, 250000)
    assert list(result.rows()) == [(1, "a", Decimal("1.50"), moment), (2, None, None, None)]
    assert [(c.name, str(c.type)) for c in result.columns] == [
        ("id", "int"),
        ("name", "string"),
        ("amount", "decimal(10,2)"),
        ("at", "timestamp"),
    ]
    assert result.to_arrow().schema.field("at").type == pa.timestamp("us")
    assert result.to_pandas()["id"].tolist() == [1, 2]
    assert result.df.count() == 2
    assert pa.table(result).num_rows == 2
    assert "<td>NULL</td>" in result._repr_html_()
    assert result.stats.statement == "SELECT"
    assert [row.tab_name for row in session.sql("SHOW TABLES").df.collect()] == ["t"]


@pytest.mark.spark
def test_stats_tell_what_was_done(session: Session) -> None:
    """DML tells its row counts, transaction, write id, directories and path."""
    session.sql(TABLE)
    inserted = session.sql("INSERT INTO t (id) VALUES (1), (2)")
    assert inserted.columns == ()
    with pytest.raises(InterfaceError):
        inserted.to_arrow()
    stats = session.sql("UPDATE t SET name = 'x' WHERE id = 1").stats
    expected = Stats(
        statement="UPDATE",
        rows_updated=1,
        txn_id=2,
        write_ids={"default.t": 2},
        directories=("t/delete_delta_0000002_0000002_0000", "t/delta_0000002_0000002_0000"),
        path="small",
        seconds=stats.seconds,
    )
    assert stats == expected
    assert session.sql("DELETE FROM t WHERE id = 99").stats.directories == ()


@pytest.mark.spark
def test_parameters(session: Session) -> None:
    """Question marks are filled with values, never with SQL."""
    session.sql(TABLE)
    evil = "x'); DROP TABLE t; -- \\"
    values = [7, evil, Decimal("2.50"), datetime.datetime(2024, 2, 29, 1, 2, 3)]
    session.sql("INSERT INTO t VALUES (?, ?, ?, ?)", values)
    assert list(session.sql("SELECT * FROM t WHERE name = ? AND id = ?", [evil, 7]).rows()) == [tuple(values)]


@pytest.mark.spark
def test_a_spark_session_handed_in(spark: SparkSession, warehouse: Path) -> None:
    """Its temporary views can be read, as they stand at each statement; its settings and its views stay as they were."""
    keys = ("spark.sql.orc.filterPushdown", "spark.sql.ansi.enabled", "spark.sql.files.openCostInBytes", "spark.sql.shuffle.partitions")
    before = {k: spark.conf.get(k) for k in keys}
    spark.range(3).createOrReplaceTempView("numbers")
    try:
        with Session(warehouse, spark=spark) as session:
            session.sql(TABLE)
            session.sql("INSERT INTO t (id) SELECT id FROM numbers WHERE id > 0")
            assert sorted(session.sql("SELECT n.id FROM numbers n JOIN t ON n.id = t.id").rows()) == [(1,), (2,)]
            spark.range(10, 12).createOrReplaceTempView("numbers")
            assert sorted(session.sql("SELECT id FROM numbers").rows()) == [(10,), (11,)]
            with pytest.raises(TableNotFoundError):
                session.sql("SELECT * FROM no_such_view")
            assert {t.name for t in spark.catalog.listTables()} == {"numbers"}
        assert {k: spark.conf.get(k) for k in keys} == before
        assert spark.range(1).count() == 1
    finally:
        spark.catalog.dropTempView("numbers")


@pytest.mark.spark
def test_a_time_zone_that_would_shift_timestamps_is_refused(spark: SparkSession, warehouse: Path) -> None:
    """ORC's readers live in the Java process's zone: another one in the session is refused for tables with timestamps, and only there."""
    session = Session(warehouse, spark=spark)
    session.sql(TABLE)
    session.sql("CREATE TABLE u (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    session.sql("INSERT INTO t VALUES (1, 'a', 1.5, '2024-01-01 10:00:00')")
    session.sql("SET spark.sql.session.timeZone=Asia/Tokyo")
    for text in ("SELECT id FROM t", "UPDATE t SET name = 'b'", "INSERT INTO t SELECT 2, 'b', 2.5, current_timestamp()"):
        with pytest.raises(ExecutionError, match="time zone"):
            session.sql(text)
    session.sql("INSERT INTO u SELECT 1")
    assert list(session.sql("SELECT * FROM u").rows()) == [(1,)]
    session.sql("SET spark.sql.session.timeZone=Etc/UTC")
    assert list(session.sql("SELECT name, at FROM t").rows()) == [("a", datetime.datetime(2024, 1, 1, 10))]
    session.close()


@pytest.mark.spark
def test_files_can_be_read(session: Session, tmp_path: Path) -> None:
    """A query reads files beside tables."""
    session.spark.range(3).write.parquet(str(tmp_path / "p"))
    session.sql(TABLE)
    session.sql(f"INSERT INTO t (id) SELECT id FROM parquet.`{tmp_path}/p`")
    assert list(session.sql(f"SELECT count(*) FROM t JOIN parquet.`{tmp_path}/p` p ON t.id = p.id").rows()) == [(3,)]


@pytest.mark.spark
def test_spark_errors_point_into_the_users_text(session: Session) -> None:
    """A column Spark cannot find is shown at the user's line, also where names were replaced before it."""
    session.sql(TABLE)
    sql = "SELECT id,\n  nmae\nFROM default.t\nWHERE id > 1"
    with pytest.raises(ColumnNotFoundError) as caught:
        session.sql(sql)
    assert caught.value.line == 2
    assert caught.value.span is not None
    assert caught.value.span.cut(sql) == "nmae"
    with pytest.raises(BindError) as wrong_count:
        session.sql("INSERT INTO t SELECT id FROM t")
    assert wrong_count.value.code == 10044


@pytest.mark.spark
def test_both_write_paths_and_the_choice(session: Session) -> None:
    """A setting forces either path; left alone, the number of changed bytes decides."""
    session.sql(TABLE)
    session.sql("INSERT INTO t (id) SELECT id FROM range(1000)")
    session.sql("SET acidsql.write.driver.max.bytes=1k")
    assert session.sql("UPDATE t SET name = 'a'").stats.path == "big"
    assert session.sql("UPDATE t SET name = 'b' WHERE id = 1").stats.path == "small"
    session.sql("SET acidsql.write.path=big")
    assert session.sql("DELETE FROM t WHERE id = 1").stats.path == "big"
    session.sql("SET acidsql.write.path=small")
    assert session.sql("DELETE FROM t WHERE id > 500").stats.path == "small"
    assert list(session.sql("SELECT count(*), count(name), max(id) FROM t").rows()) == [(500, 500, 500)]


@pytest.mark.spark
def test_both_ways_to_apply_deletes(session: Session) -> None:
    """A key set in the filter and an anti-join give the same rows."""
    session.sql(TABLE)
    session.sql("INSERT INTO t (id) SELECT id FROM range(100)")
    session.sql("DELETE FROM t WHERE id % 3 = 0")
    session.sql("UPDATE t SET name = 'u' WHERE id % 5 = 0")
    found = []
    for name, value in (("acidsql.read.deletes", "filter"), ("acidsql.read.deletes", "join"), ("acidsql.read.deletes.max.events", "1")):
        session.sql("RESET")
        session.sql(f"SET {name}={value}")
        found.append(sorted(session.sql("SELECT ROW__ID, id, name FROM t").to_pandas()["id"].tolist()))
    assert found[0] == found[1] == found[2] == [i for i in range(100) if i % 3]


def test_a_closed_session_says_so(warehouse: Path) -> None:
    """After close every statement is an InterfaceError; closing twice is none."""
    session = Session(warehouse)
    session.close()
    session.close()
    with pytest.raises(InterfaceError):
        session.sql("SHOW TABLES")


def test_errors_carry_the_text(warehouse: Path) -> None:
    """An error knows its source and renders the line with a caret."""
    with Session(warehouse) as session:
        with pytest.raises(ParseError) as caught:
            session.sql("INSERT INTO t VALUES (1")
        assert "line 1" in str(caught.value)
        with pytest.raises(TableNotFoundError) as missing:
            session.sql("SELECT *\nFROM missing")
        assert str(missing.value).splitlines()[-2:] == ["  line 2: FROM missing", "               ^^^^^^^"]
