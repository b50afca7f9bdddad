"""DESCRIBE and SUMMARIZE: what is told of rows in place of them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from acidsql.errors import BindError, ColumnNotFoundError, TableNotFoundError
from acidsql.session import Session


def told(session: Session, what: str) -> dict[str, tuple[Any, ...]]:
    """The figures of SUMMARIZE by column."""
    return {row[0]: row[1:] for row in session.sql(f"SUMMARIZE {what}")}


@pytest.fixture
def numbers(alone: Session) -> Session:
    """With a frame that has one column of each kind of number."""
    alone.register(
        "n",
        pa.table(
            {
                "f": pa.array([-0.0, 0.0, math.nan, math.nan, None]),
                "g": pa.array([1.5, -2.5, None, math.inf, 1.5]),
                "big": pa.array([2**63 - 1, 2**63 - 1, -(2**63), None, 1]),
                "d": pa.array([1, 2, 3, 4, None], pa.int32()).cast(pa.decimal128(12, 2)),
                "s": ["b", "é", "", None, "b"],
                "l": [[1], None, [2], [], [1]],
                "none": pa.nulls(5, pa.string()),
            }
        ),
    )
    return alone


def test_a_summary_is_exact(numbers: Session) -> None:
    """Sums of 64 bits do not overflow, NaN is the greatest number and one value, zeros are one."""
    assert repr(told(numbers, "n")) == repr(
        {
            "f": ("double", "0.0", "NaN", 2, math.nan, 5, 1),
            "g": ("double", "-2.5", "Infinity", 3, math.inf, 5, 1),
            "big": (
                "bigint",
                "-9223372036854775808",
                "9223372036854775807",
                3,
                2.305843009213694e18,
                5,
                1,
            ),
            "d": ("decimal(12,2)", "1.00", "4.00", 4, 2.5, 5, 1),
            "s": ("string", "", "é", 3, None, 5, 1),
            "l": ("array<bigint>", None, None, None, None, 5, 1),
            "none": ("string", None, None, 0, None, 5, 5),
        }
    )


def test_many_values_are_counted_over_many_batches(alone: Session) -> None:
    """However they are spread, each counts once."""
    rows = 500_000
    alone.register("m", pa.table({"i": range(rows), "k": [i % 7 for i in range(rows)]}))
    figures = told(alone, "SELECT * FROM m")
    assert figures["i"] == ("bigint", "0", "499999", rows, 249999.5, rows, 0)
    assert figures["k"][:4] == ("bigint", "0", "6", 7)


def test_what_may_be_summarized(alone: Session, tmp_path: Path) -> None:
    """A table, a query without rows, a file."""
    alone.sql("CREATE TRANSACTIONAL TABLE t (id INT, name STRING)")
    alone.sql("INSERT INTO t VALUES (1, 'a'), (2, NULL)")
    assert told(alone, "t")["id"] == ("int", "1", "2", 2, 1.5, 2, 0)
    assert told(alone, "SELECT id FROM t WHERE id > 2") == {
        "id": ("int", None, None, 0, None, 0, 0)
    }
    (tmp_path / "a.csv").write_text("x\n1\n")
    assert told(alone, f"'{tmp_path}/a.csv'") == {"x": ("bigint", "1", "1", 1, 1.0, 1, 0)}
    lines = [line for (line,) in alone.sql("EXPLAIN ANALYZE SUMMARIZE t")]
    assert lines[-1].startswith("  count, compare and add up the values of each column")
    with pytest.raises(TableNotFoundError) as caught:
        alone.sql("SUMMARIZE nix")
    assert caught.value.column == 11


def test_describe_tells_the_columns_of_a_query(alone: Session, tmp_path: Path) -> None:
    """And of a file, of which no row is read."""
    alone.sql("CREATE TRANSACTIONAL TABLE t (id INT, name STRING)")
    answer = alone.sql("DESCRIBE SELECT id + 1 AS next, name FROM t")
    assert answer.stats.statement == "DESCRIBE"
    assert answer.fetchall() == [("next", "int", ""), ("name", "string", "")]
    (tmp_path / "a.csv").write_text("x,y\n" + "1,2\n" * 5_000_000 + "odd\n")
    answer = alone.sql(f"DESC '{tmp_path}/a.csv'")
    assert answer.fetchall() == [("x", "bigint", ""), ("y", "bigint", "")]
    with pytest.raises(ColumnNotFoundError):
        alone.sql("DESCRIBE SELECT nix FROM t")
    with pytest.raises(BindError, match="does not tell the format"):
        alone.sql("DESCRIBE 'nix'")


@pytest.mark.spark
def test_rows_of_spark_are_told_of_alike(session: Session, tmp_path: Path) -> None:
    """A query that only Spark makes."""
    query = "SELECT explode(array(3, 1, NULL)) AS a, CAST('NaN' AS FLOAT) AS f"
    assert told(session, query) == {
        "a": ("int", "1", "3", 2, 2.0, 3, 1),
        "f": ("float", "NaN", "NaN", 1, pytest.approx(math.nan, nan_ok=True), 3, 0),
    }
    assert session.sql(f"DESCRIBE {query}").fetchall() == [("a", "int", ""), ("f", "float", "")]
    (tmp_path / "a.csv").write_text("x\n1\n")
    session.sql("SET acidsql.engine=spark")
    assert session.sql(f"DESCRIBE '{tmp_path}/a.csv'").fetchall() == [("x", "bigint", "")]
