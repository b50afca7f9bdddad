"""Values at the ends of their types, computed by the driver alone: given out and stored."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from acidsql.session import Session

ALMOST_ONE = "0.99999999999999999999999999999999999999"
ALMOST_HALF = "0.49999999999999999999999999999999999999"
MAX, MIN = 9223372036854775807, -9223372036854775808
COLUMNS = {
    "n": "DECIMAL(18,6)",
    "n4": "DECIMAL(38,38)",
    "n5": "DECIMAL(20,19)",
    "i2": "INT",
    "b": "BIGINT",
    "s": "STRING",
}
CASES: list[tuple[str, str, dict[str, str], Any]] = [
    ("n4 * n", "DECIMAL(38,25)", {"n": "100000000000", "n4": f"-{ALMOST_ONE}"}, "-100000000000.0000000000000000000000000"),
    ("b / n4", "DECIMAL(38,6)", {"b": f"{MAX}", "n4": ALMOST_HALF}, "18446744073709551614.000000"),
    ("b / n5", "DECIMAL(38,6)", {"b": f"{MAX - 1}", "n5": "-9.9999999999999999999"}, "-922337203685477580.609223"),
    ("round(b + n4, 2)", "DECIMAL(24,2)", {"b": f"{MAX}", "n4": "0.00000000000000000000000000000000000001"}, f"{MAX}.00"),
    ("ceil(n5 * i2)", "DECIMAL(13,0)", {"n5": "9.9999999999999999999", "i2": "-2147483648"}, "-21474836479"),
    ("ceil(n4 / n)", "DECIMAL(38,0)", {"n4": "0.5", "n": "-0.000025"}, "-20000"),
    ("floor(n5 * i2)", "DECIMAL(13,0)", {"n5": "9.9999999999999999999", "i2": "2147483647"}, "21474836469"),
    ("CAST(n4 AS DECIMAL(2,1))", "DECIMAL(2,1)", {"n4": f"-{ALMOST_ONE}"}, "-1.0"),
    ("CAST(b + n4 AS BIGINT)", "BIGINT", {"b": f"{MIN + 1}", "n4": f"-{ALMOST_ONE}"}, MIN),
    ("substr(s, -2147483648)", "STRING", {"s": "'a😀b'"}, "a😀"),
    ("substr(s, -2147483648, 2147483647)", "STRING", {"s": "'ab'"}, "a"),
    ("substr(s, i2, i2)", "STRING", {"s": "'ab'", "i2": "-2147483648"}, ""),
    ("substr(s, 2147483647)", "STRING", {"s": "'ab'"}, ""),
    ("substr(s, i2)", "STRING", {"s": "'ab'", "i2": "-2147483647"}, "ab"),
    ("left(s, 2147483647)", "STRING", {"s": "'ab'"}, "ab"),
    ("right(s, -2147483648)", "STRING", {"s": "'ab'"}, ""),
]  # fmt: skip
"""An expression, the type of its column, a row, and what Spark gives."""


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Session]:
    """A session that never starts Spark."""
    with Session(tmp_path / "w", settings={"acidsql.engine": "local"}) as session:
        yield session
        assert not session.spark_started


@pytest.mark.parametrize(("sql", "kind", "row", "right"), CASES, ids=[sql for sql, *_ in CASES])
def test_the_value_is_exact(
    alone: Session, sql: str, kind: str, row: dict[str, str], right: Any
) -> None:
    """A SELECT gives it, an UPDATE stores it."""
    named = ", ".join(f"{name} {hive_type}" for name, hive_type in COLUMNS.items())
    alone.sql(
        f"CREATE TABLE t ({named}, kept {kind}) STORED AS ORC"
        " TBLPROPERTIES ('transactional'='true')"
    )
    alone.sql(f"INSERT INTO t SELECT {', '.join(row.get(name, 'NULL') for name in COLUMNS)}, NULL")
    wanted = Decimal(right) if kind.startswith("DECIMAL") else right
    assert repr(alone.sql(f"SELECT {sql} AS v FROM t").fetchall()) == repr([(wanted,)])
    alone.sql(f"UPDATE t SET kept = {sql} WHERE {sql} IS NOT NULL")
    kept = alone.sql("SELECT kept FROM t").fetchall()
    assert repr(kept) == repr([(wanted,)])
