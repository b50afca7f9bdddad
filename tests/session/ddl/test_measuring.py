"""ANALYZE FOR COLUMNS by the driver alone, held against Spark's."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acidsql.errors import UnsupportedStatementError
from acidsql.session import Session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
COLUMNS = {
    "t": "tinyint", "s": "smallint", "i": "int", "b": "bigint", "m": "decimal(9,2)", "f": "float", "d": "double", "x": "string",
    "c": "char(4)", "v": "varchar(5)", "o": "boolean", "y": "date", "z": "timestamp",
}  # fmt: skip
ROWS = (
    "(1, 1, 1, 1, 1.25, 1.5, 2.5, 'a', 'a', 'a', true, DATE '2020-01-01', TIMESTAMP '2020-01-01 00:00:00.5')",
    "(-2, -300, 70000, 9223372036854775807, -1.25, -0.5, 1e300, 'bé ', 'b', 'b ', false, DATE '1969-12-31', TIMESTAMP '2038-01-19 03:14:07')",
    "(1, 1, 1, 1, 1.25, 1.5, 2.5, 'a', 'a', 'a', true, DATE '2020-01-01', TIMESTAMP '2020-01-01 00:00:00.5')",
    "(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "(7, 7, 7, 7, 7.1, 0.25, -3.5, '', '', '', true, DATE '9999-12-31', NULL)",
)


def fill(session: Session, table: str, layout: str, rows: Iterable[str]) -> None:
    """A table of every type, of which a row is deleted and one is changed."""
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    session.sql(f"CREATE TABLE {table} (id INT, {columns}) {layout}")
    for number, row in enumerate(rows):
        key = f" PARTITION (part = 'p{number % 2}')" if "PARTITIONED" in layout else ""
        session.sql(f"INSERT INTO {table}{key} VALUES ({number}, {row[1:]}")
    session.sql(f"DELETE FROM {table} WHERE id = 2")
    session.sql(f"UPDATE {table} SET x = 'changed' WHERE id = 0")


def figures(session: Session, table: str, part: str = "") -> list[tuple[object, ...]]:
    return [
        tuple(row)
        for name in COLUMNS
        for row in session.sql(f"DESCRIBE FORMATTED {table}{part} {name}").rows()
    ]


@pytest.mark.spark
def test_the_driver_measures_as_spark_does(spark: SparkSession, tmp_path: Path) -> None:
    """Ends, NULLs, lengths, truths and the number of different values, of a table that is empty and
    of partitions.
    """
    with Session(tmp_path, spark=spark) as session:
        fill(session, "p", f"PARTITIONED BY (part STRING) {ACID}", ROWS)
        fill(session, "e", ACID, ())
        for table, of, part in (
            ("e", "", ""),
            ("p", "PARTITION (part)", " PARTITION (part = 'p1')"),
        ):
            told = []
            for engine in ("local", "spark"):
                session.sql(f"SET acidsql.engine={engine}")
                session.sql(f"ANALYZE TABLE {table} {of} COMPUTE STATISTICS FOR COLUMNS")
                told.append(figures(session, table, part))
                if table == "p":
                    told[-1] += figures(session, table, " PARTITION (part = 'p0')")
            assert told[0] == told[1], table


def test_columns_are_measured_without_java(tmp_path: Path) -> None:
    """No Spark is started under acidsql.engine=local, nor by itself for so few bytes."""
    with Session(tmp_path) as session:
        fill(session, "t", ACID, ROWS)
        for engine in ("local", "auto"):
            session.sql(f"SET acidsql.engine={engine}")
            session.sql("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS")
            told = {
                row[0].strip(): row[1].strip()
                for row in session.sql("DESCRIBE FORMATTED t i").rows()
            }
            assert told["distinct_count"] == "3"
            assert (told["min"], told["max"], told["num_nulls"]) == ("1", "70000", "1")
        assert not session.spark_started


def test_what_only_spark_measures_is_refused_without_it(tmp_path: Path) -> None:
    """acidsql.engine=local starts no Spark for the least of 0.0 and -0.0."""
    with Session(tmp_path, settings={"acidsql.engine": "local"}) as session:
        session.sql(f"CREATE TABLE t (f DOUBLE) {ACID}")
        session.sql("INSERT INTO t VALUES (0.0), (CAST('-0.0' AS DOUBLE))")
        with pytest.raises(UnsupportedStatementError, match="engine=local does not"):
            session.sql("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS")
        assert not session.spark_started


def engine_of(session: Session, sql: str) -> str:
    """What EXPLAIN says of who measures."""
    lines = [str(line).strip() for (line,) in session.sql(f"EXPLAIN {sql}").fetchall()]
    return next((line for line in lines if line.startswith("engine: ")), "")


@pytest.mark.parametrize("layout", [ACID, "STORED AS ORC", "STORED AS TEXTFILE"])
def test_explain_names_who_measures(tmp_path: Path, layout: str) -> None:
    """And why, in the words in which the driver alone refuses it; who runs is who was named."""
    analyze = "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS id, name"
    with Session(tmp_path, settings={"acidsql.engine": "local"}) as session:
        session.sql(f"CREATE TABLE t (id INT, name STRING) {layout}")
        if "TEXT" in layout:
            (tmp_path / "t" / "rows").write_text("1\x01a\n")
            reason = "the table is stored as TEXTFILE"
            assert engine_of(session, analyze) == f"engine: spark ({reason})"
            with pytest.raises(UnsupportedStatementError, match=reason):
                session.sql(analyze)
        else:
            assert engine_of(session, analyze) == "engine: local"
            session.sql(analyze)
            session.sql("SET acidsql.engine=auto")
            by_driver = "engine: local up to 256 MB of id, name, else spark"
            assert engine_of(session, analyze) == by_driver
            session.sql(analyze)
            session.sql("SET acidsql.engine=spark")
            assert engine_of(session, analyze) == "engine: spark (acidsql.engine=spark)"
        assert engine_of(session, "ANALYZE TABLE t COMPUTE STATISTICS NOSCAN") == ""
        assert not session.spark_started
